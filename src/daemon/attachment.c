/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sluice table while the daemon runs. A thread receives the notification of each change of the ruleset and compares
 * the table with what was installed. If another process removed or changed it, the thread restores it (with
 * nft.monitor: reassert) and writes an event with the time during which packets could pass without inspection. Once a
 * second it checks the table without a notification, because notifications can be lost. Therefore the event also has an
 * upper limit of the uninspected time, counted from the last check that found the table intact. The thread also blocks
 * the hosts that workers request.
 *
 * The number of restorations is limited, in a burst and per second. More restorations would not help against a process
 * that removes the table again and again; events report such a process.
 *
 * A filter chain of another process on the wrong side of the sluice chain does not make packets pass uninspected.
 * Moving the sluice chain, however, loses packets: the priority of a base chain cannot be changed, so the chain is
 * replaced, and when the kernel removes a base chain it drops all packets that wait in queues. Therefore the sluice
 * chain is moved rarely.
 *
 * A worker requests blocks through its own ring, without lock and system call; if the ring is full, the request is lost
 * and counted. The rings are read every few milliseconds; until then other flows of the host are inspected as usual.
 *
 * Packets that the kernel dropped with a removed base chain are recognised by verdicts that fail with ENOENT. They are
 * counted once a second and attributed to a recent change that removed chains. For some time after such a change,
 * workers send a separate verdict message for each packet, because an error of a batch verdict does not show how many
 * packets were missing.
 *
 * Threads: attachment_new/start/stop/free by the main thread, block_port_request() by the port's worker, counters by
 * any thread.
 */
#include "attachment.h"
#include "list_reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sluice/address.h"
#include "sluice/block_exemptions.h"
#include "sluice/block_port.h"
#include "sluice/blocklist.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/firewall_watch.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/ring.h"
#include "sluice/engine_limits.h"
#include "sluice/worker.h"

enum {
    PORT_RING_SIZE = 64 << 10,
    TICK_MS = 1000,
    BLOCK_WAIT_MS = 20,     /* maximum time until the thread reads a worker's request */
    BUDGET = 20,            /* how often the table may be restored in a burst */
    BUDGET_REFILL_MS = 500, /* after a burst: one restoration in this time */
    MOVES = 4,              /* how often the table may be moved in a burst; then once in MOVE_SECONDS */
    MOVE_SECONDS = 60,
    FLUSH_SECONDS = 5, /* dropped packets are attributed to a base chain if it was removed at most this long ago */
    EXACT_SECONDS = 60,
    ROUNDS = 64, /* maximum number of groups of hosts that are blocked in one round of the thread */
};
#define NS_PER_MS UINT64_C(1000000)

/* A token bucket that limits how often the table is restored or moved. */
struct budget {
    uint64_t left, filled_ns;
};

/* An open breach: the table differs from what was installed. */
struct breach {
    bool open, reported;
    /* When the difference was noticed; when the table was last found complete (clock_monotonic_ns()). */
    uint64_t noticed_ns, good_ns;
    unsigned damage;
    bool dropped; /* true: the policy of a chain was drop, so the kernel dropped packets instead of queueing them */
    struct firewall_change change; /* the change that caused the difference, with its process */
};

struct attachment {
    const struct firewall_options *firewall;
    struct output *output;
    struct worker *workers;
    unsigned worker_count;
    enum monitor_mode mode;
    struct block_exemptions *never;
    struct block_port *ports;  /* one for each worker; NULL: hosts are not blocked */
    struct list_reader *lists; /* NULL: hosts are not blocked */
    struct firewall_watch *watch;
    int stop_fd;
    bool started;
    pthread_t thread;

    /* used by the thread only */
    struct breach breach;
    uint64_t good_ns, tick_ns; /* when the table was last found complete; time of the next periodic check */
    struct budget budget, moves;
    struct firewall_change removal; /* the last change that removed chains */
    uint64_t removal_ns, verdict_lost;
    bool after_death;
    /* `remember`: the kernel may block other hosts than the remembered ones. `unsaved`: the remembered hosts are not in
     * the file yet. */
    bool remember, unsaved;
    struct firewall_misplaced_chain intruder; /* the misplaced chain that was reported last */

    /* written by the thread, read by any thread */
    _Atomic uint64_t changes, reasserted, failed, moved, uninspected_us, flushed, notifications_lost;
    _Atomic uint64_t hosts, networks, lists_failed, added, refused, full, blocked_packets, blocked_bytes;
    _Atomic uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes;
    _Atomic uint64_t acknowledgment_packets, acknowledgment_bytes;
};

static void count(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static void set(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, value, memory_order_relaxed);
}

struct block_port *attachment_port(struct attachment *attachment, unsigned worker)
{
    return attachment && attachment->ports ? &attachment->ports[worker] : NULL;
}

/* --- Events --------------------------------------------------------------------------------------- */

static struct output_firewall event_of(const struct attachment *attachment, enum output_firewall_action action,
                                       const struct firewall_change *change)
{
    struct output_firewall event = {
        .time_ns = clock_realtime_ns(),
        .action = action,
        .lost = change && change->lost,
        .generation = change ? change->generation : 0,
        .pid = change ? change->pid : 0,
    };

    snprintf(event.table, sizeof(event.table), "%s", attachment->firewall->table);
    if (change)
        memcpy(event.process, change->process, sizeof(event.process));
    return event;
}

/* Writes an event about the open breach; `error` NULL: none. */
static void report_breach(struct attachment *attachment, enum output_firewall_action action, const char *error)
{
    const struct breach *breach = &attachment->breach;
    uint64_t now_ns = clock_monotonic_ns();
    struct output_firewall event = event_of(attachment, action, &breach->change);

    event.damage = breach->damage;
    event.uninspected = breach->damage & ~(unsigned)FIREWALL_DAMAGE_SETS;
    event.dropped = breach->dropped;
    event.has_duration = action != OUTPUT_FIREWALL_ALTERED;
    event.duration_ns = now_ns - breach->noticed_ns;
    event.at_most_ns = now_ns - breach->good_ns;
    if (error)
        snprintf(event.error, sizeof(event.error), "%s", error);
    output_firewall(attachment->output, &event);
}

/* --- Packets that the kernel dropped -------------------------------------------------------------- */

static void record_removal(struct attachment *attachment, const struct firewall_change *change)
{
    uint64_t now_ns = clock_monotonic_ns();

    attachment->removal = *change;
    attachment->removal_ns = now_ns;
    for (unsigned i = 0; i < attachment->worker_count; i++)
        set(&attachment->workers[i].exact_until_ns, now_ns + EXACT_SECONDS * NS_PER_SECOND);
}

/* --- Table ---------------------------------------------------------------------------------------- */

/* Called when the table is complete again, restored by this thread or by another process: reports and ends the
 * breach. */
static void close_breach(struct attachment *attachment, enum output_firewall_action action)
{
    struct breach *breach = &attachment->breach;
    const bool passed = breach->damage & ~(unsigned)FIREWALL_DAMAGE_SETS;
    uint64_t now_ns = clock_monotonic_ns();

    report_breach(attachment, action, NULL);
    log_warning("table %s %s: %s%s%s%s; %.3f ms after the change was noticed", attachment->firewall->table,
                action == OUTPUT_FIREWALL_REASSERTED ? "was restored" : "is complete again",
                breach->damage & FIREWALL_DAMAGE_TABLE ? "it had been removed or replaced" : "it had been altered",
                breach->change.process[0] ? " by " : "", breach->change.process,
                passed ? ", and packets could pass uninspected" : "", (double)(now_ns - breach->noticed_ns) / 1e6);
    if (passed)
        count(&attachment->uninspected_us, (now_ns - breach->noticed_ns) / 1000);
    *breach = (struct breach){ .open = false };
    attachment->good_ns = now_ns;
}

static bool spend(struct budget *budget, uint64_t most, uint64_t refill_ns)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t refill = (now_ns - budget->filled_ns) / refill_ns;

    if (refill > 0) {
        budget->left = budget->left + refill < most ? budget->left + refill : most;
        budget->filled_ns = now_ns;
    }
    if (budget->left == 0)
        return false;
    budget->left--;
    return true;
}

static void reassert(struct attachment *attachment)
{
    struct breach *breach = &attachment->breach;
    char error[FIREWALL_ERROR_SIZE];

    if (!spend(&attachment->budget, BUDGET, BUDGET_REFILL_MS * NS_PER_MS))
        return;
    if (breach->damage & (FIREWALL_DAMAGE_TABLE | FIREWALL_DAMAGE_CHAINS))
        /* Restoring replaces the chains of Sluice, so packets in the queues may be lost. */
        record_removal(attachment, &breach->change);
    if (firewall_watch_reinstall(attachment->watch, breach->damage, error) == 0) {
        count(&attachment->reasserted, 1);
        close_breach(attachment, OUTPUT_FIREWALL_REASSERTED);
        return;
    }
    count(&attachment->failed, 1);
    if (breach->reported)
        return;
    breach->reported = true;
    report_breach(attachment, OUTPUT_FIREWALL_FAILED, error);
    log_error("cannot restore table %s, packets may pass uninspected: %s; trying again", attachment->firewall->table,
              error);
}

/* Compares the table with what was installed, and restores it if that is configured. Returns true if there was no
 * difference; false if there was one, if the table cannot be read, or if nft.monitor is off. */
static bool check_table(struct attachment *attachment, const struct firewall_change *change, uint64_t noticed_ns)
{
    struct breach *breach = &attachment->breach;
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_check found;
    uint64_t begun_ns = clock_monotonic_ns();

    if (firewall_watch_check(attachment->watch, &found, error))
        return false; /* the next periodic check tries again */
    set(&attachment->blocked_packets, found.blocked_packets);
    set(&attachment->blocked_bytes, found.blocked_bytes);
    set(&attachment->accepted_packets, found.accepted_packets);
    set(&attachment->accepted_bytes, found.accepted_bytes);
    set(&attachment->dropped_packets, found.dropped_packets);
    set(&attachment->dropped_bytes, found.dropped_bytes);
    set(&attachment->acknowledgment_packets, found.acknowledgment_packets);
    set(&attachment->acknowledgment_bytes, found.acknowledgment_bytes);
    if (attachment->mode == MONITOR_OFF)
        return false;
    if (found.damage) {
        if (!breach->open)
            *breach = (struct breach){
                .open = true, .noticed_ns = noticed_ns, .good_ns = attachment->good_ns, .change = *change
            };
        breach->damage |= found.damage;
        breach->dropped |= found.drops;
        if (attachment->mode == MONITOR_REPORT && !breach->reported) {
            breach->reported = true;
            report_breach(attachment, OUTPUT_FIREWALL_ALTERED, NULL);
            log_warning("table %s was altered by another process: traffic may pass uninspected or unblocked; "
                        "nft.monitor: report "
                        "does not restore it",
                        attachment->firewall->table);
        }
    } else if (attachment->breach.open) {
        close_breach(attachment, OUTPUT_FIREWALL_RESTORED);
    } else {
        attachment->good_ns = begun_ns;
    }
    if (attachment->breach.open && attachment->mode == MONITOR_REASSERT)
        reassert(attachment);
    return found.damage == 0;
}

/* --- Notifications -------------------------------------------------------------------------------- */

static bool may_move(const struct attachment *attachment)
{
    return attachment->mode == MONITOR_REASSERT && !attachment->firewall->has_priority;
}

static void report_misplaced(struct attachment *attachment, enum output_firewall_action action,
                             const struct firewall_change *change)
{
    const struct firewall_misplaced_chain *chain = &change->intruder;
    struct output_firewall event = event_of(attachment, action, change);

    event.intruder = *chain;
    output_firewall(attachment->output, &event);
    log_warning("chain %s %s %s has priority %d on hook %s, on the wrong side of the chain of Sluice%s", chain->family,
                chain->table, chain->chain, (int)chain->priority, chain->hook,
                action == OUTPUT_FIREWALL_MOVED ? "; the sluice table was moved"
                : may_move(attachment)          ? ""
                                                : ": set nft.priority and restart to move the sluice table");
}

/* Reads the notifications of changes to the ruleset. After a change, checks the table, and moves it if it is
 * misplaced. */
static void handle_changes(struct attachment *attachment)
{
    const struct firewall_misplaced_chain *last = &attachment->intruder, *chain;
    uint64_t now_ns = clock_monotonic_ns();
    struct firewall_change change;
    char error[FIREWALL_ERROR_SIZE];
    bool misplaced;

    firewall_watch_receive(attachment->watch, &change);
    if (change.transactions == 0 && !change.lost)
        return;
    count(&attachment->changes, change.transactions);
    count(&attachment->notifications_lost, change.lost);
    attachment->remember |= change.elements || change.lost;
    if (change.removals || change.lost)
        record_removal(attachment, &change);

    /* Do not report the same misplaced chain twice in a row. */
    chain = &change.intruder;
    misplaced = chain->found && attachment->mode != MONITOR_OFF &&
                !(last->found && strcmp(last->table, chain->table) == 0 && strcmp(last->chain, chain->chain) == 0 &&
                  last->priority == chain->priority);
    if (misplaced) {
        attachment->intruder = *chain;
        report_misplaced(attachment, OUTPUT_FIREWALL_MISPLACED, &change);
    }
    /* A table that differs is not moved: check_table() installs it again, at the right priority. */
    if (!check_table(attachment, &change, now_ns) || !misplaced || !may_move(attachment) ||
        !spend(&attachment->moves, MOVES, MOVE_SECONDS * NS_PER_SECOND))
        return;

    /* Move the table: remove and install it in one transaction, with priorities that fit the current chains. The
     * removal deletes the blocked hosts, so remember them first. */
    if (attachment->ports)
        firewall_watch_remember_hosts(attachment->watch);
    record_removal(attachment, &change);
    if (firewall_watch_reinstall(attachment->watch, FIREWALL_DAMAGE_TABLE, error)) {
        log_error("cannot move table %s: %s", attachment->firewall->table, error);
        return;
    }
    count(&attachment->moved, 1);
    report_misplaced(attachment, OUTPUT_FIREWALL_MOVED, &change);
}

/* --- Hosts to block ------------------------------------------------------------------------------- */

/* A group of requested hosts: not exempt, without duplicates. */
struct block_group {
    struct blocked_host hosts[FIREWALL_WATCH_HOSTS];
    struct block_request requests[FIREWALL_WATCH_HOSTS];
    size_t count;
};

static void add_request(struct attachment *attachment, struct block_group *group, const struct block_request *request)
{
    if (block_exemptions_contain(attachment->never, request->version, &request->address)) {
        count(&attachment->refused, 1);
        return;
    }
    for (size_t i = 0; i < group->count; i++)
        if (group->hosts[i].version == request->version && address_equal(&group->hosts[i].address, &request->address))
            return;
    group->requests[group->count] = *request;
    group->hosts[group->count++] = (struct blocked_host){
        .address = request->address,
        .version = request->version,
        .timeout_ms = (uint64_t)request->seconds * 1000,
    };
}

/* Blocks the hosts that workers have requested; each group is one transaction. */
static void block_hosts(struct attachment *attachment)
{
    for (int round = 0; round < ROUNDS; round++) {
        const struct block_request *request;
        bool added[FIREWALL_WATCH_HOSTS];
        char error[FIREWALL_ERROR_SIZE];
        struct block_group group;
        size_t size;

        group.count = 0;
        for (unsigned i = 0; i < attachment->worker_count; i++) {
            struct ring *ring = attachment->ports[i].ring;

            while (group.count < FIREWALL_WATCH_HOSTS && (request = ring_peek(ring, &size))) {
                add_request(attachment, &group, request);
                ring_release(ring);
            }
        }
        if (group.count == 0)
            return;
        if (firewall_watch_block(attachment->watch, group.hosts, group.count, added, error)) {
            if (atomic_load_explicit(&attachment->full, memory_order_relaxed) == 0)
                log_warning("cannot block hosts: %s", error);
            count(&attachment->full, group.count);
            continue;
        }
        for (size_t i = 0; i < group.count; i++) {
            struct output_firewall event = event_of(attachment, OUTPUT_FIREWALL_BLOCKED, NULL);

            if (!added[i])
                continue;
            request = &group.requests[i];
            attachment->unsaved = true;
            count(&attachment->added, 1);
            event.host = request->address;
            event.host_version = request->version;
            event.host_seconds = request->seconds;
            event.gid = request->gid;
            event.sid = request->sid;
            output_firewall(attachment->output, &event);
        }
    }
}

/* --- Lists ---------------------------------------------------------------------------------------- */

/* Blocks the networks that the reader of lists has read. */
static void block_networks(struct attachment *attachment)
{
    struct range_list networks[2];
    char error[FIREWALL_ERROR_SIZE];
    uint64_t reading = list_reader_take(attachment->lists, networks);
    const size_t ipv4 = reading > 0 ? networks[0].count : 0, ipv6 = reading > 0 ? networks[1].count : 0;

    if (reading == 0)
        return;
    if (firewall_watch_block_networks(attachment->watch, networks, error)) {
        count(&attachment->lists_failed, 1);
        log_error("cannot block the networks of the lists: %s; the networks that were blocked before stay blocked",
                  error);
        list_reader_applied(attachment->lists, reading, error);
        return;
    }
    if (ipv4 + ipv6 != atomic_load_explicit(&attachment->networks, memory_order_relaxed))
        log_info("blocking %zu IPv4 and %zu IPv6 networks of the lists", ipv4, ipv6);
    set(&attachment->networks, ipv4 + ipv6);
    list_reader_applied(attachment->lists, reading, NULL);
}

static int add_host_to_save(const struct blocked_host *host, void *user)
{
    const wide number = address_to_number(&host->address, host->version);

    return block_entries_add(user,
                             &(const struct block_entry){
                                 .range = { number, number },
                                 .until = host->timeout_ms > 0 ? (uint64_t)time(NULL) + host->expires_ms / 1000 : 0,
                                 .version = host->version,
                             });
}

static void save_hosts(struct attachment *attachment)
{
    struct block_entries hosts = { .count = 0 };

    if (firewall_watch_each_host(attachment->watch, add_host_to_save, &hosts))
        block_entries_clear(&hosts); /* out of memory: try again in the next round */
    else
        attachment->unsaved = false;
    if (!attachment->unsaved)
        list_reader_save_hosts(attachment->lists, &hosts);
}

/* Blocks the hosts in the file of the previous run, each for the rest of its time. Does nothing if the kernel blocks
 * hosts already: then the table of the previous run still exists, and its hosts are newer than the file. */
static void restore_hosts(struct attachment *attachment)
{
    struct block_entries saved = { .count = 0 };
    const uint64_t now = (uint64_t)time(NULL);
    size_t restored = 0;

    if (firewall_watch_hosts(attachment->watch) > 0 || list_reader_saved_hosts(attachment->lists, &saved))
        return;
    for (size_t at = 0; at < saved.count;) {
        struct blocked_host hosts[FIREWALL_WATCH_HOSTS];
        bool added[FIREWALL_WATCH_HOSTS];
        char error[FIREWALL_ERROR_SIZE];
        size_t number = 0;

        for (; at < saved.count && number < FIREWALL_WATCH_HOSTS; at++) {
            const struct block_entry *entry = &saved.at[at];
            const struct blocked_host host = {
                .address = address_from_number(entry->range.low, entry->version),
                .version = entry->version,
                .timeout_ms = entry->until > 0 ? (entry->until - now) * 1000 : 0,
            };

            if ((entry->until == 0 || entry->until > now) &&
                !block_exemptions_contain(attachment->never, host.version, &host.address))
                hosts[number++] = host;
        }
        if (number > 0 && firewall_watch_block(attachment->watch, hosts, number, added, error)) {
            log_warning("cannot block the hosts of the last run: %s", error);
            break;
        }
        restored += number;
    }
    if (restored > 0)
        log_info("blocking %zu hosts that were blocked before the stop", restored);
    block_entries_clear(&saved);
}

uint64_t attachment_reread_lists(struct attachment *attachment, const struct config *config)
{
    return attachment && attachment->lists ? list_reader_reread(attachment->lists, config) : 0;
}

bool attachment_describe_lists(const struct attachment *attachment, struct text *out)
{
    if (!attachment || !attachment->lists)
        return false;
    list_reader_describe(attachment->lists, out);
    return true;
}

/* --- Thread --------------------------------------------------------------------------------------- */

/* Checks, once in TICK_MS, the table, the packets that the kernel dropped, and the number of blocked hosts. */
static void check_periodically(struct attachment *attachment)
{
    static const struct firewall_change unknown = { .lost = true };
    uint64_t now_ns = clock_monotonic_ns(), sum = 0, lost;

    if (now_ns < attachment->tick_ns)
        return;
    attachment->tick_ns = now_ns + TICK_MS * NS_PER_MS;
    check_table(attachment, &unknown, now_ns);

    for (unsigned i = 0; i < attachment->worker_count; i++)
        sum += atomic_load_explicit(&attachment->workers[i].verdict_lost, memory_order_relaxed);
    lost = sum - attachment->verdict_lost;
    attachment->verdict_lost = sum;
    /* If no chain was removed recently, the packets were dropped for another reason, for example because a network
     * device went down. */
    if (lost > 0 && attachment->removal_ns != 0 &&
        clock_monotonic_ns() - attachment->removal_ns <= FLUSH_SECONDS * NS_PER_SECOND) {
        struct output_firewall event = event_of(attachment, OUTPUT_FIREWALL_FLUSHED, &attachment->removal);

        count(&attachment->flushed, lost);
        event.packets = lost;
        output_firewall(attachment->output, &event);
        log_warning("the kernel dropped %llu packets that waited in the queues, because a base chain was removed%s%s",
                    (unsigned long long)lost, attachment->removal.process[0] ? " by " : "",
                    attachment->removal.process);
    }
    if (!attachment->ports)
        return;
    if (attachment->remember && !attachment->breach.open && firewall_watch_remember_hosts(attachment->watch) == 0) {
        attachment->remember = false;
        attachment->unsaved = true;
    }
    if (attachment->unsaved)
        save_hosts(attachment);
    set(&attachment->hosts, firewall_watch_hosts(attachment->watch));
}

static int wait_ms(const struct attachment *attachment)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t left = attachment->tick_ns > now_ns ? (attachment->tick_ns - now_ns) / NS_PER_MS + 1 : 0;

    if (attachment->breach.open && attachment->mode == MONITOR_REASSERT && left > BUDGET_REFILL_MS / 4)
        left = BUDGET_REFILL_MS / 4;
    if (attachment->ports && left > BLOCK_WAIT_MS)
        left = BLOCK_WAIT_MS;
    return (int)left;
}

static void *run_thread(void *argument)
{
    struct attachment *attachment = argument;
    struct pollfd fds[] = {
        { .fd = attachment->stop_fd, .events = POLLIN },
        { .fd = firewall_watch_fd(attachment->watch), .events = POLLIN },
    };
    bool stop = false;

    pthread_setname_np(pthread_self(), "sluice-firewall");
    while (!stop) {
        poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms(attachment));
        stop = fds[0].revents != 0;
        handle_changes(attachment);
        /* While the table is incomplete, check and restore it as often as the budget permits. */
        if (attachment->breach.open && attachment->mode == MONITOR_REASSERT)
            check_table(attachment, &attachment->breach.change, clock_monotonic_ns());
        if (attachment->ports) {
            block_hosts(attachment);
            block_networks(attachment);
        }
        if (stop)
            attachment->tick_ns = 0;
        check_periodically(attachment);
    }
    return NULL;
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

/* Reads the block exemptions, and creates a block port for each worker. Returns 0, or -errno with a line in `error`. */
static int make_ports(struct attachment *attachment, const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    struct diag *diag = diag_new();
    int err = diag ? block_exemptions_new(&attachment->never, config, diag) : -ENOMEM;

    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "invalid nft.blocklist.never%s%s", diag && diag_count(diag) > 0 ? ": " : "",
                 diag && diag_count(diag) > 0 ? diag_get(diag, 0)->message : "");
    else if (block_exemptions_are_all(attachment->never))
        log_warning("nft.blocklist.never is any: no host will be blocked");
    diag_free(diag);
    if (err)
        return err;
    attachment->ports = calloc(attachment->worker_count, sizeof(*attachment->ports));
    for (unsigned i = 0; attachment->ports && i < attachment->worker_count && !err; i++)
        err = ring_new(&attachment->ports[i].ring, PORT_RING_SIZE);
    if (!err)
        err = list_reader_new(&attachment->lists, config, attachment->never);
    if (!attachment->ports || err) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    return 0;
}

int attachment_new(struct attachment **out, const struct attachment_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct firewall_settings settings;
    bool attaches = options->firewall->mode != ATTACH_NONE;
    struct attachment *attachment;
    int err = 0;

    *out = NULL;
    firewall_settings_read(options->config, &settings);
    /* With nft.offload the thread is needed even without monitoring, because it reads the counters of offloaded
     * flows. */
    if (!attaches ||
        (settings.monitor == MONITOR_OFF && !options->firewall->blocklist && !options->firewall->offload.accept &&
         !options->firewall->offload.drop && !options->firewall->offload.acknowledge))
        return 0;
    attachment = calloc(1, sizeof(*attachment));
    if (!attachment) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    attachment->firewall = options->firewall;
    attachment->output = options->output;
    attachment->workers = options->workers;
    attachment->worker_count = options->worker_count;
    attachment->mode = settings.monitor;
    attachment->budget.left = BUDGET;
    attachment->moves.left = MOVES;
    attachment->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (attachment->stop_fd < 0) {
        err = -errno;
        snprintf(error, ENGINE_ERROR_SIZE, "cannot create an eventfd: %s", strerror(-err));
    }
    if (!err && options->firewall->blocklist)
        err = make_ports(attachment, options->config, error);
    attachment->after_death = options->after_death;
    if (err)
        attachment_free(attachment);
    else
        *out = attachment;
    for (unsigned i = 0; !err && attachment->after_death && i < attachment->worker_count; i++)
        /* Separate verdict messages for each packet, until attachment_start() sets the time limit. */
        set(&attachment->workers[i].exact_until_ns, UINT64_MAX);
    return err;
}

int attachment_start(struct attachment *attachment, char error[ENGINE_ERROR_SIZE])
{
    char cause[FIREWALL_ERROR_SIZE];
    sigset_t all, before;
    int err = firewall_watch_open(&attachment->watch, attachment->firewall, cause);

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    /* Another process may have removed a base chain while no engine ran, and the kernel then dropped packets whose
     * messages are still in the socket: the verdicts of these will fail. */
    if (attachment->after_death)
        record_removal(attachment, &(const struct firewall_change){ .lost = true });
    if (attachment->ports) {
        restore_hosts(attachment);
        block_networks(attachment);
        err = list_reader_start(attachment->lists);
    }
    attachment->good_ns = clock_monotonic_ns();
    attachment->budget.filled_ns = attachment->moves.filled_ns = attachment->good_ns;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!err)
        err = -pthread_create(&attachment->thread, NULL, run_thread, attachment);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot start a thread: %s", strerror(-err));
        firewall_remove(attachment->firewall->table, cause);
        return err;
    }
    attachment->started = true;
    return 0;
}

void attachment_stop(struct attachment *attachment)
{
    const uint64_t one = 1;

    if (!attachment || !attachment->started)
        return;
    if (write(attachment->stop_fd, &one, sizeof(one)) < 0)
        log_error("cannot stop the firewall thread: %s", strerror(errno));
    pthread_join(attachment->thread, NULL);
    attachment->started = false;
}

void attachment_free(struct attachment *attachment)
{
    if (!attachment)
        return;
    attachment_stop(attachment);
    firewall_watch_close(attachment->watch);
    list_reader_free(attachment->lists);
    for (unsigned i = 0; attachment->ports && i < attachment->worker_count; i++)
        ring_free(attachment->ports[i].ring);
    free(attachment->ports);
    block_exemptions_free(attachment->never);
    if (attachment->stop_fd >= 0)
        close(attachment->stop_fd);
    free(attachment);
}

static uint64_t load_counter(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void attachment_counters(const struct attachment *attachment, struct attachment_counters *out)
{
    *out = (struct attachment_counters){
        .changes = load_counter(&attachment->changes),
        .reasserted = load_counter(&attachment->reasserted),
        .failed = load_counter(&attachment->failed),
        .moved = load_counter(&attachment->moved),
        .uninspected_us = load_counter(&attachment->uninspected_us),
        .flushed = load_counter(&attachment->flushed),
        .notifications_lost = load_counter(&attachment->notifications_lost),
        .hosts = load_counter(&attachment->hosts),
        .networks = load_counter(&attachment->networks),
        .lists_failed = load_counter(&attachment->lists_failed),
        .added = load_counter(&attachment->added),
        .refused = load_counter(&attachment->refused),
        .full = load_counter(&attachment->full),
        .blocked_packets = load_counter(&attachment->blocked_packets),
        .blocked_bytes = load_counter(&attachment->blocked_bytes),
        .accepted_packets = load_counter(&attachment->accepted_packets),
        .accepted_bytes = load_counter(&attachment->accepted_bytes),
        .dropped_packets = load_counter(&attachment->dropped_packets),
        .dropped_bytes = load_counter(&attachment->dropped_bytes),
        .acknowledgment_packets = load_counter(&attachment->acknowledgment_packets),
        .acknowledgment_bytes = load_counter(&attachment->acknowledgment_bytes),
    };
    for (unsigned i = 0; attachment->ports && i < attachment->worker_count; i++)
        out->lost += load_counter(&attachment->ports[i].lost);
}

const struct firewall_options *attachment_firewall(const struct attachment *attachment)
{
    return attachment->firewall;
}

const char *attachment_counter_get(const struct attachment_counters *counters, size_t number, uint64_t *value)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        { "firewall.changes", counters->changes },
        { "firewall.reasserted", counters->reasserted },
        { "firewall.failed", counters->failed },
        { "firewall.moved", counters->moved },
        { "firewall.uninspected_us", counters->uninspected_us },
        { "firewall.flushed", counters->flushed },
        { "firewall.notifications_lost", counters->notifications_lost },
        { "firewall.blocklist.hosts", counters->hosts },
        { "firewall.blocklist.networks", counters->networks },
        { "firewall.blocklist.lists_failed", counters->lists_failed },
        { "firewall.blocklist.added", counters->added },
        { "firewall.blocklist.refused", counters->refused },
        { "firewall.blocklist.full", counters->full },
        { "firewall.blocklist.lost", counters->lost },
        { "firewall.blocklist.dropped_packets", counters->blocked_packets },
        { "firewall.blocklist.dropped_bytes", counters->blocked_bytes },
        { "firewall.offload.accepted_packets", counters->accepted_packets },
        { "firewall.offload.accepted_bytes", counters->accepted_bytes },
        { "firewall.offload.dropped_packets", counters->dropped_packets },
        { "firewall.offload.dropped_bytes", counters->dropped_bytes },
        { "firewall.offload.acknowledgment_packets", counters->acknowledgment_packets },
        { "firewall.offload.acknowledgment_bytes", counters->acknowledgment_bytes },
    };

    if (number >= sizeof(rows) / sizeof(rows[0]))
        return NULL;
    *value = rows[number].value;
    return rows[number].name;
}
