/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Teredo (RFC 4380): IPv6 in UDP. No header identifies Teredo, so the payload must be exactly one valid IPv6 packet,
 * optionally preceded by an origin indication. Other payload is treated as plain UDP, without events.
 */
#include <netinet/in.h>

#include "decode_priv.h"

enum { ORIGIN_LENGTH = 8, HOP_BY_HOP_MIN_LENGTH = 8 };

static bool decode_valid_ipv6(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    return decode_ipv6(decoder, pkt, cur) && !(pkt->flags & PACKET_MALFORMED);
}

bool decode_teredo(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *ip = cursor_peek(&cur, IPV6_HEADER_LENGTH);

    if (ip && ip[0] == 0 && ip[1] == 0 && cursor_skip(&cur, ORIGIN_LENGTH))
        ip = cursor_peek(&cur, IPV6_HEADER_LENGTH);
    if (!ip || ip[0] >> 4 != 6)
        return false;
    unsigned payload_length = load_be16(ip + 4);

    if (payload_length + IPV6_HEADER_LENGTH != cursor_remaining(&cur) || ip[7] == 0)
        return false;
    if (ip[6] == IPPROTO_HOPOPTS && payload_length < HOP_BY_HOP_MIN_LENGTH)
        return false;
    if (!decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_TEREDO, decode_valid_ipv6))
        return false;
    decode_count(decoder, COUNTER_TEREDO);
    return true;
}
