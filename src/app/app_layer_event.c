/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app-layer-event: an anomaly found by a protocol's parser or by protocol detection. Events of a parser are conditions
 * on a transaction. Events of protocol detection are conditions on the packet in which they were found.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "app_priv.h"

struct event_condition {
    unsigned proto; /* id of the protocol; not set for an event of protocol detection */
    unsigned event; /* event of the protocol, or enum app_layer_event */
    /* the protocol, those that extend it, and those whose transactions contain its transactions */
    const char *words[APP_MAX_PROTOCOLS + 1];
};

static const char *const layer_events[] = {
    [APP_LAYER_MISMATCH - APP_LAYER_EVENT_FIRST] = "applayer_mismatch_protocol_both_directions",
    [APP_LAYER_WRONG_DIRECTION - APP_LAYER_EVENT_FIRST] = "applayer_wrong_direction_first_data",
    [APP_LAYER_ONE_DIRECTION - APP_LAYER_EVENT_FIRST] = "applayer_detect_protocol_only_one_direction",
    [APP_LAYER_SKIPPED - APP_LAYER_EVENT_FIRST] = "applayer_proto_detection_skipped",
    [APP_LAYER_NO_TLS - APP_LAYER_EVENT_FIRST] = "applayer_no_tls_after_starttls",
    [APP_LAYER_UNEXPECTED - APP_LAYER_EVENT_FIRST] = "applayer_unexpected_protocol",
    [APP_LAYER_EVICTED - APP_LAYER_EVENT_FIRST] = "applayer_memcap_evicted",
    [APP_LAYER_LIMIT - APP_LAYER_EVENT_FIRST] = "applayer_inspection_limit",
};

const char *app_layer_event_name(enum app_layer_event event)
{
    return layer_events[event - APP_LAYER_EVENT_FIRST];
}

static bool match_transaction(const struct match_input *in, const void *data)
{
    const struct event_condition *condition = data;

    const struct app_tx *tx = in->transaction;
    const struct app_proto *proto = app_proto_by_id(condition->proto);

    if (tx->proto->inner_proto == proto)
        return app_tx_has_event(tx, (unsigned)tx->proto->event_count + condition->event);
    return (tx->protocol == condition->proto || tx->proto->extends == proto) && app_tx_has_event(tx, condition->event);
}

static bool match_packet(const struct match_input *in, const void *data)
{
    const struct event_condition *condition = data;

    return packet_has_event(in->packet, condition->event);
}

static int event_number(const void *data)
{
    const struct event_condition *condition = data;

    return (int)condition->event;
}

static int parse_layer_event(struct rule_parser *parser, struct span value)
{
    struct event_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));

    if (!condition)
        return -ENOMEM;
    for (unsigned i = 0; i < sizeof(layer_events) / sizeof(layer_events[0]); i++) {
        if (span_equal_nocase(value, layer_events[i])) {
            condition->event = APP_LAYER_EVENT_FIRST + i;
            return rule_parser_add_packet_condition(parser, condition, false);
        }
    }
    return rule_parser_error(parser, value, "unknown event '" SPAN_FORMAT "': app-layer-event needs PROTOCOL.NAME",
                             SPAN_ARGS(value));
}

/* app-layer-event with the name of an event of protocol detection, without a protocol: a condition on the packet. */
static const struct keyword layer_event = {
    .name = "app-layer-event",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = parse_layer_event,
    .packet = { .match = match_packet },
    .hints = &(const struct prefilter_hints){ .event = event_number },
};

static int report_unknown_event(struct rule_parser *parser, struct span name, const struct app_proto *proto)
{
    const char *names[APP_MAX_EVENTS];
    const char *nearest = NULL;
    char copy[64];

    for (size_t i = 0; i < proto->event_count; i++)
        names[i] = proto->events[i].name;
    if (name.length < sizeof(copy)) {
        memcpy(copy, name.at, name.length);
        copy[name.length] = '\0';
        nearest = text_nearest(copy, names, proto->event_count);
    }
    return rule_parser_error(parser, name, "'%s' has no event '" SPAN_FORMAT "'%s%s%s", proto->name, SPAN_ARGS(name),
                             nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int parse_protocol_event(struct rule_parser *parser, struct span text, struct event_condition *condition)
{
    const struct app_proto *proto = app_proto_by_id(condition->proto);
    struct span name = text;

    for (const char *const *pair = proto->event_aliases; pair && *pair; pair += 2) { /* former name, current name */
        if (span_equal_nocase(text, pair[0]))
            name = span_of(pair[1]);
    }

    for (size_t i = 0; i < proto->event_count; i++) {
        if (!span_equal_nocase(name, proto->events[i].name))
            continue;
        condition->event = (unsigned)i;
        condition->words[0] = proto->name;
        for (size_t k = 0, count = 1; k < app_list_count; k++)
            if (app_list[k]->extends == proto || app_list[k]->inner_proto == proto)
                condition->words[count++] = app_list[k]->name;
        if (rule_parser_require_applications(parser, condition->words))
            return -EINVAL;
        return rule_parser_add_transaction_condition(parser, condition, false);
    }
    return report_unknown_event(parser, text, proto);
}

static int app_layer_event_parse(struct rule_parser *parser, struct span value)
{
    struct event_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    const char *dot = memchr(value.at, '.', value.length);
    char proto[32];

    if (!condition)
        return -ENOMEM;
    if (!dot)
        return rule_parser_parse_as(parser, &layer_event, value);

    struct span name = { .at = dot + 1, .length = (size_t)(value.at + value.length - dot) - 1 };
    struct span word = { .at = value.at, .length = (size_t)(dot - value.at) };

    if (word.length >= sizeof(proto))
        return rule_parser_error(parser, word, "unknown protocol '" SPAN_FORMAT "'", SPAN_ARGS(word));
    memcpy(proto, word.at, word.length);
    proto[word.length] = '\0';
    condition->proto = app_id_by_name(proto);
    if (condition->proto == 0 && !rule_parser_knows_protocol(word))
        return rule_parser_error(parser, word, "unknown protocol '%s'", proto);
    if (condition->proto == 0) {
        char tag[64];

        snprintf(tag, sizeof(tag), "protocol %s", proto);
        return rule_parser_unsupported(parser, word, tag, "events of '%s' are not supported", proto);
    }
    return parse_protocol_event(parser, name, condition);
}

const struct keyword keyword_app_layer_event = {
    .name = "app-layer-event",
    .value = "PROTOCOL.NAME or NAME",
    .help = "matches an anomaly found by a protocol parser or by protocol detection",
    .manual = "The manual page of each protocol lists its events.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_STATE,
    .parse = app_layer_event_parse,
    .transaction = { .match = match_transaction, .needs_event = true },
};
