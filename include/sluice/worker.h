/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker: the thread that receives the packets of a queue in batches, takes each through the pipeline, and sends the
 * verdicts.
 *
 * Threads: the main thread sends requests to a worker through atomic pointers in struct worker, which the worker reads
 * between two batches: a new ruleset, new settings, a query about flows, a snapshot of the counters, stop.
 */
#ifndef SLUICE_WORKER_H
#define SLUICE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/affinity.h"
#include "sluice/capture.h"
#include "sluice/pipeline.h"
#include "sluice/sandbox.h"
#include "sluice/supervisor_channel.h"

struct connection_query;
struct file_magic;
struct ring;
struct transfer;

/* --- Copies of flows ------------------------------------------------------------------------------ */

struct flow_copy {
    struct flow flow; /* a copy: its pointers must not be dereferenced */
    bool ended;
    bool has_history;
    struct flow_history history;
    struct tcp_summary tcp;
};
void flow_copy_init(struct flow_copy *out, const struct flow *flow, bool ended);

/* Copies of flows that ended recently. Only flows in which a rule matched, flows that were dropped, and flows with an
 * exception are copied (ended_flows.c). */
struct ended_flows *ended_flows_new(void); /* NULL: no memory */
void ended_flows_free(struct ended_flows *ended);
/* Copies a flow that ends. `ended` may be NULL. */
void ended_flows_add(struct ended_flows *ended, const struct flow *flow);
/* Returns the copy of the most recent flow with these addresses and ports in either direction or, if `ends` is NULL,
 * with this `id`; NULL: none. */
const struct flow_copy *ended_flows_find(const struct ended_flows *ended, const struct flow_ends *ends, uint64_t id);

/* --- Requests to a worker ------------------------------------------------------------------------- */

/* The part of a flow that `sluice top` shows; the counts include packets that the kernel handled without queueing. */
struct flow_sample {
    uint64_t id, start_ns;
    uint64_t packets[FLOW_DIRECTIONS], bytes[FLOW_DIRECTIONS];
    struct address client, server;
    uint16_t client_port, server_port;
    uint8_t ip_version, protocol;
    uint8_t state, would_drop; /* enum flow_state, enum flow_would_drop */
    uint16_t flags;            /* enum flow_flag */
    uint32_t application;      /* app_flow_protocol() */
};

enum { WORKER_FLOWS = 64 };
enum worker_query_kind {
    WORKER_PAGE,    /* a page of all live flows */
    WORKER_SAMPLES, /* a larger page of all live flows, as struct flow_sample; an idle worker answers with more flows */
    WORKER_BY_ENDS, /* one live or ended flow, by addresses and ports */
    WORKER_BY_ID,   /* one flow by id: an ended one, or a live one that is in the page */
};
struct worker_query {
    enum worker_query_kind kind;
    struct flow_ends ends;
    uint64_t id;   /* EVE's flow_id */
    size_t cursor; /* in: start of the page; out: start of the next page (0: there is none) */
    size_t count;
    struct flow_copy flows[WORKER_FLOWS];
    struct flow_sample
        *samples; /* borrowed: room for `sample_room` (at least WORKER_FLOWS) entries; WORKER_SAMPLES only */
    size_t sample_room;
    bool idle; /* out, for WORKER_SAMPLES: the worker had no packets to inspect */
};

/* A request to change the worker's share of a memcap. */
enum worker_memcap { MEMCAP_FLOW, MEMCAP_STREAM, MEMCAP_REASSEMBLY, MEMCAP_DEFRAG, MEMCAP_APP, WORKER_MEMCAPS };
struct worker_memcap_request {
    enum worker_memcap memcap;
    size_t size;
    int error; /* out: 0, -EBUSY if more memory is in use, -ERANGE or -ENOMEM (pool_set_memcap()) */
};

/* Changes the memcap of a module, in the worker's thread or while it does not run. Returns 0 or the error. */
int worker_change_memcap(const struct pipeline *pipeline, enum worker_memcap memcap, size_t size);

/* A copy of all counters of a worker, which the worker writes between two batches. */
struct worker_snapshot {
    struct capture_counters capture;
    struct pipeline_counters pipeline;
    struct policy_counters policy;
    struct detect_counters detect;
    struct inject_counters inject;
    struct file_counts files;
    struct queue_watch_counters watch;
    uint64_t cpu_ns;  /* CPU time of the worker's thread and of its verdict sender */
    uint64_t *decode; /* decode_counter_count() values */
    uint64_t *flow;   /* flow_counter_count() */
    uint64_t *stream; /* stream_counter_count() */
    uint64_t *app;    /* app_counter_count() */
    uint64_t *defrag; /* defrag_counter_count() */
};

/* A new ruleset and new settings. The main thread allocates all memory for it; the worker only swaps pointers. */
struct worker_update {
    const struct ruleset *ruleset;
    struct detector_memory *room; /* memory of the detector for the ruleset; afterwards the memory that it replaced */
    struct file_magic *magic; /* handle for the worker; NULL: not needed. After the update: the handle that the worker
                                 no longer uses */
    bool has_settings;        /* the fields below are valid */
    struct flow_options flow; /* only the timeouts are used */
    enum exception_policy exceptions[EXCEPTION_COUNT];
    struct overload_options overload;
    const struct output_change *outputs; /* NULL: no change */
};

/* --- Worker --------------------------------------------------------------------------------------- */

enum {
    WORKER_WAIT_MS = 200,
    WORKER_IDLE_EXPIRE = 4096, /* maximum number of expired flows that a worker without packets ends at once */
    WORKER_REPORTS = 256, /* maximum number of reports about offloaded flows that a worker reads between two batches */
    WORKER_LAST_BATCHES = 1024, /* maximum number of batches that a worker still inspects after a request to stop */
};

/* State of the verdict sender (threading.verdict-threads). A negative value is the -errno with which it failed to
 * start. */
enum sender_state { SENDER_STARTS, SENDER_RUNS };

struct queue_mode {
    enum ips_mode mode;
    bool of_range; /* true: `mode` is from the queue's entry in `queues`; false: from ips.mode */
};

struct worker {
    unsigned index;
    bool is_ring;   /* the capture is a ring of an interface; false: an NFQUEUE queue */
    char label[48]; /* for messages: "queue 3", "ring 0 of eth1" */
    /* how long the worker waits for the last packets when it stops; a ring delivers them in blocks */
    int last_wait_ms;
    pthread_t thread, sender;
    bool started, has_sender; /* whether the worker thread was started, and whether the verdict sender runs */
    atomic_int sender_state;
    struct capture *capture;
    struct nfqueue_options queue;
    uint64_t trimmed_ns;         /* realtime of the last pipeline_trim() */
    uint64_t conntrack_until_ns; /* realtime at which the worker stops requesting conntrack data; 0: never */
    bool conntrack_allowed; /* false: queue.conntrack is no; true: conntrack data may be requested, also later: when
                               a reloaded ruleset needs it, or a lookup fails */
    struct pipeline pipeline;
    struct connection_query *connections; /* NULL: no lookups in the conntrack table */
    bool conntrack_attachable; /* the kernel can attach conntrack data to packets, and conntrack_allowed is true */
    bool conntrack_wanted;     /* request conntrack data from the next batch on, for a limited time */
    struct queue_watch watch;
    struct ring *reports; /* borrowed: reports about offloaded flows; NULL: none */
    atomic_bool leave;    /* engine hand-over, with `stop`: stop at once and keep the flows for the next engine */
    struct engine_memory *memory; /* borrowed: heartbeat and current packet, for the supervisor; NULL: none */
    const struct affinity *affinity;
    const struct sandbox *sandbox; /* borrowed; NULL: none */

    /* Requests of the main thread. */
    _Atomic(const struct ruleset *) ruleset;
    _Atomic(struct worker_update *) update;                 /* NULL as soon as the worker has applied it */
    _Atomic(struct worker_query *) query;                   /* NULL as soon as the worker has answered it */
    _Atomic(struct worker_memcap_request *) memcap_request; /* NULL as soon as the worker has answered it */
    atomic_bool stop;
    atomic_bool snapshot_wanted;
    _Atomic uint64_t exact_until_ns;   /* monotonic: until then each packet gets a separate verdict message */
    _Atomic uint32_t mode;             /* enum ips_mode; the worker reads it once for each batch */
    struct queue_mode configured_mode; /* used by the main thread only */

    /* Written by the worker; any thread may read them. */
    atomic_uint_fast64_t epoch;                     /* number of finished batches */
    atomic_int error;                               /* -errno that ended the thread, 0 while it runs */
    _Atomic uint64_t verdict_lost, missing, routed; /* copies of counters of the capture */
    /* number of packets, and of evaluations of rules, that exceeded their time budget */
    _Atomic uint64_t slow_packets, slow_evaluations;
    _Atomic uint64_t evicted[EVICTION_TABLES]; /* entries evicted because a memcap was reached */
    struct worker_snapshot snapshot; /* the worker writes it while snapshot_wanted is set, main reads it afterwards */
    bool exact;                      /* used by the worker only: the value that it last passed to nfqueue_set_exact() */
};

/* Starts the worker's thread. Returns 0 or -errno. */
int worker_start(struct worker *worker);
/* Waits until the thread has ended; the caller has set `stop`. */
void worker_join(struct worker *worker);

/* Sends a query and waits for the answer, at most a second. Returns false if the worker has not answered in that time:
 * the query then belongs to the worker until worker_has_query() returns false. Until then, further calls return false
 * and send nothing. */
bool worker_query_flows(struct worker *worker, struct worker_query *query);
/* The two halves of worker_query_flows(), for queries to several workers at the same time. worker_request_flows()
 * returns false if the worker still has a query. */
bool worker_request_flows(struct worker *worker, struct worker_query *query);
bool worker_wait_flows(const struct worker *worker);
bool worker_has_query(const struct worker *worker);
/* Sends a request to change a memcap and waits for the answer, at most a second, as worker_query_flows() does. */
bool worker_set_memcap(struct worker *worker, struct worker_memcap_request *request);
/* Sends an update, which belongs to the worker until worker_has_update() returns false. Only one update may be
 * pending. */
void worker_set_update(struct worker *worker, struct worker_update *update);
bool worker_has_update(const struct worker *worker);
/* Requests a snapshot and waits for it, at most a second. Returns false if the worker has not written it in that
 * time. */
bool worker_take_snapshot(struct worker *worker);
/* The two halves of worker_take_snapshot(): a caller can request snapshots from all workers before it waits for
 * them. */
void worker_request_snapshot(struct worker *worker);
bool worker_wait_snapshot(struct worker *worker);

int worker_snapshot_init(struct worker *worker); /* 0 or -ENOMEM */
void worker_snapshot_clear(struct worker *worker);
void worker_copy_counters(struct worker *worker); /* called by the worker, or by main after worker_join() */

/* Lets the worker's stream look up connections in the conntrack table (stream.midstream-conntrack). If ctnetlink is
 * missing, logs it; then stream.midstream-policy decides about connections whose start was not seen. */
void worker_open_connections(struct worker *worker, const struct config *config);
void worker_close_connections(struct worker *worker);

/* --- Evictions ------------------------------------------------------------------------------------ */

/* Sets `out` to the number of entries that each table has evicted since the start because its memcap was reached. */
void count_evictions(const struct pipeline *pipeline, uint64_t out[EVICTION_TABLES]);
/* returns the name of the table's memcap setting, such as "flow.memcap" */
const char *eviction_setting(enum eviction_table table);
/* true: all workers share the table; false: each worker has its own */
bool eviction_is_shared(enum eviction_table table);

/* --- Crash report --------------------------------------------------------------------------------- */

/* Installs handlers of fatal signals that record in the engine's memory which worker thread received the signal. 0 or
 * -errno. */
int crash_report_start(void);
/* Called by a worker's thread: allocates a signal stack for the thread, which crash_report_remove_worker() frees.
 * Returns 0 or -errno. */
int crash_report_add_worker(struct engine_memory *memory, unsigned worker, void **stack);
void crash_report_remove_worker(void *stack); /* NULL is allowed */

/* --- Transferred counters ------------------------------------------------------------------------- */

/* Counters of previous engines, which an engine hand-over keeps (transferred_counters.c). */
struct transferred_counters *transferred_counters_new(void); /* NULL: no memory */
void transferred_counters_free(struct transferred_counters *counters);
/* Combines `value` of this engine with the value of previous engines: returns the sum or, for a maximum, the larger
 * value. Returns `value` if previous engines have none; `counters` may be NULL. */
uint64_t transferred_counters_add(struct transferred_counters *counters, const char *name, uint64_t value);
/* Replaces the counters by `values`, which the next engine gets. Returns 0, or -ENOMEM; then some counters are
 * missing. */
int transferred_counters_replace(struct transferred_counters *counters, const struct output_stat *values, size_t count);
void transferred_counters_transfer(struct transfer *t, struct transferred_counters *counters);

#endif
