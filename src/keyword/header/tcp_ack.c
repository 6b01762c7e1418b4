/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool tcp_ack_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_TCP) && number_range_has(data, pkt->tcp.acknowledgment);
}

static int tcp_ack_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_tcp_ack = {
    .name = "tcp.ack",
    .aliases = { "ack" },
    .value = NUMBER_RANGE_FORM,
    .help = "TCP acknowledgment number",
    .kind = KEYWORD_PACKET,
    .parse = tcp_ack_parse,
    .packet = { .match = tcp_ack_match },
};
