/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other rules while the engine runs: see reload.c. */
#ifndef SLUICE_ENGINE_RELOAD_H
#define SLUICE_ENGINE_RELOAD_H

#include "sluice/worker.h"

struct reload;

struct reload_options {
    const struct run_options *run; /* lent for good, as all that follows */
    struct worker *workers;
    unsigned worker_count;
    struct output *output;
    struct rule_names *names;
    size_t rules_memory; /* bytes that the rules in use took */
    size_t rule_errors;  /* and mistakes in them */
};

/* *out lives as long as the engine. 0 or -ENOMEM. */
int reload_new(struct reload **out, const struct reload_options *options);
/* Before reload_free(): false when one is under way that does not come to its end soon. Then nothing that it was given
 * may be freed. */
bool reload_end(struct reload *reload); /* NULL is allowed */
/* When no worker runs any more, and before the ruleset in use goes; waits for a builder. NULL is allowed. */
void reload_free(struct reload *reload);

enum reload_state {
    RELOAD_IDLE,
    RELOAD_BUILDING,
    RELOAD_TAKING,   /* by the workers */
    RELOAD_DRAINING, /* events that point at the old rules are written */
};
enum reload_state reload_state(const struct reload *reload);
/* It was reported as failed for taking too long, and has not come to an end: there can't be another one. */
bool reload_is_stuck(const struct reload *reload);

/* Begins. 0, -EBUSY while one is on its way, -ENOMEM, -EAGAIN. */
int reload_start(struct reload *reload, const struct ruleset *before);

enum reload_event { RELOAD_NOTHING, RELOAD_DONE, RELOAD_FAILED };
/* Takes it further, never waits; to be called every few milliseconds while it is not idle. RELOAD_DONE: all workers
 * have the new rules, and *current is the new ruleset. */
enum reload_event reload_poll(struct reload *reload, struct ruleset **current);

/* The configuration of the rules in use. */
const struct config *reload_config(const struct reload *reload);
/* How the last one ended; NULL when there was none. Lent until the next one begins. */
struct reload_result {
    unsigned number; /* of the attempt, from 1 on */
    int error;       /* 0 or -errno */
    unsigned generation;
    size_t rules, failed, skipped; /* loaded, with mistakes, unsupported */
    double seconds;
    uint64_t time_ns;
    const char *cause; /* of the error, in a line */
    const struct diag *diag;
};
const struct reload_result *reload_last(const struct reload *reload);
void reload_log(const struct reload_result *result); /* and the mistakes */

/* Bytes that malloc has given out. */
size_t reload_memory_used(void);

#endif
