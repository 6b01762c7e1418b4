/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <net/ethernet.h>

#include "header.h"

static const uint8_t *ether_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    *length = ETHER_HDR_LEN;
    return in->packet->ethernet;
}

static int ether_hdr_parse(struct rule_parser *parser, struct span value, bool negated)
{
    (void)value;
    (void)negated;
    return rule_parser_select_buffer(parser, &keyword_ether_hdr);
}

const struct keyword keyword_ether_hdr = {
    .name = "ether.hdr",
    .help = "Ethernet header: 14 bytes, without VLAN tags",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = ether_hdr_parse,
    .buffer = ether_hdr_buffer,
};
