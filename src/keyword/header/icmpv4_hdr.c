/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <netinet/ip_icmp.h>

#include "header.h"

/* Returns the number of header bytes after the first eight, by message type (RFC 1256 §3, RFC 792). */
static uint32_t fields_length(const uint8_t *header)
{
    switch (header[0]) {
    case ICMP_ROUTERADVERT:
        return (uint32_t)header[4] * header[5] * 4;
    case ICMP_TIMESTAMP:
    case ICMP_TIMESTAMPREPLY:
        return 12;
    default:
        return 0;
    }
}

static const uint8_t *icmpv4_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    struct cursor cur = header_transport(in->packet);
    const uint8_t *header = cursor_peek(&cur, ICMP_MINLEN);

    if (!header_is(in->packet, IPPROTO_ICMP) || !header)
        return NULL;
    uint32_t whole = ICMP_MINLEN + fields_length(header);

    *length = whole <= cursor_remaining(&cur) ? whole : ICMP_MINLEN;
    return header;
}

const struct keyword keyword_icmpv4_hdr = {
    .name = "icmpv4.hdr",
    .help = "ICMP header",
    .manual = "The header has eight bytes, plus the addresses of a router advertisement or the three times "
              "of a timestamp message, if the packet contains all of them.",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = icmpv4_hdr_buffer },
};
