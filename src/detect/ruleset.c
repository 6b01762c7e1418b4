/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a ruleset: each rule is compiled to a signature (signature.c). A signature is added
 * - to the groups of its types of frames, if it selects frames (frame.c), else
 * - to the groups of its application protocols, if it is evaluated on transactions (transaction_groups.c), else
 * - to the list of a packet event, if it requires one, else
 * - to a prefilter, if it has a literal, else
 * - to the address index, if its type is RULE_TYPE_IP_ONLY (address_index.c), else
 * - to the list of rules that are evaluated for every packet with their ports (group.c).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "filter.h"
#include "sluice/clock.h"

/* --- Groups --------------------------------------------------------------------------------------- */

bool signature_admits_traffic(const struct signature *signature, enum traffic traffic)
{
    unsigned protocol = traffic == TRAFFIC_TCP ? IPPROTO_TCP : IPPROTO_UDP;

    if (traffic == TRAFFIC_OTHER)
        return !signature->one_protocol || (signature->protocol != IPPROTO_TCP && signature->protocol != IPPROTO_UDP);
    return signature->rule->protocol.ip_protocols[0] >> protocol & 1 && protocol >= signature->needs.protocol_low &&
           protocol <= signature->needs.protocol_high;
}

static struct prefilter *buffer_prefilter(struct ruleset *ruleset, const struct keyword *buffer)
{
    struct buffer_prefilter *slot = ruleset->buffers;

    for (uint32_t i = 0; i < ruleset->buffer_count; i++, slot++) {
        if (slot->buffer == buffer)
            return slot->prefilter;
    }
    if (ruleset->buffer_count == RULESET_MAX_BUFFERS || prefilter_new(&slot->prefilter))
        return NULL;
    slot->buffer = buffer;
    ruleset->buffer_count++;
    return slot->prefilter;
}

static int add_to_groups(struct ruleset *ruleset, struct group_builder *builder, const struct group_entry *entry)
{
    const struct signature *signature = &ruleset->signatures[entry->signature];

    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (signature_admits_traffic(signature, traffic) && group_builder_add(builder, ruleset, traffic, entry))
            return -ENOMEM;
    }
    return 0;
}

static int add_to_payload(struct ruleset *ruleset, struct group_builder *builder, uint32_t signature,
                          const struct literal *literal)
{
    struct signature *added = &ruleset->signatures[signature];
    struct group_entry entry = {
        .signature = signature, .needs = added->needs, .has_literal = true, .literal = *literal
    };

    if ((added->scope == SCOPE_PACKET || !signature_admits_traffic(added, TRAFFIC_TCP)) && !added->of_transaction &&
        !literal->is_part)
        entry.literal.precheck = precheck_of(literal->condition);
    /* If only the stream is inspected, offsets count from the start of the inspection window. The window moves, so the
     * literal may be anywhere. */
    if (added->scope == SCOPE_STREAM)
        entry.literal.reach = LITERAL_ANYWHERE;
    else if (added->scope == SCOPE_PACKET && added->needs.payload_high < literal->reach)
        entry.literal.reach = added->needs.payload_high;
    if (entry.literal.reach == LITERAL_ANYWHERE)
        entry.literal.at = LITERAL_ANYWHERE;
    added->has_literal = true;
    added->may_span_segments |=
        added->scope != SCOPE_PACKET && (literal->is_part || literal->length > LITERAL_STREAM_PART);
    ruleset->scans_packets |= signature_admits_traffic(added, TRAFFIC_TCP) && added->scope != SCOPE_STREAM;
    return add_to_groups(ruleset, builder, &entry);
}

int rule_required_event(const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->hints && c->keyword->hints->event && !c->negated)
            return c->keyword->hints->event(c->data);
    }
    return -1;
}

/* Returns whether the rule cannot match in a flow without variables, as long as only the actions and captured texts of
 * other rules set some: scripts may, too. */
static bool needs_variables(const struct ruleset *ruleset, const struct rule *rule)
{
    bool needs = false;

    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        needs |= c->keyword->hints && c->keyword->hints->needs_variables && !c->negated &&
                 c->keyword->hints->needs_variables(c->data);
    return needs && !rule_list_scripts(ruleset->rules);
}

static int add_unfiltered(struct ruleset *ruleset, struct group_builder *builder, uint32_t index)
{
    const struct signature *signature = &ruleset->signatures[index];
    const struct group_entry entry = { .signature = index,
                                       .needs = signature->needs,
                                       .applications = signature->of_transaction ? 0 : signature->applications,
                                       .needs_variables = needs_variables(ruleset, signature->rule),
                                       .has_payload = signature->has_payload,
                                       .in_stream = signature->has_payload && signature->scope != SCOPE_PACKET };

    if (signature->any_packet && signature_list_add(&ruleset->without_ip, index))
        return -ENOMEM;
    if (signature->type != RULE_TYPE_IP_ONLY)
        return add_to_groups(ruleset, builder, &entry);
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (signature_admits_traffic(signature, traffic) && signature_list_add(&ruleset->ip_only[traffic], index))
            return -ENOMEM;
    }
    return 0;
}

static int group_signature(struct ruleset *ruleset, struct group_builder *builder, uint32_t index)
{
    struct signature *signature = &ruleset->signatures[index];
    int event = rule_required_event(signature->rule);
    struct literal literal;

    if (signature->rule->firewall)
        return signature->of_transaction ? transaction_rule_add(ruleset, index) : 0;
    if (rule_hook_is_early(&signature->rule->hook))
        return signature_list_add(&ruleset->early[filter_packet_hook_of(signature->rule)], index);
    if (signature->of_frame)
        return frame_rule_add(ruleset, index);
    if (signature->of_transaction) {
        signature->by_payload = literal_choose_payload(signature->rule, &literal);
        if (signature->by_payload && add_to_payload(ruleset, builder, index, &literal))
            return -ENOMEM;
        return transaction_rule_add(ruleset, index);
    }
    if (event >= 0)
        return signature_list_add(&ruleset->by_event[event], index);
    if (!literal_choose(signature->rule, false, LITERAL_BOTH_WAYS, &literal))
        return add_unfiltered(ruleset, builder, index);
    if (!literal.buffer)
        return add_to_payload(ruleset, builder, index, &literal);

    struct prefilter *prefilter = buffer_prefilter(ruleset, literal.buffer);

    /* Without an entry for the buffer (table full, no memory), the rule is evaluated for every packet. */
    return prefilter ? prefilter_add(prefilter, &literal, index) : add_unfiltered(ruleset, builder, index);
}

static int group_rules(struct ruleset *ruleset)
{
    struct group_builder *builder;
    int err = group_builder_new(&builder);

    if (err)
        return err;
    ruleset->by_event = calloc(RULESET_MAX_EVENTS, sizeof(*ruleset->by_event));
    ruleset->transactions = calloc(transaction_group_count(), sizeof(*ruleset->transactions));
    ruleset->arena = arena_new(0);
    if (!ruleset->by_event || !ruleset->transactions || !ruleset->arena)
        err = -ENOMEM;
    for (uint32_t i = 0; i < ruleset->signature_count && !err; i++) {
        const struct rule *rule = ruleset->signatures[i].rule;

        err = group_signature(ruleset, builder, i);
        for (const struct condition *c = rule->packet_conditions; c; c = c->next)
            ruleset->needs_checksums |= (c->keyword->flags & KEYWORD_NEEDS_CHECKSUMS) != 0;
        ruleset->file_needs |= rule->file_needs;
        ruleset->needs_conntrack |= rule->needs_conntrack;
    }
    if (!err)
        err = group_builder_finish(ruleset, builder);
    if (!err)
        err = transaction_groups_merge(ruleset);
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT && !err; traffic++)
        err = address_index_new(&ruleset->ip_only_index[traffic], ruleset, &ruleset->ip_only[traffic]);
    group_builder_free(builder);
    return err;
}

int ruleset_new(struct ruleset **out, struct rule_list *rules, const struct ruleset_options *options, struct diag *diag)
{
    struct ruleset *ruleset = calloc(1, sizeof(*ruleset));
    int err = -ENOMEM;

    if (!ruleset)
        return -ENOMEM;
    ruleset->rules = rules;
    ruleset->generation = options->generation;
    ruleset->loaded_ns = clock_realtime_ns();
    err = signatures_new(ruleset, options);
    if (!err && options->before)
        err = state_map_new(ruleset, options->before);
    if (!err)
        err = group_rules(ruleset);
    if (!err)
        ruleset_number_searches(ruleset);
    if (!err && options->firewall)
        err = filter_new(&ruleset->filter, ruleset, options->firewall);
    if (!err)
        err = acknowledgment_rules_find(ruleset);
    if (!err && !options->no_databases)
        err = ruleset_compile(ruleset, options, diag);
    if (err) {
        ruleset->rules = NULL; /* ruleset_free() must not free the rules, which belong to the caller after an error */
        ruleset_free(ruleset);
        return err;
    }
    *out = ruleset;
    return 0;
}

void ruleset_free(struct ruleset *ruleset)
{
    if (!ruleset)
        return;
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        group_clear(&ruleset->generic[traffic]);
        free(ruleset->ip_only[traffic].index);
        address_index_free(ruleset->ip_only_index[traffic]);
    }
    for (uint32_t i = 0; i < ruleset->buffer_count; i++)
        prefilter_free(ruleset->buffers[i].prefilter);
    for (unsigned i = 0; i < FILTER_PACKET_HOOKS; i++)
        free(ruleset->early[i].index);
    for (unsigned i = 0; ruleset->by_event && i < RULESET_MAX_EVENTS; i++)
        free(ruleset->by_event[i].index);
    free(ruleset->by_event);
    transaction_groups_clear(ruleset);
    frame_groups_clear(ruleset);
    filter_free(ruleset->filter);
    arena_free(ruleset->arena);
    free(ruleset->without_ip.index);
    free(ruleset->acknowledgment_rules.index);
    for (uint32_t i = 0; i < ruleset->group_count; i++)
        group_clear(&ruleset->groups[i]);
    free(ruleset->groups);
    free(ruleset->group_of);
    free(ruleset->signatures);
    free(ruleset->state_map.signatures);
    rule_list_free(ruleset->rules);
    free(ruleset);
}

const struct rule_list *ruleset_rules(const struct ruleset *ruleset)
{
    return ruleset->rules;
}

uint64_t ruleset_loaded_ns(const struct ruleset *ruleset)
{
    return ruleset->loaded_ns;
}

unsigned ruleset_generation(const struct ruleset *ruleset)
{
    return ruleset->generation;
}

struct ruleset_databases ruleset_databases(const struct ruleset *ruleset)
{
    return ruleset->databases;
}

unsigned ruleset_file_needs(const struct ruleset *ruleset)
{
    return ruleset->file_needs;
}

bool ruleset_needs_conntrack(const struct ruleset *ruleset)
{
    return ruleset->needs_conntrack;
}

bool ruleset_needs_checksums(const struct ruleset *ruleset)
{
    return ruleset->needs_checksums;
}
