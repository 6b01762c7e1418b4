/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conntrack data that the kernel attaches to queued packets: whether to request it. */
#ifndef SLUICE_CONNTRACK_DATA_H
#define SLUICE_CONNTRACK_DATA_H

#include "sluice/worker.h"

/* Before the queue is bound: decides whether to request conntrack data for the worker, and until when. */
void conntrack_data_plan(struct worker *worker, const struct config *config, const struct ruleset *ruleset);
/* After all queues are bound: logs whether the kernel attaches conntrack data. */
void conntrack_data_log(const struct worker *workers, unsigned count, const struct config *config,
                        const struct ruleset *ruleset);
/* After a reload: warns about rules that need conntrack data when the kernel does not attach it. */
void conntrack_data_check(const struct worker *workers, unsigned count, const struct ruleset *ruleset);

#endif
