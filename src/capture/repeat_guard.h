/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects packets in a loop: repeated with the mark, and queued again without it, because another rule clears the mark
 * or the queue rule does not match it. The kernel provides no information to recognise such a packet except its bytes.
 *
 * The guard therefore counts how often packets with the same hash arrive, but only as long as they can be the same
 * packet. The kernel repeats a packet within the call that sends the verdict: when that returns, a packet that came
 * back is already in the socket. The next receive that leaves the socket empty (it returns fewer messages than it had
 * room for, or none immediately), or one before it, therefore returns the packet. Equal bytes in a later receive are
 * another packet. If the socket never becomes empty, the length of the queue limits how long a packet can wait.
 *
 * Threads: belongs to one worker. All memory is allocated at the start; packets for which no entry is free are not
 * counted until other entries become free, so every loop is detected eventually.
 */
#ifndef SLUICE_REPEAT_GUARD_H
#define SLUICE_REPEAT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct packet;
struct repeat_guard;

/* Allocates a guard for a queue of `length` packets, of which a receive returns at most `batch`. `seed`: seed of the
 * hash. Returns 0 or -ENOMEM. */
int repeat_guard_new(struct repeat_guard **out, uint32_t length, uint32_t batch, uint64_t seed);
void repeat_guard_free(struct repeat_guard *guard);

/* Called at each receive, before its packets are counted. `emptied`: true if the receive left the socket empty. */
void repeat_guard_receive(struct repeat_guard *guard, bool emptied);
/* Counts an arrival of the packet. Returns how often in a row it has come back; 0: the packet is new, or not counted
 * because no entry was free. */
uint32_t repeat_guard_count(struct repeat_guard *guard, const struct packet *pkt);

#endif
