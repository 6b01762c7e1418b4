/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to the headers of a packet. Every header keyword first checks that the packet has the header: a packet without
 * it does not match, not even a negated value. The check also ensures that only the member of struct packet's transport
 * union that belongs to the packet's protocol is read.
 */
#ifndef SLUICE_KEYWORD_HEADER_H
#define SLUICE_KEYWORD_HEADER_H

#include <netinet/in.h>

#include "sluice/bytes.h"
#include "sluice/keyword.h"

static inline bool header_is(const struct packet *pkt, uint8_t protocol)
{
    return pkt->transport && pkt->protocol == protocol;
}

static inline bool header_is_icmp(const struct packet *pkt)
{
    return pkt->transport && (pkt->protocol == IPPROTO_ICMP || pkt->protocol == IPPROTO_ICMPV6);
}

/* Returns the bytes from the transport header to the end of the IP packet; an empty cursor if there is no transport
 * header. */
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
