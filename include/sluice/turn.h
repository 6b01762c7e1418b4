/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns: how several workers of a replay touch shared state (thresholds by host, host bits) in the order of the packets, so
 * that the same capture gives the same events whatever the number of workers. A daemon has none: packets of several
 * queues have no order.
 *
 * Threads: a turn belongs to one worker; its wait looks at the progress of the others.
 */
#ifndef SLUICE_TURN_H
#define SLUICE_TURN_H

struct turn {
    /* Returns when every packet that comes before this worker's current one has been judged. */
    void (*wait)(struct turn *turn);
};

/* To be called before shared state is read or written. NULL is allowed. */
static inline void turn_wait(struct turn *turn)
{
    if (turn)
        turn->wait(turn);
}

#endif
