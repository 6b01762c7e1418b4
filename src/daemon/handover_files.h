/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_ENGINE_SUCCESSION_H
#define SLUICE_ENGINE_SUCCESSION_H

#include "sluice/worker.h"

/* The objects whose state an engine hand-over transfers; the caller owns them all. */
struct engine_state {
    struct worker *workers; /* the workers have stopped (send), or have not started (receive) */
    unsigned worker_count;
    struct pipeline_shared *shared;
    const struct ruleset *ruleset;
    struct stats *stats;
    struct worker *const *worker_list; /* the same workers, for stats */
    struct output *output;
    uint64_t started_ns; /* start of the engine (clock_monotonic_ns()) */
    int channel;         /* the socket to the supervisor */
};

/* Writes the state of an engine that is ending to files, and sends them to the supervisor. */
void engine_state_send(const struct engine_state *state);
/* Reads a state file of the previous engine from `fd`, and closes it. `what`: the value of its CHANNEL_FILE message. */
void engine_state_receive(const struct engine_state *state, int what, int fd);

/* Writes the events in the engine's memory that no previous engine has written. */
void engine_events_report(struct engine_memory *memory, struct output *output);

#endif
