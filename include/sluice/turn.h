/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns: how several workers of a replay touch shared state (thresholds by host, host bits) in the order of the
 * packets, so that the same capture gives the same events whatever the number of workers. A daemon has none: packets of
 * several queues have no order.
 *
 * Threads: a turn belongs to one worker; its wait looks at the progress of the others.
 */
#ifndef SLUICE_TURN_H
#define SLUICE_TURN_H

#include <stdint.h>

/* Where something happens in the course of a capture. */
struct turn_place {
    uint64_t
        sequence; /* of a packet, or of a moment when flows end because their time is over; counts over all files */
    uint64_t start_ns, number; /* of the flow that ends at such a moment: when it began, and its first packet */
};

/* Less than, equal to or greater than 0. */
static inline int turn_compare(const struct turn_place *a, const struct turn_place *b)
{
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->number == b->number ? 0 : a->number < b->number ? -1 : 1;
}

struct turn {
    /* Returns when everything that comes before what this worker is at has been judged. */
    void (*wait)(struct turn *turn);
    /* The worker goes on to a flow that ends. At one moment they come in the order of start and first packet. */
    void (*flow_ends)(struct turn *turn, uint64_t start_ns, uint64_t number);
};

/* To be called before shared state is read or written. NULL is allowed. */
static inline void turn_wait(struct turn *turn)
{
    if (turn)
        turn->wait(turn);
}

/* To be called before anything is done for a flow that ends. NULL is allowed. */
static inline void turn_flow_ends(struct turn *turn, uint64_t start_ns, uint64_t number)
{
    if (turn)
        turn->flow_ends(turn, start_ns, number);
}

#endif
