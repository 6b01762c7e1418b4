/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of detection state to a process with a separate ruleset. As in a reload (state_map.c), a rule with the same
 * ids and the same text is the same rule; the text is sent as its digest. State of other rules is dropped.
 *
 * Scan positions of transactions are not sent: all present data of a transaction is scanned again, and what has
 * matched does not match again.
 *
 * Threads: one at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "detect_priv.h"
#include "sluice/transfer.h"

enum { CHECK_SIZE = 16, ALL_CANDIDATES = TRANSACTION_CANDIDATES * TRANSACTION_PIECES };

struct detect_checks {
    const struct ruleset *ruleset;
    uint32_t of_rule[]; /* by the rule's index; SIGNATURE_NONE: none */
};

int detect_checks_new(struct detect_checks **out, const struct ruleset *ruleset)
{
    size_t rules = rule_list_count(ruleset->rules);
    struct detect_checks *checks = malloc(sizeof(*checks) + (rules + 1) * sizeof(checks->of_rule[0]));

    if (!checks)
        return -ENOMEM;
    checks->ruleset = ruleset;
    memset(checks->of_rule, 0xff, (rules + 1) * sizeof(checks->of_rule[0]));
    for (uint32_t i = 0; i < ruleset->check_count; i++)
        checks->of_rule[ruleset->checks[i].rule->index] = i;
    *out = checks;
    return 0;
}

void detect_checks_free(struct detect_checks *checks)
{
    free(checks);
}

/* --- Signatures ----------------------------------------------------------------------------------- */

static uint64_t text_digest(const struct rule *rule)
{
    return rule->text ? XXH3_64bits(rule->text, strlen(rule->text)) : 0;
}

static uint32_t find_check(const struct detect_checks *checks, uint32_t gid, uint32_t sid, uint64_t digest)
{
    const struct rule *rule = rule_list_find(checks->ruleset->rules, gid, sid);

    return rule && text_digest(rule) == digest ? checks->of_rule[rule->index] : CARRIED_NOWHERE;
}

static void transfer_check(struct transfer *t, const struct detect_checks *checks, uint32_t *check)
{
    uint32_t gid = 0, sid = 0;
    uint64_t digest = 0;

    if (!t->reading) {
        const struct rule *rule = checks->ruleset->checks[*check].rule;

        gid = rule->gid;
        sid = rule->sid;
        digest = text_digest(rule);
    }
    transfer_u32(t, &gid);
    transfer_u32(t, &sid);
    transfer_u64(t, &digest);
    if (t->reading)
        *check = t->error ? CARRIED_NOWHERE : find_check(checks, gid, sid, digest);
}

/* --- Flows ---------------------------------------------------------------------------------------- */

static void write_waiting(struct transfer *t, const struct detect_checks *checks, struct flow_detection *detection)
{
    uint32_t count = detection ? detection->count : 0;

    transfer_u32(t, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct waiting *waiting = &detection->list[i];

        transfer_check(t, checks, &waiting->check);
        transfer_u64(t, &waiting->until);
        transfer_bool(t, &waiting->muted);
    }
}

/* If memory is exhausted, the inspection window of the flow is scanned again. */
static void add_waiting(struct detector *detector, const struct detect_checks *checks, struct flow *flow,
                        enum flow_direction direction, const struct waiting *waiting)
{
    struct flow_detection **slot = &flow->detection[direction];

    if (!*slot && (*slot = pool_take(detector->waiting)))
        **slot = (struct flow_detection){ .generation = checks->ruleset->generation };
    if (*slot)
        (*slot)->list[(*slot)->count++] = *waiting;
    else
        flow->flags |= FLOW_RESCAN;
}

static void read_waiting(struct transfer *t, struct detector *detector, const struct detect_checks *checks,
                         struct flow *flow, enum flow_direction direction)
{
    uint32_t count = 0;

    transfer_u32(t, &count);
    transfer_require(t, count <= WAITING_MAX);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct waiting waiting = { .until = 0 };

        transfer_check(t, checks, &waiting.check);
        transfer_u64(t, &waiting.until);
        transfer_bool(t, &waiting.muted);
        if (!t->error && waiting.check != CARRIED_NOWHERE)
            add_waiting(detector, checks, flow, direction, &waiting);
    }
}

void detect_transfer_flow(struct transfer *t, struct detector *detector, const struct detect_checks *checks,
                          struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (t->reading) {
            read_waiting(t, detector, checks, flow, direction);
            continue;
        }
        waiting_bring_up_to_date(flow, direction, checks->ruleset);
        write_waiting(t, checks, flow->detection[direction]);
    }
}

/* --- Transactions --------------------------------------------------------------------------------- */

static void transfer_candidate(struct transfer *t, const struct detect_checks *checks,
                               struct transaction_candidate *candidate)
{
    transfer_check(t, checks, &candidate->check);
    transfer_u32(t, &candidate->matched);
    transfer_u16(t, &candidate->files);
    transfer_bool(t, &candidate->done);
    transfer_bool(t, &candidate->files_hold);
}

static void write_memory(struct transfer *t, const struct detect_checks *checks, struct app_detection *memory)
{
    uint32_t count = 0;

    for (struct app_detection *piece = memory; piece; piece = piece->more)
        count += piece->count;
    transfer_u32(t, &count);
    for (struct app_detection *piece = memory; piece; piece = piece->more) {
        for (uint32_t i = 0; i < piece->count; i++)
            transfer_candidate(t, checks, &piece->list[i]);
    }
}

static void read_memory(struct transfer *t, struct detector *detector, const struct detect_checks *checks,
                        struct app_tx *tx, enum flow_direction direction)
{
    uint32_t count = 0;

    transfer_u32(t, &count);
    transfer_require(t, count <= ALL_CANDIDATES && transfer_has_room(t, count, CHECK_SIZE));
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct transaction_candidate candidate = { .matched = 0 };

        transfer_candidate(t, checks, &candidate);
        if (!t->error && candidate.check != CARRIED_NOWHERE)
            transaction_add_candidate(detector, checks->ruleset, &tx->detection[direction], &candidate);
    }
}

void detect_transfer_transaction(struct transfer *t, struct detector *detector, const struct detect_checks *checks,
                                 struct app_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_bool(t, &tx->settled[direction]);
        for (unsigned i = 0; i < APP_EVENT_WORDS; i++)
            transfer_u64(t, &tx->settled_events[direction][i]);
        if (t->reading) {
            read_memory(t, detector, checks, tx, direction);
            continue;
        }
        transaction_bring_up_to_date(detector, checks->ruleset, tx->detection[direction]);
        write_memory(t, checks, tx->detection[direction]);
    }
}
