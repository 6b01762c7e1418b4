/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signatures: the compiled form of rules. They are sorted in evaluation order: by action, then by use of shared state,
 * then priority, then position.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

/* --- Order ---------------------------------------------------------------------------------------- */

static unsigned action_rank(const struct ruleset_options *options, enum rule_action action)
{
    if (action == ACTION_REJECT_DESTINATION || action == ACTION_REJECT_BOTH)
        action = ACTION_REJECT;
    for (unsigned i = 0; i < 4; i++) {
        if (options->action_order[i] == action)
            return i;
    }
    return 4;
}

/* The kinds of state, in the order of comparison: for each kind, rules that only write come first, then rules that
 * write and read, then rules that only read, then all others, so that a bit is visible to other rules in the same
 * packet. */
static const enum rule_name_kind state_order[] = { RULE_NAME_FLOWBIT,     RULE_NAME_FLOWINT, RULE_NAME_FLOW_TEXT,
                                                   RULE_NAME_PACKET_TEXT, RULE_NAME_HOSTBIT, RULE_NAME_XBIT };

static unsigned state_rank(const struct rule *rule)
{
    static const unsigned ranks[] = {
        [0] = 3, [RULE_STATE_READS] = 2, [RULE_STATE_READS | RULE_STATE_WRITES] = 1, [RULE_STATE_WRITES] = 0
    };
    unsigned rank = 0;

    for (size_t i = 0; i < sizeof(state_order) / sizeof(state_order[0]); i++)
        rank = rank * 4 + ranks[rule->state_use[state_order[i]] & (RULE_STATE_READS | RULE_STATE_WRITES)];
    return rank;
}

struct order_key {
    const struct rule *rule;
    unsigned rank, state_rank;
};

static int compare_keys(const void *left, const void *right)
{
    const struct order_key *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->state_rank != b->state_rank)
        return a->state_rank < b->state_rank ? -1 : 1;
    if (a->rule->priority != b->rule->priority)
        return a->rule->priority < b->rule->priority ? -1 : 1;
    return a->rule->index < b->rule->index ? -1 : a->rule->index > b->rule->index;
}

/* --- Rule types ----------------------------------------------------------------------------------- */

static const struct rule_buffer *payload_buffer(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (!buffer->keyword)
            return buffer;
    }
    return NULL;
}

/* Whether the rule has conditions on the packet's headers, so that contents refer to the packet's payload, too. */
static bool inspects_packet_headers(const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (!(c->keyword->flags & KEYWORD_STATE))
            return true;
    }
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (buffer->keyword && !buffer->keyword->applications && !(buffer->keyword->flags & KEYWORD_STATE))
            return true;
    }
    return false;
}

static bool has_absolute_place(const struct rule_buffer *buffer)
{
    for (const struct condition *c = buffer->conditions; c; c = c->next) {
        const struct content *content = c->keyword->literal ? c->data : NULL;

        if (content && (content->has_offset || content->has_depth || content->starts_with))
            return true;
    }
    return false;
}

/* Selects the scope as Suricata does: docs.suricata.io, "Differences from Snort", and "tcp-pkt" and "tcp-stream". */
static enum payload_scope get_scope(const struct rule *rule, const struct rule_buffer *payload)
{
    if (rule->payload == RULE_PAYLOAD_PACKET_ONLY || rule->protocol.packet_only)
        return SCOPE_PACKET;
    if (rule->payload == RULE_PAYLOAD_STREAM_ONLY || rule->protocol.stream_only)
        return SCOPE_STREAM;
    if (inspects_packet_headers(rule))
        return SCOPE_PACKET;
    return has_absolute_place(payload) ? SCOPE_BOTH : SCOPE_STREAM;
}

/* A direction, or the choice of packet or stream, is part of the header and no condition on the packet. */
static bool is_header_condition(const struct condition *c)
{
    return c->keyword->is_header && c->keyword->is_header(c->data);
}

static bool acts_on_each_packet(const struct rule *rule)
{
    for (const struct condition *c = rule->actions; c; c = c->next) {
        if (c->keyword->flags & KEYWORD_EACH_PACKET)
            return true;
    }
    return rule->bypass;
}

static bool has_addresses_only(const struct rule *rule, const struct packet_needs *needs)
{
    bool has_direction = needs->flags_mask & PACKET_TO_CLIENT;

    if (rule->buffers || rule->applications || rule->protocol.any_packet || acts_on_each_packet(rule))
        return false;
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        bool is_free = is_header_condition(c) && !has_direction && rule->payload != RULE_PAYLOAD_STREAM_ONLY;

        if (!(c->keyword->flags & KEYWORD_IP_ONLY) && !is_free)
            return false;
    }
    return true;
}

static bool has_detected_protocol_only(const struct rule *rule)
{
    bool has_protocol = false;

    if (rule->buffers || rule->applications || rule->protocol.any_packet)
        return false;
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        has_protocol |= c->keyword->flags & KEYWORD_PROTOCOL_DETECTED;
        if (!(c->keyword->flags & (KEYWORD_IP_ONLY | KEYWORD_PROTOCOL_DETECTED)) && !is_header_condition(c))
            return false;
    }
    return has_protocol;
}

static bool has_packet_condition(const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (!(c->keyword->flags & KEYWORD_IP_ONLY) && !is_header_condition(c))
            return true;
    }
    return false;
}

static bool has_packet_buffer(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (buffer->keyword && !buffer->keyword->applications && !(buffer->keyword->flags & KEYWORD_NESTED))
            return true;
    }
    return false;
}

static bool admits_tcp(const struct rule *rule)
{
    return rule->protocol.ip_protocols[0] >> IPPROTO_TCP & 1;
}

static enum rule_type get_type(const struct signature *signature, const struct rule *rule,
                               const struct rule_buffer *payload)
{
    enum payload_scope scope = signature->scope;

    if (has_detected_protocol_only(rule))
        return RULE_TYPE_PROTOCOL_DETECTED;
    if (has_addresses_only(rule, &signature->needs))
        return strchr(rule->source->text, '!') || strchr(rule->destination->text, '!') ? RULE_TYPE_LIKE_IP_ONLY
                                                                                       : RULE_TYPE_IP_ONLY;
    if (has_packet_buffer(rule))
        return RULE_TYPE_PACKET;
    if (rule_is_of_transaction(rule))
        return RULE_TYPE_TRANSACTION;
    if (payload && scope != SCOPE_PACKET)
        return scope == SCOPE_STREAM && admits_tcp(rule) ? RULE_TYPE_STREAM : RULE_TYPE_PACKET_STREAM;
    if (payload || has_packet_condition(rule) || !rule->applications)
        return RULE_TYPE_PACKET;
    return RULE_TYPE_APP_LAYER;
}

static void fill_needs(struct packet_needs *needs, const struct rule *rule)
{
    *needs = (struct packet_needs){ .payload_high = UINT32_MAX, .protocol_high = UINT8_MAX };
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->narrow && !c->negated)
            c->keyword->narrow(c->data, needs);
    }
}

static void set_type(struct signature *signature, const struct rule *rule)
{
    const struct rule_buffer *payload = payload_buffer(rule);

    signature->has_payload = payload != NULL;
    signature->of_transaction = rule_is_of_transaction(rule);
    signature->transactional = rule->transactional;
    signature->applications = rule_application_mask(rule);
    signature->scope = payload ? (uint8_t)get_scope(rule, payload) : SCOPE_PACKET;
    signature->type = (uint8_t)get_type(signature, rule, payload);
    if (signature->type == RULE_TYPE_PROTOCOL_DETECTED)
        packet_needs_flags(&signature->needs, PACKET_PROTOCOL_DETECTED, PACKET_PROTOCOL_DETECTED);
    if (!payload)
        return;
    signature->may_span_segments = signature->scope != SCOPE_PACKET && payload->conditions && payload->conditions->next;
}

static void compile_signature(struct signature *signature, const struct rule *rule)
{
    const struct rule_protocol *protocol = &rule->protocol;
    unsigned admitted = 0, last = 0;

    for (unsigned i = 0; i < 256; i++) {
        if (protocol->ip_protocols[i / 64] >> (i % 64) & 1) {
            admitted++;
            last = i;
        }
    }
    *signature = (struct signature){
        .rule = rule,
        .source = rule->source->any ? NULL : rule->source,
        .destination = rule->destination->any ? NULL : rule->destination,
        .source_port = rule->source_port->any ? NULL : rule->source_port,
        .destination_port = rule->destination_port->any ? NULL : rule->destination_port,
        .conditions = rule->packet_conditions,
        .buffers = rule->buffers,
        .protocol = (uint8_t)last,
        .one_protocol = admitted == 1,
        .any_protocol = admitted == 256,
        .bidirectional = rule->bidirectional,
        .ipv4 = protocol->ipv4,
        .ipv6 = protocol->ipv6,
        .any_packet = protocol->any_packet,
    };
    signature->any_ends =
        !signature->source && !signature->destination && !signature->source_port && !signature->destination_port;
    fill_needs(&signature->needs, rule);
    if (signature->one_protocol)
        packet_needs_protocols(&signature->needs, signature->protocol, signature->protocol);
    set_type(signature, rule);
}

int signatures_new(struct ruleset *ruleset, const struct ruleset_options *options)
{
    size_t count = rule_list_count(ruleset->rules);
    struct order_key *keys = calloc(count + 1, sizeof(*keys));

    ruleset->signatures = calloc(count + 1, sizeof(*ruleset->signatures));
    if (!keys || !ruleset->signatures) {
        free(keys);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        keys[i].rule = rule_list_get(ruleset->rules, i);
        keys[i].rank = action_rank(options, keys[i].rule->action);
        keys[i].state_rank = state_rank(keys[i].rule);
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++)
        compile_signature(&ruleset->signatures[i], keys[i].rule);
    ruleset->signature_count = (uint32_t)count;
    free(keys);
    return 0;
}
