/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flow.age:>NUMBER; seconds between the flow's first packet and the current one; both times are truncated to seconds
 * before the subtraction, as in Suricata. */
#include "sluice/number_range.h"

enum { NS_PER_SECOND = 1000000000 };

static bool flow_age_match(const struct match_input *in, const void *data)
{
    const struct flow *flow = in->packet->flow;

    if (!flow)
        return false;
    uint64_t start = flow->start_ns / NS_PER_SECOND, last = flow->last_ns / NS_PER_SECOND;

    return number_range_has(data, last > start ? last - start : 0);
}

static int flow_age_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_flow_age = {
    .name = "flow.age",
    .value = NUMBER_RANGE_FORM,
    .help = "age of the packet's flow in seconds",
    .manual = "Evaluated for every packet, not once at the end of the flow.",
    .kind = KEYWORD_PACKET,
    .parse = flow_age_parse,
    .packet = { .match = flow_age_match },
};
