/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Match statistics for diagnosis: match counters per rule (tallies), and the rules that matched in a flow (history).
 * Updated on a match only. Only the worker writes the tallies, so relaxed loads and stores suffice instead of atomic
 * read-modify-write operations. The array of tallies is reserved address space; a page is allocated when a rule in it
 * matches.
 */
#include "policy_priv.h"
#include "sluice/pool.h"
#include "sluice/transfer.h"

static void increment(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

void count_rule_match(struct rule_tally *tallies, const struct rule *rule, const struct packet *pkt)
{
    if (rule->number == 0 || rule->number >= POLICY_MAX_TALLIES)
        return;
    increment(&tallies[rule->number].matches);
    atomic_store_explicit(&tallies[rule->number].last_ns, pkt->time_ns, memory_order_relaxed);
}

void count_rule_alert(struct rule_tally *tallies, const struct rule *rule)
{
    if (rule->number > 0 && rule->number < POLICY_MAX_TALLIES)
        increment(&tallies[rule->number].alerts);
}

void count_rule_drop(struct rule_tally *tallies, const struct rule *rule)
{
    if (rule->number > 0 && rule->number < POLICY_MAX_TALLIES)
        increment(&tallies[rule->number].drops);
}

void count_rule_would_drop(struct rule_tally *tallies, const struct rule *rule)
{
    if (rule->number > 0 && rule->number < POLICY_MAX_TALLIES)
        increment(&tallies[rule->number].would_drops);
}

void count_rule_limit(struct rule_tally *tallies, const struct rule *rule)
{
    if (rule->number > 0 && rule->number < POLICY_MAX_TALLIES)
        increment(&tallies[rule->number].limits);
}

void history_record_match(struct pool *pool, struct flow *flow, const struct packet *pkt,
                          const struct history_match *match)
{
    const struct rule *rule = match->rule;

    if (!flow->history) {
        flow->history = pool_alloc(pool);
        if (!flow->history)
            return; /* only the history is lost: the flow itself stores the decision */
        *flow->history = (struct flow_history){ .count = 0 };
    }
    struct flow_history *history = flow->history;
    struct flow_history_rule *entry = history->rules, *end = entry + history->count;

    while (entry < end && (entry->sid != rule->sid || entry->gid != rule->gid))
        entry++;
    if (entry == end) {
        if (history->count == FLOW_HISTORY_RULES) {
            history->others++;
            return;
        }
        history->count++;
        *entry = (struct flow_history_rule){ .gid = rule->gid, .sid = rule->sid, .first_ns = pkt->time_ns };
    }
    entry->count++;
    entry->last_ns = pkt->time_ns;
    entry->action = (uint8_t)match->action;
    entry->reported |= match->reported;
    entry->blocked |= match->blocked;
    entry->would_drop |= match->would_drop;
    entry->silenced |= match->silenced;
}

/* --- State transfer ------------------------------------------------------------------------------- */

void history_transfer(struct transfer *t, struct pool *pool, struct flow *flow)
{
    struct flow_history read = { .count = 0 }, *history = t->reading ? &read : flow->history;

    transfer_u32(t, &history->count);
    transfer_u32(t, &history->others);
    transfer_require(t, history->count <= FLOW_HISTORY_RULES);
    for (uint32_t i = 0; i < history->count && !t->error; i++) {
        struct flow_history_rule *rule = &history->rules[i];

        transfer_u32(t, &rule->gid);
        transfer_u32(t, &rule->sid);
        transfer_u32(t, &rule->count);
        transfer_u8(t, &rule->action);
        transfer_bool(t, &rule->reported);
        transfer_bool(t, &rule->blocked);
        transfer_bool(t, &rule->would_drop);
        transfer_bool(t, &rule->silenced);
        transfer_u64(t, &rule->first_ns);
        transfer_u64(t, &rule->last_ns);
        transfer_require(t, rule->action < ACTION_COUNT);
    }
    if (t->reading && !t->error && !flow->history && (flow->history = pool_alloc(pool)))
        *flow->history = read;
}

/* TALLY_SIZE: minimum size of a transferred tally, that of a rule with an empty name */
enum { TALLY_VALUES = 5, TALLY_SIZE = 2 + TALLY_VALUES * 8 };

static uint64_t load_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_to_counter(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, load_counter(counter) + value, memory_order_relaxed);
}

/* Returns the name of the rule with this number if it has matched, NULL otherwise. */
static const char *matched_rule_name(const struct rule_tally *tallies, const struct rule_names *names, uint32_t number)
{
    return load_counter(&tallies[number].matches) > 0 ? rule_names_text(names, RULE_NAME_RULE, number) : NULL;
}

static void write_tallies(struct transfer *t, const struct rule_tally *tallies, const struct rule_names *names)
{
    uint32_t count = 0, end = 1;

    for (; end < POLICY_MAX_TALLIES && rule_names_text(names, RULE_NAME_RULE, end); end++)
        count += matched_rule_name(tallies, names, end) != NULL;
    transfer_u32(t, &count);
    for (uint32_t number = 1; number < end; number++) {
        const struct rule_tally *tally = &tallies[number];
        uint64_t values[TALLY_VALUES] = { load_counter(&tally->matches), load_counter(&tally->alerts),
                                          load_counter(&tally->drops), load_counter(&tally->last_ns),
                                          load_counter(&tally->would_drops) };
        const char *name = matched_rule_name(tallies, names, number);

        if (!name)
            continue;
        transfer_put_text(t, name);
        for (unsigned i = 0; i < TALLY_VALUES; i++)
            transfer_u64(t, &values[i]);
    }
}

static void read_tally(struct transfer *t, struct rule_tally *tallies, struct rule_names *names)
{
    struct span name = { .at = NULL };
    uint64_t values[TALLY_VALUES] = { 0 };
    uint32_t number;

    name.at = transfer_lend_text(t, &name.length);
    for (unsigned i = 0; i < TALLY_VALUES; i++)
        transfer_u64(t, &values[i]);
    number = t->error ? 0 : rule_names_number(names, RULE_NAME_RULE, name);
    if (number == 0 || number >= POLICY_MAX_TALLIES)
        return;
    add_to_counter(&tallies[number].matches, values[0]);
    add_to_counter(&tallies[number].alerts, values[1]);
    add_to_counter(&tallies[number].drops, values[2]);
    add_to_counter(&tallies[number].would_drops, values[4]);
    if (values[3] > load_counter(&tallies[number].last_ns))
        atomic_store_explicit(&tallies[number].last_ns, values[3], memory_order_relaxed);
}

void rule_tallies_transfer(struct transfer *t, struct rule_tally *tallies, struct rule_names *names)
{
    uint32_t count = 0;

    if (!t->reading) {
        write_tallies(t, tallies, names);
        return;
    }
    transfer_u32(t, &count);
    transfer_require(t, count < POLICY_MAX_TALLIES && transfer_has_room(t, count, TALLY_SIZE));
    for (uint32_t i = 0; i < count && !t->error; i++)
        read_tally(t, tallies, names);
}
