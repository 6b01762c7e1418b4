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

#include "sluice/config.h"
#include "sluice/diag.h"

enum { ENGINE_ERROR_SIZE = 512 };

/* The rules of a configuration (rule-files and --rules), loaded and compiled. 0 or -errno; mistakes are in `diag`. */
struct ruleset;
int engine_load_rules(struct ruleset **out, const struct config *config, const char *const *rule_files, size_t count,
                      struct diag *diag);

struct run_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *log_dir; /* NULL: as configured */
    bool console;        /* events as readable lines on stdout */
};
/* The daemon, until SIGTERM or SIGINT. 0, or -errno with a line in `error`. Prints its own log. */
int engine_run(const struct run_options *options, char error[ENGINE_ERROR_SIZE]);

struct replay_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *const *captures;
    size_t capture_count;
    const char *log_dir;
    bool inline_mode; /* --ips */
    bool console;
};
int engine_replay(const struct replay_options *options, char error[ENGINE_ERROR_SIZE]);

#endif
