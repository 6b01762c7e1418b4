/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replay: inspects capture files with one or several workers, with the events in the order of the packets.
 */
#ifndef SLUICE_REPLAY_H
#define SLUICE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/config.h"
#include "sluice/engine_limits.h"

enum { REPLAY_MAX_WORKERS = 64 };

struct replay_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *const *captures;
    size_t capture_count;
    const char *log_dir;
    unsigned workers; /* inspecting threads besides the reader; 1 or 0: the calling thread does both */
    bool inline_mode; /* --ips */
    bool console;
};
/* 0 or -errno with `error`. */
int replay_run(const struct replay_options *options, char error[ENGINE_ERROR_SIZE]);

#endif
