/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of the supervisor, and the functions of supervisor.c that its parts call.
 *
 * Threads:   the supervisor has one thread.
 * Ownership: supervisor.c owns the only object, and passes it to the functions of the other parts.
 */
#ifndef SLUICE_SUPERVISOR_STATE_H
#define SLUICE_SUPERVISOR_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/control.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
#include "sluice/supervisor.h"
#include "sluice/supervisor_channel.h"

#include "engine_handover.h"
#include "engine_process.h"
#include "quarantine.h"
#include "queues.h"

enum { KILLED_PROCESSES_MAX = 8 };

struct supervisor {
    const struct run_options *run;
    const struct config *config;
    struct daemon_options settings; /* the settings read from `config` */
    struct firewall_options firewall;
    struct supervised_queue *queues;
    int *queue_fds;
    unsigned queue_count;
    bool is_sensor; /* the engine captures from interfaces: there are no queues, and queue_count is that of the rings */
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
    struct quarantine quarantine;
};

int supervisor_open_engine_memory(const struct supervisor *supervisor,
                                  struct memory_map *out); /* creates memory for an engine; 0 or -errno */
void supervisor_bind_for_engine(struct supervisor *supervisor);
/* Reads a limited number of messages of the engine. Returns false if the engine has closed its channel. */
bool supervisor_read_messages(struct supervisor *supervisor);

/* Adds an event, which the next engine reports. */
struct engine_event *supervisor_add_event(struct supervisor *supervisor, enum engine_event_kind kind);

#endif
