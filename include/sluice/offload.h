/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offload: which connections the kernel handles from now on without queueing their packets, by a mark on the conntrack
 * entry (accept, drop) that rules of the sluice table match.
 */
#ifndef SLUICE_OFFLOAD_H
#define SLUICE_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/packet.h"

struct config;
struct firewall_offload;
struct firewall_options;
struct flow;
struct nfqueue_options;
struct worker;

struct offload_options {
    bool accept, drop;
    bool passed; /* flows that were passed are accepted, too */
    bool has_ports;
    uint64_t ports[65536 / 64]; /* of servers whose flows are bypassed, a bit each */
};
/* As configured; nothing is handed over where drops have no effect. */
void offload_options_read(const struct config *config, bool inline_mode, struct offload_options *out);
void offload_queue_options(const struct config *config, const struct firewall_options *firewall,
                           struct nfqueue_options *out);
/* When the queues are bound: what the kernel can do. Logs it. */
void offload_probe_kernel(const struct worker *workers, unsigned worker_count, struct firewall_offload *table,
                          struct offload_options *out);
bool offload_port_is_bypassed(const struct offload_options *options, const struct flow *flow);
/* Of a packet of the queue that has its verdict. */
enum packet_offload offload_decide(const struct offload_options *options, const struct packet *pkt);

#endif
