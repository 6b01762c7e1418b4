/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for queued packets to be inspected before the sluice table is removed. */
#include "drain.h"

#include <limits.h>
#include <time.h>

#include "sluice/capture.h"
#include "sluice/log.h"

enum {
    DRAIN_ROUNDS = 2000,  /* 20 s at most */
    DRAIN_PATIENCE = 300, /* rounds without progress: 3 s */
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
 * Waits until all queues are empty: when the kernel removes a base chain, it drops the packets that wait in any queue,
 * also in the queue of the next consumer. A slow consumer gets time as long as packets leave the queues; one that
 * does nothing, or a queue that other rules keep filling, delays the stop by DRAIN_PATIENCE rounds. The queues must be
 * found empty twice in a row, because a packet that matched the queue rule on another CPU may still be about to enter
 * a queue.
 */
void drain_queues(int fd)
{
    const struct timespec pause = { .tv_nsec = DRAIN_PAUSE_MS * 1000000L };
    unsigned waiting = 1, least = UINT_MAX;

    if (fd < 0)
        return;
    for (int round = 0, quiet = 0, idle = 0; round < DRAIN_ROUNDS && idle < DRAIN_PATIENCE && quiet < DRAIN_QUIET;
         round++) {
        if (round > 0)
            nanosleep(&pause, NULL);
        waiting = count_waiting(fd);
        quiet = waiting == 0 ? quiet + 1 : 0;
        idle = waiting < least ? 0 : idle + 1;
        least = waiting < least ? waiting : least;
    }
    if (waiting > 0)
        log_warning("the kernel drops %u packets that wait in queues of this network namespace, because the sluice "
                    "table is removed",
                    waiting);
}
