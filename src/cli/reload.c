/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice reload`: rules and settings anew, and what came of it. */
#include "ask.h"

#include <inttypes.h>

enum { OPTION_NO_WAIT = ASK_OPTION_OWN, RELOAD_SECONDS = 1800, ANSWER_SECONDS = 10 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG, ASK_ROW_SOCKET,   { .id = OPTION_NO_WAIT, .name = "no-wait", .help = "do not wait for the result" },
    ASK_ROW_JSON,   { .name = NULL },
};

struct arguments {
    struct ask ask;
    bool no_wait;
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_NO_WAIT)
        return ask_take_option(&arguments->ask, option, value);
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
    if (*ask_string(message, "mistakes"))
        fprintf(stderr, "%s\n", ask_string(message, "mistakes"));
    control_value_real(control_value_member(message, "seconds"), &seconds);
    printf("reloaded: generation %" PRId64 ", %" PRId64 " rules, %" PRId64 " failed, %" PRId64 " skipped, in %.2f s\n",
           ask_number(message, "generation"), ask_number(message, "rules"), ask_number(message, "failed"),
           ask_number(message, "skipped"), seconds);
}

static int ask_and_print(struct arguments *arguments)
{
    struct control_reply reply;
    int code;

    ask_begin(&arguments->ask, arguments->no_wait ? "reload-nonblocking" : "reload");
    code = ask_send(&arguments->ask, arguments->no_wait ? ANSWER_SECONDS : RELOAD_SECONDS, &reply);
    if (code)
        return code;
    if (arguments->ask.json)
        code = ask_print_json(&reply);
    else
        print(reply.message);
    ask_free_reply(&reply);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .no_wait = false };
    int first, code = ask_init(&arguments.ask, &command_reload, argc);

    if (code)
        return code;
    code = cli_parse(&command_reload, argc, argv, take_option, &arguments, &arguments.ask.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_reload, "unexpected argument '%s'", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = ask_and_print(&arguments);
    ask_clear(&arguments.ask);
    return code;
}

const struct command command_reload = {
    .name = "reload",
    .usage = "[OPTION]...",
    .summary = "Reload the rules and settings of the running daemon",
    .help =
        "Packets are inspected with the old rules until the new ones are loaded, and flows keep their state. When the "
        "reload\n"
        "fails, nothing changes, the reason is printed, and the exit code is 1. Some settings take effect only with\n"
        "`sluice upgrade`, or at the next start; the command names those that have changed. SIGHUP also reloads.",
    .options = options,
    .run = run,
};
