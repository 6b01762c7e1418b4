/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU affinity: on which CPUs each kind of thread runs.
 */
#ifndef SLUICE_AFFINITY_H
#define SLUICE_AFFINITY_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/engine_limits.h"

enum affinity_mode { AFFINITY_NONE, AFFINITY_EXCLUSIVE, AFFINITY_BALANCED };

/* Which CPUs each kind of thread may use. */
struct affinity {
    enum affinity_mode mode;
    uint16_t worker_count, management_count, output_count, sender_count; /* no senders: there is not one CPU for each */
    uint16_t worker[ENGINE_MAX_CPUS], management[ENGINE_MAX_CPUS], output[ENGINE_MAX_CPUS], sender[ENGINE_MAX_CPUS];
};

/* As configured; what is not configured is chosen by the machine's topology for `workers` threads: no two on siblings
 * of a core, none on the first core while there are others. -errno with a line in `error`. */
int affinity_plan(struct affinity *out, const struct config *config, unsigned workers, char error[ENGINE_ERROR_SIZE]);
/* Pins the calling thread. 0 or -errno. */
int affinity_apply_worker(const struct affinity *affinity, unsigned worker);
int affinity_apply_sender(const struct affinity *affinity);
int affinity_apply_management(const struct affinity *affinity);
int affinity_apply_output(const struct affinity *affinity);
/* "worker 0 on CPU 1, ..." for the log. */
void affinity_describe(const struct affinity *affinity, unsigned workers, char *out, size_t size);

#endif
