/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pass reads all flows of all workers, page by page. The rate of a flow is the difference of its byte counts in two
 * passes, divided by the time between its two visits; the rate of a host is the sum for its flows. Flows that begin and
 * end between two passes are not counted.
 *
 * Cost: a worker copies at most 256 flows between two batches (WORKER_SAMPLES), one page at a time. talkers_read()
 * stops after about TALKERS_MS, and the next call continues the pass. An idle worker answers only when it wakes up, so
 * it gets one query in each call; its flows have no packets at that time.
 *
 * Both tables have a fixed size. Each address (or flow) may be in one of WAYS entries only; if all are used, the one
 * with the lowest rate (or the fewest bytes) is replaced. So a scan of many addresses does not displace the hosts with
 * high rates.
 */
#include "talkers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <xxhash.h>

#include "sluice/clock.h"

enum {
    WAYS = 8,
    FLOW_SETS = 1 << 13, /* sets of WAYS entries: 65536 flows */
    HOST_SETS = 1 << 11, /* sets of WAYS entries: 16384 hosts */
    SAMPLES = 1024,      /* flows in the answer of an idle worker */
    ROUNDS = 4096,       /* maximum number of queries to a worker in one call */
};

/* The counts of a flow at its last visit. */
struct visit {
    uint64_t id, bytes[FLOW_DIRECTIONS], packets;
    uint64_t at_ns; /* 0: the entry is free */
};

/* Rates are not computed for a longer time than this. */
#define TALKERS_OLD_NS (60 * NS_PER_SECOND)

struct talkers {
    struct visit *visits;      /* FLOW_SETS * WAYS entries */
    struct talker_host *hosts; /* HOST_SETS * WAYS entries, for the current pass */
    struct worker_query *queries;
    struct flow_sample *samples; /* SAMPLES for each worker */
    bool *done;                  /* per worker: the current pass has read its flows */
    bool *requested;             /* per worker: a query was sent, whose answer is not processed yet */
    unsigned workers;
    uint64_t seed;
    uint64_t begun_ns, before_begun_ns;     /* time of the first visit in the current pass and in the previous pass */
    uint64_t before_ns, before_realtime_ns; /* end of the previous pass; 0: none */
    struct talkers_result pass, last;       /* the current pass; the last finished one */
};

int talkers_new(struct talkers **out, unsigned workers)
{
    struct talkers *talkers = calloc(1, sizeof(*talkers));

    if (!talkers)
        return -ENOMEM;
    talkers->workers = workers;
    talkers->visits = calloc((size_t)FLOW_SETS * WAYS, sizeof(*talkers->visits));
    talkers->hosts = calloc((size_t)HOST_SETS * WAYS, sizeof(*talkers->hosts));
    talkers->queries = calloc(workers + 1u, sizeof(*talkers->queries));
    talkers->samples = calloc((size_t)(workers + 1u) * SAMPLES, sizeof(*talkers->samples));
    talkers->done = calloc(workers + 1u, sizeof(*talkers->done));
    talkers->requested = calloc(workers + 1u, sizeof(*talkers->requested));
    if (!talkers->visits || !talkers->hosts || !talkers->queries || !talkers->samples || !talkers->done ||
        !talkers->requested) {
        talkers_free(talkers);
        return -ENOMEM;
    }
    if (getrandom(&talkers->seed, sizeof(talkers->seed), GRND_NONBLOCK) < 0)
        talkers->seed = clock_realtime_ns();
    *out = talkers;
    return 0;
}

void talkers_free(struct talkers *talkers)
{
    if (!talkers)
        return;
    free(talkers->visits);
    free(talkers->hosts);
    free(talkers->queries);
    free(talkers->samples);
    free(talkers->done);
    free(talkers->requested);
    free(talkers);
}

/* --- A flow --------------------------------------------------------------------------------------- */

/* Returns the entry of the flow, or initialises one for it; NULL if all flows of its set have as many or more bytes. */
static struct visit *find_visit(struct talkers *talkers, const struct flow_sample *flow)
{
    struct visit *set = &talkers->visits[flow->id % FLOW_SETS * WAYS], *least = set;

    for (unsigned i = 0; i < WAYS; i++) {
        struct visit *visit = &set[i];

        if (visit->at_ns > 0 && visit->id == flow->id)
            return visit;
        if (visit->at_ns < talkers->before_begun_ns) { /* its flow was not found in the previous pass: it has ended */
            visit->at_ns = 0;
            visit->bytes[FLOW_TO_SERVER] = visit->bytes[FLOW_TO_CLIENT] = 0;
        }
        if (visit->bytes[FLOW_TO_SERVER] + visit->bytes[FLOW_TO_CLIENT] <
            least->bytes[FLOW_TO_SERVER] + least->bytes[FLOW_TO_CLIENT])
            least = visit;
    }
    if (least->at_ns > 0 && least->bytes[FLOW_TO_SERVER] + least->bytes[FLOW_TO_CLIENT] >=
                                flow->bytes[FLOW_TO_SERVER] + flow->bytes[FLOW_TO_CLIENT])
        return NULL;
    *least = (struct visit){ .id = flow->id };
    return least;
}

static void add_host(struct talkers *talkers, const struct address *address, uint8_t ip_version, uint64_t sent,
                     uint64_t received, uint64_t packets)
{
    uint64_t hash = XXH64(address, sizeof(*address), talkers->seed + ip_version);
    struct talker_host *set = &talkers->hosts[hash % HOST_SETS * WAYS], *least = set;

    for (unsigned i = 0; i < WAYS; i++) {
        struct talker_host *host = &set[i];

        if (host->ip_version == ip_version && memcmp(&host->address, address, sizeof(*address)) == 0) {
            least = host;
            break;
        }
        if (host->ip_version == 0) {
            *host = (struct talker_host){ .address = *address, .ip_version = ip_version };
            least = host;
            break;
        }
        if (host->sent + host->received < least->sent + least->received)
            least = host;
    }
    if (least->ip_version != ip_version || memcmp(&least->address, address, sizeof(*address)) != 0) {
        talkers->pass.hosts_dropped = true;
        if (least->sent + least->received >= sent + received)
            return;
        *least = (struct talker_host){ .address = *address, .ip_version = ip_version };
    }
    least->flows++;
    least->sent += sent;
    least->received += received;
    least->packets += packets;
}

static void rank_flow(struct talkers_result *pass, const struct talker_flow *flow)
{
    unsigned at = pass->flow_count < TALKERS_MAX ? pass->flow_count : TALKERS_MAX - 1;
    uint64_t rate = flow->to_server + flow->to_client;

    if (pass->flow_count == TALKERS_MAX && pass->flows[at].to_server + pass->flows[at].to_client >= rate)
        return;
    for (; at > 0 && pass->flows[at - 1].to_server + pass->flows[at - 1].to_client < rate; at--)
        pass->flows[at] = pass->flows[at - 1];
    pass->flows[at] = *flow;
    pass->flow_count += pass->flow_count < TALKERS_MAX;
}

/* Returns the increase per second from `before` to `now`; 0 if the count is lower, because it was reset in between. */
static uint64_t rate_of(uint64_t now, uint64_t before, uint64_t took_ns)
{
    double rate = now > before && took_ns > 0 ? (double)(now - before) * (double)NS_PER_SECOND / (double)took_ns : 0;

    return (uint64_t)rate;
}

void talkers_add(struct talkers *talkers, const struct flow_sample *flow, uint64_t now_ns, uint64_t realtime_ns)
{
    struct talker_flow found = { .flow = *flow };
    struct visit none = { .at_ns = 0 }, *visit = find_visit(talkers, flow), before = visit ? *visit : none;
    uint64_t packets = flow->packets[FLOW_TO_SERVER] + flow->packets[FLOW_TO_CLIENT];

    if (talkers->pass.visited++ == 0)
        talkers->begun_ns = now_ns;
    if (visit)
        *visit = (struct visit){ .id = flow->id,
                                 .bytes = { flow->bytes[FLOW_TO_SERVER], flow->bytes[FLOW_TO_CLIENT] },
                                 .packets = packets,
                                 .at_ns = now_ns };
    /* If the flow began after the previous pass, all its bytes count. If an older flow has no entry, its rate is not
     * known. */
    if (before.at_ns == 0 && talkers->before_ns > 0 && flow->start_ns >= talkers->before_realtime_ns &&
        flow->start_ns <= realtime_ns)
        before.at_ns = talkers->before_ns;
    if (before.at_ns > 0 && before.at_ns < now_ns) {
        found.to_server = rate_of(flow->bytes[FLOW_TO_SERVER], before.bytes[FLOW_TO_SERVER], now_ns - before.at_ns);
        found.to_client = rate_of(flow->bytes[FLOW_TO_CLIENT], before.bytes[FLOW_TO_CLIENT], now_ns - before.at_ns);
        found.packets = rate_of(packets, before.packets, now_ns - before.at_ns);
    }
    if (flow->ip_version == 0)
        return;
    add_host(talkers, &flow->client, flow->ip_version, found.to_server, found.to_client, found.packets);
    add_host(talkers, &flow->server, flow->ip_version, found.to_client, found.to_server, found.packets);
    rank_flow(&talkers->pass, &found);
}

/* --- A pass --------------------------------------------------------------------------------------- */

const struct talkers_result *talkers_finish(struct talkers *talkers, uint64_t now_ns, uint64_t realtime_ns)
{
    struct talkers_result *pass = &talkers->pass;

    for (size_t i = 0; i < (size_t)HOST_SETS * WAYS; i++) {
        const struct talker_host *host = &talkers->hosts[i];
        unsigned at = pass->host_count < TALKERS_MAX ? pass->host_count : TALKERS_MAX - 1;

        if (host->ip_version == 0 || (pass->host_count == TALKERS_MAX &&
                                      pass->hosts[at].sent + pass->hosts[at].received >= host->sent + host->received))
            continue;
        for (; at > 0 && pass->hosts[at - 1].sent + pass->hosts[at - 1].received < host->sent + host->received; at--)
            pass->hosts[at] = pass->hosts[at - 1];
        pass->hosts[at] = *host;
        pass->host_count += pass->host_count < TALKERS_MAX;
    }
    memset(talkers->hosts, 0, (size_t)HOST_SETS * WAYS * sizeof(*talkers->hosts));
    memset(talkers->done, 0, talkers->workers * sizeof(*talkers->done));
    pass->passes = talkers->last.passes + 1;
    talkers->last = *pass;
    *pass = (struct talkers_result){ .host_count = 0 };
    talkers->before_begun_ns = talkers->begun_ns;
    talkers->before_ns = now_ns;
    talkers->before_realtime_ns = realtime_ns;
    return &talkers->last;
}

bool talkers_request(struct talkers *talkers, struct worker *workers, unsigned count)
{
    bool any = false;

    for (unsigned i = 0; i < count && i < talkers->workers; i++) {
        struct worker_query *query = &talkers->queries[i];

        if (!talkers->requested[i] && !talkers->done[i] && !worker_has_query(&workers[i])) {
            query->kind = WORKER_SAMPLES;
            query->samples = &talkers->samples[(size_t)i * SAMPLES];
            query->sample_room = SAMPLES;
            talkers->requested[i] = worker_request_flows(&workers[i], query);
        }
        any |= talkers->requested[i];
    }
    return any;
}

const struct talkers_result *talkers_read(struct talkers *talkers, struct worker *workers, unsigned count)
{
    uint64_t realtime_ns = clock_realtime_ns(), now_ns = clock_monotonic_ns(), until_ns = 0;

    if (talkers->before_ns > 0 && now_ns - talkers->before_ns > TALKERS_OLD_NS) { /* no client for a long time */
        talkers->before_ns = talkers->before_begun_ns = 0;
        talkers->last = (struct talkers_result){ .host_count = 0 };
        memset(talkers->visits, 0, (size_t)FLOW_SETS * WAYS * sizeof(*talkers->visits));
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (!talkers_request(talkers, workers, count))
            return talkers_finish(talkers, clock_monotonic_ns(), realtime_ns);
        for (unsigned i = 0; i < count && i < talkers->workers; i++) {
            const struct worker_query *query = &talkers->queries[i];

            if (!talkers->requested[i])
                continue;
            talkers->requested[i] = false;
            if (!worker_wait_flows(&workers[i])) {
                talkers->done[i] = true;
                continue;
            }
            now_ns = clock_monotonic_ns();
            for (size_t k = 0; k < query->count; k++)
                talkers_add(talkers, &query->samples[k], now_ns, clock_realtime_ns());
            talkers->done[i] = query->cursor == 0 || query->idle;
        }
        now_ns = clock_monotonic_ns();
        if (until_ns == 0) /* start the time limit now: the first round may have waited for idle workers */
            until_ns = now_ns + TALKERS_MS * (NS_PER_SECOND / 1000);
        else if (now_ns >= until_ns)
            break;
    }
    return &talkers->last;
}
