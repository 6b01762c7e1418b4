/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applies the policies for whole packets before rules: for packets with the mark of inspected packets, looping packets
 * and truncated packets. */
#include <netinet/in.h>

#include "sluice/capture.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"

#include "pipeline_priv.h"

/*
 * Two kinds of super-packets cannot be inspected: those longer than the kernel copies to the queue (BIG TCP), and those
 * of several UDP datagrams (GRO), because the queue does not show where a datagram ends. VERDICT_SEGMENT returns them
 * to the kernel, which segments and queues them again.
 */
bool packet_needs_segments(struct pipeline *pipeline, const struct decoded_packet *decoded, const struct packet *pkt)
{
    bool large = pkt->flags & PACKET_TRUNCATED, udp = decoded->found[0]->protocol == IPPROTO_UDP;

    if (!(pkt->flags & PACKET_GSO) || (!large && !udp))
        return false;
    if (!(pkt->flags & PACKET_CAN_SEGMENT)) {
        pipeline->counters.unsegmented_udp += !large;
        return false;
    }
    pipeline->counters.segmented_large += large;
    pipeline->counters.segmented_udp += !large;
    return true;
}

bool packet_policy_decides(struct pipeline *pipeline, struct packet *pkt)
{
    /* queue.looping-packets: the packet was inspected each time it arrived, so it is not inspected again. */
    if (pkt->flags & PACKET_LOOPING) {
        pipeline->counters.looping++;
        /* In alert-only the packet is accepted, which also ends the loop, because the capture accepts a looping packet
         * instead of repeating it. */
        if (pipeline->looping_policy == QUEUE_LOOPING_DROP)
            policy_drop(pipeline->policy, pkt, DROP_REASON_LOOP);
        return true;
    }
    if (pkt->flags & PACKET_MARKED) { /* queue.marked-packets decides */
        pipeline->counters.marked++;
        if (pipeline->marked_policy == QUEUE_MARKED_DROP)
            policy_drop(pipeline->policy, pkt, DROP_REASON_MARKED);
        if (pipeline->marked_policy != QUEUE_MARKED_INSPECT) {
            pipeline->counters.uninspected_marked += pkt->verdict != VERDICT_DROP;
            return true;
        }
    }
    if (!(pkt->flags & PACKET_TRUNCATED) || pipeline->truncated_policy == QUEUE_TRUNCATED_INSPECT)
        return false;
    policy_drop(pipeline->policy, pkt, DROP_REASON_TRUNCATED);
    /* In alert-only the packet was not dropped: inspect the bytes that the kernel copied. */
    return pkt->verdict == VERDICT_DROP;
}
