/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of detection state to another process, which has loaded its own ruleset. As in a reload (state_map.c), rules
 * with the same gid, sid and text are the same rule; a digest of the text is sent. State of other rules is discarded.
 *
 * Scan positions of transactions are not sent, so the next process scans all stored data of a transaction again. Rules
 * that have matched are marked as done, so they do not match again.
 *
 * Threads:   not thread-safe; called by one thread at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "detect_priv.h"
#include "sluice/transfer.h"

enum { SIGNATURE_SIZE = 16, MAX_CANDIDATES = TRANSACTION_CANDIDATES * TRANSACTION_BLOCKS };

struct detect_signatures {
    const struct ruleset *ruleset;
    uint32_t of_rule[]; /* number of the signature, by index of the rule; SIGNATURE_NONE: none */
};

int detect_signatures_new(struct detect_signatures **out, const struct ruleset *ruleset)
{
    size_t rules = rule_list_count(ruleset->rules);
    struct detect_signatures *signatures = malloc(sizeof(*signatures) + (rules + 1) * sizeof(signatures->of_rule[0]));

    if (!signatures)
        return -ENOMEM;
    signatures->ruleset = ruleset;
    memset(signatures->of_rule, 0xff, (rules + 1) * sizeof(signatures->of_rule[0]));
    for (uint32_t i = 0; i < ruleset->signature_count; i++)
        signatures->of_rule[ruleset->signatures[i].rule->index] = i;
    *out = signatures;
    return 0;
}

void detect_signatures_free(struct detect_signatures *signatures)
{
    free(signatures);
}

/* --- Signatures ----------------------------------------------------------------------------------- */

static uint64_t text_digest(const struct rule *rule)
{
    return rule->text ? XXH3_64bits(rule->text, strlen(rule->text)) : 0;
}

static void transfer_signature(struct transfer *t, const struct detect_signatures *signatures, uint32_t *signature)
{
    uint32_t gid = 0, sid = 0;
    uint64_t digest = 0;

    if (!t->reading) {
        const struct rule *rule = signatures->ruleset->signatures[*signature].rule;

        gid = rule->gid;
        sid = rule->sid;
        digest = text_digest(rule);
    }
    transfer_u32(t, &gid);
    transfer_u32(t, &sid);
    transfer_u64(t, &digest);
    if (t->reading) {
        const struct rule *rule = t->error ? NULL : rule_list_find(signatures->ruleset->rules, gid, sid);

        *signature = rule && text_digest(rule) == digest ? signatures->of_rule[rule->index] : SIGNATURE_NONE;
    }
}

/* --- Flows ---------------------------------------------------------------------------------------- */

void detect_transfer_flow(struct transfer *t, struct detector *detector, const struct detect_signatures *signatures,
                          struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct flow_detection **slot = &flow->detection[direction];
        uint32_t count = 0;

        if (!t->reading)
            pending_update(flow, direction, signatures->ruleset);
        if (!t->reading && *slot)
            count = (*slot)->count;
        transfer_u32(t, &count);
        transfer_require(t, count <= PENDING_MAX);
        for (uint32_t i = 0; i < count && !t->error; i++) {
            struct pending_candidate pending = { .until = 0 };

            if (!t->reading)
                pending = (*slot)->list[i];
            transfer_signature(t, signatures, &pending.signature);
            transfer_u64(t, &pending.until);
            transfer_bool(t, &pending.muted);
            if (!t->reading || t->error || pending.signature == SIGNATURE_NONE)
                continue;
            if (!*slot && (*slot = pool_alloc(detector->pending)))
                **slot = (struct flow_detection){ .generation = signatures->ruleset->generation };
            if (*slot)
                (*slot)->list[(*slot)->count++] = pending;
            else
                flow->flags |= FLOW_RESCAN; /* memory is exhausted: the inspection window is scanned again */
        }
    }
}

/* --- Transactions --------------------------------------------------------------------------------- */

static void transfer_candidate(struct transfer *t, const struct detect_signatures *signatures,
                               struct transaction_candidate *candidate)
{
    transfer_signature(t, signatures, &candidate->signature);
    transfer_u32(t, &candidate->matched);
    transfer_u16(t, &candidate->files);
    transfer_bool(t, &candidate->done);
    transfer_bool(t, &candidate->files_hold);
}

void detect_transfer_transaction(struct transfer *t, struct detector *detector,
                                 const struct detect_signatures *signatures, struct app_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_detection *state = t->reading ? NULL : tx->detection[direction];
        uint32_t count = 0;

        transfer_bool(t, &tx->settled[direction]);
        for (unsigned i = 0; i < APP_EVENT_WORDS; i++)
            transfer_u64(t, &tx->settled_events[direction][i]);
        transaction_state_update(detector, signatures->ruleset, state);
        for (const struct app_detection *block = state; block; block = block->more)
            count += block->count;
        transfer_u32(t, &count);
        for (struct app_detection *block = state; block; block = block->more) {
            for (uint32_t i = 0; i < block->count; i++)
                transfer_candidate(t, signatures, &block->list[i]);
        }
        if (!t->reading)
            continue;
        transfer_require(t, count <= MAX_CANDIDATES && transfer_has_room(t, count, SIGNATURE_SIZE));
        for (uint32_t i = 0; i < count && !t->error; i++) {
            struct transaction_candidate candidate = { .matched = 0 };

            transfer_candidate(t, signatures, &candidate);
            if (!t->error && candidate.signature != SIGNATURE_NONE)
                transaction_add_candidate(detector, signatures->ruleset, &tx->detection[direction], &candidate);
        }
    }
}

/* --- Firewall rules ------------------------------------------------------------------------------- */

static void transfer_filter_state(struct transfer *t, struct app_tx *tx, enum flow_direction direction)
{
    struct app_filter_state *state = &tx->filter[direction];

    transfer_u8(t, &state->hook);
    transfer_bool(t, &state->accepted);
    transfer_u8(t, &state->count);
    transfer_require(t, state->hook <= APP_MAX_HOOKS && state->count <= APP_FILTER_RULES);
    for (uint8_t i = 0; i < state->count && !t->error; i++)
        transfer_u64(t, &tx->filter_rules[direction][i]);
}

void detect_transfer_filter(struct transfer *t, struct flow *flow)
{
    enum { TRANSACTION_SIZE = 15 }; /* least number of bytes of a transaction */
    struct app_tx *tx = app_transactions(flow);
    uint32_t count = 0;

    transfer_bool(t, &flow->accepted);
    for (struct app_tx *other = tx; other && !t->reading; other = other->next)
        count++;
    transfer_u32(t, &count);
    transfer_require(t, transfer_has_room(t, count, TRANSACTION_SIZE));
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct app_tx read = { .id = 0 }, *to = t->reading ? &read : tx;

        transfer_u64(t, &to->id);
        transfer_bool(t, &to->accepted);
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
            transfer_filter_state(t, to, direction);
        if (!t->reading) {
            tx = tx->next;
            continue;
        }
        /* Both lists have the same order. Transactions that were not restored are omitted. */
        for (struct app_tx *other = tx; other && !t->error; other = other->next) {
            if (other->id != read.id)
                continue;
            other->accepted = read.accepted;
            memcpy(other->filter, read.filter, sizeof(other->filter));
            memcpy(other->filter_rules, read.filter_rules, sizeof(other->filter_rules));
            tx = other->next;
            break;
        }
    }
}
