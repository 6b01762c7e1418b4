/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offload: decides which connections the kernel accepts or drops from now on without queueing their packets, and of
 * which connections it accepts the acknowledgments. The worker sets a mark on the conntrack entry, which rules of the
 * sluice table match.
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
struct flow_table;
struct nfqueue_options;
struct stream;
struct worker;

struct offload_options {
    bool accept, drop;
    bool acknowledge; /* also offload acknowledgments of flows that are inspected */
    /* Replay: skip the acknowledgments that the kernel would not queue (offload_is_skipped()). */
    bool skips;
    uint32_t acknowledgment_packets; /* packets of a flow from which on its acknowledgments are offloaded */
    bool passed;                     /* also accept flows that a pass rule matched */
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
/* Returns whether the kernel is to accept the acknowledgments of the connection of a queued packet
 * (OFFLOAD_ACKNOWLEDGMENTS), or to queue them again (OFFLOAD_QUEUE), and records that in the flow; OFFLOAD_NONE: no
 * change. To be called for packets for which offload_decide() returns OFFLOAD_NONE. `allowed`: no rule can match an
 * acknowledgment. */
enum packet_offload offload_acknowledgments(const struct offload_options *options, const struct stream *stream,
                                            const struct packet *pkt, bool allowed);

/* Returns whether the kernel would accept the decoded packet as an acknowledgment without queueing it. */
bool offload_is_skipped(const struct offload_options *options, struct flow_table *flows, const struct packet *pkt);

#endif
