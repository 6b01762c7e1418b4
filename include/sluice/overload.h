/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Overload: how long packets wait in a queue, and what a worker does when it cannot keep up.
 *
 *   queue_age.c      how long packets have waited
 *   overload.c       when overload begins and ends, and which classes of flows are shed
 *   load_shedding.c  which flows belong to these classes
 *   queue_watch.c    measures age and level of the queue at each receive of a worker, for both files above
 *
 * Threads: all of it belongs to a worker, which reports changes through a ring.
 */
#ifndef SLUICE_OVERLOAD_H
#define SLUICE_OVERLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

struct capture;
struct packet;
struct ring;

/* --- queue_age.c ---------------------------------------------------------------------------------- */

enum { QUEUE_AGE_MARKS = 64, QUEUE_AGE_STEPS = 8, QUEUE_AGE_BUCKETS = 32 * QUEUE_AGE_STEPS };

/* At the time at_ns, the packets up to this id had been queued, and no packet with a later id. */
struct queue_age_mark {
    uint32_t id;
    uint64_t at_ns;
};

struct queue_age {
    struct queue_age_mark marks[QUEUE_AGE_MARKS]; /* a ring buffer with increasing ids and times */
    unsigned first, count;
    bool drained; /* the queue was empty at the last mark */
};

/* A histogram of ages: eight buckets for each power of two of microseconds. */
struct queue_age_counts {
    uint64_t last_ns, max_ns;
    uint64_t packets[QUEUE_AGE_BUCKETS];
};

/* Adds a mark. `drained`: the queue was empty after the receive. */
void queue_age_mark(struct queue_age *age, uint32_t id, uint64_t at_ns, bool drained);
/* Records that the worker slept for `slept_ns` until a packet arrived. The queue was empty during that time. */
void queue_age_slept(struct queue_age *age, uint64_t slept_ns);
/* Returns how long the packet with this id has waited, in ns. The time at which it was queued is interpolated by id
 * between two marks; a packet after the last mark has waited at most since that mark. Returns 0 if unknown. Ids must
 * increase from call to call, because marks before `id` are removed. */
uint64_t queue_age_of(struct queue_age *age, uint32_t id, uint64_t now_ns);
void queue_age_count(struct queue_age_counts *counts, uint64_t age_ns, uint32_t packets);
/* Returns the age in ns that `permille` thousandths of the packets did not exceed (at most an eighth too high). Only
 * packets counted since the copy `before` are considered; NULL: all packets. Returns 0 when there are none. */
uint64_t queue_age_percentile(const struct queue_age_counts *counts, const struct queue_age_counts *before,
                              unsigned permille);

/* --- overload.c ----------------------------------------------------------------------------------- */

/* Classes of flows that may be shed. */
enum shed_class {
    SHED_ENCRYPTED, /* flows whose payload rules cannot inspect: TLS and SSH after the handshake */
    SHED_BULK,      /* established flows without rule matches that have transferred more than shed_limits.bulk_bytes */
    SHED_FILES, /* established flows without rule matches that transfer a file of more than shed_limits.file_bytes */
    SHED_ESTABLISHED, /* established flows without rule matches */
    SHED_NEW,         /* new flows: the exception policy overload.policy applies to them */
    SHED_CLASSES,
};
const char *shed_class_name(enum shed_class class);

struct overload_options {
    bool enabled;
    unsigned fill_permille; /* level of the queue or of its socket's buffer at which overload begins */
    uint64_t age_ns;        /* age of the oldest packet at which overload begins */
    struct shed_limits {
        uint64_t bulk_bytes; /* bytes of both directions together */
        uint64_t file_bytes;
    } limits; /* a flow with more bytes than bulk_bytes is bulk; a file of more than file_bytes is large */
    unsigned class_count;
    uint8_t classes[SHED_CLASSES]; /* enum shed_class, in the order in which they are shed */
    const char *const *shed;       /* names in overload.shed, from which overload_options_read() computes `classes` */
};
extern const struct setting overload_settings[]; /* of struct overload_options */
void overload_options_read(const struct config *config, struct overload_options *out);

enum overload_change {
    OVERLOAD_SAME,
    OVERLOAD_ENTERED,
    OVERLOAD_WIDENED, /* one more class is shed */
    OVERLOAD_LEFT,
    OVERLOAD_CHANGES,
};

struct overload {
    struct overload_options options;
    bool active;
    unsigned class_count; /* how many of the configured classes are shed now */
    uint64_t entered_ns, widened_ns;
    uint64_t old_since_ns; /* since when the age has been at least options.age_ns; 0: the age is below */
    /* since when level and age have both been below half of their limits; 0: they are not both below */
    uint64_t quiet_since_ns;
    uint64_t times, total_ns;
};
/* Updates the state after a batch and returns what changed. Times are monotonic. */
enum overload_change overload_update(struct overload *overload, unsigned fill_permille, uint64_t age_ns,
                                     uint64_t now_ns);
/* Replaces the options, and determines again which classes are shed now. */
void overload_set_options(struct overload *overload, const struct overload_options *options);
/* Returns bits 1 << enum shed_class of the classes that are shed now: none while `quiet_since_ns` is set. */
unsigned overload_shedding(const struct overload *overload);

/* Tables with a memcap that evict idle entries for new ones. */
enum eviction_table {
    EVICTION_APP,
    EVICTION_FLOW,
    EVICTION_STREAM,
    EVICTION_REASSEMBLY,
    EVICTION_DEFRAG,
    EVICTION_HOST,
    EVICTION_THRESHOLD,
    EVICTION_TABLES,
};

/* --- queue_watch.c -------------------------------------------------------------------------------- */

/* A change of the overload state, which a worker reports to the main thread. */
struct overload_notice {
    enum overload_change change;
    uint64_t time_ns;
    unsigned fill_permille;
    uint64_t age_ns, duration_ns;
    unsigned class_count, shed_count; /* configured classes, and how many of the first ones are shed now */
    uint8_t classes[SHED_CLASSES];
    uint64_t shed[SHED_CLASSES]; /* flows of each class that were shed since overload began */
};

struct queue_watch {
    struct queue_age age;
    struct queue_age_counts ages;
    struct overload overload;
    struct ring *notices; /* ring for notices to the main thread; borrowed from its reader; NULL: none */
    bool begun; /* true: packets that waited in the queue at the start have been inspected, or a few seconds have
                   passed; false: overload is not evaluated yet */
    uint64_t started_ns;   /* time of the first receive */
    uint64_t receive_ns;   /* start of the current receive; monotonic, as all times here */
    uint64_t received_ns;  /* time at which the last batch was received */
    uint64_t full_batches; /* the capture's counter of full batches at the last receive */
    uint64_t level_ns;     /* time at which the level of the queue was last read from the kernel */
    uint64_t oldest_ns;    /* age of the last batch's first packet when it was received */
    uint64_t late_ns; /* estimated age of that packet if it waited because the worker got no CPU time; otherwise 0. The
                         histogram counts the higher of late_ns and oldest_ns */
    unsigned fill_permille;      /* last level of the queue or of its socket's buffer */
    uint64_t shed[SHED_CLASSES]; /* values of the caller's counters of shed flows when overload began */
    uint64_t missed;             /* number of notices that were lost because `notices` was full or NULL */
    uint64_t packet_budget_ns;   /* inspection time above which a packet counts as slow; 0: packets are not timed */
    uint64_t slow_packets, slowest_ns;
};
/* Counters that the worker copies for the main thread. */
struct queue_watch_counters {
    struct queue_age_counts ages;
    unsigned fill_permille;
    unsigned shedding; /* result of overload_shedding(): bits 1 << enum shed_class */
    bool overloaded;
    uint64_t times, total_ns;
    uint64_t slow_packets, slowest_ns; /* packets over the budget, and the longest inspection time */
};
void queue_watch_copy(const struct queue_watch *watch, struct queue_watch_counters *out);
/* queue_watch_receiving() is called before each receive, queue_watch_received() after it with its result (`count`
 * packets). */
void queue_watch_receiving(struct queue_watch *watch, uint64_t now_ns);
void queue_watch_received(struct queue_watch *watch, struct capture *capture, struct packet *const *batch, int count,
                          uint64_t now_ns);
/* Called after the verdicts, or after a receive without packets. `shed`: flows of each class that were shed so far.
 * Returns the classes to shed from now on, like overload_shedding(). */
unsigned queue_watch_update(struct queue_watch *watch, int count, const uint64_t shed[SHED_CLASSES], uint64_t now_ns);

/* Records the inspection time of a packet. */
void queue_watch_time(struct queue_watch *watch, uint64_t took_ns);

#endif
