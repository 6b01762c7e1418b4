/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue account finds packets that a rule sent to Sluice's queues and that never entered a queue: the kernel passed
 * them because a fail-open queue was full or because no process listened (bypass), or dropped them without counting.
 *
 *   queue_account.c   compares two readings, and keeps the last one in a file across engines and daemons
 *   queue_monitor.c   main takes the readings, logs, and writes events
 *
 * The kernel gives such a packet no id and counts it nowhere. But the counter of the rule counts every packet before
 * the queue does:
 *
 *   packets of the rule = packets with an id + packets dropped at a full queue + packets that never entered the queue
 *
 * The two sides cannot be read at the same moment. Each reading therefore has the counters of the queues before and
 * after those of the rules. With the counters before, the difference is an upper limit of the packets that never
 * entered the queue; with those after it is a lower limit, but for packets that are between the counter and the queue
 * at that moment, one per CPU. The lowest upper limit is the base of the account. When two readings in a row exceed the
 * base, the smaller excess has passed for certain. A counter that is set back (a table that was reloaded) makes the
 * difference smaller, so it can hide packets but never invent them.
 *
 * A super-packet that the kernel segments for the queue (queue.gso: no; SCTP) counts once in the rule and gets several
 * ids, which hides packets as well. All that is reported is a lower limit.
 */
#ifndef SLUICE_ENGINE_QUEUE_ACCOUNT_H
#define SLUICE_ENGINE_QUEUE_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/capture.h"
#include "sluice/daemon.h"
#include "sluice/engine_limits.h"

enum { ACCOUNT_RULES = 16 };

/* A firewall rule that sends packets to the daemon's queues. */
struct account_rule {
    uint64_t place; /* hash of family, table and chain */
    uint64_t handle;
    uint64_t packets;
    bool own;    /* in the sluice table: its counter started at 0 */
    bool bypass; /* the rule has the bypass flag */
};

/* One of the daemon's queues. The kernel's counters start at 0 when it is bound. */
struct account_queue {
    uint32_t queue, port_id; /* port_id 0: no listener */
    uint32_t enqueued;       /* id_sequence + queue_dropped, modulo 2^32 */
    uint32_t id_sequence;
    uint32_t queue_dropped, user_dropped; /* as they were reported */
};

/* Contents of the account file. */
struct queue_account {
    bool valid;       /* the counters have been read; false: the next update starts the account */
    uint64_t read_ns; /* the last one, monotonic */
    int64_t counted;  /* by the rules, since the first reading */
    int64_t queued;   /* by the queues, the same */
    int64_t base;     /* the difference at the beginning, at most */
    int64_t last;     /* the difference at the last reading, at least */
    int64_t certain;  /* packets that were never queued, as reported */
    unsigned rule_count, queue_count;
    struct account_rule rules[ACCOUNT_RULES];
    struct account_queue queues[ENGINE_MAX_QUEUES];
};

struct account_reading {
    uint64_t time_ns;
    unsigned rule_count, queue_count;
    struct account_rule rules[ACCOUNT_RULES];
    /* Before and after the rules; port_id 0: not bound. */
    struct queue_status before[ENGINE_MAX_QUEUES], after[ENGINE_MAX_QUEUES];
};

/* Returns how many packets certainly never entered a queue and were not returned before. *unbound: a queue has no
 * listener, or another one than at the last reading. */
uint64_t queue_account_update(struct queue_account *account, const struct account_reading *reading, bool *unbound);

/* Called when the rules cannot be compared: the next reading starts a new account. Keeps the numbers that were
 * reported. */
void queue_account_forget(struct queue_account *account, const struct account_reading *reading);

/* --- File ----------------------------------------------------------------------------------------- */

/* Read or write the whole file. 0, -ENODATA when the file is empty, -EBADMSG when it is damaged or of another version,
 * or -errno. */
int queue_account_read(struct queue_account *out, int fd);
int queue_account_write(const struct queue_account *account, int fd);

#endif
