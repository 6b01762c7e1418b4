/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MAC addresses of flows, for events. A flow whose packets take several paths, or whose hosts share an IP address, has
 * several MAC addresses per side.
 */
#include <string.h>

#include "flow_priv.h"
#include "sluice/pool.h"

enum { ETHERNET_SOURCE_AT = MAC_SIZE };

static void add_address(struct flow_macs *macs, enum flow_direction side, const uint8_t *address)
{
    unsigned count = macs->count[side];

    for (unsigned i = 0; i < count; i++)
        if (memcmp(macs->address[side][i], address, MAC_SIZE) == 0)
            return;
    if (count == FLOW_MACS_MAX)
        return;
    memcpy(macs->address[side][count], address, MAC_SIZE);
    macs->count[side]++;
}

void macs_record(struct flow_table *table, struct flow *flow, const struct packet *pkt, enum flow_direction direction)
{
    enum flow_direction opposite = direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    /* A packet from NFQUEUE has no link header; the kernel reports only the MAC address of the sender. */
    bool from_queue = !pkt->ethernet && pkt->tunnel_depth == 0 && pkt->meta.hardware_address_length == MAC_SIZE;

    if (!pkt->ethernet && !from_queue)
        return;
    if (!flow->macs) {
        if (!(flow->macs = pool_alloc(table->macs)))
            return;
        memset(flow->macs->count, 0, sizeof(flow->macs->count));
    }
    if (from_queue) {
        add_address(flow->macs, direction, pkt->meta.hardware_address);
        return;
    }
    add_address(flow->macs, direction, pkt->ethernet + ETHERNET_SOURCE_AT);
    add_address(flow->macs, opposite, pkt->ethernet);
}

void macs_swap(struct flow *flow)
{
    struct flow_macs copy;

    if (!flow->macs)
        return;
    copy = *flow->macs;
    for (unsigned side = 0; side < FLOW_DIRECTIONS; side++) {
        flow->macs->count[side] = copy.count[!side];
        memcpy(flow->macs->address[side], copy.address[!side], copy.count[!side] * (size_t)MAC_SIZE);
    }
}

void macs_free(struct flow_table *table, struct flow *flow)
{
    pool_release(table->macs, flow->macs);
    flow->macs = NULL;
}
