/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Main watches the queues several times a second: packets that passed without entering a queue (queue_account.h), and
 * whether the next consumer listens (queue.verdict: route).
 *
 * Threads: main's.
 */
#ifndef SLUICE_ENGINE_QUEUE_MONITOR_H
#define SLUICE_ENGINE_QUEUE_MONITOR_H

#include "sluice/worker.h"
#include "sluice/stats.h"

#include "queue_account.h"

struct queue_monitor;
struct queue_monitor_options {
    const struct firewall_options *firewall; /* lent for good, as all that follows */
    struct worker *workers;
    unsigned worker_count;
    struct output *output;
    int account_fd; /* negative: none */
    int queues_fd;  /* of nfqueue_open_status(), or negative */
    bool takes_over;
};
/* 0 or -ENOMEM. */
int queue_monitor_new(struct queue_monitor **out, const struct queue_monitor_options *options);
void queue_monitor_free(struct queue_monitor *monitor); /* NULL is allowed */

/* Loads the account of the previous engine; called when the queues are bound and before the workers start. */
void queue_monitor_load(struct queue_monitor *monitor);
/* Reports packets that passed while no engine ran; called before the table is installed. */
void queue_monitor_begin(struct queue_monitor *monitor);
/* Takes a reading when one is due. `last`: the final reading. */
void queue_monitor_poll(struct queue_monitor *monitor, uint64_t now_ns, bool last);

/* By worker: what has been reported of the kernel's drops, for overload_report.c. */
struct account_queue *queue_monitor_queues(struct queue_monitor *monitor);

struct queue_monitor_counters {
    uint64_t fail_open;   /* packets that passed because a queue or its socket was full */
    uint64_t bypass;      /* packets that passed because no daemon listened... */
    uint64_t bypass_ms;   /* ... and for how long, at most */
    uint64_t unqueued;    /* packets that the kernel dropped without queueing or counting them */
    uint64_t no_listener; /* packets routed to a next queue that has no listener */
};
void queue_monitor_counters(const struct queue_monitor *monitor, struct queue_monitor_counters *out);
/* Writes the members `uninspected`, `unqueued`, `fail_open`, `passes_counted` and `next_queues` of the status. */
void queue_monitor_json(const struct queue_monitor *monitor, const struct stats *stats, struct text *out);

#endif
