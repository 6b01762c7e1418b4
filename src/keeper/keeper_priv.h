/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the keeper:
 *
 *   keeper.c      start, signals, messages, end
 *   child.c       one engine: begun, watched, and how it died
 *   queues.c      the sockets, and the packets that a dead engine leaves
 *   quarantine.c  packets on which engines die
 *   surrender.c   when engines keep dying
 *   memory.c      whether it was for want of memory
 *   opener.c      files that an engine can't open any more
 *   succession.c  a new engine takes the place of one that lives
 *   renew.c       the keeper becomes another version of itself
 *   leave.c       the service is restarted: the next keeper goes on with all of it
 *   job.c         systemd is asked whether it is
 *   notify.c      systemd: readiness, watchdog, and the sockets that it keeps
 */
#ifndef SLUICE_KEEPER_PRIV_H
#define SLUICE_KEEPER_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "sluice/capture.h"
#include "sluice/control.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
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

enum { QUARANTINE_MAX_LENGTH = 1 << 16 }; /* of packets: an engine that reports a longer one is wrong */
enum { KEEPER_CORPSES = 8 };

/* How often somebody has died for want of memory so far. */
struct keeper_shortage {
    uint64_t group, machine;
};

/* What an engine did not do in time, and was ended for. */
enum keeper_late { KEEPER_IN_TIME, KEEPER_LATE_TO_LOAD, KEEPER_LATE_TO_STOP };

struct keeper_child {
    pid_t pid; /* 0: none */
    int channel;
    struct lifeline lifeline;
    bool begun; /* it has the queues */
    bool ready;
    bool stopped;      /* it needs the sockets no more */
    bool told_to_stop; /* by us */
    uint64_t ready_ns; /* monotonic */
    bool hung;         /* a worker stood still... */
    unsigned hung_worker;
    uint64_t kill_ns; /* ... and then it is killed, unless SIGABRT did it */
    uint64_t due_ns;  /* when it must be ready, or have stopped; 0: no limit */
    enum keeper_late late;
    struct keeper_shortage before; /* when it was begun */
    unsigned credit;               /* messages that it may still send; see child_pay() */
    uint64_t credit_ns;            /* when that was computed */
    uint64_t gone_ns;              /* it has closed its channel, and must have died by then */
    const char *violation;         /* what no engine in its right mind does, and why it was killed; NULL: nothing */
    char failure[LIFELINE_TEXT_SIZE];
};

/* Whether it was killed for want of memory. */
enum keeper_want { KEEPER_NO_WANT, KEEPER_WANT_OF_GROUP, KEEPER_WANT_PERHAPS };

/* How it ended. */
struct keeper_death {
    int signal, code; /* the exit code when the signal is 0 */
    bool hung;
    const char *violation; /* NULL: none */
    enum engine_failure failure;
    enum keeper_late late;
    enum keeper_want want; /* of memory */
    int worker;            /* whose packet may be the cause; -1: none's */
};

/* What an engine knows of traffic. */
enum { KEEPER_FILES = ENGINE_MAX_QUEUES + 1 };
struct keeper_file {
    int what; /* value of LIFELINE_FILE */
    int fd;
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
    int status_fd, signal_fd, control_fd, account_fd;
    char account_path[ENGINE_ACCOUNT_PATH_SIZE]; /* "": it has no name */
    int reject_fds[INJECT_SOCKETS];              /* lent by `sluice lend`; -1: not */
    char control_path[ENGINE_CONTROL_PATH_SIZE]; /* to be removed; "": none */
    struct lifeline_record record;               /* engines see a copy */
    struct keeper_child child;
    pid_t opener;                          /* opens a file for the child; 0: none */
    uint64_t opener_ns;                    /* when it is killed */
    struct keeper_trial *trial;            /* of the program of an upgrade; NULL: none */
    pid_t corpses[KEEPER_CORPSES];         /* killed, and not dead yet; 0: free */
    uint8_t packet[QUARANTINE_MAX_LENGTH]; /* that a dead engine held */

    /* Succession. */
    struct keeper_child heir;               /* prepares to take the child's place */
    struct keeper_child former;             /* has handed over, and ends */
    bool heir_waits;                        /* for the queues */
    uint64_t hand_over_ns;                  /* when the child must have handed over; 0: it was not told to */
    uint64_t former_ns;                     /* since when */
    struct keeper_file files[KEEPER_FILES]; /* from the child to the heir */
    unsigned file_count;

    struct keeper_pulse *pulses; /* one a worker */
    bool stopping, reload_wanted, once_ready;
    bool stored;          /* systemd has the sockets */
    bool leaving;         /* it stops, and another keeper follows that needs all of it */
    bool resumed;         /* queues of a keeper before this one: a table that is there stays */
    unsigned stillborn;   /* engines in a row that died before they had the queues */
    unsigned failures;    /* of engines, in a row */
    unsigned causes;      /* of these: bits of enum engine_failure */
    bool queue_is_taken;  /* another process has one of our queues */
    uint64_t begin_ns;    /* when the next engine is begun */
    uint64_t tick_ns;     /* of the last look at everything */
    uint64_t watchdog_ns; /* how often systemd wants to hear of us; 0: never */
    uint64_t watchdog_next_ns;
    struct keeper_suspect suspects[KEEPER_SUSPECTS];
    unsigned next_suspect;
};

/* --- child.c -------------------------------------------------------------------------------------- */

/* Forks an engine with new memory; `aside`: beside another one. 0 or -errno. */
int child_begin(struct keeper *keeper, struct keeper_child *child, bool aside);
/* Sends a message, with a file unless that is -1. An engine that does not read its messages is killed. */
void child_tell(struct keeper_child *child, enum lifeline_kind kind, int32_t value, const char *text, int file);
/* A message of the engine was received, an invalid one if the kind says so. False: it sent too many, and was killed. */
bool child_pay(struct keeper_child *child, enum lifeline_kind kind);
/* Kills an engine that does what no engine does: "sent too many messages". */
void child_accuse(struct keeper_child *child, const char *violation);
/* Kills a process, and reaps it now or later. */
void child_bury(struct keeper *keeper, pid_t pid);
void child_reap_buried(struct keeper *keeper);
/* Whether it has died, and how. It is gone then. */
bool child_reap(struct keeper *keeper, struct keeper_child *child, struct keeper_death *out);
/* Its heartbeats: `passed_ms` since the last time, or less. Ends it when one stands still. True: all go on, or none is
 * expected. */
bool child_watch(struct keeper *keeper, unsigned passed_ms);
/* It has that many seconds from now on; 0: as many as it wants. */
void child_give_time(struct keeper_child *child, int64_t seconds);
/* Ends it when they are over. */
void child_watch_time(struct keeper_child *child);
/* "was ended by signal 11 (Segmentation fault)" */
enum { CHILD_TEXT_SIZE = 400 };
void child_describe(const struct keeper *keeper, const struct keeper_death *death, char out[CHILD_TEXT_SIZE]);

/* --- memory.c ------------------------------------------------------------------------------------- */

/* Of a keeper and of its engine: whom the kernel is to end first when memory is short. */
void memory_protect_keeper(void);
void memory_offer_engine(void);
struct keeper_shortage memory_shortage(void);
/* Since `before`, when a process was ended by SIGKILL and not by us. */
enum keeper_want memory_was_wanted(const struct keeper_shortage *before);
/* ", for want of memory: ...", with the remedy. */
void memory_describe(enum keeper_want want, char *out, size_t size);

/* --- opener.c ------------------------------------------------------------------------------------- */

/* The file of events, for the child: a message of the channel brings it, or says why not. */
void opener_begin(struct keeper *keeper);
void opener_reap(struct keeper *keeper); /* when it has done so, or takes too long */
void opener_end(struct keeper *keeper);  /* the child that it works for has died */

/* --- queues.c ------------------------------------------------------------------------------------- */

/* One socket for each queue. 0 or -errno with a line in `error`. */
int queues_open(struct keeper *keeper, char error[ENGINE_ERROR_SIZE]);
/* Those that come from a keeper before this one: what its engine took is queued again. 0 or -errno with a line in
 * `error`. */
int queues_resume(struct keeper *keeper, char error[ENGINE_ERROR_SIZE]);
int queues_bind(struct keeper *keeper, char error[LIFELINE_TEXT_SIZE]);
bool queues_are_bound(const struct keeper *keeper); /* any of them */
/* Queues again what an engine took and did not judge, but for what is in quarantine. The number of packets. */
uint32_t queues_repeat(struct keeper *keeper, const struct keeper_death *death);
/* More room while nobody judges; and the configured one again when what waited has been judged. */
void queues_relax(struct keeper *keeper);
/* Accepts all that waits. The number of packets. */
uint64_t queues_accept(struct keeper *keeper);
/* A full queue lets no packet pass any more. */
void queues_forbid_fail_open(struct keeper *keeper);
/* More room, before nobody judges for a while. */
void queues_raise(struct keeper *keeper);
void queues_close(struct keeper *keeper);

/* --- quarantine.c --------------------------------------------------------------------------------- */

/* The packet on which the engine died. True: it is not the first time, and it is to be dropped. */
bool quarantine_suspects(struct keeper *keeper, const struct lifeline_packet *packet);
/* Writes it to a file, and tells. */
void quarantine_tell(struct keeper *keeper, unsigned queue, const struct lifeline_packet *packet);

/* --- surrender.c ---------------------------------------------------------------------------------- */

/* Treats traffic as configured for the causes of the deaths, because there will be no further engine. True: it passes.
 */
bool surrender(struct keeper *keeper);
/* The first engine could not start. Nothing is done unless engine.start-policy is closed. */
void surrender_at_start(struct keeper *keeper);
bool surrender_opens(const struct keeper *keeper, unsigned causes);

/* --- lend.c --------------------------------------------------------------------------------------- */

/* A socket that was lent, by its name; false when it is none, or is there already. */
bool lend_take(struct keeper *keeper, const char *name, int fd);

/* --- notify.c ------------------------------------------------------------------------------------- */

void notify_start(struct keeper *keeper);
void notify_ready(struct keeper *keeper);
void notify_reloading(void);
void notify_reloaded(void);
void notify_restarting(const struct keeper *keeper);
void notify_stopping(void);
void notify_end(const struct keeper *keeper);
void notify_forget_queue(unsigned number); /* systemd has its socket no more */
void notify_tick(struct keeper *keeper, bool alive);
/* Descriptors that systemd kept become the queues' and the control socket. */
void notify_take(struct keeper *keeper);

/* --- leave.c -------------------------------------------------------------------------------------- */

/* The number that comes with SIGTERM when another keeper is to follow; systemd keeps so many descriptors. */
int leave_number(uint32_t kept);
bool leave_is_asked(const struct signalfd_siginfo *info, uint32_t *kept);
/* Whether that is what the signal asks for, and can be. */
bool leave_begin(struct keeper *keeper, const struct signalfd_siginfo *info);
/* The child's files are complete: they go to systemd. */
void leave_handed(struct keeper *keeper);
/* The names of files there, and back; -1: it is none. */
enum { LEAVE_NAME_SIZE = 32 };
void leave_file_name(int what, char out[LEAVE_NAME_SIZE]);
int leave_file_of(const char *name);
/* systemd keeps ours no more. */
void leave_forget_files(const struct keeper *keeper);

/* --- succession.c --------------------------------------------------------------------------------- */

/* A new engine is to take over. */
void succession_begin(struct keeper *keeper);
/* Of the child: what it knows; all is there. */
/* The file is closed if it is none that an engine writes: sealed, and of a known worker. */
void succession_take_file(struct keeper *keeper, int what, int fd);
void succession_handed(struct keeper *keeper);
/* The child is to hand over to the engine of the next keeper. */
void succession_leave(struct keeper *keeper);
/* What the keeper before this one has left is the child's now. */
void succession_give_left(struct keeper *keeper);
/* The child has died: whether the heir takes its place, now or as soon as it can. */
bool succession_took_place_of_dead(struct keeper *keeper);
void succession_tick(struct keeper *keeper);
void succession_end(struct keeper *keeper); /* no heir any more */

/* --- renew.c -------------------------------------------------------------------------------------- */

/* Starts the trial of the program that lies there now, after which the keeper executes it. False, with a line in `why`:
 * it cannot. */
bool renew_begin(struct keeper *keeper, char why[LIFELINE_TEXT_SIZE]);
int renew_fd(const struct keeper *keeper); /* readable when the trial says something; -1: there is none */
/* Does not return when the trial has succeeded. True: it has failed, with a line in `why`. */
bool renew_watch(struct keeper *keeper, char why[LIFELINE_TEXT_SIZE]);
void renew_cancel(struct keeper *keeper);
/* Whether the program that lies there now would start, and have its queues; a line in `why` when not. */
bool keeper_can_renew(const struct keeper *keeper, char why[LIFELINE_TEXT_SIZE]);
bool keeper_was_renewed(void);
/* What the keeper before this one had. 0 or -errno. */
int keeper_resume(struct keeper *keeper);

/* --- keeper.c ------------------------------------------------------------------------------------- */

int keeper_open_lifeline(const struct keeper *keeper, struct lifeline *out); /* for an engine */
void keeper_bind_for_child(struct keeper *keeper);
/* Reads messages of the child, but a limited number. False when there will be no more. */
bool keeper_take_messages(struct keeper *keeper);

/* --- events, which the next engine reports -------------------------------------------------------- */

struct lifeline_event *keeper_event(struct keeper *keeper, enum lifeline_event_kind kind);

#endif
