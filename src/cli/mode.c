/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice mode`: shows or changes whether the running daemon drops, or only reports. */
#include "ask.h"

#include <inttypes.h>
#include <string.h>

enum { OPTION_FOR = ASK_OPTION_OWN, ANSWER_SECONDS = 30, MAX_SECONDS = 366 * 86400 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    { .id = OPTION_FOR,
      .letter = 'f',
      .name = "for",
      .argument = "TIME",
      .help = "return to the configured mode after TIME (90s, 10m, 2h, 1d)" },
    ASK_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct ask ask;
    uint64_t seconds; /* 0: no end */
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_FOR)
        return ask_take_option(&arguments->ask, option, value);
    if (config_duration(value, &arguments->seconds) && arguments->seconds > 0 && arguments->seconds <= MAX_SECONDS)
        return 0;
    cli_error(&command_mode, "--for: '%s' is not a time from 1s to 366d (90s, 10m, 2h, 1d)", value);
    return EXIT_USAGE;
}

struct failure_list {
    const char *policy;
    unsigned count;
};

static void print_failure(const char *name, const struct control_value *policy, void *user)
{
    struct failure_list *list = user;
    const char *word = control_value_string(policy);

    if (word && strcmp(word, list->policy) == 0)
        printf("%s%s", list->count++ > 0 ? ", " : "", name);
}

/* "if engines keep dying: open: crash, memory; closed: hang" */
static void print_failures(const struct control_value *policies)
{
    struct failure_list open = { .policy = "open" }, closed = { .policy = "closed" };

    if (!policies)
        return;
    printf("if engines keep dying: traffic passes uninspected after: ");
    control_value_each(policies, print_failure, &open);
    printf("%s; is dropped after: ", open.count > 0 ? "" : "-");
    control_value_each(policies, print_failure, &closed);
    printf("%s\n", closed.count > 0 ? "" : "-");
}

void mode_print(const struct control_value *message)
{
    const struct control_value *queues = control_value_member(message, "queues");
    const char *mode = ask_string(message, "mode");

    printf("mode: %s%s", mode, strcmp(mode, "drop") == 0 ? "" : " (packets to be dropped pass)");
    if (*ask_string(message, "until"))
        printf(", by `sluice mode` until %s (%" PRId64 " s left), then as configured", ask_string(message, "until"),
               ask_number(message, "remaining"));
    else if (*ask_string(message, "override"))
        printf(", by `sluice mode` until `sluice mode configured`");
    putchar('\n');
    for (size_t i = 0; strcmp(mode, "mixed") == 0 && i < control_value_count(queues); i++) {
        const struct control_value *queue = control_value_item(queues, i);

        printf("  queue %" PRId64 ": %s\n", ask_number(queue, "queue"), ask_string(queue, "mode"));
    }
    print_failures(control_value_member(message, "failure_policy"));
}

static int ask_and_print(struct arguments *arguments, const char *mode)
{
    struct control_reply reply;
    int code;

    ask_begin(&arguments->ask, "mode");
    if (mode)
        json_string(&arguments->ask.request, "mode", mode);
    if (arguments->seconds > 0)
        json_uint(&arguments->ask.request, "seconds", arguments->seconds);
    code = ask_send(&arguments->ask, ANSWER_SECONDS, &reply);
    if (code)
        return code;
    if (arguments->ask.json)
        code = ask_print_json(&reply);
    else
        mode_print(reply.message);
    ask_free_reply(&reply);
    return code;
}

static int check_words(const struct arguments *arguments, int count, char **words)
{
    static const char *const names[] = { "drop", "alert-only", "configured" };
    const struct cli_actions modes = { .names = names, .count = sizeof(names) / sizeof(names[0]) };
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

static int run(int argc, char **argv)
{
    struct arguments arguments = { .seconds = 0 };
    int first, code = ask_init(&arguments.ask, &command_mode, argc);

    if (code)
        return code;
    code = cli_parse(&command_mode, argc, argv, take_option, &arguments, &arguments.ask.input.settings, &first);
    if (code < 0) {
        code = check_words(&arguments, argc - first, argv + first);
        if (code == EXIT_OK)
            code = ask_and_print(&arguments, first < argc ? argv[first] : NULL);
    }
    ask_clear(&arguments.ask);
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
    .run = run,
};
