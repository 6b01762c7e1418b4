/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a ruleset: each rule is compiled to a signature (signature.c). A signature is added either to a prefilter by
 * its literal, or to the list of a decoder event, or to the lists of rules that are evaluated for every packet of
 * their ports (group.c).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

void ruleset_options_default(struct ruleset_options *options)
{
    *options = (struct ruleset_options){
        .action_order = { ACTION_PASS, ACTION_DROP, ACTION_REJECT, ACTION_ALERT },
        .generation = 1,
    };
}

/* --- Groups --------------------------------------------------------------------------------------- */

static bool admits_protocol(const struct check *check, unsigned protocol)
{
    return check->rule->protocol.ip_protocols[protocol / 64] >> (protocol % 64) & 1 &&
           protocol >= check->needs.protocol_low && protocol <= check->needs.protocol_high;
}

static bool admits(const struct check *check, enum traffic traffic)
{
    if (traffic == TRAFFIC_TCP)
        return admits_protocol(check, IPPROTO_TCP);
    if (traffic == TRAFFIC_UDP)
        return admits_protocol(check, IPPROTO_UDP);
    return !check->one_protocol || (check->protocol != IPPROTO_TCP && check->protocol != IPPROTO_UDP);
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

static int add_to_groups(struct ruleset *ruleset, struct group_keys *keys, const struct group_entry *entry)
{
    const struct check *check = &ruleset->checks[entry->check];

    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (admits(check, traffic) && group_keys_add(keys, ruleset, traffic, entry))
            return -ENOMEM;
    }
    return 0;
}

/* Returns the number of bytes of the payload within which the literal ends. Contents that match in the stream alone
 * count from the start of the inspection window, which moves. */
static uint32_t reach_of(const struct check *check, const struct literal *literal)
{
    if (check->scope == SCOPE_STREAM)
        return LITERAL_ANYWHERE;
    if (check->scope == SCOPE_PACKET && check->needs.payload_high < literal->reach)
        return check->needs.payload_high;
    return literal->reach;
}

static int add_to_payload(struct ruleset *ruleset, struct group_keys *keys, uint32_t check,
                          const struct literal *literal)
{
    struct check *added = &ruleset->checks[check];
    struct group_entry entry = { .check = check, .needs = added->needs, .has_literal = true, .literal = *literal };

    if ((added->scope == SCOPE_PACKET || !admits(added, TRAFFIC_TCP)) && !added->of_transaction && !literal->is_part)
        entry.literal.follow = follow_of(literal->condition);
    entry.literal.reach = reach_of(added, literal);
    if (entry.literal.reach == LITERAL_ANYWHERE)
        entry.literal.at = LITERAL_ANYWHERE;
    added->has_literal = true;
    added->may_wait |= added->scope != SCOPE_PACKET && (literal->is_part || literal->length > LITERAL_STREAM_PART);
    ruleset->scans_packets |= admits(added, TRAFFIC_TCP) && added->scope != SCOPE_STREAM;
    return add_to_groups(ruleset, keys, &entry);
}

/* Returns the decoder event that the rule requires, or -1. */
static int needed_event(const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->event && !c->negated)
            return c->keyword->event(c->data);
    }
    return -1;
}

static int add_ip_only(struct ruleset *ruleset, uint32_t index)
{
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (admits(&ruleset->checks[index], traffic) && check_list_add(&ruleset->ip_only[traffic], index))
            return -ENOMEM;
    }
    return 0;
}

static int add_unfiltered(struct ruleset *ruleset, struct group_keys *keys, uint32_t index)
{
    const struct check *check = &ruleset->checks[index];
    const struct group_entry entry = { .check = index,
                                       .needs = check->needs,
                                       .applications = check->of_transaction ? 0 : check->applications,
                                       .has_payload = check->has_payload,
                                       .in_stream = check->has_payload && check->scope != SCOPE_PACKET };

    if (check->any_packet && check_list_add(&ruleset->without_ip, index))
        return -ENOMEM;
    return check->type == RULE_TYPE_IP_ONLY ? add_ip_only(ruleset, index) : add_to_groups(ruleset, keys, &entry);
}

/* Adds the plans of a transaction rule, and its literal if that is in the payload. */
static int group_transaction_check(struct ruleset *ruleset, struct group_keys *keys, uint32_t index)
{
    struct check *check = &ruleset->checks[index];
    struct literal literal;

    check->by_payload = literal_prefers_payload(check->rule, &literal);
    if (check->by_payload && add_to_payload(ruleset, keys, index, &literal))
        return -ENOMEM;
    return transaction_rule_add(ruleset, index);
}

static int group_check(struct ruleset *ruleset, struct group_keys *keys, uint32_t index)
{
    const struct rule *rule = ruleset->checks[index].rule;
    struct literal literal;
    int event = needed_event(rule);

    if (ruleset->checks[index].of_transaction)
        return group_transaction_check(ruleset, keys, index);
    if (event >= 0)
        return check_list_add(&ruleset->by_event[event], index);
    if (!literal_choose(rule, false, LITERAL_BOTH_WAYS, &literal))
        return add_unfiltered(ruleset, keys, index);
    if (!literal.buffer)
        return add_to_payload(ruleset, keys, index, &literal);

    struct prefilter *prefilter = buffer_prefilter(ruleset, literal.buffer);

    /* The table of buffers is full: the rule still works, but is evaluated more often. */
    return prefilter ? prefilter_add(prefilter, &literal, index) : add_unfiltered(ruleset, keys, index);
}

static void note_demands(struct ruleset *ruleset, const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        ruleset->needs_checksums |= (c->keyword->flags & KEYWORD_NEEDS_CHECKSUMS) != 0;
    ruleset->file_needs |= rule->file_needs;
    ruleset->needs_conntrack |= rule->needs_conntrack;
}

static int group_rules(struct ruleset *ruleset)
{
    struct group_keys *keys;
    int err = group_keys_new(&keys);

    if (err)
        return err;
    ruleset->by_event = calloc(RULESET_MAX_EVENTS, sizeof(*ruleset->by_event));
    ruleset->transactions = calloc(transaction_group_count(), sizeof(*ruleset->transactions));
    ruleset->arena = arena_new(0);
    if (!ruleset->by_event || !ruleset->transactions || !ruleset->arena)
        err = -ENOMEM;
    for (uint32_t i = 0; i < ruleset->check_count && !err; i++) {
        err = group_check(ruleset, keys, i);
        note_demands(ruleset, ruleset->checks[i].rule);
    }
    if (!err)
        err = group_keys_build(ruleset, keys);
    if (!err)
        err = transaction_groups_join(ruleset);
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT && !err; traffic++)
        err = address_index_new(&ruleset->ip_only_index[traffic], ruleset, &ruleset->ip_only[traffic]);
    group_keys_free(keys);
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
    err = checks_make(ruleset, options);
    if (!err && options->before)
        err = carry_make(ruleset, options->before);
    if (!err)
        err = group_rules(ruleset);
    if (!err)
        err = ruleset_compile(ruleset, options, diag);
    if (err) {
        ruleset->rules = NULL; /* stays the caller's */
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
    for (unsigned i = 0; ruleset->by_event && i < RULESET_MAX_EVENTS; i++)
        free(ruleset->by_event[i].index);
    free(ruleset->by_event);
    transaction_groups_clear(ruleset);
    arena_free(ruleset->arena);
    free(ruleset->without_ip.index);
    for (uint32_t i = 0; i < ruleset->group_count; i++)
        group_clear(&ruleset->groups[i]);
    free(ruleset->groups);
    free(ruleset->group_of);
    free(ruleset->checks);
    free(ruleset->carried.to);
    rule_list_free(ruleset->rules);
    free(ruleset);
}

const struct rule_list *ruleset_rules(const struct ruleset *ruleset)
{
    return ruleset->rules;
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
