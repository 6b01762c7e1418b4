/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the engine:
 *
 *   pipeline.c   the packet's whole path, one function
 *   worker.c     the thread that owns a queue
 *   affinity.c   which CPU a thread runs on
 *   options.c    from the configuration to the options of the modules
 *   load.c       from rule files to a ruleset
 *   datasets.c   sets that rules share, from the configuration and back to their files
 *   stats.c      from counters to a stats event
 *   run.c        the daemon        replay.c   capture files
 */
#ifndef SLUICE_ENGINE_PRIV_H
#define SLUICE_ENGINE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/capture.h"
#include "sluice/config.h"
#include "sluice/decode.h"
#include "sluice/detect.h"
#include "sluice/engine.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
#include "sluice/output.h"
#include "sluice/policy.h"

/* --- options.c --------------------------------------------------------------------------------------------------------- */

enum { ENGINE_MAX_QUEUES = 256, ENGINE_MAX_CPUS = 1024 };

struct pipeline_options;

/* The queues of a configuration with the options of each. -errno with a line in `error`. */
int engine_queue_options(const struct config *config, struct nfqueue_options *out, size_t max, size_t *count,
                         char error[ENGINE_ERROR_SIZE]);
int engine_decode_options(const struct config *config, struct decode_options *out, struct diag *diag);
/* All but the policy's inline mode and the checksums, which differ between run and replay. */
int engine_pipeline_options(const struct config *config, struct pipeline_options *out, struct diag *diag);
int engine_action_order(const struct config *config, enum rule_action order[4], char error[ENGINE_ERROR_SIZE]);
void engine_policy_options(const struct config *config, struct policy_options *out);
int engine_eve_path(const struct config *config, const char *log_dir, char *out, size_t size,
                    char error[ENGINE_ERROR_SIZE]);
void engine_eve_options(const struct config *config, struct eve_options *out);

/* --- datasets.c -------------------------------------------------------------------------------------------------------- */

/* The registry with the sets of the configuration; mistakes are in `diag`. 0 or -ENOMEM. */
struct datasets;
int engine_open_datasets(struct datasets **out, const struct config *config, struct diag *diag);
/* Writes the sets that have a file for it, when no worker runs any more; logs what fails. NULL is allowed. */
void engine_save_datasets(const struct ruleset *ruleset);

/* --- affinity.c -------------------------------------------------------------------------------------------------------- */

enum affinity_mode { AFFINITY_NONE, AFFINITY_EXCLUSIVE, AFFINITY_BALANCED };

/* Which CPUs each kind of thread may use. */
struct affinity {
    enum affinity_mode mode;
    uint16_t worker_count, management_count, output_count;
    uint16_t worker[ENGINE_MAX_CPUS], management[ENGINE_MAX_CPUS], output[ENGINE_MAX_CPUS];
};

/* As configured; what is not configured is chosen by the machine's topology for `workers` threads: no two on siblings of
 * a core, none on the first core while there are others. -errno with a line in `error`. */
int affinity_plan(struct affinity *out, const struct config *config, unsigned workers, char error[ENGINE_ERROR_SIZE]);
/* Pins the calling thread. 0 or -errno. */
int affinity_apply_worker(const struct affinity *affinity, unsigned worker);
int affinity_apply_management(const struct affinity *affinity);
int affinity_apply_output(const struct affinity *affinity);
/* "worker 0 on CPU 1, ..." for the log. */
void affinity_describe(const struct affinity *affinity, unsigned workers, char *out, size_t size);

/* --- pipeline.c -------------------------------------------------------------------------------------------------------- */

struct pipeline_counters {
    uint64_t drop_reason[DROP_REASON_COUNT];
    uint64_t accepted, blocked, rejected;
    uint64_t marked; /* came back marked */
    /* Accepted without inspection, by reason. */
    uint64_t uninspected_marked;
    uint64_t uninspected_link;      /* of a link type that is not supported; only rules for any packet saw it */
    uint64_t uninspected_fragments; /* whose payload waits for defragmentation; headers were inspected */
};

enum checksum_checks {
    CHECKSUMS_CHECK,
    CHECKSUMS_IGNORE,
    CHECKSUMS_AUTO, /* until over a tenth of the first thousand packets were wrong: a capture made where they are filled in
                     * later */
};

/* All that one packet's path needs; owned by one worker. */
struct pipeline {
    struct decoder *decoder;
    struct detector *detector;
    struct policy *policy;
    struct output_port *output; /* lent */
    struct injector *injector;  /* NULL: rejects are not answered (replay) */
    enum queue_marked_policy marked_policy;
    enum checksum_checks checksums;
    uint32_t checksums_seen, checksums_wrong; /* CHECKSUMS_AUTO */
    bool drop_undecodable;
    struct pipeline_counters counters;
};

struct pipeline_options {
    struct decode_options decode;
    struct detector_options detector;
    struct policy_options policy;
    enum checksum_checks checksums;
    bool drop_undecodable;
};

/* 0 or -ENOMEM. */
int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options, struct policy_shared *shared,
                  struct output_port *output);
void pipeline_clear(struct pipeline *pipeline);
/* From a packet of capture to its verdict (written into the packet), with its events. */
void pipeline_packet(struct pipeline *pipeline, const struct ruleset *ruleset, struct packet *pkt);

/* --- worker.c ---------------------------------------------------------------------------------------------------------- */

enum {
    WORKER_WAIT_MS = 200,
    WORKER_LAST_BATCHES = 1024, /* judged after it was asked to stop, at most */
};

/* A copy of all counters of a worker, taken by itself between two batches. */
struct worker_snapshot {
    struct capture_counters capture;
    struct pipeline_counters pipeline;
    struct policy_counters policy;
    struct detect_counters detect;
    struct inject_counters inject;
    uint64_t *decode; /* decode_counter_count() values */
};

struct worker {
    unsigned index;
    pthread_t thread;
    bool started;
    struct capture *capture;
    struct nfqueue_options queue;
    struct pipeline pipeline;
    const struct affinity *affinity;
    _Atomic(const struct ruleset *) ruleset;
    atomic_bool stop;
    atomic_uint_fast64_t epoch; /* batches finished: an old ruleset is unused past the next one */
    atomic_bool snapshot_wanted;
    atomic_int error;                /* -errno that ended the thread, 0 while it runs */
    struct worker_snapshot snapshot; /* written by the worker while snapshot_wanted, read by main after it */
};

int worker_start(struct worker *worker);
/* Asks for a snapshot and waits for it, at most a second; false when the worker did not answer. */
bool worker_take_snapshot(struct worker *worker);
void worker_copy_counters(struct worker *worker); /* by the worker, or by main after it was joined */
int worker_snapshot_init(struct worker *worker);
void worker_snapshot_clear(struct worker *worker);

/* --- stats.c ----------------------------------------------------------------------------------------------------------- */

/* Sums the snapshots and writes one stats event. `queues` adds what is known of NFQUEUE. */
struct stats;
int stats_new(struct stats **out, unsigned workers, bool queues, bool decoder_events);
void stats_free(struct stats *stats);
void stats_write(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                 struct output *output, uint64_t uptime_seconds, uint64_t time_ns);

#endif
