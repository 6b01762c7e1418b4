/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ip.src; the source address as a buffer of 4 or 16 bytes, for dataset. */
#include "header.h"

static const uint8_t *ip_src_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (pkt->ip_version == 0)
        return NULL;
    *length = pkt->ip_version == 4 ? 4 : 16;
    return pkt->source_address.bytes;
}

const struct keyword keyword_ip_src = {
    .name = "ip.src",
    .help = "source address: 4 bytes for IPv4, 16 bytes for IPv6",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = ip_src_buffer },
};
