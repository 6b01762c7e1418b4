/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool igmp_type_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_IGMP) && pkt->transport_header_length >= 1 &&
           number_range_has(data, pkt->transport[0]);
}

static int igmp_type_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_igmp_type = {
    .name = "igmp.type",
    .value = NUMBER_RANGE_FORM,
    .help = "IGMP message type",
    .kind = KEYWORD_PACKET,
    .parse = igmp_type_parse,
    .packet = { .match = igmp_type_match },
};
