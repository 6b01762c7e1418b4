/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IPv6 (RFC 8200): the fixed header, and the upper layer after all extension headers. */
#include <netinet/in.h>

#include "decode_priv.h"

enum { PROTOCOL_SHIM6 = 140 };

static bool decode_ipv4_in_ipv6(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *inner = cursor_peek(&cur, IPV4_HEADER_LENGTH);

    if (!inner)
        return decode_invalid(pkt, DECODE_EVENT_IPV6_IPV4_IN_IPV6_TOO_SMALL);
    if (inner[0] >> 4 != 4)
        return decode_invalid(pkt, DECODE_EVENT_IPV6_IPV4_IN_IPV6_WRONG_VERSION);
    if (!decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_IPV6, decode_ipv4)) {
        decode_payload(pkt, cur);
        return false;
    }
    decode_count(decoder, COUNTER_IPV4_IN_IPV6);
    return true;
}

static bool decode_ipv6_in_ipv6(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *inner = cursor_peek(&cur, IPV6_HEADER_LENGTH);

    if (!inner)
        return decode_invalid(pkt, DECODE_EVENT_IPV6_IPV6_IN_IPV6_TOO_SMALL);
    if (inner[0] >> 4 != 6)
        return decode_invalid(pkt, DECODE_EVENT_IPV6_IPV6_IN_IPV6_WRONG_VERSION);
    if (!decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_IPV6, decode_ipv6)) {
        decode_payload(pkt, cur);
        return false;
    }
    decode_count(decoder, COUNTER_IPV6_IN_IPV6);
    return true;
}

/* Handles ICMPv4 in IPv6, which is invalid: as in Suricata, the packet then has no protocol. */
static bool note_icmpv4(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    (void)decoder;
    (void)cur;
    pkt->protocol = 0;
    decode_note(pkt, DECODE_EVENT_IPV6_ICMPV4);
    return true;
}

static decode_header *const by_next[UINT8_MAX + 1] = {
    [IPPROTO_ICMP] = note_icmpv4, [IPPROTO_IPIP] = decode_ipv4_in_ipv6, [IPPROTO_TCP] = decode_tcp,
    [IPPROTO_UDP] = decode_udp,   [IPPROTO_IPV6] = decode_ipv6_in_ipv6, [IPPROTO_GRE] = decode_gre,
    [IPPROTO_ESP] = decode_esp,   [IPPROTO_ICMPV6] = decode_icmpv6,     [IPPROTO_SCTP] = decode_sctp,
};

bool decode_ipv6_upper(struct decoder *decoder, struct packet *pkt, uint8_t next, struct cursor cur)
{
    pkt->protocol = next;
    if (by_next[next])
        return by_next[next](decoder, pkt, cur);
    decode_note(pkt, DECODE_EVENT_IPV6_UNKNOWN_NEXT_HEADER);
    decode_payload(pkt, cur);
    return true;
}

/* Returns whether the header must have at least two bytes, as extension headers and ESP do. */
static bool is_extension(uint8_t next)
{
    switch (next) {
    case IPPROTO_HOPOPTS:
    case IPPROTO_ROUTING:
    case IPPROTO_FRAGMENT:
    case IPPROTO_ESP:
    case IPPROTO_AH:
    case IPPROTO_NONE:
    case IPPROTO_DSTOPTS:
    case IPPROTO_MH:
    case 139: /* HIP, RFC 7401 */
    case PROTOCOL_SHIM6:
        return true;
    default:
        return false;
    }
}

bool decode_ipv6(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_IPV6);
    if (!decode_layer(decoder, pkt))
        return false;
    const uint8_t *ip = cursor_read(&cur, IPV6_HEADER_LENGTH);

    if (!ip)
        return decode_invalid(pkt, DECODE_EVENT_IPV6_PKT_TOO_SMALL);
    if (ip[0] >> 4 != 6)
        return decode_invalid(pkt, DECODE_EVENT_IPV6_WRONG_IP_VERSION);
    unsigned payload_length = load_be16(ip + 4);

    /* BIG TCP, with or without a hop-by-hop header that has the length (RFC 2675) */
    if (payload_length == 0 && decode_is_big_tcp(pkt, ip[6] == IPPROTO_HOPOPTS ? IPPROTO_TCP : ip[6], &cur))
        payload_length = (unsigned)cursor_remaining(&cur);
    if (payload_length > cursor_remaining(&cur))
        return decode_invalid(pkt, DECODE_EVENT_IPV6_TRUNC_PKT);
    cursor_limit(&cur, payload_length);
    pkt->ip = ip;
    pkt->ip_version = 6;
    pkt->ip_header_length = IPV6_HEADER_LENGTH;
    pkt->ip_total_length = IPV6_HEADER_LENGTH + payload_length;
    pkt->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    pkt->protocol = ip[6];
    pkt->ttl = ip[7];
    memcpy(pkt->source_address.bytes, ip + 8, sizeof(pkt->source_address.bytes));
    memcpy(pkt->destination_address.bytes, ip + 24, sizeof(pkt->destination_address.bytes));
    if (is_extension(pkt->protocol))
        decode_ipv6_extensions(decoder, pkt, cur);
    else
        decode_ipv6_upper(decoder, pkt, pkt->protocol, cur);
    return true;
}
