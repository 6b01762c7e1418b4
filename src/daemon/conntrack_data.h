/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether the kernel shall attach conntrack data to queued packets. */
#ifndef SLUICE_CONNTRACK_DATA_H
#define SLUICE_CONNTRACK_DATA_H

#include "sluice/worker.h"

/* Called before the queue is bound: decides whether the worker's queue requests conntrack data, and for how long. */
void conntrack_data_plan(struct worker *worker, const struct config *config, const struct ruleset *ruleset);
/* Called after all queues are bound: logs whether the kernel attaches conntrack data. */
void conntrack_data_log(const struct worker *workers, unsigned count, const struct config *config,
                        const struct ruleset *ruleset);
/* Called after a reload: warns if rules need conntrack data that the kernel does not attach. */
void conntrack_data_check(const struct worker *workers, unsigned count, const struct ruleset *ruleset);

#endif
