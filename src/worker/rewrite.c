/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes packets that are forwarded with changed bytes: those that rules replaced, and those that the stream rewrote.
 * The bytes must stay until the verdicts of the batch are sent, so each packet gets a slot of a ring that has as many
 * slots as a batch has packets.
 *
 * The checksum is updated by the difference (RFC 1624), so a wrong one stays wrong and the receiver still drops the
 * packet. If the kernel has not completed the checksum yet, it is the sum of the pseudo header, which does not depend
 * on the payload. In a super-packet it stays so, because the kernel completes it for each segment. In a single packet
 * it is completed here, because the kernel uses the checksum of a changed packet as it is (nfqnl_mangle:
 * CHECKSUM_NONE).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/decode.h"
#include "sluice/edit.h"
#include "sluice/flow.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"

#include "pipeline_priv.h"

enum { TCP_CHECKSUM_OFFSET = 16, UDP_CHECKSUM_OFFSET = 6, ICMP_CHECKSUM_OFFSET = 2 };

int rewriter_init(struct rewriter *rewriter)
{
    memset(rewriter, 0, sizeof(*rewriter));
    rewriter->slots = calloc(REWRITE_SLOTS, REWRITE_SLOT_SIZE); /* pages are allocated when they are written */
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

/* Returns the offset of the checksum in the transport header; 0 for a protocol whose payload cannot be replaced. */
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

static bool can_be_edited(const struct packet *pkt)
{
    return pkt->root == pkt && !(pkt->flags & (PACKET_TRUNCATED | PACKET_REASSEMBLED | PACKET_CARRIES_TUNNEL)) &&
           pkt->payload && checksum_offset(pkt) != 0;
}

/* A copy of a packet in its slot. */
struct copy {
    uint8_t *bytes;
    uint32_t transport, payload; /* offsets */
    uint8_t *checksum;
};

static struct copy copy_packet(struct rewriter *rewriter, const struct packet *pkt)
{
    struct copy copy = { .bytes = rewriter->slots + (size_t)rewriter->next * REWRITE_SLOT_SIZE };
    const uint8_t *from = pkt->new_data ? pkt->new_data : pkt->data;
    uint32_t length = pkt->new_data ? pkt->new_length : pkt->length;

    rewriter->next = (rewriter->next + 1) % REWRITE_SLOTS;
    memcpy(copy.bytes, from, length);
    copy.transport = (uint32_t)(pkt->transport - pkt->data);
    copy.payload = copy.transport + pkt->transport_header_length;
    copy.checksum = copy.bytes + copy.transport + checksum_offset(pkt);
    return copy;
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* RFC 1624: HC' = ~(~HC + ~m + m'), for one byte at an even or odd offset. */
static uint32_t add_difference(uint32_t sum, bool odd, uint8_t old, uint8_t new)
{
    unsigned shift = odd ? 0 : 8;

    return sum + (uint16_t) ~(old << shift) + ((uint32_t) new << shift);
}

static uint16_t fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* Writes the bytes of an edit. Returns the difference that it makes to the checksum. */
static uint16_t put_edit(const struct copy *copy, const struct packet_edit *edit, uint16_t folded)
{
    uint32_t at = copy->payload - copy->transport + edit->offset;
    uint8_t *bytes = copy->bytes + copy->transport + at;

    for (uint32_t i = 0; i < edit->length; i++) {
        folded = fold(add_difference(folded, (at + i) % 2, bytes[i], edit->bytes[i]));
        bytes[i] = edit->bytes[i];
    }
    return folded;
}

static void put_edits(struct rewriter *rewriter, const struct packet *pkt, const struct copy *copy)
{
    uint16_t sum = (uint16_t)~get16(copy->checksum);
    bool has_checksum = pkt->protocol != IPPROTO_UDP || get16(copy->checksum) != 0;

    for (unsigned i = 0; i < rewriter->edits.count; i++) {
        const struct packet_edit *edit = &rewriter->edits.list[i];

        if ((uint64_t)edit->offset + edit->length <= pkt->payload_length)
            sum = put_edit(copy, edit, sum);
    }
    sum = (uint16_t)~sum;
    if (has_checksum && !(pkt->flags & PACKET_CHECKSUM_NOT_READY))
        put16(copy->checksum, sum == 0 && pkt->protocol == IPPROTO_UDP ? 0xffff : sum);
}

static void fill_in_checksum(const struct packet *pkt, const struct copy *copy)
{
    struct packet moved = *pkt;

    moved.transport = copy->bytes + copy->transport;
    moved.ip = copy->bytes + (pkt->ip - pkt->data);
    put16(copy->checksum, decode_transport_checksum(&moved));
}

static bool fits(const struct packet *pkt)
{
    return (pkt->new_data ? pkt->new_length : pkt->length) <= REWRITE_SLOT_SIZE;
}

bool rewriter_finish(struct rewriter *rewriter, struct packet *pkt)
{
    bool wanted = rewriter->edits.count > 0 && pkt->verdict != VERDICT_DROP;
    bool edited = wanted && can_be_edited(pkt) && fits(pkt);

    pkt->edits = NULL;
    if (pkt->verdict == VERDICT_DROP || (!edited && !pkt->new_data))
        return !wanted;
    if (!fits(pkt)) { /* only for replacements of rules: packets that the stream rewrote always fit */
        pkt->new_data = NULL;
        return false;
    }
    struct copy copy = copy_packet(rewriter, pkt);

    if (edited)
        put_edits(rewriter, pkt, &copy);
    if (pkt->flags & PACKET_CHECKSUM_NOT_READY && !(pkt->flags & PACKET_GSO) && checksum_offset(pkt) != 0)
        fill_in_checksum(pkt, &copy);
    pkt->new_length = pkt->new_data ? pkt->new_length : pkt->length;
    pkt->new_data = copy.bytes;
    return edited || !wanted;
}

/* Applies the replacements of rules and of the stream; in alert-only the packet is not changed. */
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

/* DM behind IAC: an FTP client sends it before ABOR, and Telnet as Synch. */
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
