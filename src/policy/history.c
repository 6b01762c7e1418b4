/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For who asks why: how often each rule matched, and which rules matched in a flow. Touched on a match only. Tallies are numbers that
 * the worker alone writes, so plain loads and stores do; their memory is address space until a rule matches.
 */
#include "policy_priv.h"
#include "sluice/pool.h"

static void count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

void tally_match(struct rule_tally *tallies, const struct rule *rule, const struct packet *pkt)
{
    if (rule->number == 0 || rule->number >= POLICY_MAX_TALLIES)
        return;
    count(&tallies[rule->number].matches);
    atomic_store_explicit(&tallies[rule->number].last_ns, pkt->time_ns, memory_order_relaxed);
}

void tally_alert(struct rule_tally *tallies, const struct rule *rule)
{
    if (rule->number > 0 && rule->number < POLICY_MAX_TALLIES)
        count(&tallies[rule->number].alerts);
}

void tally_drop(struct rule_tally *tallies, const struct rule *rule)
{
    if (rule->number > 0 && rule->number < POLICY_MAX_TALLIES)
        count(&tallies[rule->number].drops);
}

static struct flow_history_rule *entry_of(struct flow_history *history, const struct rule *rule, uint64_t now_ns)
{
    struct flow_history_rule *entry = history->rules;

    for (uint32_t i = 0; i < history->count; i++, entry++) {
        if (entry->sid == rule->sid && entry->gid == rule->gid)
            return entry;
    }
    if (history->count == FLOW_HISTORY_RULES)
        return NULL;
    history->count++;
    *entry = (struct flow_history_rule){ .gid = rule->gid, .sid = rule->sid, .first_ns = now_ns };
    return entry;
}

void history_note(struct pool *pool, struct flow *flow, const struct packet *pkt, const struct history_match *match)
{
    struct flow_history_rule *entry;

    if (!flow->history) {
        flow->history = pool_take(pool);
        if (!flow->history)
            return; /* what was decided is in the flow all the same */
        *flow->history = (struct flow_history){ .count = 0 };
    }
    entry = entry_of(flow->history, match->rule, pkt->time_ns);
    if (!entry) {
        flow->history->others++;
        return;
    }
    entry->count++;
    entry->last_ns = pkt->time_ns;
    entry->action = (uint8_t)match->action;
    entry->reported |= match->reported;
    entry->blocked |= match->blocked;
    entry->silenced |= match->silenced;
}
