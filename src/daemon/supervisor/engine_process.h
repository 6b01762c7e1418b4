/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine as its supervisor sees it: a child process with heartbeats, deadlines and a channel.
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
    uint64_t group, machine; /* in the control group, on the machine */
};
enum memory_shortage_kind { NO_MEMORY_SHORTAGE, MEMORY_SHORTAGE_OF_GROUP, MEMORY_SHORTAGE_POSSIBLE };

/* Make the kernel kill the engine rather than the supervisor. */
void memory_protect_supervisor(void);
void memory_expose_engine(void);
struct memory_shortage memory_shortage_read(void);
/* Whether a memory shortage since `before` may be why a process was killed by SIGKILL that the supervisor did not send.
 */
enum memory_shortage_kind memory_shortage_since(const struct memory_shortage *before);
/* Writes ", killed because of a memory shortage: ..." with the remedy. */
void memory_shortage_describe(enum memory_shortage_kind kind, char *out, size_t size);

/* --- Engine process ------------------------------------------------------------------------------- */

/* The last heartbeat of a worker that the supervisor has read. */
struct seen_heartbeat {
    uint64_t epoch;
    unsigned still_ms; /* for how long it has not changed */
};

enum missed_deadline { DEADLINE_MET, DEADLINE_MISSED_LOADING, DEADLINE_MISSED_STOPPING };

struct engine_process {
    pid_t pid; /* 0: none */
    int channel;
    struct memory_map memory_map;
    bool begun;        /* it has the queues */
    bool ready;        /* it inspects packets */
    bool stopped;      /* it no longer needs the sockets */
    bool stop_sent;    /* by the supervisor */
    uint64_t ready_ns; /* monotonic */
    bool hung;         /* a worker hung, and the engine got SIGABRT */
    unsigned hung_worker;
    uint64_t kill_ns; /* when it gets SIGKILL if it is still alive */
    uint64_t due_ns;  /* when it must be ready or have stopped; 0: no limit */
    enum missed_deadline late;
    struct memory_shortage before; /* counters at its start */
    unsigned credit;               /* messages that it may send now; see engine_process_charge_message() */
    uint64_t credit_ns;            /* time of the last update of `credit` */
    uint64_t exit_deadline_ns;     /* it has closed its channel, and is killed at this time if it is still alive */
    const char *violation;         /* the reason for which the supervisor killed it; NULL: none */
    char failure[CHANNEL_TEXT_SIZE];
};

/* How an engine ended. */
struct engine_death {
    int signal, code; /* the exit code, if the signal is 0 */
    bool hung;
    const char *violation; /* NULL: none */
    enum engine_failure failure;
    enum missed_deadline late;
    enum memory_shortage_kind shortage;
    int worker; /* the worker whose packet may be the cause; -1: none */
};

/* Forks an engine with new memory. `aside`: another engine is still running. 0 or -errno. */
int engine_process_start(struct supervisor *supervisor, struct engine_process *engine, bool aside);
/* Sends a message, with the descriptor `file` unless that is -1. Kills an engine that does not read its messages. */
void engine_process_send(struct engine_process *engine, enum channel_kind kind, int32_t value, const char *text,
                         int file);
/* Charges a received message, an invalid one if `kind` says so, to the engine's credit. False: the engine sent too many
 * and was killed. */
bool engine_process_charge_message(struct engine_process *engine, enum channel_kind kind);
/* Kills an engine that violates the protocol, for example "sent too many messages". */
void engine_process_kill_for(struct engine_process *engine, const char *violation);
/* Kills a process, and reaps it now or in reap_killed(). */
void kill_and_reap(struct supervisor *supervisor, pid_t pid);
void reap_killed(struct supervisor *supervisor);
/* Returns true with the cause if the engine has died; it is reaped then. */
bool engine_process_reap(struct supervisor *supervisor, struct engine_process *engine, struct engine_death *out);
/* Reads the heartbeats, at most `passed_ms` after the last time, and kills the engine if a worker is hung. True: no
 * worker is hung. */
bool engine_process_check_heartbeats(struct supervisor *supervisor, unsigned passed_ms);
/* Sets a deadline in seconds from now; 0: none. */
void engine_process_set_deadline(struct engine_process *engine, int64_t seconds);
/* Kills an engine that has missed its deadline. */
void engine_process_check_deadline(struct engine_process *engine);
/* Writes "was ended by signal 11 (Segmentation fault)" and the like. */
enum { ENGINE_DEATH_TEXT_SIZE = 400 };
void engine_death_describe(const struct supervisor *supervisor, const struct engine_death *death,
                           char out[ENGINE_DEATH_TEXT_SIZE]);

#endif
