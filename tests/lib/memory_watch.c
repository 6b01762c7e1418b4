/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See memory_watch.h. */
#include "memory_watch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/heap.h"
#include "sluice/pool.h"

enum { POOLS_MAX = 512, HEAPS_MAX = 64 };

int __real_pool_new(struct pool **out, size_t size, size_t memcap);
void __real_pool_free(struct pool *pool);
int __real_heap_new(struct heap **out, size_t memcap);
void __real_heap_free(struct heap *heap);
int __wrap_pool_new(struct pool **out, size_t size, size_t memcap);
void __wrap_pool_free(struct pool *pool);
int __wrap_heap_new(struct heap **out, size_t memcap);
void __wrap_heap_free(struct heap *heap);

static struct {
    pthread_mutex_t lock;
    struct watched_pool pools[POOLS_MAX], listed[POOLS_MAX];
    bool marked[POOLS_MAX];
    size_t pool_count;
    struct heap *heaps[HEAPS_MAX];
    size_t heap_count;
} watch = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void require_room(bool has_room)
{
    if (!has_room) {
        fprintf(stderr, "memory_watch: too many pools or heaps\n");
        abort();
    }
}

int __wrap_pool_new(struct pool **out, size_t size, size_t memcap)
{
    int err = __real_pool_new(out, size, memcap);

    if (err)
        return err;
    pthread_mutex_lock(&watch.lock);
    require_room(watch.pool_count < POOLS_MAX);
    watch.marked[watch.pool_count] = false;
    watch.pools[watch.pool_count++] = (struct watched_pool){ .pool = *out, .object_size = size };
    pthread_mutex_unlock(&watch.lock);
    return 0;
}

void __wrap_pool_free(struct pool *pool)
{
    size_t kept = 0;

    pthread_mutex_lock(&watch.lock);
    for (size_t i = 0; i < watch.pool_count; i++) {
        if (watch.pools[i].pool == pool)
            continue;
        watch.marked[kept] = watch.marked[i];
        watch.pools[kept++] = watch.pools[i];
    }
    watch.pool_count = kept;
    pthread_mutex_unlock(&watch.lock);
    __real_pool_free(pool);
}

int __wrap_heap_new(struct heap **out, size_t memcap)
{
    int err = __real_heap_new(out, memcap);

    if (err)
        return err;
    pthread_mutex_lock(&watch.lock);
    require_room(watch.heap_count < HEAPS_MAX);
    watch.heaps[watch.heap_count++] = *out;
    pthread_mutex_unlock(&watch.lock);
    return 0;
}

void __wrap_heap_free(struct heap *heap)
{
    size_t kept = 0;

    pthread_mutex_lock(&watch.lock);
    for (size_t i = 0; i < watch.heap_count; i++)
        if (watch.heaps[i] != heap)
            watch.heaps[kept++] = watch.heaps[i];
    watch.heap_count = kept;
    pthread_mutex_unlock(&watch.lock);
    __real_heap_free(heap);
}

void memory_watch_mark(void)
{
    for (size_t i = 0; i < watch.pool_count; i++) {
        if (!watch.marked[i])
            watch.pools[i].used = pool_used(watch.pools[i].pool);
        watch.marked[i] = true;
    }
}

size_t memory_watch_count_unfreed(void)
{
    size_t count = 0;

    for (size_t i = 0; i < watch.pool_count; i++) {
        const struct watched_pool *one = &watch.pools[i];
        size_t used = pool_used(one->pool);

        if (!watch.marked[i] || used <= one->used)
            continue;
        fprintf(stderr, "%zu objects of %zu bytes were not freed\n", used - one->used, one->object_size);
        count += used - one->used;
    }
    return count;
}

const struct watched_pool *memory_watch_pools(size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < watch.pool_count; i++)
        if (watch.marked[i] && watch.pools[i].used < pool_capacity(watch.pools[i].pool))
            watch.listed[(*count)++] = watch.pools[i];
    return watch.listed;
}

struct heap *memory_watch_heap(void)
{
    return watch.heap_count > 0 ? watch.heaps[watch.heap_count - 1] : NULL;
}
