/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lifeline: what keeper and engine know of each other. A channel of small messages between the two, whose end says that the other
 * one has died; and memory that both have and that outlives every engine: heartbeats, what each worker has in hand, and what has
 * happened to engines.
 *
 * The keeper reads what an engine wrote that may have gone mad: every number is checked where it is used.
 *
 * Threads:   the channel belongs to main on both sides. A worker writes its own struct lifeline_worker; the keeper's part is written by
 *            the keeper. All that is shared is atomic.
 * Ownership: the memory is the keeper's, and every engine has it from the fork on.
 */
#ifndef SLUICE_LIFELINE_H
#define SLUICE_LIFELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIFELINE_VERSION = 1, /* of messages and memory: an engine that is newer than its keeper has to be told */
    LIFELINE_MAX_WORKERS = 256,
    LIFELINE_TEXT_SIZE = 512,
    LIFELINE_EVENTS = 32,
    LIFELINE_PATH_SIZE = 256,
    LIFELINE_SHARED_FILE = 0xffff, /* value of LIFELINE_FILE: what all workers share */
};

/* --- The channel ------------------------------------------------------------------------------------------------------------- */

enum lifeline_kind {
    LIFELINE_NOTHING,
    /* Of the engine. */
    LIFELINE_BIND,      /* all is prepared: the queues may be bound */
    LIFELINE_READY,     /* the first packet may come, and the table is there */
    LIFELINE_RELOADING, /* a reload begins */
    LIFELINE_RELOADED,  /* value: 0, or it failed and all stays as it was */
    LIFELINE_STOPPING, /* no more packets are sent to the queues, and those that waited are judged: the sockets are not needed any more */
    LIFELINE_FAILED,  /* the engine ends; text says why */
    LIFELINE_UPGRADE, /* somebody asks for a new engine, of the program as it lies there now */
    LIFELINE_FILE, /* with a file, of a worker (value) or LIFELINE_SHARED_FILE: what it knows of traffic; also to the next engine */
    LIFELINE_HANDED, /* all files are there, and no worker runs any more */
    /* Of the keeper. */
    LIFELINE_BOUND,     /* value: 0 or -errno, then text says why */
    LIFELINE_SIGNAL,    /* value: SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 */
    LIFELINE_HAND_OVER, /* the next engine is prepared: stop between two packets, and tell what is known of traffic */
    LIFELINE_REFUSED,   /* no new engine takes over; text says why */
    /* Of later versions, with numbers that others do not know. */
    LIFELINE_WANT_EVENTS, /* of the engine, which can't open the file of events any more: open it */
    LIFELINE_EVENTS_FILE, /* of the keeper: with the file, or value is -errno and text says why */
    LIFELINE_GONE,        /* is not sent: the other end has died */
};

struct lifeline_message {
    uint16_t version, kind; /* enum lifeline_kind */
    int32_t value;
    char text[LIFELINE_TEXT_SIZE];
};

/* Two ends. 0 or -errno. */
int lifeline_pair(int ends[2]);
/* `text`: NULL is none. 0, or -errno: -EPIPE when the other one has died. */
int lifeline_send(int fd, enum lifeline_kind kind, int32_t value, const char *text);
/* With a descriptor, which stays the caller's. */
int lifeline_send_file(int fd, enum lifeline_kind kind, int32_t value, int file);
/* Waits up to `wait_ms` (-1: for ever). The kind of what came; LIFELINE_NOTHING in time, LIFELINE_GONE. What is of another version, or
 * no message, is LIFELINE_NOTHING. */
enum lifeline_kind lifeline_receive(int fd, struct lifeline_message *out, int wait_ms);
/* The same; *file is what came with it, the caller's, or -1. */
enum lifeline_kind lifeline_receive_file(int fd, struct lifeline_message *out, int *file, int wait_ms);

/* --- The memory -------------------------------------------------------------------------------------------------------------- */

enum lifeline_state { LIFELINE_IDLE, LIFELINE_RUNS, LIFELINE_ENDED };

/* A worker's; a cache line of its own. */
struct lifeline_worker {
    _Alignas(64) _Atomic uint64_t epoch; /* grows with every batch, and when there is none, too */
    _Atomic uint32_t state;              /* enum lifeline_state */
    _Atomic uint32_t holds;              /* it is busy with a packet: the one below */
    _Atomic uint32_t id;                 /* in the queue */
    _Atomic uint32_t length;             /* of the packet */
    _Atomic uint64_t offset;             /* in the slots of this worker */
    _Atomic uint32_t conntrack;          /* its rules ask for the kernel's conntrack: when the queue is bound */
    _Atomic uint32_t mode;               /* the configured ips.mode, as the engine writes it; 0: none yet */
};

/* What happened to an engine, for the next one to tell. */
enum lifeline_event_kind { LIFELINE_EVENT_RESTART, LIFELINE_EVENT_QUARANTINE, LIFELINE_EVENT_HANDOVER };
struct lifeline_event {
    enum lifeline_event_kind kind;
    uint64_t time_ns;              /* realtime */
    int signal;                    /* that ended it; 0: it ended by itself, with... */
    int code;                      /* ... this exit code */
    bool hung;                     /* a worker stood still, and the keeper ended it */
    unsigned queue;                /* where the packet was that it had in hand, or stood still */
    uint32_t repeated;             /* packets that are judged anew */
    uint32_t length;               /* of the packet in quarantine */
    char path[LIFELINE_PATH_SIZE]; /* of its file; "": none could be written */
};

struct lifeline_memory {
    uint32_t version, workers;
    size_t slots_at, slots_size; /* where the workers' slots begin, and how much each has */
    size_t size;
    int fd; /* the memory as a file, of this process */

    /* The keeper's. */
    _Atomic uint64_t engines;   /* begun; the first one is number 1 */
    _Atomic uint64_t restarts;  /* after a death */
    _Atomic uint64_t handovers; /* to an engine that was prepared aside */
    _Atomic uint64_t hangs;     /* of these, those that stood still */
    _Atomic uint64_t repeated, quarantined;
    _Atomic uint32_t reload_wanted;                /* an engine that died had other settings than the keeper */
    _Atomic uint32_t flags[LIFELINE_MAX_WORKERS];  /* NFQA_CFG_F_* of the queues, when they are bound */
    uint64_t event_count;                          /* written between two engines; the last LIFELINE_EVENTS are there */
    struct lifeline_event events[LIFELINE_EVENTS]; /* number N at N % LIFELINE_EVENTS */

    /* The engine's. */
    _Atomic uint64_t told;          /* events */
    _Atomic int32_t crashed_worker; /* whose thread a signal is about to end; -1: none */
    _Atomic uint64_t mode_override; /* of `sluice mode`, as the engine writes it; 0: none */
    struct lifeline_worker worker[LIFELINE_MAX_WORKERS];
};

/* Address space; pages are taken when they are touched. NULL when there is none. */
struct lifeline_memory *lifeline_memory_new(unsigned workers, size_t slots_size);
/* That of a keeper before this one, by its file, which is the memory's then. NULL: it is of another version. */
struct lifeline_memory *lifeline_memory_map(int fd);
/* The keeper's part. */
void lifeline_memory_carry(struct lifeline_memory *to, const struct lifeline_memory *from);
void lifeline_memory_free(struct lifeline_memory *memory); /* NULL is allowed */
uint8_t *lifeline_slots(struct lifeline_memory *memory, unsigned worker);
/* Before a new engine: nobody holds anything, nothing runs. */
void lifeline_memory_reset(struct lifeline_memory *memory);

/* The packet that a worker holds, lent as long as no engine runs; false when it holds none. */
struct lifeline_packet {
    const uint8_t *bytes;
    uint32_t length, id;
};
bool lifeline_held(const struct lifeline_memory *memory, unsigned worker, struct lifeline_packet *out);

/* Of the worker: this packet is looked at now; it lies in the worker's slots. */
static inline void lifeline_hold(struct lifeline_worker *worker, uint64_t offset, uint32_t length, uint32_t id)
{
    atomic_store_explicit(&worker->offset, offset, memory_order_relaxed);
    atomic_store_explicit(&worker->length, length, memory_order_relaxed);
    atomic_store_explicit(&worker->id, id, memory_order_relaxed);
    atomic_store_explicit(&worker->holds, 1, memory_order_release);
}

static inline void lifeline_let_go(struct lifeline_worker *worker)
{
    atomic_store_explicit(&worker->holds, 0, memory_order_release);
}

static inline void lifeline_beat(struct lifeline_worker *worker)
{
    atomic_fetch_add_explicit(&worker->epoch, 1, memory_order_relaxed);
}

#endif
