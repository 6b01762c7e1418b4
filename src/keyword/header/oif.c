/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "netfilter.h"

static bool oif_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = netfilter_packet(in->packet);

    return pkt && interface_list_holds(data, pkt->meta.out_ifindex, pkt->meta.out_physical_ifindex);
}

const struct keyword keyword_oif = {
    .name = "oif",
    .aliases = { "oifname" },
    .value = "[!]INTERFACE[,INTERFACE...]",
    .help = "the interface that a packet from a queue is to leave by, or with a bridge the port of it",
    .manual = "INTERFACE is a name or a number. Names are looked up when the rules are loaded, and an interface that "
              "comes later is "
              "found when they are loaded again. Where the hook has no output interface nothing matches.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .parse = interface_list_condition,
    .match = oif_match,
};
