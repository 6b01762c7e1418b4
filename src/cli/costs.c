/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice costs`: lists the rules whose evaluation took the most time. */
#include "query.h"

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static void print(const struct control_value *message)
{
    static const struct query_column columns[] = {
        { .key = "gid" },         { .key = "signature_id", .title = "sid" },
        { .key = "evaluations" }, { .key = "total_us" },
        { .key = "max_us" },      { .key = "over_budget" },
    };

    (void)query_print_table(message, columns, sizeof(columns) / sizeof(columns[0]));
}

static int run_costs(int argc, char **argv)
{
    return query_simple(&command_costs, QUERY_SECONDS, argc, argv, print);
}

const struct command command_costs = {
    .name = "costs",
    .usage = "[OPTION]...",
    .summary = "Show the rules that take most time",
    .help = "The daemon measures the time of rules if detect.packet-budget or detect.rule-budget is set.",
    .options = options,
    .run = run_costs,
};
