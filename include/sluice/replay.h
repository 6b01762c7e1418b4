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
#include "sluice/text.h"

enum { REPLAY_MAX_WORKERS = 64 };

struct rule_names;
struct ruleset;

struct replay_options {
    const struct config *config;
    const char *const *rule_files;
    size_t rule_file_count;
    const char *const *captures; /* files, "-" for standard input, and folders of files */
    size_t capture_count;
    bool recursive;          /* also inspect the files in subfolders of folders */
    bool continuous;         /* all captures are folders: wait for further files in them, until SIGINT or SIGTERM */
    bool deletes;            /* delete each file after all of its packets were inspected */
    unsigned delay_seconds;  /* inspect files of a folder that have not changed for this time; 0: all */
    const char *done_marker; /* inspect files of a folder beside which there is a file with this suffix; NULL: by
                                delay_seconds */
    const char *log_dir;
    unsigned workers; /* number of inspecting threads besides the reading thread; 0 or 1: the calling thread reads and
                         inspects */
    bool inline_mode; /* --ips: inspect as inline (IPS) mode does; false: as IDS */
    bool console;
    bool appends;            /* add events to an existing event file; false: replace it */
    struct ruleset *ruleset; /* borrowed: rules of replay_load_rules(); NULL: replay_run() loads them */
    struct rule_names
        *names;         /* borrowed: numbers the rules, which `costs` needs; must outlive the ruleset; NULL: none */
    struct text *costs; /* measure the rules, and write explain_costs() to this text; NULL: do not */
    int stop_fd;        /* the replay ends early when this descriptor is readable; 0: no descriptor */
};
/* Loads the rules of the options. The caller frees *out by ruleset_free(). Returns 0, or -errno with a line in `error`.
 */
int replay_load_rules(const struct replay_options *options, struct ruleset **out, char error[ENGINE_ERROR_SIZE]);
/* Serves the pcap commands of Suricata on a control socket at `path`, and inspects the capture files that clients add,
 * until `shutdown`, SIGINT or SIGTERM. The captures and the log_dir of the options are ignored: clients name both.
 * Returns 0, or -errno with a line in `error`. */
int replay_serve(const struct replay_options *options, const char *path, char error[ENGINE_ERROR_SIZE]);
/* Runs the replay. Returns 0, or -errno with a line in `error`. */
int replay_run(const struct replay_options *options, char error[ENGINE_ERROR_SIZE]);

#endif
