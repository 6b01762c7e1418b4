/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signatures: the compiled form of rules. They are sorted in evaluation order: firewall rules first, in the order of
 * the files, then all other rules: by action, then by use of shared state,
 * then priority, then position.
 */
#include "signature.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

/* --- Order ---------------------------------------------------------------------------------------- */

/* The kinds of state, in the order in which they determine the order of rules. For each kind, rules that only write are
 * evaluated first, then rules that write and read, then rules that only read, then all others, so that a rule that
 * reads state sees the changes of other rules for the same packet. */
static const enum rule_name_kind state_order[] = { RULE_NAME_FLOWBIT,     RULE_NAME_FLOWINT, RULE_NAME_FLOW_TEXT,
                                                   RULE_NAME_PACKET_TEXT, RULE_NAME_HOSTBIT, RULE_NAME_XBIT,
                                                   RULE_NAME_TX_BIT };

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
    unsigned action_rank, state_rank;
};

static int compare_keys(const void *left, const void *right)
{
    const struct order_key *a = left, *b = right;

    if (a->rule->firewall != b->rule->firewall)
        return a->rule->firewall ? -1 : 1;
    if (a->rule->firewall)
        return a->rule->index < b->rule->index ? -1 : a->rule->index > b->rule->index;
    if (a->action_rank != b->action_rank)
        return a->action_rank < b->action_rank ? -1 : 1;
    if (a->state_rank != b->state_rank)
        return a->state_rank < b->state_rank ? -1 : 1;
    if (a->rule->priority != b->rule->priority)
        return a->rule->priority < b->rule->priority ? -1 : 1;
    return a->rule->index < b->rule->index ? -1 : a->rule->index > b->rule->index;
}

/* --- Compilation ---------------------------------------------------------------------------------- */

/* Sets the scope of contents and the type of the rule as Suricata does: docs.suricata.io, "Differences from Snort",
 * "tcp-pkt" and "tcp-stream". */
static void set_scope_and_type(struct signature *signature, const struct rule *rule)
{
    bool admits_tcp = rule->protocol.ip_protocols[0] >> IPPROTO_TCP & 1;
    bool admits_direction =
        !(signature->needs.properties_mask & PACKET_TO_CLIENT) && rule->payload != RULE_PAYLOAD_STREAM_ONLY;
    bool addresses_only = !rule->buffers && !rule->applications && !rule->protocol.any_packet && !rule->bypass;
    bool detection_only = !rule->buffers && !rule->applications && !rule->protocol.any_packet;
    bool tests_detection = false, tests_packet = false, has_packet_buffer = false, has_absolute_offset = false;
    /* True: a condition, or a buffer of no application protocol, lacks KEYWORD_STATE, for example because it tests a
     * header. Then the rule's contents are searched in packets only, unless the rule demands the stream. */
    bool tests_headers = false;
    const struct rule_buffer *payload = NULL;

    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        unsigned flags = c->keyword->flags;
        /* keywords that choose a direction, or packet or stream, count as part of the rule's header */
        bool is_header = c->keyword->packet.is_header && c->keyword->packet.is_header(c->data);

        tests_headers |= !(flags & KEYWORD_STATE);
        tests_detection |= (flags & KEYWORD_PROTOCOL_DETECTED) != 0;
        if (flags & KEYWORD_IP_ONLY)
            continue;
        addresses_only &= is_header && admits_direction;
        detection_only &= is_header || flags & KEYWORD_PROTOCOL_DETECTED;
        tests_packet |= !is_header;
    }
    for (const struct match_action *action = rule->actions; action; action = action->next)
        addresses_only &= !action->each_packet;
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (!buffer->keyword && !payload)
            payload = buffer;
        if (!buffer->keyword || buffer->keyword->scope.applications)
            continue;
        tests_headers |= !(buffer->keyword->flags & KEYWORD_STATE);
        has_packet_buffer |= !(buffer->keyword->flags & KEYWORD_NESTED);
    }
    for (const struct condition *c = payload ? payload->conditions : NULL; c; c = c->next) {
        const struct content *content = condition_content(c);

        has_absolute_offset |= content && (content->has_offset || content->has_depth || content->starts_with);
    }

    if (!payload || rule->payload == RULE_PAYLOAD_PACKET_ONLY || rule->protocol.packet_only)
        signature->scope = SCOPE_PACKET;
    else if (rule->payload == RULE_PAYLOAD_STREAM_ONLY || rule->protocol.stream_only)
        signature->scope = SCOPE_STREAM;
    else if (tests_headers)
        signature->scope = SCOPE_PACKET;
    else
        signature->scope = has_absolute_offset ? SCOPE_BOTH : SCOPE_STREAM;
    signature->has_payload = payload != NULL;
    signature->may_span_segments = signature->scope != SCOPE_PACKET && payload->conditions && payload->conditions->next;

    if (rule_hook_is_early(&rule->hook))
        signature->type = RULE_TYPE_PACKET;
    else if (detection_only && tests_detection)
        signature->type = RULE_TYPE_PROTOCOL_DETECTED;
    else if (addresses_only)
        signature->type = strchr(rule->source->text, '!') || strchr(rule->destination->text, '!')
                              ? RULE_TYPE_LIKE_IP_ONLY
                              : RULE_TYPE_IP_ONLY;
    else if (has_packet_buffer)
        signature->type = RULE_TYPE_PACKET;
    else if (signature->of_frame)
        signature->type = RULE_TYPE_FRAME;
    else if (signature->of_transaction)
        signature->type = RULE_TYPE_TRANSACTION;
    else if (signature->scope != SCOPE_PACKET)
        signature->type = signature->scope == SCOPE_STREAM && admits_tcp ? RULE_TYPE_STREAM : RULE_TYPE_PACKET_STREAM;
    else
        signature->type = payload || tests_packet || !rule->applications ? RULE_TYPE_PACKET : RULE_TYPE_APP_LAYER;
    if (signature->type == RULE_TYPE_PROTOCOL_DETECTED && !rule->firewall) /* firewall rules decide about each packet */
        packet_needs_properties(&signature->needs, PACKET_PROTOCOL_DETECTED, PACKET_PROTOCOL_DETECTED);
}

void signature_compile(struct signature *signature, const struct rule *rule)
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
        .needs = { .payload_high = UINT32_MAX, .protocol_high = UINT8_MAX },
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
        .of_transaction = rule_is_of_transaction(rule),
        .of_frame = rule_is_of_frame(rule),
        .transactional = rule->transactional,
        .applications = rule_application_mask(rule),
    };
    signature->any_ends =
        !signature->source && !signature->destination && !signature->source_port && !signature->destination_port;
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->hints && c->keyword->hints->narrow && !c->negated)
            c->keyword->hints->narrow(c->data, &signature->needs);
    }
    if (protocol->arp)
        packet_needs_properties(&signature->needs, PACKET_ARP, PACKET_ARP);
    if (protocol->ethernet)
        packet_needs_properties(&signature->needs, PACKET_ETHERNET, PACKET_ETHERNET);
    if (signature->one_protocol)
        packet_needs_protocols(&signature->needs, signature->protocol, signature->protocol);
    set_scope_and_type(signature, rule);
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
        const struct rule *rule = rule_list_get(ruleset->rules, i);
        enum rule_action action = rule->action;
        unsigned rank = 0;

        if (action == ACTION_REJECT_DESTINATION || action == ACTION_REJECT_BOTH)
            action = ACTION_REJECT;
        while (rank < 4 && options->action_order[rank] != action)
            rank++;
        keys[i] = (struct order_key){ rule, rank, state_rank(rule) };
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++)
        signature_compile(&ruleset->signatures[i], keys[i].rule);
    ruleset->signature_count = (uint32_t)count;
    free(keys);
    return 0;
}
