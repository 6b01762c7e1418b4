/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine as the supervisor manages it: a child process with heartbeats, deadlines and a channel.
 */
#ifndef SLUICE_ENGINE_PROCESS_H
#define SLUICE_ENGINE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/daemon.h"
#include "sluice/supervisor_channel.h"

struct supervisor;

/* --- Memory shortage ------------------------------------------------------------------------------ */

/* Counters of processes that the kernel killed because of a memory shortage (memory_shortage.c). */
struct memory_shortage {
    uint64_t group, machine; /* OOM kills in the control group, and on the whole machine */
};
enum memory_shortage_kind { NO_MEMORY_SHORTAGE, MEMORY_SHORTAGE_OF_GROUP, MEMORY_SHORTAGE_POSSIBLE };

/* Set the oom scores so that the kernel kills the engine rather than the supervisor. */
void memory_protect_supervisor(void);
void memory_expose_engine(void);
struct memory_shortage memory_shortage_read(void);
/* Returns whether the kernel may have killed a process since `before` because of a memory shortage. Call it only after
 * a SIGKILL that the supervisor did not send. */
enum memory_shortage_kind memory_shortage_since(const struct memory_shortage *before);
/* Writes ", because it ran out of memory: ..." with the remedy to `out`; "" for NO_MEMORY_SHORTAGE. */
void memory_shortage_describe(enum memory_shortage_kind kind, char *out, size_t size);

/* --- Engine process ------------------------------------------------------------------------------- */

/* The heartbeat of a worker when the supervisor last read it. */
struct seen_heartbeat {
    uint64_t epoch;
    unsigned still_ms; /* how long `epoch` has not changed, in milliseconds */
};

enum missed_deadline { DEADLINE_MET, DEADLINE_MISSED_LOADING, DEADLINE_MISSED_STOPPING };

struct engine_process {
    pid_t pid; /* 0: no process */
    int channel;
    struct memory_map memory_map;
    bool begun;        /* the engine has received the queues */
    bool ready;        /* the engine inspects packets */
    bool stopped;      /* the engine no longer needs the sockets */
    bool stop_sent;    /* the supervisor has requested that the engine stop */
    uint64_t ready_ns; /* when `ready` was set (clock_monotonic_ns()) */
    bool hung;         /* a worker (`hung_worker`) hung, and the supervisor sent SIGABRT */
    unsigned hung_worker;
    uint64_t kill_ns; /* with `hung`: when the engine gets SIGKILL if it is still alive */
    uint64_t due_ns;  /* when the engine must be ready, or must have stopped; 0: no limit */
    enum missed_deadline late;
    struct memory_shortage before; /* kills counted when the engine started */
    unsigned credit;               /* messages that the engine may send now; see engine_process_charge_message() */
    uint64_t credit_ns;            /* time of the last update of `credit` */
    /* The engine has closed its channel, and gets SIGKILL at this time if it is still alive; 0: the channel is open. */
    uint64_t exit_deadline_ns;
    const char *violation;           /* the reason for which the supervisor killed it; NULL: none */
    char failure[CHANNEL_TEXT_SIZE]; /* error text that the engine sent before it exited; "": none */
};

/* How an engine ended. */
struct engine_death {
    int signal, code; /* the signal that ended it; 0: it exited with `code` */
    bool hung;
    const char *violation; /* see struct engine_process; NULL: none */
    enum engine_failure failure;
    enum missed_deadline late;
    enum memory_shortage_kind shortage;
    int worker; /* the worker whose packet may be the cause; -1: none */
};

/* Forks an engine with new memory. `aside`: it starts beside a running engine. Returns 0 or -errno. */
int engine_process_start(struct supervisor *supervisor, struct engine_process *engine, bool aside);
/* Sends a message, with the descriptor `file` unless that is -1. Kills an engine whose socket is full, because it does
 * not read its messages. */
void engine_process_send(struct engine_process *engine, enum channel_kind kind, int32_t value, const char *text,
                         int file);
/* Charges a received message to the engine's credit; CHANNEL_INVALID costs more. Returns false if the credit was
 * exhausted and the engine was killed. */
bool engine_process_charge_message(struct engine_process *engine, enum channel_kind kind);
/* Kills an engine that violates the protocol. `violation`: a static text, for example "sent too many messages". */
void engine_process_kill_for(struct engine_process *engine, const char *violation);
/* Kills a process and reaps it; if it does not end at once, reap_killed() reaps it later. */
void kill_and_reap(struct supervisor *supervisor, pid_t pid);
void reap_killed(struct supervisor *supervisor);
/* Reaps the engine if it has died. Returns true with the cause in *out, or false if the engine lives. */
bool engine_process_reap(struct supervisor *supervisor, struct engine_process *engine, struct engine_death *out);
/* Reads the heartbeats, adds `passed_ms` to the time of each heartbeat that has not changed, and kills the engine if a
 * worker is hung. Returns true if no worker is hung. */
bool engine_process_check_heartbeats(struct supervisor *supervisor, unsigned passed_ms);
/* Sets the deadline to `seconds` from now; 0: no deadline. */
void engine_process_set_deadline(struct engine_process *engine, int64_t seconds);
/* Kills an engine that has missed its deadline. */
void engine_process_check_deadline(struct engine_process *engine);
/* Writes how the engine ended, for example "was killed by signal 11 (Segmentation fault)". */
enum { ENGINE_DEATH_TEXT_SIZE = 400 };
void engine_death_describe(const struct supervisor *supervisor, const struct engine_death *death,
                           char out[ENGINE_DEATH_TEXT_SIZE]);

#endif
