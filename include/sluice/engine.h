/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engine: worker threads, the packet's whole path (pipeline.c), start and stop.
 *
 * Threads:   engine_run() is the main thread: signals, statistics, the life of workers and output.
 */
#ifndef SLUICE_ENGINE_H
#define SLUICE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/diag.h"

enum { ENGINE_ERROR_SIZE = 512 };

struct rule_list;
struct ruleset;

/* Parses and finishes the rules of a configuration (rule-files, then those of --rules); the caller frees the list. The
 * list counts the rules and files that were left out. 0 or -errno; mistakes are in `diag`. */
int engine_parse_rules(struct rule_list **out, const struct config *config, const char *const *rule_files, size_t count,
                       struct diag *diag);
/* Compiles them. The list is the ruleset's on success. */
int engine_compile_rules(struct ruleset **out, struct rule_list *list, const struct config *config, struct diag *diag);
/* Root only: creates the folder of cached patterns for the daemon's user, so that the daemon can write to it after
 * `sluice check` did. */
void engine_make_cache_folder(const struct config *config);
/* Parses and compiles the rules. -ENOENT when a file cannot be read. */
int engine_load_rules(struct ruleset **out, const struct config *config, const char *const *rule_files, size_t count,
                      struct diag *diag);

/* The addresses that are never blocked (nft.blocklist.never). 0 or -errno; mistakes are in `diag`. */
struct address;
struct never_blocked;
int never_blocked_new(struct never_blocked **out, const struct config *config, struct diag *diag);
void never_blocked_free(struct never_blocked *never);
bool never_blocked_has(const struct never_blocked *never, int version, const struct address *address);
bool never_blocked_is_all(const struct never_blocked *never); /* "any": nobody can be blocked */

/* How far loading is, in one line of a terminal on stderr, when it takes longer than a second. The line is gone after
 * the end. */
struct engine_progress {
    struct diag *diag; /* NULL: stderr is no terminal */
    uint64_t begin_ns, shown_ns;
    bool shown;
};
void engine_progress_begin(struct engine_progress *progress, struct diag *diag);
void engine_progress_end(struct engine_progress *progress);

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

enum { ENGINE_MAX_QUEUES = 256 };

struct nfqueue_options;
struct firewall_options;
struct control_options;
/* The queues of a configuration, ENGINE_MAX_QUEUES at most. -errno with a line in `error`. */
int engine_plan_queues(const struct config *config, const struct firewall_options *firewall,
                       struct nfqueue_options *out, size_t *count, char error[ENGINE_ERROR_SIZE]);

enum { ENGINE_CONTROL_PATH_SIZE = 512 };
/* Where the control socket is opened; false: nowhere. *needed: not without. Strings are lent by `path` and the
 * configuration. */
bool engine_control_options(const struct config *config, char path[ENGINE_CONTROL_PATH_SIZE],
                            struct control_options *out, bool *needed);

enum { ENGINE_ACCOUNT_PATH_SIZE = 128 };
/* Opens the file that keeps the queue account (src/engine/queue_account.h) across engines and daemons. Its descriptor,
 * or -errno; `path` is empty when the file has no name, so that only engines of the same keeper share it. */
int engine_open_account(uint16_t first_queue, char path[ENGINE_ACCOUNT_PATH_SIZE]);
/* Starts the queue account after the table was installed without a daemon, so that the next daemon reports the packets
 * that passed by bypass. 0 or -errno. */
int engine_begin_account(const struct firewall_options *firewall);

/* Whether the user is there that the engine is to be. 0 or -errno with a line in `error`. */
int engine_check_user(const struct config *config, char error[ENGINE_ERROR_SIZE]);
/* Checks by its path whether the log folder can have event files: it is a folder, or can be created. `log_dir`:
 * --log-dir, or NULL. 0 or -errno with a line in `error`. */
int engine_check_log_folder(const struct config *config, const char *log_dir, char error[ENGINE_ERROR_SIZE]);
/* For a process of its own: becomes the engine's user, without its privileges, and opens the file of events as that one
 * would. The descriptor, or -errno with a line in `error`. */
int engine_open_events(const struct run_options *options, char error[ENGINE_ERROR_SIZE]);

/* What each engine has of its keeper; lent. */
struct lifeline_memory;
struct engine_inheritance {
    struct lifeline_memory *memory;
    int channel;
    bool aside;            /* started while the previous engine still works, which continues if this one fails */
    bool takes_over;       /* from an engine that died: queues may be bound, and our table may be there */
    const int *queue_fds;  /* in the order of engine_plan_queues() */
    int control_fd;        /* -1: no control socket */
    const int *reject_fds; /* as inject_open() gives them, all -1 when nobody lent any; NULL: the same */
    int account_fd;        /* of engine_open_account(), or negative: each engine starts a new queue account */
};
/* The daemon's part that looks at packets, in a process of its own, until the keeper tells it to stop, or has died. 0,
 * or -errno with a line in `error`. Prints its own log. */
int engine_run(const struct run_options *options, const struct engine_inheritance *inheritance,
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

enum { REPLAY_MAX_WORKERS = 64 };

struct replay_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *const *captures;
    size_t capture_count;
    const char *log_dir;
    unsigned workers; /* threads that judge, besides the reader; 1 or 0: the calling thread does it all */
    bool inline_mode; /* --ips */
    bool console;
};
int engine_replay(const struct replay_options *options, char error[ENGINE_ERROR_SIZE]);

#endif
