/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conntrack data in queued packets.
 */
#ifndef SLUICE_CONNTRACK_DATA_H
#define SLUICE_CONNTRACK_DATA_H

#include "sluice/worker.h"

/* Before the queue is bound: whether the worker's packets are to carry conntrack data, and until when. */
void conntrack_data_plan(struct worker *worker, const struct config *config, const struct ruleset *ruleset);
/* When all queues are bound: logs what the kernel granted. */
void conntrack_data_log(const struct worker *workers, unsigned count, const struct config *config,
                        const struct ruleset *ruleset);
/* After a reload: warns of rules that need conntrack data and cannot have it. */
void conntrack_data_check(const struct worker *workers, unsigned count, const struct ruleset *ruleset);

#endif
