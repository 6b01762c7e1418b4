/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker thread of a queue: receives a batch, inspects it, and sends the verdicts. The thread owns all data that it
 * uses. Between two batches it handles requests of the main thread: to use a new ruleset, to copy its counters
 * (snapshot), to answer a query of flows, to stop.
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
    /* Limits of one answer to a query: a worker that has packets reads at most QUERY_SAMPLE_BUCKETS buckets (a
     * megabyte) and copies at most QUERY_SAMPLES flows. After a batch of at most QUERY_LIGHT packets it may read four
     * times as many buckets. */
    QUERY_SAMPLE_BUCKETS = 1 << 14,
    QUERY_SAMPLES = 256,
    QUERY_LIGHT = 8,
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

/* Looks up a connection in the conntrack table. The lookup fails for a connection with both source and destination NAT,
 * and for one in another conntrack zone. Some kernels can attach conntrack data to packets, which works for such
 * connections, too. On such a kernel this function requests the data and returns -EAGAIN: the retransmission of the
 * packet then has the data. */
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
    struct stream_options stream;
    int err;

    config_fill(config, stream_settings, NULL, &stream);
    if (stream.conntrack == STREAM_CONNTRACK_NO)
        return;
    worker->conntrack_attachable =
        worker->conntrack_allowed && nfqueue_probe_flags(worker->queue.queue, NFQA_CFG_F_CONNTRACK) == 0;
    err = connection_query_open(&worker->connections);
    if (!err)
        stream_set_connections(worker->pipeline.stream, find_connection, worker);
    else if (worker->index == 0)
        log_warning("cannot query the conntrack table (%s): connections that are idle for longer than "
                    "flow.timeouts.tcp.established are handled by stream.midstream-policy",
                    strerror(-err));
}

void worker_close_connections(struct worker *worker)
{
    connection_query_close(worker->connections);
    worker->connections = NULL;
}

/* Copies flows until the table ends or the query has no room for another page of WORKER_FLOWS. */
static void answer_samples(const struct pipeline *pipeline, struct worker_query *query, int packets)
{
    size_t buckets = packets == 0             ? QUERY_IDLE_BUCKETS
                     : packets <= QUERY_LIGHT ? 4 * QUERY_SAMPLE_BUCKETS
                                              : QUERY_SAMPLE_BUCKETS;
    size_t max = query->sample_room;

    if (packets != 0 && max > QUERY_SAMPLES)
        max = QUERY_SAMPLES;
    query->count = 0;
    query->idle = packets == 0;
    do {
        const struct flow *found[WORKER_FLOWS];
        size_t from = query->cursor, count;

        count = flow_table_list(pipeline->flows, &query->cursor, buckets, found, WORKER_FLOWS);
        buckets -= query->cursor > from && query->cursor - from < buckets ? query->cursor - from : buckets;
        for (size_t i = 0; i < count; i++) {
            const struct flow *flow = found[i];
            struct flow_sample *out = &query->samples[query->count++];

            *out = (struct flow_sample){
                .id = flow->id,
                .start_ns = flow->start_ns,
                .client = flow->client,
                .server = flow->server,
                .client_port = flow->client_port,
                .server_port = flow->server_port,
                .ip_version = flow->ip_version,
                .protocol = flow->protocol,
                .state = flow->state,
                .would_drop = flow->would_drop,
                .flags = flow->flags,
                .application = app_flow_protocol(flow),
            };
            for (enum flow_direction side = 0; side < FLOW_DIRECTIONS; side++) {
                const struct flow_kernel_counts *kernel = flow->kernel;

                out->packets[side] = flow->side[side].packets;
                out->bytes[side] = flow->side[side].bytes;
                if (kernel && kernel->bytes[side] > out->bytes[side]) {
                    out->packets[side] = kernel->packets[side];
                    out->bytes[side] = kernel->bytes[side];
                }
            }
        }
    } while (query->cursor > 0 && buckets > 0 && query->count + WORKER_FLOWS <= max);
}

/* Answers a query in about the time that a batch takes. `packets`: number of packets in the last batch. An idle worker
 * searches a larger part of the flow table. */
static void answer_query(const struct pipeline *pipeline, struct worker_query *query, int packets)
{
    const bool idle = packets == 0;
    const struct flow *found[WORKER_FLOWS], *flow = NULL;
    const struct flow_copy *ended = NULL;

    switch (query->kind) {
    case WORKER_PAGE:
        query->count = flow_table_list(pipeline->flows, &query->cursor, idle ? QUERY_IDLE_BUCKETS : QUERY_BUCKETS,
                                       found, WORKER_FLOWS);
        for (size_t i = 0; i < query->count; i++)
            flow_copy_init(&query->flows[i], found[i], false);
        return;
    case WORKER_SAMPLES:
        answer_samples(pipeline, query, packets);
        return;
    case WORKER_BY_ENDS:
        flow = flow_table_find(pipeline->flows, &query->ends);
        if (!flow)
            ended = ended_flows_find(pipeline->ended, &query->ends, 0);
        break;
    case WORKER_BY_ID:
        /* Flows have no index by id: search the few ended flows first, then the table of live flows. */
        if (query->cursor == 0)
            ended = ended_flows_find(pipeline->ended, NULL, query->id);
        if (!ended)
            flow = flow_table_find_id(pipeline->flows, query->id, &query->cursor,
                                      idle ? QUERY_IDLE_BUCKETS : QUERY_WALK_BUCKETS);
        break;
    }
    query->count = flow || ended;
    if (flow)
        flow_copy_init(&query->flows[0], flow, false);
    else if (ended)
        query->flows[0] = *ended;
}

static uint64_t cpu_time_ns(clockid_t clock)
{
    struct timespec time = { 0 };

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/* Changes the memcap of a module: changes only a limit, or also makes more of the reserved address space accessible by
 * a system call. */
int worker_change_memcap(const struct pipeline *pipeline, enum worker_memcap memcap, size_t size)
{
    switch (memcap) {
    case MEMCAP_FLOW:
        return flow_table_set_memcap(pipeline->flows, size);
    case MEMCAP_STREAM:
        return stream_set_memcap(pipeline->stream, size);
    case MEMCAP_REASSEMBLY:
        return stream_set_reassembly_memcap(pipeline->stream, size);
    case MEMCAP_DEFRAG:
        return defrag_set_memcap(pipeline->defrag, size);
    case MEMCAP_APP:
        return app_set_memcap(pipeline->app, size);
    default:
        return -EINVAL;
    }
}

/* Handles requests of the main thread: a query for flows, a change of a memcap, or a snapshot of the counters.
 * `packets`: number of packets in the last batch. */
static void answer_requests(struct worker *worker, int packets)
{
    struct worker_query *query = atomic_load_explicit(&worker->query, memory_order_acquire);
    struct worker_memcap_request *request = atomic_load_explicit(&worker->memcap_request, memory_order_acquire);
    clockid_t sender_clock;

    if (query) {
        answer_query(&worker->pipeline, query, packets);
        atomic_store_explicit(&worker->query, NULL, memory_order_release);
    }
    if (request) {
        request->error = worker_change_memcap(&worker->pipeline, request->memcap, request->size);
        atomic_store_explicit(&worker->memcap_request, NULL, memory_order_release);
    }
    if (atomic_load_explicit(&worker->snapshot_wanted, memory_order_acquire)) {
        worker_copy_counters(worker);
        worker->snapshot.cpu_ns = cpu_time_ns(CLOCK_THREAD_CPUTIME_ID);
        if (worker->has_sender && pthread_getcpuclockid(worker->sender, &sender_clock) == 0)
            worker->snapshot.cpu_ns += cpu_time_ns(sender_clock);
        atomic_store_explicit(&worker->snapshot_wanted, false, memory_order_release);
    }
}

bool worker_has_query(const struct worker *worker)
{
    return atomic_load_explicit(&worker->query, memory_order_acquire) != NULL;
}

bool worker_request_flows(struct worker *worker, struct worker_query *query)
{
    if (worker_has_query(worker))
        return false; /* the worker still uses the previous query */
    atomic_store_explicit(&worker->query, query, memory_order_release);
    return true;
}

bool worker_query_flows(struct worker *worker, struct worker_query *query)
{
    return worker_request_flows(worker, query) && worker_wait_flows(worker);
}

bool worker_wait_flows(const struct worker *worker)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int i = 0; i < ANSWER_WAIT_MS; i++) {
        if (!atomic_load_explicit(&worker->query, memory_order_acquire))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

bool worker_set_memcap(struct worker *worker, struct worker_memcap_request *request)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    if (atomic_load_explicit(&worker->memcap_request, memory_order_acquire))
        return false; /* the worker still uses the previous request */
    atomic_store_explicit(&worker->memcap_request, request, memory_order_release);
    for (int i = 0; i < ANSWER_WAIT_MS; i++) {
        if (!atomic_load_explicit(&worker->memcap_request, memory_order_acquire))
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

/* Returns the ruleset for the next batch. If there is an update, switches to its ruleset and settings first: between
 * two batches no data of the worker points into the old ruleset, because flows and transactions refer to rules by
 * number. */
static const struct ruleset *current_ruleset(struct worker *worker)
{
    struct worker_update *update = atomic_load_explicit(&worker->update, memory_order_acquire);
    struct pipeline *pipeline = &worker->pipeline;
    const struct ruleset *ruleset;

    if (!update)
        return atomic_load_explicit(&worker->ruleset, memory_order_relaxed);
    ruleset = update->ruleset;
    detector_switch(pipeline->detector, update->room);
    file_engine_set_magic(app_file_engine(pipeline->app), &update->magic);
    pipeline_set_ruleset(pipeline, ruleset);
    if (update->has_settings) {
        flow_table_set_timeouts(pipeline->flows, &update->flow);
        policy_set_exceptions(pipeline->policy, update->exceptions);
        overload_set_options(&worker->watch.overload, &update->overload);
        pipeline->shed_limits = update->overload.limits;
    }
    if (update->outputs)
        output_port_change(pipeline->output, update->outputs);
    if (ruleset_needs_conntrack(ruleset) && worker->conntrack_allowed) {
        worker->conntrack_until_ns = 0; /* no time limit, because the ruleset needs conntrack data */
        nfqueue_start_conntrack(worker->capture);
    }
    atomic_store_explicit(&worker->ruleset, ruleset, memory_order_release);
    atomic_store_explicit(&worker->update, NULL, memory_order_release); /* the next reload may now write to it */
    return ruleset;
}

static void beat(struct worker *worker)
{
    atomic_fetch_add_explicit(&worker->epoch, 1, memory_order_release);
    if (worker->memory)
        heartbeat_beat(&worker->memory->worker[worker->index]);
}

static void set_state(struct worker *worker, enum heartbeat_state state)
{
    if (worker->memory)
        atomic_store(&worker->memory->worker[worker->index].state, state);
}

/* Receives a batch, inspects it and sends the verdicts. Returns the number of packets; 0 if none arrived within
 * `wait_ms`; -errno if the queue cannot be used any more. */
static int process_batch(struct worker *worker, int wait_ms)
{
    struct queue_watch *watch = &worker->watch;
    struct packet *batch[CAPTURE_MAX_BATCH];
    const struct ruleset *ruleset;
    uint64_t before_ns, now_ns;
    int count, err;

    queue_watch_receiving(watch, clock_monotonic_ns());
    count = capture_receive(worker->capture, batch, worker->queue.batch ? worker->queue.batch : 1, wait_ms);
    if (count >= 0 || count == -ENOBUFS)
        queue_watch_received(watch, worker->capture, batch, count, clock_monotonic_ns());
    ruleset = current_ruleset(worker); /* also without packets, so that the old ruleset is released */
    if (count <= 0)
        /* ENOBUFS: the kernel dropped packets, which is counted and no error of the worker. */
        return count == -ENOBUFS ? 0 : count;
    pipeline_set_mode(&worker->pipeline, (enum ips_mode)atomic_load_explicit(&worker->mode, memory_order_relaxed));
    before_ns = watch->packet_budget_ns > 0 ? clock_monotonic_ns() : 0;
    for (int i = 0; i < count; i++) {
        pipeline_packet(&worker->pipeline, ruleset, batch[i], i + 1 < count ? batch[i + 1] : NULL);
        if (watch->packet_budget_ns > 0) {
            now_ns = clock_monotonic_ns();
            queue_watch_time(watch, now_ns - before_ns);
            before_ns = now_ns;
        }
    }
    if (worker->memory)
        heartbeat_clear_packet(&worker->memory->worker[worker->index]);
    err = capture_send_verdicts(worker->capture, batch, (size_t)count);
    return err ? err : count;
}

/* Ends flows that have timed out: at most two for each packet of the batch (a packet starts one flow at most), and more
 * when the worker is idle. Also gives free memory back once a second, and starts and stops conntrack data. */
static void expire_flows(struct worker *worker, int count)
{
    size_t budget = count > 0 ? 2 * (size_t)count : WORKER_IDLE_EXPIRE;
    uint64_t now_ns = clock_realtime_ns();

    pipeline_expire(&worker->pipeline, current_ruleset(worker), now_ns, budget);
    if (now_ns - worker->trimmed_ns >= NS_PER_SECOND) { /* unsigned: also when the clock was set back */
        worker->trimmed_ns = now_ns;
        pipeline_trim(&worker->pipeline);
    }
    /* Attaching conntrack data costs time for each packet, so the worker requests it for a limited time: after the
     * start, because connections may be older than the program, and after a failed lookup. */
    if (worker->conntrack_wanted && nfqueue_start_conntrack(worker->capture) == 0)
        worker->conntrack_until_ns = now_ns + CONNTRACK_SECONDS * NS_PER_SECOND;
    worker->conntrack_wanted = false;
    if (worker->conntrack_until_ns != 0 && now_ns >= worker->conntrack_until_ns) {
        worker->conntrack_until_ns = 0;
        nfqueue_stop_conntrack(worker->capture);
    }
}

/* Reads reports about offloaded flows and updates the flows. `all`: reads all reports, otherwise at most
 * WORKER_REPORTS. */
static void read_reports(struct worker *worker, bool all)
{
    const struct ruleset *ruleset = current_ruleset(worker);
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

/* Updates the state of overload from the age of the packets, and sets the classes of flows to shed. Publishes counters
 * for the main thread. */
static void update_overload(struct worker *worker, int count)
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

/* Publishes counters for the attachment thread and the queue monitor, and applies the attachment's request for separate
 * verdict messages. */
static void update_firewall_watch(struct worker *worker)
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

/* Processes the queue until a stop is requested. Then inspects the packets that still wait, because closing the queue
 * would drop them, in a limited number of batches in case packets keep arriving. If worker->leave is set, the next
 * engine inspects them instead. */
static void process_queue(struct worker *worker)
{
    int count = 0;

    while (count >= 0 && !atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
        count = process_batch(worker, WORKER_WAIT_MS);
        update_overload(worker, count);
        read_reports(worker, false);
        expire_flows(worker, count);
        update_firewall_watch(worker);
        beat(worker);
        answer_requests(worker, count);
    }
    bool leaves = atomic_load(&worker->leave);

    for (int i = 0; i < WORKER_LAST_BATCHES && count >= 0 && !leaves; i++) {
        count = process_batch(worker, worker->last_wait_ms);
        beat(worker);
        if (count == 0)
            break;
    }
    int err = worker->has_sender ? nfqueue_wait_sent(worker->capture) : 0;

    count = count < 0 ? count : err;
    set_state(worker, HEARTBEAT_ENDED);
    if (count < 0)
        atomic_store(&worker->error, count);
    read_reports(worker, true);
    if (!leaves)
        pipeline_finish(&worker->pipeline, current_ruleset(worker), clock_realtime_ns());
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    void *stack = NULL;
    char name[16];
    int err;

    /* Each thread sets its own name, because setting the name of another thread needs access to /proc. */
    snprintf(name, sizeof(name), "worker-%c%u", worker->is_ring ? 'r' : 'q', (unsigned)worker->queue.queue);
    pthread_setname_np(pthread_self(), name);
    if (worker->affinity)
        affinity_apply_worker(worker->affinity, worker->index);
    if (worker->memory && crash_report_add_worker(worker->memory, worker->index, &stack))
        stack = NULL; /* without the signal stack, a crash of this thread is not attributed to a packet */
    err = sandbox_enter_worker(worker->sandbox);
    if (err) {
        atomic_store(&worker->error, err);
        crash_report_remove_worker(stack);
        return NULL;
    }
    set_state(worker, HEARTBEAT_RUNNING);
    process_queue(worker);
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

static int start_sender(struct worker *worker)
{
    const struct timespec pause = { .tv_nsec = 100000 };
    int err, state;

    if (worker->is_ring || !worker->affinity || worker->affinity->sender_count == 0)
        return 0;
    err = nfqueue_add_sender(worker->capture);
    if (!err)
        err = -pthread_create(&worker->sender, NULL, run_sender, worker);
    if (err)
        return err;
    /* Wait until the sender thread runs: a worker that used a sender that does not run could wait forever. */
    while ((state = atomic_load(&worker->sender_state)) == SENDER_STARTS)
        nanosleep(&pause, NULL);
    if (state != SENDER_RUNS) {
        pthread_join(worker->sender, NULL);
        return state;
    }
    worker->has_sender = true;
    return 0;
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
        err = -pthread_create(&worker->thread, NULL, run_worker, worker);
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
