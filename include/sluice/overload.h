/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Overload: how long packets wait in a queue, and what a worker does when it cannot keep up.
 *
 *   queue_age.c      how long packets have waited
 *   overload.c       when overload begins and ends, and which classes of flows are shed
 *   load_shedding.c  which flows belong to these classes
 *   queue_watch.c    feeds both from the receives of a worker
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

/* All packets up to this id had been queued at that time, and no later ones. */
struct queue_age_mark {
    uint32_t id;
    uint64_t at_ns;
};

struct queue_age {
    struct queue_age_mark marks[QUEUE_AGE_MARKS]; /* a ring with increasing ids and times */
    unsigned first, count;
    bool drained; /* the queue was empty at the last mark */
};

/* A histogram of ages: eight buckets for each power of two of microseconds. */
struct queue_age_counts {
    uint64_t last_ns, max_ns;
    uint64_t packets[QUEUE_AGE_BUCKETS];
};

/* Adds a mark. `drained`: no packet was left in the socket. */
void queue_age_mark(struct queue_age *age, uint32_t id, uint64_t at_ns, bool drained);
/* Records that the worker slept until a packet arrived: the queue was empty before. */
void queue_age_slept(struct queue_age *age, uint64_t slept_ns);
/* Returns how long the packet has waited: interpolated between two marks by its id, after the last mark the time since
 * then at most, 0 if unknown. Called with increasing ids: older marks are removed. */
uint64_t queue_age_of(struct queue_age *age, uint32_t id, uint64_t now_ns);
void queue_age_count(struct queue_age_counts *counts, uint64_t age_ns, uint32_t packets);
/* Returns a percentile in thousandths, up to an eighth too high, of the packets counted since `before` (NULL: of all);
 * 0 when there are none. */
uint64_t queue_age_percentile(const struct queue_age_counts *counts, const struct queue_age_counts *before,
                              unsigned permille);

/* --- overload.c ----------------------------------------------------------------------------------- */

/* Classes of flows that may be shed. */
enum shed_class {
    SHED_ENCRYPTED,   /* rules cannot inspect their payload: TLS after its handshake */
    SHED_BULK,        /* established, without rule matches, and large */
    SHED_FILES,       /* established, without rule matches, and within a large file */
    SHED_ESTABLISHED, /* established, without rule matches */
    SHED_NEW,         /* new ones: the exception policy overload.policy applies to them */
    SHED_CLASSES,
};
const char *shed_class_name(enum shed_class class);

struct overload_options {
    bool enabled;
    unsigned fill_permille; /* level of the queue or of its socket's buffer at which overload begins */
    uint64_t age_ns;        /* age of packets at which it begins */
    struct shed_limits {
        uint64_t bulk_bytes; /* of both directions */
        uint64_t file_bytes;
    } limits; /* from which on a flow is bulk, and a file large */
    unsigned class_count;
    uint8_t classes[SHED_CLASSES]; /* enum shed_class, in the order in which they are shed */
    const char *const *shed;       /* overload.shed, from which overload_options_read() makes the classes */
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
    uint64_t old_since_ns;   /* since when the age has been too high; 0: it is not */
    uint64_t quiet_since_ns; /* since when level and age have been below half of their limits; 0: they are not */
    uint64_t times, total_ns;
};
/* Updates the state after a batch. Times are monotonic. */
enum overload_change overload_update(struct overload *overload, unsigned fill_permille, uint64_t age_ns,
                                     uint64_t now_ns);
/* Sets other options; the classes that are shed now are determined again. */
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

/* A notice of a worker to the main thread. */
struct overload_notice {
    enum overload_change change;
    uint64_t time_ns;
    unsigned fill_permille;
    uint64_t age_ns, duration_ns;
    unsigned class_count, shed_count; /* configured classes, and how many of the first ones are shed now */
    uint8_t classes[SHED_CLASSES];
    uint64_t shed[SHED_CLASSES]; /* flows since overload began */
};

struct queue_watch {
    struct queue_age age;
    struct queue_age_counts ages;
    struct overload overload;
    struct ring *notices;        /* owned by the report; NULL: none */
    bool begun;                  /* packets that waited at the start have been inspected, or START_NS has passed */
    uint64_t started_ns;         /* the first receive */
    uint64_t receive_ns;         /* start of the current receive; monotonic, as all times here */
    uint64_t received_ns;        /* the last batch */
    uint64_t full_batches;       /* counter of the capture before it */
    uint64_t level_ns;           /* when the level of the queue was read from the kernel */
    uint64_t oldest_ns;          /* age of the last batch's first packet when it was received */
    uint64_t late_ns;            /* its probable age if the worker got no CPU to receive it; otherwise 0 */
    unsigned fill_permille;      /* the last level */
    uint64_t shed[SHED_CLASSES]; /* counters at the beginning of overload */
    uint64_t missed;             /* notices that were lost because the ring was full */
    uint64_t packet_budget_ns;   /* 0: packets are not timed */
    uint64_t slow_packets, slowest_ns;
};
/* Counters that the worker copies for the main thread. */
struct queue_watch_counters {
    struct queue_age_counts ages;
    unsigned fill_permille;
    unsigned shedding; /* as overload_shedding() */
    bool overloaded;
    uint64_t times, total_ns;
    uint64_t slow_packets, slowest_ns; /* over the budget */
};
void queue_watch_copy(const struct queue_watch *watch, struct queue_watch_counters *out);
/* Before a receive, and after it when there were packets. */
void queue_watch_receiving(struct queue_watch *watch, uint64_t now_ns);
void queue_watch_received(struct queue_watch *watch, struct capture *capture, struct packet *const *batch, int count,
                          uint64_t now_ns);
/* Called after the verdicts, or after a receive without packets. `shed`: flows of each class that were shed so far.
 * Returns the classes to shed from now on, like overload_shedding(). */
unsigned queue_watch_update(struct queue_watch *watch, int count, const uint64_t shed[SHED_CLASSES], uint64_t now_ns);

/* Records the inspection time of a packet. */
void queue_watch_time(struct queue_watch *watch, uint64_t took_ns);

#endif
