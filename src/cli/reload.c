/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice reload`: loads the rules and settings again. */
#include "query.h"

#include <inttypes.h>

enum { OPTION_NO_WAIT = QUERY_OPTION_OWN, RELOAD_SECONDS = 1800 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG, QUERY_ROW_SOCKET, { .id = OPTION_NO_WAIT, .name = "no-wait", .help = "do not wait for the result" },
    QUERY_ROW_JSON, { .name = NULL },
};

struct arguments {
    struct query query;
    bool no_wait;
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_NO_WAIT)
        return query_handle_option(&arguments->query, option, value);
    arguments->no_wait = true;
    return 0;
}

static void print(const struct control_value *message)
{
    double seconds = 0;

    if (!control_value_is_object(message)) {
        printf("%s\n", control_value_string(message) ? control_value_string(message) : "");
        return;
    }
    if (*query_string(message, "mistakes"))
        fprintf(stderr, "%s\n", query_string(message, "mistakes"));
    control_value_real(control_value_member(message, "seconds"), &seconds);
    printf("reloaded: generation %" PRId64 ", %" PRId64 " rules, %" PRId64 " failed, %" PRId64 " skipped, in %.2f s\n",
           query_number(message, "generation"), query_number(message, "rules"), query_number(message, "failed"),
           query_number(message, "skipped"), seconds);
}

static int run_reload(int argc, char **argv)
{
    struct arguments arguments = { .no_wait = false };
    struct query *query = &arguments.query;
    int code = query_init(query, &command_reload, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_reload, argc, argv, handle_option, &arguments, &query->input.settings);
    if (code < 0) {
        query_begin(query, arguments.no_wait ? "reload-nonblocking" : "reload");
        code = query_send_and_print(query, arguments.no_wait ? QUERY_SECONDS : RELOAD_SECONDS, print);
    }
    query_clear(query);
    return code;
}

const struct command command_reload = {
    .name = "reload",
    .usage = "[OPTION]...",
    .summary = "Reload the rules and settings of the running daemon",
    .help =
        "Packets are inspected with the old rules until the new ones are loaded, and flows keep their state. When the "
        "reload\n"
        "fails, nothing changes, and the reason is printed. Some settings take effect only with\n"
        "`sluice upgrade`, or at the next start; the command names those that have changed. SIGUSR2 also reloads.",
    .options = options,
    .run = run_reload,
};
