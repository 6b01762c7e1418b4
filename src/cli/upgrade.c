/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice upgrade`: replaces the running daemon with the installed binary. */
#include "query.h"

enum { UPGRADE_SECONDS = 600 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static void print(const struct control_value *message)
{
    printf("%s\n", control_value_string(message) ? control_value_string(message) : "");
}

static int run_upgrade(int argc, char **argv)
{
    return query_simple(&command_upgrade, UPGRADE_SECONDS, argc, argv, print);
}

const struct command command_upgrade = {
    .name = "upgrade",
    .usage = "[OPTION]...",
    .summary = "Replace the running daemon with the installed binary, without packet loss",
    .help =
        "Use it after an update of the package, or of settings that a reload does not apply (memory, queues, output).\n"
        "The daemon prepares a new engine with the current rules and settings while the old engine still inspects "
        "packets.\n"
        "Then the new engine takes over the queues and the state of all flows. Until it has, packets wait in the "
        "kernel; "
        "none\n"
        "is lost or passes uninspected. If the new engine cannot start, nothing changes.",
    .options = options,
    .run = run_upgrade,
};
