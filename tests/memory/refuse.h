/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes allocations fail. The program is linked with --wrap for the functions below, so that the objects under test are
 * the same as in the daemon.
 *
 * - REFUSE_HEAP: heap_alloc(), heap_alloc_uncleared(), heap_grow(), and the growth of buffers fail as if
 *   app-layer.memcap were reached.
 * - REFUSE_POOL: pool_alloc() fails, and pool_used() reports a full pool, as if a memcap of flows, sessions, stream
 *   data or fragments were reached.
 * - REFUSE_MALLOC: malloc(), calloc(), realloc(), aligned_alloc(), strdup() and others fail.
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

/* Begins to count; refuses the allocation with number `at` (from 1; 0: none), and with `all_later` all later ones. */
void refuse_start(uint64_t at, bool all_later);
/* Call before each packet: pool_alloc() may fail again, although pool_used() has reported room. */
void refuse_next_packet(void);
/* Starts storing a hash of the call stack of each counted call in `stacks`, in the order of the calls, up to `room`
 * hashes. `stacks` NULL: stops storing. Returns the number of hashes stored since the previous call. */
size_t refuse_record(uint64_t *stacks, size_t room);
/* Refuses no more allocations. Returns the number of calls since refuse_start(). */
uint64_t refuse_stop(void);
/* Number of calls that were refused since refuse_start(). */
uint64_t refuse_count(enum refuse_kind kind);
/* The same for one pool. */
uint64_t refuse_count_pool(const struct pool *pool);
/* Of the last run, whether an object of the pool was requested. */
bool refuse_has_used_pool(const struct pool *pool);

#endif
