/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See refuse.h. To refuse an allocation of a heap, the heap is called with a size that exceeds every memcap, so that it
 * counts the refusal itself. */
#include "refuse.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/heap.h"
#include "sluice/pool.h"

enum { POOLS_MAX = 32, FRAMES_MAX = 32 };

static _Thread_local bool is_armed;
static struct {
    uint64_t at, calls, refused[REFUSE_KINDS];
    bool all_later;
    struct pool_state {
        const struct pool *pool;
        uint64_t refused;
        bool is_used;  /* pool_alloc() was called */
        bool promised; /* pool_used() has reported room, so pool_alloc() must succeed until the next packet */
    } pools[POOLS_MAX];
} state;

static struct {
    uint64_t *stacks;
    size_t room, count;
} record;

void refuse_start(uint64_t at, bool all_later)
{
    memset(&state, 0, sizeof(state));
    state.at = at;
    state.all_later = all_later;
    is_armed = true;
}

void refuse_next_packet(void)
{
    for (unsigned i = 0; i < POOLS_MAX; i++)
        state.pools[i].promised = false;
}

uint64_t refuse_stop(void)
{
    is_armed = false;
    return state.calls;
}

uint64_t refuse_count(enum refuse_kind kind)
{
    return state.refused[kind];
}

uint64_t refuse_count_pool(const struct pool *pool)
{
    for (unsigned i = 0; i < POOLS_MAX; i++)
        if (state.pools[i].pool == pool)
            return state.pools[i].refused;
    return 0;
}

bool refuse_has_used_pool(const struct pool *pool)
{
    for (unsigned i = 0; i < POOLS_MAX; i++)
        if (state.pools[i].pool == pool)
            return state.pools[i].is_used;
    return false;
}

size_t refuse_record(uint64_t *stacks, size_t room)
{
    size_t count = record.count;

    record.stacks = stacks;
    record.room = stacks ? room : 0;
    record.count = 0;
    return count;
}

static uint64_t hash_stack(void)
{
    void *frames[FRAMES_MAX];
    int count = backtrace(frames, FRAMES_MAX);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (int i = 0; i < count; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_refused(enum refuse_kind kind)
{
    if (!is_armed)
        return false;
    state.calls++;
    if (record.count < record.room)
        record.stacks[record.count++] = hash_stack();
    if (state.at == 0 || state.calls < state.at || (state.calls > state.at && !state.all_later))
        return false;
    state.refused[kind]++;
    return true;
}

/* --- heap ----------------------------------------------------------------------------------------- */

void *__real_heap_alloc(struct heap *heap, size_t size);
void *__real_heap_alloc_uncleared(struct heap *heap, size_t size);
void *__real_heap_grow(struct heap *heap, void *object, size_t used, size_t size);
void __real_buffer_reserve(struct heap *heap, struct buffer *buffer, uint32_t length);
uint32_t __real_buffer_append(struct heap *heap, struct buffer *buffer, const void *bytes, uint32_t length,
                              uint32_t limit);
void *__wrap_heap_alloc(struct heap *heap, size_t size);
void *__wrap_heap_alloc_uncleared(struct heap *heap, size_t size);
void *__wrap_heap_grow(struct heap *heap, void *object, size_t used, size_t size);
void __wrap_buffer_reserve(struct heap *heap, struct buffer *buffer, uint32_t length);
uint32_t __wrap_buffer_append(struct heap *heap, struct buffer *buffer, const void *bytes, uint32_t length,
                              uint32_t limit);

static void *refuse_heap(struct heap *heap)
{
    return __real_heap_alloc_uncleared(heap, HEAP_OBJECT_MAX + (size_t)1);
}

void *__wrap_heap_alloc(struct heap *heap, size_t size)
{
    return is_refused(REFUSE_HEAP) ? refuse_heap(heap) : __real_heap_alloc(heap, size);
}

void *__wrap_heap_alloc_uncleared(struct heap *heap, size_t size)
{
    return is_refused(REFUSE_HEAP) ? refuse_heap(heap) : __real_heap_alloc_uncleared(heap, size);
}

void *__wrap_heap_grow(struct heap *heap, void *object, size_t used, size_t size)
{
    bool grows = !object || heap_size(heap, object) < size;

    return grows && is_refused(REFUSE_HEAP) ? refuse_heap(heap) : __real_heap_grow(heap, object, used, size);
}

void __wrap_buffer_reserve(struct heap *heap, struct buffer *buffer, uint32_t length)
{
    if (length <= buffer->capacity || !is_refused(REFUSE_HEAP)) /* only a hint, so a refusal has no effect */
        __real_buffer_reserve(heap, buffer, length);
}

uint32_t __wrap_buffer_append(struct heap *heap, struct buffer *buffer, const void *bytes, uint32_t length,
                              uint32_t limit)
{
    uint32_t room = limit > buffer->length ? limit - buffer->length : 0;
    uint32_t wanted = length < room ? length : room, left = buffer->capacity - buffer->length;

    if (wanted > left && is_refused(REFUSE_HEAP)) {
        refuse_heap(heap);
        length = left;
    }
    return __real_buffer_append(heap, buffer, bytes, length, limit);
}

/* --- pool ----------------------------------------------------------------------------------------- */

void *__real_pool_alloc(struct pool *pool);
size_t __real_pool_used(const struct pool *pool);
void *__wrap_pool_alloc(struct pool *pool);
size_t __wrap_pool_used(const struct pool *pool);

static struct pool_state *state_of(const struct pool *pool)
{
    unsigned i = 0;

    while (i + 1 < POOLS_MAX && state.pools[i].pool && state.pools[i].pool != pool)
        i++;
    state.pools[i].pool = pool;
    return &state.pools[i];
}

static bool is_pool_refused(const struct pool *pool)
{
    if (!is_refused(REFUSE_POOL))
        return false;
    state_of(pool)->refused++;
    return true;
}

void *__wrap_pool_alloc(struct pool *pool)
{
    if (is_armed)
        state_of(pool)->is_used = true;
    if (is_armed && state_of(pool)->promised)
        return __real_pool_alloc(pool);
    return is_pool_refused(pool) ? NULL : __real_pool_alloc(pool);
}

/* Callers that need several objects compare the result with the capacity first, so pool_alloc() must then succeed. */
size_t __wrap_pool_used(const struct pool *pool)
{
    if (!is_armed)
        return __real_pool_used(pool);
    if (is_pool_refused(pool))
        return pool_capacity(pool);
    state_of(pool)->promised = true;
    return __real_pool_used(pool);
}

/* --- malloc --------------------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t length);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

void *__wrap_malloc(size_t size)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_reallocarray(old, count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t length)
{
    return is_refused(REFUSE_MALLOC) ? NULL : __real_strndup(text, length);
}
