/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps copies of ended flows for `sluice explain`: flows in which a rule matched, that were dropped (in alert-only:
 * would have been dropped), or that had an exception. An administrator who reads an alert asks about its flow later,
 * when it has usually ended. The ring of a worker contains the copies of the most recent flows and overwrites the
 * oldest.
 *
 * Threads:   the worker.
 * Ownership: the pipeline. Pages are allocated when they are first written.
 */
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/stream.h"
#include "sluice/worker.h"

enum { ENDED_FLOWS = 4096 };

struct ended_flows {
    uint64_t count; /* number of flows added since the start */
    struct flow_copy flows[ENDED_FLOWS];
};

struct ended_flows *ended_flows_new(void)
{
    return calloc(1, sizeof(struct ended_flows));
}

void ended_flows_free(struct ended_flows *ended)
{
    free(ended);
}

void flow_copy_init(struct flow_copy *out, const struct flow *flow, bool ended)
{
    out->flow = *flow;
    out->ended = ended;
    out->has_history = flow->history != NULL;
    if (flow->history)
        out->history = *flow->history;
    stream_summary(flow, &out->tcp);
}

void ended_flows_add(struct ended_flows *ended, const struct flow *flow)
{
    if (!ended)
        return;
    bool keep = flow->history || flow->flags & FLOW_DROPPED || flow->would_drop;

    for (enum exception_cause cause = EXCEPTION_NONE + 1; cause < EXCEPTION_COUNT; cause++)
        keep |= flow->exceptions[cause] > 0;
    if (keep)
        flow_copy_init(&ended->flows[ended->count++ % ENDED_FLOWS], flow, true);
}

static bool is_end(const struct flow_ends *ends, unsigned end, const struct address *address, uint16_t port)
{
    return ends->port[end] == port && memcmp(&ends->address[end], address, sizeof(*address)) == 0;
}

static bool has_ends(const struct flow *flow, const struct flow_ends *ends)
{
    if (flow->protocol != ends->protocol || flow->ip_version != ends->ip_version ||
        flow->vlan_count != ends->vlan_count || flow->tunnel_depth > 0 ||
        memcmp(flow->vlan_id, ends->vlan_id, ends->vlan_count * sizeof(*ends->vlan_id)) != 0)
        return false;
    for (unsigned client = 0; client < 2; client++) {
        if (is_end(ends, client, &flow->client, flow->client_port) &&
            is_end(ends, !client, &flow->server, flow->server_port))
            return true;
    }
    return false;
}

const struct flow_copy *ended_flows_find(const struct ended_flows *ended, const struct flow_ends *ends, uint64_t id)
{
    uint64_t kept = !ended ? 0 : ended->count < ENDED_FLOWS ? ended->count : ENDED_FLOWS;

    for (uint64_t i = 1; i <= kept; i++) {
        const struct flow_copy *copy = &ended->flows[(ended->count - i) % ENDED_FLOWS];

        if (ends ? has_ends(&copy->flow, ends) : copy->flow.id == id)
            return copy;
    }
    return NULL;
}
