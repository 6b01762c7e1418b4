/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory group: the control group that limits the memory of this process and its children, with either version of the
 * kernel's interface. Among the group of this process and its parents, the group with the least memory left determines
 * the effective limit. The files: Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.current, memory.stat,
 * memory.events) and cgroup-v1/memory.rst (memory.limit_in_bytes, ..., memory.oom_control).
 *
 * Threads: any.
 */
#ifndef SLUICE_MEMORY_GROUP_H
#define SLUICE_MEMORY_GROUP_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_GROUP_PATH_SIZE = 256 };

struct memory_group {
    uint64_t limit, used; /* bytes; `used` excludes inactive page cache, which the kernel can reclaim at once */
    uint64_t kills;       /* number of processes of this control group that the OOM killer has killed */
    char name[MEMORY_GROUP_PATH_SIZE]; /* name of the group with this limit, as in /proc/self/cgroup; only the end of a
                                          long name */
};

/* Reads limit and usage. Returns false if there is no control group, or no group on the path to the root has a limit;
 * `kills` is set in any case. */
bool memory_group_read(struct memory_group *out);
uint64_t memory_group_available(void); /* bytes left below the limit; UINT64_MAX: no limit */

#endif
