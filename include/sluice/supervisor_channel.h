/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communication between supervisor and engine: a channel (socket pair) for small messages, which closes when one of the
 * processes dies, and memory that outlives the engine, with the heartbeat and the current packet of each worker and the
 * history of engines.
 *
 * A bug in a parser may let a packet take over the engine, and the supervisor has more privileges. So the supervisor
 * does not trust any data that an engine can write. It keeps sizes and offsets in its own struct memory_map, and
 * counters and events in its own struct supervisor_record, of which engines get a copy; it reads each number of the
 * engine once and checks it. The memory file is sealed: if an engine could truncate it, the supervisor would die of
 * SIGBUS. Each engine gets new memory.
 *
 * Threads:   the main thread of each side uses the channel. Each worker writes its own struct worker_heartbeat. All
 *            fields that both processes access while an engine runs are atomic.
 * Ownership: the supervisor owns struct memory_map; an engine inherits the mapping by fork().
 */
#ifndef SLUICE_SUPERVISOR_CHANNEL_H
#define SLUICE_SUPERVISOR_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHANNEL_VERSION = 1, /* version of the messages; it is checked because after an upgrade the supervisor may be newer
                            than its engine */
    ENGINE_MEMORY_VERSION = 2, /* version of struct engine_memory */
    ENGINE_MEMORY_MAX_WORKERS = 256,
    CHANNEL_TEXT_SIZE = 512,
    ENGINE_EVENTS = 32,
    ENGINE_EVENT_PATH_SIZE = 256,
    CHANNEL_SHARED_FILE = 0xffff, /* `value` of a CHANNEL_FILE with the state that all workers share */
};

/* --- Channel -------------------------------------------------------------------------------------- */

enum channel_kind {
    CHANNEL_NOTHING,
    /* Sent by the engine. */
    CHANNEL_BIND,        /* the engine is prepared; the supervisor binds the queues and answers with CHANNEL_BOUND */
    CHANNEL_READY,       /* workers run and the sluice table is installed */
    CHANNEL_RELOADING,   /* a reload starts */
    CHANNEL_RELOADED,    /* value: 0, or the -errno of a failed reload, which changed nothing */
    CHANNEL_STOPPING,    /* the queues are detached and empty: the engine no longer needs the sockets */
    CHANNEL_FAILED,      /* the engine exits; text is the reason */
    CHANNEL_UPGRADE,     /* a client requests that the installed program replace the running one */
    CHANNEL_FILE,        /* with a descriptor: file with the transferred state of the worker whose index is `value`, or
                            CHANNEL_SHARED_FILE; sent in both directions */
    CHANNEL_HANDED_OVER, /* all files are sent, and all workers have stopped */
    /* Sent by the supervisor. */
    CHANNEL_BOUND,     /* answer to CHANNEL_BIND. value 0: the queues are bound; otherwise it is -errno, and text is the
                          reason */
    CHANNEL_SIGNAL,    /* the supervisor forwards a signal; value: SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2 */
    CHANNEL_HAND_OVER, /* the next engine is ready: the engine stops between two packets and sends the state of flows
                          and other traffic (CHANNEL_FILE) */
    CHANNEL_REFUSED,   /* the requested upgrade failed; text is the reason */
    /* These kinds were added later. Programs that do not know them ignore them. */
    CHANNEL_OPEN_EVENTS, /* from the engine: its sandbox prevents it from opening the event file; open it */
    CHANNEL_EVENTS_FILE, /* from the supervisor: answer to CHANNEL_OPEN_EVENTS with the descriptor of the file, or value
                            is -errno and text is the reason */
    CHANNEL_CLOSED,      /* not sent: the other process has died */
    CHANNEL_INVALID,     /* not sent: the received data is not a message, or has another version */
};

struct channel_message {
    uint16_t version, kind; /* enum channel_kind */
    int32_t value;
    char text[CHANNEL_TEXT_SIZE];
};

/* Creates a channel and stores the descriptors of both ends. Returns 0 or -errno. */
int channel_open_pair(int ends[2]);
/* Sends a message; `text` may be NULL. 0 or -errno: -EPIPE when the other process has died. */
int channel_send(int fd, enum channel_kind kind, int32_t value, const char *text);
/* Sends a message with a descriptor, which the caller still owns. */
int channel_send_file(int fd, enum channel_kind kind, int32_t value, int file);
/* Makes sending on this end fail with -EAGAIN instead of blocking when the other process does not read. */
void channel_set_nonblocking(int fd);
/* Waits up to `wait_ms` milliseconds (-1: without limit) for a message. Returns its kind, CHANNEL_NOTHING if none has
 * arrived in that time, CHANNEL_CLOSED or CHANNEL_INVALID. Control characters in the text are replaced. */
enum channel_kind channel_receive(int fd, struct channel_message *out, int wait_ms);
/* Receives a message like channel_receive(), and sets *file to its descriptor, which the caller closes, or to -1.
 * (channel_receive() closes a received descriptor.) */
enum channel_kind channel_receive_file(int fd, struct channel_message *out, int *file, int wait_ms);

/* --- Heartbeat ------------------------------------------------------------------------------------ */

enum heartbeat_state { HEARTBEAT_IDLE, HEARTBEAT_RUNNING, HEARTBEAT_ENDED };

/* State that a worker publishes for the supervisor, in a separate cache line. */
struct worker_heartbeat {
    /* the heartbeat: incremented with each batch, and regularly while no packets arrive */
    _Alignas(64) _Atomic uint64_t epoch;
    _Atomic uint32_t state; /* enum heartbeat_state */
    /* 1: the worker inspects the packet that the next three fields describe; 0: it inspects none */
    _Atomic uint32_t has_packet;
    _Atomic uint32_t id;     /* the kernel's id of the packet in the queue */
    _Atomic uint32_t length; /* length of the packet in bytes */
    _Atomic uint64_t offset; /* offset of the packet in the packet slots of this worker */
    /* 1: rules need conntrack data, so the supervisor requests it when it binds the queue */
    _Atomic uint32_t conntrack;
    _Atomic uint32_t mode; /* configured ips.mode of the queue in the engine's encoding (mode.c); 0: not set yet */
};

/* --- Memory --------------------------------------------------------------------------------------- */

/* An event in the life of an engine, which the next engine reports. */
enum engine_event_kind { ENGINE_EVENT_RESTART, ENGINE_EVENT_QUARANTINE, ENGINE_EVENT_HANDOVER };
struct engine_event {
    enum engine_event_kind kind;
    uint64_t time_ns;  /* realtime */
    int signal;        /* the signal that killed the engine; 0: it exited */
    int code;          /* exit code, if signal is 0 */
    bool hung;         /* a worker was hung, and the supervisor killed the engine */
    unsigned queue;    /* queue of the packet that was inspected when the engine died, or of the hung worker */
    uint32_t repeated; /* number of packets that were queued again */
    uint32_t length;   /* length of the packet in quarantine, in bytes */
    char path[ENGINE_EVENT_PATH_SIZE]; /* path of the file with the packet in quarantine; "": it could not be written */
};

/* Counters and events, in the private memory of the supervisor; engines get a copy. */
struct supervisor_record {
    uint64_t engines;   /* number of engines started */
    uint64_t restarts;  /* engines started because the previous one died */
    uint64_t handovers; /* engine hand-overs: the next engine started while the previous one ran */
    uint64_t hangs;     /* engines killed because a worker hung */
    uint64_t repeated, quarantined;
    uint32_t flags[ENGINE_MEMORY_MAX_WORKERS]; /* NFQA_CFG_F_* with which each queue was bound */
    uint64_t event_count;
    struct engine_event events[ENGINE_EVENTS]; /* a ring: event N at N % ENGINE_EVENTS */

    /* State that an engine leaves in its memory for the next engine. */
    uint64_t reported; /* number of events that engines have reported */
    uint64_t mode_override;
    uint32_t modes[ENGINE_MEMORY_MAX_WORKERS];
    bool reload_wanted;
};

/* The memory that supervisor and engine share. The engine can write to all of it. The supervisor reads only the part
 * that is marked "Written by the engine" and, in engine_memory_adopt(), the sizes at the start, which it checks. */
struct engine_memory {
    uint32_t version, workers;
    size_t slots_at, slots_size; /* offset of the packet slots, and their size for each worker */

    /* A copy of the supervisor's record. */
    _Atomic uint64_t engines, restarts, handovers, hangs, repeated, quarantined;
    _Atomic uint32_t flags[ENGINE_MEMORY_MAX_WORKERS];
    uint64_t event_count; /* number of events so far; written before the queues are bound */
    struct engine_event events[ENGINE_EVENTS];

    /* Written by the engine. */
    _Atomic uint32_t reload_wanted; /* 1: the engine has reloaded the configuration. Its settings are newer than those
                                       of the supervisor, so the next engine must reload, too */
    _Atomic uint64_t reported;      /* number of events that engines have reported */
    _Atomic int32_t crashed_worker; /* index of the worker whose thread received a fatal signal; -1: none */
    _Atomic uint64_t mode_override; /* mode set by `sluice mode`, in the engine's encoding (mode.c); 0: none */
    struct worker_heartbeat worker[ENGINE_MEMORY_MAX_WORKERS];
};

/* Returns the packet slots of a worker: the memory into which the engine receives packets. */
uint8_t *engine_memory_slots(struct engine_memory *memory, unsigned worker);

/* The supervisor's handle of the memory, with sizes that the engine cannot change. */
struct memory_map {
    struct engine_memory *memory; /* NULL: none */
    int fd;
    size_t size, slots_at, slots_size;
    unsigned workers;
};

/* Creates and maps the memory; pages are allocated when they are written. 0 or -errno. */
int engine_memory_open(struct memory_map *out, unsigned workers, size_t slots_size);
/* Maps the memory file of the previous supervisor and takes ownership of it. 0 or -errno: -EPROTO for another version
 * or invalid sizes, -EPERM when the file is not sealed. */
int engine_memory_adopt(struct memory_map *out, int fd);
void engine_memory_close(struct memory_map *memory_map); /* a map without memory is allowed */
/* Copies counters and events of the record to the memory. */
void engine_memory_publish(const struct memory_map *memory_map, const struct supervisor_record *record);
/* Copies counters and events like engine_memory_publish(), and also the state that previous engines left. */
void engine_memory_restore(const struct memory_map *memory_map, const struct supervisor_record *record);
/* Reads the state that the engine leaves for the next engine from the memory, checks it, and stores it in the
 * record. */
void engine_memory_collect(const struct memory_map *memory_map, struct supervisor_record *record);

/* Copies the current packet of a worker to `buffer`, and sets out->bytes to it. Returns false if the worker inspects no
 * packet, or if its offset or length is invalid. */
struct current_packet {
    const uint8_t *bytes;
    uint32_t length, id;
};
bool engine_memory_copy_packet(const struct memory_map *memory_map, unsigned worker, uint8_t *buffer, size_t size,
                               struct current_packet *out);

/* Publishes the packet that the worker starts to inspect; `offset` is the packet's offset in the packet slots of the
 * worker. */
static inline void heartbeat_set_packet(struct worker_heartbeat *worker, uint64_t offset, uint32_t length, uint32_t id)
{
    atomic_store_explicit(&worker->offset, offset, memory_order_relaxed);
    atomic_store_explicit(&worker->length, length, memory_order_relaxed);
    atomic_store_explicit(&worker->id, id, memory_order_relaxed);
    atomic_store_explicit(&worker->has_packet, 1, memory_order_release);
}

static inline void heartbeat_clear_packet(struct worker_heartbeat *worker)
{
    atomic_store_explicit(&worker->has_packet, 0, memory_order_release);
}

static inline void heartbeat_beat(struct worker_heartbeat *worker)
{
    atomic_fetch_add_explicit(&worker->epoch, 1, memory_order_relaxed);
}

#endif
