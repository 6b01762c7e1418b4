/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for queued packets to be inspected before the sluice table is removed. */
#include "drain.h"

#include <time.h>

#include "sluice/capture.h"
#include "sluice/log.h"

enum {
    DRAIN_ROUNDS = 200,
    DRAIN_PAUSE_MS = 10,
    DRAIN_QUIET = 2,
    DRAIN_QUEUES = 256,
};

/* Returns the number of packets in all queues of the network namespace. */
static unsigned count_waiting(int fd)
{
    struct queue_status queues[DRAIN_QUEUES];
    int count = nfqueue_read_status(fd, queues, DRAIN_QUEUES);
    unsigned waiting = 0;

    for (int i = 0; i < count; i++)
        waiting += queues[i].waiting;
    return waiting;
}

/*
 * Waits, for a limited time, until all queues are empty: when the kernel removes a base chain, it drops the packets
 * that wait in any queue, also in the queue of the next consumer. The queues must be found empty twice in a row,
 * because a packet that matched the queue rule on another CPU may still be about to enter a queue.
 */
void drain_queues(int fd)
{
    const struct timespec pause = { .tv_nsec = DRAIN_PAUSE_MS * 1000000L };
    unsigned waiting = 1;

    if (fd < 0)
        return;
    for (int round = 0, quiet = 0; round < DRAIN_ROUNDS && quiet < DRAIN_QUIET; round++) {
        if (round > 0)
            nanosleep(&pause, NULL);
        waiting = count_waiting(fd);
        quiet = waiting == 0 ? quiet + 1 : 0;
    }
    if (waiting > 0)
        log_warning("the kernel drops %u packets that wait in queues of this network namespace, because the sluice "
                    "table is removed",
                    waiting);
}
