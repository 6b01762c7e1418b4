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

struct capture;
struct config;
struct packet;
struct ring;

/* --- queue_age.c ---------------------------------------------------------------------------------- */

enum { QUEUE_AGE_MARKS = 64, QUEUE_AGE_STEPS = 8, QUEUE_AGE_BUCKETS = 32 * QUEUE_AGE_STEPS };

/* Everything up to this id had been queued by then, and nothing behind it. */
struct queue_age_mark {
    uint32_t id;
    uint64_t at_ns;
};

struct queue_age {
    struct queue_age_mark marks[QUEUE_AGE_MARKS]; /* a ring: ids and times grow */
    unsigned first, count;
    bool drained; /* nothing was waiting at the last mark */
};

/* The packets' ages, counted: those of a power of two of microseconds are told apart by eighths of it. */
struct queue_age_counts {
    uint64_t last_ns, max_ns;
    uint64_t packets[QUEUE_AGE_BUCKETS];
};

/* `drained`: no packet was left in the socket. */
void queue_age_mark(struct queue_age *age, uint32_t id, uint64_t at_ns, bool drained);
/* The worker slept for a packet: nothing had been queued before it did. */
void queue_age_slept(struct queue_age *age, uint64_t slept_ns);
/* How long the packet has waited: between two marks by its place among the ids, behind the last one at most since then.
 * 0 when nothing is known. Ids are asked for in their order: marks that are of no use for later ones are forgotten. */
uint64_t queue_age_of(struct queue_age *age, uint32_t id, uint64_t now_ns);
void queue_age_count(struct queue_age_counts *counts, uint64_t age_ns, uint32_t packets);
/* The age that so many thousandths of the packets had at most, an eighth too much perhaps; of those counted since
 * `before` (NULL: of all). 0 when there are none. */
uint64_t queue_age_percentile(const struct queue_age_counts *counts, const struct queue_age_counts *before,
                              unsigned permille);

/* --- overload.c ----------------------------------------------------------------------------------- */

/* Classes of flows that may be shed. */
enum shed_class {
    SHED_ENCRYPTED,   /* their payload is of no use to rules any more: TLS after its handshake */
    SHED_BULK,        /* established, met by no rule, and much has gone by */
    SHED_FILES,       /* established, met by no rule, and in the midst of a large file */
    SHED_ESTABLISHED, /* established, and met by no rule */
    SHED_NEW,         /* that begin now: the exception policy overload.policy says what becomes of them */
    SHED_CLASSES,
};
const char *shed_class_name(enum shed_class class);

struct overload_options {
    bool enabled;
    unsigned fill_permille; /* of the queue, or of its socket's buffer */
    uint64_t age_ns;
    struct shed_limits {
        uint64_t bulk_bytes; /* of both directions */
        uint64_t file_bytes;
    } limits; /* that make a flow bulk, and a file large */
    unsigned class_count;
    uint8_t classes[SHED_CLASSES]; /* enum shed_class, in the order in which they are shed */
};
void overload_options_default(struct overload_options *options);
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
    unsigned class_count; /* of the options' classes, that are shed now */
    uint64_t entered_ns, widened_ns;
    uint64_t old_since_ns;   /* the age has been too high from then on; 0: it is not */
    uint64_t quiet_since_ns; /* below half of what counts as too much from then on; 0: it is not */
    uint64_t times, total_ns;
};
/* What was seen after a batch. Times are monotonic. */
enum overload_change overload_update(struct overload *overload, unsigned fill_permille, uint64_t age_ns,
                                     uint64_t now_ns);
/* Others from now on: what is shed now is found anew. */
void overload_set_options(struct overload *overload, const struct overload_options *options);
/* Bits 1 << enum shed_class of what is shed now: nothing while it is quiet. */
unsigned overload_shedding(const struct overload *overload);

/* Tables with a memcap in which idle entries give way to new ones. */
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

/* From the worker to main. */
struct overload_notice {
    enum overload_change change;
    uint64_t time_ns;
    unsigned fill_permille;
    uint64_t age_ns, duration_ns;
    unsigned class_count, shed_count; /* classes that are configured, and the first of them that are shed now */
    uint8_t classes[SHED_CLASSES];
    uint64_t shed[SHED_CLASSES]; /* flows, since it was entered */
};

struct queue_watch {
    struct queue_age age;
    struct queue_age_counts ages;
    struct overload overload;
    struct ring *notices;        /* owned by the report; NULL: nobody listens */
    bool begun;                  /* what waited at the start has been judged, or should have been */
    uint64_t started_ns;         /* the first receive */
    uint64_t asked_ns;           /* when the worker began to receive; monotonic, as all here */
    uint64_t received_ns;        /* the last batch */
    uint64_t full_batches;       /* as capture counted them before it */
    uint64_t looked_ns;          /* when the kernel was asked for the queue's level */
    uint64_t oldest_ns;          /* age of the last batch's first packet when it was received */
    uint64_t late_ns;            /* its probable age, when the worker got no CPU to receive it; 0: it did */
    unsigned fill_permille;      /* as it was seen last */
    uint64_t shed[SHED_CLASSES]; /* when it was entered */
    uint64_t missed;             /* notices for which there was no room */
    uint64_t packet_budget_ns;   /* 0: packets are not timed */
    uint64_t slow_packets, slowest_ns;
};
/* What is copied for main. */
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
/* After the verdicts, or after a receive without packets: `shed` is how many flows of each class have been shed so far.
 * What is to be shed from now on, as overload_shedding(). */
unsigned queue_watch_update(struct queue_watch *watch, int count, const uint64_t shed[SHED_CLASSES], uint64_t now_ns);

/* A packet took so long. */
void queue_watch_time(struct queue_watch *watch, uint64_t took_ns);

#endif
