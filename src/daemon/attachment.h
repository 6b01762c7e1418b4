/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The attachment installs the sluice table. While the daemon runs, a thread restores the table when another process
 * changes it, and adds the hosts that rules block.
 */
#ifndef SLUICE_ATTACHMENT_H
#define SLUICE_ATTACHMENT_H

#include "sluice/block_port.h"
#include "sluice/firewall.h"
#include "sluice/worker.h"

struct attachment;
struct attachment_options {
    const struct config *config;
    const struct firewall_options *firewall; /* this pointer and the next two must outlive the attachment */
    struct output *output;
    struct worker *workers;
    unsigned worker_count;
    bool after_death; /* a previous engine died: packets that arrived since then wait in the queues */
};
/* Allocates an attachment, with the block ports of the workers; called before the workers start. *out is NULL when no
 * thread is needed: the caller then installs the table itself. Returns 0, or -errno with a line in `error`. */
int attachment_new(struct attachment **out, const struct attachment_options *options, char error[ENGINE_ERROR_SIZE]);
/* Installs the table and starts the thread. Returns 0, or -errno with a line in `error`. */
int attachment_start(struct attachment *attachment, char error[ENGINE_ERROR_SIZE]);
/* Stops the thread after it has handled all changes of the table so far. NULL is allowed, as in attachment_free(). */
void attachment_stop(struct attachment *attachment);
void attachment_free(struct attachment *attachment);

struct attachment_counters {
    uint64_t changes;            /* ruleset transactions of other processes */
    uint64_t reasserted, failed; /* how often the table was restored, and how often restoring it failed */
    /* How often the sluice chain was moved to the right side of a chain of another process. */
    uint64_t moved;
    uint64_t uninspected_us;     /* how long packets could pass uninspected, in microseconds */
    uint64_t flushed;            /* queued packets that the kernel dropped because a base chain was removed */
    uint64_t notifications_lost; /* how often the kernel lost notifications about changes */
    uint64_t hosts;              /* hosts that are blocked now */
    uint64_t networks;           /* networks of lists that are blocked now */
    uint64_t lists_failed;       /* how often the networks of the lists could not be blocked */
    /* Requests to block a host: the host was added; refused, because it is exempt; failed, most likely because the set
     * is full; lost, because the block port was full. */
    uint64_t added, refused, full, lost;
    /* Packets that the kernel handled without queueing them: dropped as packets of blocked hosts, accepted or dropped
     * as packets of offloaded flows, and accepted as acknowledgments. */
    uint64_t blocked_packets, blocked_bytes;
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes;
    uint64_t acknowledgment_packets, acknowledgment_bytes;
};
void attachment_counters(const struct attachment *attachment, struct attachment_counters *out);
const struct firewall_options *attachment_firewall(const struct attachment *attachment);
/* Gets the counter with this number, and its name; NULL: there are no more. */
const char *attachment_counter_get(const struct attachment_counters *counters, size_t number, uint64_t *value);

/* Reads the lists of hosts and networks to block again, with the settings of `config`, or with the same settings if it
 * is NULL. Returns the number of this reading (attachment_describe_lists()); 0: there is no blocklist, or out of
 * memory. */
uint64_t attachment_reread_lists(struct attachment *attachment, const struct config *config);
/* Writes the state of the lists as a JSON object: list_reader_describe(). Returns false if there is no blocklist. */
bool attachment_describe_lists(const struct attachment *attachment, struct text *out);

/* Returns the block port of a worker; NULL when no hosts are blocked. */
struct block_port *attachment_port(struct attachment *attachment, unsigned worker);

#endif
