/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heap: objects of many sizes from memory that is reserved at once, for state that grows with traffic and is freed in
 * any order: the state of application protocols. Allocation on the hot path needs no system call and no lock, and a
 * memcap is enforced.
 *
 * The reservation is address space; the kernel backs a page when it is first touched. It is divided into slabs of one
 * size class each; a slab without objects can serve any class again. Larger objects use runs of slabs.
 *
 * Threads:   a heap belongs to one worker.
 * Ownership: objects are valid until heap_release() or heap_free().
 */
#ifndef SLUICE_HEAP_H
#define SLUICE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum size of an object. The largest one is a decompression window of 4 MiB with the data that the decompression
 * library adds to it. */
enum { HEAP_OBJECT_MAX = (4 << 20) + (64 << 10) };

struct heap;

int heap_new(struct heap **out, size_t memcap); /* 0 or -ENOMEM */
void heap_free(struct heap *heap);              /* NULL is allowed */
/* Changes the memcap, also while objects are in use. Returns 0; -EBUSY if the slabs in use need more; -ERANGE above
 * HEAP_GROWTH times the memcap of heap_new(); -ENOMEM. */
enum { HEAP_GROWTH = 6 };
int heap_set_memcap(struct heap *heap, size_t memcap);

/* Allocates `size` zeroed bytes, aligned to 16; NULL when the memcap is reached or size is above HEAP_OBJECT_MAX. */
void *heap_alloc(struct heap *heap, size_t size);
/* Allocates like heap_alloc(), but does not clear the bytes. */
void *heap_alloc_uncleared(struct heap *heap, size_t size);
/* Makes room for `size` bytes, like realloc(). Returns `object` itself if it is large enough; otherwise a new object
 * with its first `used` bytes, and frees `object`. The bytes after `used` are not cleared. If `object` is NULL,
 * allocates a new one. Returns NULL, with `object` unchanged, when there is no memory. */
void *heap_grow(struct heap *heap, void *object, size_t used, size_t size);
void heap_release(struct heap *heap, void *object); /* NULL is allowed */
/* Returns the usable size of an object, at least the size requested. */
size_t heap_size(const struct heap *heap, const void *object);

size_t heap_memory(const struct heap *heap); /* bytes in use, including rounding */
/* Returns how many bytes of slabs may still be allocated below the memcap, for objects of any size class. Slabs that
 * already belong to a size class are not counted, even if they have no object. */
size_t heap_available(const struct heap *heap);
/* Returns whether as many slabs as an object of `size` bytes needs (1 to HEAP_OBJECT_MAX) are free next to each other.
 * This may be false although heap_available() is larger: objects of other sizes may lie between the free slabs. */
bool heap_can_allocate(const struct heap *heap, size_t size);
size_t heap_capacity(const struct heap *heap);        /* the memcap, in whole slabs */
uint64_t heap_refused_count(const struct heap *heap); /* allocations that failed */

/* --- Growing buffer ------------------------------------------------------------------------------- */

struct buffer {
    uint8_t *bytes; /* allocated from a heap; NULL while empty */
    uint32_t length, capacity;
};
/* Returns the byte at `at`; NULL while there is no memory: C allows no offset, not even 0, to a null pointer. */
static inline uint8_t *buffer_at(const struct buffer *buffer, uint32_t at)
{
    return buffer->bytes ? buffer->bytes + at : NULL;
}
/* Increases the capacity to `length` bytes, if there is memory for them, so that the buffer grows once instead of in
 * steps. */
void buffer_reserve(struct heap *heap, struct buffer *buffer, uint32_t length);
/* Increases the capacity to `length` bytes, like buffer_reserve(); returns false, counted by heap_refused_count(), when
 * there is no memory for them. */
bool buffer_require(struct heap *heap, struct buffer *buffer, uint32_t length);
/* Appends bytes until the buffer has `limit` bytes; returns how many were appended: fewer than `length` when the limit
 * or the memcap is reached. */
uint32_t buffer_append(struct heap *heap, struct buffer *buffer, const void *bytes, uint32_t length, uint32_t limit);
/* Removes the first `length` bytes; the rest moves to the front. */
void buffer_consume(struct buffer *buffer, uint32_t length);
void buffer_clear(struct heap *heap, struct buffer *buffer); /* frees its memory */

#endif
