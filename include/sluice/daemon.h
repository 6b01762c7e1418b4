/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Daemon: the engine process with its main thread and workers, and functions that supervisor and engine both use.
 *
 * Errors:  functions with a parameter `error` return 0 or -errno, and write a line to `error`.
 * Threads: engine_run() runs the main thread: signals, statistics, workers and output.
 */
#ifndef SLUICE_DAEMON_H
#define SLUICE_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"

struct control_options;
struct firewall_options;
struct engine_memory;
struct nfqueue_options;

enum failure_policy { FAILURE_POLICY_AUTO, FAILURE_POLICY_OPEN, FAILURE_POLICY_CLOSED };

/* Why engines keep failing; each cause has a failure policy. */
enum engine_failure {
    ENGINE_FAILURE_CRASH,     /* the engine died while it inspected packets */
    ENGINE_FAILURE_HANG,      /* a worker of the engine hung */
    ENGINE_FAILURE_MEMORY,    /* the engine was killed because memory ran out */
    ENGINE_FAILURE_START,     /* the engine failed before it inspected packets */
    ENGINE_FAILURE_VIOLATION, /* the supervisor killed the engine because an attacker may have taken it over */
    ENGINE_FAILURES
};

/* Settings of the daemon; times are in seconds, 0: unlimited. */
struct daemon_options {
    enum setting_auto control; /* the control socket */
    const char *control_name, *control_group;
    unsigned control_mode, control_clients;
    bool reload_skips_mistakes; /* a reload ignores rules with errors; false: the reload fails */
    uint64_t reload_memory_max; /* bytes; 0: the available memory */
    const char *pid_file;       /* NULL: none */
    const char *user, *group;   /* user and group that the engine runs as; NULL: not set */
    enum setting_auto sandbox;
    bool seccomp, landlock;
    const char *const *folders_to_read, *const *folders_to_write;
    uint32_t hang_timeout, load_timeout, stop_timeout;
    uint32_t restart_limit; /* maximum number of consecutive engines that die before they have inspected packets for a
                               second */
    enum failure_policy failure_policy, failure_policies[ENGINE_FAILURES]; /* for all causes, and by cause */
    uint32_t stats_interval;                                               /* 0: no periodic events */
    bool stats_stream_events, stats_exceptions, stats_decoder_events;
};
extern const struct setting daemon_settings[];

/* Creates a configuration that has the defaults of all modules and protocols. Returns 0 or -ENOMEM. */
int daemon_new_config(struct config **out);

struct run_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *log_dir; /* NULL: as configured */
    bool console;        /* events as readable lines on stdout */
    /* Reads the configuration again for a reload, on a separate thread; the caller frees it. 0 or -errno with `diag`.
     * NULL: a reload reads only the rules. */
    int (*load_config)(void *user, struct config **out, struct diag *diag);
    void *load_config_user;
};

/* Writes what is known of a rule as a JSON object, for `sluice analyse`: whether it is loaded, or why not; its text;
 * and how it is compiled. Adds the rule's counters of the daemon's `count` workers; `count` is 0 without daemon. */
struct ruleset;
struct text;
struct worker;
void explain_analysis(struct text *out, const struct ruleset *ruleset, uint32_t gid, uint32_t sid,
                      const struct worker *workers, unsigned count);

/* Writes what detection searched and evaluated as a JSON object, for `sluice costs`: totals, from the last snapshots of
 * the workers; and, if rules are timed, the searches with the most bytes and the most expensive rules. */
struct app_shared;
void explain_costs(struct text *out, const struct ruleset *ruleset, const struct app_shared *apps,
                   const struct worker *workers, unsigned count);

enum { CONTROL_PATH_SIZE = 512 };
/* Reads the options of the control socket. Returns false if the configuration disables it. *needed is true if the
 * daemon must not start without the socket. `out` refers to `path` and to the configuration. */
bool daemon_control_options(const struct config *config, char path[CONTROL_PATH_SIZE], struct control_options *out,
                            bool *needed);

enum { ACCOUNT_PATH_SIZE = 128 };
/* Opens the file that keeps the queue account (src/daemon/queue_account.h) across engines and daemons. Returns its
 * descriptor or -errno. If the file cannot be created, opens a memory file instead, which only the engines of this
 * supervisor share, and sets `path` to an empty string. */
int queue_account_open_file(uint16_t first_queue, char path[ACCOUNT_PATH_SIZE]);
/* Starts the queue account after the table was installed without a daemon, so that the next daemon reports the packets
 * that passed by bypass. 0 or -errno. */
int queue_account_start_without_daemon(const struct firewall_options *firewall);

/* As root: creates the folder of the pattern cache with the daemon's user as its owner. Otherwise `sluice check` would
 * create it for root, and the daemon could not write to it. */
void confinement_create_cache_folder(const struct config *config);
/* Checks that the user of the engine exists. */
int confinement_check_user(const struct config *config, char error[ENGINE_ERROR_SIZE]);
/* Called in a separate process: switches to the engine's user, drops privileges, and opens the event file. Returns the
 * descriptor or -errno. */
int daemon_open_event_file(const struct run_options *options, char error[ENGINE_ERROR_SIZE]);

/* Descriptors and memory that an engine inherits from its supervisor, which owns them. */
struct engine_inputs {
    struct engine_memory *memory;
    int channel;           /* socket to the supervisor */
    bool aside;            /* started while the previous engine still runs, which continues if this one fails */
    bool takes_over;       /* follows an engine that died: queues may be bound and the sluice table installed */
    const int *queue_fds;  /* in the order of setup_plan_queues() */
    int control_fd;        /* -1: no control socket */
    const int *reject_fds; /* INJECT_SOCKETS descriptors of inject_open(), each -1 if it is missing; NULL: none */
    int account_fd; /* descriptor of queue_account_open_file(); negative: each engine starts a new queue account */
};
/* Runs the engine until the supervisor requests the stop or has died. Writes the log. */
int engine_run(const struct run_options *options, const struct engine_inputs *inheritance,
               char error[ENGINE_ERROR_SIZE]);

/* Logs the errors and messages that the scripts of a worker's rules have reported since the last call. */
struct worker;
void script_log_worker(struct worker *worker);

const char *engine_failure_name(enum engine_failure failure);    /* "crash" */
const char *engine_failure_setting(enum engine_failure failure); /* "engine.crash-policy" */
/* Whether the failure policy lets traffic pass without inspection. `bypass`: nft.bypass. */
bool engine_failure_opens(const struct config *config, enum engine_failure failure, bool bypass);

#endif
