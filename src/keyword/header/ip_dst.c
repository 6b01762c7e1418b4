/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ip.dst; the destination address as a buffer of 4 or 16 bytes, for dataset. */
#include "header.h"

static const uint8_t *ip_dst_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (pkt->ip_version == 0)
        return NULL;
    *length = pkt->ip_version == 4 ? 4 : 16;
    return pkt->destination_address.bytes;
}

const struct keyword keyword_ip_dst = {
    .name = "ip.dst",
    .help = "destination address: 4 bytes for IPv4, 16 bytes for IPv6",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = ip_dst_buffer },
};
