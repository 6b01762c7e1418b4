/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow_total.h"

static int flow_bytes_toserver_parse(struct rule_parser *parser, struct span value)
{
    return flow_total_condition_of(parser, value, UINT64_MAX, FLOW_TOTAL_TO_SERVER);
}

const struct keyword keyword_flow_bytes_toserver = {
    .name = "flow.bytes_toserver",
    .value = NUMBER_RANGE_FORM,
    .help = "number of bytes the flow has transferred so far to the server",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_COUNTS_PACKETS,
    .parse = flow_bytes_toserver_parse,
    .packet = { .match = flow_total_bytes },
};
