/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows offloaded flows. A thread periodically lists the connections with Sluice's mark in conntrack, with their
 * counters, and receives notifications when they end. Each worker has a ring of reports, which it reads between two
 * batches to update its flows. This thread does not know which worker has a flow, so it reports to all workers.
 * Workers without the flow ignore the report.
 *
 * Reports have the addresses and ports that a packet has after destination NAT and before source NAT, as in all three
 * hooks of Sluice: the client's from the original tuple, the server's from the reply tuple.
 *
 * A TCP connection whose conntrack entry is deleted before its end (for example flushed) continues, and so does its
 * flow.
 *
 * To list, the kernel walks through all connections, so the thread lists for 1/LIST_SHARE of the time at most.
 *
 * Threads: new/start/stop/free by the main thread, a port by its worker, counters by any thread.
 */
#include "offload_follower.h"

#include <errno.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/connections.h"
#include "sluice/conntrack.h"
#include "sluice/firewall.h"
#include "sluice/flow.h"
#include "sluice/log.h"
#include "sluice/ring.h"

enum {
    RING_SIZE = 256 << 10,
    LIST_SHARE = 50,  /* listing takes 1/LIST_SHARE of the time at most */
    FULL_TRIES = 100, /* how often, once in a millisecond, the thread waits for room in the ring of a worker */
    MAX_WAIT_MS = 1000,
};
#define NS_PER_MS UINT64_C(1000000)

struct offload_follower {
    struct connections *connections;
    struct ring **rings; /* one for each worker */
    unsigned workers;
    int stop_fd;
    bool started;
    pthread_t thread;

    /* used by the thread only */
    uint64_t interval_ns, list_ns; /* configured interval; time of the next listing (clock_monotonic_ns()) */

    /* written by the thread, read by any thread */
    _Atomic uint64_t reports, lost;
};

/* --- Reports -------------------------------------------------------------------------------------- */

/* Returns true if the end of the conntrack entry is the end of the connection. Otherwise packets of the connection may
 * follow, so its flow must not end. */
static bool is_over(const struct conntrack *connection)
{
    const struct conntrack_tuple *original = &connection->tuple[CONNTRACK_ORIGINAL];

    if (original->protocol != IPPROTO_TCP)
        return true;
    return connection->has_tcp && connection->tcp_state >= TCP_CONNTRACK_FIN_WAIT &&
           connection->tcp_state <= TCP_CONNTRACK_CLOSE;
}

static struct flow_report report_of(const struct conntrack *connection, bool ended)
{
    const struct conntrack_tuple *original = &connection->tuple[CONNTRACK_ORIGINAL];
    const struct conntrack_tuple *reply = &connection->tuple[CONNTRACK_REPLY];
    struct flow_report report = {
        .client = original->source,
        .client_port = original->source_port,
        .server = reply->source,
        .server_port = reply->source_port,
        .ip_version = original->ip_version,
        .protocol = original->protocol,
        .ended = ended && is_over(connection),
        .has_counts = connection->has_counts,
        .timeout_seconds = connection->timeout_seconds,
    };

    for (int side = 0; side < FLOW_DIRECTIONS; side++) {
        report.packets[side] = connection->packets[side];
        report.bytes[side] = connection->bytes[side];
    }
    return report;
}

/* Returns room for a report, or NULL when the ring of the worker stays full. */
static struct flow_report *reserve(struct ring *ring)
{
    const struct timespec pause = { .tv_nsec = (long)NS_PER_MS };
    struct flow_report *report = ring_reserve(ring, sizeof(*report));

    for (int i = 0; !report && i < FULL_TRIES; i++) {
        nanosleep(&pause, NULL);
        report = ring_reserve(ring, sizeof(*report));
    }
    return report;
}

static void tell(const struct conntrack *connection, bool ended, void *user)
{
    struct offload_follower *offload_follower = user;
    const struct flow_report report = report_of(connection, ended);

    atomic_fetch_add_explicit(&offload_follower->reports, 1, memory_order_relaxed);
    for (unsigned i = 0; i < offload_follower->workers; i++) {
        struct flow_report *room = reserve(offload_follower->rings[i]);

        if (!room) {
            atomic_fetch_add_explicit(&offload_follower->lost, 1, memory_order_relaxed);
            continue;
        }
        *room = report;
        ring_commit(offload_follower->rings[i]);
    }
}

/* --- Thread --------------------------------------------------------------------------------------- */

static void *follow_connections(void *argument)
{
    struct offload_follower *offload_follower = argument;
    struct pollfd fds[] = {
        { .fd = offload_follower->stop_fd, .events = POLLIN },
        { .fd = connections_fd(offload_follower->connections), .events = POLLIN },
    };
    const uint64_t interval_ns = offload_follower->interval_ns;
    bool stop = false;

    pthread_setname_np(pthread_self(), "sluice-follower");
    while (!stop) {
        uint64_t now_ns = clock_monotonic_ns(), list_ns = offload_follower->list_ns;
        uint64_t left_ms = list_ns > now_ns ? (list_ns - now_ns) / NS_PER_MS + 1 : 0;

        poll(fds, sizeof(fds) / sizeof(fds[0]), left_ms < MAX_WAIT_MS ? (int)left_ms : MAX_WAIT_MS);
        stop = fds[0].revents != 0;
        if (!connections_receive(offload_follower->connections, tell, offload_follower))
            atomic_fetch_add_explicit(&offload_follower->lost, 1, memory_order_relaxed);
        now_ns = clock_monotonic_ns();
        if (!stop && now_ns < list_ns)
            continue;
        /* An error is ignored, because the next listing follows soon. The longer a listing takes, the longer is the
         * interval. */
        connections_list(offload_follower->connections, tell, offload_follower);
        const uint64_t end_ns = clock_monotonic_ns(), share_ns = (end_ns - now_ns) * LIST_SHARE;

        offload_follower->list_ns = end_ns + (share_ns > interval_ns ? share_ns : interval_ns);
    }
    return NULL;
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

int offload_follower_new(struct offload_follower **out, const struct config *config,
                         const struct firewall_options *firewall, unsigned workers)
{
    struct connection_mark marks[CONNECTIONS_MAX_MARKS];
    const struct firewall_offload *offload = &firewall->offload;
    struct firewall_settings settings;
    struct offload_follower *offload_follower;
    unsigned count = 0;
    int err = 0;

    *out = NULL;
    if (offload->accept)
        marks[count++] = (struct connection_mark){ offload->accept_mark, offload->accept_mask };
    if (offload->drop)
        marks[count++] = (struct connection_mark){ offload->drop_mark, offload->drop_mask };
    firewall_settings_read(config, &settings);
    if (offload->acknowledge)
        marks[count++] = (struct connection_mark){ offload->acknowledge_mark, offload->acknowledge_mask };
    if (count == 0 || settings.offload_interval_seconds == 0)
        return 0;
    offload_follower = calloc(1, sizeof(*offload_follower));
    if (!offload_follower)
        return -ENOMEM;
    offload_follower->workers = workers;
    offload_follower->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    offload_follower->rings = calloc(workers, sizeof(struct ring *));
    if (!offload_follower->rings)
        err = -ENOMEM;
    for (unsigned i = 0; i < workers && !err; i++)
        err = ring_new(&offload_follower->rings[i], RING_SIZE);
    if (err) {
        offload_follower_free(offload_follower);
        return err;
    }
    offload_follower->interval_ns = (uint64_t)settings.offload_interval_seconds * NS_PER_SECOND;
    err = connections_open(&offload_follower->connections, marks, count);
    if (err) {
        log_warning("cannot read conntrack events (%s): flow events do not count packets of offloaded flows",
                    strerror(-err));
        offload_follower_free(offload_follower);
        return 0;
    }
    if ((offload->accept || offload->drop) && !connections_have_counters())
        log_info(
            "flow events do not count packets of offloaded flows: set net.netfilter.nf_conntrack_acct=1 to count them");
    *out = offload_follower;
    return 0;
}

int offload_follower_start(struct offload_follower *offload_follower)
{
    sigset_t all, before;
    int err;

    if (!offload_follower)
        return 0;
    offload_follower->list_ns = clock_monotonic_ns() + offload_follower->interval_ns;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = -pthread_create(&offload_follower->thread, NULL, follow_connections, offload_follower);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return err;
    offload_follower->started = true;
    return 0;
}

void offload_follower_stop(struct offload_follower *offload_follower)
{
    const uint64_t one = 1;

    if (!offload_follower || !offload_follower->started)
        return;
    if (write(offload_follower->stop_fd, &one, sizeof(one)) < 0)
        log_error("cannot stop the conntrack thread: %s", strerror(errno));
    pthread_join(offload_follower->thread, NULL);
    offload_follower->started = false;
}

void offload_follower_free(struct offload_follower *offload_follower)
{
    if (!offload_follower)
        return;
    offload_follower_stop(offload_follower);
    connections_close(offload_follower->connections);
    for (unsigned i = 0; offload_follower->rings && i < offload_follower->workers; i++)
        ring_free(offload_follower->rings[i]);
    free(offload_follower->rings);
    if (offload_follower->stop_fd >= 0)
        close(offload_follower->stop_fd);
    free(offload_follower);
}

struct ring *offload_follower_port(struct offload_follower *offload_follower, unsigned worker)
{
    return offload_follower ? offload_follower->rings[worker] : NULL;
}

void offload_follower_counters(const struct offload_follower *offload_follower, struct offload_follower_counters *out)
{
    *out = (struct offload_follower_counters){
        .reports = atomic_load_explicit(&offload_follower->reports, memory_order_relaxed),
        .lost = atomic_load_explicit(&offload_follower->lost, memory_order_relaxed),
    };
}
