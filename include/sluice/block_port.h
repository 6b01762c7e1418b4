/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Block port: carries the hosts that rules want blocked (nft.blocklist) from a worker to the thread that adds them to
 * the set of the sluice table.
 *
 * Threads:   the worker adds requests, the thread of the attachment removes them.
 * Ownership: the attachment owns ports and rings.
 */
#ifndef SLUICE_BLOCK_PORT_H
#define SLUICE_BLOCK_PORT_H

#include <stdatomic.h>
#include <stdint.h>

#include "sluice/address.h"

struct packet;
struct ring;
struct rule;

struct block_request {
    struct address address;
    uint32_t seconds, gid, sid; /* duration of the block (0: the configured one); ids of the rule that requests it */
    uint8_t version;            /* IP version of the address: 4 or 6 */
};

struct block_port {
    struct ring *ring;     /* its records are struct block_request */
    _Atomic uint64_t lost; /* requests for which the ring had no room */
};

/* Requests that the packet's source, destination or both be blocked, as rule->block says. Called by the worker; never
 * waits. */
void block_port_request(struct block_port *port, const struct packet *pkt, const struct rule *rule);

#endif
