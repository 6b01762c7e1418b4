/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <netinet/icmp6.h>

#include "header.h"
#include "sluice/number_range.h"

static bool icmpv6_mtu_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_ICMPV6) && pkt->icmp.type == ICMP6_PACKET_TOO_BIG && pkt->icmp.code == 0 &&
           number_range_has(data, pkt->icmp.mtu);
}

static int icmpv6_mtu_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_icmpv6_mtu = {
    .name = "icmpv6.mtu",
    .value = NUMBER_RANGE_FORM,
    .help = "MTU in an ICMPv6 \"packet too big\" message, in bytes",
    .kind = KEYWORD_PACKET,
    .parse = icmpv6_mtu_parse,
    .packet = { .match = icmpv6_mtu_match },
};
