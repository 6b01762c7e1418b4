/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static const uint8_t *igmp_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    const struct packet *pkt = in->packet;

    if (!header_is(pkt, IPPROTO_IGMP))
        return NULL;
    *length = pkt->transport_header_length;
    return pkt->transport;
}

const struct keyword keyword_igmp_hdr = {
    .name = "igmp.hdr",
    .help = "IGMP header",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = igmp_hdr_buffer },
};
