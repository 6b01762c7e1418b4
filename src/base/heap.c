/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One private mapping, divided into slabs of 64 KiB, and a table with an entry for each of them. A slab serves objects
 * of one size class. Classes up to FINE_MAX bytes are UNIT bytes apart; larger classes are a quarter of a power of two
 * apart, so that rounding up costs a fifth at most. An object larger than half a slab uses a run of whole slabs; the
 * kernel does not back untouched pages, so the unused rest of the last slab costs only address space and memcap.
 *
 * Free slabs form runs: the first and the last entry of a run contain its length, so that a freed run is merged with
 * its neighbours at once, and runs are in lists by their length, with a bit set of the lists that are not empty.
 * Allocation and free are O(1).
 *
 * Freed objects are linked within their slab and are reused first. A class keeps one slab that became empty: otherwise
 * a class with one short-lived object at a time would set up a slab for each. When slabs run out, these kept slabs are
 * freed, too.
 *
 * Under AddressSanitizer all bytes outside of requested objects are poisoned: freed objects, unused ones, and the bytes
 * of an object after its requested size, until heap_size() is called for the object.
 */
#include "sluice/heap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if __has_include(<sanitizer/asan_interface.h>) /* without a sanitizer its macros do nothing */
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

enum {
    UNIT = 16, /* alignment of objects */
    SLAB = 64 * 1024,
    SMALL_MAX = SLAB / 2,
    FINE_MAX = 8 * UNIT, /* up to this size the size classes are one UNIT apart */
    CLASSES = 8 + 8 * 4,
    RUN_MAX = HEAP_OBJECT_MAX / SLAB,
    RUN_LISTS = 64, /* free runs by their length - 1; the last list has all runs of RUN_LISTS slabs or more */
    HUGE_PAGE = 2 * 1024 * 1024,
};
_Static_assert(RUN_LISTS <= 64, "free_lengths has a bit for each list");
_Static_assert(RUN_MAX <= 2 * RUN_LISTS, "few runs of the last list are too short");

#define NONE UINT32_MAX
#define NO_OBJECT UINT16_MAX

enum slab_kind {
    SLAB_INSIDE, /* inside a run: not its first slab and, if the run is free, not its last slab */
    SLAB_FREE,   /* first or last of a free run */
    SLAB_SMALL,
    SLAB_LARGE, /* first of an allocated run */
};

struct slab {
    uint32_t next, previous; /* links in a list of free runs, or of slabs of a class that have room */
    uint32_t run;            /* SLAB_FREE, SLAB_LARGE: number of slabs of the run */
    uint32_t size;           /* SLAB_SMALL: bytes of an object, class_size(size_class) */
    uint16_t used, fresh;    /* SLAB_SMALL: objects in use; objects used at least once */
    uint16_t freed;          /* SLAB_SMALL: offset of the first freed object in the slab, in UNITs; NO_OBJECT: none */
    uint8_t kind, size_class;
};

struct heap {
    unsigned char *bytes;
    struct slab *slabs;
    uint32_t slab_count;       /* slabs in accessible memory */
    uint32_t reserved;         /* slabs in the reservation */
    uint32_t limit;            /* the memcap: maximum number of slabs in use; at most slab_count */
    uint32_t partial[CLASSES]; /* first slab with room, by size class; NONE: no slab */
    uint32_t empty[CLASSES];   /* the slab without objects that the size class keeps; NONE: no slab */
    uint32_t free_runs[RUN_LISTS];
    uint64_t free_lengths; /* bit set of the free_runs that are not empty */
    uint32_t free_slabs;   /* slabs in all free runs */
    size_t memory;
    uint64_t refused;
    void *mapping;
    size_t mapping_length;
};

/* --- Lists of slabs ------------------------------------------------------------------------------- */

static void list_push(struct heap *heap, uint32_t *head, uint32_t index)
{
    heap->slabs[index].next = *head;
    heap->slabs[index].previous = NONE;
    if (*head != NONE)
        heap->slabs[*head].previous = index;
    *head = index;
}

static void list_remove(struct heap *heap, uint32_t *head, uint32_t index)
{
    const struct slab *slab = &heap->slabs[index];

    if (slab->previous == NONE)
        *head = slab->next;
    else
        heap->slabs[slab->previous].next = slab->next;
    if (slab->next != NONE)
        heap->slabs[slab->next].previous = slab->previous;
}

/* --- Runs of free slabs --------------------------------------------------------------------------- */

static uint32_t run_list(uint32_t run)
{
    return (run < RUN_LISTS ? run : RUN_LISTS) - 1;
}

static void add_free_run(struct heap *heap, uint32_t index, uint32_t run)
{
    uint32_t list = run_list(run);
    struct slab *last = &heap->slabs[index + run - 1];

    heap->slabs[index].kind = last->kind = SLAB_FREE;
    heap->slabs[index].run = last->run = run;
    list_push(heap, &heap->free_runs[list], index);
    heap->free_slabs += run;
    heap->free_lengths |= UINT64_C(1) << list;
}

/* Removes a free run from its list; the caller makes it a part of another run. */
static void remove_free_run(struct heap *heap, uint32_t index)
{
    uint32_t run = heap->slabs[index].run, list = run_list(run);

    list_remove(heap, &heap->free_runs[list], index);
    heap->free_slabs -= run;
    if (heap->free_runs[list] == NONE)
        heap->free_lengths &= ~(UINT64_C(1) << list);
    heap->slabs[index].kind = heap->slabs[index + run - 1].kind = SLAB_INSIDE;
}

/* Not inlined: heap_release() rarely calls it, and would otherwise push more registers in each call. */
static __attribute__((noinline)) void free_slabs_of_run(struct heap *heap, uint32_t index, uint32_t run)
{
    struct slab *slabs = heap->slabs;

    slabs[index].kind = SLAB_INSIDE;
    if (index + run < heap->slab_count && slabs[index + run].kind == SLAB_FREE) {
        uint32_t behind = index + run;

        run += slabs[behind].run;
        remove_free_run(heap, behind);
    }
    if (index > 0 && slabs[index - 1].kind == SLAB_FREE) {
        index -= slabs[index - 1].run;
        run += slabs[index].run;
        remove_free_run(heap, index);
    }
    add_free_run(heap, index, run);
}

/* Frees the empty slabs that the size classes keep; returns false if there are none. */
static bool free_empty_slabs(struct heap *heap)
{
    bool any = false;

    for (int size_class = 0; size_class < CLASSES; size_class++) {
        uint32_t index = heap->empty[size_class];

        if (index == NONE)
            continue;
        heap->empty[size_class] = NONE;
        list_remove(heap, &heap->partial[size_class], index);
        free_slabs_of_run(heap, index, 1);
        any = true;
    }
    return any;
}

/* Returns a free run of at least `run` slabs, or NONE. Only runs in the last list may be too short. That list has few
 * runs, because each has at least 4 MiB. */
static uint32_t find_run(const struct heap *heap, uint32_t run)
{
    uint64_t long_enough = heap->free_lengths & ~UINT64_C(0) << run_list(run);
    uint32_t index = long_enough ? heap->free_runs[__builtin_ctzll(long_enough)] : NONE;

    while (index != NONE && heap->slabs[index].run < run)
        index = heap->slabs[index].next;
    return index;
}

static uint32_t used_slabs(const struct heap *heap)
{
    return heap->slab_count - heap->free_slabs;
}

/* Returns the index of the first of `run` slabs, or NONE. */
static uint32_t alloc_slabs(struct heap *heap, uint32_t run)
{
    uint32_t index = find_run(heap, run);

    while (index == NONE || used_slabs(heap) + run > heap->limit) {
        if (!free_empty_slabs(heap))
            return NONE;
        index = find_run(heap, run);
    }
    uint32_t rest = heap->slabs[index].run - run;

    remove_free_run(heap, index);
    if (rest > 0)
        add_free_run(heap, index + run, rest);
    return index;
}

/* --- Small objects -------------------------------------------------------------------------------- */

static unsigned class_of(size_t size)
{
    if (size <= FINE_MAX)
        return size > 0 ? (unsigned)((size - 1) / UNIT) : 0;
    unsigned log = 63 - (unsigned)__builtin_clzll(size - 1); /* 7 or more */

    return 8 + (log - 7) * 4 + (unsigned)((size - 1) >> (log - 2) & 3);
}

static uint32_t class_size(unsigned size_class)
{
    if (size_class < 8)
        return (size_class + 1) * UNIT;
    return (5 + (size_class - 8) % 4) << ((size_class - 8) / 4 + 5);
}

static unsigned char *slab_bytes(const struct heap *heap, uint32_t index)
{
    return heap->bytes + (size_t)index * SLAB;
}

static uint32_t new_small_slab(struct heap *heap, unsigned size_class)
{
    uint32_t index = alloc_slabs(heap, 1);

    if (index == NONE)
        return NONE;
    struct slab *slab = &heap->slabs[index];

    slab->kind = SLAB_SMALL;
    slab->size_class = (uint8_t)size_class;
    slab->size = class_size(size_class);
    slab->used = slab->fresh = 0;
    slab->freed = NO_OBJECT;
    list_push(heap, &heap->partial[size_class], index);
    return index;
}

static bool is_full(const struct slab *slab)
{
    return slab->freed == NO_OBJECT && (slab->fresh + 1u) * slab->size > SLAB;
}

static void *alloc_small(struct heap *heap, unsigned size_class, size_t asked)
{
    uint32_t index = heap->partial[size_class];
    unsigned char *object;

    if (index == NONE)
        index = new_small_slab(heap, size_class);
    if (index == NONE)
        return NULL;
    struct slab *slab = &heap->slabs[index];

    if (slab->freed != NO_OBJECT) {
        object = slab_bytes(heap, index) + (size_t)slab->freed * UNIT;
        ASAN_UNPOISON_MEMORY_REGION(object, sizeof(slab->freed) > asked ? sizeof(slab->freed) : asked);
        memcpy(&slab->freed, object, sizeof(slab->freed));
    } else {
        object = slab_bytes(heap, index) + (size_t)slab->fresh++ * slab->size;
        ASAN_UNPOISON_MEMORY_REGION(object, asked);
    }
    if (heap->empty[size_class] == index)
        heap->empty[size_class] = NONE;
    slab->used++;
    heap->memory += slab->size;
    if (is_full(slab))
        list_remove(heap, &heap->partial[size_class], index);
    return object;
}

static void free_small(struct heap *heap, uint32_t index, unsigned char *object)
{
    struct slab *slab = &heap->slabs[index];
    uint32_t size = slab->size, *partial = &heap->partial[slab->size_class];
    size_t at = (size_t)(object - slab_bytes(heap, index));

    assert(slab->used > 0 && at % UNIT == 0 && at + size <= (size_t)slab->fresh * size);
    if (is_full(slab))
        list_push(heap, partial, index);
    ASAN_UNPOISON_MEMORY_REGION(object, sizeof(slab->freed));
    memcpy(object, &slab->freed, sizeof(slab->freed));
    slab->freed = (uint16_t)(at / UNIT);
    ASAN_POISON_MEMORY_REGION(object, size);
    slab->used--;
    heap->memory -= size;
    if (slab->used > 0)
        return;
    if (heap->empty[slab->size_class] == NONE) {
        heap->empty[slab->size_class] = index;
        return;
    }
    list_remove(heap, partial, index);
    free_slabs_of_run(heap, index, 1);
}

/* --- Large objects -------------------------------------------------------------------------------- */

static void *alloc_large(struct heap *heap, size_t size)
{
    uint32_t run = (uint32_t)((size + SLAB - 1) / SLAB), index = alloc_slabs(heap, run);

    if (index == NONE)
        return NULL;
    heap->slabs[index].kind = SLAB_LARGE;
    heap->slabs[index].run = run;
    heap->memory += (size_t)run * SLAB;
    ASAN_UNPOISON_MEMORY_REGION(slab_bytes(heap, index), size);
    return slab_bytes(heap, index);
}

static void free_large(struct heap *heap, uint32_t index)
{
    uint32_t run = heap->slabs[index].run;

    ASAN_POISON_MEMORY_REGION(slab_bytes(heap, index), (size_t)run * SLAB);
    heap->memory -= (size_t)run * SLAB;
    free_slabs_of_run(heap, index, run);
}

/* --- The heap ------------------------------------------------------------------------------------- */

/* Reserves address space only, aligned to a huge page. */
static int reserve(struct heap *heap)
{
    heap->mapping_length = (size_t)heap->reserved * SLAB + HUGE_PAGE;
    heap->mapping = mmap(NULL, heap->mapping_length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (heap->mapping == MAP_FAILED)
        return -ENOMEM;
    heap->bytes = heap->mapping;
    heap->bytes += (HUGE_PAGE - (uintptr_t)heap->mapping % HUGE_PAGE) % HUGE_PAGE;
    return 0;
}

/* Makes the first `count` slabs accessible, and adds the slabs that were not accessible before to the free runs.
 * Returns 0 or -ENOMEM. */
static int open_slabs(struct heap *heap, uint32_t count)
{
    size_t length = (size_t)count * SLAB;
    uint32_t before = heap->slab_count;

    if (count <= before)
        return 0;
    if (mprotect(heap->bytes, length, PROT_READ | PROT_WRITE))
        return -ENOMEM;
    (void)madvise(heap->bytes, length / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* see pool.c */
    ASAN_POISON_MEMORY_REGION(heap->bytes + (size_t)before * SLAB, length - (size_t)before * SLAB);
    heap->slab_count = count;
    free_slabs_of_run(heap, before, count - before);
    return 0;
}

int heap_new(struct heap **out, size_t memcap)
{
    size_t count = memcap / SLAB > 0 ? memcap / SLAB : 1;
    int err;

    if (count >= NONE / HEAP_GROWTH || count > (SIZE_MAX - HUGE_PAGE) / SLAB / HEAP_GROWTH)
        return -ENOMEM;
    struct heap *heap = calloc(1, sizeof(*heap));

    if (!heap)
        return -ENOMEM;
    for (int i = 0; i < CLASSES; i++)
        heap->partial[i] = heap->empty[i] = NONE;
    for (int i = 0; i < RUN_LISTS; i++)
        heap->free_runs[i] = NONE;
    heap->limit = (uint32_t)count;
    heap->reserved = heap->limit * HEAP_GROWTH;
    heap->slabs = calloc(heap->reserved, sizeof(*heap->slabs));
    err = heap->slabs ? reserve(heap) : -ENOMEM;
    if (err && heap->slabs) { /* address space is limited (RLIMIT_AS): reserve no more than the memcap, which then
                                 cannot be raised */
        heap->reserved = heap->limit;
        err = reserve(heap);
    }
    if (!err && (err = open_slabs(heap, heap->limit)))
        munmap(heap->mapping, heap->mapping_length);
    if (err) {
        free(heap->slabs);
        free(heap);
        return -ENOMEM;
    }
    *out = heap;
    return 0;
}

int heap_set_memcap(struct heap *heap, size_t memcap)
{
    size_t count = memcap / SLAB > 0 ? memcap / SLAB : 1;
    int err;

    if (count > heap->reserved)
        return -ERANGE;
    if (used_slabs(heap) > count)
        free_empty_slabs(heap);
    if (used_slabs(heap) > count)
        return -EBUSY;
    err = open_slabs(heap, (uint32_t)count);
    if (!err)
        heap->limit = (uint32_t)count;
    return err;
}

void heap_free(struct heap *heap)
{
    if (!heap)
        return;
    ASAN_UNPOISON_MEMORY_REGION(heap->bytes, (size_t)heap->slab_count * SLAB);
    munmap(heap->mapping, heap->mapping_length);
    free(heap->slabs);
    free(heap);
}

static void *take_block(struct heap *heap, size_t size)
{
    if (size <= SMALL_MAX)
        return alloc_small(heap, class_of(size), size);
    return size <= HEAP_OBJECT_MAX ? alloc_large(heap, size) : NULL;
}

void *heap_alloc_uncleared(struct heap *heap, size_t size)
{
    void *object = take_block(heap, size);

    if (!object)
        heap->refused++;
    return object;
}

void *heap_alloc(struct heap *heap, size_t size)
{
    void *object = heap_alloc_uncleared(heap, size);

    if (object)
        memset(object, 0, size);
    return object;
}

static uint32_t slab_of(const struct heap *heap, const void *object)
{
    size_t index = (size_t)((const unsigned char *)object - heap->bytes) / SLAB;

    assert(index < heap->slab_count); /* also fails for an object before heap->bytes, whose index is very large */
    return (uint32_t)index;
}

void heap_release(struct heap *heap, void *object)
{
    if (!object)
        return;
    uint32_t index = slab_of(heap, object);

    if (heap->slabs[index].kind == SLAB_SMALL) {
        free_small(heap, index, object);
        return;
    }
    assert(heap->slabs[index].kind == SLAB_LARGE && object == slab_bytes(heap, index));
    free_large(heap, index);
}

size_t heap_size(const struct heap *heap, const void *object)
{
    const struct slab *slab = &heap->slabs[slab_of(heap, object)];
    size_t size = slab->kind == SLAB_SMALL ? slab->size : (size_t)slab->run * SLAB;

    ASAN_UNPOISON_MEMORY_REGION(object, size);
    return size;
}

static void *grow(struct heap *heap, void *object, size_t used, size_t size)
{
    if (object && heap_size(heap, object) >= size)
        return object;
    void *larger = take_block(heap, size);

    if (!larger || !object)
        return larger;
    assert(used <= size);
    memcpy(larger, object, used);
    heap_release(heap, object);
    return larger;
}

void *heap_grow(struct heap *heap, void *object, size_t used, size_t size)
{
    void *larger = grow(heap, object, used, size);

    if (!larger)
        heap->refused++;
    return larger;
}

size_t heap_memory(const struct heap *heap)
{
    return heap->memory;
}

size_t heap_available(const struct heap *heap)
{
    return (size_t)(heap->limit - used_slabs(heap)) * SLAB;
}

bool heap_can_allocate(const struct heap *heap, size_t size)
{
    uint32_t run = (uint32_t)((size + SLAB - 1) / SLAB);

    return used_slabs(heap) + run <= heap->limit && find_run(heap, run) != NONE;
}

size_t heap_capacity(const struct heap *heap)
{
    return (size_t)heap->limit * SLAB;
}

uint64_t heap_refused_count(const struct heap *heap)
{
    return heap->refused;
}

/* --- Growing buffer ------------------------------------------------------------------------------- */

/* Doubles the capacity, up to `limit`, so that the cost of all copies is proportional to the bytes. When there is no
 * memory for that, increases the capacity only to `needed`. Returns false if this fails, too. */
static bool make_room(struct heap *heap, struct buffer *buffer, uint32_t needed, uint32_t limit)
{
    uint64_t wished = (uint64_t)buffer->capacity * 2;

    if (needed <= buffer->capacity)
        return true;
    wished = wished > limit ? limit : wished;
    wished = wished < needed ? needed : wished;
    void *larger = wished > needed ? grow(heap, buffer->bytes, buffer->length, wished) : NULL;

    if (!larger)
        larger = heap_grow(heap, buffer->bytes, buffer->length, needed);
    if (!larger)
        return false;
    buffer->bytes = larger;
    buffer->capacity = (uint32_t)heap_size(heap, larger);
    return true;
}

void buffer_reserve(struct heap *heap, struct buffer *buffer, uint32_t length)
{
    void *larger = length > buffer->capacity ? grow(heap, buffer->bytes, buffer->length, length) : NULL;

    if (!larger)
        return;
    buffer->bytes = larger;
    buffer->capacity = (uint32_t)heap_size(heap, larger);
}

bool buffer_require(struct heap *heap, struct buffer *buffer, uint32_t length)
{
    return make_room(heap, buffer, length, length);
}

uint32_t buffer_append(struct heap *heap, struct buffer *buffer, const void *bytes, uint32_t length, uint32_t limit)
{
    uint32_t room = limit > buffer->length ? limit - buffer->length : 0;

    if (length > room)
        length = room;
    if (length == 0)
        return 0;
    if (!make_room(heap, buffer, buffer->length + length, limit)) {
        uint32_t left = buffer->capacity - buffer->length;

        length = length < left ? length : left;
    }
    if (length > 0)
        memcpy(buffer->bytes + buffer->length, bytes, length);
    buffer->length += length;
    return length;
}

void buffer_consume(struct buffer *buffer, uint32_t length)
{
    assert(length <= buffer->length);
    buffer->length -= length;
    if (buffer->length > 0 && length > 0)
        memmove(buffer->bytes, buffer->bytes + length, buffer->length);
}

void buffer_clear(struct heap *heap, struct buffer *buffer)
{
    heap_release(heap, buffer->bytes);
    *buffer = (struct buffer){ 0 };
}
