/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on the bytes or packets of a flow so far, including this packet: flow.pkts:DIRECTION,NUMBER and
 * flow.bytes:DIRECTION,NUMBER, and the older keywords with the direction in the name.
 */
#ifndef SLUICE_KEYWORD_FLOW_TOTAL_H
#define SLUICE_KEYWORD_FLOW_TOTAL_H

#include "sluice/number_range.h"

enum flow_total_side { FLOW_TOTAL_TO_SERVER, FLOW_TOTAL_TO_CLIENT, FLOW_TOTAL_EITHER, FLOW_TOTAL_BOTH };

struct flow_total {
    struct number_range range;
    enum flow_total_side side;
};

/* The form of the value, for the member `value` of struct keyword. */
#define FLOW_TOTAL_FORM "toserver|toclient|either|both," NUMBER_RANGE_FORM

/* For parse(): the first function parses DIRECTION,NUMBER, the second the number alone; both add a packet condition.
 * `limit` is the largest number. Return 0 or -errno. */
int flow_total_condition(struct rule_parser *parser, struct span value, uint64_t limit);
int flow_total_condition_of(struct rule_parser *parser, struct span value, uint64_t limit, enum flow_total_side side);

/* The functions match() of the keywords for packets and bytes. */
bool flow_total_packets(const struct match_input *in, const void *data);
bool flow_total_bytes(const struct match_input *in, const void *data);

#endif
