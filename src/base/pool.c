/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects are contiguous in one private mapping; the kernel backs a page when it is first used. The first `fresh`
 * objects have been used at least once; freed objects are linked through their first word and reused first, while they
 * are still in the cache. Large reservations request huge pages and are aligned to them: otherwise a table with random
 * access would have a TLB miss at each access, and a scan a page fault every few objects.
 *
 * A pool with a memcap reserves address space for POOL_GROWTH times the memcap. The kernel refuses access to the part
 * beyond the memcap (PROT_NONE), and does not count it as memory, until pool_set_memcap() raises the memcap.
 *
 * Under AddressSanitizer a freed object is poisoned, so that a use after free is detected.
 */
#include "sluice/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#if __has_include(<sanitizer/asan_interface.h>) /* without a sanitizer its macros do nothing */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

enum { CACHE_LINE = 64, WORD = 8, PAGE = 4096, HUGE_PAGE = 2 * 1024 * 1024, HUGE_PAGES_FROM = 2 * HUGE_PAGE };

struct free_object {
    struct free_object *next;
};

struct pool {
    unsigned char *objects;
    struct free_object *given_back; /* list of freed objects */
    size_t stride, capacity;
    size_t opened, reserved; /* number of objects in accessible memory, and in the reservation */
    size_t fresh, used;
    void *mapping;
    size_t mapping_length;
};

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Reserves address space only, aligned to a huge page if the pool is large. Returns 0 or -ENOMEM. */
static int reserve(struct pool *pool)
{
    size_t length = pool->stride * pool->reserved;
    bool is_large = pool->stride * pool->capacity >= HUGE_PAGES_FROM;
    size_t room = is_large ? HUGE_PAGE : 0;

    if (length > SIZE_MAX - room)
        return -ENOMEM;
    void *mapping = mmap(NULL, length + room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED)
        return -ENOMEM;
    pool->mapping = mapping;
    pool->mapping_length = length + room;
    pool->objects = mapping;
    if (is_large)
        pool->objects += round_up((uintptr_t)mapping, HUGE_PAGE) - (uintptr_t)mapping;
    return 0;
}

/* Makes the memory of the first `count` objects accessible. Returns 0 or -ENOMEM. */
static int open_memory(struct pool *pool, size_t count)
{
    size_t length = pool->stride * count;

    if (count <= pool->opened)
        return 0;
    if (mprotect(pool->objects, round_up(length, PAGE), PROT_READ | PROT_WRITE))
        return -ENOMEM;
    pool->opened = count;
    /* Only whole huge pages, so that backing the last, partial one cannot exceed the memcap. A failure of madvise()
     * costs only speed. */
    if (length >= HUGE_PAGES_FROM)
        (void)madvise(pool->objects, length / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return 0;
}

static size_t count_for(const struct pool *pool, size_t memcap)
{
    return memcap / pool->stride > 0 ? memcap / pool->stride : 1;
}

int pool_new(struct pool **out, size_t size, size_t memcap)
{
    assert(size > 0);
    if (size > SIZE_MAX / 2)
        return -ENOMEM;
    struct pool *pool = calloc(1, sizeof(*pool));

    if (!pool)
        return -ENOMEM;
    pool->stride = round_up(size, size >= CACHE_LINE ? CACHE_LINE : WORD);
    pool->capacity = count_for(pool, memcap);
    pool->reserved = pool->capacity;
    if (memcap > 0 && pool->capacity < SIZE_MAX / pool->stride / POOL_GROWTH)
        pool->reserved *= POOL_GROWTH;
    int err = reserve(pool);

    if (err && pool->reserved > pool->capacity) { /* address space is limited (RLIMIT_AS): reserve no more than the
                                                     memcap, which then cannot be raised */
        pool->reserved = pool->capacity;
        err = reserve(pool);
    }
    if (!err && (err = open_memory(pool, pool->capacity)))
        munmap(pool->mapping, pool->mapping_length);
    if (err) {
        free(pool);
        return err;
    }
    *out = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    ASAN_UNPOISON_MEMORY_REGION(pool->objects, pool->stride * pool->fresh);
    munmap(pool->mapping, pool->mapping_length);
    free(pool);
}

void *pool_alloc(struct pool *pool)
{
    struct free_object *object = pool->given_back;

    if (pool->used >= pool->capacity)
        return NULL;
    if (object) {
        ASAN_UNPOISON_MEMORY_REGION(object, pool->stride);
        pool->given_back = object->next;
    } else { /* fresh == used < capacity */
        object = (struct free_object *)(pool->objects + pool->stride * pool->fresh++);
    }
    pool->used++;
    return object;
}

void pool_release(struct pool *pool, void *object)
{
    struct free_object *given = object;

    if (!given)
        return;
    assert(pool->used > 0 && (unsigned char *)object >= pool->objects &&
           (unsigned char *)object < pool->objects + pool->stride * pool->fresh);
    given->next = pool->given_back;
    pool->given_back = given;
    pool->used--;
    ASAN_POISON_MEMORY_REGION(object, pool->stride);
}

int pool_check_memcap(const struct pool *pool, size_t memcap)
{
    size_t count = count_for(pool, memcap);

    return count < pool->used ? -EBUSY : count > pool->reserved ? -ERANGE : 0;
}

int pool_set_memcap(struct pool *pool, size_t memcap)
{
    int err = pool_check_memcap(pool, memcap);

    if (!err)
        err = open_memory(pool, count_for(pool, memcap));
    if (!err)
        pool->capacity = count_for(pool, memcap);
    return err;
}

size_t pool_capacity(const struct pool *pool)
{
    return pool->capacity;
}

size_t pool_used(const struct pool *pool)
{
    return pool->used;
}

size_t pool_memory(const struct pool *pool)
{
    return pool->used * pool->stride;
}
