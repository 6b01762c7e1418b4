/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "netfilter.h"

static bool mark_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = netfilter_packet(in->packet);

    return pkt && mark_bits_hold(data, pkt->meta.mark);
}

const struct keyword keyword_mark = {
    .name = "mark",
    .value = "[!]VALUE[/MASK]",
    .help = "mark of the queued packet (nft: meta mark); only the bits in MASK are compared",
    .manual = "Only queued packets have a mark; a packet inside a tunnel has the mark of the packet that "
              "carries it.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .parse = mark_bits_condition,
    .packet = { .match = mark_match },
};
