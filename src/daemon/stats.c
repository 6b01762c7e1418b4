/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes counters as a stats event. A counter that Suricata also has gets Suricata's name; those of queues and verdicts
 * are below "queue.N" and "ips". Names with a queue's number are allocated once: the output keeps pointers to them.
 */
#include "sluice/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/arena.h"
#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/dataset.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/exception.h"
#include "sluice/file.h"
#include "sluice/file_store.h"
#include "sluice/flow.h"
#include "sluice/host.h"
#include "sluice/inject.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/stream.h"
#include "sluice/supervisor_channel.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "attachment.h"
#include "offload_follower.h"
#include "queue_monitor.h"
#include "reload.h"

enum { FIXED_STATS = 256, STATS_PER_QUEUE = 38, FIXED_THREAD_STATS = 43 };

/* Memcaps of all workers together, in bytes. */
struct stats_limits {
    uint64_t flow, stream, reassembly, defrag, app_layer;
};

/* Counters of a further output, below output.destinations.NAME. The last two are gauges. */
static const char *const destination_fields[] = { "events",   "delivered", "lost_full", "lost_error",
                                                  "rejected", "connects",  "waiting",   "connected" };
enum { DESTINATION_FIELDS = sizeof(destination_fields) / sizeof(destination_fields[0]) };

struct stats {
    const struct pipeline_shared *shared;
    const struct attachment *attachment;             /* NULL: the sluice table is not monitored */
    const struct offload_follower *offload_follower; /* NULL: no flows are offloaded */
    const struct engine_memory *memory;              /* NULL: no supervisor */
    const struct queue_monitor *monitor;             /* NULL: queues are not monitored */
    const struct reload *reload;                     /* NULL: rules cannot be reloaded */
    struct stats_limits limits;
    /* One for each worker: age counts at the last event; percentiles are of the packets since then. */
    struct queue_age_counts *ages;
    struct arena *arena;
    struct output_stat *values;
    size_t count, capacity;
    const char **decode_names; /* "decoder." + decode_counter_name() */
    const char **reason_names; /* "ips.drop_reason." + name; then "ips.would_drop_reason." + name */
    const char **queue_names;  /* STATS_PER_QUEUE names for each worker */
    /* Names below "threads.": thread_capacity of each worker, in the order in which add_thread() adds its counters;
     * NULL until they are needed. */
    const char **thread_names;
    size_t thread_capacity;
    unsigned workers;
    bool queues, decoder_events, stream_events;
    bool firewall; /* firewall rules are enabled */
    /* The counters were sent to the next engine: do not add the counters of the previous engine again. */
    bool handed_over;
    bool exceptions; /* report how often each exception policy was applied */
    bool threads;    /* stats events have the counters of each worker (eve.types.stats.threads) */
    const char *exception_names[EXCEPTION_COUNT][EXCEPTION_POLICY_COUNT];
    const char *destination_names[OUTPUT_MAX_DESTINATIONS][DESTINATION_FIELDS]; /* NULL: not needed yet */
    char destination_of[OUTPUT_MAX_DESTINATIONS]
                       [64]; /* the output that destination_names are of: a reload changes it */
};

static const char uptime_name[] = "uptime"; /* name of a value that is handed over with the counters */

/* The names of the counters of one queue; add_queue() lists the values in the same order. */
static const char *const queue_fields[] = {
    "packets",
    "bytes",
    "accepted",
    "dropped",
    "repeated",
    "routed",
    "replaced",
    "truncated",
    "gso",
    "segmented",
    "marked",
    "looping",
    "receive_calls",
    "send_calls",
    "given_sends",
    "receive_overruns",
    "verdict_lost",
    "verdict_errors",
    "malformed_messages",
    "lost",
    "ring_full",
    "link_losses",
    "ring_bytes",
    "conntrack",
    "full_batches",
    "age_us",
    "age_p50_us",
    "age_p99_us",
    "age_max_us",
    "overloaded",
    "overloads",
    "cpu_us",
    "length",
    "waiting",
    "queue_dropped",
    "user_dropped",
    "id_sequence",
};
enum { QUEUE_FIELDS = sizeof(queue_fields) / sizeof(queue_fields[0]) };
_Static_assert(sizeof(queue_fields) / sizeof(queue_fields[0]) <= STATS_PER_QUEUE, "names of queue counters");

/* Returns the name of a counter, for example ips.drop_reason.flow_drop for the reason "flow drop"; NULL: out of
 * memory. */
static const char *reason_path(struct stats *stats, const char *group, const char *reason)
{
    const char *of_firewall = strncmp(reason, "firewall ", 9) == 0 ? reason + 9 : NULL;
    char *path = of_firewall ? arena_printf(stats->arena, "firewall.%s.%s", group, of_firewall)
                             : arena_printf(stats->arena, "ips.%s.%s", group, reason);

    for (char *at = path; at && *at; at++) {
        if (*at == ' ' || *at == '-')
            *at = '_';
    }
    return path;
}

/* Names as in Suricata, for example exception_policy.tcp.midstream.pass_flow. The causes below ips exist only in
 * Sluice. */
static const char *const exception_paths[EXCEPTION_COUNT] = {
    [EXCEPTION_DEFRAG_MEMCAP] = "exception_policy.defrag.memcap",
    [EXCEPTION_FLOW_MEMCAP] = "exception_policy.flow.memcap",
    [EXCEPTION_STREAM_MEMCAP] = "exception_policy.tcp.ssn_memcap",
    [EXCEPTION_STREAM_REASSEMBLY] = "exception_policy.tcp.reassembly",
    [EXCEPTION_STREAM_MIDSTREAM] = "exception_policy.tcp.midstream",
    [EXCEPTION_STREAM_INVALID] = "ips.exception.stream_invalid",
    [EXCEPTION_APP_ERROR] = "exception_policy.app_layer.error",
    [EXCEPTION_APP_MEMCAP] = "ips.exception.app_layer_memcap",
    [EXCEPTION_OVERLOAD] = "ips.exception.overload",
    [EXCEPTION_APP_AMBIGUOUS] = "ips.exception.app_layer_ambiguous",
};

static void name_exceptions(struct stats *stats)
{
    for (enum exception_cause cause = EXCEPTION_NONE + 1; cause < EXCEPTION_COUNT; cause++) {
        for (enum exception_policy policy = 0; policy < EXCEPTION_POLICY_COUNT; policy++)
            stats->exception_names[cause][policy] =
                arena_printf(stats->arena, "%s.%s", exception_paths[cause], exception_policy_name(policy));
    }
}

static void read_limits(const struct config *config, struct stats_limits *out)
{
    struct inspection_options inspection = { 0 };
    struct stream_options stream = { 0 };
    struct defrag_options defrag = { 0 };
    struct flow_options flow = { 0 };

    config_fill(config, inspection_settings, NULL, &inspection);
    config_fill(config, stream_settings, NULL, &stream);
    config_fill(config, defrag_settings, NULL, &defrag);
    config_fill(config, flow_settings, NULL, &flow);
    *out = (struct stats_limits){
        .flow = flow.memcap,
        .stream = stream.memcap,
        .reassembly = stream.reassembly_memcap,
        .defrag = defrag.memcap,
        .app_layer = inspection.app_memcap,
    };
}

int stats_new(struct stats **out, unsigned workers, bool queues, const struct config *config,
              const struct pipeline_shared *shared)
{
    struct stats *stats = calloc(1, sizeof(*stats));
    struct eve_options events = { 0 };
    struct firewall_rules_options firewall = { .enabled = false };
    struct daemon_options options;

    if (!stats)
        return -ENOMEM;
    config_fill(config, daemon_settings, NULL, &options);
    stats->arena = arena_new(0);
    if (!stats->arena)
        goto fail;
    stats->workers = workers;
    stats->shared = shared;
    stats->queues = queues;
    stats->decoder_events = options.stats_decoder_events;
    stats->stream_events = options.stats_stream_events;
    stats->exceptions = options.stats_exceptions;
    config_fill(config, eve_settings, NULL, &events);
    stats->threads = events.stats.threads;
    config_fill(config, firewall_rules_settings, NULL, &firewall);
    stats->firewall = firewall.enabled;
    stats->thread_capacity = FIXED_THREAD_STATS + DROP_REASON_COUNT + decode_counter_count() + defrag_counter_count() +
                             flow_counter_count() + stream_counter_count() + app_counter_count();
    read_limits(config, &stats->limits);
    stats->capacity = FIXED_STATS + 2 * DROP_REASON_COUNT + decode_counter_count() + defrag_counter_count() +
                      flow_counter_count() + stream_counter_count() + app_counter_count() +
                      EXCEPTION_COUNT * EXCEPTION_POLICY_COUNT + (size_t)workers * STATS_PER_QUEUE +
                      workers * stats->thread_capacity + (size_t)OUTPUT_MAX_DESTINATIONS * DESTINATION_FIELDS;
    stats->values = calloc(stats->capacity, sizeof(*stats->values));
    stats->decode_names = arena_alloc(stats->arena, decode_counter_count() * sizeof(char *));
    stats->reason_names = arena_alloc(stats->arena, 2 * DROP_REASON_COUNT * sizeof(char *));
    stats->queue_names = arena_alloc(stats->arena, ((size_t)workers * STATS_PER_QUEUE + 1) * sizeof(char *));
    stats->ages = calloc(workers + 1u, sizeof(*stats->ages));
    if (!stats->ages || !stats->values || !stats->decode_names || !stats->reason_names || !stats->queue_names)
        goto fail;
    for (size_t i = 0; i < decode_counter_count(); i++)
        stats->decode_names[i] = arena_printf(stats->arena, "decoder.%s", decode_counter_name(i));
    for (enum drop_reason i = 0; i < DROP_REASON_COUNT; i++) {
        stats->reason_names[i] = reason_path(stats, "drop_reason", output_drop_reason_name(i));
        stats->reason_names[DROP_REASON_COUNT + i] =
            reason_path(stats, "would_drop_reason", output_drop_reason_name(i));
    }
    name_exceptions(stats);
    *out = stats;
    return 0;

fail:
    stats_free(stats);
    return -ENOMEM;
}

void stats_free(struct stats *stats)
{
    if (!stats)
        return;
    arena_free(stats->arena);
    free(stats->thread_names);
    free(stats->values);
    free(stats->ages);
    free(stats);
}

/* Returns whether the reason has counters: those of firewall rules, the last ones, exist only if these are enabled. */
static bool is_counted(const struct stats *stats, enum drop_reason reason)
{
    return stats->firewall || !drop_reason_is_firewall(reason);
}

static void add_counter(struct stats *stats, const char *name, uint64_t value)
{
    if (!name || stats->count == stats->capacity)
        return;
    stats->values[stats->count++] = (struct output_stat){ name, stats_total(stats, name, value) };
}

static const char *queue_name(struct stats *stats, const struct worker *worker, unsigned field)
{
    const char **name = &stats->queue_names[(size_t)worker->index * STATS_PER_QUEUE + field];

    if (!*name)
        *name = arena_printf(stats->arena, "queue.%u.%s", (unsigned)worker->queue.queue, queue_fields[field]);
    return *name;
}

static void add_queue(struct stats *stats, struct worker *worker)
{
    const struct capture_counters *c = &worker->snapshot.capture;
    const struct queue_watch_counters *watch = &worker->snapshot.watch;
    struct queue_status status = { 0 };
    uint64_t values[QUEUE_FIELDS] = {
        c->packets,
        c->bytes,
        c->accepted,
        c->dropped,
        c->repeated,
        c->routed,
        c->replaced,
        c->truncated,
        c->gso,
        c->segmented,
        c->marked,
        c->looping,
        c->receive_calls,
        c->send_calls,
        c->given_sends,
        c->receive_overruns,
        c->verdict_lost,
        c->verdict_errors,
        c->malformed_messages,
        c->lost,
        c->ring_full,
        c->link_losses,
        c->ring_bytes,
        c->conntrack,
        c->full_batches,
        watch->ages.last_ns / 1000,
        queue_age_percentile(&watch->ages, &stats->ages[worker->index], 500) / 1000,
        queue_age_percentile(&watch->ages, &stats->ages[worker->index], 990) / 1000,
        watch->ages.max_ns / 1000,
        watch->overloaded,
        watch->times,
        worker->snapshot.cpu_ns / 1000,
        worker->queue.length,
    };

    if (capture_status(worker->capture, &status) == 0) {
        values[QUEUE_FIELDS - 4] = status.waiting;
        values[QUEUE_FIELDS - 3] = status.queue_dropped;
        values[QUEUE_FIELDS - 2] = status.user_dropped;
        values[QUEUE_FIELDS - 1] = status.id_sequence;
    }
    for (unsigned i = 0; i < QUEUE_FIELDS; i++)
        add_counter(stats, queue_name(stats, worker, i), values[i]);
}

/* The counters of all workers, summed. */
struct sums {
    struct capture_counters capture;
    struct pipeline_counters pipeline;
    struct policy_counters policy;
    struct detect_counters detect;
    struct inject_counters inject;
    struct file_counts files;
};

static void sum_words(void *to, const void *from, size_t size)
{
    uint64_t *sum = to;
    const uint64_t *words = from;

    for (size_t i = 0; i < size / sizeof(*sum); i++)
        sum[i] += words[i];
}

static void sum_workers(struct sums *sums, struct worker *const *workers, unsigned count)
{
    memset(sums, 0, sizeof(*sums));
    for (unsigned i = 0; i < count; i++) {
        const struct worker_snapshot *s = &workers[i]->snapshot;

        sum_words(&sums->capture, &s->capture, sizeof(s->capture));
        sum_words(&sums->pipeline, &s->pipeline, sizeof(s->pipeline));
        sum_words(&sums->policy, &s->policy, sizeof(s->policy));
        sum_words(&sums->detect, &s->detect, sizeof(s->detect));
        sum_words(&sums->inject, &s->inject, sizeof(s->inject));
        sum_words(&sums->files, &s->files, sizeof(s->files));
    }
}

static void add_decode(struct stats *stats, struct worker *const *workers, unsigned count)
{
    for (size_t i = 0; i < decode_counter_count(); i++) {
        bool maximum = strncmp(decode_counter_name(i), "max_", 4) == 0;
        uint64_t value = 0;

        if (!stats->decoder_events && strncmp(decode_counter_name(i), "event.", 6) == 0)
            continue;

        for (unsigned k = 0; k < count; k++) {
            uint64_t one = workers[k]->snapshot.decode[i];

            if (!maximum)
                value += one;
            else if (one > value)
                value = one;
        }
        if (strncmp(decode_counter_name(i), "avg_", 4) == 0 && count > 1)
            value /= count;
        add_counter(stats, stats->decode_names[i], value);
    }
}

/* Adds counters of exception policies: those whose names begin with "ips." if `below_ips` is true, otherwise the
 * others. Names with the same prefix must be adjacent, because they become members of one JSON object. */
static void add_exceptions(struct stats *stats, const struct sums *sums, bool below_ips)
{
    for (enum exception_cause cause = EXCEPTION_NONE + 1; cause < EXCEPTION_COUNT; cause++) {
        if ((strncmp(exception_paths[cause], "ips.", 4) == 0) != below_ips)
            continue;
        if (stats->shared->exceptions[cause] == EXCEPTION_IGNORE && !sums->policy.exceptions[cause][EXCEPTION_BYPASS])
            continue; /* ignored, and no flow was bypassed because of it: Suricata writes no counters then */
        for (enum exception_policy policy = 0; policy < EXCEPTION_POLICY_COUNT; policy++) {
            uint64_t used = sums->policy.exceptions[cause][policy];

            /* Suricata has no counter for ignore. Sluice counts it where a policy could not be applied. */
            if (policy != EXCEPTION_IGNORE || (below_ips && used > 0))
                add_counter(stats, stats->exception_names[cause][policy], used);
        }
    }
}

/* Adds the counters of flows, streams, protocols, exceptions and fragments, summed over the workers. */
static void add_modules(struct stats *stats, const struct sums *sums, struct worker *const *workers, unsigned count)
{
    for (size_t i = 0; i < flow_counter_count(); i++) {
        uint64_t value = 0;

        for (unsigned k = 0; k < count; k++)
            value += workers[k]->snapshot.flow[i];
        add_counter(stats, flow_counter_name(i), value);
    }
    add_counter(stats, "flow_bypassed.local_pkts", sums->pipeline.local_packets);
    add_counter(stats, "flow_bypassed.local_bytes", sums->pipeline.local_bytes);
    add_counter(stats, "flow_bypassed.local_capture_pkts", sums->pipeline.captured_packets);
    add_counter(stats, "flow_bypassed.local_capture_bytes", sums->pipeline.captured_bytes);
    for (size_t i = 0; i < stream_counter_count(); i++) {
        uint64_t value = 0;

        if (!stats->stream_events && strncmp(stream_counter_name(i), "stream.", 7) == 0)
            continue;
        for (unsigned k = 0; k < count; k++)
            value += workers[k]->snapshot.stream[i];
        add_counter(stats, stream_counter_name(i), value);
    }
    for (size_t i = 0; i < app_counter_count(); i++) {
        uint64_t value = 0;

        for (unsigned k = 0; k < count; k++)
            value += workers[k]->snapshot.app[i];
        add_counter(stats, app_counter_name(stats->shared->apps, i), value);
    }
    if (stats->exceptions)
        add_exceptions(stats, sums, false);
    for (size_t i = 0; i < defrag_counter_count(); i++) {
        uint64_t value = 0;

        for (unsigned k = 0; k < count; k++)
            value += workers[k]->snapshot.defrag[i];
        add_counter(stats, defrag_counter_name(i), value);
    }
}

void stats_set_monitor(struct stats *stats, const struct queue_monitor *monitor)
{
    stats->monitor = monitor;
}

static void add_ips(struct stats *stats, const struct sums *sums)
{
    struct queue_monitor_counters monitor;

    add_counter(stats, "ips.accepted", sums->pipeline.accepted);
    add_counter(stats, "ips.blocked", sums->pipeline.blocked);
    add_counter(stats, "ips.rejected", sums->pipeline.rejected);
    if (stats->firewall) {
        add_counter(stats, "firewall.accepted", sums->pipeline.firewall_accepted);
        add_counter(stats, "firewall.blocked", sums->pipeline.firewall_blocked);
        add_counter(stats, "firewall.rejected", sums->pipeline.firewall_rejected);
        add_counter(stats, "firewall.discarded_alerts", sums->policy.firewall_discarded);
    }
    add_counter(stats, "ips.would_drop", sums->pipeline.would_drop);
    add_counter(stats, "ips.would_reject", sums->pipeline.would_reject);
    add_counter(stats, "ips.would_replace", sums->pipeline.would_replace);
    add_counter(stats, "ips.flow_drops", sums->policy.flow_drops);
    add_counter(stats, "ips.replaced", sums->capture.replaced);
    add_counter(stats, "ips.replace_refused", sums->pipeline.replace_refused);
    add_counter(stats, "ips.marked", sums->pipeline.marked);
    add_counter(stats, "ips.looping", sums->pipeline.looping);
    add_counter(stats, "ips.segmented.large", sums->pipeline.segmented_large);
    add_counter(stats, "ips.segmented.udp", sums->pipeline.segmented_udp);
    add_counter(stats, "ips.unsegmented_udp", sums->pipeline.unsegmented_udp);
    add_counter(stats, "ips.offload.accepted", sums->pipeline.offloaded_accept);
    add_counter(stats, "ips.offload.dropped", sums->pipeline.offloaded_drop);
    add_counter(stats, "ips.offload.acknowledgments", sums->pipeline.offloaded_acknowledgments);
    add_counter(stats, "ips.uninspected.marked", sums->pipeline.uninspected_marked);
    add_counter(stats, "ips.uninspected.link_type", sums->pipeline.uninspected_link);
    add_counter(stats, "ips.uninspected.fragment", sums->pipeline.uninspected_fragments);
    if (stats->monitor) {
        queue_monitor_counters(stats->monitor, &monitor);
        add_counter(stats, "ips.uninspected.fail_open", monitor.fail_open);
        add_counter(stats, "ips.uninspected.bypass", monitor.bypass);
        add_counter(stats, "ips.uninspected.bypass_ms", monitor.bypass_ms);
        add_counter(stats, "ips.unqueued", monitor.unqueued);
        add_counter(stats, "ips.route_no_listener", monitor.no_listener);
    }
    add_counter(stats, "ips.reject_packets_sent", sums->inject.sent);
    add_counter(stats, "ips.reject_packets_failed", sums->inject.failed);
    for (enum drop_reason i = DROP_REASON_NONE + 1; i < DROP_REASON_COUNT && is_counted(stats, i); i++) {
        add_counter(stats, stats->reason_names[i], sums->pipeline.drop_reason[i]);
        add_counter(stats, stats->reason_names[DROP_REASON_COUNT + i], sums->pipeline.would_drop_reason[i]);
    }
    if (stats->exceptions)
        add_exceptions(stats, sums, true);
}

/* Adds the ages of packets in all queues together: percentiles of the packets since the last event. */
static void add_overload(struct stats *stats, const struct sums *sums, struct worker *const *workers, unsigned count)
{
    struct queue_age_counts now = { 0 }, before = { 0 };
    uint64_t times = 0, total_ns = 0, slow_packets = 0, slowest_ns = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct queue_watch_counters *watch = &workers[i]->snapshot.watch;

        sum_words(now.packets, watch->ages.packets, sizeof(now.packets));
        sum_words(before.packets, stats->ages[i].packets, sizeof(before.packets));
        now.last_ns = watch->ages.last_ns > now.last_ns ? watch->ages.last_ns : now.last_ns;
        now.max_ns = watch->ages.max_ns > now.max_ns ? watch->ages.max_ns : now.max_ns;
        times += watch->times;
        total_ns += watch->total_ns;
        slow_packets += watch->slow_packets;
        slowest_ns = watch->slowest_ns > slowest_ns ? watch->slowest_ns : slowest_ns;
    }
    add_counter(stats, "ips.queue_age_us.last", now.last_ns / 1000);
    add_counter(stats, "ips.queue_age_us.p50", queue_age_percentile(&now, &before, 500) / 1000);
    add_counter(stats, "ips.queue_age_us.p99", queue_age_percentile(&now, &before, 990) / 1000);
    add_counter(stats, "ips.queue_age_us.max", now.max_ns / 1000);
    add_counter(stats, "ips.budget.packets", slow_packets);
    add_counter(stats, "ips.budget.slowest_us", slowest_ns / 1000);
    add_counter(stats, "ips.budget.evaluations", sums->detect.over_budget);
    add_counter(stats, "ips.budget.suspended", sums->detect.suspended);
    add_counter(stats, "ips.overload.times", times);
    add_counter(stats, "ips.overload.milliseconds", total_ns / 1000000);
    add_counter(stats, "ips.overload.shed.encrypted", sums->pipeline.shed[SHED_ENCRYPTED]);
    add_counter(stats, "ips.overload.shed.bulk", sums->pipeline.shed[SHED_BULK]);
    add_counter(stats, "ips.overload.shed.files", sums->pipeline.shed[SHED_FILES]);
    add_counter(stats, "ips.overload.shed.established", sums->pipeline.shed[SHED_ESTABLISHED]);
    add_counter(stats, "ips.overload.shed.new", sums->pipeline.shed[SHED_NEW]);
}

/* --- Counters of one worker ----------------------------------------------------------------------- */

/* How far add_thread_counter() has come: it is called for each counter of a worker, in their order. */
struct thread_place {
    const struct worker *worker;
    size_t next;
};

/* Adds a counter as "threads.W#01-nfq0.NAME": as in Suricata, the name has the prefix W#, which
 * clients search for. */
static void add_thread_counter(struct stats *stats, struct thread_place *place, const char *name, uint64_t value)
{
    const char **path;

    if (!name || place->next == stats->thread_capacity)
        return;
    path = &stats->thread_names[place->worker->index * stats->thread_capacity + place->next++];
    if (!*path)
        *path = arena_printf(stats->arena, "threads.W#%02u-%s%u.%s", place->worker->index + 1,
                             place->worker->is_ring ? "ring" : "nfq", (unsigned)place->worker->queue.queue, name);
    add_counter(stats, *path, value);
}

/* Adds the counters of a worker. Suricata has threads for the flow manager and the flow recycler; here the worker does
 * their work and has their counters. */
static void add_thread(struct stats *stats, const struct worker *worker)
{
    static const char *const no_exchange[] = {
        "flow.wrk.spare_sync_avg",           "flow.wrk.spare_sync",     "flow.wrk.spare_sync_incomplete",
        "flow.wrk.spare_sync_empty",         "flow.wrk.flows_evicted",  "flow.wrk.flows_evicted_needs_work",
        "flow.wrk.flows_evicted_pkt_inject", "flow.wrk.flows_injected",
    };
    const struct worker_snapshot *s = &worker->snapshot;
    struct thread_place place = { .worker = worker };

    add_thread_counter(stats, &place, "capture.kernel_packets", capture_kernel_packets(&s->capture));
    add_thread_counter(stats, &place, "capture.kernel_drops", s->capture.lost);
    for (size_t i = 0; i < decode_counter_count(); i++) {
        if (stats->decoder_events || strncmp(decode_counter_name(i), "event.", 6) != 0)
            add_thread_counter(stats, &place, stats->decode_names[i], s->decode[i]);
    }
    for (size_t i = 0; i < flow_counter_count(); i++)
        add_thread_counter(stats, &place, flow_counter_name(i), s->flow[i]);
    /* These counters are always 0, because workers exchange neither spare flows nor work. Clients require them. */
    for (size_t i = 0; i < sizeof(no_exchange) / sizeof(no_exchange[0]); i++)
        add_thread_counter(stats, &place, no_exchange[i], 0);
    add_thread_counter(stats, &place, "flow_bypassed.local_pkts", s->pipeline.local_packets);
    add_thread_counter(stats, &place, "flow_bypassed.local_bytes", s->pipeline.local_bytes);
    add_thread_counter(stats, &place, "flow_bypassed.local_capture_pkts", s->pipeline.captured_packets);
    add_thread_counter(stats, &place, "flow_bypassed.local_capture_bytes", s->pipeline.captured_bytes);
    for (size_t i = 0; i < stream_counter_count(); i++) {
        if (stats->stream_events || strncmp(stream_counter_name(i), "stream.", 7) != 0)
            add_thread_counter(stats, &place, stream_counter_name(i), s->stream[i]);
    }
    for (size_t i = 0; i < app_counter_count(); i++)
        add_thread_counter(stats, &place, app_counter_name(stats->shared->apps, i), s->app[i]);
    for (size_t i = 0; i < defrag_counter_count(); i++)
        add_thread_counter(stats, &place, defrag_counter_name(i), s->defrag[i]);
    add_thread_counter(stats, &place, "ips.accepted", s->pipeline.accepted);
    add_thread_counter(stats, &place, "ips.blocked", s->pipeline.blocked);
    add_thread_counter(stats, &place, "ips.rejected", s->pipeline.rejected);
    add_thread_counter(stats, &place, "ips.replaced", s->capture.replaced);
    if (stats->firewall) {
        add_thread_counter(stats, &place, "firewall.accepted", s->pipeline.firewall_accepted);
        add_thread_counter(stats, &place, "firewall.blocked", s->pipeline.firewall_blocked);
        add_thread_counter(stats, &place, "firewall.rejected", s->pipeline.firewall_rejected);
    }
    add_thread_counter(stats, &place, "ips.would_drop", s->pipeline.would_drop);
    for (enum drop_reason i = DROP_REASON_NONE + 1; i < DROP_REASON_COUNT && is_counted(stats, i); i++)
        add_thread_counter(stats, &place, stats->reason_names[i], s->pipeline.drop_reason[i]);
    add_thread_counter(stats, &place, "detect.alert", s->policy.alerts);
    add_thread_counter(stats, &place, "detect.alert_queue_overflow", s->policy.alerts_overflow);
    add_thread_counter(stats, &place, "detect.alerts_suppressed", s->policy.alerts_suppressed);
}

void stats_set_memcap(struct stats *stats, enum worker_memcap memcap, uint64_t bytes)
{
    uint64_t *const limits[WORKER_MEMCAPS] = {
        [MEMCAP_FLOW] = &stats->limits.flow,     [MEMCAP_STREAM] = &stats->limits.stream,
        [MEMCAP_DEFRAG] = &stats->limits.defrag, [MEMCAP_REASSEMBLY] = &stats->limits.reassembly,
        [MEMCAP_APP] = &stats->limits.app_layer,
    };

    *limits[memcap] = bytes;
}

void stats_set_reload(struct stats *stats, const struct reload *reload)
{
    stats->reload = reload;
}

void stats_set_attachment(struct stats *stats, const struct attachment *attachment)
{
    stats->attachment = attachment;
}

void stats_set_follower(struct stats *stats, const struct offload_follower *offload_follower)
{
    stats->offload_follower = offload_follower;
}

void stats_set_engine_memory(struct stats *stats, const struct engine_memory *memory)
{
    stats->memory = memory;
}

static void add_attachment(struct stats *stats, const struct sums *sums)
{
    struct attachment_counters counters = { .acknowledgment_packets = sums->pipeline.skipped_packets, /* in a replay */
                                            .acknowledgment_bytes = sums->pipeline.skipped_bytes };
    const char *name;
    uint64_t value;

    if (stats->attachment)
        attachment_counters(stats->attachment, &counters);
    for (size_t i = 0; (name = attachment_counter_get(&counters, i, &value)); i++)
        if (stats->attachment || value > 0)
            add_counter(stats, name, value);
}

static void add_output(struct stats *stats, const struct output *output)
{
    static const char *const names[OUTPUT_EVENT_COUNT][2] = {
        [OUTPUT_ALERT] = { "output.alert.written", "output.alert.lost" },
        [OUTPUT_DROP] = { "output.drop.written", "output.drop.lost" },
        [OUTPUT_WOULD_DROP] = { "output.would_drop.written", "output.would_drop.lost" },
        [OUTPUT_ANOMALY] = { "output.anomaly.written", "output.anomaly.lost" },
        [OUTPUT_STATS] = { "output.stats.written", "output.stats.lost" },
        [OUTPUT_FLOW] = { "output.flow.written", "output.flow.lost" },
        [OUTPUT_NETFLOW] = { "output.netflow.written", "output.netflow.lost" },
        [OUTPUT_PACKET] = { "output.packet.written", "output.packet.lost" },
        [OUTPUT_METADATA] = { "output.metadata.written", "output.metadata.lost" },
        [OUTPUT_STREAM] = { "output.stream.written", "output.stream.lost" },
        [OUTPUT_IGMP] = { "output.igmp.written", "output.igmp.lost" },
        [OUTPUT_ARP] = { "output.arp.written", "output.arp.lost" },
        [OUTPUT_APP] = { "output.app.written", "output.app.lost" },
        [OUTPUT_FILE] = { "output.file.written", "output.file.lost" },
        [OUTPUT_FRAME] = { "output.frame.written", "output.frame.lost" },
        [OUTPUT_FIREWALL] = { "output.firewall.written", "output.firewall.lost" },
        [OUTPUT_ENGINE] = { "output.engine.written", "output.engine.lost" },
        [OUTPUT_OVERLOAD] = { "output.overload.written", "output.overload.lost" },
    };
    struct output_counters counters;

    output_counters(output, &counters);
    for (unsigned i = 0; i < OUTPUT_EVENT_COUNT; i++) {
        add_counter(stats, names[i][0], counters.written[i]);
        add_counter(stats, names[i][1], counters.lost[i]);
    }
    add_counter(stats, "output.drop.rate_limited", counters.limited[OUTPUT_DROP] + counters.limited[OUTPUT_WOULD_DROP]);
    add_counter(stats, "output.flow.rate_limited", counters.limited[OUTPUT_FLOW]);
    add_counter(stats, "output.netflow.rate_limited", counters.limited[OUTPUT_NETFLOW]);
    add_counter(stats, "output.write_errors", counters.write_errors);

    struct output_pcap_counters pcap;
    if (output_pcap_counters(output, &pcap)) {
        add_counter(stats, "pcap_log.packets", pcap.packets);
        add_counter(stats, "pcap_log.written", pcap.written);
        add_counter(stats, "pcap_log.lost", pcap.lost);
        add_counter(stats, "pcap_log.bytes", pcap.bytes);
        add_counter(stats, "pcap_log.files", pcap.files);
        add_counter(stats, "pcap_log.errors", pcap.errors);
    }

    struct output_chain_counters chains;

    if (output_chain_counters(output, &chains)) {
        add_counter(stats, "tls_store.written", chains.written);
        add_counter(stats, "tls_store.limited", chains.limited);
        add_counter(stats, "tls_store.full", chains.full);
        add_counter(stats, "tls_store.lost", chains.lost);
        add_counter(stats, "tls_store.errors", chains.errors);
    }

    struct output_destination_counters destination;

    for (size_t i = 0; output_destination_counters(output, i, &destination); i++) {
        const uint64_t values[DESTINATION_FIELDS] = { destination.events,    destination.delivered,
                                                      destination.lost_full, destination.lost_error,
                                                      destination.rejected,  destination.connects,
                                                      destination.waiting,   destination.connected };
        const char **paths = stats->destination_names[i];

        if (strcmp(stats->destination_of[i], destination.name) != 0) {
            memset(paths, 0, sizeof(stats->destination_names[i]));
            snprintf(stats->destination_of[i], sizeof(stats->destination_of[i]), "%s", destination.name);
        }
        for (unsigned k = 0; k < DESTINATION_FIELDS; k++) {
            if (!paths[k])
                paths[k] =
                    arena_printf(stats->arena, "output.destinations.%s.%s", destination.name, destination_fields[k]);
            add_counter(stats, paths[k], values[k]);
        }
    }
}

/* Adds further counters of rules and of reloads, and the memcaps, below "ips". */
static void add_rules(struct stats *stats, const struct ruleset *ruleset, const struct rule_list *rules)
{
    const struct reload_result *last = stats->reload ? reload_last(stats->reload) : NULL;

    add_counter(stats, "ips.ruleset", ruleset_generation(ruleset));
    if (stats->reload) /* not in a replay, whose events are the same in each run */
        add_counter(stats, "ips.rules_loaded_at", (uint64_t)rule_list_started(rules));
    add_counter(stats, "ips.rules_modified_at", (uint64_t)rule_list_modified(rules));
    if (stats->reload) {
        add_counter(stats, "ips.reload.done", last ? last->number - last->failures : 0);
        add_counter(stats, "ips.reload.failed", last ? last->failures : 0);
        add_counter(stats, "ips.reload.last_failed", last && last->error);
        add_counter(stats, "ips.reload.last_ms", last ? (uint64_t)(last->seconds * 1000) : 0);
    }
    add_counter(stats, "ips.memcap.flow", stats->limits.flow);
    add_counter(stats, "ips.memcap.stream", stats->limits.stream);
    add_counter(stats, "ips.memcap.reassembly", stats->limits.reassembly);
    add_counter(stats, "ips.memcap.defrag", stats->limits.defrag);
    add_counter(stats, "ips.memcap.app_layer", stats->limits.app_layer);
}

static void collect(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                    const struct output *output, bool threads)
{
    const struct rule_list *rules = ruleset_rules(ruleset);
    const struct pipeline *pipeline = &workers[0]->pipeline; /* any worker: only state that all workers share is read */
    struct offload_follower_counters follower;
    struct file_store_counts store = { 0 };
    struct sums sums;
    const char *name;
    uint64_t value;

    sum_workers(&sums, workers, count);
    stats->count = 0;
    add_counter(stats, "capture.kernel_packets", capture_kernel_packets(&sums.capture));
    add_counter(stats, "capture.kernel_drops", sums.capture.lost);
    add_decode(stats, workers, count);
    add_modules(stats, &sums, workers, count);
    add_ips(stats, &sums);
    if (stats->queues)
        add_overload(stats, &sums, workers, count);
    add_counter(stats, "detect.engines[0].id", 0);
    /* Not by add_counter(), because a time must not be added to the value of the previous engine; not in a replay, see
     * add_rules(). */
    if (stats->reload && stats->count < stats->capacity)
        stats->values[stats->count++] =
            (struct output_stat){ "detect.engines[0].last_reload", ruleset_loaded_ns(ruleset) };
    add_counter(stats, "detect.engines[0].rules_loaded", rule_list_count(rules));
    add_counter(stats, "detect.engines[0].rules_failed", rule_list_failed(rules));
    add_counter(stats, "detect.engines[0].rules_skipped", rule_list_skipped(rules));
    add_counter(stats, "detect.rule_files_failed", rule_list_unreadable_files(rules));
    add_rules(stats, ruleset, rules);
    add_counter(stats, "detect.alert", sums.policy.alerts);
    add_counter(stats, "detect.alert_queue_overflow", sums.policy.alerts_overflow);
    add_counter(stats, "detect.alerts_suppressed", sums.policy.alerts_suppressed);
    for (size_t i = 0; (name = detect_counter_get(&sums.detect, i, &value)); i++)
        add_counter(stats, name, value);
    add_counter(stats, "detect.threshold_memcap", sums.policy.threshold_memcap_hits);
    add_counter(stats, "detect.host_memcap", host_table_memcap_hits(pipeline->hosts));
    add_counter(stats, "detect.host_evicted", host_table_evicted(pipeline->hosts));
    add_counter(stats, "detect.threshold_evicted", policy_thresholds_evicted(pipeline->policy));
    add_counter(stats, "detect.dataset_memcap", datasets_memcap_hits(rule_list_datasets(rules)));
    if (pipeline->file_store)
        file_store_counts(pipeline->file_store, &store);
    add_counter(stats, "files.opened", sums.files.opened);
    add_counter(stats, "files.no_memory", sums.files.no_memory);
    add_counter(stats, "files.magic", sums.files.magic);
    add_counter(stats, "file_store.files", store.files);
    add_counter(stats, "file_store.refused", sums.files.store_refused);
    add_counter(stats, "file_store.fs_errors", store.errors);
    add_attachment(stats, &sums);
    if (stats->memory) { /* counted by the supervisor, because these counters outlive engines */
        add_counter(stats, "engine.restarts", atomic_load(&stats->memory->restarts));
        add_counter(stats, "engine.handovers", atomic_load(&stats->memory->handovers));
        add_counter(stats, "engine.hangs", atomic_load(&stats->memory->hangs));
        add_counter(stats, "engine.repeated", atomic_load(&stats->memory->repeated));
        add_counter(stats, "engine.quarantined", atomic_load(&stats->memory->quarantined));
    }
    if (stats->offload_follower) {
        offload_follower_counters(stats->offload_follower, &follower);
        add_counter(stats, "firewall.offload.reports", follower.reports);
        add_counter(stats, "firewall.offload.reports_lost", follower.lost);
    }
    add_output(stats, output);
    for (unsigned i = 0; i < count && stats->queues; i++)
        add_queue(stats, workers[i]);
    if (threads && !stats->thread_names)
        stats->thread_names = calloc(stats->workers * stats->thread_capacity, sizeof(*stats->thread_names));
    for (unsigned i = 0; i < count && threads && stats->thread_names; i++)
        add_thread(stats, workers[i]);
}

void stats_write(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                 struct output *output, uint64_t uptime_seconds, uint64_t time_ns)
{
    collect(stats, workers, count, ruleset, output, stats->threads);
    output_stats(output, stats->values, stats->count, uptime_seconds, time_ns);
    for (unsigned i = 0; i < count; i++)
        stats->ages[i] = workers[i]->snapshot.watch.ages;
}

uint64_t stats_total(const struct stats *stats, const char *name, uint64_t value)
{
    return stats->handed_over ? value : transferred_counters_add(stats->shared->counters, name, value);
}

uint64_t stats_queue_total(struct stats *stats, const struct worker *worker, const char *field, uint64_t value)
{
    for (unsigned i = 0; i < QUEUE_FIELDS; i++) {
        if (strcmp(queue_fields[i], field) == 0)
            return stats_total(stats, queue_name(stats, worker, i), value);
    }
    return value;
}

uint64_t stats_uptime(const struct stats *stats, uint64_t started_ns)
{
    return stats_total(stats, uptime_name, (clock_monotonic_ns() - started_ns) / NS_PER_SECOND);
}

int stats_hand_over(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                    const struct output *output, uint64_t started_ns)
{
    uint64_t uptime = stats_uptime(stats, started_ns);

    if (!stats->shared->counters)
        return 0;
    collect(stats, workers, count, ruleset, output, true);
    stats->handed_over = true;
    add_counter(stats, uptime_name, uptime);
    return transferred_counters_replace(stats->shared->counters, stats->values, stats->count);
}

void stats_json(struct stats *stats, struct worker *const *workers, unsigned count, const struct ruleset *ruleset,
                const struct output *output, uint64_t uptime_seconds, bool threads, struct text *out)
{
    collect(stats, workers, count, ruleset, output, threads);
    output_stats_json(stats->values, stats->count, uptime_seconds, out);
}

void stats_log_summary(struct worker *const *workers, unsigned count)
{
    uint64_t packets = 0, dropped = 0, alerts = 0;

    for (unsigned i = 0; i < count; i++) {
        packets += workers[i]->snapshot.capture.packets;
        dropped += workers[i]->snapshot.capture.dropped;
        alerts += workers[i]->snapshot.policy.alerts;
    }
    log_info("stopped: %llu packets inspected, %llu dropped, %llu alerts", (unsigned long long)packets,
             (unsigned long long)dropped, (unsigned long long)alerts);
}
