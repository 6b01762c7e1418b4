/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/stream_event.h"

#include <errno.h>

#include "sluice/keyword.h"

static bool stream_event_match(const struct match_input *in, const void *data)
{
    const enum stream_event *event = data;

    return packet_has_event(in->packet, *event);
}

static int stream_event_number(const void *data)
{
    const enum stream_event *event = data;

    return (int)*event;
}

static int stream_event_parse(struct rule_parser *parser, struct span value, bool negated)
{
    enum stream_event *event = arena_alloc(rule_parser_arena(parser), sizeof(*event));

    (void)negated;
    if (!event)
        return -ENOMEM;
    if (!stream_event_find(value.at, value.length, event))
        return rule_parser_error(parser, value, "unknown stream event '" SPAN_FORMAT "'", SPAN_ARGS(value));
    return rule_parser_add_packet_condition(parser, event, false);
}

const struct keyword keyword_stream_event = {
    .name = "stream-event",
    .value = "NAME",
    .help = "tracking found this anomaly in the TCP segment",
    .manual = "The names are those of the anomaly events without stream., like pkt_invalid_timestamp.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = stream_event_parse,
    .match = stream_event_match,
    .event = stream_event_number,
};
