/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice shutdown`: stops the running daemon. */
#include "query.h"

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static int run_shutdown(int argc, char **argv)
{
    return query_simple(&command_shutdown, QUERY_SECONDS, argc, argv, query_print_text);
}

const struct command command_shutdown = {
    .name = "shutdown",
    .usage = "[OPTION]...",
    .summary = "Stop the running daemon",
    .help =
        "The daemon stops as at a signal: it inspects the packets that wait, removes the sluice table, and exits with\n"
        "code 0. It may still run for some seconds when the command returns.",
    .options = options,
    .run = run_shutdown,
};
