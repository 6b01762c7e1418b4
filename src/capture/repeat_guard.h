/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds packets that go round in circles: repeated with the mark, and back without it, because somebody's rule takes it
 * off again or the queue rule does not ask for it. The kernel says nothing by which such a packet could be known again
 * but its bytes.
 *
 * So the hash of the bytes is counted, and only as often as it can be the same packet. The kernel repeats within the
 * call that sends the verdict: when that returns, a packet that came back waits in the socket already. The first
 * receive that leaves the socket empty (it got fewer messages than it had room for, or none at once) has it, if there
 * is one; equal bytes in a later one are another packet. A queue that never runs empty gives no such sign, but it has a
 * length, and what is older than that is not it either.
 *
 * Threads: belongs to one worker. All memory is there from the start; of what finds no room nothing is counted until
 * some of those ahead of it were judged, so everything that circles is found in the end.
 */
#ifndef SLUICE_REPEAT_GUARD_H
#define SLUICE_REPEAT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

struct packet;
struct repeat_guard;

/* For a queue of `length` packets that are taken `batch` at a time. 0 or -ENOMEM. */
int repeat_guard_new(struct repeat_guard **out, uint32_t length, uint32_t batch, uint64_t seed);
void repeat_guard_free(struct repeat_guard *guard);

/* A receive begins; `emptied`: it got all that waited. */
void repeat_guard_receive(struct repeat_guard *guard, bool emptied);
/* How often in a row the packet has come back, as far as can be told; 0: it is new. */
uint32_t repeat_guard_count(struct repeat_guard *guard, const struct packet *pkt);

#endif
