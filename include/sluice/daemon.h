/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Daemon: the engine process with its main thread and workers, and what supervisor and engine share of it.
 *
 * Threads: engine_run() is the main thread: signals, statistics, the life of workers and output.
 */
#ifndef SLUICE_DAEMON_H
#define SLUICE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"

struct control_options;
struct firewall_options;
struct engine_memory;
struct nfqueue_options;

struct run_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *log_dir; /* NULL: as configured */
    bool console;        /* events as readable lines on stdout */
    /* Reads the configuration anew, for a reload, on a thread of its own; the caller frees it. 0 or -errno; mistakes
     * are in `diag`. NULL: a reload reads the rules only. */
    int (*load_config)(void *user, struct config **out, struct diag *diag);
    void *load_config_user;
};

enum { CONTROL_PATH_SIZE = 512 };
/* Where the control socket is opened; false: nowhere. *needed: not without. Strings are lent by `path` and the
 * configuration. */
bool daemon_control_options(const struct config *config, char path[CONTROL_PATH_SIZE], struct control_options *out,
                            bool *needed);

enum { ACCOUNT_PATH_SIZE = 128 };
/* Opens the file that keeps the queue account (src/engine/queue_account.h) across engines and daemons. Its descriptor,
 * or -errno; `path` is empty when the file has no name, so that only engines of the same keeper share it. */
int queue_account_open_file(uint16_t first_queue, char path[ACCOUNT_PATH_SIZE]);
/* Starts the queue account after the table was installed without a daemon, so that the next daemon reports the packets
 * that passed by bypass. 0 or -errno. */
int queue_account_start_without_daemon(const struct firewall_options *firewall);

/* As root: creates the folder of the pattern cache for the daemon's user, so that the daemon can write to it after
 * `sluice check` did. */
void confinement_create_cache_folder(const struct config *config);
/* Whether the user is there that the engine is to be. 0 or -errno with a line in `error`. */
int confinement_check_user(const struct config *config, char error[ENGINE_ERROR_SIZE]);
/* For a process of its own: becomes the engine's user, without its privileges, and opens the file of events as that one
 * would. The descriptor, or -errno with a line in `error`. */
int daemon_open_event_file(const struct run_options *options, char error[ENGINE_ERROR_SIZE]);

/* What each engine has of its keeper; lent. */
struct engine_inputs {
    struct engine_memory *memory;
    int channel;
    bool aside;            /* started while the previous engine still works, which continues if this one fails */
    bool takes_over;       /* from an engine that died: queues may be bound, and our table may be there */
    const int *queue_fds;  /* in the order of setup_plan_queues() */
    int control_fd;        /* -1: no control socket */
    const int *reject_fds; /* as inject_open() gives them, all -1 when nobody lent any; NULL: the same */
    int account_fd;        /* of queue_account_open_file(), or negative: each engine starts a new queue account */
};
/* The daemon's part that looks at packets, in a process of its own, until the keeper tells it to stop, or has died. 0,
 * or -errno with a line in `error`. Prints its own log. */
int engine_run(const struct run_options *options, const struct engine_inputs *inheritance,
               char error[ENGINE_ERROR_SIZE]);

/* Why there is no engine any more, and what becomes of traffic then. */
enum engine_failure {
    ENGINE_FAILURE_CRASH,     /* it died while it inspected packets */
    ENGINE_FAILURE_HANG,      /* a worker hung */
    ENGINE_FAILURE_MEMORY,    /* it was killed because memory ran out */
    ENGINE_FAILURE_START,     /* it did not come to its first packet */
    ENGINE_FAILURE_VIOLATION, /* the keeper killed it because it may have been taken over */
    ENGINE_FAILURES
};
const char *engine_failure_name(enum engine_failure failure);    /* "crash" */
const char *engine_failure_setting(enum engine_failure failure); /* "engine.crash-policy" */
/* Whether traffic passes uninspected then. `bypass`: nft.bypass. */
bool engine_failure_opens(const struct config *config, enum engine_failure failure, bool bypass);

#endif
