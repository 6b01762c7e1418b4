/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects are in one private mapping; the kernel backs a page when it is first used. Large reservations request
 * huge pages and are aligned to them: otherwise a table with random access would have a TLB miss at each access, and a
 * scan a page fault every few objects.
 *
 * A large pool is divided into chunks of one huge page, which no object crosses; any other pool is a single chunk. The
 * first `fresh` objects of a chunk have been used at least once; freed objects are linked through their first word and
 * reused first, while they are still in the cache. Objects come from the first chunk that has room, so that chunks
 * towards the end become empty when less is needed. pool_trim() gives the pages of such chunks back to the kernel.
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
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#if __has_include(<sanitizer/asan_interface.h>) /* without a sanitizer its macros do nothing */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

enum { CACHE_LINE = 64, WORD = 8, PAGE = 4096, HUGE_PAGE = 2 * 1024 * 1024, HUGE_PAGES_FROM = 2 * HUGE_PAGE };
enum { CHUNK_SHIFT = 21, NO_CHUNKS = 63 }; /* shifts from the offset of an object to the number of its chunk */
enum { TRIM_CHUNKS = 8 };                  /* maximum number of chunks that a call of pool_trim() gives back */

static_assert(HUGE_PAGE == 1 << CHUNK_SHIFT, "a chunk is one huge page");

struct free_object {
    struct free_object *next;
};

struct chunk {
    struct free_object *freed; /* list of freed objects */
    size_t fresh, used;
    bool idle; /* it was empty at the last call of pool_trim() */
};

struct pool {
    unsigned char *objects;
    struct chunk *chunks;
    uint64_t *room; /* a bit for each chunk: it has an object that is not in use */
    size_t stride, per_chunk, chunk_count;
    unsigned shift;
    size_t capacity, used;
    size_t opened, reserved; /* number of objects in accessible memory, and in the reservation */
    void *mapping;
    size_t mapping_length;
};

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Bytes from the start of the first object to the end of the last of `count` objects. */
static size_t length_of(const struct pool *pool, size_t count)
{
    if (count <= pool->per_chunk)
        return count * pool->stride;
    return count / pool->per_chunk * HUGE_PAGE + count % pool->per_chunk * pool->stride;
}

/* Number of objects in `memcap` bytes, at least one. */
static size_t count_for(const struct pool *pool, size_t memcap)
{
    size_t count = memcap / pool->stride;

    if (count > pool->per_chunk)
        count = memcap / HUGE_PAGE * pool->per_chunk + memcap % HUGE_PAGE / pool->stride;
    return count > 0 ? count : 1;
}

/* Number of objects of a chunk that are in accessible memory. */
static size_t chunk_size(const struct pool *pool, size_t index)
{
    size_t before = index * pool->per_chunk, rest = pool->opened > before ? pool->opened - before : 0;

    return rest < pool->per_chunk ? rest : pool->per_chunk;
}

static void update_room(struct pool *pool, size_t index)
{
    uint64_t bit = UINT64_C(1) << index % 64;

    if (pool->chunks[index].used < chunk_size(pool, index))
        pool->room[index / 64] |= bit;
    else
        pool->room[index / 64] &= ~bit;
}

/* Reserves address space only, aligned to a huge page if the pool is large. Returns 0 or -ENOMEM. */
static int reserve(struct pool *pool)
{
    size_t room = pool->stride * pool->capacity >= HUGE_PAGES_FROM ? HUGE_PAGE : 0;
    size_t length = length_of(pool, pool->reserved);

    if (length > SIZE_MAX - room)
        return -ENOMEM;
    void *mapping = mmap(NULL, length + room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED)
        return -ENOMEM;
    pool->mapping = mapping;
    pool->mapping_length = length + room;
    pool->objects = mapping;
    if (room > 0)
        pool->objects += round_up((uintptr_t)mapping, HUGE_PAGE) - (uintptr_t)mapping;
    return 0;
}

/* Makes the memory of the first `count` objects accessible. Returns 0 or -ENOMEM. */
static int open_memory(struct pool *pool, size_t count)
{
    size_t length = length_of(pool, count), first = pool->opened / pool->per_chunk;

    if (count <= pool->opened)
        return 0;
    if (mprotect(pool->objects, round_up(length, PAGE), PROT_READ | PROT_WRITE))
        return -ENOMEM;
    pool->opened = count;
    for (size_t i = first; i < pool->chunk_count && i * pool->per_chunk < count; i++)
        update_room(pool, i);
    /* Only whole huge pages, so that backing the last, partial one cannot exceed the memcap. A failure of madvise()
     * costs only speed. */
    if (length >= HUGE_PAGES_FROM)
        (void)madvise(pool->objects, length / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return 0;
}

/* Divides the pool into chunks. */
static void divide(struct pool *pool)
{
    bool is_large = pool->stride * pool->capacity >= HUGE_PAGES_FROM && pool->stride <= HUGE_PAGE;

    pool->shift = is_large ? CHUNK_SHIFT : NO_CHUNKS;
    pool->per_chunk = is_large ? HUGE_PAGE / pool->stride : pool->reserved;
    pool->chunk_count = (pool->reserved + pool->per_chunk - 1) / pool->per_chunk;
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
    pool->per_chunk = SIZE_MAX;
    pool->capacity = count_for(pool, memcap);
    pool->reserved = pool->capacity;
    if (memcap > 0 && pool->capacity < SIZE_MAX / pool->stride / POOL_GROWTH)
        pool->reserved *= POOL_GROWTH;
    divide(pool);
    pool->capacity = count_for(pool, memcap);
    int err = reserve(pool);

    if (err && pool->reserved > pool->capacity) { /* address space is limited (RLIMIT_AS): reserve no more than the
                                                     memcap, which then cannot be raised */
        pool->reserved = pool->capacity;
        err = reserve(pool);
    }
    if (err) {
        free(pool);
        return err;
    }
    pool->chunks = calloc(pool->chunk_count, sizeof(*pool->chunks));
    pool->room = calloc(pool->chunk_count / 64 + 1, sizeof(*pool->room));
    if (!pool->chunks || !pool->room || open_memory(pool, pool->capacity)) {
        pool_free(pool);
        return -ENOMEM;
    }
    *out = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    ASAN_UNPOISON_MEMORY_REGION(pool->objects, length_of(pool, pool->opened));
    munmap(pool->mapping, pool->mapping_length);
    free(pool->chunks);
    free(pool->room);
    free(pool);
}

void *pool_alloc(struct pool *pool)
{
    size_t word = 0;

    if (pool->used >= pool->capacity)
        return NULL;
    while (pool->room[word] == 0) /* there is a bit, because used < capacity */
        word++;

    size_t index = word * 64 + (size_t)__builtin_ctzll(pool->room[word]);
    struct chunk *chunk = &pool->chunks[index];
    struct free_object *object = chunk->freed;

    if (object) {
        ASAN_UNPOISON_MEMORY_REGION(object, pool->stride);
        chunk->freed = object->next;
    } else {
        object = (struct free_object *)(pool->objects + (index << CHUNK_SHIFT) + pool->stride * chunk->fresh++);
        ASAN_UNPOISON_MEMORY_REGION(object, pool->stride);
    }
    pool->used++;
    chunk->used++;
    update_room(pool, index);
    return object;
}

void pool_release(struct pool *pool, void *object)
{
    struct free_object *given = object;

    if (!given)
        return;

    size_t offset = (size_t)((unsigned char *)object - pool->objects), index = offset >> pool->shift;
    struct chunk *chunk = &pool->chunks[index];

    assert(pool->used > 0 && index < pool->chunk_count && chunk->used > 0 &&
           offset - (index << CHUNK_SHIFT) < pool->stride * chunk->fresh);
    given->next = chunk->freed;
    chunk->freed = given;
    chunk->used--;
    pool->used--;
    pool->room[index / 64] |= UINT64_C(1) << index % 64;
    ASAN_POISON_MEMORY_REGION(object, pool->stride);
}

size_t pool_trim(struct pool *pool)
{
    size_t trimmed = 0;

    for (size_t i = 1; i < pool->chunk_count && trimmed < TRIM_CHUNKS; i++) {
        struct chunk *chunk = &pool->chunks[i];

        if (chunk->used > 0 || chunk->fresh == 0) {
            chunk->idle = false;
            continue;
        }
        size_t size = chunk_size(pool, i);
        size_t length = size == pool->per_chunk ? HUGE_PAGE : round_up(size * pool->stride, PAGE);

        if (chunk->idle && madvise(pool->objects + (i << CHUNK_SHIFT), length, MADV_DONTNEED) == 0) {
            *chunk = (struct chunk){ 0 };
            trimmed++;
        } else {
            chunk->idle = true;
        }
    }
    return trimmed * HUGE_PAGE;
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
