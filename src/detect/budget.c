/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluation cost of rules, measured only if detect.packet-budget, detect.rule-budget or budget_options.measure is set.
 * The clock is then read after the evaluation of each candidate, and the elapsed time is added to the cost of the rule.
 * Costs of rules are stored by rule number, so that they survive reloads. At the same time the searches of literals are
 * counted, with their bytes and the rules that they found; a reload clears these counts. If detect.suspend-slow-rules
 * is set, a rule that exceeds its budget too often within a window is suspended for some time. The value `alert`
 * suspends only rules whose single effect is an alert: rules that drop, pass or set state for other rules influence
 * verdicts.
 *
 * The time is elapsed time, not CPU time: if the thread is interrupted, a rule seems slow once, so a rule is suspended
 * only after several slow evaluations (suspend_count).
 *
 * Threads:   the worker writes the costs, any thread may read them; notices go from the worker to one other thread.
 * Ownership: a budget belongs to its detector.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "detect_priv.h"
#include "sluice/clock.h"
#include "sluice/ring.h"

enum { NOTICE_RING_SIZE = 16 << 10 };

struct budget {
    struct budget_options options;
    struct pool *pool; /* a pool of one object, which has both arrays: its unused pages need no memory */
    struct rule_cost *costs;
    struct search_cost *searches;            /* by number of the search; behind `costs` in the same object */
    _Atomic(const struct ruleset *) ruleset; /* the ruleset whose searches these are; NULL: none */
    struct ring *notices;
    uint64_t start_ns; /* start of the current evaluation */
};

int budget_new(struct budget **out, const struct budget_options *options)
{
    struct budget *budget;

    if (!options->measure && options->rule_ns == 0) {
        *out = NULL;
        return 0;
    }
    budget = calloc(1, sizeof(*budget));
    if (!budget)
        return -ENOMEM;
    budget->options = *options;
    if (!budget->options.clock)
        budget->options.clock = clock_monotonic_ns;
    if (pool_new(&budget->pool,
                 BUDGET_MAX_RULES * sizeof(*budget->costs) + BUDGET_MAX_SEARCHES * sizeof(*budget->searches), 0) ||
        ring_new(&budget->notices, NOTICE_RING_SIZE)) {
        budget_free(budget);
        return -ENOMEM;
    }
    budget->costs = pool_alloc(budget->pool);
    budget->searches = (struct search_cost *)(budget->costs + BUDGET_MAX_RULES);
    *out = budget;
    return 0;
}

void budget_free(struct budget *budget)
{
    if (!budget)
        return;
    pool_free(budget->pool);
    ring_free(budget->notices);
    free(budget);
}

const struct rule_cost *detector_cost(const struct detector *detector, uint32_t number)
{
    const struct budget *budget = detector->budget;

    return budget && number > 0 && number < BUDGET_MAX_RULES ? &budget->costs[number] : NULL;
}

const struct search_cost *detector_search_cost(const struct detector *detector, const struct ruleset *ruleset,
                                               uint32_t number)
{
    const struct budget *budget = detector->budget;

    if (!budget || number >= BUDGET_MAX_SEARCHES || atomic_load(&budget->ruleset) != ruleset)
        return NULL;
    return &budget->searches[number];
}

bool detector_is_timed(const struct detector *detector)
{
    return detector->budget != NULL;
}

bool detector_next_suspension(struct detector *detector, struct rule_suspension *out)
{
    const struct rule_suspension *notice;
    size_t size;

    if (!detector->budget || !(notice = ring_peek(detector->budget->notices, &size)))
        return false;
    *out = *notice;
    ring_release(detector->budget->notices);
    return true;
}

/* --- Booking -------------------------------------------------------------------------------------- */

/* Adds to a counter. An atomic addition is not needed, because only one thread writes. */
static void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value, memory_order_relaxed);
}

void budget_book_search(struct budget *budget, uint32_t number, uint32_t length, uint32_t candidates)
{
    struct search_cost *cost;

    if (number >= BUDGET_MAX_SEARCHES)
        return;
    cost = &budget->searches[number];
    counter_add(&cost->scans, 1);
    counter_add(&cost->bytes, length);
    counter_add(&cost->candidates, candidates);
}

void budget_set_ruleset(struct budget *budget, const struct ruleset *ruleset)
{
    atomic_store(&budget->ruleset, NULL); /* so that no thread reads the counts of one ruleset for another */
    for (uint32_t i = 0; i < BUDGET_MAX_SEARCHES; i++) {
        atomic_store_explicit(&budget->searches[i].scans, 0, memory_order_relaxed);
        atomic_store_explicit(&budget->searches[i].bytes, 0, memory_order_relaxed);
        atomic_store_explicit(&budget->searches[i].candidates, 0, memory_order_relaxed);
    }
    atomic_store(&budget->ruleset, ruleset);
}

static bool has_rate_filter(const struct threshold *list)
{
    while (list && list->kind != THRESHOLD_RATE_FILTER)
        list = list->next;
    return list != NULL;
}

/* Returns whether alerts are the only effect of the rule. */
static bool only_alerts(const struct rule_list *rules, const struct rule *rule)
{
    return rule->action == ACTION_ALERT && !rule->noalert && !rule->actions && !rule->captures_text &&
           !has_rate_filter(rule->thresholds) && !has_rate_filter(rule_list_global_thresholds(rules, rule->gid));
}

void budget_start(struct budget *budget)
{
    budget->start_ns = budget->options.clock();
}

bool budget_allows(const struct budget *budget, const struct rule *rule)
{
    if (rule->number == 0 || rule->number >= BUDGET_MAX_RULES)
        return true;
    return atomic_load_explicit(&budget->costs[rule->number].suspended_until_ns, memory_order_relaxed) <=
           budget->start_ns;
}

void budget_book(struct detector *detector, const struct rule_list *rules, const struct rule *rule)
{
    struct budget *budget = detector->budget;
    const struct budget_options *options = &budget->options;
    uint64_t now_ns = options->clock(), elapsed_ns = now_ns - budget->start_ns;
    struct rule_suspension *notice;
    struct rule_cost *cost;

    budget->start_ns = now_ns;
    if (rule->number == 0 || rule->number >= BUDGET_MAX_RULES)
        return;
    cost = &budget->costs[rule->number];
    counter_add(&cost->evaluations, 1);
    counter_add(&cost->total_ns, elapsed_ns);
    if (elapsed_ns > atomic_load_explicit(&cost->max_ns, memory_order_relaxed))
        atomic_store_explicit(&cost->max_ns, elapsed_ns, memory_order_relaxed);
    if (options->rule_ns == 0 || elapsed_ns <= options->rule_ns)
        return;

    detector->counters.over_budget++;
    counter_add(&cost->over, 1);
    if (cost->window_count == 0 || now_ns - cost->window_ns > options->window_ns) {
        cost->window_ns = now_ns;
        cost->window_count = 0;
    }
    if (++cost->window_count < options->suspend_count)
        return;
    cost->window_count = 0;
    if (options->suspend == SUSPEND_NONE || (options->suspend == SUSPEND_ALERTS && !only_alerts(rules, rule)))
        return;
    notice = ring_reserve(budget->notices, sizeof(*notice));
    if (!notice)
        return; /* the ring is full: do not suspend a rule without logging it */
    *notice = (struct rule_suspension){ rule->gid, rule->sid, rule->number, now_ns + options->suspend_ns };
    ring_commit(budget->notices);
    atomic_store_explicit(&cost->suspended_until_ns, now_ns + options->suspend_ns, memory_order_relaxed);
    detector->counters.suspended++;
}
