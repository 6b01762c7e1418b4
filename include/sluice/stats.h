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
struct reload;
struct stats;
struct text;

/* Logs the summary of the counters at the end of the program, from the last snapshots of the workers. */
void stats_log_summary(struct worker *const *workers, unsigned count);
/* Creates the object. `queues`: also report the counters of NFQUEUE. `shared` must outlive the object. Returns 0 or
 * -ENOMEM. */
int stats_new(struct stats **out, unsigned workers, bool queues, const struct config *config,
              const struct pipeline_shared *shared);
/* Set objects from which further counters are read. These objects must outlive `stats`; NULL: none. */
void stats_set_attachment(struct stats *stats, const struct attachment *attachment);
void stats_set_engine_memory(struct stats *stats, const struct engine_memory *memory);
void stats_set_monitor(struct stats *stats, const struct queue_monitor *monitor);
void stats_set_reload(struct stats *stats, const struct reload *reload);
void stats_set_follower(struct stats *stats, const struct offload_follower *offload_follower);
/* Sets a memcap of all workers together, which memcap-set has changed, for the counters ips.memcap. */
void stats_set_memcap(struct stats *stats, enum worker_memcap memcap, uint64_t bytes);
void stats_free(struct stats *stats);
/* Sums the last snapshots of the workers and writes a stats event. */
void stats_write(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                 struct output *output, uint64_t uptime_seconds, uint64_t time_ns);

/* For an engine hand-over: stores the counters of the last snapshots, combined with the counters of previous engines,
 * for the next engine. Afterwards the other functions report the counters of this engine only. 0 or -ENOMEM. */
int stats_hand_over(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                    const struct output *output, uint64_t started_ns);
/* Returns the seconds since the start of the first engine whose counters are included. `started_ns`: start of this
 * engine (monotonic). */
uint64_t stats_uptime(const struct stats *stats, uint64_t started_ns);
/* Return `value`, a counter of this engine, combined with the value of previous engines by transferred_counters_add().
 * stats_queue_total(): `field` names the counter of the worker's queue. */
uint64_t stats_total(const struct stats *stats, const char *name, uint64_t value);
uint64_t stats_queue_total(struct stats *stats, const struct worker *worker, const char *field, uint64_t value);

/* Writes all counters as a JSON object. `threads`: also the counters of each worker, below "threads". */
void stats_json(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                const struct output *output, uint64_t uptime_seconds, bool threads, struct text *out);

#endif
