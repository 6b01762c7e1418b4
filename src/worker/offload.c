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
 * Threads: options are read-only; all else belongs to the worker.
 */
#include "sluice/offload.h"

#include <netinet/in.h>
#include <string.h>

#include "sluice/capture.h"
#include "sluice/config.h"
#include "sluice/firewall.h"
#include "sluice/flow.h"
#include "sluice/log.h"
#include "sluice/packet.h"
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
    if (!offload->accept && !offload->drop)
        return;
    firewall_settings_read(config, &settings);
    out->offload = settings.offload_verdict == OFFLOAD_BY_CONNECTION    ? QUEUE_OFFLOAD_CONNECTION
                   : settings.offload_verdict == OFFLOAD_BY_PACKET_MARK ? QUEUE_OFFLOAD_PACKET_MARK
                                                                        : QUEUE_OFFLOAD_AUTO;
    out->offload_accept = offload->accept_mark;
    out->offload_accept_mask = offload->accept_mask;
    out->offload_drop = offload->drop_mark;
    out->offload_drop_mask = offload->drop_mask;
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

    if (!table->accept && !table->drop)
        return;
    for (unsigned i = 0; i < worker_count; i++) {
        enum queue_offload how = nfqueue_offload(workers[i].capture);

        by_packet += how == QUEUE_OFFLOAD_PACKET_MARK;
        by_connection += how == QUEUE_OFFLOAD_CONNECTION;
    }
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
