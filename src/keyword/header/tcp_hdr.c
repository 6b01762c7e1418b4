/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static const uint8_t *tcp_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (!header_is(pkt, IPPROTO_TCP))
        return NULL;
    *length = pkt->transport_header_length;
    return pkt->transport;
}

const struct keyword keyword_tcp_hdr = {
    .name = "tcp.hdr",
    .help = "TCP header with options",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = tcp_hdr_buffer },
};
