/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums the costs of rules and searches over all workers, for events, log lines and `sluice costs`. The workers measure
 * the costs (src/detect/budget.c), the main thread reads them. */
#include "rule_cost.h"

#include <stdatomic.h>

#include "sluice/detect.h"
#include "sluice/output.h"
#include "sluice/rule.h"
#include "sluice/worker.h"

struct output_overload_rule rule_cost_get(const struct worker *workers, unsigned count, const struct rule_ids *ids)
{
    struct output_overload_rule sum = { .gid = ids->gid, .sid = ids->sid };

    for (unsigned i = 0; i < count; i++) {
        const struct rule_cost *cost = detector_cost(workers[i].pipeline.detector, ids->number);
        uint64_t max_us;

        if (!cost)
            continue;
        max_us = atomic_load_explicit(&cost->max_ns, memory_order_relaxed) / 1000;
        sum.evaluations += atomic_load_explicit(&cost->evaluations, memory_order_relaxed);
        sum.over_budget += atomic_load_explicit(&cost->over, memory_order_relaxed);
        sum.total_us += atomic_load_explicit(&cost->total_ns, memory_order_relaxed) / 1000;
        sum.max_us = max_us > sum.max_us ? max_us : sum.max_us;
    }
    return sum;
}

/* Inserts a rule into a list of the `max` most expensive rules, most expensive first. If the list is full, the cheapest
 * rule is left out. Returns the new number of rules. */
static unsigned rank(struct output_overload_rule *list, unsigned count, unsigned max,
                     const struct output_overload_rule *rule)
{
    unsigned at = count < max ? count : max - 1;

    if (count == max && list[at].total_us >= rule->total_us)
        return count;
    for (; at > 0 && list[at - 1].total_us < rule->total_us; at--)
        list[at] = list[at - 1];
    list[at] = *rule;
    return count < max ? count + 1 : count;
}

unsigned rule_cost_ranking(const struct worker *workers, unsigned worker_count, const struct rule_list *rules,
                           struct output_overload_rule *out, unsigned max)
{
    unsigned count = 0;

    if (worker_count == 0 || max == 0 || !detector_is_timed(workers[0].pipeline.detector))
        return 0;
    for (size_t i = 0; i < rule_list_count(rules); i++) {
        const struct rule *rule = rule_list_get(rules, i);
        const struct rule_ids ids = { .gid = rule->gid, .sid = rule->sid, .number = rule->number };
        const struct output_overload_rule cost = rule_cost_get(workers, worker_count, &ids);

        if (cost.evaluations > 0)
            count = rank(out, count, max, &cost);
    }
    return count;
}

unsigned search_cost_ranking(const struct worker *workers, unsigned worker_count, const struct ruleset *ruleset,
                             struct search_sum *out, unsigned max)
{
    unsigned count = 0;

    for (uint32_t number = 0; number < ruleset_search_count(ruleset); number++) {
        struct search_sum sum = { .number = number };

        for (unsigned i = 0; i < worker_count; i++) {
            const struct search_cost *cost = detector_search_cost(workers[i].pipeline.detector, ruleset, number);

            if (!cost)
                continue;
            sum.scans += atomic_load_explicit(&cost->scans, memory_order_relaxed);
            sum.bytes += atomic_load_explicit(&cost->bytes, memory_order_relaxed);
            sum.candidates += atomic_load_explicit(&cost->candidates, memory_order_relaxed);
        }
        if (sum.scans == 0 || (count == max && out[max - 1].bytes >= sum.bytes))
            continue;
        unsigned at = count < max ? count++ : max - 1;

        for (; at > 0 && out[at - 1].bytes < sum.bytes; at--)
            out[at] = out[at - 1];
        out[at] = sum;
    }
    return count;
}
