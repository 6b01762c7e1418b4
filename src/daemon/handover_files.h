/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_ENGINE_SUCCESSION_H
#define SLUICE_ENGINE_SUCCESSION_H

#include "sluice/worker.h"

/* All lent. */
struct succession {
    struct worker *workers; /* that do not run */
    unsigned worker_count;
    struct pipeline_shared *shared;
    const struct ruleset *ruleset;
    struct stats *stats;
    struct worker *const *worker_list; /* the same workers, for stats */
    const struct output *output;
    uint64_t started_ns; /* monotonic */
    int channel;         /* to the keeper */
};

/* Of an engine that ends: writes the files and sends them. */
void succession_give(const struct succession *own);
/* Of one that begins: `what` is the value of a CHANNEL_FILE. The file is closed. */
void succession_take(const struct succession *own, int what, int fd);

/* What has happened to the engines before this one, in events. */
void succession_tell(struct engine_memory *memory, struct output *output);

#endif
