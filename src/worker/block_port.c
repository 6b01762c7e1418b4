/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/block_port.h"

#include "sluice/address.h"
#include "sluice/packet.h"
#include "sluice/ring.h"
#include "sluice/rule.h"

static void request_block(struct block_port *port, const struct packet *pkt, const struct rule *rule,
                          const struct address *address)
{
    struct block_request *request = ring_reserve(port->ring, sizeof(*request));

    if (!request) {
        atomic_fetch_add_explicit(&port->lost, 1, memory_order_relaxed);
        return;
    }
    *request = (struct block_request){
        .address = *address,
        .version = pkt->ip_version,
        .seconds = rule->block_seconds,
        .gid = rule->gid,
        .sid = rule->sid,
    };
    ring_commit(port->ring);
}

void block_port_request(struct block_port *port, const struct packet *pkt, const struct rule *rule)
{
    if (pkt->ip_version == 0)
        return;
    if (rule->block != RULE_BLOCK_DESTINATION)
        request_block(port, pkt, rule, &pkt->source_address);
    if (rule->block != RULE_BLOCK_SOURCE)
        request_block(port, pkt, rule, &pkt->destination_address);
}
