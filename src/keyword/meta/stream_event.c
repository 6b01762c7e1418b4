/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/stream_event.h"

#include <errno.h>
#include <string.h>

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

/* Returns the event name most similar to the value; NULL if none is similar. */
static const char *find_nearest(struct span value)
{
    const char *names[STREAM_EVENT_END - STREAM_EVENT_FIRST];
    char copy[64];

    if (value.length >= sizeof(copy))
        return NULL;
    memcpy(copy, value.at, value.length);
    copy[value.length] = '\0';
    for (unsigned i = 0; i < STREAM_EVENT_END - STREAM_EVENT_FIRST; i++)
        names[i] = stream_event_name((enum stream_event)(STREAM_EVENT_FIRST + i));
    return text_nearest(copy, names, STREAM_EVENT_END - STREAM_EVENT_FIRST);
}

static int stream_event_parse(struct rule_parser *parser, struct span value)
{
    enum stream_event *event = arena_alloc(rule_parser_arena(parser), sizeof(*event));
    const char *nearest;

    if (!event)
        return -ENOMEM;
    if (stream_event_find(value.at, value.length, event))
        return rule_parser_add_packet_condition(parser, event, false);
    nearest = find_nearest(value);
    return rule_parser_error(parser, value, "unknown stream event '" SPAN_FORMAT "'%s%s%s", SPAN_ARGS(value),
                             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

const struct keyword keyword_stream_event = {
    .name = "stream-event",
    .value = "NAME",
    .help = "TCP stream event of the segment: an anomaly in the session or in reassembly",
    .manual = "The names are those of the anomaly events without the prefix stream., such as "
              "pkt_invalid_timestamp.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = stream_event_parse,
    .packet = { .match = stream_event_match },
    .hints = &(const struct prefilter_hints){ .event = stream_event_number },
};
