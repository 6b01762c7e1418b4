/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow_total.h"

static int flow_pkts_toclient_parse(struct rule_parser *parser, struct span value)
{
    return flow_total_condition_of(parser, value, UINT32_MAX, FLOW_TOTAL_TO_CLIENT);
}

const struct keyword keyword_flow_pkts_toclient = {
    .name = "flow.pkts_toclient",
    .value = NUMBER_RANGE_FORM,
    .help = "number of packets of the flow so far to the client",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_COUNTS_PACKETS,
    .parse = flow_pkts_toclient_parse,
    .packet = { .match = flow_total_packets },
};
