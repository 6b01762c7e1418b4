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
#include "sluice/supervisor.h"
#include "sluice/supervisor_channel.h"

struct supervised_queue {
    struct nfqueue_options options;
    int fd;
    bool bound;
    bool adopted;    /* from systemd: it was bound by a keeper before this one */
    bool raised;     /* it has more room than configured, for what comes while nobody judges */
    uint32_t buffer; /* of the socket, as configured */
};

/* A worker's heartbeat, as it was seen last. */
struct seen_heartbeat {
    uint64_t epoch;
    unsigned still_ms; /* for how long */
};

enum { QUARANTINE_MAX_LENGTH = 1 << 16 }; /* of packets: an engine that reports a longer one is wrong */
enum { KILLED_PROCESSES_MAX = 8 };

/* How often somebody has died for want of memory so far. */
struct memory_shortage_read {
    uint64_t group, machine;
};

/* What an engine did not do in time, and was ended for. */
enum missed_deadline { DEADLINE_MET, DEADLINE_MISSED_LOADING, DEADLINE_MISSED_STOPPING };

struct engine_process {
    pid_t pid; /* 0: none */
    int channel;
    struct memory_map memory_map;
    bool begun; /* it has the queues */
    bool ready;
    bool stopped;      /* it needs the sockets no more */
    bool told_to_stop; /* by us */
    uint64_t ready_ns; /* monotonic */
    bool hung;         /* a worker stood still... */
    unsigned hung_worker;
    uint64_t kill_ns; /* ... and then it is killed, unless SIGABRT did it */
    uint64_t due_ns;  /* when it must be ready, or have stopped; 0: no limit */
    enum missed_deadline late;
    struct memory_shortage_read before; /* when it was begun */
    unsigned credit;                    /* messages that it may still send; see engine_process_charge_message() */
    uint64_t credit_ns;                 /* when that was computed */
    uint64_t gone_ns;                   /* it has closed its channel, and must have died by then */
    const char *violation; /* what no engine in its right mind does, and why it was killed; NULL: nothing */
    char failure[CHANNEL_TEXT_SIZE];
};

/* Whether it was killed for want of memory. */
enum memory_shortage_kind { NO_MEMORY_SHORTAGE, MEMORY_SHORTAGE_OF_GROUP, MEMORY_SHORTAGE_POSSIBLE };

/* How it ended. */
struct engine_death {
    int signal, code; /* the exit code when the signal is 0 */
    bool hung;
    const char *violation; /* NULL: none */
    enum engine_failure failure;
    enum missed_deadline late;
    enum memory_shortage_kind want; /* of memory */
    int worker;                     /* whose packet may be the cause; -1: none's */
};

/* What an engine knows of traffic. */
enum { HANDOVER_FILES_MAX = ENGINE_MAX_QUEUES + 1 };
struct handover_file {
    int what; /* value of CHANNEL_FILE */
    int fd;
};

enum { QUARANTINE_SUSPECTS = 64 };
struct suspect_packet {
    uint64_t hash;
    uint32_t length; /* 0: free */
    unsigned deaths;
};

struct supervisor {
    const struct run_options *run;
    const struct config *config;
    struct firewall_options firewall;
    struct supervised_queue *queues;
    int *queue_fds;
    unsigned queue_count;
    int status_fd, signal_fd, control_fd, account_fd;
    char account_path[ACCOUNT_PATH_SIZE]; /* "": it has no name */
    int reject_fds[INJECT_SOCKETS];       /* lent by `sluice lend`; -1: not */
    char control_path[CONTROL_PATH_SIZE]; /* to be removed; "": none */
    struct supervisor_record record;      /* engines see a copy */
    struct engine_process engine;
    pid_t opener;                                 /* opens a file for the child; 0: none */
    uint64_t opener_ns;                           /* when it is killed */
    struct program_trial *trial;                  /* of the program of an upgrade; NULL: none */
    pid_t killed_processes[KILLED_PROCESSES_MAX]; /* killed, and not dead yet; 0: free */
    uint8_t packet[QUARANTINE_MAX_LENGTH];        /* that a dead engine held */

    /* Succession. */
    struct engine_process next_engine;              /* prepares to take the child's place */
    struct engine_process previous_engine;          /* has handed over, and ends */
    bool next_engine_waits;                         /* for the queues */
    uint64_t hand_over_ns;                          /* when the child must have handed over; 0: it was not told to */
    uint64_t previous_engine_ns;                    /* since when */
    struct handover_file files[HANDOVER_FILES_MAX]; /* from the child to the heir */
    unsigned file_count;

    struct seen_heartbeat *pulses; /* one a worker */
    bool stopping, reload_wanted, once_ready;
    bool stored;            /* systemd has the sockets */
    bool leaving;           /* it stops, and another keeper follows that needs all of it */
    bool resumed;           /* queues of a keeper before this one: a table that is there stays */
    unsigned failed_starts; /* engines in a row that died before they had the queues */
    unsigned failures;      /* of engines, in a row */
    unsigned causes;        /* of these: bits of enum engine_failure */
    bool queue_is_taken;    /* another process has one of our queues */
    uint64_t begin_ns;      /* when the next engine is begun */
    uint64_t tick_ns;       /* of the last look at everything */
    uint64_t watchdog_ns;   /* how often systemd wants to hear of us; 0: never */
    uint64_t watchdog_next_ns;
    struct suspect_packet suspects[QUARANTINE_SUSPECTS];
    unsigned next_suspect;
};

/* --- child.c -------------------------------------------------------------------------------------- */

/* Forks an engine with new memory; `aside`: beside another one. 0 or -errno. */
int engine_process_start(struct supervisor *supervisor, struct engine_process *engine, bool aside);
/* Sends a message, with a file unless that is -1. An engine that does not read its messages is killed. */
void engine_process_send(struct engine_process *engine, enum channel_kind kind, int32_t value, const char *text,
                         int file);
/* A message of the engine was received, an invalid one if the kind says so. False: it sent too many, and was killed. */
bool engine_process_charge_message(struct engine_process *engine, enum channel_kind kind);
/* Kills an engine that does what no engine does: "sent too many messages". */
void engine_process_kill_for(struct engine_process *engine, const char *violation);
/* Kills a process, and reaps it now or later. */
void kill_and_reap(struct supervisor *supervisor, pid_t pid);
void reap_killed(struct supervisor *supervisor);
/* Whether it has died, and how. It is gone then. */
bool engine_process_reap(struct supervisor *supervisor, struct engine_process *engine, struct engine_death *out);
/* Its heartbeats: `passed_ms` since the last time, or less. Ends it when one stands still. True: all go on, or none is
 * expected. */
bool engine_process_check_heartbeats(struct supervisor *supervisor, unsigned passed_ms);
/* It has that many seconds from now on; 0: as many as it wants. */
void engine_process_set_deadline(struct engine_process *engine, int64_t seconds);
/* Ends it when they are over. */
void engine_process_check_deadline(struct engine_process *engine);
/* "was ended by signal 11 (Segmentation fault)" */
enum { ENGINE_DEATH_TEXT_SIZE = 400 };
void engine_death_describe(const struct supervisor *supervisor, const struct engine_death *death,
                           char out[ENGINE_DEATH_TEXT_SIZE]);

/* --- memory.c ------------------------------------------------------------------------------------- */

/* Of a keeper and of its engine: whom the kernel is to end first when memory is short. */
void memory_protect_supervisor(void);
void memory_expose_engine(void);
struct memory_shortage_read memory_shortage_read(void);
/* Since `before`, when a process was ended by SIGKILL and not by us. */
enum memory_shortage_kind memory_shortage_since(const struct memory_shortage_read *before);
/* ", for want of memory: ...", with the remedy. */
void memory_shortage_describe(enum memory_shortage_kind want, char *out, size_t size);

/* --- opener.c ------------------------------------------------------------------------------------- */

/* The file of events, for the child: a message of the channel brings it, or says why not. */
void file_opener_start(struct supervisor *supervisor);
void file_opener_reap(struct supervisor *supervisor); /* when it has done so, or takes too long */
void file_opener_stop(struct supervisor *supervisor); /* the child that it works for has died */

/* --- queues.c ------------------------------------------------------------------------------------- */

/* One socket for each queue. 0 or -errno with a line in `error`. */
int queues_open(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
/* Those that come from a keeper before this one: what its engine took is queued again. 0 or -errno with a line in
 * `error`. */
int queues_resume(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
int queues_bind(struct supervisor *supervisor, char error[CHANNEL_TEXT_SIZE]);
bool queues_are_bound(const struct supervisor *supervisor); /* any of them */
/* Queues again what an engine took and did not judge, but for what is in quarantine. The number of packets. */
uint32_t queues_repeat(struct supervisor *supervisor, const struct engine_death *death);
/* More room while nobody judges; and the configured one again when what waited has been judged. */
void queues_restore_limits(struct supervisor *supervisor);
/* Accepts all that waits. The number of packets. */
uint64_t queues_accept(struct supervisor *supervisor);
/* A full queue lets no packet pass any more. */
void queues_disable_fail_open(struct supervisor *supervisor);
/* More room, before nobody judges for a while. */
void queues_raise(struct supervisor *supervisor);
void queues_close(struct supervisor *supervisor);

/* --- quarantine.c --------------------------------------------------------------------------------- */

/* The packet on which the engine died. True: it is not the first time, and it is to be dropped. */
bool quarantine_is_repeated(struct supervisor *supervisor, const struct current_packet *packet);
/* Writes it to a file, and tells. */
void quarantine_packet(struct supervisor *supervisor, unsigned queue, const struct current_packet *packet);

/* --- surrender.c ---------------------------------------------------------------------------------- */

/* Treats traffic as configured for the causes of the deaths, because there will be no further engine. True: it passes.
 */
bool give_up_apply_policy(struct supervisor *supervisor);
/* The first engine could not start. Nothing is done unless engine.start-policy is closed. */
void give_up_at_start(struct supervisor *supervisor);
bool give_up_opens(const struct supervisor *supervisor, unsigned causes);

/* --- lend.c --------------------------------------------------------------------------------------- */

/* A socket that was lent, by its name; false when it is none, or is there already. */
bool socket_preopen_accept(struct supervisor *supervisor, const char *name, int fd);

/* --- notify.c ------------------------------------------------------------------------------------- */

void systemd_start(struct supervisor *supervisor);
void systemd_notify_ready(struct supervisor *supervisor);
void systemd_notify_reloading(void);
void systemd_notify_reloaded(void);
void systemd_notify_restarting(const struct supervisor *supervisor);
void systemd_notify_stopping(void);
void systemd_notify_end(const struct supervisor *supervisor);
void systemd_remove_queue(unsigned number); /* systemd has its socket no more */
void systemd_notify_watchdog(struct supervisor *supervisor, bool alive);
/* Descriptors that systemd kept become the queues' and the control socket. */
void systemd_get_sockets(struct supervisor *supervisor);

/* --- leave.c -------------------------------------------------------------------------------------- */

/* The number that comes with SIGTERM when another keeper is to follow; systemd keeps so many descriptors. */
int restart_signal_value(uint32_t kept);
bool restart_is_announced(const struct signalfd_siginfo *info, uint32_t *kept);
/* Whether that is what the signal asks for, and can be. */
bool restart_handover_start(struct supervisor *supervisor, const struct signalfd_siginfo *info);
/* The child's files are complete: they go to systemd. */
void restart_handover_store_files(struct supervisor *supervisor);
/* The names of files there, and back; -1: it is none. */
enum { STORED_FILE_NAME_SIZE = 32 };
void stored_file_name(int what, char out[STORED_FILE_NAME_SIZE]);
int stored_file_parse(const char *name);
/* systemd keeps ours no more. */
void restart_handover_remove_files(const struct supervisor *supervisor);

/* --- succession.c --------------------------------------------------------------------------------- */

/* A new engine is to take over. */
void engine_handover_start(struct supervisor *supervisor);
/* Of the child: what it knows; all is there. */
/* The file is closed if it is none that an engine writes: sealed, and of a known worker. */
void engine_handover_add_file(struct supervisor *supervisor, int what, int fd);
void engine_handover_files_complete(struct supervisor *supervisor);
/* The child is to hand over to the engine of the next keeper. */
void engine_handover_to_next_supervisor(struct supervisor *supervisor);
/* What the keeper before this one has left is the child's now. */
void engine_handover_send_stored(struct supervisor *supervisor);
/* The child has died: whether the heir takes its place, now or as soon as it can. */
bool engine_handover_replace_dead(struct supervisor *supervisor);
void engine_handover_poll(struct supervisor *supervisor);
void engine_handover_cancel(struct supervisor *supervisor); /* no heir any more */

/* --- renew.c -------------------------------------------------------------------------------------- */

/* Starts the trial of the program that lies there now, after which the keeper executes it. False, with a line in `why`:
 * it cannot. */
bool reexec_start_trial(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
int reexec_fd(const struct supervisor *supervisor); /* readable when the trial says something; -1: there is none */
/* Does not return when the trial has succeeded. True: it has failed, with a line in `why`. */
bool reexec_poll(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
void reexec_cancel(struct supervisor *supervisor);
/* Whether the program that lies there now would start, and have its queues; a line in `why` when not. */
bool reexec_check_program(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
bool reexec_has_happened(void);
/* What the keeper before this one had. 0 or -errno. */
int reexec_resume(struct supervisor *supervisor);

/* --- keeper.c ------------------------------------------------------------------------------------- */

int supervisor_open_engine_memory(const struct supervisor *supervisor, struct memory_map *out); /* for an engine */
void supervisor_bind_for_engine(struct supervisor *supervisor);
/* Reads messages of the child, but a limited number. False when there will be no more. */
bool keeper_take_messages(struct supervisor *supervisor);

/* --- events, which the next engine reports -------------------------------------------------------- */

struct engine_event *keeper_event(struct supervisor *supervisor, enum engine_event_kind kind);

#endif
