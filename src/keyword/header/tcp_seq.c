/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool tcp_seq_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    return header_is(pkt, IPPROTO_TCP) && number_range_has(data, pkt->tcp.sequence);
}

static int tcp_seq_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_tcp_seq = {
    .name = "tcp.seq",
    .aliases = { "seq" },
    .value = NUMBER_RANGE_FORM,
    .help = "TCP sequence number",
    .kind = KEYWORD_PACKET,
    .parse = tcp_seq_parse,
    .packet = { .match = tcp_seq_match },
};
