/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "sluice/decode_event.h"
#include "sluice/keyword.h"

static bool decode_event_match(const struct match_input *in, const void *data)
{
    const enum decode_event *event = data;

    return packet_has_event(in->packet, *event);
}

static int decode_event_number(const void *data)
{
    const enum decode_event *event = data;

    return (int)*event;
}

static int decode_event_parse(struct rule_parser *parser, struct span value, bool negated)
{
    enum decode_event *event = arena_alloc(rule_parser_arena(parser), sizeof(*event));

    (void)negated;
    if (!event)
        return -ENOMEM;
    if (!decode_event_find(value.at, value.length, event))
        return rule_parser_error(parser, value, "unknown decoder event '" SPAN_FORMAT "'", SPAN_ARGS(value));
    return rule_parser_add_packet_condition(parser, event, false);
}

const struct keyword keyword_decode_event = {
    .name = "decode-event",
    .aliases = { "engine-event" },
    .value = "NAME",
    .help = "the decoder found this malformation in the packet",
    .manual = "The names are those of the anomaly events, like ipv4.opt_invalid_len.",
    .kind = KEYWORD_PACKET,
    .parse = decode_event_parse,
    .match = decode_event_match,
    .event = decode_event_number,
};
