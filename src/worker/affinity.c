/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assigns threads to CPUs. CPU sets are lists like "0-3,8". In `exclusive` mode worker N runs on the Nth CPU of the
 * workers' set, in `balanced` mode all workers share that set.
 *
 * Without configuration the topology of the machine decides (hwloc): workers get one CPU of every core first, then the
 * other hardware threads. If there are more CPUs than workers, the first CPU is reserved for management, output and
 * interrupts. With more workers than CPUs, no thread is pinned.
 */
#include "sluice/affinity.h"

#include <errno.h>
#include <hwloc.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/engine_limits.h"

static uint16_t order_by_number(const cpu_set_t *allowed, uint16_t *order)
{
    uint16_t count = 0;

    for (uint16_t cpu = 0; cpu < ENGINE_MAX_CPUS && cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, allowed))
            order[count++] = cpu;
    }
    return count;
}

/* Reads a list of CPUs into `cpus` and their number into *count; 0: the setting is empty. Returns 0, or -EINVAL with a
 * line in `error`. */
static int read_set(const char *const *list, const char *name, const cpu_set_t *allowed, uint16_t *cpus,
                    uint16_t *count, char error[ENGINE_ERROR_SIZE])
{
    uint32_t numbers[ENGINE_MAX_CPUS];

    *count = 0;
    for (; *list; list++) {
        if (strcmp(*list, "all") == 0) {
            *count = order_by_number(allowed, cpus);
            return 0;
        }
        int named = config_ranges(*list, ENGINE_MAX_CPUS - 1, numbers, (size_t)(ENGINE_MAX_CPUS - *count));

        if (named < 0) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s: '%s' is not a list of CPUs such as 0-3,8", name, *list);
            return -EINVAL;
        }
        for (int k = 0; k < named; k++) {
            if (!CPU_ISSET(numbers[k], allowed)) {
                snprintf(error, ENGINE_ERROR_SIZE, "%s: CPU %u does not exist, or this process may not use it", name,
                         (unsigned)numbers[k]);
                return -EINVAL;
            }
            cpus[(*count)++] = (uint16_t)numbers[k];
        }
    }
    return 0;
}

/* Writes the allowed CPUs by preference: the first CPU of each core, then the second CPU of each core, and so on.
 * Returns their number; 0: the topology is unknown. */
static uint16_t order_by_topology(const cpu_set_t *allowed, uint16_t *order)
{
    hwloc_topology_t topology;
    uint16_t count = 0;

    if (hwloc_topology_init(&topology))
        return 0;
    if (hwloc_topology_load(topology)) {
        hwloc_topology_destroy(topology);
        return 0;
    }
    int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);

    for (unsigned sibling = 0; sibling < 8; sibling++) {
        for (int i = 0; i < cores; i++) {
            hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, (unsigned)i);
            int cpu = -1;

            for (unsigned k = 0; k <= sibling; k++) {
                cpu = hwloc_bitmap_next(core->cpuset, cpu);
                if (cpu < 0)
                    break;
            }
            if (cpu >= 0 && cpu < ENGINE_MAX_CPUS && CPU_ISSET(cpu, allowed) && count < ENGINE_MAX_CPUS)
                order[count++] = (uint16_t)cpu;
        }
    }
    hwloc_topology_destroy(topology);
    return count;
}

static void choose_defaults(struct affinity *out, const cpu_set_t *allowed, unsigned workers)
{
    uint16_t order[ENGINE_MAX_CPUS];
    uint16_t count = order_by_topology(allowed, order);

    if (count == 0)
        count = order_by_number(allowed, order);
    if (out->worker_count == 0 && workers <= count) {
        uint16_t skip = workers < count ? 1 : 0;

        memcpy(out->worker, order + skip, (count - skip) * sizeof(*order));
        out->worker_count = count - skip;
    }
    if (out->management_count == 0 && count > 0)
        out->management[out->management_count++] = order[0];
    if (out->output_count == 0 && count > 0)
        out->output[out->output_count++] = order[0];
}

static bool has_cpu(const uint16_t *cpus, uint16_t count, uint16_t cpu)
{
    for (uint16_t i = 0; i < count; i++)
        if (cpus[i] == cpu)
            return true;
    return false;
}

/* Chooses CPUs without a worker for the verdict senders. If threading.management-cpu-set is set, chooses only from its
 * CPUs (`management`: their number). If there are fewer such CPUs than workers, chooses none. */
static void choose_senders(struct affinity *out, const cpu_set_t *allowed, unsigned workers, uint16_t management)
{
    if (out->mode != AFFINITY_EXCLUSIVE)
        return;
    for (uint16_t cpu = 0; cpu < ENGINE_MAX_CPUS; cpu++)
        if (CPU_ISSET(cpu, allowed) && !has_cpu(out->worker, (uint16_t)workers, cpu) &&
            (management == 0 || has_cpu(out->management, management, cpu)))
            out->sender[out->sender_count++] = cpu;
    if (out->sender_count < workers)
        out->sender_count = 0;
}

int affinity_plan(struct affinity *out, const struct config *config, unsigned workers, char error[ENGINE_ERROR_SIZE])
{
    struct affinity_options options;
    cpu_set_t allowed;
    int err;

    memset(out, 0, sizeof(*out));
    config_fill(config, affinity_settings, NULL, &options);
    if (options.mode == AFFINITY_NONE)
        return 0;
    if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot read which CPUs this process may use: %s", strerror(errno));
        return -errno;
    }
    err = read_set(options.workers, "threading.worker-cpu-set", &allowed, out->worker, &out->worker_count, error);
    if (!err)
        err = read_set(options.management, "threading.management-cpu-set", &allowed, out->management,
                       &out->management_count, error);
    if (!err)
        err = read_set(options.output, "threading.output-cpu-set", &allowed, out->output, &out->output_count, error);
    if (err)
        return err;
    if (options.mode == AFFINITY_EXCLUSIVE && out->worker_count > 0 && out->worker_count < workers) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "threading.worker-cpu-set has %u CPUs for %u queues: add CPUs or set threading.affinity to balanced",
                 (unsigned)out->worker_count, workers);
        return -EINVAL;
    }
    uint16_t management = out->management_count;

    choose_defaults(out, &allowed, workers);
    out->mode = options.mode == AFFINITY_BALANCED || (options.mode == AFFINITY_AUTO && out->worker_count < workers)
                    ? AFFINITY_BALANCED
                    : AFFINITY_EXCLUSIVE;
    if (out->worker_count == 0)
        out->mode = AFFINITY_NONE;
    if (!options.no_senders)
        choose_senders(out, &allowed, workers, management);
    return 0;
}

static int apply(const uint16_t *cpus, uint16_t count)
{
    cpu_set_t set;

    if (count == 0)
        return 0;
    CPU_ZERO(&set);
    for (uint16_t i = 0; i < count; i++)
        CPU_SET(cpus[i], &set);
    return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

int affinity_apply_worker(const struct affinity *affinity, unsigned worker)
{
    if (affinity->mode == AFFINITY_NONE)
        return 0;
    if (affinity->mode == AFFINITY_BALANCED)
        return apply(affinity->worker, affinity->worker_count);
    return apply(&affinity->worker[worker % affinity->worker_count], 1);
}

int affinity_apply_sender(const struct affinity *affinity)
{
    return apply(affinity->sender, affinity->sender_count);
}

int affinity_apply_management(const struct affinity *affinity)
{
    return affinity->mode == AFFINITY_NONE ? 0 : apply(affinity->management, affinity->management_count);
}

int affinity_apply_output(const struct affinity *affinity)
{
    return affinity->mode == AFFINITY_NONE ? 0 : apply(affinity->output, affinity->output_count);
}

void affinity_describe(const struct affinity *affinity, unsigned workers, char *out, size_t size)
{
    size_t used = 0;

    if (affinity->mode == AFFINITY_NONE) {
        snprintf(out, size, "threads are not pinned");
        return;
    }
    if (affinity->mode == AFFINITY_BALANCED) {
        snprintf(out, size, "workers share %u CPUs", (unsigned)affinity->worker_count);
        return;
    }
    out[0] = '\0';
    for (unsigned i = 0; i < workers && used < size; i++) {
        int more = snprintf(out + used, size - used, "%sworker %u on CPU %u", i ? ", " : "", i,
                            (unsigned)affinity->worker[i % affinity->worker_count]);

        if (more < 0)
            break;
        used += (size_t)more;
    }
}
