/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * decode-event:NAME; and the older form engine-event:decoder.NAME or engine-event:stream.NAME. Both keywords accept
 * names with and without these prefixes.
 */
#include <errno.h>

#include "sluice/number_range.h"
#include "sluice/stream_event.h"

static bool decode_event_match(const struct match_input *in, const void *data)
{
    const unsigned *event = data;

    return packet_has_event(in->packet, *event);
}

static int decode_event_number(const void *data)
{
    const unsigned *event = data;

    return (int)*event;
}

static bool find_event(struct span name, unsigned *out)
{
    enum decode_event decode_event;
    enum stream_event stream_event;

    if (number_range_skip_prefix(&name, "stream.")) {
        if (!stream_event_find(name.at, name.length, &stream_event))
            return false;
        *out = stream_event;
        return true;
    }
    number_range_skip_prefix(&name, "decoder.");
    if (!decode_event_find(name.at, name.length, &decode_event))
        return false;
    *out = decode_event;
    return true;
}

static int decode_event_parse(struct rule_parser *parser, struct span value)
{
    unsigned *event = arena_alloc(rule_parser_arena(parser), sizeof(*event));

    if (!event)
        return -ENOMEM;
    if (!find_event(value, event))
        return rule_parser_error(parser, value, "unknown decoder event '" SPAN_FORMAT "'", SPAN_ARGS(value));
    return rule_parser_add_packet_condition(parser, event, false);
}

const struct keyword keyword_decode_event = {
    .name = "decode-event",
    .aliases = { "engine-event" },
    .value = "NAME",
    .help = "decoder event of the packet: a malformed or unusual header",
    .manual = "The names are those of the anomaly events, such as ipv4.opt_invalid_len.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = decode_event_parse,
    .packet = { .match = decode_event_match },
    .hints = &(const struct prefilter_hints){ .event = decode_event_number },
};
