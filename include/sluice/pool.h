/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pool: objects of one size out of memory that is reserved at once and used from the front, so that taking one on the
 * hot path is neither an allocation nor a system call, and a memcap is kept exactly.
 *
 * The reservation is address space only; the kernel backs a page when it is first touched. Objects that were given back
 * are taken again first, the last one first.
 *
 * Threads:   a pool belongs to one worker.
 * Ownership: objects are lent until pool_give() or pool_free().
 */
#ifndef SLUICE_POOL_H
#define SLUICE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool;

/* For as many objects of `size` bytes as `memcap` bytes have room for, at least one; aligned to a cache line when size
 * is 64 or more, to 8 otherwise. 0 or -ENOMEM. */
int pool_new(struct pool **out, size_t size, size_t memcap);
void pool_free(struct pool *pool); /* NULL is allowed */

/* An object, not cleared (one that was never taken before is zero); NULL when all are taken. */
void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *object); /* NULL is allowed */

size_t pool_capacity(const struct pool *pool); /* objects */
size_t pool_used(const struct pool *pool);     /* objects taken now */
size_t pool_memory(const struct pool *pool);   /* bytes of the objects taken now */

#endif
