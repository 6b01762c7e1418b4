/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which headers a packet has. Every keyword about a header asks first: a packet without it does not match, not even a
 * negated value, and the union of the transports in struct packet is read for the packet's own protocol only.
 */
#ifndef SLUICE_KEYWORD_HEADER_H
#define SLUICE_KEYWORD_HEADER_H

#include <netinet/in.h>

#include "sluice/bytes.h"
#include "sluice/keyword.h"

extern const struct keyword keyword_ether_hdr, keyword_icmpv4_hdr, keyword_icmpv6_hdr, keyword_igmp_hdr,
    keyword_ipv4_hdr, keyword_ipv6_hdr, keyword_sctp_chunk_data, keyword_sctp_hdr, keyword_tcp_hdr, keyword_udp_hdr;

static inline bool header_is(const struct packet *pkt, uint8_t protocol)
{
    return pkt->transport && pkt->protocol == protocol;
}

static inline bool header_is_icmp(const struct packet *pkt)
{
    return pkt->transport && (pkt->protocol == IPPROTO_ICMP || pkt->protocol == IPPROTO_ICMPV6);
}

/* From the transport header to where the IP packet ends; empty when there is no transport header. */
static inline struct cursor header_transport(const struct packet *pkt)
{
    const uint8_t *end = pkt->data + pkt->length;

    if (!pkt->transport || pkt->transport > end)
        return cursor_of(NULL, 0);
    struct cursor cur = cursor_of(pkt->transport, (size_t)(end - pkt->transport));
    size_t before = (size_t)(pkt->transport - pkt->ip);

    if (pkt->ip_total_length >= before)
        cursor_limit(&cur, pkt->ip_total_length - before);
    return cur;
}

#endif
