/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces ruleset and settings while the engine runs. */
#ifndef SLUICE_ENGINE_RELOAD_H
#define SLUICE_ENGINE_RELOAD_H

#include "sluice/worker.h"

struct reload;

struct reload_options {
    const struct run_options *run; /* this and all following pointers must outlive the reload */
    struct worker *workers;
    unsigned worker_count;
    struct output *output;
    struct rule_names *names;
    size_t rules_memory; /* bytes of the current ruleset */
    size_t rule_errors;  /* errors in the rules in use */
};

/* Allocates a reload. Returns 0 or -ENOMEM. */
int reload_new(struct reload **out, const struct reload_options *options);
/* Called before reload_free(): waits a few seconds for the builder thread of a running reload, and discards its result.
 * Returns false if the thread has not ended by then; the caller must then not free anything that the reload uses. NULL
 * is allowed: returns true. */
bool reload_end(struct reload *reload);
/* Called after all workers have ended and before the current ruleset is freed. Waits for the builder thread. NULL is
 * allowed. */
void reload_free(struct reload *reload);

enum reload_state {
    RELOAD_IDLE,
    RELOAD_BUILDING,
    RELOAD_TAKING,   /* the workers switch to the new ruleset */
    RELOAD_DRAINING, /* the output thread writes the events that refer to the old ruleset */
};
enum reload_state reload_state(const struct reload *reload);
/* Returns true while a reload still runs although it was reported as failed, because it took too long: no other reload
 * can start. */
bool reload_is_stuck(const struct reload *reload);

/* Starts a reload; `before` is the ruleset in use. Returns 0, -EBUSY while another reload runs, -ENOMEM, or -EAGAIN if
 * the builder thread cannot be created. */
int reload_start(struct reload *reload, const struct ruleset *before);

enum reload_event { RELOAD_NOTHING, RELOAD_DONE, RELOAD_FAILED };
/* Advances a running reload without waiting; called every few milliseconds. Returns RELOAD_DONE once when all workers
 * use the new ruleset, and sets *current to it; RELOAD_FAILED once when the reload has failed (the cause is in
 * reload_last()); otherwise RELOAD_NOTHING. */
enum reload_event reload_poll(struct reload *reload, struct ruleset **current);

/* Returns the configuration that the current ruleset was loaded with. */
const struct config *reload_config(const struct reload *reload);
/* The result of a reload. reload_last() returns that of the last one, valid until the next one starts; NULL: none
 * yet. */
struct reload_result {
    unsigned number;   /* number of the reload, from 1 on */
    unsigned failures; /* number of reloads that have failed, with this one */
    int error;         /* 0 or -errno */
    unsigned generation;
    size_t rules, failed, skipped; /* number of rules: loaded, with errors, unsupported */
    double seconds;
    uint64_t time_ns;
    const char *cause; /* cause of the error, one line */
    const struct diag *diag;
};
const struct reload_result *reload_last(const struct reload *reload);
/* Logs a result with its first diagnostics. */
void reload_log(const struct reload_result *result);

/* Returns the bytes that this process has allocated with malloc(). */
size_t reload_memory_used(void);

#endif
