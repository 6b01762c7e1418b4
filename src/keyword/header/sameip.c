/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static bool sameip_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    (void)data;
    return pkt->ip_version != 0 && address_equal(&pkt->source_address, &pkt->destination_address);
}

static void sameip_narrow(const void *data, struct packet_needs *needs)
{
    (void)data;
    packet_needs_properties(needs, PACKET_PROPERTY_SAME_ADDRESSES, PACKET_PROPERTY_SAME_ADDRESSES);
}

static int sameip_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_add_packet_condition(parser, NULL, false);
}

const struct keyword keyword_sameip = {
    .name = "sameip",
    .help = "source and destination address of the packet are equal",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NO_VALUE,
    .parse = sameip_parse,
    .packet = { .match = sameip_match },
    .hints = &(const struct prefilter_hints){ .narrow = sameip_narrow },
};
