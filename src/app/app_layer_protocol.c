/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app-layer-protocol: compares the application protocol of the flow. As in Suricata neither a name nor its negation
 * matches before detection has finished; a mode after the comma selects the direction whose protocol is compared, or
 * the protocol before a change.
 *
 * A rule with no other condition is evaluated only for packets with PACKET_PROTOCOL_DETECTED (enum rule_type).
 */
#include <errno.h>
#include <string.h>

#include "app_priv.h"

enum protocol_mode { MODE_DIRECTION, MODE_FINAL, MODE_ORIGINAL, MODE_EITHER, MODE_TO_SERVER, MODE_TO_CLIENT };

struct protocol_condition {
    uint8_t mode; /* enum protocol_mode */
    uint8_t id;   /* id of the protocol; APP_FAILED for the value `failed`; unused with `unknown` */
    bool unknown; /* the value `unknown`: true before detection has finished */
    bool negated; /* the condition holds if the flow has another protocol than `id` */
};

static const struct {
    const char *name;
    enum protocol_mode mode;
} modes[] = {
    { "direction", MODE_DIRECTION }, { "final", MODE_FINAL },         { "original", MODE_ORIGINAL },
    { "either", MODE_EITHER },       { "to_server", MODE_TO_SERVER }, { "toserver", MODE_TO_SERVER },
    { "to_client", MODE_TO_CLIENT }, { "toclient", MODE_TO_CLIENT },
};

static unsigned get_protocol(const struct protocol_condition *condition, const struct packet *pkt)
{
    const struct flow *flow = pkt->flow;

    switch ((enum protocol_mode)condition->mode) {
    case MODE_FINAL:
        return app_flow_protocol(flow);
    case MODE_ORIGINAL:
        return app_original_protocol(flow);
    case MODE_TO_SERVER:
        return app_direction_protocol(flow, FLOW_TO_SERVER);
    case MODE_TO_CLIENT:
        return app_direction_protocol(flow, FLOW_TO_CLIENT);
    default:
        return app_direction_protocol(flow, pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER);
    }
}

static bool app_layer_protocol_match(const struct match_input *in, const void *data)
{
    const struct protocol_condition *condition = data;
    const struct flow *flow = in->packet->flow;
    unsigned is;

    if (!flow)
        return false;
    if (condition->mode == MODE_EITHER) {
        unsigned server = app_direction_protocol(flow, FLOW_TO_SERVER),
                 client = app_direction_protocol(flow, FLOW_TO_CLIENT);

        if (condition->unknown)
            return !server || !client;
        return (server || client) && (server == condition->id || client == condition->id) != condition->negated;
    }
    is = get_protocol(condition, in->packet);
    if (!condition->negated && !condition->unknown && condition->mode != MODE_ORIGINAL && condition->id < APP_FAILED &&
        app_other_protocols(flow) >> condition->id & 1)
        return true;
    return condition->unknown ? is == 0 : is != 0 && (is == condition->id) != condition->negated;
}

static int parse_name(struct rule_parser *parser, struct span name, struct protocol_condition *out)
{
    char copy[32];

    if (span_equal_nocase(name, "unknown")) {
        if (out->negated)
            return rule_parser_error(parser, name,
                                     "app-layer-protocol can't negate 'unknown'; name a protocol instead");
        out->unknown = true;
        return 0;
    }
    if (span_equal_nocase(name, "failed")) {
        out->id = APP_FAILED;
        return 0;
    }
    if (name.length == 0 || name.length >= sizeof(copy))
        return rule_parser_error(parser, name, "app-layer-protocol needs the name of a protocol");
    memcpy(copy, name.at, name.length);
    copy[name.length] = '\0';
    out->id = (uint8_t)app_id_by_name(copy);
    if (out->id == 0 && !rule_parser_knows_protocol(name))
        return rule_parser_error(parser, name, "unknown protocol '%s'", copy);
    if (out->id == 0) {
        char tag[64];

        snprintf(tag, sizeof(tag), "protocol %s", copy);
        return rule_parser_unsupported(parser, name, tag, "the protocol '%s' is not supported", copy);
    }
    return 0;
}

static int app_layer_protocol_parse(struct rule_parser *parser, struct span value)
{
    struct protocol_condition *out = arena_alloc(rule_parser_arena(parser), sizeof(*out));
    const char *comma = memchr(value.at, ',', value.length);
    struct span name = value;
    int err;

    if (!out)
        return -ENOMEM;
    out->negated = rule_parser_is_negated(parser);
    if (comma) {
        enum { MODES = sizeof(modes) / sizeof(modes[0]) };
        struct span mode = span_trim((struct span){ comma + 1, (size_t)(value.at + value.length - comma) - 1 });
        size_t row = 0;

        while (row < MODES && !span_equal_nocase(mode, modes[row].name))
            row++;
        if (row == MODES)
            return rule_parser_error(
                parser, mode,
                "expected direction, final, original, either, to_server or to_client, got '" SPAN_FORMAT "'",
                SPAN_ARGS(mode));
        out->mode = (uint8_t)modes[row].mode;
        name.length = (size_t)(comma - value.at);
    }
    err = parse_name(parser, span_trim(name), out);
    return err ? err : rule_parser_add_packet_condition(parser, out, false);
}

const struct keyword keyword_app_layer_protocol = {
    .name = "app-layer-protocol",
    .value = "[!]PROTOCOL[,MODE]",
    .help =
        "matches the application protocol of the flow; failed: none was detected; unknown: detection has not finished",
    .manual =
        "MODE selects the protocol that is compared: direction (the default; the one of the packet's direction), "
        "final (the one of the flow), original (the one before a change), either (the one of at least one "
        "direction), to_server or to_client (the one of that direction). A rule without other conditions is evaluated "
        "when detection has finished in a direction: for the next packet of that direction, inline also for the "
        "packet with which detection finishes. Its drop or pass applies to the flow.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE | KEYWORD_NEGATABLE | KEYWORD_PROTOCOL_DETECTED,
    .parse = app_layer_protocol_parse,
    .packet = { .cost = 1, .match = app_layer_protocol_match },
};
