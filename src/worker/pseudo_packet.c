/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pseudo packet represents the end of a flow and was never sent. It has the addresses and ports of the flow.
 *
 * Its time is the time of the evaluation, not that of the flow's last packet. So thresholds count matches in the order
 * of time, and count the same matches as Suricata, which uses the time of the last packet that it read.
 */
#include <string.h>

#include "sluice/flow.h"
#include "sluice/packet.h"

#include "pipeline_priv.h"

struct packet pseudo_packet(struct flow *flow, uint64_t now_ns, enum flow_direction direction)
{
    bool to_client = direction == FLOW_TO_CLIENT;
    struct packet pkt = {
        .link = LINK_RAW,
        .flags = PACKET_PSEUDO | PACKET_ESTABLISHED | (to_client ? PACKET_TO_CLIENT : 0u),
        .time_ns = now_ns > flow->last_ns ? now_ns : flow->last_ns,
        .source = PACKET_SOURCE_STREAM_TIMEOUT,
        .tunnel_depth = flow->tunnel_depth,
        .ip_version = flow->ip_version,
        .protocol = flow->protocol,
        .source_address = to_client ? flow->server : flow->client,
        .destination_address = to_client ? flow->client : flow->server,
        .source_port = to_client ? flow->server_port : flow->client_port,
        .destination_port = to_client ? flow->client_port : flow->server_port,
        .vlan_count = flow->vlan_count,
        .flow = flow,
    };

    memcpy(pkt.vlan_id, flow->vlan_id, sizeof(pkt.vlan_id));
    return pkt;
}
