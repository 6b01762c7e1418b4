/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Talkers: the hosts and flows with the highest rates now, for `sluice top`. They are computed from the flow tables of
 * the workers when a client requests them; packets cost nothing.
 *
 * Threads: the main thread.
 */
#ifndef SLUICE_DAEMON_TALKERS_H
#define SLUICE_DAEMON_TALKERS_H

#include "sluice/worker.h"

enum { TALKERS_MAX = 50 };

struct talker_host {
    struct address address;
    uint8_t ip_version; /* 0: the entry is free */
    uint32_t flows;
    uint64_t sent, received, packets; /* bytes and packets per second */
};
struct talker_flow {
    struct flow_sample flow;
    uint64_t to_server, to_client, packets; /* bytes and packets per second */
};
/* The result of one pass over all flows, highest rate first. */
struct talkers_result {
    struct talker_host hosts[TALKERS_MAX];
    struct talker_flow flows[TALKERS_MAX];
    unsigned host_count, flow_count;
    uint64_t visited;   /* flows that the pass has read */
    uint64_t passes;    /* finished passes; rates are known from the second one on */
    bool hosts_dropped; /* there were more hosts than the table has room for: hosts with low rates are missing */
};

struct talkers;
/* Allocates the tables (3.5 MiB, and 0.2 MiB for each worker). Returns 0 or -ENOMEM. Workers that do not answer in time
 * may write to the queries of the object, so it must be freed after the workers have ended. */
int talkers_new(struct talkers **out, unsigned workers);
void talkers_free(struct talkers *talkers); /* NULL is allowed */
/* Sends queries for flows to all workers of which the current pass has not read all flows. Returns false if there is
 * none. A caller may do this before talkers_read(), and wait for other answers of the workers in between. */
bool talkers_request(struct talkers *talkers, struct worker *workers, unsigned count);
/* Reads flows of all workers, for about TALKERS_MS, and returns the result of the last finished pass. */
enum { TALKERS_MS = 100 };
const struct talkers_result *talkers_read(struct talkers *talkers, struct worker *workers, unsigned count);

/* talkers_read() calls the next two functions for each flow and at the end of a pass; they are public for tests only.
 * `now_ns` is monotonic, `realtime_ns` the same time since 1970. */
void talkers_add(struct talkers *talkers, const struct flow_sample *flow, uint64_t now_ns, uint64_t realtime_ns);
const struct talkers_result *talkers_finish(struct talkers *talkers, uint64_t now_ns, uint64_t realtime_ns);

#endif
