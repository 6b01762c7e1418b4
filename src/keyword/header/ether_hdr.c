/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <net/ethernet.h>

#include "header.h"

static const uint8_t *ether_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    *length = ETHER_HDR_LEN;
    return in->packet->ethernet;
}

const struct keyword keyword_ether_hdr = {
    .name = "ether.hdr",
    .help = "Ethernet header: 14 bytes, without VLAN tags",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = ether_hdr_buffer },
};
