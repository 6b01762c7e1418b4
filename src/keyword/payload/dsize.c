/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "size_range.h"

static bool dsize_match(const struct match_input *in, const void *data)
{
    const struct size_range *range = data;

    if (range->outside && in->packet->payload_length == 0)
        return false; /* as in Suricata, !N does not match a packet without payload */
    return size_range_has(range, in->packet->payload_length);
}

static void dsize_narrow(const void *data, struct packet_needs *needs)
{
    const struct size_range *range = data;

    if (range->outside) {
        if (needs->payload_low == 0)
            needs->payload_low = 1;
        return;
    }
    if (range->low > needs->payload_low)
        needs->payload_low = (uint32_t)range->low;
    if (range->high < needs->payload_high)
        needs->payload_high = (uint32_t)range->high;
}

static int dsize_parse(struct rule_parser *parser, struct span value)
{
    struct size_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = size_range_parse(parser, value, UINT16_MAX, range);

    return err ? err : rule_parser_add_packet_condition(parser, range, false);
}

static int dsize_finish(struct rule_parser *parser, const struct condition *condition)
{
    return size_range_check_contents(parser, condition->data, NULL);
}

const struct keyword keyword_dsize = {
    .name = "dsize",
    .value = "[<|>|<=|>=|!]NUMBER or LOW<>HIGH",
    .help = "size of the packet's payload in bytes",
    .manual = "LOW<>HIGH excludes both limits. !NUMBER does not match packets without payload.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_ONCE,
    .parse = dsize_parse,
    .finish = dsize_finish,
    .packet = { .match = dsize_match },
    .hints = &(const struct prefilter_hints){ .narrow = dsize_narrow },
};
