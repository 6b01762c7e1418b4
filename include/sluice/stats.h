/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics: sums the counters of all workers into stats events, `sluice stats` and the summary of the log.
 */
#ifndef SLUICE_STATS_H
#define SLUICE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/worker.h"

struct attachment;
struct offload_follower;
struct queue_monitor;
struct stats;
struct text;

/* The last line of the log, of the snapshots that were taken last. */
void stats_log_summary(struct worker *const *workers, unsigned count);
/* Sums the snapshots and writes one stats event. `queues` adds what is known of NFQUEUE. */
/* `shared` outlives the stats. */
int stats_new(struct stats **out, unsigned workers, bool queues, const struct config *config,
              const struct pipeline_shared *shared);
/* What is told of the own table; lent. */
void stats_set_attachment(struct stats *stats, const struct attachment *attachment);
void stats_set_engine_memory(struct stats *stats, const struct engine_memory *memory);
void stats_set_monitor(struct stats *stats, const struct queue_monitor *monitor);
void stats_set_follower(struct stats *stats, const struct offload_follower *offload_follower);
void stats_free(struct stats *stats);
void stats_write(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                 struct output *output, uint64_t uptime_seconds, uint64_t time_ns);

/* The engine ends, and the next one goes on with its counters: writes them into what workers share. What is told of
 * them afterwards is of this engine alone. By the last snapshots of the workers. 0 or -ENOMEM. */
int stats_hand_over(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                    const struct output *output, uint64_t started_ns);
/* Seconds since the first of the engines that handed their counters on has begun; this one did at `started_ns`
 * (monotonic). */
uint64_t stats_uptime(const struct stats *stats, uint64_t started_ns);
/* A counter of this engine with what those before have counted; of a queue by one of its fields. */
uint64_t stats_total(const struct stats *stats, const char *name, uint64_t value);
uint64_t stats_queue_total(struct stats *stats, const struct worker *worker, const char *field, uint64_t value);

/* The same numbers as one JSON object. */
void stats_json(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                const struct output *output, uint64_t uptime_seconds, struct text *out);

#endif
