/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static const uint8_t *ipv4_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (pkt->ip_version != 4 || !pkt->ip)
        return NULL;
    *length = pkt->ip_header_length;
    return pkt->ip;
}

const struct keyword keyword_ipv4_hdr = {
    .name = "ipv4.hdr",
    .help = "IPv4 header with options",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = ipv4_hdr_buffer },
};
