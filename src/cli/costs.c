/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice costs`: what detection searches and evaluates, by search and by rule. */
#include "query.h"

#include <inttypes.h>

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

/* Prints a member of the totals, divided by another one, as "NUMBER UNIT". */
static void print_ratio(const struct control_value *total, const char *name, const char *divisor, const char *unit)
{
    int64_t by = query_number(total, divisor);

    if (by > 0)
        printf("%.2f %s", (double)query_number(total, name) / (double)by, unit);
    else
        printf("no %s", divisor);
}

void costs_print(const struct control_value *message)
{
    static const struct query_column searches[] = {
        { .key = "buffer", .is_text = true },
        { .key = "protocol", .is_text = true },
        { .key = "direction", .is_text = true },
        { .key = "ports", .is_text = true },
        { .key = "literals" },
        { .key = "scans" },
        { .key = "bytes" },
        { .key = "candidates" },
    };
    static const struct query_column rules[] = {
        { .key = "gid" },         { .key = "signature_id", .title = "sid" },
        { .key = "evaluations" }, { .key = "total_us" },
        { .key = "max_us" },      { .key = "over_budget" },
    };
    const struct control_value *total = control_value_member(message, "total");

    printf("inspected: %" PRId64 " packets, %" PRId64 " bytes, %" PRId64 " transactions\n",
           query_number(total, "packets"), query_number(total, "bytes"), query_number(total, "transactions"));
    printf("searched: ");
    print_ratio(total, "bytes_scanned", "bytes", "bytes per byte");
    printf(", ");
    print_ratio(total, "scans", "packets", "scans per packet");
    printf("\ncandidates: ");
    print_ratio(total, "candidates", "packets", "per packet");
    printf(", ");
    print_ratio(total, "candidates", "transactions", "per transaction");
    printf("\nevaluations: ");
    print_ratio(total, "evaluations", "candidates", "per candidate");
    printf("; matches: ");
    print_ratio(total, "matches", "evaluations", "per evaluation");
    printf("\n\n");
    if (!control_value_bool(control_value_member(message, "measured"))) {
        puts("searches and rules are not measured: set detect.packet-budget or detect.rule-budget");
        return;
    }
    (void)query_print_table(control_value_member(message, "searches"), searches,
                            sizeof(searches) / sizeof(searches[0]));
    putchar('\n');
    (void)query_print_table(control_value_member(message, "rules"), rules, sizeof(rules) / sizeof(rules[0]));
}

static int run_costs(int argc, char **argv)
{
    return query_simple(&command_costs, QUERY_SECONDS, argc, argv, costs_print);
}

const struct command command_costs = {
    .name = "costs",
    .usage = "[OPTION]...",
    .summary = "Show how much is searched and evaluated, and the rules that take most time",
    .help =
        "The first lines are totals since the start of the daemon. The daemon measures each search and rule only\n"
        "if detect.packet-budget or detect.rule-budget is set. The first table lists the 20 searches with the most\n"
        "bytes since the last reload: the buffer, the traffic, and the number of literals that are searched at once.\n"
        "The second table lists the 50 rules that took the most time. `sluice replay --costs` prints the same for a\n"
        "capture.",
    .options = options,
    .run = run_costs,
};
