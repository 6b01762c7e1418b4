/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lifeline connects keeper and engine: a channel of small messages, whose end tells that the other process has
 * died; and shared memory that outlives the engine, with heartbeats, the packet that each worker holds, and the history
 * of engines.
 *
 * A bug in a parser may let a packet take over the engine, and the keeper has more privileges. So the keeper trusts
 * nothing that an engine can write: sizes and places are in its own struct lifeline, its counters and events in its own
 * struct supervisor_record, of which engines get a copy; each number of the engine is read once and checked. The memory
 * file is sealed, so that nobody can shorten it, which would end the keeper by SIGBUS. Each engine gets new memory.
 *
 * Threads:   the channel belongs to the main thread on both sides. A worker writes its own struct worker_heartbeat; the
 * keeper's part is written by the keeper. All that is shared is atomic. Ownership: struct lifeline is the keeper's; an
 * engine inherits the mapping by the fork.
 */
#ifndef SLUICE_LIFELINE_H
#define SLUICE_LIFELINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHANNEL_VERSION = 1,       /* of messages: after an upgrade the keeper may be newer than its engine */
    ENGINE_MEMORY_VERSION = 2, /* of the memory */
    ENGINE_MEMORY_MAX_WORKERS = 256,
    CHANNEL_TEXT_SIZE = 512,
    ENGINE_EVENTS = 32,
    ENGINE_EVENT_PATH_SIZE = 256,
    CHANNEL_SHARED_FILE = 0xffff, /* value of CHANNEL_FILE: what all workers share */
};

/* --- The channel ---------------------------------------------------------------------------------- */

enum channel_kind {
    CHANNEL_NOTHING,
    /* Of the engine. */
    CHANNEL_BIND,      /* all is prepared: the queues may be bound */
    CHANNEL_READY,     /* the first packet may come, and the table is there */
    CHANNEL_RELOADING, /* a reload begins */
    CHANNEL_RELOADED,  /* value: 0, or it failed and all stays as it was */
    CHANNEL_STOPPING,  /* no more packets are sent to the queues, and those that waited are judged: the sockets are not
                           needed any more */
    CHANNEL_FAILED,    /* the engine ends; text says why */
    CHANNEL_UPGRADE,   /* somebody asks for a new engine, of the program as it lies there now */
    CHANNEL_FILE,      /* with a file, of a worker (value) or CHANNEL_SHARED_FILE: what it knows of traffic; also to the
                           next engine */
    CHANNEL_HANDED_OVER, /* all files are there, and no worker runs any more */
    /* Of the keeper. */
    CHANNEL_BOUND,     /* value: 0 or -errno, then text says why */
    CHANNEL_SIGNAL,    /* value: SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 */
    CHANNEL_HAND_OVER, /* the next engine is prepared: stop between two packets, and tell what is known of traffic */
    CHANNEL_REFUSED,   /* no new engine takes over; text says why */
    /* Of later versions, with numbers that others do not know. */
    CHANNEL_OPEN_EVENTS, /* of the engine, which can't open the file of events any more: open it */
    CHANNEL_EVENTS_FILE, /* of the keeper: with the file, or value is -errno and text says why */
    CHANNEL_CLOSED,      /* is not sent: the other end has died */
    CHANNEL_INVALID,     /* is not sent: what came is no message, or of another version */
};

struct channel_message {
    uint16_t version, kind; /* enum channel_kind */
    int32_t value;
    char text[CHANNEL_TEXT_SIZE];
};

/* Two ends. 0 or -errno. */
int channel_open_pair(int ends[2]);
/* `text`: NULL is none. 0, or -errno: -EPIPE when the other one has died. */
int channel_send(int fd, enum channel_kind kind, int32_t value, const char *text);
/* With a descriptor, which stays the caller's. */
int channel_send_file(int fd, enum channel_kind kind, int32_t value, int file);
/* Sends to this end do not block any more: they fail with -EAGAIN when the other side does not read. */
void channel_set_nonblocking(int fd);
/* Waits up to `wait_ms` (-1: for ever). The kind of the message; CHANNEL_NOTHING after that time, CHANNEL_CLOSED,
 * CHANNEL_INVALID. Text has no control characters. */
enum channel_kind channel_receive(int fd, struct channel_message *out, int wait_ms);
/* The same; *file is what came with it, the caller's, or -1. Descriptors in other messages are closed. */
enum channel_kind channel_receive_file(int fd, struct channel_message *out, int *file, int wait_ms);

/* --- The memory ----------------------------------------------------------------------------------- */

enum heartbeat_state { HEARTBEAT_IDLE, HEARTBEAT_RUNNING, HEARTBEAT_ENDED };

/* A worker's; a cache line of its own. */
struct worker_heartbeat {
    _Alignas(64) _Atomic uint64_t epoch; /* grows with every batch, and when there is none, too */
    _Atomic uint32_t state;              /* enum heartbeat_state */
    _Atomic uint32_t holds;              /* it is busy with a packet: the one below */
    _Atomic uint32_t id;                 /* in the queue */
    _Atomic uint32_t length;             /* of the packet */
    _Atomic uint64_t offset;             /* in the slots of this worker */
    _Atomic uint32_t conntrack;          /* its rules ask for the kernel's conntrack: when the queue is bound */
    _Atomic uint32_t mode;               /* the configured ips.mode, as the engine writes it; 0: none yet */
};

/* What happened to an engine, for the next one to tell. */
enum engine_event_kind { ENGINE_EVENT_RESTART, ENGINE_EVENT_QUARANTINE, ENGINE_EVENT_HANDOVER };
struct engine_event {
    enum engine_event_kind kind;
    uint64_t time_ns;                  /* realtime */
    int signal;                        /* that ended it; 0: it ended by itself, with... */
    int code;                          /* ... this exit code */
    bool hung;                         /* a worker stood still, and the keeper ended it */
    unsigned queue;                    /* where the packet was that it had in hand, or stood still */
    uint32_t repeated;                 /* packets that are judged anew */
    uint32_t length;                   /* of the packet in quarantine */
    char path[ENGINE_EVENT_PATH_SIZE]; /* of its file; "": none could be written */
};

/* The keeper's counters and events. They are in its own memory; engines get a copy. */
struct supervisor_record {
    uint64_t engines;   /* started; the first one is number 1 */
    uint64_t restarts;  /* after a death */
    uint64_t handovers; /* to an engine that was prepared beside the running one */
    uint64_t hangs;     /* deaths because a worker hung */
    uint64_t repeated, quarantined;
    uint32_t flags[ENGINE_MEMORY_MAX_WORKERS]; /* NFQA_CFG_F_* of the queues, when they are bound */
    uint64_t event_count;
    struct engine_event events[ENGINE_EVENTS]; /* number N at N % ENGINE_EVENTS; the last ENGINE_EVENTS are there */

    /* State that engines leave for the next one. */
    uint64_t told; /* events that an engine has reported */
    uint64_t mode_override;
    uint32_t modes[ENGINE_MEMORY_MAX_WORKERS];
    bool reload_wanted;
};

/* The memory that keeper and engine share. The engine can write to all of it; the keeper reads only the engine's part.
 */
struct engine_memory {
    uint32_t version, workers;
    size_t slots_at, slots_size; /* where the slots of the workers begin, and the size of each worker's */

    /* Copies of the keeper's record. */
    _Atomic uint64_t engines, restarts, handovers, hangs, repeated, quarantined;
    _Atomic uint32_t flags[ENGINE_MEMORY_MAX_WORKERS];
    uint64_t event_count; /* written before the engine gets the queues */
    struct engine_event events[ENGINE_EVENTS];

    /* The engine's. */
    _Atomic uint32_t reload_wanted; /* an engine that died had other settings than the keeper */
    _Atomic uint64_t told;          /* events */
    _Atomic int32_t crashed_worker; /* whose thread a signal is about to end; -1: none */
    _Atomic uint64_t mode_override; /* of `sluice mode`, as the engine writes it; 0: none */
    struct worker_heartbeat worker[ENGINE_MEMORY_MAX_WORKERS];
};

uint8_t *engine_memory_slots(struct engine_memory *memory, unsigned worker); /* of the engine */

/* The keeper's handle. */
struct memory_map {
    struct engine_memory *memory; /* NULL: none */
    int fd;
    size_t size, slots_at, slots_size;
    unsigned workers;
};

/* Address space; pages are taken when they are touched. 0 or -errno. */
int engine_memory_open(struct memory_map *out, unsigned workers, size_t slots_size);
/* Maps the memory file of the keeper before this one, which belongs to the lifeline then. 0, or -errno: -EPROTO when it
 * is of another version or its sizes are not possible, -EPERM when it can be shortened. */
int engine_memory_adopt(struct memory_map *out, int fd);
void engine_memory_close(struct memory_map *memory_map); /* one without memory is allowed */
/* Copies the keeper's part of the record to the memory. */
void engine_memory_publish(const struct memory_map *memory_map, const struct supervisor_record *record);
/* And what engines before left for the next one. */
void engine_memory_restore(const struct memory_map *memory_map, const struct supervisor_record *record);
/* Reads what the engine leaves for the next one. */
void engine_memory_collect(const struct memory_map *memory_map, struct supervisor_record *record);

/* Copies the packet that a worker holds to `buffer`, where `out` has it. False when it holds none, or what it says of
 * it is not possible. */
struct current_packet {
    const uint8_t *bytes;
    uint32_t length, id;
};
bool engine_memory_copy_packet(const struct memory_map *memory_map, unsigned worker, uint8_t *buffer, size_t size,
                               struct current_packet *out);

/* Of the worker: this packet is looked at now; it lies in the worker's slots. */
static inline void heartbeat_set_packet(struct worker_heartbeat *worker, uint64_t offset, uint32_t length, uint32_t id)
{
    atomic_store_explicit(&worker->offset, offset, memory_order_relaxed);
    atomic_store_explicit(&worker->length, length, memory_order_relaxed);
    atomic_store_explicit(&worker->id, id, memory_order_relaxed);
    atomic_store_explicit(&worker->holds, 1, memory_order_release);
}

static inline void heartbeat_clear_packet(struct worker_heartbeat *worker)
{
    atomic_store_explicit(&worker->holds, 0, memory_order_release);
}

static inline void heartbeat_beat(struct worker_heartbeat *worker)
{
    atomic_fetch_add_explicit(&worker->epoch, 1, memory_order_relaxed);
}

#endif
