/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Refuses allocations on demand. The program is linked with --wrap for the functions below, so that the objects under
 * test are the same as in the daemon:
 *
 *     heap     heap_alloc(), heap_alloc_uncleared(), heap_grow(), and the growth of buffers: as if app-layer.memcap
 * were reached pool     pool_alloc(), and the answer of pool_used() to callers that ask before they take: as if the
 * memcap of flows, sessions, stream data, fragments, ... were reached malloc   malloc(), calloc(), realloc(),
 * aligned_alloc(), strdup(), ...: as if the process had no memory
 *
 * Only calls of the thread that called refuse_start() are counted and refused.
 */
#ifndef REFUSE_H
#define REFUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum refuse_kind { REFUSE_HEAP, REFUSE_POOL, REFUSE_MALLOC, REFUSE_KINDS };

struct pool;

/* Refuses the allocation with number `at` (from 1; 0: none), and with `all_later` those that follow. */
void refuse_start(uint64_t at, bool all_later);
/* Another packet begins: what pool_used() said for the one before holds no longer. */
void refuse_next_packet(void);
/* The calls are allowed again. Returns the number of calls since refuse_start(). */
uint64_t refuse_stop(void);
/* Calls refused by the last run. */
uint64_t refuse_count(enum refuse_kind kind);
/* Of the last run, the calls refused for one pool. */
uint64_t refuse_count_pool(const struct pool *pool);

#endif
