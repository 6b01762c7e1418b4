/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker thread of a queue: receives a batch, inspects it, and sends the verdicts. It owns all data that it uses;
 * between two batches it handles requests of the main thread: a new ruleset, a snapshot of its counters, stop.
 */
#include "sluice/worker.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluice/affinity.h"
#include "sluice/app.h"
#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/connection_query.h"
#include "sluice/conntrack.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/file.h"
#include "sluice/flow.h"
#include "sluice/inject.h"
#include "sluice/log.h"
#include "sluice/overload.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/ring.h"
#include "sluice/sandbox.h"
#include "sluice/stream.h"
#include "sluice/supervisor_channel.h"

enum {
    ANSWER_WAIT_MS = 1000,
    QUERY_BUCKETS = 1024,
    QUERY_WALK_BUCKETS = 256,
    QUERY_IDLE_BUCKETS = 1 << 17,
    CONNTRACK_SECONDS = 60
};

int worker_snapshot_init(struct worker *worker)
{
    struct worker_snapshot *snapshot = &worker->snapshot;

    snapshot->decode = calloc(decode_counter_count(), sizeof(*snapshot->decode));
    snapshot->defrag = calloc(defrag_counter_count(), sizeof(*snapshot->defrag));
    snapshot->flow = calloc(flow_counter_count(), sizeof(*snapshot->flow));
    snapshot->stream = calloc(stream_counter_count(), sizeof(*snapshot->stream));
    snapshot->app = calloc(app_counter_count(), sizeof(*snapshot->app));
    return snapshot->app && snapshot->decode && snapshot->defrag && snapshot->flow && snapshot->stream ? 0 : -ENOMEM;
}

void worker_snapshot_clear(struct worker *worker)
{
    free(worker->snapshot.decode);
    free(worker->snapshot.defrag);
    free(worker->snapshot.flow);
    free(worker->snapshot.stream);
    free(worker->snapshot.app);
    worker->snapshot = (struct worker_snapshot){ 0 };
}

void worker_copy_counters(struct worker *worker)
{
    struct worker_snapshot *snapshot = &worker->snapshot;
    const struct pipeline *pipeline = &worker->pipeline;

    if (worker->capture)
        snapshot->capture = *capture_counters(worker->capture);
    snapshot->pipeline = pipeline->counters;
    queue_watch_copy(&worker->watch, &snapshot->watch);
    snapshot->policy = *policy_counters(pipeline->policy);
    snapshot->detect = *detector_counters(pipeline->detector);
    snapshot->files = *file_engine_counts(app_file_engine(pipeline->app));
    if (pipeline->injector)
        snapshot->inject = *injector_counters(pipeline->injector);
    for (size_t i = 0; i < decode_counter_count(); i++)
        snapshot->decode[i] = decode_counter_value(pipeline->decoder, i);
    for (size_t i = 0; i < flow_counter_count(); i++)
        snapshot->flow[i] = flow_counter_value(pipeline->flows, i);
    for (size_t i = 0; i < stream_counter_count(); i++)
        snapshot->stream[i] = stream_counter_value(pipeline->stream, i);
    for (size_t i = 0; i < app_counter_count(); i++)
        snapshot->app[i] = app_counter_value(pipeline->app, i);
    for (size_t i = 0; i < defrag_counter_count(); i++)
        snapshot->defrag[i] = defrag_counter_value(pipeline->defrag, i);
}

/* Looks up a connection in the conntrack table. That fails for a connection with source and destination NAT, and in
 * other conntrack zones. As the kernel can attach the data of any connection to its packets, request that if it is
 * supported, so that the retransmission of this packet has it. */
static int find_connection(void *user, const struct packet *pkt, struct conntrack *out)
{
    struct worker *worker = user;
    int err = connection_query_find(worker->connections, pkt, out);

    if (err != -ENOENT || !worker->conntrack_attachable || nfqueue_flags(worker->capture) & NFQA_CFG_F_CONNTRACK)
        return err;
    worker->conntrack_wanted = true;
    return -EAGAIN;
}

void worker_open_connections(struct worker *worker, const struct config *config)
{
    int err;

    if (strcmp(config_string(config, "stream.midstream-conntrack"), "no") == 0)
        return;
    worker->conntrack_attachable =
        worker->conntrack_allowed && nfqueue_probe_flags(worker->queue.queue, NFQA_CFG_F_CONNTRACK) == 0;
    err = connection_query_open(&worker->connections);
    if (!err)
        stream_set_connections(worker->pipeline.stream, find_connection, worker);
    else if (worker->index == 0)
        log_warning("conntrack's table can't be searched (%s): connections that are idle for longer than "
                    "flow.timeouts.tcp.established are left to stream.midstream-policy",
                    strerror(-err));
}

void worker_close_connections(struct worker *worker)
{
    connection_query_close(worker->connections);
    worker->connections = NULL;
}

/* Answers a query for one flow with a live or an ended one. */
static void answer_one(struct worker_query *query, const struct flow *flow, const struct flow_copy *ended)
{
    query->count = flow || ended;
    if (flow)
        flow_copy_init(&query->flows[0], flow, false);
    else if (ended)
        query->flows[0] = *ended;
}

static void answer_by_ends(const struct pipeline *pipeline, struct worker_query *query)
{
    const struct flow *flow = flow_table_find(pipeline->flows, &query->ends);

    answer_one(query, flow, flow ? NULL : ended_flows_find(pipeline->ended, &query->ends, 0));
}

/* There is no index by id: searches the few ended flows first, then walks over the live ones. */
static void answer_by_id(const struct pipeline *pipeline, struct worker_query *query, size_t buckets)
{
    const struct flow_copy *ended = query->cursor == 0 ? ended_flows_find(pipeline->ended, NULL, query->id) : NULL;
    const struct flow *flow = NULL;

    if (ended)
        query->cursor = 0;
    else
        flow = flow_table_find_id(pipeline->flows, query->id, &query->cursor, buckets);
    answer_one(query, flow, ended);
}

static void answer_page(const struct pipeline *pipeline, struct worker_query *query, size_t buckets)
{
    const struct flow *found[WORKER_FLOWS];

    query->count = flow_table_list(pipeline->flows, &query->cursor, buckets, found, WORKER_FLOWS);
    for (size_t i = 0; i < query->count; i++)
        flow_copy_init(&query->flows[i], found[i], false);
}

/* Answers within the time of a batch; an idle worker takes up to a hundred times as long. */
static void answer_query(struct worker *worker, struct worker_query *query, bool idle)
{
    switch (query->kind) {
    case WORKER_PAGE:
        answer_page(&worker->pipeline, query, idle ? QUERY_IDLE_BUCKETS : QUERY_BUCKETS);
        break;
    case WORKER_BY_ENDS:
        answer_by_ends(&worker->pipeline, query);
        break;
    case WORKER_BY_ID:
        answer_by_id(&worker->pipeline, query, idle ? QUERY_IDLE_BUCKETS : QUERY_WALK_BUCKETS);
        break;
    }
}

static void answer_main(struct worker *worker, bool idle)
{
    struct worker_query *query = atomic_load_explicit(&worker->query, memory_order_acquire);

    if (query) {
        answer_query(worker, query, idle);
        atomic_store_explicit(&worker->query, NULL, memory_order_release);
    }
    if (atomic_load_explicit(&worker->snapshot_wanted, memory_order_acquire)) {
        worker_copy_counters(worker);
        atomic_store_explicit(&worker->snapshot_wanted, false, memory_order_release);
    }
}

bool worker_has_query(const struct worker *worker)
{
    return atomic_load_explicit(&worker->query, memory_order_acquire) != NULL;
}

bool worker_query_flows(struct worker *worker, struct worker_query *query)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    if (worker_has_query(worker))
        return false; /* the worker still uses the previous one */
    atomic_store_explicit(&worker->query, query, memory_order_release);
    for (int i = 0; i < ANSWER_WAIT_MS; i++) {
        if (!atomic_load_explicit(&worker->query, memory_order_acquire))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void worker_request_snapshot(struct worker *worker)
{
    atomic_store_explicit(&worker->snapshot_wanted, true, memory_order_release);
}

bool worker_take_snapshot(struct worker *worker)
{
    worker_request_snapshot(worker);
    return worker_wait_snapshot(worker);
}

bool worker_wait_snapshot(struct worker *worker)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int i = 0; i < ANSWER_WAIT_MS; i++) {
        if (!atomic_load_explicit(&worker->snapshot_wanted, memory_order_acquire))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

void worker_set_update(struct worker *worker, struct worker_update *update)
{
    atomic_store_explicit(&worker->update, update, memory_order_release);
}

bool worker_has_update(const struct worker *worker)
{
    return atomic_load_explicit(&worker->update, memory_order_acquire) != NULL;
}

/* Requests conntrack data without time limit while the ruleset needs them. */
static void keep_conntrack(struct worker *worker, const struct ruleset *ruleset)
{
    if (!ruleset_needs_conntrack(ruleset) || !worker->conntrack_allowed)
        return;
    worker->conntrack_until_ns = 0;
    nfqueue_start_conntrack(worker->capture);
}

static void take_settings(struct worker *worker, const struct worker_update *update)
{
    if (!update->has_settings)
        return;
    flow_table_set_timeouts(worker->pipeline.flows, &update->flow);
    policy_set_exceptions(worker->pipeline.policy, update->exceptions);
    overload_set_options(&worker->watch.overload, &update->overload);
    worker->pipeline.shed_limits = update->overload.limits;
}

/* Switches to a new ruleset and settings. Between two batches nothing of the worker points into the old ruleset: flows
 * and transactions refer to rules by number. */
static void take_update(struct worker *worker)
{
    struct worker_update *update = atomic_load_explicit(&worker->update, memory_order_acquire);

    if (!update)
        return;
    detector_switch(worker->pipeline.detector, update->room);
    file_engine_give_magic(app_file_engine(worker->pipeline.app), &update->magic);
    pipeline_set_ruleset(&worker->pipeline, update->ruleset);
    take_settings(worker, update);
    keep_conntrack(worker, update->ruleset);
    atomic_store_explicit(&worker->ruleset, update->ruleset, memory_order_release);
    atomic_store_explicit(&worker->update, NULL, memory_order_release);
}

/* Returns the ruleset for the next batch. */
static const struct ruleset *current_ruleset(struct worker *worker)
{
    take_update(worker);
    return atomic_load_explicit(&worker->ruleset, memory_order_relaxed);
}

static void let_go(struct worker *worker)
{
    if (worker->memory)
        heartbeat_clear_packet(&worker->memory->worker[worker->index]);
}

static void beat(struct worker *worker)
{
    atomic_fetch_add_explicit(&worker->epoch, 1, memory_order_release);
    if (worker->memory)
        heartbeat_beat(&worker->memory->worker[worker->index]);
}

static void tell_state(struct worker *worker, enum heartbeat_state state)
{
    if (worker->memory)
        atomic_store(&worker->memory->worker[worker->index].state, state);
}

static int receive(struct worker *worker, struct packet **batch, int wait_ms)
{
    int count;

    queue_watch_receiving(&worker->watch, clock_monotonic_ns());
    count = capture_receive(worker->capture, batch, worker->queue.batch ? worker->queue.batch : 1, wait_ms);
    if (count >= 0 || count == -ENOBUFS)
        queue_watch_received(&worker->watch, worker->capture, batch, count, clock_monotonic_ns());
    return count;
}

static void judge(struct worker *worker, const struct ruleset *ruleset, struct packet **batch, int count)
{
    for (int i = 0; i < count; i++)
        pipeline_packet(&worker->pipeline, ruleset, batch[i], i + 1 < count ? batch[i + 1] : NULL);
}

/* Inspects a batch and measures the time of each packet (detect.packet-budget). */
static void judge_by_budget(struct worker *worker, const struct ruleset *ruleset, struct packet **batch, int count)
{
    uint64_t before_ns = clock_monotonic_ns();

    for (int i = 0; i < count; i++) {
        uint64_t now_ns;

        pipeline_packet(&worker->pipeline, ruleset, batch[i], i + 1 < count ? batch[i + 1] : NULL);
        now_ns = clock_monotonic_ns();
        queue_watch_time(&worker->watch, now_ns - before_ns);
        before_ns = now_ns;
    }
}

/* Receives and inspects a batch, and sends the verdicts. Returns the number of packets, or -errno when the queue is
 * closed. */
static int do_batch(struct worker *worker, int wait_ms)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    int count = receive(worker, batch, wait_ms);
    const struct ruleset *ruleset = current_ruleset(worker); /* also without packets, to release the old one */
    int err = 0;

    if (count <= 0)
        return count == -ENOBUFS ? 0 : count; /* the kernel dropped packets: counted, not an error */
    pipeline_set_mode(&worker->pipeline, (enum ips_mode)atomic_load_explicit(&worker->mode, memory_order_relaxed));
    if (worker->watch.packet_budget_ns > 0)
        judge_by_budget(worker, ruleset, batch, count);
    else
        judge(worker, ruleset, batch, count);
    let_go(worker);
    err = capture_send_verdicts(worker->capture, batch, (size_t)count);
    return err ? err : count;
}

/* Conntrack data costs time for each packet, so it is requested for a limited time: after the start, for connections
 * older than the program, and after a failed lookup. */
static void switch_conntrack(struct worker *worker, uint64_t now_ns)
{
    if (worker->conntrack_wanted && nfqueue_start_conntrack(worker->capture) == 0)
        worker->conntrack_until_ns = now_ns + CONNTRACK_SECONDS * NS_PER_SECOND;
    worker->conntrack_wanted = false;
    if (worker->conntrack_until_ns == 0 || now_ns < worker->conntrack_until_ns)
        return;
    worker->conntrack_until_ns = 0;
    nfqueue_stop_conntrack(worker->capture);
}

/* Ends timed-out flows: twice as many as a batch can start, and more when the worker is idle. */
static void expire(struct worker *worker, const struct ruleset *ruleset, int count)
{
    size_t budget = count > 0 ? 2 * (size_t)count : WORKER_IDLE_EXPIRE;
    uint64_t now_ns = clock_realtime_ns();

    pipeline_expire(&worker->pipeline, ruleset, now_ns, budget);
    switch_conntrack(worker, now_ns);
}

/* Reads the reports about offloaded flows: all, or a limited number. */
static void take_reports(struct worker *worker, const struct ruleset *ruleset, bool all)
{
    const struct flow_report *report;
    uint64_t now_ns;
    size_t size;

    if (!worker->reports || !ruleset || !(report = ring_peek(worker->reports, &size)))
        return;
    now_ns = clock_realtime_ns();
    for (int i = 0; report && (all || i < WORKER_REPORTS); i++) {
        pipeline_update_offloaded(&worker->pipeline, ruleset, report, now_ns);
        ring_release(worker->reports);
        report = ring_peek(worker->reports, &size);
    }
}

/* Updates overload by the age of the packets, and sets the classes to shed. */
static void watch_queue(struct worker *worker, int count)
{
    struct pipeline *pipeline = &worker->pipeline;
    uint64_t evicted[EVICTION_TABLES];

    pipeline->shedding = queue_watch_update(&worker->watch, count, pipeline->counters.shed, clock_monotonic_ns());
    count_evictions(pipeline, evicted);
    for (unsigned i = 0; i < EVICTION_TABLES; i++)
        atomic_store_explicit(&worker->evicted[i], evicted[i], memory_order_relaxed);
    atomic_store_explicit(&worker->slow_packets, worker->watch.slow_packets, memory_order_relaxed);
    atomic_store_explicit(&worker->slow_evaluations, detector_counters(pipeline->detector)->over_budget,
                          memory_order_relaxed);
}

/* Exchanges counters and requests with the thread that watches the sluice table. */
static void meet_attachment(struct worker *worker)
{
    uint64_t until_ns = atomic_load_explicit(&worker->exact_until_ns, memory_order_relaxed);

    atomic_store_explicit(&worker->verdict_lost, capture_counters(worker->capture)->verdict_lost, memory_order_relaxed);
    atomic_store_explicit(&worker->missing, capture_counters(worker->capture)->lost, memory_order_relaxed);
    atomic_store_explicit(&worker->routed, capture_counters(worker->capture)->routed, memory_order_relaxed);
    if (until_ns > 0 || worker->exact) {
        worker->exact = clock_monotonic_ns() < until_ns;
        nfqueue_set_exact(worker->capture, worker->exact);
    }
}

/* Runs until stop is requested, then inspects the packets that still wait, because closing the queue would drop them;
 * the number of these batches is limited in case packets keep arriving. */
static void loop(struct worker *worker)
{
    int count = 0;

    while (count >= 0 && !atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
        count = do_batch(worker, WORKER_WAIT_MS);
        watch_queue(worker, count);
        take_reports(worker, current_ruleset(worker), false);
        expire(worker, current_ruleset(worker), count);
        meet_attachment(worker);
        beat(worker);
        answer_main(worker, count == 0);
    }
    bool leaves = atomic_load(&worker->leave);

    for (int i = 0; i < WORKER_LAST_BATCHES && count >= 0 && !leaves; i++) {
        count = do_batch(worker, 0);
        beat(worker);
        if (count == 0)
            break;
    }
    int err = worker->has_sender ? nfqueue_wait_sent(worker->capture) : 0;

    count = count < 0 ? count : err;
    tell_state(worker, HEARTBEAT_ENDED);
    if (count < 0)
        atomic_store(&worker->error, count);
    take_reports(worker, current_ruleset(worker), true);
    if (!leaves)
        pipeline_finish(&worker->pipeline, current_ruleset(worker), clock_realtime_ns());
}

/* Called by the thread itself: setting the name of another thread needs access to /proc. */
static void name_thread(const struct worker *worker)
{
    char name[16];

    snprintf(name, sizeof(name), "worker-q%u", (unsigned)worker->queue.queue);
    pthread_setname_np(pthread_self(), name);
}

static void *run(void *arg)
{
    struct worker *worker = arg;
    void *stack = NULL;
    int err;

    name_thread(worker);
    if (worker->affinity)
        affinity_apply_worker(worker->affinity, worker->index);
    if (worker->memory && crash_report_add_worker(worker->memory, worker->index, &stack))
        stack = NULL; /* then no packet is suspected after a crash */
    err = sandbox_enter_worker(worker->sandbox);
    if (err) {
        atomic_store(&worker->error, err);
        crash_report_remove_worker(stack);
        return NULL;
    }
    tell_state(worker, HEARTBEAT_RUNNING);
    loop(worker);
    crash_report_remove_worker(stack);
    return NULL;
}

/* --- Verdict sender ------------------------------------------------------------------------------- */

static void *run_sender(void *arg)
{
    struct worker *worker = arg;
    char name[16];
    int err;

    snprintf(name, sizeof(name), "verdict-q%u", (unsigned)worker->queue.queue);
    pthread_setname_np(pthread_self(), name);
    affinity_apply_sender(worker->affinity);
    err = sandbox_enter_worker(worker->sandbox);
    atomic_store(&worker->sender_state, err ? err : SENDER_RUNS);
    if (!err)
        nfqueue_run_sender(worker->capture);
    return NULL;
}

/* The worker uses the sender only after it has started: otherwise it could wait without end. */
static int wait_for_sender(struct worker *worker)
{
    const struct timespec pause = { .tv_nsec = 100000 };
    int state;

    while ((state = atomic_load(&worker->sender_state)) == SENDER_STARTS)
        nanosleep(&pause, NULL);
    if (state == SENDER_RUNS)
        return 0;
    pthread_join(worker->sender, NULL);
    return state;
}

static int start_sender(struct worker *worker)
{
    int err;

    if (!worker->affinity || worker->affinity->sender_count == 0)
        return 0;
    err = nfqueue_add_sender(worker->capture);
    if (!err)
        err = -pthread_create(&worker->sender, NULL, run_sender, worker);
    if (!err)
        err = wait_for_sender(worker);
    worker->has_sender = err == 0;
    return err;
}

static void stop_sender(struct worker *worker)
{
    if (!worker->has_sender)
        return;
    nfqueue_stop_sender(worker->capture);
    pthread_join(worker->sender, NULL);
    worker->has_sender = false;
}

int worker_start(struct worker *worker)
{
    int err = start_sender(worker);

    if (!err)
        err = -pthread_create(&worker->thread, NULL, run, worker);
    worker->started = err == 0;
    if (err)
        stop_sender(worker);
    return err;
}

void worker_join(struct worker *worker)
{
    pthread_join(worker->thread, NULL);
    stop_sender(worker);
}
