/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replay ordering: several workers of a replay access shared state (thresholds by host, host bits) in the order of the
 * packets, so that the same capture yields the same events with any number of workers. A daemon does not use it:
 * packets of several queues have no order.
 *
 * Threads: a struct replay_order belongs to one worker; wait() reads the progress of the other workers.
 */
#ifndef SLUICE_REPLAY_ORDER_H
#define SLUICE_REPLAY_ORDER_H

#include <stdint.h>

/* A position in the processing of a capture. */
struct replay_position {
    /* number of a packet, or of a point in time when flows expire; it keeps counting across all files */
    uint64_t sequence;
    /* for a flow that ends at such a point in time: its start, and the number of its first packet; otherwise 0 */
    uint64_t start_ns, number;
};

/* Returns a number less than, equal to or greater than 0 if `a` is before, equal to or after `b`. */
static inline int replay_position_compare(const struct replay_position *a, const struct replay_position *b)
{
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->number == b->number ? 0 : a->number < b->number ? -1 : 1;
}

struct replay_order {
    /* Returns when all processing before this worker's current position has finished. */
    void (*wait)(struct replay_order *order);
    /* Sets this worker's position to that of a flow that ends. Flows that end at the same time are ordered by start and
     * first packet. */
    void (*flow_ends)(struct replay_order *order, uint64_t start_ns, uint64_t number);
};

/* To be called before shared state is read or written. NULL is allowed. */
static inline void replay_order_wait(struct replay_order *order)
{
    if (order)
        order->wait(order);
}

/* To be called before a flow that ends is processed. NULL is allowed. */
static inline void replay_order_flow_ends(struct replay_order *order, uint64_t start_ns, uint64_t number)
{
    if (order)
        order->flow_ends(order, start_ns, number);
}

#endif
