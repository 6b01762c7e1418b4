/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of events in floods. In a SYN flood, the end of each flow causes an event, and each segment that TCP tracking
 * rejects causes a drop event. These events would fill the disk, and displace events of real connections from the ring.
 * Each port writes a limited number of these events per second of packet time, and counts the others. Inspection and
 * all other counters do not change. Alerts, drops by rules and flows with an alert are never limited, nor are flows in
 * which both sides have sent packets (TCP: after the handshake).
 *
 * Threads: the worker that owns the port.
 */
#include <netinet/in.h>

#include "output_priv.h"
#include "sluice/clock.h"

bool event_limit_exceeds(struct event_limit *limit, uint32_t most, uint64_t time_ns)
{
    uint64_t second = time_ns / NS_PER_SECOND;

    if (most == 0)
        return false;
    if (limit->second != second)
        *limit = (struct event_limit){ .second = second };
    return limit->count++ >= most;
}

uint32_t event_limit_packet(struct event_limits *limits, uint32_t wanted, const struct eve_options *eve,
                            const struct packet *pkt, const struct decision *decision)
{
    uint32_t kinds = record_kinds(wanted, eve, pkt, decision);
    const uint32_t drops = 1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP;
    enum output_event kind = kinds & 1u << OUTPUT_DROP ? OUTPUT_DROP : OUTPUT_WOULD_DROP;

    if (!(kinds & drops) || decision->drop_rule || decision->would_drop_rule ||
        !event_limit_exceeds(&limits->drop, eve->drop.rate_limit, pkt->time_ns))
        return kinds;
    counter_add(&limits->limited[kind], 1);
    return kinds & ~drops;
}

bool event_limit_flow(struct event_limits *limits, const struct eve_options *eve, uint32_t kinds,
                      const struct flow *flow)
{
    const uint16_t both = FLOW_SERVER_SEEN | FLOW_CLIENT_SEEN;
    uint64_t packets = flow->side[FLOW_TO_SERVER].packets + flow->side[FLOW_TO_CLIENT].packets;
    bool is_one_sided = flow->state == FLOW_NEW || (flow->flags & both) != both;
    bool is_refused = flow->protocol == IPPROTO_TCP && packets <= 2; /* at most a SYN and its RST */

    if ((!is_one_sided && !is_refused) || flow->flags & FLOW_ALERTED ||
        !event_limit_exceeds(&limits->flow, eve->flow_rate_limit, flow->last_ns))
        return false;
    for (int kind = OUTPUT_FLOW; kind <= OUTPUT_NETFLOW; kind++) {
        if (kinds & 1u << kind)
            counter_add(&limits->limited[kind], 1);
    }
    return true;
}

void event_limits_count(const struct event_limits *limits, struct output_counters *out)
{
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        out->limited[kind] += atomic_load_explicit(&limits->limited[kind], memory_order_relaxed);
}
