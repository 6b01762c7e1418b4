/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice upgrade`: the program as it lies there now takes over from the one that runs. */
#include "ask.h"

enum { UPGRADE_SECONDS = 600 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    ASK_ROW_JSON,
    { .name = NULL },
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct ask *ask = user;

    return ask_take_option(ask, option, value);
}

static int ask_and_print(struct ask *ask)
{
    struct control_reply reply;
    int code;

    ask_begin(ask, "upgrade");
    code = ask_send(ask, UPGRADE_SECONDS, &reply);
    if (code)
        return code;
    if (ask->json)
        code = ask_print_json(&reply);
    else
        printf("%s\n", control_value_string(reply.message) ? control_value_string(reply.message) : "");
    ask_free_reply(&reply);
    return code;
}

static int run(int argc, char **argv)
{
    struct ask ask;
    int first, code = ask_init(&ask, &command_upgrade, argc);

    if (code)
        return code;
    code = cli_parse(&command_upgrade, argc, argv, take_option, &ask, &ask.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_upgrade, "unexpected argument '%s'", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = ask_and_print(&ask);
    ask_clear(&ask);
    return code;
}

const struct command command_upgrade = {
    .name = "upgrade",
    .usage = "[OPTION]...",
    .summary = "Replace the running daemon with the installed binary, without packet loss",
    .help =
        "Use it after an update of the package, or of settings that a reload does not apply (memory, queues, output).\n"
        "The daemon prepares a new engine with the current rules and settings while the old engine still inspects "
        "packets.\n"
        "Then the new engine takes over the queues and the state of all flows; packets wait in the kernel meanwhile, "
        "and none\n"
        "is lost or passes uninspected. If the new engine cannot start, nothing changes, and the exit code is 1.",
    .options = options,
    .run = run,
};
