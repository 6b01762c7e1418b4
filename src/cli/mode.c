/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice mode`: shows or sets the mode, in which packets are either dropped or only reported. */
#include "query.h"

#include <inttypes.h>
#include <string.h>

enum { OPTION_FOR = QUERY_OPTION_OWN, MODE_SECONDS = 30, MAX_SECONDS = 366 * 86400 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_FOR,
      .letter = 'f',
      .name = "for",
      .argument = "TIME",
      .help = "return to the configured mode after TIME, 1s to 366d, such as 90s, 10m, 2h or 1d (default: never)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    uint64_t seconds; /* time until the daemon returns to the configured mode; 0: no limit */
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_FOR)
        return query_handle_option(&arguments->query, option, value);
    if (config_duration(value, &arguments->seconds) && arguments->seconds > 0 && arguments->seconds <= MAX_SECONDS)
        return 0;
    cli_error(&command_mode, "--for: '%s' is not a time from 1s to 366d (90s, 10m, 2h, 1d)", value);
    return EXIT_USAGE;
}

struct failure_list {
    const char *policy;
    unsigned count;
};

static void print_cause(const char *cause, const struct control_value *policy, void *user)
{
    struct failure_list *list = user;
    const char *word = control_value_string(policy);

    if (word && strcmp(word, list->policy) == 0)
        printf("%s%s", list->count++ > 0 ? ", " : "", cause);
}

void mode_print(const struct control_value *message)
{
    const struct control_value *queues = control_value_member(message, "queues");
    const struct control_value *policies = control_value_member(message, "failure_policy");
    struct failure_list open = { .policy = "open" }, closed = { .policy = "closed" };
    const char *mode = query_string(message, "mode");

    printf("mode: %s%s", mode, strcmp(mode, "alert-only") == 0 ? " (packets to be dropped pass)" : "");
    if (*query_string(message, "until"))
        printf(", by `sluice mode` until %s (%" PRId64 " s left), then as configured", query_string(message, "until"),
               query_number(message, "remaining"));
    else if (*query_string(message, "override"))
        printf(", by `sluice mode` until `sluice mode configured`");
    putchar('\n');
    for (size_t i = 0; strcmp(mode, "mixed") == 0 && i < control_value_count(queues); i++) {
        const struct control_value *queue = control_value_item(queues, i);

        printf("  queue %" PRId64 ": %s\n", query_number(queue, "queue"), query_string(queue, "mode"));
    }
    if (!policies)
        return;
    printf("if engines keep dying: traffic passes uninspected after: ");
    control_value_each(policies, print_cause, &open);
    printf("%s; is dropped after: ", open.count > 0 ? "" : "-");
    control_value_each(policies, print_cause, &closed);
    printf("%s\n", closed.count > 0 ? "" : "-");
}

static const char *const mode_names[] = { "drop", "alert-only", "configured", NULL };

static int check_arguments(const struct arguments *arguments, int count, char **words)
{
    const struct cli_actions modes = { .names = mode_names, .count = sizeof(mode_names) / sizeof(mode_names[0]) - 1 };
    size_t found = 0;

    if (count > 1) {
        cli_error(&command_mode, "unexpected argument '%s'", words[1]);
        return EXIT_USAGE;
    }
    if (arguments->seconds > 0 && (count == 0 || strcmp(words[0], "configured") == 0)) {
        cli_error(&command_mode, "--for needs a mode: drop or alert-only");
        return EXIT_USAGE;
    }
    return count == 1 ? cli_find_action(&command_mode, &modes, words[0], &found) : EXIT_OK;
}

static int run_mode(int argc, char **argv)
{
    struct arguments arguments = { .seconds = 0 };
    struct query *query = &arguments.query;
    int first, code = query_init(query, &command_mode, argc);

    if (code)
        return code;
    code = cli_parse(&command_mode, argc, argv, handle_option, &arguments, &query->input.settings, &first);
    if (code < 0) {
        code = check_arguments(&arguments, argc - first, argv + first);
        if (code == EXIT_OK) {
            query_begin(query, "mode");
            if (first < argc)
                json_string(&query->request, "mode", argv[first]);
            if (arguments.seconds > 0)
                json_uint(&query->request, "seconds", arguments.seconds);
            code = query_send_and_print(query, MODE_SECONDS, mode_print);
        }
    }
    query_clear(query);
    return code;
}

const struct command command_mode = {
    .name = "mode",
    .usage = "[OPTION]... [alert-only|drop|configured]",
    .summary = "Show or change the mode: drop packets, or only report them",
    .help =
        "In mode alert-only every packet passes unchanged. Drops are reported (alerts with would_drop, events "
        "would_drop)\n"
        "and counted (ips.would_drop) instead. The mode overrides ips.mode and queues.*.ips-mode of the configuration\n"
        "until `sluice mode configured`, or for the time that --for gives; an upgrade, a restart and a crash of the "
        "engine\n"
        "keep it. `sluice mode drop` leaves queues alone that queues.*.ips-mode sets to alert-only.",
    .options = options,
    .argument = CLI_ARGUMENT_WORDS,
    .words = mode_names,
    .run = run_mode,
};
