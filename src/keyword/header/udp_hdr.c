/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static const uint8_t *udp_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (!header_is(pkt, IPPROTO_UDP))
        return NULL;
    *length = pkt->transport_header_length;
    return pkt->transport;
}

const struct keyword keyword_udp_hdr = {
    .name = "udp.hdr",
    .help = "UDP header",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = udp_hdr_buffer },
};
