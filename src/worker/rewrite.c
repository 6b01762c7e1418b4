/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes packets that are forwarded with changed bytes, because rules replaced bytes or the stream rewrote the packet.
 * The bytes must stay until the verdicts of the batch are sent, so each packet gets a slot of a ring that has as many
 * slots as a batch has packets.
 *
 * The checksum is updated by the difference (RFC 1624), so a wrong checksum stays wrong and the receiver still drops
 * the packet. If the kernel has not completed the checksum yet, the checksum field contains the sum of the pseudo
 * header, which does not depend on the payload. In a super-packet the field stays unchanged, because the kernel
 * completes the checksum of each segment. In a single packet the checksum is completed here, because the kernel does
 * not change the checksum of a packet with a new payload (nfqnl_mangle: CHECKSUM_NONE).
 */
#include "rewrite.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/bytes.h"
#include "sluice/decode.h"
#include "sluice/edit.h"
#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"

enum { TCP_CHECKSUM_OFFSET = 16, UDP_CHECKSUM_OFFSET = 6, ICMP_CHECKSUM_OFFSET = 2 };

int rewriter_init(struct rewriter *rewriter)
{
    memset(rewriter, 0, sizeof(*rewriter));
    /* The kernel allocates the pages when they are first written. */
    rewriter->slots = calloc(REWRITE_SLOTS, REWRITE_SLOT_SIZE);
    return rewriter->slots ? 0 : -ENOMEM;
}

void rewriter_clear(struct rewriter *rewriter)
{
    free(rewriter->slots);
    memset(rewriter, 0, sizeof(*rewriter));
}

void rewriter_begin(struct rewriter *rewriter, struct packet *pkt)
{
    rewriter->edits.count = rewriter->edits.withheld = 0;
    pkt->edits = &rewriter->edits;
}

/* Returns the offset of the checksum in the transport header; 0: the payload of this protocol cannot be replaced. */
static unsigned checksum_offset(const struct packet *pkt)
{
    if (!pkt->transport)
        return 0;
    switch (pkt->protocol) {
    case IPPROTO_TCP:
        return TCP_CHECKSUM_OFFSET;
    case IPPROTO_UDP:
        return UDP_CHECKSUM_OFFSET;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return ICMP_CHECKSUM_OFFSET;
    default:
        return 0;
    }
}

/* Writes the edits into a copy of the packet's transport segment, and updates its checksum by the difference (RFC 1624:
 * HC' = ~(~HC + ~m + m')). */
static void apply_edits(const struct packet_edits *edits, const struct packet *pkt, uint8_t *segment)
{
    uint8_t *checksum = segment + checksum_offset(pkt);
    uint16_t old = (uint16_t)(checksum[0] << 8 | checksum[1]);
    uint32_t sum = (uint16_t)~old;

    for (unsigned i = 0; i < edits->count; i++) {
        const struct packet_edit *edit = &edits->list[i];
        uint32_t at = pkt->transport_header_length + edit->offset;

        if ((uint64_t)edit->offset + edit->length > pkt->payload_length)
            continue;
        for (uint32_t k = 0; k < edit->length; k++, at++) {
            unsigned shift = at % 2 ? 0 : 8; /* position of the byte in its 16-bit word */

            sum += (uint16_t) ~(segment[at] << shift) + ((uint32_t)edit->bytes[k] << shift);
            while (sum >> 16)
                sum = (sum & 0xffff) + (sum >> 16);
            segment[at] = edit->bytes[k];
        }
    }
    if ((pkt->protocol == IPPROTO_UDP && old == 0) || pkt->flags & PACKET_CHECKSUM_NOT_READY)
        return; /* UDP without a checksum, or a checksum that is not completed yet */
    sum = (uint16_t)~sum;
    store_be16(checksum, sum == 0 && pkt->protocol == IPPROTO_UDP ? 0xffff : sum);
}

bool rewriter_finish(struct rewriter *rewriter, struct packet *pkt)
{
    const uint8_t *from = pkt->new_data ? pkt->new_data : pkt->data;
    const uint32_t length = pkt->new_data ? pkt->new_length : pkt->length;
    const bool wanted = rewriter->edits.count > 0 && pkt->verdict != VERDICT_DROP;
    const bool edited = wanted && pkt->root == pkt && pkt->payload && checksum_offset(pkt) != 0 &&
                        !(pkt->flags & (PACKET_TRUNCATED | PACKET_REASSEMBLED | PACKET_CARRIES_TUNNEL)) &&
                        length <= REWRITE_SLOT_SIZE;
    uint8_t *copy, *segment;

    pkt->edits = NULL;
    if (pkt->verdict == VERDICT_DROP || (!edited && !pkt->new_data))
        return !wanted;
    /* Rules have replaced bytes of a packet that is too long for a slot; packets that the stream rewrote always fit. */
    if (length > REWRITE_SLOT_SIZE) {
        pkt->new_data = NULL;
        return false;
    }
    copy = rewriter->slots + (size_t)rewriter->next * REWRITE_SLOT_SIZE;
    rewriter->next = (rewriter->next + 1) % REWRITE_SLOTS;
    memcpy(copy, from, length);
    segment = copy + (pkt->transport - pkt->data);
    if (edited)
        apply_edits(&rewriter->edits, pkt, segment);
    if (pkt->flags & PACKET_CHECKSUM_NOT_READY && !(pkt->flags & PACKET_GSO) && checksum_offset(pkt) != 0) {
        struct packet moved = *pkt;

        moved.transport = segment;
        moved.ip = copy + (pkt->ip - pkt->data);
        store_be16(segment + checksum_offset(pkt), decode_transport_checksum(&moved));
    }
    pkt->new_length = length;
    pkt->new_data = copy;
    return edited || !wanted;
}

/* Applies the replacements of rules and of the stream, and counts them. In alert-only the packet is not changed. */
void pipeline_finish_rewriting(struct pipeline *pipeline, struct packet *pkt)
{
    const struct packet_edits *edits = &pipeline->rewriter.edits;

    if (pipeline->mode == IPS_MODE_DROP) {
        pipeline->counters.would_replace += edits->withheld > 0;
        pipeline->counters.replace_refused += !rewriter_finish(&pipeline->rewriter, pkt);
        return;
    }
    pipeline->counters.would_replace += pkt->new_data || edits->count > 0 || edits->withheld > 0;
    pkt->edits = NULL;
    pkt->new_data = NULL;
}

/* --- Urgent data ---------------------------------------------------------------------------------- */

/* Whether the urgent byte is a Telnet data mark (IAC DM), which an FTP client sends before ABOR and Telnet sends as
 * Synch. */
static bool is_data_mark(const struct packet *pkt)
{
    enum { IAC = 255, DATA_MARK = 242 };
    uint16_t at = pkt->tcp.urgent > 0 ? pkt->tcp.urgent - 1 : 0;

    return at > 0 && at < pkt->payload_length && pkt->payload[at] == DATA_MARK && pkt->payload[at - 1] == IAC;
}

void pipeline_settle_urgent(struct pipeline *pipeline, struct packet *pkt)
{
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    struct stream_verdict verdict;
    const int64_t *places = NULL;
    unsigned count;
    uint64_t place;

    if (!pkt->transport || !pkt->flow || pkt->flow->flags & FLOW_PASSED || pkt->flow->state == FLOW_BYPASSED ||
        pkt->verdict == VERDICT_DROP || !stream_get_urgent_offset(pipeline->stream, pkt->flow, direction, pkt, &place))
        return;
    count = stream_get_urgent_offsets(pkt->flow, direction, &places);
    if (app_parses_without_urgent_byte(pkt->flow, direction, place, places, count, is_data_mark(pkt)))
        return;
    stream_clear_urgent(pipeline->stream, pkt->flow, direction, pkt, &verdict);
    if (verdict.drop)
        policy_drop(pipeline->policy, pkt, verdict.reason);
}
