/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow_total.h"

static int flow_bytes_parse(struct rule_parser *parser, struct span value)
{
    return flow_total_condition(parser, value, UINT64_MAX);
}

const struct keyword keyword_flow_bytes = {
    .name = "flow.bytes",
    .value = FLOW_TOTAL_FORM,
    .help = "number of bytes the flow has transferred so far in a direction",
    .manual = "either: in at least one of the directions; both: in each of them. Evaluated for every "
              "packet, not once at the end of the flow.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_COUNTS_PACKETS,
    .parse = flow_bytes_parse,
    .packet = { .match = flow_total_bytes },
};
