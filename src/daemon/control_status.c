/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers of the commands `status` and `queues` of the control socket. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/detect.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/rule.h"
#include "sluice/stats.h"
#include "sluice/supervisor_channel.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "acknowledgments.h"
#include "confinement.h"
#include "control_commands.h"
#include "mode.h"
#include "queue_monitor.h"
#include "reload.h"
#include "sensor.h"

static void put_reload(struct text *out, const struct reload *reload)
{
    static const char *const states[] = {
        [RELOAD_IDLE] = "idle",
        [RELOAD_BUILDING] = "building",
        [RELOAD_TAKING] = "taking",
        [RELOAD_DRAINING] = "idle",
    };
    const struct reload_result *last = reload_last(reload);

    json_object_open(out, "reload");
    json_string(out, "state", states[reload_state(reload)]);
    if (last) {
        output_time(out, "last", last->time_ns);
        json_bool(out, "ok", last->error == 0);
        json_double(out, "seconds", last->seconds);
        if (last->error)
            json_string(out, "error", last->cause);
    }
    json_object_close(out);
}

void control_status_json(struct text *out, const struct service_options *options, uint64_t uptime, bool answering)
{
    const struct rule_list *rules = ruleset_rules(*options->ruleset);
    uint64_t packets = 0, bytes = 0, dropped = 0, would_drop = 0, alerts = 0, events_lost = 0;
    struct output_counters events;
    struct output_destination_counters destination;

    output_counters(options->output, &events);
    for (unsigned i = 0; i < OUTPUT_EVENT_COUNT; i++)
        events_lost += events.lost[i];
    for (size_t i = 0; output_destination_counters(options->output, i, &destination); i++)
        events_lost += destination.lost_full + destination.lost_error + destination.rejected;
    for (unsigned i = 0; i < options->worker_count; i++) {
        const struct worker *worker = &options->workers[i];

        packets += stats_queue_total(options->stats, worker, "packets", worker->snapshot.capture.packets);
        dropped += stats_queue_total(options->stats, worker, "dropped", worker->snapshot.capture.dropped);
        bytes += stats_queue_total(options->stats, worker, "bytes", worker->snapshot.capture.bytes);
        would_drop += worker->snapshot.pipeline.would_drop;
        alerts += worker->snapshot.policy.alerts;
    }
    json_object_open(out, NULL);
    json_string(out, "version", SLUICE_VERSION);
    json_uint(out, "pid", (uint64_t)getppid());
    json_uint(out, "engine_pid", (uint64_t)getpid());
    json_uint(out, "uptime", uptime);
    json_uint(out, "queues", options->worker_count);
    json_bool(out, "workers_answer", answering);
    json_uint(out, "packets", packets);
    json_uint(out, "dropped", dropped);
    json_uint(out, "would_drop", stats_total(options->stats, "ips.would_drop", would_drop));
    json_uint(out, "alerts", stats_total(options->stats, "detect.alert", alerts));
    json_uint(out, "events_lost", events_lost);
    json_array_open(out, "outputs");
    for (size_t i = 0; output_destination_counters(options->output, i, &destination); i++) {
        json_object_open(out, NULL);
        json_string(out, "name", destination.name);
        json_bool(out, "connected", destination.connected);
        json_bool(out, "shipped", destination.is_shipped || destination.type == OUTPUT_FILE_REGULAR);
        json_uint(out, "events", destination.events);
        json_uint(out, "delivered", destination.delivered);
        json_uint(out, "waiting", destination.waiting);
        json_uint(out, "lost", destination.lost_full + destination.lost_error + destination.rejected);
        json_object_close(out);
    }
    json_array_close(out);
    json_object_open(out, "ips");
    mode_json(options->mode, out);
    json_object_close(out);
    json_object_open(out, "engine");
    json_uint(out, "restarts", atomic_load(&options->memory->restarts));
    json_uint(out, "handovers", atomic_load(&options->memory->handovers));
    json_uint(out, "repeated", atomic_load(&options->memory->repeated));
    json_uint(out, "quarantined", atomic_load(&options->memory->quarantined));
    json_object_close(out);
    json_array_open(out, "overloaded");
    for (unsigned i = 0; i < options->worker_count; i++) {
        if (options->workers[i].snapshot.watch.overloaded)
            json_uint(out, NULL, options->workers[i].queue.queue);
    }
    json_array_close(out);
    acknowledgments_json(out, options->attachment, *options->ruleset, packets, bytes);
    queue_monitor_json(options->monitor, options->stats, out);
    sensor_json(options->sensor, out);
    json_object_open(out, "rules");
    json_uint(out, "generation", ruleset_generation(*options->ruleset));
    json_uint(out, "loaded", rule_list_count(rules));
    json_uint(out, "failed", rule_list_failed(rules));
    json_uint(out, "skipped", rule_list_skipped(rules));
    json_uint(out, "files_failed", rule_list_unreadable_files(rules));
    json_object_close(out);
    put_reload(out, options->reload);
    confinement_json(options->confinement, out);
    json_object_close(out);
}

/* Returns the CPU time that a running thread has used. */
static uint64_t thread_cpu_us(bool runs, pthread_t thread)
{
    struct timespec used;
    clockid_t clock;

    if (!runs || pthread_getcpuclockid(thread, &clock) || clock_gettime(clock, &used))
        return 0;
    return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

void control_queue_json(struct text *out, struct stats *stats, const struct worker *worker)
{
    const struct queue_watch_counters *watch = &worker->snapshot.watch;
    const struct capture_counters *counters = &worker->snapshot.capture;
    const struct {
        const char *key, *field;
        uint64_t value;
    } rows[] = {
        { "packets", "packets", counters->packets },
        { "bytes", "bytes", counters->bytes },
        { "accepted", "accepted", counters->accepted },
        { "dropped", "dropped", counters->dropped },
        { "repeated", "repeated", counters->repeated },
        { "routed", "routed", counters->routed },
        { "overruns", "receive_overruns", counters->receive_overruns },
    };
    struct queue_status status = { 0 };

    json_object_open(out, NULL);
    json_uint(out, "queue", worker->queue.queue);
    json_uint(out, "worker", worker->index);
    if (worker->is_ring)
        json_string(out, "ring", worker->label);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        json_uint(out, rows[i].key, stats_queue_total(stats, worker, rows[i].field, rows[i].value));
    json_uint(out, "age_us", watch->ages.last_ns / 1000);
    json_uint(out, "age_p50_us", queue_age_percentile(&watch->ages, NULL, 500) / 1000);
    json_uint(out, "age_p99_us", queue_age_percentile(&watch->ages, NULL, 990) / 1000);
    json_uint(out, "age_max_us", watch->ages.max_ns / 1000);
    json_bool(out, "overloaded", watch->overloaded);
    json_array_open(out, "shedding");
    for (enum shed_class class = 0; class < SHED_CLASSES; class ++) {
        if (watch->shedding >> class & 1)
            json_string(out, NULL, shed_class_name(class));
    }
    json_array_close(out);
    json_uint(out, "cpu_us", thread_cpu_us(worker->started, worker->thread));
    json_uint(out, "sender_cpu_us", thread_cpu_us(worker->has_sender, worker->sender));
    if (worker->capture && capture_status(worker->capture, &status) == 0) {
        json_uint(out, "waiting", status.waiting);
        json_uint(out, "queue_dropped", status.queue_dropped);
        json_uint(out, "user_dropped", status.user_dropped);
    }
    json_object_close(out);
}
