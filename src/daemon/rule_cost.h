/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums the time that workers spend on the evaluation of rules, and the counts of their searches of literals. */
#ifndef SLUICE_RULE_COST_H
#define SLUICE_RULE_COST_H

#include "sluice/output.h"
#include "sluice/worker.h"

struct rule_ids {
    uint32_t gid, sid, number;
};
/* Returns the cost of a rule, summed over all workers; zero when rules are not timed. */
struct output_overload_rule rule_cost_get(const struct worker *workers, unsigned count, const struct rule_ids *ids);
/* Writes the `max` most expensive rules to `out`, the most expensive first. Returns their number; 0 when rules are not
 * timed. */
unsigned rule_cost_ranking(const struct worker *workers, unsigned worker_count, const struct rule_list *rules,
                           struct output_overload_rule *out, unsigned max);

struct search_sum {
    uint32_t number; /* of the search (ruleset_describe_search()) */
    uint64_t scans, bytes, candidates;
};
/* Writes the `max` searches with the most bytes to `out`, the one with the most bytes first. Returns their number; 0
 * when rules are not timed. */
unsigned search_cost_ranking(const struct worker *workers, unsigned worker_count, const struct ruleset *ruleset,
                             struct search_sum *out, unsigned max);

#endif
