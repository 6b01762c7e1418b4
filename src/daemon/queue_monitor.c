/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the counters of the nf_tables rules that send packets to the daemon's queues, and the kernel's list of queues,
 * and reports what queue_account.c finds. After a change of the ruleset all rules are searched; otherwise only the
 * chains that were found are read. Rules of legacy iptables are not read, because that needs files and privileges that
 * the engine has dropped.
 */
#include "queue_monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/log.h"
#include "sluice/nftables.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/setup.h"
#include "sluice/stats.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "queue_account.h"

#define READ_INTERVAL_NS (NS_PER_SECOND / 4)
#define FIND_INTERVAL_NS NS_PER_SECOND
#define FIND_MAX_NS (5 * NS_PER_SECOND)
#define LISTENER_INTERVAL_NS NS_PER_SECOND
#define LOG_INTERVAL_NS (60 * NS_PER_SECOND)
/* Time after the start in which rules without a counter cause no warning, because a firewall may be loaded after
 * Sluice. */
#define NO_COUNTER_NS (3 * NS_PER_SECOND)

enum { FIND_TRIES = 4, NAME_SIZE = 256, MAX_NEXT = 32, SETTLE_NS = 5 * 1000 * 1000, FIND_SHARE = 50 };

/* A chain with a rule that sends packets to the daemon's queues, found by find_rules(). */
struct fed_chain {
    uint32_t family;
    char table[NAME_SIZE], chain[NAME_SIZE];
};

/* Whether the counters of the rules show all packets that pass without entering a queue. */
enum coverage {
    COVERAGE_NO_RULE, /* no rule of nf_tables sends packets to the daemon's queues */
    /* A rule has no counter directly before its queue statement, or sends packets to other queues as well, or there are
     * more than ACCOUNT_RULES rules. */
    COVERAGE_NO_COUNTER,
    COVERAGE_FULL,
};

/* A queue of the next consumer (queue.verdict: route). */
struct next_queue {
    uint16_t queue;
    bool bypass;
    bool known, listening; /* `known`: the listeners were read; `listening`: the queue had one at the last reading */
    uint64_t since_ns;     /* time since which the queue has no listener */
    uint64_t routed;       /* packets that the workers had routed at the last reading of the listeners */
    uint64_t packets;      /* packets routed since `since_ns` */
};

struct queue_monitor {
    struct queue_monitor_options options;
    struct queue_account account;
    struct account_reading reading;
    struct queue_status *list; /* all queues of the network namespace */
    size_t list_size;

    struct fed_chain chains[ACCOUNT_RULES];
    unsigned chain_count;
    uint32_t generation; /* generation of the ruleset in which the chains were found */
    enum coverage coverage;
    bool found;
    uint64_t find_ns; /* earliest time of the next search for the chains */
    uint64_t read_ns, listener_ns, begun_ns;
    bool told_coverage;

    struct queue_monitor_counters counters;
    uint64_t fail_open_unlogged, fail_open_logged_ns;
    uint64_t unqueued_unlogged, unqueued_logged_ns;
    uint64_t missing; /* packets that fail-open queues passed because the socket was full, as counted so far */
    struct next_queue next[MAX_NEXT];
    unsigned next_count;
};

/* --- Rules ---------------------------------------------------------------------------------------- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static uint64_t place_of(const struct netrules_chain *chain)
{
    return hash_text(hash_text(UINT64_C(0xcbf29ce484222325) ^ chain->table->family, chain->table->name), chain->name);
}

static bool is_our_queue(const struct queue_monitor *monitor, uint32_t queue)
{
    for (unsigned i = 0; i < monitor->options.worker_count; i++)
        if (monitor->options.workers[i].queue.queue == queue)
            return true;
    return false;
}

static void remember_chain(struct queue_monitor *monitor, const struct netrules_chain *chain)
{
    struct fed_chain *last = monitor->chain_count > 0 ? &monitor->chains[monitor->chain_count - 1] : NULL;

    if (last && last->family == chain->table->family && strcmp(last->table, chain->table->name) == 0 &&
        strcmp(last->chain, chain->name) == 0)
        return;
    if (monitor->chain_count == ACCOUNT_RULES || strlen(chain->table->name) >= NAME_SIZE ||
        strlen(chain->name) >= NAME_SIZE) {
        monitor->coverage = COVERAGE_NO_COUNTER;
        return;
    }
    last = &monitor->chains[monitor->chain_count++];
    last->family = chain->table->family;
    strcpy(last->table, chain->table->name);
    strcpy(last->chain, chain->name);
}

static void take_rule(struct queue_monitor *monitor, const struct netrules_rule *rule, bool remember)
{
    struct account_reading *reading = &monitor->reading;
    const struct netrules_chain *chain = rule->chain;
    enum attach_mode mode;
    unsigned share = 0; /* how many queues of the rule are the daemon's */

    for (uint32_t queue = rule->queue.first; rule->verdict == NETRULES_QUEUE && queue <= rule->queue.last; queue++)
        share += is_our_queue(monitor, queue);
    if (share == 0)
        return;
    if (remember)
        remember_chain(monitor, chain);
    if (!rule->counted || share != (unsigned)rule->queue.last - rule->queue.first + 1 ||
        reading->rule_count == ACCOUNT_RULES) {
        monitor->coverage = COVERAGE_NO_COUNTER;
        return;
    }
    if (monitor->coverage == COVERAGE_NO_RULE)
        monitor->coverage = COVERAGE_FULL;
    reading->rules[reading->rule_count++] = (struct account_rule){
        .place = place_of(chain),
        .handle = rule->handle,
        .packets = rule->packets,
        .own = chain->table->comment && firewall_is_sluice_table(chain->table->comment, &mode),
        .bypass = rule->queue.bypass,
    };
}

/* Adds the counters of all rules that send packets to the daemon's queues to monitor->reading. With `remember`, also
 * stores the chains of these rules. */
static void take_rules(struct queue_monitor *monitor, const struct netrules *ruleset, bool remember)
{
    for (const struct netrules_table *table = ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                take_rule(monitor, rule, remember);
}

/* Searches the whole ruleset for rules that send packets to the daemon's queues. Returns 0 or -errno. */
static int find_rules(struct queue_monitor *monitor)
{
    struct netrules *ruleset = NULL;
    int err = -EINTR;

    for (int i = 0; i < FIND_TRIES && err == -EINTR; i++)
        err = nftables_read_rules(&ruleset, NULL);
    if (err)
        return err;
    monitor->found = true;
    monitor->chain_count = 0;
    monitor->coverage = COVERAGE_NO_RULE;
    monitor->generation = ruleset->generation;
    take_rules(monitor, ruleset, true);
    netrules_free(ruleset);
    return 0;
}

/*
 * Reads the counters of all rules that send packets to the daemon's queues, in one generation of the ruleset. After a
 * change of the ruleset it searches all rules. A search is followed by a pause of FIND_SHARE times its duration, but at
 * least FIND_INTERVAL_NS and at most FIND_MAX_NS. If the ruleset changes in the pause, the function returns -EAGAIN
 * until the pause is over. It does not read just the chains it knows: if a rule is missing in one result and present in
 * the next, its packets look like packets that passed. Returns 0; -EAGAIN or -EINTR to try again later; another -errno
 * if counters cannot be read at all.
 */
static int read_rules(struct queue_monitor *monitor, uint64_t now_ns)
{
    uint32_t generation = 0;
    int err = nftables_read_generation(&generation);

    monitor->reading.rule_count = 0;
    if (err)
        return err;
    if (!monitor->found || generation != monitor->generation) {
        uint64_t pause_ns;

        if (now_ns < monitor->find_ns)
            return -EAGAIN;
        err = find_rules(monitor);
        pause_ns = (clock_monotonic_ns() - now_ns) * FIND_SHARE;
        pause_ns = pause_ns > FIND_INTERVAL_NS ? pause_ns : FIND_INTERVAL_NS;
        monitor->find_ns = now_ns + (pause_ns < FIND_MAX_NS ? pause_ns : FIND_MAX_NS);
        return err;
    }
    for (unsigned i = 0; i < monitor->chain_count && !err; i++) {
        const struct fed_chain *chain = &monitor->chains[i];
        const struct nftables_place place = { chain->family, chain->table, chain->chain };
        struct netrules *ruleset;

        err = nftables_read_rules(&ruleset, &place);
        if (err)
            break;
        if (ruleset->generation == monitor->generation)
            take_rules(monitor, ruleset, false);
        else
            err = -EAGAIN;
        netrules_free(ruleset);
    }
    return err;
}

/* --- Queues --------------------------------------------------------------------------------------- */

static int read_list(struct queue_monitor *monitor)
{
    for (;;) {
        int count = nfqueue_read_status(monitor->options.queues_fd, monitor->list, monitor->list_size);
        struct queue_status *larger;

        if (count < 0 || (size_t)count < monitor->list_size)
            return count;
        /* Bounded, because there are at most 65536 queues. */
        larger = reallocarray(monitor->list, 2 * monitor->list_size, sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        monitor->list = larger;
        monitor->list_size *= 2;
    }
}

static struct queue_status status_of(const struct queue_monitor *monitor, int count, uint32_t queue)
{
    for (int i = 0; i < count; i++)
        if (monitor->list[i].queue == queue)
            return monitor->list[i];
    return (struct queue_status){ .queue = queue };
}

static int read_queues(struct queue_monitor *monitor, struct queue_status out[CAPTURE_MAX_QUEUES])
{
    int count = read_list(monitor);

    for (unsigned i = 0; i < monitor->options.worker_count && count >= 0; i++)
        out[i] = status_of(monitor, count, monitor->options.workers[i].queue.queue);
    return count < 0 ? count : 0;
}

struct account_queue *queue_monitor_queues(struct queue_monitor *monitor)
{
    return monitor->account.queues;
}

/* --- Packets that passed -------------------------------------------------------------------------- */

static bool fails_open(const struct queue_monitor *monitor)
{
    for (unsigned i = 0; i < monitor->options.worker_count; i++)
        if (monitor->options.workers[i].queue.fail_open)
            return true;
    return false;
}

static bool may_log(uint64_t *logged_ns, uint64_t now_ns)
{
    if (*logged_ns != 0 && now_ns - *logged_ns < LOG_INTERVAL_NS)
        return false;
    *logged_ns = now_ns;
    return true;
}

static void log_fail_open(struct queue_monitor *monitor, uint64_t now_ns)
{
    if (monitor->fail_open_unlogged == 0 || !may_log(&monitor->fail_open_logged_ns, now_ns))
        return;
    log_warning(
        "the kernel passed %" PRIu64 " packet%s uninspected because a queue was full (queue.fail-open): increase "
        "queue.length, add queues (queue.numbers), or set overload.shed or nft.offload.flows to reduce the load",
        monitor->fail_open_unlogged, monitor->fail_open_unlogged == 1 ? "" : "s");
    monitor->fail_open_unlogged = 0;
}

static void report_fail_open(struct queue_monitor *monitor, uint64_t packets)
{
    const struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_OVERLOAD_LOST,
        .fail_open = packets,
        .passed = true,
    };

    monitor->counters.fail_open += packets;
    monitor->fail_open_unlogged += packets;
    output_overload(monitor->options.output, &event);
}

static void log_unqueued(struct queue_monitor *monitor, uint64_t now_ns)
{
    if (monitor->unqueued_unlogged == 0 || !may_log(&monitor->unqueued_logged_ns, now_ns))
        return;
    log_warning("the kernel dropped %" PRIu64
                " packet%s that a queue rule counted and that never reached a queue: copies of "
                "packets of a new connection (multicast to several interfaces), or no memory",
                monitor->unqueued_unlogged, monitor->unqueued_unlogged == 1 ? "" : "s");
    monitor->unqueued_unlogged = 0;
}

static void report_unqueued(struct queue_monitor *monitor, uint64_t packets)
{
    const struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_OVERLOAD_LOST,
        .unqueued = packets,
    };

    monitor->counters.unqueued += packets;
    monitor->unqueued_unlogged += packets;
    output_overload(monitor->options.output, &event);
}

/* Counts packets that a fail-open queue passed because its socket was full. They have an id, so the queue account does
 * not find them. overload_report.c writes their event. */
static void count_missing(struct queue_monitor *monitor)
{
    uint64_t missing = 0;

    for (unsigned i = 0; i < monitor->options.worker_count; i++) {
        const struct worker *worker = &monitor->options.workers[i];

        if (worker->queue.fail_open)
            missing += atomic_load_explicit(&worker->missing, memory_order_relaxed);
    }
    monitor->counters.fail_open += missing - monitor->missing;
    monitor->missing = missing;
}

/* Reports packets that came while no daemon listened, for up to `duration_ns`: they passed if all rules have the bypass
 * flag, otherwise the kernel dropped them. */
static void report_bypass(struct queue_monitor *monitor, uint64_t packets, uint64_t duration_ns)
{
    bool passed = true; /* false if a rule has no bypass flag */

    for (unsigned i = 0; i < monitor->reading.rule_count; i++)
        passed &= monitor->reading.rules[i].bypass;
    struct output_firewall event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_FIREWALL_NO_LISTENER,
        .uninspected = passed,
        .dropped = !passed,
        .has_duration = true,
        .duration_ns = duration_ns,
        .at_most_ns = duration_ns,
        .packets = packets,
    };

    if (packets == 0)
        return;
    if (monitor->options.firewall->mode != ATTACH_NONE)
        snprintf(event.table, sizeof(event.table), "%s", monitor->options.firewall->table);
    if (passed) {
        monitor->counters.bypass += packets;
        monitor->counters.bypass_ms += duration_ns / 1000000;
        log_warning("%" PRIu64 " packet%s passed uninspected (bypass) in the last %.1f s because no daemon listened%s",
                    packets, packets == 1 ? "" : "s", (double)duration_ns / NS_PER_SECOND,
                    monitor->options.firewall->mode == ATTACH_NONE ? ", or were read by another program" : "");
    } else {
        monitor->counters.unqueued += packets;
        log_warning("%" PRIu64
                    " packet%s came to the queue%s in the last %.1f s while no daemon listened; a queue rule has no "
                    "bypass, so the kernel dropped them",
                    packets, packets == 1 ? "" : "s", monitor->options.worker_count == 1 ? "" : "s",
                    (double)duration_ns / NS_PER_SECOND);
    }
    output_firewall(monitor->options.output, &event);
}

/* Compares the counters of rules and queues. Returns 0, or -errno when the counters cannot be read now. *packets is the
 * number of packets that never entered a queue and were not reported before. */
static int read_all(struct queue_monitor *monitor, uint64_t now_ns, uint64_t *packets, bool *unbound)
{
    struct account_reading *reading = &monitor->reading;

    int err = read_queues(monitor, reading->before);

    *packets = 0;
    *unbound = false;
    if (err)
        return err;
    err = read_rules(monitor, now_ns);
    if (err == -EAGAIN || err == -EINTR || read_queues(monitor, reading->after))
        return -EAGAIN;
    reading->time_ns = now_ns;
    reading->queue_count = monitor->options.worker_count;
    if (err || monitor->coverage == COVERAGE_NO_COUNTER)
        queue_account_forget(&monitor->account, reading);
    else
        *packets = queue_account_update(&monitor->account, reading, unbound);
    if (monitor->options.account_fd >= 0)
        queue_account_write(&monitor->account, monitor->options.account_fd);
    return 0;
}

/* Warns when packets reach the queues through rules whose counters cannot be compared. */
static void log_coverage(struct queue_monitor *monitor, uint64_t now_ns)
{
    uint32_t enqueued = 0;

    if (monitor->told_coverage || monitor->coverage == COVERAGE_FULL || !monitor->found || !fails_open(monitor) ||
        now_ns - monitor->begun_ns < NO_COUNTER_NS)
        return;
    for (unsigned i = 0; i < monitor->options.worker_count; i++)
        enqueued |= monitor->reading.after[i].id_sequence;
    if (enqueued == 0)
        return;
    monitor->told_coverage = true;
    log_warning(
        "packets that the kernel passes while a queue is full (queue.fail-open) cannot be counted: %s",
        monitor->coverage == COVERAGE_NO_RULE
            ? "no nftables rule feeds the queues; rules of legacy iptables are not read"
            : "a rule that feeds the queues has no counter right before its queue statement, or feeds queues of "
              "others as well, or more than 16 rules feed the queues");
}

/* --- Next consumer -------------------------------------------------------------------------------- */

static void report_listener(struct queue_monitor *monitor, const struct next_queue *next, uint64_t now_ns)
{
    const struct output_overload event = {
        .time_ns = clock_realtime_ns(),
        .action = next->listening ? OUTPUT_OVERLOAD_LISTENER : OUTPUT_OVERLOAD_NO_LISTENER,
        .has_queue = true,
        .queue = next->queue,
        .duration_us = next->listening ? (now_ns - next->since_ns) / 1000 : 0,
        .packets = next->packets,
        .passed = next->bypass,
    };

    if (next->listening)
        log_notice("queue %u (queue.route-to) has a listener again after %.1f s; until then the kernel %s %" PRIu64
                   " packet%s",
                   (unsigned)next->queue, (double)(now_ns - next->since_ns) / NS_PER_SECOND,
                   next->bypass ? "passed" : "dropped", next->packets, next->packets == 1 ? "" : "s");
    else if (next->bypass)
        log_warning(
            "queue %u (queue.route-to) has no listener: packets pass without the next consumer (queue.route-bypass); "
            "start the program that reads queue %u",
            (unsigned)next->queue, (unsigned)next->queue);
    else
        log_error(
            "queue %u (queue.route-to) has no listener: the kernel drops every packet that Sluice accepts; start the "
            "program that reads queue %u, or set queue.route-bypass: yes",
            (unsigned)next->queue, (unsigned)next->queue);
    output_overload(monitor->options.output, &event);
}

static void watch_listeners(struct queue_monitor *monitor, uint64_t now_ns)
{
    int count;

    if (monitor->next_count == 0 || now_ns < monitor->listener_ns || (count = read_list(monitor)) < 0)
        return;
    monitor->listener_ns = now_ns + LISTENER_INTERVAL_NS;
    for (unsigned i = 0; i < monitor->next_count; i++) {
        struct next_queue *next = &monitor->next[i];
        bool listening = status_of(monitor, count, next->queue).port_id != 0;
        bool changed = next->known ? listening != next->listening : !listening;
        uint64_t routed = 0;

        for (unsigned k = 0; k < monitor->options.worker_count; k++) {
            const struct worker *worker = &monitor->options.workers[k];

            if (worker->queue.mode == QUEUE_ROUTE && worker->queue.route_to == next->queue)
                routed += atomic_load_explicit(&worker->routed, memory_order_relaxed);
        }
        if (!listening && !changed) { /* there was no listener at the last reading, and there is none now */
            next->packets += routed - next->routed;
            monitor->counters.no_listener += routed - next->routed;
        }
        next->known = true;
        next->listening = listening;
        next->routed = routed;
        if (changed && !listening) {
            next->since_ns = now_ns;
            next->packets = 0;
        }
        if (changed)
            report_listener(monitor, next, now_ns);
    }
}

static void find_next(struct queue_monitor *monitor)
{
    for (unsigned i = 0; i < monitor->options.worker_count; i++) {
        const struct nfqueue_options *queue = &monitor->options.workers[i].queue;
        unsigned known = 0;

        while (known < monitor->next_count && monitor->next[known].queue != queue->route_to)
            known++;
        if (queue->mode != QUEUE_ROUTE || is_our_queue(monitor, queue->route_to) || known == MAX_NEXT)
            continue;
        monitor->next[known].queue = queue->route_to;
        monitor->next[known].bypass = queue->route_bypass;
        if (known == monitor->next_count)
            monitor->next_count++;
    }
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

int queue_monitor_new(struct queue_monitor **out, const struct queue_monitor_options *options)
{
    struct queue_monitor *monitor = calloc(1, sizeof(*monitor));

    if (!monitor)
        return -ENOMEM;
    monitor->options = *options;
    monitor->list_size = 2 * CAPTURE_MAX_QUEUES;
    monitor->list = calloc(monitor->list_size, sizeof(*monitor->list));
    if (!monitor->list) {
        queue_monitor_free(monitor);
        return -ENOMEM;
    }
    find_next(monitor);
    *out = monitor;
    return 0;
}

void queue_monitor_free(struct queue_monitor *monitor)
{
    if (!monitor)
        return;
    free(monitor->list);
    free(monitor);
}

void queue_monitor_load(struct queue_monitor *monitor)
{
    struct queue_account *account = &monitor->account;
    struct queue_status *now = monitor->reading.after;
    struct account_queue queues[CAPTURE_MAX_QUEUES];
    bool listed = read_queues(monitor, now) == 0, loaded;

    loaded = monitor->options.account_fd >= 0 && queue_account_read(account, monitor->options.account_fd) == 0;
    for (unsigned i = 0; i < monitor->options.worker_count; i++) {
        struct worker *worker = &monitor->options.workers[i];
        const struct account_queue *before = NULL;

        for (unsigned k = 0; loaded && k < account->queue_count; k++)
            if (account->queues[k].queue == worker->queue.queue)
                before = &account->queues[k];
        queues[i] = before ? *before : (struct account_queue){ .queue = worker->queue.queue };
        if (!listed)
            continue;
        if (before && before->port_id == now[i].port_id) {
            /* Packets up to this id were queued before the last reading of the account, so they have waited at least
             * since then. */
            queue_age_mark(&worker->watch.age, before->id_sequence, account->read_ns, false);
            if (now[i].waiting == 0)
                queue_age_mark(&worker->watch.age, now[i].id_sequence, clock_monotonic_ns(), false);
        } else if (before || !monitor->options.takes_over) {
            queues[i].queue_dropped = queues[i].user_dropped = 0; /* the queue was just bound: no drops were reported */
        } else {
            queues[i].queue_dropped = now[i].queue_dropped;
            queues[i].user_dropped = now[i].user_dropped;
        }
    }
    memcpy(account->queues, queues, monitor->options.worker_count * sizeof(queues[0]));
    account->queue_count = monitor->options.worker_count;
}

void queue_monitor_begin(struct queue_monitor *monitor)
{
    const struct timespec pause = { .tv_nsec = SETTLE_NS };
    uint64_t before_ns = monitor->account.read_ns, now_ns = clock_monotonic_ns(), sum = 0, packets = 0;
    bool unbound = false, any_unbound = false;

    monitor->begun_ns = now_ns;
    for (int i = 0; i < 2; i++) { /* queue_account_update() reports what two readings in a row agree on */
        now_ns = clock_monotonic_ns();
        if (read_all(monitor, now_ns, &packets, &unbound) == 0) {
            sum += packets;
            any_unbound |= unbound;
        }
        nanosleep(&pause, NULL);
    }
    monitor->find_ns = 0; /* search again at the next reading, because the sluice table is about to be installed */
    if (any_unbound)
        report_bypass(monitor, sum, now_ns - before_ns);
    else if (sum > 0 && fails_open(monitor))
        report_fail_open(monitor, sum);
    else if (sum > 0)
        report_unqueued(monitor, sum);
    watch_listeners(monitor, now_ns);
}

void queue_monitor_poll(struct queue_monitor *monitor, uint64_t now_ns, bool last)
{
    uint64_t packets = 0, before_ns;
    bool unbound = false;

    if (!monitor || (!last && now_ns - monitor->read_ns < READ_INTERVAL_NS))
        return;
    monitor->read_ns = now_ns;
    before_ns = monitor->account.read_ns;
    if (read_all(monitor, now_ns, &packets, &unbound) == 0 && packets > 0) {
        if (unbound)
            report_bypass(monitor, packets, now_ns - before_ns);
        else if (fails_open(monitor))
            report_fail_open(monitor, packets);
        else
            report_unqueued(monitor, packets);
    }
    count_missing(monitor);
    if (last)
        monitor->fail_open_logged_ns = monitor->unqueued_logged_ns = 0;
    log_fail_open(monitor, now_ns);
    log_unqueued(monitor, now_ns);
    log_coverage(monitor, now_ns);
    watch_listeners(monitor, now_ns);
}

void queue_monitor_counters(const struct queue_monitor *monitor, struct queue_monitor_counters *out)
{
    *out = monitor->counters;
}

void queue_monitor_json(const struct queue_monitor *monitor, const struct stats *stats, struct text *out)
{
    const struct queue_monitor_counters *counters = &monitor->counters;

    json_object_open(out, "uninspected");
    json_uint(out, "fail_open", stats_total(stats, "ips.uninspected.fail_open", counters->fail_open));
    json_uint(out, "bypass", stats_total(stats, "ips.uninspected.bypass", counters->bypass));
    json_uint(out, "bypass_ms", stats_total(stats, "ips.uninspected.bypass_ms", counters->bypass_ms));
    json_object_close(out);
    json_uint(out, "unqueued", stats_total(stats, "ips.unqueued", counters->unqueued));
    json_bool(out, "fail_open", fails_open(monitor));
    json_bool(out, "passes_counted", monitor->found && monitor->coverage == COVERAGE_FULL);
    json_array_open(out, "next_queues");
    for (unsigned i = 0; i < monitor->next_count; i++) {
        const struct next_queue *next = &monitor->next[i];

        json_object_open(out, NULL);
        json_uint(out, "queue", next->queue);
        json_bool(out, "listening", next->listening);
        json_bool(out, "bypass", next->bypass);
        json_object_close(out);
    }
    json_array_close(out);
}

/* --- Table without daemon ------------------------------------------------------------------------- */

int queue_account_start_without_daemon(const struct firewall_options *firewall)
{
    unsigned count = firewall->queue_last - firewall->queue_first + 1u;
    struct worker *workers = calloc(count, sizeof(*workers));
    struct queue_monitor_options options = {
        .firewall = firewall,
        .workers = workers,
        .worker_count = count < CAPTURE_MAX_QUEUES ? count : CAPTURE_MAX_QUEUES,
    };
    char path[ACCOUNT_PATH_SIZE];
    struct queue_monitor *monitor = NULL;
    uint64_t packets;
    bool unbound;
    int err = workers ? 0 : -ENOMEM;

    for (unsigned i = 0; i < options.worker_count && !err; i++)
        workers[i].queue.queue = (uint16_t)(firewall->queue_first + i);
    options.queues_fd = nfqueue_open_status();
    options.account_fd = queue_account_open_file(firewall->queue_first, path);
    if (!err && (options.queues_fd < 0 || options.account_fd < 0))
        err = options.queues_fd < 0 ? options.queues_fd : options.account_fd;
    if (!err)
        err = queue_monitor_new(&monitor, &options);
    /* If a daemon listens, the daemon writes the account. */
    if (!err && read_queues(monitor, monitor->reading.before) == 0 && monitor->reading.before[0].port_id == 0)
        err = read_all(monitor, clock_monotonic_ns(), &packets, &unbound);
    queue_monitor_free(monitor);
    if (options.queues_fd >= 0)
        close(options.queues_fd);
    if (options.account_fd >= 0)
        close(options.account_fd);
    free(workers);
    return err;
}
