/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool tcp_mss_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_TCP) && pkt->tcp.has_mss && number_range_has(data, pkt->tcp.mss);
}

static int tcp_mss_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_tcp_mss = {
    .name = "tcp.mss",
    .value = NUMBER_RANGE_FORM,
    .help = "maximum segment size option of a TCP SYN, in bytes; does not match without the option",
    .kind = KEYWORD_PACKET,
    .parse = tcp_mss_parse,
    .packet = { .match = tcp_mss_match },
};
