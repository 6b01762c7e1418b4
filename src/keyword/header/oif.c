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
    .help = "output interface of a queued packet; with a bridge, also the bridge port",
    .manual = "INTERFACE is a name or an index. Names are resolved when the rules are loaded; reload the "
              "rules after adding an interface. Never matches where the hook has no output interface.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .parse = interface_list_condition,
    .packet = { .match = oif_match },
};
