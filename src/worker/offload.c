/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which flows are offloaded: the kernel then accepts or drops their packets without queueing them
 * (nft.offload).
 *
 * The kernel knows only the connection of the queued packet. So the flow of that packet decides, not a flow inside a
 * tunnel, and a tunnel is not offloaded while packets inside it need inspection. Packets of an offloaded flow may still
 * arrive: some were already queued, and the packet with the mark may have been dropped by another rule before the mark
 * was saved. Each of them gets the mark again.
 *
 * Acknowledgments (TCP segments without payload and with no flag but ACK) are offloaded separately
 * (nft.offload.acknowledgments), for flows whose session does not need them now (stream_can_miss_acknowledgments()).
 * The mark is removed when the session needs them again, for example when one side closes the connection or when much
 * data waits for an acknowledgment. Short flows are not marked, because a verdict that changes a connection costs more
 * than a few acknowledgments. A flow that was picked up may have the mark from an earlier flow or engine; then its
 * first packet removes it.
 *
 * Threads: options are read-only; all else belongs to the worker.
 */
#include "sluice/offload.h"

#include <netinet/in.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/bytes.h"
#include "sluice/capture.h"
#include "sluice/config.h"
#include "sluice/firewall.h"
#include "sluice/flow.h"
#include "sluice/log.h"
#include "sluice/packet.h"
#include "sluice/stream.h"
#include "sluice/worker.h"

enum { MAX_PORTS = 1024, WORD_BITS = 64 };

void offload_options_read(const struct config *config, bool inline_mode, struct offload_options *out)
{
    struct firewall_settings settings;
    uint32_t ports[MAX_PORTS];
    int count;

    firewall_settings_read(config, &settings);
    memset(out, 0, sizeof(*out));
    out->accept = inline_mode && settings.options.offload.accept;
    out->drop = inline_mode && settings.options.offload.drop;
    out->acknowledge = inline_mode && settings.options.offload.acknowledge;
    out->acknowledgment_packets = settings.acknowledgment_packets;
    out->passed = settings.offload_passed;
    count = settings.offload_ports ? config_ranges(settings.offload_ports, UINT16_MAX, ports, MAX_PORTS) : 0;
    for (int i = 0; i < count; i++)
        out->ports[ports[i] / WORD_BITS] |= UINT64_C(1) << ports[i] % WORD_BITS;
    out->has_ports = count > 0;
}

void offload_queue_options(const struct config *config, const struct firewall_options *firewall,
                           struct nfqueue_options *out)
{
    struct firewall_settings settings;
    const struct firewall_offload *offload = &firewall->offload;

    out->offload = QUEUE_OFFLOAD_NONE;
    if (!offload->accept && !offload->drop && !offload->acknowledge)
        return;
    firewall_settings_read(config, &settings);
    out->offload = settings.offload_verdict == OFFLOAD_BY_CONNECTION    ? QUEUE_OFFLOAD_CONNECTION
                   : settings.offload_verdict == OFFLOAD_BY_PACKET_MARK ? QUEUE_OFFLOAD_PACKET_MARK
                                                                        : QUEUE_OFFLOAD_AUTO;
    out->offload_accept = offload->accept_mark;
    out->offload_accept_mask = offload->accept_mask;
    out->offload_drop = offload->drop_mark;
    out->offload_drop_mask = offload->drop_mask;
    out->offload_acknowledge = offload->acknowledge_mark;
    out->offload_acknowledge_mask = offload->acknowledge_mask;
    /* If another owner's rule queues the packets, it is unknown whether an accepted packet reaches a rule that drops it
     * by its mark. */
    out->offload_drop_by_rule = firewall->mode != ATTACH_NONE && firewall->mode != ATTACH_CHAIN;
}

/* Decides how flows are offloaded, by what the queues can do. The sluice table saves packet marks to connections only
 * if a queue cannot mark connections itself. */
void offload_probe_kernel(const struct worker *workers, unsigned worker_count, struct firewall_offload *table,
                          struct offload_options *out)
{
    unsigned by_packet = 0, by_connection = 0;

    if (!table->accept && !table->drop && !table->acknowledge)
        return;
    for (unsigned i = 0; i < worker_count; i++) {
        enum queue_offload how = nfqueue_offload(workers[i].capture);

        by_packet += how == QUEUE_OFFLOAD_PACKET_MARK;
        by_connection += how == QUEUE_OFFLOAD_CONNECTION;
    }
    if (table->acknowledge && by_connection < worker_count) {
        log_warning("acknowledgments are queued: nft.offload.acknowledgments needs connection marks in verdicts; %s",
                    by_packet > 0 && workers[0].queue.offload == QUEUE_OFFLOAD_PACKET_MARK
                        ? "set nft.offload.verdict to auto"
                        : "this kernel does not accept them (CONFIG_NETFILTER_NETLINK_GLUE_CT is off)");
        table->acknowledge = out->acknowledge = false;
    }
    if (!table->accept && !table->drop)
        return;
    table->saves = by_packet > 0;
    /* Decided before the first packet, so that no flow is recorded as offloaded that the kernel does not handle. */
    out->accept &= by_packet + by_connection > 0;
    out->drop &= by_connection > 0 || workers[0].queue.offload_drop_by_rule;
    if (by_packet + by_connection == 0)
        log_warning(
            "no flow is offloaded: this kernel does not accept connection marks in verdicts; set nft.offload.verdict "
            "to auto");
    else
        log_info("offloading flows by %s", by_packet > 0
                                               ? "packet marks, which the sluice table saves to the connection"
                                               : "connection marks in verdicts");
}

/* --- Packet path ---------------------------------------------------------------------------------- */

bool offload_port_is_bypassed(const struct offload_options *options, const struct flow *flow)
{
    if (!options->has_ports || (flow->protocol != IPPROTO_TCP && flow->protocol != IPPROTO_UDP))
        return false;
    return options->ports[flow->server_port / WORD_BITS] >> flow->server_port % WORD_BITS & 1;
}

static bool is_of_its_connection(const struct packet *pkt)
{
    const uint32_t others = PACKET_FRAGMENT | PACKET_CARRIES_TUNNEL | PACKET_MARKED | PACKET_LOOPING | PACKET_PSEUDO;

    return pkt->flow && !(pkt->flags & others) && pkt->tunnel_depth == 0 && pkt->protocol == pkt->flow->protocol;
}

enum packet_offload offload_decide(const struct offload_options *options, const struct packet *pkt)
{
    const struct flow *flow = pkt->flow;

    if ((!options->accept && !options->drop) || !is_of_its_connection(pkt))
        return OFFLOAD_NONE;
    if (pkt->verdict == VERDICT_DROP)
        return options->drop && flow->flags & FLOW_DROPPED ? OFFLOAD_DROP : OFFLOAD_NONE;
    /* A flow with would_drop is not offloaded, because each of its packets is counted. */
    if (!options->accept || flow->flags & FLOW_DROPPED || flow->would_drop)
        return OFFLOAD_NONE;
    return flow->state == FLOW_BYPASSED || (options->passed && flow->flags & FLOW_PASSED) ? OFFLOAD_ACCEPT
                                                                                          : OFFLOAD_NONE;
}

static bool is_acknowledgment(const struct packet *pkt)
{
    return pkt->tcp.flags == TCP_ACK && pkt->payload_length == 0;
}

static bool can_miss_acknowledgments(const struct offload_options *options, const struct stream *stream,
                                     const struct packet *pkt)
{
    const uint16_t both = FLOW_IP_ONLY_TO_SERVER | FLOW_IP_ONLY_TO_CLIENT;
    const struct flow *flow = pkt->flow;
    /* Address-only rules are evaluated for one packet of each direction, and again after a change of the mode. Without
     * such rules none of the flags is set. */
    const bool evaluates_addresses = flow->flags & both && (flow->flags & both) != both;
    /* Rules with app-layer-protocol only are evaluated for the next packet of the direction, too. */
    const bool evaluates_protocol = app_is_just_detected(pkt->flow, FLOW_TO_SERVER, false) ||
                                    app_is_just_detected(pkt->flow, FLOW_TO_CLIENT, false);

    return pkt->verdict != VERDICT_DROP && flow->state == FLOW_ESTABLISHED && !evaluates_addresses &&
           !evaluates_protocol && !address_equal(&flow->client, &flow->server) &&
           !(flow->flags & (FLOW_DROPPED | FLOW_NO_STREAM)) && !flow->would_drop && !flow->tag &&
           flow->side[FLOW_TO_SERVER].packets + flow->side[FLOW_TO_CLIENT].packets >= options->acknowledgment_packets &&
           stream_can_miss_acknowledgments(stream, flow, flow->offload == OFFLOAD_ACKNOWLEDGMENTS);
}

enum packet_offload offload_acknowledgments(const struct offload_options *options, const struct stream *stream,
                                            const struct packet *pkt, bool allowed)
{
    struct flow *flow = pkt->flow;

    if (!options->acknowledge || !is_of_its_connection(pkt) || pkt->protocol != IPPROTO_TCP || !pkt->transport)
        return OFFLOAD_NONE;
    if (flow->offload != OFFLOAD_NONE && flow->offload != OFFLOAD_ACKNOWLEDGMENTS)
        return OFFLOAD_NONE;
    if (allowed && can_miss_acknowledgments(options, stream, pkt)) {
        /* An acknowledgment of a marked connection was queued before the mark was set, or the mark was removed. */
        if (flow->offload == OFFLOAD_ACKNOWLEDGMENTS && !is_acknowledgment(pkt))
            return OFFLOAD_NONE;
        flow->offload = OFFLOAD_ACKNOWLEDGMENTS;
        stream_miss_acknowledgments(flow);
        return OFFLOAD_ACKNOWLEDGMENTS;
    }
    const bool is_picked_up =
        !(pkt->tcp.flags & TCP_SYN) && flow->side[FLOW_TO_SERVER].packets + flow->side[FLOW_TO_CLIENT].packets == 1;

    if (flow->offload == OFFLOAD_NONE && !is_picked_up)
        return OFFLOAD_NONE;
    flow->offload = OFFLOAD_NONE;
    return OFFLOAD_QUEUE;
}

bool offload_is_skipped(const struct offload_options *options, struct flow_table *flows, const struct packet *pkt)
{
    enum { IP_WORDS = 5, TCP_HEAD = 12, WORD_SHIFT = 12, RESERVED_AND_FLAGS = 0x0fff };
    struct flow_ends ends = {
        .protocol = IPPROTO_TCP,
        .ip_version = pkt->ip_version,
        .vlan_count = pkt->vlan_count,
        .address = { pkt->source_address, pkt->destination_address },
        .port = { pkt->source_port, pkt->destination_port },
    };
    const struct flow *flow;

    if (!options->skips || !options->acknowledge || pkt->protocol != IPPROTO_TCP || !pkt->transport ||
        pkt->tunnel_depth > 0 || pkt->flags & (PACKET_FRAGMENT | PACKET_REASSEMBLED))
        return false;
    if (pkt->reserved_fragment_bit || pkt->ip_header_length != (pkt->ip_version == 4 ? 4 * IP_WORDS : 40) ||
        pkt->ip_extension_length > 0 || (load_be16(pkt->transport + TCP_HEAD) & RESERVED_AND_FLAGS) != TCP_ACK ||
        pkt->ip_total_length != pkt->ip_header_length + 4u * (load_be16(pkt->transport + TCP_HEAD) >> WORD_SHIFT))
        return false;
    memcpy(ends.vlan_id, pkt->vlan_id, sizeof(ends.vlan_id));
    flow = flow_table_find(flows, &ends);
    return flow && flow->offload == OFFLOAD_ACKNOWLEDGMENTS;
}
