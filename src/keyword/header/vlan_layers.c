/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"
#include "sluice/number_range.h"

static bool vlan_layers_match(const struct match_input *in, const void *data)
{
    return number_range_has(data, in->packet->vlan_count);
}

static int vlan_layers_parse(struct rule_parser *parser, struct span value)
{
    return number_range_condition(parser, value, PACKET_MAX_VLANS, NULL);
}

const struct keyword keyword_vlan_layers = {
    .name = "vlan.layers",
    .value = NUMBER_RANGE_FORM,
    .help = "number of VLAN tags of the packet",
    .kind = KEYWORD_PACKET,
    .parse = vlan_layers_parse,
    .packet = { .match = vlan_layers_match },
};
