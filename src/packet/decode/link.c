/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Link types of captures and queues with a short header or none before the network header. */
#include "decode_priv.h"

enum {
    SLL_HEADER_LENGTH = 16,
    SLL_TYPE_OFFSET = 14,
    SLL2_HEADER_LENGTH = 20,
    CHDLC_HEADER_LENGTH = 4,
    CHDLC_TYPE_OFFSET = 2,
    NULL_HEADER_LENGTH = 4,
    VLAN_ID_MASK = 0x0fff,
};

/* Decodes a packet without link header: NFQUEUE, DLT_RAW. */
bool decode_raw(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_RAW);
    const uint8_t *header = cursor_peek(&cur, IPV4_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_IPV4_PKT_TOO_SMALL);
    if (header[0] >> 4 == 4)
        return decode_ipv4(decoder, pkt, cur);
    if (header[0] >> 4 == 6)
        return decode_ipv6(decoder, pkt, cur);
    decode_note(pkt, DECODE_EVENT_IPRAW_INVALID_IP_VERSION);
    return true;
}

/* Decodes a queued frame of a bridge: the kernel passes its Ethernet header and outermost VLAN tag separately from the
 * payload. */
bool decode_bridge(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ETHERNET);
    if (!decode_layer(decoder, pkt))
        return false;
    pkt->ethernet = pkt->frame_header;
    pkt->flags |= pkt->frame_header ? PACKET_ETHERNET : 0;
    if (pkt->meta.vlan_protocol != 0) {
        decode_count(decoder, COUNTER_VLAN);
        pkt->vlan_id[pkt->vlan_count++] = pkt->meta.vlan_tci & VLAN_ID_MASK;
    }
    decode_ether_type(decoder, pkt, pkt->meta.hardware_protocol, cur);
    return true;
}

/* Decodes a Linux cooked capture (DLT_LINUX_SLL), whose pseudo header replaces the link header of the device. */
bool decode_sll(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_SLL);
    const uint8_t *header = cursor_read(&cur, SLL_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_SLL_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    decode_ether_type(decoder, pkt, load_be16(header + SLL_TYPE_OFFSET), cur);
    return true;
}

bool decode_sll2(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_SLL2);
    const uint8_t *header = cursor_read(&cur, SLL2_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_SLL2_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    decode_ether_type(decoder, pkt, load_be16(header), cur);
    return true;
}

/* Decodes Cisco HDLC. */
bool decode_chdlc(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_CHDLC);
    const uint8_t *header = cursor_read(&cur, CHDLC_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_CHDLC_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    decode_ether_type(decoder, pkt, load_be16(header + CHDLC_TYPE_OFFSET), cur);
    return true;
}

static bool decode_family(struct decoder *decoder, struct packet *pkt, uint32_t family, struct cursor cur)
{
    /* AF_INET is 2 everywhere; AF_INET6 differs between systems. */
    static const uint8_t inet6[] = { 10 /* Linux */,   23 /* Windows */, 24 /* NetBSD, OpenBSD */,
                                     26 /* Solaris */, 28 /* FreeBSD */, 30 /* macOS */ };

    if (family == 2)
        return decode_ipv4(decoder, pkt, cur);
    for (size_t i = 0; i < sizeof(inet6); i++) {
        if (family == inet6[i])
            return decode_ipv6(decoder, pkt, cur);
    }
    decode_note(pkt, DECODE_EVENT_LTNULL_UNSUPPORTED_TYPE);
    return true;
}

/* Decodes a BSD loopback packet (DLT_NULL). The address family is in the byte order of the capturing host. Families are
 * small numbers, so the byte order that results in the smaller number is the right one. */
bool decode_null(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_NULL);
    const uint8_t *header = cursor_read(&cur, NULL_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_LTNULL_PKT_TOO_SMALL);
    uint32_t little = load_le32(header), big = load_be32(header);

    return decode_family(decoder, pkt, little < big ? little : big, cur);
}

/* Decodes an OpenBSD loopback packet (DLT_LOOP), whose address family is in network byte order. */
bool decode_loop(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    uint32_t family;

    decode_count(decoder, COUNTER_NULL);
    if (!cursor_be32(&cur, &family))
        return decode_invalid(pkt, DECODE_EVENT_LTNULL_PKT_TOO_SMALL);
    return decode_family(decoder, pkt, family, cur);
}
