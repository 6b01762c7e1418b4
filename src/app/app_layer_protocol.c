/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app-layer-protocol: compares the application protocol of the flow with a list of protocols. As in Suricata neither a
 * name nor a negated list matches before detection has finished; a mode selects the direction whose protocol is
 * compared, or the protocol before a change. A name includes related protocols (dns: also DNS over HTTP/2), unless the
 * option `exact` is given.
 *
 * A rule with no other condition is evaluated only for packets with PACKET_PROTOCOL_DETECTED (enum rule_type).
 */
#include <errno.h>
#include <string.h>

#include "app_priv.h"

enum protocol_mode { MODE_DIRECTION, MODE_FINAL, MODE_ORIGINAL, MODE_EITHER, MODE_TO_SERVER, MODE_TO_CLIENT };

struct protocol_condition {
    uint64_t ids; /* bit set of ids of protocols */
    uint8_t mode; /* enum protocol_mode */
    bool failed;  /* the value `failed` is in the list */
    bool unknown; /* the value `unknown` is in the list: true before detection has finished */
    bool negated; /* the condition holds if the flow has a protocol that is not in the list */
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

/* Returns whether the list contains the protocol `id`, which is not 0. */
static bool has_id(const struct protocol_condition *condition, unsigned id)
{
    return id == APP_FAILED ? condition->failed : condition->ids >> id & 1;
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

        if (condition->unknown && (!server || !client))
            return true;
        return (server || client) &&
               ((server && has_id(condition, server)) || (client && has_id(condition, client))) != condition->negated;
    }
    is = get_protocol(condition, in->packet);
    if (is == 0)
        return condition->unknown;
    if (!condition->negated && condition->mode != MODE_ORIGINAL && app_other_protocols(flow) & condition->ids)
        return true;
    return has_id(condition, is) != condition->negated;
}

/* --- Parsing -------------------------------------------------------------------------------------- */

static int parse_name(struct rule_parser *parser, struct span name, bool exact, struct protocol_condition *out)
{
    const char *const *members;
    char copy[32];
    unsigned id;

    if (span_equal_nocase(name, "unknown")) {
        if (out->negated)
            return rule_parser_error(parser, name,
                                     "app-layer-protocol can't negate 'unknown'; name a protocol instead");
        out->unknown = true;
        return 0;
    }
    if (span_equal_nocase(name, "failed")) {
        out->failed = true;
        return 0;
    }
    if (name.length == 0 || name.length >= sizeof(copy))
        return rule_parser_error(parser, name, "app-layer-protocol needs the name of a protocol");
    memcpy(copy, name.at, name.length);
    copy[name.length] = '\0';
    for (char *at = copy; *at; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    if (exact && strcmp(copy, "http") == 0)
        return rule_parser_error(parser, name, "'http' with 'exact' never matches; write 'http1' or 'http2'");
    id = app_id_by_name(copy);
    if (id == 0 && !rule_parser_knows_protocol(name))
        return rule_parser_error(parser, name, "unknown protocol '%s'", copy);
    if (id == 0) {
        char tag[64];

        snprintf(tag, sizeof(tag), "protocol %s", copy);
        return rule_parser_unsupported(parser, name, tag, "the protocol '%s' is not supported", copy);
    }
    out->ids |= UINT64_C(1) << id;
    members = exact ? NULL : rule_protocol_members(copy);
    for (; members && *members; members++) {
        id = app_id_by_name(*members);
        out->ids |= id > 0 ? UINT64_C(1) << id : 0;
    }
    return 0;
}

static int parse_qualifier(struct rule_parser *parser, struct span word, bool *has_mode, bool *exact,
                           struct protocol_condition *out)
{
    enum { MODES = sizeof(modes) / sizeof(modes[0]) };
    size_t row = 0;

    if (span_equal_nocase(word, "exact")) {
        *exact = true;
        return 0;
    }
    while (row < MODES && !span_equal_nocase(word, modes[row].name))
        row++;
    if (row == MODES)
        return rule_parser_error(
            parser, word,
            "expected direction, final, original, either, to_server, to_client or exact, got '" SPAN_FORMAT "'",
            SPAN_ARGS(word));
    if (*has_mode)
        return rule_parser_error(parser, word, "app-layer-protocol has one mode only");
    *has_mode = true;
    out->mode = (uint8_t)modes[row].mode;
    return 0;
}

static int app_layer_protocol_parse(struct rule_parser *parser, struct span value)
{
    struct protocol_condition *out = arena_alloc(rule_parser_arena(parser), sizeof(*out));
    bool has_mode = false, exact = false;
    struct span rest = value, names, word;
    int err = 0;

    if (!out)
        return -ENOMEM;
    out->negated = rule_parser_is_negated(parser);
    span_next(&rest, ',', &names);
    while (!err && span_next(&rest, ',', &word))
        err = parse_qualifier(parser, word, &has_mode, &exact, out);
    while (!err && span_next(&names, '|', &word))
        err = parse_name(parser, word, exact, out);
    return err ? err : rule_parser_add_packet_condition(parser, out, false);
}

const struct keyword keyword_app_layer_protocol = {
    .name = "app-layer-protocol",
    .value = "[!]PROTOCOL[|PROTOCOL...][,MODE][,exact]",
    .help =
        "matches the application protocol of the flow; failed: none was detected; unknown: detection has not finished",
    .manual =
        "The condition holds if the flow has one of the listed protocols, or, with !, a protocol that is not listed. "
        "http includes HTTP/2, dns DNS over HTTP/2, dcerpc DCERPC over SMB, unless exact is given. MODE selects the "
        "protocol that is compared: direction (the default; the one of the packet's direction), "
        "final (the one of the flow), original (the one before a change), either (the one of at least one "
        "direction), to_server or to_client (the one of that direction). A rule without other conditions is evaluated "
        "when detection has finished in a direction: for the next packet of that direction, inline also for the "
        "packet with which detection finishes. Its drop or pass applies to the flow.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE | KEYWORD_NEGATABLE | KEYWORD_PROTOCOL_DETECTED,
    .parse = app_layer_protocol_parse,
    .packet = { .cost = 1, .match = app_layer_protocol_match },
};
