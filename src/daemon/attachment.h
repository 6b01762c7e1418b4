/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the sluice table installed while the daemon runs: watches it, restores it, and adds blocked hosts.
 */
#ifndef SLUICE_ATTACHMENT_H
#define SLUICE_ATTACHMENT_H

#include "sluice/block_port.h"
#include "sluice/firewall.h"
#include "sluice/worker.h"

/* The own table, watched and fed with hosts to block by a thread of its own. */
struct attachment;
struct attachment_options {
    const struct config *config;
    const struct firewall_options *firewall; /* lent for good, as the next two */
    struct output *output;
    struct worker *workers;
    unsigned worker_count;
    bool after_death; /* packets wait that came while there was no engine */
};
/* The memory for what workers ask for; they may be started from then on. *out is NULL when there is nothing to watch.
 */
int attachment_new(struct attachment **out, const struct attachment_options *options, char error[ENGINE_ERROR_SIZE]);
/* Installs the table, and starts the thread. */
int attachment_start(struct attachment *attachment, char error[ENGINE_ERROR_SIZE]);
/* Ends the thread, when it has seen everything that happened to the table. NULL is allowed, as in the next one. */
void attachment_stop(struct attachment *attachment);
void attachment_free(struct attachment *attachment);

struct attachment_counters {
    uint64_t changes;                        /* transactions of others */
    uint64_t reasserted, failed;             /* times that the table was put back, and could not be */
    uint64_t moved;                          /* times that it got another place, because of somebody's chain */
    uint64_t uninspected_us;                 /* for how long packets could pass uninspected */
    uint64_t flushed;                        /* packets that the kernel dropped from our queues with somebody's chain */
    uint64_t notifications_lost;             /* times */
    uint64_t hosts;                          /* blocked now */
    uint64_t added, refused, full, lost;     /* hosts that were asked for */
    uint64_t blocked_packets, blocked_bytes; /* dropped by the kernel */
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes; /* by the kernel, of offloaded flows */
};
void attachment_counters(const struct attachment *attachment, struct attachment_counters *out);

/* A worker's end; NULL when no hosts are blocked. */
struct block_port *attachment_port(struct attachment *attachment, unsigned worker);

#endif
