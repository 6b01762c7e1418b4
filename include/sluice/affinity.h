/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU affinity: the CPUs on which each kind of thread runs. */
#ifndef SLUICE_AFFINITY_H
#define SLUICE_AFFINITY_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/engine_limits.h"

enum affinity_mode {
    AFFINITY_NONE,
    AFFINITY_EXCLUSIVE,
    AFFINITY_BALANCED,
    AFFINITY_AUTO, /* of the setting only: exclusive if there are enough CPUs, otherwise balanced */
};

/* The settings threading.*. */
struct affinity_options {
    enum affinity_mode mode;
    bool no_senders;
    const char *const *workers, *const *management, *const *output; /* lists such as "0-3,8" */
};
extern const struct setting affinity_settings[];

struct affinity {
    enum affinity_mode mode;
    /* sender_count is 0 when there are not enough CPUs for one sender each. */
    uint16_t worker_count, management_count, output_count, sender_count;
    uint16_t worker[ENGINE_MAX_CPUS], management[ENGINE_MAX_CPUS], output[ENGINE_MAX_CPUS], sender[ENGINE_MAX_CPUS];
};

/* Reads the configuration; chooses what is not configured for `workers` threads by the topology of the machine: no two
 * workers on hardware threads of one core, and none on the first core if there are enough others. 0 or -errno with
 * `error`. */
int affinity_plan(struct affinity *out, const struct config *config, unsigned workers, char error[ENGINE_ERROR_SIZE]);
/* Pin the calling thread. 0 or -errno. */
int affinity_apply_worker(const struct affinity *affinity, unsigned worker);
int affinity_apply_sender(const struct affinity *affinity);
int affinity_apply_management(const struct affinity *affinity);
int affinity_apply_output(const struct affinity *affinity);
/* Writes "worker 0 on CPU 1, ..." for the log. */
void affinity_describe(const struct affinity *affinity, unsigned workers, char *out, size_t size);

#endif
