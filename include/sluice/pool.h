/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pool: objects of one size from memory that is reserved at once and used from the front, so that allocation on the hot
 * path is neither a malloc() nor a system call, and a memcap is exact.
 *
 * The reservation is address space only; the kernel backs a page when it is first touched. pool_alloc() reuses freed
 * objects before unused memory, the most recently freed first; in a large pool, those towards the start of the memory
 * before others. pool_trim() returns memory that is not in use to the kernel.
 *
 * Threads:   a pool belongs to one worker.
 * Ownership: objects belong to the pool; the caller may use one until pool_release() or pool_free().
 */
#ifndef SLUICE_POOL_H
#define SLUICE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool;

/* Creates a pool for as many objects of `size` bytes as fit into `memcap` bytes, at least one; aligned to a cache line
 * when size is 64 or more, to 8 otherwise. Returns 0 or -ENOMEM. */
int pool_new(struct pool **out, size_t size, size_t memcap);
void pool_free(struct pool *pool); /* NULL is allowed */

/* Allocates an object. A reused object has its old contents; one that is used for the first time, or for the first time
 * after pool_trim(), is zero. Returns NULL when all objects are in use. */
void *pool_alloc(struct pool *pool);
void pool_release(struct pool *pool, void *object); /* NULL is allowed */

/* Gives memory back to the kernel that has not been in use at this call and at the one before: of large pools (from 4
 * MiB), at most 16 MiB for each call. For a thread that calls it every second or so. Returns the number of bytes. */
size_t pool_trim(struct pool *pool);

/* Changes the memcap, also while objects are in use. Returns 0; -EBUSY if the objects in use need more; -ERANGE above
 * POOL_GROWTH times the memcap of pool_new(); -ENOMEM. pool_check_memcap() returns the same without a change. */
enum { POOL_GROWTH = 6 };
int pool_check_memcap(const struct pool *pool, size_t memcap);
int pool_set_memcap(struct pool *pool, size_t memcap);

size_t pool_capacity(const struct pool *pool); /* number of objects */
size_t pool_used(const struct pool *pool);     /* number of objects in use */
size_t pool_memory(const struct pool *pool);   /* bytes that the objects in use occupy */

#endif
