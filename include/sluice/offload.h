/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offload: decides which connections the kernel accepts or drops from now on without queueing their packets. The worker
 * sets a mark on the conntrack entry, which rules of the sluice table match.
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
    bool passed; /* also accept flows that a pass rule matched */
    bool has_ports;
    uint64_t ports[65536 / 64]; /* bit set of server ports whose flows are bypassed */
};
/* Reads the options; nothing is offloaded unless verdicts have effect (`inline_mode`). */
void offload_options_read(const struct config *config, bool inline_mode, struct offload_options *out);
void offload_queue_options(const struct config *config, const struct firewall_options *firewall,
                           struct nfqueue_options *out);
/* Disables the kinds of offload that the kernel does not support, sets table->saves, and logs how flows are offloaded.
 * To be called after the queues are bound. */
void offload_probe_kernel(const struct worker *workers, unsigned worker_count, struct firewall_offload *table,
                          struct offload_options *out);
bool offload_port_is_bypassed(const struct offload_options *options, const struct flow *flow);
/* Returns how the kernel is to handle the rest of the connection of a queued packet. To be called after the packet's
 * verdict is decided. */
enum packet_offload offload_decide(const struct offload_options *options, const struct packet *pkt);

#endif
