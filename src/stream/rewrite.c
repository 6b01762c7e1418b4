/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rewriting: a segment that brings other bytes for a place already seen goes on with the bytes that were seen first, so that the
 * receiver reads what was inspected whatever its own way with overlaps is.
 */
#include <string.h>

#include "sluice/decode.h"
#include "stream_priv.h"

enum { CHECKSUM_OFFSET = 16 };

static const uint8_t *moved(const uint8_t *at, const uint8_t *from, const uint8_t *to)
{
    return at ? to + (at - from) : NULL;
}

/* Packets inside others, or of which bytes are missing, cannot be written anew. */
static bool can_be_rewritten(const struct packet *pkt)
{
    return pkt->root == pkt && !(pkt->flags & (PACKET_TRUNCATED | PACKET_REASSEMBLED)) &&
           pkt->length <= STREAM_REWRITE_SIZE;
}

bool rewrite_payload(struct segment *seg, int64_t offset)
{
    struct packet *pkt = seg->pkt;
    uint8_t *out = seg->stream->rewrite;
    uint32_t before = offset < 0 ? (uint32_t)-offset : 0; /* bytes without a place in the stream */

    if (!can_be_rewritten(pkt) || before >= pkt->payload_length)
        return false;
    memcpy(out, pkt->data, pkt->length);
    assembly_rewrite(&seg->sender->assembly, (uint64_t)(offset + before), out + (pkt->payload - pkt->data) + before,
                     pkt->payload_length - before);

    struct packet copy = *pkt;

    copy.ip = moved(pkt->ip, pkt->data, out);
    copy.transport = moved(pkt->transport, pkt->data, out);
    copy.payload = moved(pkt->payload, pkt->data, out);
    if (!(pkt->flags & PACKET_CHECKSUM_NOT_READY)) {
        uint16_t checksum = decode_transport_checksum(&copy);

        out[copy.transport - out + CHECKSUM_OFFSET] = (uint8_t)(checksum >> 8);
        out[copy.transport - out + CHECKSUM_OFFSET + 1] = (uint8_t)checksum;
    }
    pkt->new_data = out;
    pkt->new_length = pkt->length;
    pkt->payload = copy.payload; /* what is inspected is what goes on */
    return true;
}
