/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static const uint8_t *ipv6_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (pkt->ip_version != 6 || !pkt->ip)
        return NULL;
    struct cursor cur = cursor_of(pkt->ip, (size_t)(pkt->data + pkt->length - pkt->ip));

    *length = (uint32_t)pkt->ip_header_length + pkt->ip_extension_length;
    return cursor_read(&cur, *length);
}

const struct keyword keyword_ipv6_hdr = {
    .name = "ipv6.hdr",
    .help = "IPv6 header with extension headers",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = ipv6_hdr_buffer },
};
