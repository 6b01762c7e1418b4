/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums the time that workers spend on the evaluation of rules. */
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

#endif
