/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ring: a lock-free queue of variable-sized records from one producer thread to one consumer thread. It carries events
 * from a worker to the output thread; when it is full the record is refused and the producer counts it, so that a slow
 * disk never delays a verdict.
 *
 * Threads: ring_reserve/ring_commit by one producer, ring_peek/ring_release by one consumer.
 */
#ifndef SLUICE_RING_H
#define SLUICE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;

/* `capacity` in bytes, rounded up to a power of two; a record may use a quarter of it. Returns 0, -ENOMEM or -EINVAL.
 */
int ring_new(struct ring **out, size_t capacity);
void ring_free(struct ring *ring);

/* Producer: returns room for `size` bytes, aligned to 8, NULL when full; visible to the consumer after ring_commit().
 */
void *ring_reserve(struct ring *ring, size_t size);
void ring_commit(struct ring *ring);

/* Consumer: returns the oldest record and its size, NULL when empty; it stays valid until ring_release(). */
const void *ring_peek(struct ring *ring, size_t *size);
void ring_release(struct ring *ring);

/* Either side: bytes in use, and the capacity. */
size_t ring_used(const struct ring *ring);
size_t ring_capacity(const struct ring *ring);

/* Consumer: the positions up to which the producer has published and the consumer has released, in bytes; they never
 * decrease. Everything in the ring at some time has been consumed when ring_released() has reached the value of
 * ring_published() of that time. */
uint64_t ring_published(const struct ring *ring);
uint64_t ring_released(const struct ring *ring);

#endif
