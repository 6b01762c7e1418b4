/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time that rules cost.
 */
#ifndef SLUICE_RULE_COST_H
#define SLUICE_RULE_COST_H

#include "sluice/output.h"
#include "sluice/worker.h"

struct rule_ids {
    uint32_t gid, sid, number;
};
/* What a rule has cost these workers; nothing where rules are not timed. */
struct output_overload_rule rule_cost_get(const struct worker *workers, unsigned count, const struct rule_ids *ids);
/* The `max` rules that have cost most, the first one most of all; how many. */
unsigned rule_cost_ranking(const struct worker *workers, unsigned worker_count, const struct rule_list *rules,
                           struct output_overload_rule *out, unsigned max);

#endif
