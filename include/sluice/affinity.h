/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU affinity: the CPUs on which each kind of thread runs. */
#ifndef SLUICE_AFFINITY_H
#define SLUICE_AFFINITY_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/engine_limits.h"

enum affinity_mode {
    AFFINITY_NONE,      /* no thread is pinned */
    AFFINITY_EXCLUSIVE, /* each worker has a CPU of its own */
    AFFINITY_BALANCED,  /* all workers share the CPUs of their set */
    AFFINITY_AUTO,      /* only as a setting: exclusive if there are enough CPUs; otherwise balanced if a set of CPUs
                           is configured for workers, else none */
};

/* The settings threading.*. */
struct affinity_options {
    enum affinity_mode mode;
    bool no_senders; /* threading.verdict-threads is no: no verdict sender is started */
    const char *const *workers, *const *management, *const *output; /* ranges such as "0-3", NULL-terminated; an empty
                                                                       list: the CPUs are chosen by the topology */
};
extern const struct setting affinity_settings[];

struct affinity {
    enum affinity_mode mode;
    /* The CPUs of each kind of thread are the first *_count items of its array. sender_count is 0 when verdict senders
     * are disabled, when `mode` is not exclusive, or when there are not enough CPUs for one sender per worker. */
    uint16_t worker_count, management_count, output_count, sender_count;
    uint16_t worker[ENGINE_MAX_CPUS], management[ENGINE_MAX_CPUS], output[ENGINE_MAX_CPUS], sender[ENGINE_MAX_CPUS];
};

/* Plans the CPUs of `workers` workers and of the other threads from the settings threading.*. CPUs that are not
 * configured are chosen by the topology of the machine: no two workers on hardware threads of one core, and none on the
 * first core, if there are enough cores. Returns 0, or -errno with a line in `error`. */
int affinity_plan(struct affinity *out, const struct config *config, unsigned workers, char error[ENGINE_ERROR_SIZE]);
/* Pin the calling thread to the CPUs planned for it. Return 0, also when none are planned, or -errno. */
int affinity_apply_worker(const struct affinity *affinity, unsigned worker);
int affinity_apply_sender(const struct affinity *affinity);
int affinity_apply_management(const struct affinity *affinity);
int affinity_apply_output(const struct affinity *affinity);
/* Writes the plan of the workers for the log: "worker 0 on CPU 1, ...", or the mode if it is not exclusive. */
void affinity_describe(const struct affinity *affinity, unsigned workers, char *out, size_t size);

#endif
