/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice costs`: the rules that have taken most of the daemon's time. */
#include "ask.h"

#include <inttypes.h>

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    ASK_ROW_JSON,
    { .name = NULL },
};

static void print(const struct control_value *message)
{
    printf("%5s %10s %14s %14s %10s %12s\n", "gid", "sid", "evaluations", "total_us", "max_us", "over_budget");
    for (size_t i = 0; i < control_value_count(message); i++) {
        const struct control_value *rule = control_value_item(message, i);

        printf("%5" PRId64 " %10" PRId64 " %14" PRId64 " %14" PRId64 " %10" PRId64 " %12" PRId64 "\n",
               ask_number(rule, "gid"), ask_number(rule, "signature_id"), ask_number(rule, "evaluations"),
               ask_number(rule, "total_us"), ask_number(rule, "max_us"), ask_number(rule, "over_budget"));
    }
}

static int run(int argc, char **argv)
{
    return ask_simple(&command_costs, "costs", argc, argv, print);
}

const struct command command_costs = {
    .name = "costs",
    .usage = "[OPTION]...",
    .summary = "Asks the running daemon which rules take most of its time",
    .help = "Rules are timed where detect.packet-budget or detect.rule-budget is set.",
    .options = options,
    .run = run,
};
