/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports overload: when a worker enters and leaves it, what was shed, and packets that the kernel dropped since the
 * last call. Each report is an event. Warnings are also logged, with a remedy: each kind of warning about a queue or
 * memcap at most once in LOG_INTERVAL_NS.
 *
 * Threads: the main thread. Each worker writes its notices to a ring.
 */
#include "overload_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/detect.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/ring.h"
#include "sluice/worker.h"

#include "queue_account.h"
#include "rule_cost.h"

enum { NOTICE_RING_SIZE = 32 << 10, MAX_SUSPENDED = 256 };
#define QUEUE_INTERVAL_NS (NS_PER_SECOND / 5)
#define LOG_INTERVAL_NS (60 * NS_PER_SECOND)

/* The values of a queue that were reported last. */
struct reported_queue {
    uint64_t missing;
    uint64_t lost_since_log;
    uint64_t lost_logged_ns, overload_logged_ns; /* last log lines (clock_monotonic_ns()); 0: none */
};

/* A rule that a worker has suspended. */
struct suspended_rule {
    struct rule_suspension rule;
    unsigned worker;
};

struct overload_report {
    struct worker *workers;
    unsigned count;
    struct output *output;
    struct ruleset *const *ruleset;
    struct ring **rings;
    struct reported_queue *reported;
    struct account_queue *queues;
    struct suspended_rule suspended[MAX_SUSPENDED];
    unsigned suspended_count;
    uint64_t queues_read_ns; /* when the kernel's counters were last read (clock_monotonic_ns()) */
    /* Number of slow packets and evaluations reported so far; time of the last log line. */
    uint64_t slow_reported, slow_logged_ns;
    uint64_t evicted_reported[EVICTION_TABLES], evicted_logged_ns[EVICTION_TABLES];
};

int overload_report_new(struct overload_report **out, const struct overload_report_options *options)
{
    struct overload_report *report = calloc(1, sizeof(*report));
    unsigned count = options->worker_count;
    int err = 0;

    if (!report)
        return -ENOMEM;
    *report = (struct overload_report){
        .workers = options->workers,
        .count = count,
        .output = options->output,
        .ruleset = options->ruleset,
        .queues = options->queues,
    };
    report->rings = calloc(count, sizeof(*report->rings));
    report->reported = calloc(count, sizeof(*report->reported));
    if (!report->rings || !report->reported)
        err = -ENOMEM;
    for (unsigned i = 0; i < count && !err; i++)
        err = ring_new(&report->rings[i], NOTICE_RING_SIZE);
    if (err) {
        overload_report_free(report);
        return err;
    }
    for (unsigned i = 0; i < count; i++)
        report->workers[i].watch.notices = report->rings[i];
    *out = report;
    return 0;
}

void overload_report_free(struct overload_report *report)
{
    if (!report)
        return;
    for (unsigned i = 0; report->rings && i < report->count; i++)
        ring_free(report->rings[i]);
    free(report->rings);
    free(report->reported);
    free(report);
}

static bool may_log(uint64_t *logged_ns, uint64_t now_ns)
{
    if (*logged_ns != 0 && now_ns - *logged_ns < LOG_INTERVAL_NS)
        return false;
    *logged_ns = now_ns;
    return true;
}

/* --- Notices of workers --------------------------------------------------------------------------- */

/* Reports the notices of a worker: overload has begun, more classes are shed, or overload has ended. */
static void report_notices(struct overload_report *report, unsigned index, uint64_t now_ns)
{
    static const enum output_overload_action actions[OVERLOAD_CHANGES] = {
        [OVERLOAD_ENTERED] = OUTPUT_OVERLOAD_ENTERED,
        [OVERLOAD_WIDENED] = OUTPUT_OVERLOAD_WIDENED,
        [OVERLOAD_LEFT] = OUTPUT_OVERLOAD_LEFT,
    };
    const struct worker *worker = &report->workers[index];
    const struct overload_notice *notice;
    size_t size;

    for (; (notice = ring_peek(report->rings[index], &size)); ring_release(report->rings[index])) {
        struct output_overload event = {
            .time_ns = notice->time_ns,
            .action = actions[notice->change],
            .has_queue = true,
            .queue = worker->queue.queue,
            .fill_permille = notice->fill_permille,
            .age_us = notice->age_ns / 1000,
            .duration_us = notice->duration_ns / 1000,
            .class_count = notice->class_count,
        };
        uint64_t flows = 0;

        for (unsigned i = 0; i < notice->class_count; i++) {
            enum shed_class class = notice->classes[i];

            event.classes[i] = (struct output_overload_class){
                .name = shed_class_name(class),
                .shed = i < notice->shed_count,
                .flows = notice->shed[class],
            };
            flows += notice->shed[class];
        }
        if (notice->change == OVERLOAD_LEFT)
            log_info("%s: overload ended after %.1f s; %" PRIu64 " flows were shed", worker->label,
                     (double)notice->duration_ns / NS_PER_SECOND, flows);
        else if (may_log(&report->reported[index].overload_logged_ns, now_ns))
            log_warning("%s is overloaded: %u %% full, packets wait for up to %.1f ms; %s. %s, or load fewer rules",
                        worker->label, notice->fill_permille / 10, (double)notice->age_ns / 1e6,
                        notice->class_count > 0 ? "flows of classes in overload.shed are bypassed"
                        : worker->is_ring       ? "no flows are shed (overload.shed); a full ring drops packets"
                                                : "no flows are shed (overload.shed); a full queue drops packets, or "
                                                  "passes them with queue.fail-open",
                        worker->is_ring ? "Add workers (af-packet.workers), narrow af-packet.bpf-filter"
                                        : "Add queues (queue.numbers), set nft.offload.flows");
        output_overload(report->output, &event);
    }
}

/* --- Drops by the kernel -------------------------------------------------------------------------- */

/* Reports packets of a ring that the kernel dropped since the last call because the ring was full. */
static void report_ring(struct overload_report *report, unsigned index, uint64_t now_ns)
{
    struct reported_queue *reported = &report->reported[index];
    const struct worker *worker = &report->workers[index];
    const uint64_t missing = atomic_load_explicit(&worker->missing, memory_order_relaxed);
    const struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_OVERLOAD_LOST,
        .has_queue = true,
        .queue = worker->queue.queue,
        .missing = missing - reported->missing,
    };

    if (event.missing == 0)
        return;
    reported->missing = missing;
    reported->lost_since_log += event.missing;
    if (may_log(&reported->lost_logged_ns, now_ns)) {
        log_warning("%s: the kernel dropped %" PRIu64 " packet%s because the ring was full: they were not inspected. "
                    "Increase af-packet.ring-size or af-packet.workers, or narrow af-packet.bpf-filter",
                    worker->label, reported->lost_since_log, reported->lost_since_log == 1 ? "" : "s");
        reported->lost_since_log = 0;
    }
    output_overload(report->output, &event);
}

/* Reports packets that the kernel dropped, or passed uninspected, since the last call. The first call reports all
 * such packets since the queue was bound, minus the number that previous engines have reported. queue_monitor_load()
 * has stored that number in report->queues. */
static void report_lost(struct overload_report *report, unsigned index, uint64_t now_ns)
{
    struct reported_queue *reported = &report->reported[index];
    struct account_queue *account = &report->queues[index];
    struct worker *worker = &report->workers[index];
    struct queue_status status;
    uint64_t missing = 0;

    if (worker->is_ring) {
        report_ring(report, index, now_ns);
        return;
    }
    if (!worker->capture || capture_status(worker->capture, &status))
        return;
    if (worker->queue.fail_open)
        missing = atomic_load_explicit(&worker->missing, memory_order_relaxed);

    const struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_OVERLOAD_LOST,
        .has_queue = true,
        .queue = worker->queue.queue,
        .queue_dropped = status.queue_dropped - account->queue_dropped,
        .user_dropped = status.user_dropped - account->user_dropped,
        .missing = missing - reported->missing,
        .passed = missing > reported->missing,
    };
    const uint64_t lost = event.queue_dropped + event.user_dropped + event.missing;
    const bool full = event.queue_dropped > 0;

    account->queue_dropped = status.queue_dropped;
    account->user_dropped = status.user_dropped;
    reported->missing = missing;
    if (lost == 0)
        return;
    reported->lost_since_log += lost;
    if (may_log(&reported->lost_logged_ns, now_ns)) {
        log_warning(
            "queue %u: the kernel %s %" PRIu64 " packet%s because %s. Increase %s, add queues (queue.numbers), or set "
            "overload.shed or nft.offload.flows to reduce the load",
            (unsigned)event.queue, event.passed ? "passed uninspected" : "dropped", reported->lost_since_log,
            reported->lost_since_log == 1 ? "" : "s",
            full ? "the queue was full (queue.length)" : "the buffer of its socket was full (queue.receive-buffer)",
            full ? "queue.length" : "queue.receive-buffer");
        reported->lost_since_log = 0;
    }
    output_overload(report->output, &event);
}

/* --- Slow rules ----------------------------------------------------------------------------------- */

static void report_rule(struct overload_report *report, const struct suspended_rule *suspended,
                        enum output_overload_action action, uint64_t seconds)
{
    const struct rule_ids ids = { suspended->rule.gid, suspended->rule.sid, suspended->rule.number };
    struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = action,
        .has_queue = true,
        .queue = report->workers[suspended->worker].queue.queue,
        .rule_count = 1,
    };

    event.rules[0] = rule_cost_get(&report->workers[suspended->worker], 1, &ids);
    event.rules[0].seconds = seconds;
    if (action == OUTPUT_OVERLOAD_SUSPENDED)
        log_warning("rule %u:%u suspended for %" PRIu64 " s in %s: it exceeded detect.rule-budget too often; "
                    "its slowest evaluation took %" PRIu64 " us (detect.suspend-slow-rules)",
                    suspended->rule.gid, suspended->rule.sid, seconds, report->workers[suspended->worker].label,
                    event.rules[0].max_us);
    else
        log_info("rule %u:%u resumed in %s", suspended->rule.gid, suspended->rule.sid,
                 report->workers[suspended->worker].label);
    output_overload(report->output, &event);
}

static void report_suspensions(struct overload_report *report, unsigned worker, uint64_t now_ns)
{
    struct suspended_rule suspended = { .worker = worker };
    struct detector *detector = report->workers[worker].pipeline.detector;

    while (detector && detector_next_suspension(detector, &suspended.rule)) {
        uint64_t left_ns = suspended.rule.until_ns > now_ns ? suspended.rule.until_ns - now_ns : 0;

        report_rule(report, &suspended, OUTPUT_OVERLOAD_SUSPENDED, (left_ns + NS_PER_SECOND / 2) / NS_PER_SECOND);
        if (report->suspended_count < MAX_SUSPENDED)
            report->suspended[report->suspended_count++] = suspended;
    }
}

static void report_resumed(struct overload_report *report, uint64_t now_ns)
{
    for (unsigned i = report->suspended_count; i-- > 0;) {
        if (report->suspended[i].rule.until_ns > now_ns)
            continue;
        report_rule(report, &report->suspended[i], OUTPUT_OVERLOAD_RESUMED, 0);
        report->suspended[i] = report->suspended[--report->suspended_count];
    }
}

/* Reports packets and evaluations that exceeded their time budget. */
static void report_slow(struct overload_report *report, uint64_t now_ns)
{
    struct output_overload event = { .time_ns = clock_realtime_ns(), .action = OUTPUT_OVERLOAD_SLOW };
    const struct output_overload_rule *worst = &event.rules[0];
    uint64_t evaluations = 0;

    for (unsigned i = 0; i < report->count; i++) {
        event.packets += atomic_load_explicit(&report->workers[i].slow_packets, memory_order_relaxed);
        evaluations += atomic_load_explicit(&report->workers[i].slow_evaluations, memory_order_relaxed);
    }
    if (event.packets + evaluations == report->slow_reported || !may_log(&report->slow_logged_ns, now_ns))
        return;
    report->slow_reported = event.packets + evaluations;
    event.rule_count = rule_cost_ranking(report->workers, report->count, ruleset_rules(*report->ruleset), event.rules,
                                         OUTPUT_OVERLOAD_RULES);
    if (event.rule_count == 0)
        log_warning("%" PRIu64 " packets exceeded detect.packet-budget", event.packets);
    else
        log_warning("%" PRIu64 " packets exceeded detect.packet-budget, %" PRIu64 " evaluations exceeded "
                    "detect.rule-budget; the slowest rule is %u:%u: %" PRIu64 " us in total, up to %" PRIu64 " us per "
                    "evaluation (`sluice explain %u`)",
                    event.packets, evaluations, worst->gid, worst->sid, worst->total_us, worst->max_us, worst->sid);
    output_overload(report->output, &event);
}

/* --- Memcaps -------------------------------------------------------------------------------------- */

static void report_evictions(struct overload_report *report, uint64_t now_ns)
{
    for (enum eviction_table table = 0; table < EVICTION_TABLES; table++) {
        struct output_overload event = {
            .time_ns = clock_realtime_ns(),
            .action = OUTPUT_OVERLOAD_EVICTED,
            .setting = eviction_setting(table),
        };
        uint64_t evicted = 0;

        for (unsigned i = 0; i < report->count && (i == 0 || !eviction_is_shared(table)); i++)
            evicted += atomic_load_explicit(&report->workers[i].evicted[table], memory_order_relaxed);
        event.evicted = evicted - report->evicted_reported[table];
        if (event.evicted == 0 || !may_log(&report->evicted_logged_ns[table], now_ns))
            continue;
        report->evicted_reported[table] = evicted;
        log_warning("%s is used up: %" PRIu64
                    " idle or unfinished entries were evicted for new ones. Increase %s if this is "
                    "no attack; the statistics count what was evicted",
                    event.setting, event.evicted, event.setting);
        output_overload(report->output, &event);
    }
}

void overload_report_poll(struct overload_report *report, uint64_t now_ns, bool last)
{
    if (!report)
        return;
    bool read_queues = last || report->queues_read_ns == 0 || now_ns - report->queues_read_ns >= QUEUE_INTERVAL_NS;

    if (read_queues)
        report->queues_read_ns = now_ns;
    for (unsigned i = 0; i < report->count; i++) {
        report_notices(report, i, now_ns);
        report_suspensions(report, i, now_ns);
        if (read_queues)
            report_lost(report, i, now_ns);
    }
    report_resumed(report, now_ns);
    report_slow(report, now_ns);
    report_evictions(report, now_ns);
}
