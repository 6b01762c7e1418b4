/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory group: the control group that limits the memory of this process and its children, with either version of the
 * kernel's interface. The effective limit is the tightest on the path to the root. The files:
 * Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.current, memory.stat, memory.events) and
 * cgroup-v1/memory.rst (memory.limit_in_bytes, ..., memory.oom_control).
 *
 * Threads: any.
 */
#ifndef SLUICE_MEMORY_GROUP_H
#define SLUICE_MEMORY_GROUP_H

#include <stdbool.h>
#include <stdint.h>

enum { MEMORY_GROUP_PATH_SIZE = 256 };

struct memory_group {
    uint64_t limit, used;              /* bytes; memory that the kernel can reclaim at once is not counted as used */
    uint64_t kills;                    /* processes of this control group killed for lack of memory */
    char name[MEMORY_GROUP_PATH_SIZE]; /* name of the group with the limit, as in /proc/self/cgroup, possibly shortened
                                        */
};

/* False when there is no group, or none has a limit; `kills` is set in any case. */
bool memory_group_read(struct memory_group *out);
uint64_t memory_group_available(void); /* bytes; UINT64_MAX: no limit */

#endif
