/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 (RFC 791). If the header is invalid, the IP fields of the packet stay empty: no addresses, no protocol.
 * Fragments are not decoded further; defrag passes the reassembled datagram to decode_reassembled().
 */
#include <netinet/in.h>

#include "decode_priv.h"

enum { FRAGMENT_RESERVED = 0x8000, FRAGMENT_DONT = 0x4000, FRAGMENT_MORE = 0x2000, FRAGMENT_OFFSET = 0x1fff };

static bool decode_ipv4_in_ipv4(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    if (!decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_IPV4, decode_ipv4)) {
        decode_payload(pkt, cur);
        return false;
    }
    decode_count(decoder, COUNTER_IPV4_IN_IPV4);
    return true;
}

static bool decode_ipv6_in_ipv4(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    if (!decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_IPV4, decode_ipv6)) {
        decode_payload(pkt, cur);
        return false;
    }
    decode_count(decoder, COUNTER_IPV6_IN_IPV4);
    return true;
}

static bool note_icmpv6(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    (void)decoder;
    (void)cur;
    return decode_invalid(pkt, DECODE_EVENT_IPV4_ICMPV6);
}

/* Decoder of protocol 0, which a Van Jacobson packet may contain (ppp.c), so that it is not reported as unknown. */
static bool decode_nothing(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    (void)decoder;
    (void)pkt;
    (void)cur;
    return true;
}

static decode_header *const by_protocol[UINT8_MAX + 1] = {
    [IPPROTO_IP] = decode_nothing,        [IPPROTO_ICMP] = decode_icmpv4, [IPPROTO_IGMP] = decode_igmp,
    [IPPROTO_IPIP] = decode_ipv4_in_ipv4, [IPPROTO_TCP] = decode_tcp,     [IPPROTO_UDP] = decode_udp,
    [IPPROTO_IPV6] = decode_ipv6_in_ipv4, [IPPROTO_GRE] = decode_gre,     [IPPROTO_ESP] = decode_esp,
    [IPPROTO_ICMPV6] = note_icmpv6,       [IPPROTO_SCTP] = decode_sctp,
};

bool decode_ipv4(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_IPV4);
    if (!decode_layer(decoder, pkt))
        return false;
    const uint8_t *ip = cursor_peek(&cur, IPV4_HEADER_LENGTH);

    if (!ip)
        return decode_invalid(pkt, DECODE_EVENT_IPV4_PKT_TOO_SMALL);
    if (ip[0] >> 4 != 4)
        return decode_invalid(pkt, DECODE_EVENT_IPV4_WRONG_IP_VERSION);
    unsigned header_length = (ip[0] & 0x0f) * 4u, total_length = load_be16(ip + 2), fragment = load_be16(ip + 6);

    if (header_length < IPV4_HEADER_LENGTH)
        return decode_invalid(pkt, DECODE_EVENT_IPV4_HLEN_TOO_SMALL);
    /* BIG TCP: the kernel sets the length of a super-packet of more than 64 KiB to 0. */
    if (total_length == 0 && decode_is_big_tcp(pkt, ip[9], &cur))
        total_length = (unsigned)cursor_remaining(&cur);
    if (total_length < header_length)
        return decode_invalid(pkt, DECODE_EVENT_IPV4_IPLEN_SMALLER_THAN_HLEN);
    if (total_length > cursor_remaining(&cur))
        return decode_invalid(pkt, DECODE_EVENT_IPV4_TRUNC_PKT);
    if (header_length > IPV4_HEADER_LENGTH &&
        !decode_ipv4_options(pkt, cursor_of(ip + IPV4_HEADER_LENGTH, header_length - IPV4_HEADER_LENGTH)))
        return false;
    pkt->ip = ip;
    pkt->ip_version = 4;
    pkt->ip_header_length = (uint16_t)header_length;
    pkt->ip_total_length = total_length;
    pkt->tos = ip[1];
    pkt->fragment_id = load_be16(ip + 4);
    pkt->reserved_fragment_bit = fragment & FRAGMENT_RESERVED;
    pkt->dont_fragment = fragment & FRAGMENT_DONT;
    pkt->more_fragments = fragment & FRAGMENT_MORE;
    pkt->fragment_offset = (uint16_t)((fragment & FRAGMENT_OFFSET) * 8);
    pkt->ttl = ip[8];
    pkt->protocol = ip[9];
    memcpy(pkt->source_address.bytes, ip + 12, 4);
    memcpy(pkt->destination_address.bytes, ip + 16, 4);
    if (fragment & (FRAGMENT_MORE | FRAGMENT_OFFSET)) {
        pkt->flags |= PACKET_FRAGMENT;
        return true;
    }
    cursor_limit(&cur, total_length);
    cursor_skip(&cur, header_length);
    decode_header *decode = by_protocol[pkt->protocol];

    if (decode) {
        decode(decoder, pkt, cur);
    } else {
        decode_note(pkt, DECODE_EVENT_IPV4_UNKNOWN_PROTOCOL);
        decode_payload(pkt, cur);
    }
    return true;
}
