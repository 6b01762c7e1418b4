/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring is one buffer of a power of two bytes and two positions that only grow: `head`, up to which the producer has
 * published, and `tail`, up to which the consumer has released. A position modulo the capacity is the index in the
 * buffer.
 *
 * A record is a header of 8 bytes and the data, rounded up to 8 bytes. It never wraps: where it would, a gap fills the
 * rest of the buffer and the record begins at the front. Gap and record are published together by one store of `head`,
 * so the consumer never finds a gap with nothing behind it. As a record uses a quarter of the buffer at most, an empty
 * ring always has room for a gap and a record.
 *
 * Threads: each side owns one cache line, with its own position and a copy of the other side's position (tail_seen,
 * head_seen); it reads the other side's line only when the ring is full (or empty) by that copy. The store of head
 * (release) pairs with the consumer's load (acquire) and makes the record visible; the store of tail pairs with the
 * producer's load and frees the room.
 */
#include "sluice/ring.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CACHE_LINE = 64, RECORD_ALIGNMENT = 8, MIN_CAPACITY = 64 };

struct record_header {
    uint32_t size;   /* size of the record as requested */
    uint32_t is_gap; /* skip to the front of the buffer */
};

static_assert(sizeof(struct record_header) == RECORD_ALIGNMENT, "records start aligned");

struct ring {
    /* read by both sides, written by neither */
    alignas(CACHE_LINE) uint8_t *bytes;
    uint64_t capacity;

    /* written by the producer */
    alignas(CACHE_LINE) _Atomic uint64_t head;
    uint64_t reserved_end; /* the head that ring_commit() publishes */
    uint64_t tail_seen;

    /* written by the consumer */
    alignas(CACHE_LINE) _Atomic uint64_t tail;
    uint64_t peeked_end; /* the tail that ring_release() publishes */
    uint64_t head_seen;
};

int ring_new(struct ring **out, size_t capacity)
{
    size_t rounded = MIN_CAPACITY;

    if (capacity == 0 || capacity > SIZE_MAX / 4 || capacity > (size_t)UINT32_MAX)
        return -EINVAL;
    while (rounded < capacity)
        rounded *= 2;

    struct ring *ring = aligned_alloc(CACHE_LINE, sizeof(*ring));

    if (!ring)
        return -ENOMEM;
    *ring = (struct ring){ .capacity = rounded };
    ring->bytes = aligned_alloc(CACHE_LINE, rounded);
    if (!ring->bytes) {
        free(ring);
        return -ENOMEM;
    }
    *out = ring;
    return 0;
}

void ring_free(struct ring *ring)
{
    if (!ring)
        return;
    free(ring->bytes);
    free(ring);
}

/* Returns the index in the buffer. */
static uint64_t place(const struct ring *ring, uint64_t position)
{
    return position & (ring->capacity - 1);
}

static struct record_header *header_at(const struct ring *ring, uint64_t position)
{
    return (struct record_header *)(void *)(ring->bytes + place(ring, position));
}

/* Returns the bytes that a record with `size` bytes of data uses in the buffer. */
static uint64_t space_of(size_t size)
{
    return sizeof(struct record_header) + (((uint64_t)size + RECORD_ALIGNMENT - 1) & ~(uint64_t)(RECORD_ALIGNMENT - 1));
}

/* Whether the consumer has released enough for the producer to write up to position `end`. */
static bool has_room(struct ring *ring, uint64_t end)
{
    if (end - ring->tail_seen <= ring->capacity)
        return true;
    ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
    return end - ring->tail_seen <= ring->capacity;
}

void *ring_reserve(struct ring *ring, size_t size)
{
    if (size > ring->capacity / 4)
        return NULL;

    uint64_t space = space_of(size);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t to_end = ring->capacity - place(ring, head);
    uint64_t start = to_end < space ? head + to_end : head;

    if (!has_room(ring, start + space))
        return NULL;
    if (start != head)
        *header_at(ring, head) = (struct record_header){ .is_gap = 1 };

    struct record_header *header = header_at(ring, start);

    *header = (struct record_header){ .size = (uint32_t)size };
    ring->reserved_end = start + space;
    return header + 1;
}

void ring_commit(struct ring *ring)
{
    atomic_store_explicit(&ring->head, ring->reserved_end, memory_order_release);
}

const void *ring_peek(struct ring *ring, size_t *size)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    if (tail == ring->head_seen) {
        ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (tail == ring->head_seen)
            return NULL;
    }
    const struct record_header *header = header_at(ring, tail);

    if (header->is_gap) {
        tail += ring->capacity - place(ring, tail);
        header = header_at(ring, tail);
    }
    ring->peeked_end = tail + space_of(header->size);
    *size = header->size;
    return header + 1;
}

void ring_release(struct ring *ring)
{
    atomic_store_explicit(&ring->tail, ring->peeked_end, memory_order_release);
}

size_t ring_used(const struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);

    return (size_t)(atomic_load_explicit(&ring->head, memory_order_acquire) - tail);
}

size_t ring_capacity(const struct ring *ring)
{
    return (size_t)ring->capacity;
}

uint64_t ring_published(const struct ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire);
}

uint64_t ring_released(const struct ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_acquire);
}
