/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory group: the control group that says how much memory this process and its children may have, of either version
 * of the kernel's interface. The limit that counts is the tightest on the way up to the root. The files:
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
    uint64_t limit, used;              /* bytes; what the kernel would take back at once is not counted as used */
    uint64_t kills;                    /* processes of our own group that were ended for want of memory */
    char name[MEMORY_GROUP_PATH_SIZE]; /* of the limit's group, as in /proc/self/cgroup, maybe shortened */
};

/* False when there is no group, or none has a limit; `kills` is there all the same. */
bool memory_group_read(struct memory_group *out);
uint64_t memory_group_available(void); /* bytes; UINT64_MAX: no limit */

#endif
