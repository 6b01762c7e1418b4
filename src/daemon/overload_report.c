/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports overload: when a worker enters and leaves it, what was shed, and packets that the kernel dropped since the
 * last call. Each report is an event; the log has at most one line per queue in LOG_INTERVAL_NS, with a remedy.
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
#define LOOK_INTERVAL_NS (NS_PER_SECOND / 5)
#define LOG_INTERVAL_NS (60 * NS_PER_SECOND)

/* What was reported about a queue. */
struct told_queue {
    uint64_t missing;
    uint64_t lost_since_line;
    uint64_t lost_logged_ns, overload_logged_ns; /* 0: never */
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
    struct told_queue *told;
    struct account_queue *queues;
    struct suspended_rule suspended[MAX_SUSPENDED];
    unsigned suspended_count;
    uint64_t looked_ns;               /* at what the kernel dropped */
    uint64_t slow_told, slow_told_ns; /* packets and evaluations; when */
    uint64_t evicted_told[EVICTION_TABLES], evicted_told_ns[EVICTION_TABLES];
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
    report->told = calloc(count, sizeof(*report->told));
    if (!report->rings || !report->told)
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
    free(report->told);
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

/* Sums the shed flows of all classes. */
static uint64_t fill_classes(struct output_overload *event, const struct overload_notice *notice)
{
    uint64_t flows = 0;

    event->class_count = notice->class_count;
    for (unsigned i = 0; i < notice->class_count; i++) {
        enum shed_class class = notice->classes[i];

        event->classes[i] = (struct output_overload_class){
            .name = shed_class_name(class),
            .shed = i < notice->shed_count,
            .flows = notice->shed[class],
        };
        flows += notice->shed[class];
    }
    return flows;
}

static void log_notice_of(struct overload_report *report, unsigned index, const struct overload_notice *notice,
                          uint64_t flows, uint64_t now_ns)
{
    const unsigned queue = report->workers[index].queue.queue;

    if (notice->change == OVERLOAD_LEFT) /* what was entered quietly is left quietly */
        log_info("queue %u: overload ended after %.1f s; %" PRIu64 " flows were shed", queue,
                 (double)notice->duration_ns / NS_PER_SECOND, flows);
    else if (may_log(&report->told[index].overload_logged_ns, now_ns))
        log_warning("queue %u is overloaded: %u %% full, packets wait for up to %.1f ms; %s. Add queues "
                    "(queue.numbers), set nft.offload.flows, or load fewer rules",
                    queue, notice->fill_permille / 10, (double)notice->age_ns / 1e6,
                    notice->class_count > 0
                        ? "flows of the classes in overload.shed are not inspected"
                        : "no flows are shed (overload.shed), so packets are dropped when the queue is full");
}

static void tell_notice(struct overload_report *report, unsigned index, const struct overload_notice *notice,
                        uint64_t now_ns)
{
    static const enum output_overload_action actions[OVERLOAD_CHANGES] = {
        [OVERLOAD_ENTERED] = OUTPUT_OVERLOAD_ENTERED,
        [OVERLOAD_WIDENED] = OUTPUT_OVERLOAD_WIDENED,
        [OVERLOAD_LEFT] = OUTPUT_OVERLOAD_LEFT,
    };
    struct output_overload event = {
        .time_ns = notice->time_ns,
        .action = actions[notice->change],
        .has_queue = true,
        .queue = report->workers[index].queue.queue,
        .fill_permille = notice->fill_permille,
        .age_us = notice->age_ns / 1000,
        .duration_us = notice->duration_ns / 1000,
    };
    uint64_t flows = fill_classes(&event, notice);

    log_notice_of(report, index, notice, flows, now_ns);
    output_overload(report->output, &event);
}

static void take_notices(struct overload_report *report, unsigned index, uint64_t now_ns)
{
    const struct overload_notice *notice;
    size_t size;

    while ((notice = ring_peek(report->rings[index], &size))) {
        tell_notice(report, index, notice, now_ns);
        ring_release(report->rings[index]);
    }
}

/* --- Drops by the kernel -------------------------------------------------------------------------- */

static void log_lost(struct overload_report *report, unsigned index, const struct output_overload *event,
                     uint64_t now_ns)
{
    struct told_queue *told = &report->told[index];
    bool full = event->queue_dropped > 0;

    told->lost_since_line += event->queue_dropped + event->user_dropped + event->missing;
    if (!may_log(&told->lost_logged_ns, now_ns))
        return;
    log_warning("queue %u: the kernel %s %" PRIu64
                " packet%s because %s. Increase %s, add queues (queue.numbers), or set "
                "overload.shed or nft.offload.flows to reduce the load",
                (unsigned)event->queue, event->passed ? "passed uninspected" : "dropped", told->lost_since_line,
                told->lost_since_line == 1 ? "" : "s",
                full ? "the queue was full (queue.length)" : "the buffer of its socket was full (queue.receive-buffer)",
                full ? "queue.length" : "queue.receive-buffer");
    told->lost_since_line = 0;
}

/* Returns false when the kernel lost no packet since the last call. The kernel's counters start at 0 when the queue is
 * bound, long before the first call; queue_monitor_load() sets what previous engines reported. */
static bool count_lost(struct told_queue *told, struct account_queue *reported, struct worker *worker,
                       struct output_overload *event)
{
    bool fail_open = worker->queue.fail_open;
    struct queue_status status;
    uint64_t missing;

    if (!worker->capture || capture_status(worker->capture, &status))
        return false;
    missing = fail_open ? atomic_load_explicit(&worker->missing, memory_order_relaxed) : 0;
    event->queue_dropped = status.queue_dropped - reported->queue_dropped;
    event->user_dropped = status.user_dropped - reported->user_dropped;
    event->missing = missing - told->missing;
    event->passed = event->missing > 0;
    reported->queue_dropped = status.queue_dropped;
    reported->user_dropped = status.user_dropped;
    told->missing = missing;
    return event->queue_dropped + event->user_dropped + event->missing > 0;
}

static void look_at_queue(struct overload_report *report, unsigned index, uint64_t now_ns)
{
    struct worker *worker = &report->workers[index];
    struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_OVERLOAD_LOST,
        .has_queue = true,
        .queue = worker->queue.queue,
    };

    if (!count_lost(&report->told[index], &report->queues[index], worker, &event))
        return;
    log_lost(report, index, &event, now_ns);
    output_overload(report->output, &event);
}

/* --- Slow rules ----------------------------------------------------------------------------------- */

static void tell_rule(struct overload_report *report, const struct suspended_rule *suspended,
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
        log_warning("rule %u:%u suspended for %" PRIu64 " s in queue %u: it exceeded detect.rule-budget too often, "
                    "with up to %" PRIu64 " us (detect.suspend-slow-rules)",
                    suspended->rule.gid, suspended->rule.sid, seconds, (unsigned)event.queue, event.rules[0].max_us);
    else
        log_info("rule %u:%u resumed in queue %u", suspended->rule.gid, suspended->rule.sid, (unsigned)event.queue);
    output_overload(report->output, &event);
}

static void take_suspensions(struct overload_report *report, unsigned worker, uint64_t now_ns)
{
    struct suspended_rule suspended = { .worker = worker };
    struct detector *detector = report->workers[worker].pipeline.detector;

    while (detector && detector_next_suspension(detector, &suspended.rule)) {
        uint64_t left_ns = suspended.rule.until_ns > now_ns ? suspended.rule.until_ns - now_ns : 0;

        tell_rule(report, &suspended, OUTPUT_OVERLOAD_SUSPENDED, (left_ns + NS_PER_SECOND / 2) / NS_PER_SECOND);
        if (report->suspended_count < MAX_SUSPENDED)
            report->suspended[report->suspended_count++] = suspended;
    }
}

static void tell_resumed(struct overload_report *report, uint64_t now_ns)
{
    for (unsigned i = report->suspended_count; i-- > 0;) {
        if (report->suspended[i].rule.until_ns > now_ns)
            continue;
        tell_rule(report, &report->suspended[i], OUTPUT_OVERLOAD_RESUMED, 0);
        report->suspended[i] = report->suspended[--report->suspended_count];
    }
}

static void log_slow(const struct output_overload *event, uint64_t evaluations)
{
    const struct output_overload_rule *worst = &event->rules[0];

    if (event->rule_count == 0)
        log_warning("%" PRIu64 " packets exceeded detect.packet-budget", event->packets);
    else
        log_warning("%" PRIu64 " packets exceeded detect.packet-budget, %" PRIu64 " evaluations exceeded "
                    "detect.rule-budget; the slowest rule is %u:%u: %" PRIu64 " us in total, up to %" PRIu64 " us per "
                    "evaluation (`sluice explain %u`)",
                    event->packets, evaluations, worst->gid, worst->sid, worst->total_us, worst->max_us, worst->sid);
}

static void tell_slow(struct overload_report *report, uint64_t now_ns)
{
    struct output_overload event = { .time_ns = clock_realtime_ns(), .action = OUTPUT_OVERLOAD_SLOW };
    uint64_t evaluations = 0;

    for (unsigned i = 0; i < report->count; i++) {
        event.packets += atomic_load_explicit(&report->workers[i].slow_packets, memory_order_relaxed);
        evaluations += atomic_load_explicit(&report->workers[i].slow_evaluations, memory_order_relaxed);
    }
    if (event.packets + evaluations == report->slow_told || !may_log(&report->slow_told_ns, now_ns))
        return;
    report->slow_told = event.packets + evaluations;
    event.rule_count = rule_cost_ranking(report->workers, report->count, ruleset_rules(*report->ruleset), event.rules,
                                         OUTPUT_OVERLOAD_RULES);
    log_slow(&event, evaluations);
    output_overload(report->output, &event);
}

/* --- Memcaps -------------------------------------------------------------------------------------- */

static uint64_t count_evicted(const struct overload_report *report, enum eviction_table table)
{
    uint64_t evicted = 0;

    for (unsigned i = 0; i < report->count && (i == 0 || !eviction_is_shared(table)); i++)
        evicted += atomic_load_explicit(&report->workers[i].evicted[table], memory_order_relaxed);
    return evicted;
}

static void report_evictions(struct overload_report *report, uint64_t now_ns)
{
    for (enum eviction_table table = 0; table < EVICTION_TABLES; table++) {
        struct output_overload event = {
            .time_ns = clock_realtime_ns(),
            .action = OUTPUT_OVERLOAD_EVICTED,
            .setting = eviction_setting(table),
            .evicted = count_evicted(report, table) - report->evicted_told[table],
        };

        if (event.evicted == 0 || !may_log(&report->evicted_told_ns[table], now_ns))
            continue;
        report->evicted_told[table] += event.evicted;
        log_warning("%s is used up: %" PRIu64
                    " idle or unfinished entries gave way to new ones. Increase %s if this is "
                    "no attack; the statistics count what was evicted",
                    event.setting, event.evicted, event.setting);
        output_overload(report->output, &event);
    }
}

void overload_report_poll(struct overload_report *report, uint64_t now_ns, bool last)
{
    bool look = report && (last || report->looked_ns == 0 || now_ns - report->looked_ns >= LOOK_INTERVAL_NS);

    for (unsigned i = 0; report && i < report->count; i++) {
        take_notices(report, i, now_ns);
        take_suspensions(report, i, now_ns);
        if (look)
            look_at_queue(report, i, now_ns);
    }
    if (report) {
        report->looked_ns = look ? now_ns : report->looked_ns;
        tell_resumed(report, now_ns);
        tell_slow(report, now_ns);
        report_evictions(report, now_ns);
    }
}
