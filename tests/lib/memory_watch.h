/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records the pools and heaps of the program, so that a test can find objects that a module did not free, without the
 * module's private types. The linker replaces pool_new(), pool_free(), heap_new() and heap_free() by functions that
 * record the object and call the real one (--wrap, in tests/CMakeLists.txt).
 *
 * Threads: may be called by any thread; the pools and heaps themselves belong to one thread each.
 */
#ifndef MEMORY_WATCH_H
#define MEMORY_WATCH_H

#include <stddef.h>

struct heap;
struct pool;

/* A pool that exists. */
struct watched_pool {
    const struct pool *pool;
    size_t object_size; /* bytes */
    size_t used;        /* objects in use when memory_watch_mark() was called first after pool_new() */
};

/* Records how many objects are in use in each pool that was created since the last call: those that a module allocates
 * when it starts and keeps. */
void memory_watch_mark(void);
/* Returns how many objects more than at the mark are in use in the marked pools, and prints a line for each such
 * pool. */
size_t memory_watch_count_unfreed(void);
/* Returns the marked pools that can become full, from the oldest to the newest, and sets *count. Pools whose objects
 * were all in use at the mark are omitted: nothing is allocated from them later. */
const struct watched_pool *memory_watch_pools(size_t *count);
/* Returns the heap that was created last and still exists; NULL: none. */
struct heap *memory_watch_heap(void);

#endif
