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

static int ipv4_hdr_parse(struct rule_parser *parser, struct span value, bool negated)
{
    (void)value;
    (void)negated;
    return rule_parser_select_buffer(parser, &keyword_ipv4_hdr);
}

const struct keyword keyword_ipv4_hdr = {
    .name = "ipv4.hdr",
    .help = "IPv4 header with options",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = ipv4_hdr_parse,
    .buffer = ipv4_hdr_buffer,
};
