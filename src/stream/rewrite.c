/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rewriting: a segment that brings different bytes for an offset already seen is forwarded with the bytes that were
 * seen first, so that the receiver reads the inspected bytes regardless of its overlap policy.
 */
#include <string.h>

#include "sluice/decode.h"
#include "stream_priv.h"

enum { FLAGS_OFFSET = 13, CHECKSUM_OFFSET = 16, URGENT_OFFSET = 18 };

static const uint8_t *relocate(const uint8_t *at, const uint8_t *from, const uint8_t *to)
{
    return at ? to + (at - from) : NULL;
}

/* Returns false for packets inside tunnels, for truncated and reassembled packets, and for packets longer than the
 * buffer. */
static bool can_be_rewritten(const struct packet *pkt)
{
    return pkt->root == pkt && !(pkt->flags & (PACKET_TRUNCATED | PACKET_REASSEMBLED)) &&
           pkt->length <= STREAM_REWRITE_SIZE;
}

/* Computes the TCP checksum of `out`, a changed copy of the packet's bytes, and writes it there. */
static void refresh_checksum(const struct packet *pkt, uint8_t *out)
{
    struct packet copy = *pkt;

    copy.ip = relocate(pkt->ip, pkt->data, out);
    copy.transport = relocate(pkt->transport, pkt->data, out);
    copy.payload = relocate(pkt->payload, pkt->data, out);
    if (pkt->flags & PACKET_CHECKSUM_NOT_READY)
        return;
    uint16_t checksum = decode_transport_checksum(&copy);

    out[copy.transport - out + CHECKSUM_OFFSET] = (uint8_t)(checksum >> 8);
    out[copy.transport - out + CHECKSUM_OFFSET + 1] = (uint8_t)checksum;
}

bool rewrite_payload(struct segment *seg, int64_t offset)
{
    struct packet *pkt = seg->pkt;
    uint8_t *out = seg->stream->rewrite;
    uint32_t before = offset < 0 ? (uint32_t)-offset : 0; /* number of bytes before the start of the stream */

    if (!can_be_rewritten(pkt) || before >= pkt->payload_length)
        return false;
    memcpy(out, pkt->data, pkt->length);
    assembly_rewrite(&seg->sender->assembly, (uint64_t)(offset + before), out + (pkt->payload - pkt->data) + before,
                     pkt->payload_length - before);

    refresh_checksum(pkt, out);
    pkt->new_data = out;
    pkt->new_length = pkt->length;
    pkt->payload = relocate(pkt->payload, pkt->data, out); /* rules inspect the forwarded bytes */
    return true;
}

bool rewrite_without_urgent(struct stream *stream, struct packet *pkt)
{
    uint8_t *out = stream->rewrite, *header;

    if (!can_be_rewritten(pkt))
        return false;
    if (!pkt->new_data)
        memcpy(out, pkt->data, pkt->length);
    header = out + (pkt->transport - pkt->data);
    header[FLAGS_OFFSET] &= (uint8_t)~TCP_URG;
    header[URGENT_OFFSET] = header[URGENT_OFFSET + 1] = 0;

    struct packet plain = *pkt;

    if (pkt->new_data)
        plain.payload = pkt->data + (pkt->payload - out); /* refresh_checksum() expects a pointer into pkt->data */
    refresh_checksum(&plain, out);
    pkt->new_data = out;
    pkt->new_length = pkt->length;
    return true;
}
