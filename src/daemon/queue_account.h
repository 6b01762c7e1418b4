/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queue account finds packets that a rule sent to Sluice's queues and that never entered a queue: the kernel passed
 * them because a fail-open queue was full or because no process listened (bypass), or dropped them without counting.
 *
 *   queue_account.c   compares two readings, and keeps the last one in a file across engines and daemons
 *   queue_monitor.c   takes the readings in the main thread, logs, and writes events
 *
 * The kernel gives such a packet no id and counts it nowhere. But the counter of the rule counts every packet before
 * the queue does:
 *
 *   packets of the rule = packets with an id + packets dropped at a full queue + packets that never entered the queue
 *
 * The counters of rules and queues cannot be read at the same moment. Each reading therefore reads the counters of the
 * queues twice: before and after those of the rules. The difference (packets of the rules - packets of the queues) is
 * an upper limit of the packets that never entered the queue when it is computed with the first counters of the queues,
 * and a lower limit with the second ones. As the counters of rules and queues have not begun at the same time, each
 * difference also contains an unknown constant (the base). The lower limit may be too high by one packet per CPU: a
 * packet that the rule has counted and that is about to enter the queue. The lowest upper limit is taken as the base.
 * When the lower limits of two readings in a row exceed the base, the smaller excess is the number of packets that
 * certainly never entered the queue. A rule counter that is reset (its table was reloaded) makes the difference
 * smaller: packets may be missed, but packets that entered the queue are never reported.
 *
 * A super-packet that the kernel segments for the queue (queue.gso: no; SCTP) counts once in the rule and gets several
 * ids, which makes the difference smaller, too. All reported numbers are therefore lower limits.
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

/* A firewall rule that sends packets to the daemon's queues, with its counter. */
struct account_rule {
    uint64_t place; /* hash of family, table and chain, which identifies the chain */
    uint64_t handle;
    uint64_t packets;
    /* true: the rule is in the sluice table, whose counters start at 0; false: its counter may start at any value. */
    bool own;
    bool bypass; /* the rule has the bypass flag */
};

/* One of the daemon's queues. The kernel's counters of a queue start at 0 when it is bound. */
struct account_queue {
    uint32_t queue, port_id; /* port_id: netlink port of the listener; 0: no listener */
    uint32_t enqueued;       /* packets that reached the queue: id_sequence + queue_dropped, modulo 2^32 */
    uint32_t id_sequence;
    uint32_t queue_dropped, user_dropped; /* the drops that events have reported so far */
};

/* The queue account, as it is stored in its file. */
struct queue_account {
    bool valid;       /* the counters have been read; false: the next update starts the account */
    uint64_t read_ns; /* time of the last reading (clock_monotonic_ns()) */
    int64_t counted;  /* packets counted by the rules since the first reading */
    int64_t queued;   /* packets that the queues have received since the first reading */
    int64_t base;     /* lowest upper limit of counted - queued, without the packets in `certain` */
    int64_t last;     /* lower limit of counted - queued at the last reading */
    int64_t certain;  /* packets that certainly never entered a queue, as reported so far */
    unsigned rule_count, queue_count;
    struct account_rule rules[ACCOUNT_RULES];
    struct account_queue queues[CAPTURE_MAX_QUEUES];
};

struct account_reading {
    uint64_t time_ns;
    unsigned rule_count, queue_count;
    struct account_rule rules[ACCOUNT_RULES];
    /* The queues, read before and after the rules; port_id 0: the queue is not bound. */
    struct queue_status before[CAPTURE_MAX_QUEUES], after[CAPTURE_MAX_QUEUES];
};

/* Returns how many packets, not returned by earlier calls, certainly never entered a queue. Sets *unbound to true
 * if one of the queues has no listener, or another listener than at the last reading. */
uint64_t queue_account_update(struct queue_account *account, const struct account_reading *reading, bool *unbound);

/* Called when the rules cannot be compared: the next update starts a new account. Keeps the drops that were
 * reported. */
void queue_account_forget(struct queue_account *account, const struct account_reading *reading);

/* --- File ----------------------------------------------------------------------------------------- */

/* Reads the whole file. Returns 0, -ENODATA when it is empty, -EBADMSG when it is damaged or of another version, or
 * another -errno. */
int queue_account_read(struct queue_account *out, int fd);
/* Writes the whole file. Returns 0, -EIO if only a part was written, or another -errno. */
int queue_account_write(const struct queue_account *account, int fd);

#endif
