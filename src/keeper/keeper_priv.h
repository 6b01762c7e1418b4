/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the keeper:
 *
 *   keeper.c      start, signals, messages, end
 *   child.c       one engine: begun, watched, and how it died
 *   queues.c      the sockets, and the packets that a dead engine leaves
 *   quarantine.c  packets on which engines die
 *   surrender.c   when engines keep dying
 *   notify.c      systemd: readiness, watchdog, and the sockets that it keeps
 */
#ifndef SLUICE_KEEPER_PRIV_H
#define SLUICE_KEEPER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/capture.h"
#include "sluice/control.h"
#include "sluice/firewall.h"
#include "sluice/keeper.h"
#include "sluice/lifeline.h"

struct keeper_queue {
    struct nfqueue_options options;
    int fd;
    bool bound;
    bool adopted;    /* from systemd: it was bound by a keeper before this one */
    bool raised;     /* it has more room than configured, for what comes while nobody judges */
    uint32_t buffer; /* of the socket, as configured */
};

/* A worker's heartbeat, as it was seen last. */
struct keeper_pulse {
    uint64_t epoch;
    unsigned still_ms; /* for how long */
};

struct keeper_child {
    pid_t pid; /* 0: none */
    int channel;
    bool begun; /* it has the queues */
    bool ready;
    bool stopped;      /* it needs the sockets no more */
    bool told_to_stop; /* by us */
    uint64_t ready_ns; /* monotonic */
    bool hung;         /* a worker stood still... */
    unsigned hung_worker;
    uint64_t kill_ns; /* ... and then it is killed, unless SIGABRT did it */
    char failure[LIFELINE_TEXT_SIZE];
};

/* How it ended. */
struct keeper_death {
    int signal, code; /* the exit code when the signal is 0 */
    bool hung;
    int worker; /* whose packet may be the cause; -1: none's */
};

enum { KEEPER_SUSPECTS = 64 };
struct keeper_suspect {
    uint64_t hash;
    uint32_t length; /* 0: free */
    unsigned deaths;
};

struct keeper {
    const struct run_options *run;
    const struct config *config;
    struct firewall_options firewall;
    struct keeper_queue *queues;
    int *queue_fds;
    unsigned queue_count;
    int status_fd, signal_fd, control_fd;
    char control_path[ENGINE_CONTROL_PATH_SIZE]; /* to be removed; "": none */
    struct lifeline_memory *memory;
    struct keeper_child child;
    struct keeper_pulse *pulses; /* one a worker */
    bool stopping, reload_wanted, once_ready;
    bool resumed;         /* queues of a keeper before this one: a table that is there stays */
    unsigned stillborn;   /* engines in a row that died before they had the queues */
    unsigned failures;    /* of engines, in a row */
    uint64_t begin_ns;    /* when the next engine is begun */
    uint64_t tick_ns;     /* of the last look at everything */
    uint64_t watchdog_ns; /* how often systemd wants to hear of us; 0: never */
    uint64_t watchdog_next_ns;
    struct keeper_suspect suspects[KEEPER_SUSPECTS];
    unsigned next_suspect;
};

/* --- child.c --- */

/* Forks an engine. 0 or -errno. */
int child_begin(struct keeper *keeper);
/* Whether it has died, and how. It is gone then. */
bool child_reap(struct keeper *keeper, struct keeper_death *out);
/* Its heartbeats: `passed_ms` since the last time, or less. Ends it when one stands still. True: all go on, or none is expected. */
bool child_watch(struct keeper *keeper, unsigned passed_ms);
/* "by signal 11 (Segmentation fault)" */
void child_describe(const struct keeper_death *death, char *out, size_t size);

/* --- queues.c --- */

/* One socket for each queue. 0 or -errno with a line in `error`. */
int queues_open(struct keeper *keeper, char error[ENGINE_ERROR_SIZE]);
/* Those that come from a keeper before this one: what its engine took is queued again. 0 or -errno with a line in `error`. */
int queues_resume(struct keeper *keeper, char error[ENGINE_ERROR_SIZE]);
int queues_bind(struct keeper *keeper, char error[LIFELINE_TEXT_SIZE]);
bool queues_are_bound(const struct keeper *keeper); /* any of them */
/* Queues again what an engine took and did not judge, but for what is in quarantine. The number of packets. */
uint32_t queues_repeat(struct keeper *keeper, const struct keeper_death *death);
/* More room while nobody judges; and the configured one again when what waited has been judged. */
void queues_relax(struct keeper *keeper);
/* Accepts all that waits. The number of packets. */
uint64_t queues_accept(struct keeper *keeper);
void queues_close(struct keeper *keeper);

/* --- quarantine.c --- */

enum { QUARANTINE_MAX_LENGTH = 1 << 16 }; /* of packets: what is longer a mad engine has made up */

/* The packet on which the engine died. True: it is not the first time, and it is to be dropped. */
bool quarantine_suspects(struct keeper *keeper, const struct lifeline_packet *packet);
/* Writes it to a file, and tells. */
void quarantine_tell(struct keeper *keeper, unsigned queue, const struct lifeline_packet *packet);

/* --- surrender.c --- */

/* What is to become of traffic when there is no engine any more. */
void surrender(struct keeper *keeper);

/* --- notify.c --- */

void notify_start(struct keeper *keeper);
void notify_ready(struct keeper *keeper);
void notify_reloading(void);
void notify_reloaded(void);
void notify_restarting(const struct keeper *keeper);
void notify_stopping(void);
void notify_end(const struct keeper *keeper);
void notify_tick(struct keeper *keeper, bool alive);
/* Descriptors that systemd kept become the queues' and the control socket. */
void notify_take(struct keeper *keeper);

/* --- events, in the memory that the next engine has --- */

struct lifeline_event *keeper_event(struct keeper *keeper, enum lifeline_event_kind kind);

#endif
