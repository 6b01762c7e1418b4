/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main thread checks the queues several times a second: it counts packets that passed without entering a queue
 * (queue_account.h), and detects whether the next consumer listens (queue.verdict: route).
 *
 * Threads: the main thread.
 */
#ifndef SLUICE_ENGINE_QUEUE_MONITOR_H
#define SLUICE_ENGINE_QUEUE_MONITOR_H

#include "sluice/worker.h"
#include "sluice/stats.h"

#include "queue_account.h"

struct queue_monitor;
struct queue_monitor_options {
    const struct firewall_options *firewall; /* this and all following pointers must outlive the monitor */
    struct worker *workers;
    unsigned worker_count;
    struct output *output;
    int account_fd;  /* file with the queue account; negative: none */
    int queues_fd;   /* from nfqueue_open_status(); negative: not available */
    bool takes_over; /* true: the queues may have been bound before this engine started */
};
/* Allocates a monitor. Returns 0 or -ENOMEM. */
int queue_monitor_new(struct queue_monitor **out, const struct queue_monitor_options *options);
void queue_monitor_free(struct queue_monitor *monitor); /* NULL is allowed */

/* Reads the account of the previous engine from the file; called after the queues are bound and before the workers
 * start. */
void queue_monitor_load(struct queue_monitor *monitor);
/* Called before the table is installed: reports packets that passed, or were dropped, while no engine ran. */
void queue_monitor_begin(struct queue_monitor *monitor);
/* Compares the counters of rules and queues if the interval has passed. With `last` it compares them in any case, and
 * writes log lines that the rate limit has postponed. */
void queue_monitor_poll(struct queue_monitor *monitor, uint64_t now_ns, bool last);

/* Returns, for each worker, the kernel's drops that events have reported; overload_report.c updates them. */
struct account_queue *queue_monitor_queues(struct queue_monitor *monitor);

struct queue_monitor_counters {
    uint64_t fail_open;   /* packets that passed because a fail-open queue or its socket was full */
    uint64_t bypass;      /* packets that passed because no daemon listened */
    uint64_t bypass_ms;   /* maximum time for which no daemon listened, in milliseconds */
    uint64_t unqueued;    /* packets that the kernel dropped without queueing or counting them */
    uint64_t no_listener; /* packets routed to a next queue that has no listener */
};
void queue_monitor_counters(const struct queue_monitor *monitor, struct queue_monitor_counters *out);
/* Writes the members `uninspected`, `unqueued`, `fail_open`, `passes_counted` and `next_queues` of the status. */
void queue_monitor_json(const struct queue_monitor *monitor, const struct stats *stats, struct text *out);

#endif
