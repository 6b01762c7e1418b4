/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Heap: objects of many sizes out of memory that is reserved at once, for what traffic makes grow and end at any time:
 * the state of application protocols. Taking one on the hot path is no system call and no lock, and a memcap is kept.
 *
 * The reservation is address space; the kernel backs a page when it is first touched. It is cut into slabs of one size
 * class each; a slab whose objects have all been given back can serve any class again. Larger objects take runs of
 * slabs.
 *
 * Threads:   a heap belongs to one worker.
 * Ownership: objects are lent until heap_give() or heap_free().
 */
#ifndef SLUICE_HEAP_H
#define SLUICE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAP_OBJECT_MAX = (4 << 20) + (64 << 10) }; /* a window of 4 MiB and what a decoder adds to it */

struct heap;

int heap_new(struct heap **out, size_t memcap); /* 0 or -ENOMEM */
void heap_free(struct heap *heap);              /* NULL is allowed */

/* `size` zeroed bytes, aligned to 16; NULL when the memcap does not allow it or size is above HEAP_OBJECT_MAX. */
void *heap_take(struct heap *heap, size_t size);
/* The same without clearing. */
void *heap_take_raw(struct heap *heap, size_t size);
/* A larger object with the first `used` bytes of the old one, which is given back (it may be the same); the rest is not
 * cleared. NULL when there is no memory: then the old one stays as it is. `object` NULL: a new one. */
void *heap_grow(struct heap *heap, void *object, size_t used, size_t size);
void heap_give(struct heap *heap, void *object); /* NULL is allowed */
/* The bytes that an object has room for, at least what was asked for. */
size_t heap_size(const struct heap *heap, const void *object);

size_t heap_memory(const struct heap *heap); /* bytes taken now, with what rounding up costs */
/* Bytes of slabs without an object: an object of any size class can be allocated from them. Slabs with room for objects
 * of their own size class alone are not counted. */
size_t heap_available(const struct heap *heap);
size_t heap_capacity(const struct heap *heap); /* the memcap, in whole slabs */
uint64_t heap_refused(const struct heap *heap);

/* --- A buffer that grows -------------------------------------------------------------------------- */

struct buffer {
    uint8_t *bytes; /* in a heap; NULL while there is none */
    uint32_t length, capacity;
};
/* The byte at `at`; NULL while there is no memory: C allows no offset, not even 0, to a null pointer. */
static inline uint8_t *buffer_at(const struct buffer *buffer, uint32_t at)
{
    return buffer->bytes ? buffer->bytes + at : NULL;
}
/* Room for `length` bytes in all, where there is memory for them: the buffer grows once instead of by and by. */
void buffer_reserve(struct heap *heap, struct buffer *buffer, uint32_t length);
/* The same where the room is necessary: false, and counted by heap_refused(), when there is no memory for it. */
bool buffer_require(struct heap *heap, struct buffer *buffer, uint32_t length);
/* Appends as far as `limit` bytes in all; how many were. Fewer: the limit or the memcap is reached. */
uint32_t buffer_append(struct heap *heap, struct buffer *buffer, const void *bytes, uint32_t length, uint32_t limit);
/* Forgets the first `length` bytes; the rest moves to the front. */
void buffer_consume(struct buffer *buffer, uint32_t length);
void buffer_clear(struct heap *heap, struct buffer *buffer); /* gives back its memory */

#endif
