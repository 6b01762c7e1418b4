/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool icode_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is_icmp(pkt) && number_range_has(data, pkt->icmp.code);
}

static int icode_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_icode = {
    .name = "icode",
    .value = NUMBER_RANGE_FORM,
    .help = "ICMP or ICMPv6 code",
    .kind = KEYWORD_PACKET,
    .parse = icode_parse,
    .packet = { .match = icode_match },
};
