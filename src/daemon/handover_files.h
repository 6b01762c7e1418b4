/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_ENGINE_SUCCESSION_H
#define SLUICE_ENGINE_SUCCESSION_H

#include "sluice/worker.h"

/* The state that an engine hand-over transfers; all pointers are lent. */
struct engine_state {
    struct worker *workers; /* they have stopped, or have not started */
    unsigned worker_count;
    struct pipeline_shared *shared;
    const struct ruleset *ruleset;
    struct stats *stats;
    struct worker *const *worker_list; /* the same workers, for stats */
    const struct output *output;
    uint64_t started_ns; /* monotonic */
    int channel;         /* to the supervisor */
};

/* Writes the state of an engine that ends to files, and sends them to the supervisor. */
void engine_state_send(const struct engine_state *state);
/* Reads a file of the previous engine, and closes it. `what`: the value of its CHANNEL_FILE message. */
void engine_state_receive(const struct engine_state *state, int what, int fd);

/* Writes the engine events that no previous engine has reported. */
void engine_events_report(struct engine_memory *memory, struct output *output);

#endif
