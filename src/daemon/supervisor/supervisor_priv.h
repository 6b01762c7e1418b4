/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the supervisor and the functions of its parts:
 *
 *   supervisor.c        start, signals, messages, end
 *   engine_process.c    one engine: start, supervision, death (engine_process.h)
 *   queues.c            the sockets of the queues, and the packets that a dead engine leaves
 *   quarantine.c        packets on which engines die
 *   give_up.c           whether traffic passes or is dropped when engines keep dying
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
    bool adopted;    /* systemd stored the socket: a previous supervisor bound the queue */
    bool raised;     /* length and buffer are larger than configured, for packets that arrive while no engine runs */
    uint32_t buffer; /* configured size of the receive buffer, bytes */
};

enum { QUARANTINE_MAX_LENGTH = 1 << 16 }; /* bytes; an IP packet cannot be longer */
enum { KILLED_PROCESSES_MAX = 8 };

/* Files with the state of an engine, for the next engine. */
enum { HANDOVER_FILES_MAX = CAPTURE_MAX_QUEUES + 1 };
struct handover_file {
    int what; /* value of its CHANNEL_FILE message */
    int fd;
};

enum { QUARANTINE_SUSPECTS = 64 };
struct suspect_packet {
    uint64_t hash;
    uint32_t length; /* bytes of the packet; an entry with deaths == 0 is unused */
    unsigned deaths;
};

struct supervisor {
    const struct run_options *run;
    const struct config *config;
    struct daemon_options settings; /* the settings read from `config` */
    struct firewall_options firewall;
    struct supervised_queue *queues;
    int *queue_fds;
    unsigned queue_count;
    int status_fd, signal_fd, control_fd, account_fd;
    char account_path[ACCOUNT_PATH_SIZE]; /* "": the file has no name */
    int reject_fds[INJECT_SOCKETS];       /* sockets that `sluice lend` has opened; -1: none */
    char control_path[CONTROL_PATH_SIZE]; /* path of the control socket, removed at the end; "": no control socket */
    struct supervisor_record record;      /* counters and events; each new engine gets a copy */
    struct engine_process engine;
    pid_t opener;                                 /* process that opens the event file for the engine; 0: none */
    uint64_t opener_ns;                           /* when the opener is killed (clock_monotonic_ns()) */
    struct program_trial *trial;                  /* trial of the installed program, for an upgrade; NULL: none runs */
    pid_t killed_processes[KILLED_PROCESSES_MAX]; /* killed but not reaped yet; 0: unused entry */
    uint8_t packet[QUARANTINE_MAX_LENGTH];        /* current packet of an engine that died */

    /* Engine hand-over. */
    struct engine_process next_engine;              /* the engine that starts, to replace `engine`; pid 0: none */
    struct engine_process previous_engine;          /* the engine that has handed over, and is ending; pid 0: none */
    bool next_engine_waits;                         /* `next_engine` waits for the queues */
    uint64_t hand_over_ns;                          /* deadline of the hand-over; 0: no hand-over was requested */
    uint64_t previous_engine_ns;                    /* when `previous_engine` was replaced */
    struct handover_file files[HANDOVER_FILES_MAX]; /* state files from `engine` for `next_engine` */
    unsigned file_count;

    struct seen_heartbeat *pulses; /* one for each worker of `engine`: its last heartbeat */
    bool stopping, reload_wanted, once_ready;
    bool stored;            /* systemd stores the sockets of the queues */
    bool leaving;           /* stopping for a restart: the next supervisor continues with queues and table */
    bool resumed;           /* the queues are those of a previous supervisor, whose table stays installed */
    unsigned failed_starts; /* consecutive engines that failed to start */
    unsigned failures;      /* consecutive deaths of engines, for engine.restart-limit */
    unsigned causes;        /* causes of the deaths in `failures`: bits of enum engine_failure */
    bool queue_is_taken;    /* another process has bound one of the queues */
    uint64_t begin_ns;      /* when the next engine is to be started */
    uint64_t tick_ns;       /* time of the last periodic check */
    uint64_t watchdog_ns;   /* interval of watchdog notifications to systemd; 0: none */
    uint64_t watchdog_next_ns;
    struct suspect_packet suspects[QUARANTINE_SUSPECTS];
    unsigned next_suspect;
};

/* --- file_opener.c ------------------------------------------------------------------------------------- */

/* Starts a process that opens the event file and sends it, or the error, to the engine. */
void file_opener_start(struct supervisor *supervisor);
/* Reaps the opener if it has ended; kills it if it takes too long. */
void file_opener_reap(struct supervisor *supervisor);
void file_opener_stop(struct supervisor *supervisor); /* kills the opener, because its engine has died */

/* --- queues.c ------------------------------------------------------------------------------------- */

/* Opens a socket for each queue. Returns 0, or -errno with a line in `error`. */
int queues_open(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
/* Adopts the queues of a previous supervisor, and queues the packets again that its engine gave no verdict. Returns 0,
 * or -errno with a line in `error`. */
int queues_resume(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE]);
int queues_bind(struct supervisor *supervisor, char error[CHANNEL_TEXT_SIZE]);
bool queues_are_bound(const struct supervisor *supervisor); /* whether any queue is bound */
/* Queues the packets again that a dead engine received and gave no verdict, except a packet that is quarantined.
 * Returns their number. */
uint32_t queues_repeat(struct supervisor *supervisor, const struct engine_death *death);
/* Restores the configured lengths and buffers of queues whose backlog has been inspected. */
void queues_restore_limits(struct supervisor *supervisor);
/* Accepts all packets that wait in the queues. Returns their number. */
uint64_t queues_accept(struct supervisor *supervisor);
/* Makes full queues drop packets instead of accepting them. */
void queues_disable_fail_open(struct supervisor *supervisor);
/* Raises lengths and buffers of the queues for a time without engine. */
void queues_raise(struct supervisor *supervisor);
void queues_close(struct supervisor *supervisor);

/* --- quarantine.c --------------------------------------------------------------------------------- */

/* Records a packet on which an engine died. Returns true if another engine died on the same packet before: drop it
 * then. */
bool quarantine_is_repeated(struct supervisor *supervisor, const struct current_packet *packet);
/* Writes the packet to a file, logs it, and adds an event. */
void quarantine_packet(struct supervisor *supervisor, unsigned queue, const struct current_packet *packet);

/* --- give_up.c ------------------------------------------------------------------------------------ */

/* Applies the failure policies for the causes of the deaths; called when no further engine is started. Returns true if
 * traffic passes. */
bool give_up_apply_policy(struct supervisor *supervisor);
/* Called when the first engine could not start: drops traffic if engine.start-policy is closed, otherwise does
 * nothing. */
void give_up_at_start(struct supervisor *supervisor);
bool give_up_opens(const struct supervisor *supervisor, unsigned causes);

/* --- socket_preopen.c --------------------------------------------------------------------------------------- */

/* Adopts a socket from systemd by its name. Returns false if `sluice lend` does not create a socket of this name, or if
 * the socket is a duplicate. */
bool socket_preopen_accept(struct supervisor *supervisor, const char *name, int fd);

/* --- systemd_notify.c ------------------------------------------------------------------------------------- */

void systemd_start(struct supervisor *supervisor);
void systemd_notify_ready(struct supervisor *supervisor);
void systemd_notify_reloading(void);
void systemd_notify_reloaded(void);
void systemd_notify_restarting(const struct supervisor *supervisor);
void systemd_notify_stopping(void);
void systemd_notify_end(const struct supervisor *supervisor);
void systemd_remove_queue(unsigned number); /* removes the socket of the queue from systemd */
void systemd_notify_watchdog(struct supervisor *supervisor, bool alive);
/* Adopts the descriptors that systemd stored: sockets of queues, the control socket, state files. */
void systemd_get_sockets(struct supervisor *supervisor);

/* --- systemd_job.c -------------------------------------------------------------------------------- */

enum { SYSTEMD_JOB_TYPE_SIZE = 32 };
struct systemd_job {
    char type[SYSTEMD_JOB_TYPE_SIZE]; /* "restart", "stop", ...; "": the unit has no job */
    uint32_t descriptors;             /* number of descriptors in the unit's file descriptor store */
};

/* Finds the job of the unit that this process belongs to. Blocks for a few seconds at most. Returns 0, or -errno with a
 * line in `error`. */
int systemd_job_find(struct systemd_job *out, char error[ENGINE_ERROR_SIZE]);

/* --- restart_handover.c -------------------------------------------------------------------------------------- */

/* Called at SIGTERM: queries systemd, and starts the hand-over to the next supervisor if the stop is part of a restart.
 * Returns false if the stop is not part of a restart, if a hand-over is not possible, or if systemd does not answer. */
bool restart_handover_query(struct supervisor *supervisor);
/* Starts the hand-over if the job is a restart. Returns false if it is not, or if a hand-over is not possible. */
bool restart_handover_start(struct supervisor *supervisor, const struct systemd_job *job);
/* Stores the complete state files of the engine with systemd. */
void restart_handover_store_files(struct supervisor *supervisor);
/* Names under which systemd stores the state files. stored_file_parse() returns -1 for other names. */
enum { STORED_FILE_NAME_SIZE = 32 };
void stored_file_name(int what, char out[STORED_FILE_NAME_SIZE]);
int stored_file_parse(const char *name);
/* Removes the state files from systemd. */
void restart_handover_remove_files(const struct supervisor *supervisor);

/* --- engine_handover.c --------------------------------------------------------------------------------- */

/* Starts a new engine beside the running one, which it will replace. */
void engine_handover_start(struct supervisor *supervisor);
/* Adds a state file of the running engine; closes it unless it is a sealed memory file of a known worker. */
void engine_handover_add_file(struct supervisor *supervisor, int what, int fd);
void engine_handover_files_complete(struct supervisor *supervisor);
/* Requests the state files of the engine, for the next supervisor. */
void engine_handover_to_next_supervisor(struct supervisor *supervisor);
/* Sends the state files that the previous supervisor stored to the engine. */
void engine_handover_send_stored(struct supervisor *supervisor);
/* After the death of `engine`: discards its state files and lets the next engine replace it, at once or when that one
 * requests the queues. Returns false if there is no next engine. */
bool engine_handover_replace_dead(struct supervisor *supervisor);
void engine_handover_poll(struct supervisor *supervisor);
void engine_handover_cancel(struct supervisor *supervisor); /* kills the next engine */

/* --- reexec.c -------------------------------------------------------------------------------------- */

/* Starts a trial of the installed program; when the trial has passed, reexec_poll() executes the program. Returns false
 * if no trial can start, with the reason in `why`. */
bool reexec_start_trial(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
/* Returns a descriptor that is readable when the trial has output; -1: no trial runs. */
int reexec_fd(const struct supervisor *supervisor);
/* Checks a running trial. If the trial has passed, executes the program and does not return. Returns true if the trial
 * has failed, with the reason in `why`. */
bool reexec_poll(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
void reexec_cancel(struct supervisor *supervisor);
/* Returns whether the installed program would start and could bind its queues; if not, the reason is in `why`. */
bool reexec_check_program(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE]);
bool reexec_has_happened(void);
/* Restores the state that the supervisor had before it executed the program. Returns 0 or -errno. */
int reexec_resume(struct supervisor *supervisor);

/* --- supervisor.c ------------------------------------------------------------------------------------- */

int supervisor_open_engine_memory(const struct supervisor *supervisor,
                                  struct memory_map *out); /* creates memory for an engine; 0 or -errno */
void supervisor_bind_for_engine(struct supervisor *supervisor);
/* Reads a limited number of messages of the engine. Returns false if the engine has closed its channel. */
bool supervisor_read_messages(struct supervisor *supervisor);

/* --- events, which the next engine reports -------------------------------------------------------- */

struct engine_event *supervisor_add_event(struct supervisor *supervisor, enum engine_event_kind kind);

#endif
