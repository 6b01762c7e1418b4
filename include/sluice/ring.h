/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring: a lock-free queue of variable-sized records from one producer thread to one consumer thread. It carries events
 * from a worker to the output thread; when the ring is full, ring_reserve() fails and the producer counts the lost
 * record, so that a slow disk never delays a verdict.
 *
 * Threads: ring_reserve/ring_commit by one producer, ring_peek/ring_release by one consumer.
 */
#ifndef SLUICE_RING_H
#define SLUICE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

/* Creates a ring. `capacity` is in bytes and is rounded up to a power of two; one record may use at most a quarter of
 * it. Returns 0, -ENOMEM, or -EINVAL for a capacity of 0 or more than UINT32_MAX. */
int ring_new(struct ring **out, size_t capacity);
void ring_free(struct ring *ring);

/* Producer: reserves a record of `size` bytes, aligned to 8. Returns NULL if the ring is full or the record too large.
 * The consumer sees the record after ring_commit(). */
void *ring_reserve(struct ring *ring, size_t size);
void ring_commit(struct ring *ring);

/* Consumer: returns the oldest record and its size, NULL when empty; the record stays valid until ring_release(). */
const void *ring_peek(struct ring *ring, size_t *size);
void ring_release(struct ring *ring);

/* Return the bytes in use, and the capacity in bytes. Producer and consumer may call them. */
size_t ring_used(const struct ring *ring);
size_t ring_capacity(const struct ring *ring);

/* Consumer: the positions up to which the producer has published and the consumer has released, in bytes; they never
 * decrease. To wait until all records now in the ring are consumed: note ring_published(), and wait until
 * ring_released() reaches that value. */
uint64_t ring_published(const struct ring *ring);
uint64_t ring_released(const struct ring *ring);

#endif
