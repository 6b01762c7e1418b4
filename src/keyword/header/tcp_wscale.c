/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool tcp_wscale_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_TCP) && pkt->tcp.has_window_scale && number_range_has(data, pkt->tcp.window_scale);
}

static int tcp_wscale_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT8_MAX, NULL);
}

const struct keyword keyword_tcp_wscale = {
    .name = "tcp.wscale",
    .value = NUMBER_RANGE_FORM,
    .help = "window scale option of a TCP SYN (shift count); does not match without the option",
    .kind = KEYWORD_PACKET,
    .parse = tcp_wscale_parse,
    .packet = { .match = tcp_wscale_match },
};
