/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces ruleset and settings while the engine runs. */
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
    size_t rules_memory; /* bytes of the current ruleset */
    size_t rule_errors;  /* errors in the current rules */
};

/* 0 or -ENOMEM. */
int reload_new(struct reload **out, const struct reload_options *options);
/* Ends a running reload before reload_free(). False: it does not end soon; then the caller must not free anything that
 * the reload uses. NULL is allowed. */
bool reload_end(struct reload *reload);
/* Called after all workers have ended and before the current ruleset is freed; waits for the builder thread. NULL is
 * allowed. */
void reload_free(struct reload *reload);

enum reload_state {
    RELOAD_IDLE,
    RELOAD_BUILDING,
    RELOAD_TAKING,   /* the workers switch to the new ruleset */
    RELOAD_DRAINING, /* events that refer to the old ruleset are written */
};
enum reload_state reload_state(const struct reload *reload);
/* Whether a reload that was reported as failed because it took too long still runs: no other reload can start. */
bool reload_is_stuck(const struct reload *reload);

/* Starts a reload. 0, -EBUSY while another one runs, -ENOMEM, or -EAGAIN. */
int reload_start(struct reload *reload, const struct ruleset *before);

enum reload_event { RELOAD_NOTHING, RELOAD_DONE, RELOAD_FAILED };
/* Advances a reload without waiting; called every few milliseconds while it is not idle. RELOAD_DONE: all workers use
 * the new ruleset, which *current is set to. */
enum reload_event reload_poll(struct reload *reload, struct ruleset **current);

/* The configuration of the current ruleset. */
const struct config *reload_config(const struct reload *reload);
/* The result of the last reload, lent until the next one starts; NULL when there was none. */
struct reload_result {
    unsigned number; /* of the reload, from 1 on */
    int error;       /* 0 or -errno */
    unsigned generation;
    size_t rules, failed, skipped; /* loaded, with errors, unsupported */
    double seconds;
    uint64_t time_ns;
    const char *cause; /* of the error, one line */
    const struct diag *diag;
};
const struct reload_result *reload_last(const struct reload *reload);
/* Logs the result and the first diagnostics. */
void reload_log(const struct reload_result *result);

/* Bytes allocated with malloc() in this process. */
size_t reload_memory_used(void);

#endif
