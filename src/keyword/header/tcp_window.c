/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool tcp_window_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_TCP) && number_range_has(data, pkt->tcp.window);
}

static int tcp_window_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT16_MAX, NULL);
}

const struct keyword keyword_tcp_window = {
    .name = "tcp.window",
    .aliases = { "window" },
    .value = NUMBER_RANGE_FORM,
    .help = "TCP window field, without scaling",
    .kind = KEYWORD_PACKET,
    .parse = tcp_window_parse,
    .packet = { .match = tcp_window_match },
};
