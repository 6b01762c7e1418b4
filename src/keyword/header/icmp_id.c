/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool icmp_id_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is_icmp(pkt) && pkt->icmp.has_id && number_range_has(data, pkt->icmp.id);
}

static int icmp_id_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_icmp_id = {
    .name = "icmp_id",
    .value = NUMBER_RANGE_FORM,
    .help = "identifier of an ICMP echo or query message, or of an ICMPv6 echo message",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED,
    .parse = icmp_id_parse,
    .packet = { .match = icmp_id_match },
};
