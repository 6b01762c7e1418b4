/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "header.h"
#include "sluice/number_list.h"

enum { VLAN_ID_MAX = 4095 };

static uint64_t get_id(const void *of, unsigned index)
{
    return ((const struct packet *)of)->vlan_id[index];
}

static bool vlan_id_match(const struct match_input *in, const void *data)
{
    return number_list_match(data, get_id, in->packet, in->packet->vlan_count);
}

static int vlan_id_parse(struct rule_parser *parser, struct span value)
{
    struct number_list *list = arena_alloc(rule_parser_arena(parser), sizeof(*list));

    if (!list)
        return -ENOMEM;
    int err = number_list_parse(parser, value, VLAN_ID_MAX, NULL, PACKET_MAX_VLANS, list);

    return err ? err : rule_parser_add_packet_condition(parser, list, false);
}

const struct keyword keyword_vlan_id = {
    .name = "vlan.id",
    .value = NUMBER_RANGE_FORM "[,WHICH], or count NUMBER",
    .help = "VLAN IDs of the packet, outermost first",
    .manual = "WHICH is any (the default), all, or_absent (any, or there is no tag), all_or_absent, the index of a "
              "tag (0 is the outermost, -1 the innermost), oob_or INDEX (that tag, or it does not exist), or nb "
              "NUMBER: the number of tags that must match.",
    .kind = KEYWORD_PACKET,
    .parse = vlan_id_parse,
    .packet = { .match = vlan_id_match },
};
