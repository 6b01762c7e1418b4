/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the supervisor and the functions of its parts:
 *
 *   supervisor.c        start, signals, messages, end
 *   engine_process.c    one engine: start, supervision, death (engine_process.h)
 *   queues.c            the sockets of the queues, and the packets that a dead engine leaves
 *   quarantine.c        packets on which engines die
 *   give_up.c           what becomes of traffic when engines keep dying
 *   memory_shortage.c   whether the kernel killed an engine because of a memory shortage
 *   file_opener.c       opens the event file for a sandboxed engine
 *   engine_handover.c   a new engine replaces a running one
 *   reexec.c            the supervisor executes the installed program
 *   restart_handover.c  a restart of the service: the next supervisor continues
 *   systemd_job.c       queries the job of the unit: a stop or a restart
 *   systemd_notify.c    readiness, watchdog, and the sockets that systemd stores
 *   socket_preopen.c    sockets that root opens for a service of another user
 */
#ifndef SLUICE_SUPERVISOR_PRIV_H
#define SLUICE_SUPERVISOR_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/capture.h"
#include "sluice/control.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
#include "sluice/supervisor.h"
#include "sluice/supervisor_channel.h"

#include "engine_process.h"

struct supervised_queue {
    struct nfqueue_options options;
    int fd;
    bool bound;
    bool adopted;    /* from systemd: a previous supervisor bound it */
    bool raised;     /* longer than configured, for packets that arrive while no engine runs */
    uint32_t buffer; /* configured receive buffer */
};

enum { QUARANTINE_MAX_LENGTH = 1 << 16 }; /* bytes; longer packets are impossible */
enum { KILLED_PROCESSES_MAX = 8 };

/* Files with the state of an engine, for the next one. */
enum { HANDOVER_FILES_MAX = ENGINE_MAX_QUEUES + 1 };
struct handover_file {
    int what; /* value of its CHANNEL_FILE message */
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
    struct daemon_options settings; /* of the configuration */
    struct firewall_options firewall;
    struct supervised_queue *queues;
    int *queue_fds;
    unsigned queue_count;
    int status_fd, signal_fd, control_fd, account_fd;
    char account_path[ACCOUNT_PATH_SIZE]; /* "": it has no name */
    int reject_fds[INJECT_SOCKETS];       /* opened by `sluice lend`; -1: none */
    char control_path[CONTROL_PATH_SIZE]; /* removed at the end; "": none */
    struct supervisor_record record;      /* engines get a copy */
    struct engine_process engine;
    pid_t opener;                                 /* process that opens a file for the engine; 0: none */
    uint64_t opener_ns;                           /* when it is killed */
    struct program_trial *trial;                  /* of the program of an upgrade; NULL: none runs */
    pid_t killed_processes[KILLED_PROCESSES_MAX]; /* killed but not reaped yet; 0: free */
    uint8_t packet[QUARANTINE_MAX_LENGTH];        /* of a dead engine */

    /* Engine hand-over. */
    struct engine_process next_engine;              /* is starting, to replace `engine` */
    struct engine_process previous_engine;          /* has handed over, and is ending */
    bool next_engine_waits;                         /* it waits for the queues */
    uint64_t hand_over_ns;                          /* deadline of the hand-over; 0: none was requested */
    uint64_t previous_engine_ns;                    /* when it was replaced */
    struct handover_file files[HANDOVER_FILES_MAX]; /* from `engine` to `next_engine` */
    unsigned file_count;

    struct seen_heartbeat *pulses; /* one for each worker */
    bool stopping, reload_wanted, once_ready;
    bool stored;            /* systemd stores the sockets */
    bool leaving;           /* it stops for a restart: the next supervisor needs queues and table */
    bool resumed;           /* with the queues of a previous supervisor, whose table stays */
    unsigned failed_starts; /* consecutive engines that died before they had the queues */
    unsigned failures;      /* consecutive failures of engines */
    unsigned causes;        /* their causes: bits of enum engine_failure */
    bool queue_is_taken;    /* another process has bound one of the queues */
    uint64_t begin_ns;      /* when the next engine is started */
    uint64_t tick_ns;       /* time of the last periodic check */
    uint64_t watchdog_ns;   /* interval of watchdog notifications to systemd; 0: none */
    uint64_t watchdog_next_ns;
    struct suspect_packet suspects[QUARANTINE_SUSPECTS];
    unsigned next_suspect;
};

/* --- file_opener.c ------------------------------------------------------------------------------------- */

/* Starts a process that opens the event file and sends it, or the error, to the engine. */
void file_opener_start(struct supervisor *supervisor);
void file_opener_reap(struct supervisor *supervisor); /* reaps it, and kills it when it takes too long */
void file_opener_stop(struct supervisor *supervisor); /* kills it: its engine has died */

/* --- queues.c ------------------------------------------------------------------------------------- */

/* Opens a socket for each queue. 0 or -errno with `error`. */
int queues_open(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
/* Adopts the queues of a previous supervisor, and queues packets again that its engine has received. 0 or -errno with
 * `error`. */
int queues_resume(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
int queues_bind(struct supervisor *supervisor, char error[CHANNEL_TEXT_SIZE]);
bool queues_are_bound(const struct supervisor *supervisor); /* whether any of them is */
/* Queues packets again that a dead engine has received and not inspected, except one in quarantine. Returns their
 * number. */
uint32_t queues_repeat(struct supervisor *supervisor, const struct engine_death *death);
/* Restores the configured limits when the packets that waited have been inspected. */
void queues_restore_limits(struct supervisor *supervisor);
/* Accepts all waiting packets. Returns their number. */
uint64_t queues_accept(struct supervisor *supervisor);
/* Makes full queues drop packets instead of accepting them. */
void queues_disable_fail_open(struct supervisor *supervisor);
/* Raises the limits before a time without engine. */
void queues_raise(struct supervisor *supervisor);
void queues_close(struct supervisor *supervisor);

/* --- quarantine.c --------------------------------------------------------------------------------- */

/* Records a packet on which an engine died. True: another engine died on it before, so it must be dropped. */
bool quarantine_is_repeated(struct supervisor *supervisor, const struct current_packet *packet);
/* Writes the packet to a file, logs it, and records an event. */
void quarantine_packet(struct supervisor *supervisor, unsigned queue, const struct current_packet *packet);

/* --- give_up.c ------------------------------------------------------------------------------------ */

/* Applies the failure policies for the causes of the deaths, because no further engine is started. True: traffic
 * passes. */
bool give_up_apply_policy(struct supervisor *supervisor);
/* Applies engine.start-policy when the first engine could not start; does nothing unless it is closed. */
void give_up_at_start(struct supervisor *supervisor);
bool give_up_opens(const struct supervisor *supervisor, unsigned causes);

/* --- socket_preopen.c --------------------------------------------------------------------------------------- */

/* Adopts a socket of systemd by its name. False: it is not one of `sluice lend`, or a duplicate. */
bool socket_preopen_accept(struct supervisor *supervisor, const char *name, int fd);

/* --- systemd_notify.c ------------------------------------------------------------------------------------- */

void systemd_start(struct supervisor *supervisor);
void systemd_notify_ready(struct supervisor *supervisor);
void systemd_notify_reloading(void);
void systemd_notify_reloaded(void);
void systemd_notify_restarting(const struct supervisor *supervisor);
void systemd_notify_stopping(void);
void systemd_notify_end(const struct supervisor *supervisor);
void systemd_remove_queue(unsigned number); /* removes its socket from systemd */
void systemd_notify_watchdog(struct supervisor *supervisor, bool alive);
/* Adopts the descriptors that systemd stored as sockets of queues and control socket. */
void systemd_get_sockets(struct supervisor *supervisor);

/* --- systemd_job.c -------------------------------------------------------------------------------- */

enum { SYSTEMD_JOB_TYPE_SIZE = 32 };
struct systemd_job {
    char type[SYSTEMD_JOB_TYPE_SIZE]; /* "restart", "stop", ...; "": the unit has no job */
    uint32_t descriptors;             /* number of descriptors in the unit's file descriptor store */
};

/* Finds the job of the unit of this process. Blocks for a few seconds at most. 0, or -errno with a line in `error`. */
int systemd_job_find(struct systemd_job *out, char error[ENGINE_ERROR_SIZE]);

/* --- restart_handover.c -------------------------------------------------------------------------------------- */

/* At SIGTERM: queries systemd, and starts the hand-over to the next supervisor if the stop is part of a restart. False:
 * it is not, or a hand-over is not possible, or systemd does not answer. */
bool restart_handover_query(struct supervisor *supervisor);
/* The same for a known job. */
bool restart_handover_start(struct supervisor *supervisor, const struct systemd_job *job);
/* Stores the complete files of the engine with systemd. */
void restart_handover_store_files(struct supervisor *supervisor);
/* Names of these files at systemd. stored_file_parse() returns -1 for other names. */
enum { STORED_FILE_NAME_SIZE = 32 };
void stored_file_name(int what, char out[STORED_FILE_NAME_SIZE]);
int stored_file_parse(const char *name);
/* Removes the files from systemd. */
void restart_handover_remove_files(const struct supervisor *supervisor);

/* --- engine_handover.c --------------------------------------------------------------------------------- */

/* Starts a new engine beside the running one, to replace it. */
void engine_handover_start(struct supervisor *supervisor);
/* Adds a file of the engine; closes it unless it is a sealed memory file of a known worker. */
void engine_handover_add_file(struct supervisor *supervisor, int what, int fd);
void engine_handover_files_complete(struct supervisor *supervisor);
/* Requests the files of the engine for the next supervisor. */
void engine_handover_to_next_supervisor(struct supervisor *supervisor);
/* Sends the files that the previous supervisor stored to the engine. */
void engine_handover_send_stored(struct supervisor *supervisor);
/* Whether the next engine replaces the engine that has died, now or as soon as it is ready. */
bool engine_handover_replace_dead(struct supervisor *supervisor);
void engine_handover_poll(struct supervisor *supervisor);
void engine_handover_cancel(struct supervisor *supervisor); /* stops the next engine */

/* --- reexec.c -------------------------------------------------------------------------------------- */

/* Starts a trial of the installed program; after it the supervisor executes the program. False: impossible, with the
 * reason in `why`. */
bool reexec_start_trial(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
int reexec_fd(const struct supervisor *supervisor); /* readable when the trial has output; -1: no trial runs */
/* Executes the program when the trial has succeeded, and does not return then. True: it has failed, see `why`. */
bool reexec_poll(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
void reexec_cancel(struct supervisor *supervisor);
/* Whether the installed program would start and could bind its queues; otherwise the reason is in `why`. */
bool reexec_check_program(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
bool reexec_has_happened(void);
/* Restores the state of the supervisor before the execution. 0 or -errno. */
int reexec_resume(struct supervisor *supervisor);

/* --- supervisor.c ------------------------------------------------------------------------------------- */

int supervisor_open_engine_memory(const struct supervisor *supervisor,
                                  struct memory_map *out); /* creates memory for an engine */
void supervisor_bind_for_engine(struct supervisor *supervisor);
/* Reads a limited number of messages of the engine. False: it has closed its channel. */
bool supervisor_read_messages(struct supervisor *supervisor);

/* --- events, which the next engine reports -------------------------------------------------------- */

struct engine_event *supervisor_add_event(struct supervisor *supervisor, enum engine_event_kind kind);

#endif
