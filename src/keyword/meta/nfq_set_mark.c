/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nfq_set_mark:0x10/0xff; sets bits of the packet's mark in the verdict. As in Suricata, packets inside a tunnel and
 * packets that carry a tunnel are not marked: a tunnel carries packets of many flows. A match in a reassembled
 * datagram marks the fragment that completed it.
 */
#include <errno.h>

#include "keyword/header/netfilter.h"

static void nfq_set_mark_act(const struct match_input *in, const void *data)
{
    const struct mark_bits *bits = data;
    const struct packet *packet = in->packet;
    struct packet *root = packet->root;

    if (!root || bits->mask == 0 || root->flags & PACKET_CARRIES_TUNNEL ||
        (root != packet && !(packet->flags & PACKET_REASSEMBLED)))
        return;
    root->mark_value = (root->mark_value & ~bits->mask) | (bits->value & bits->mask);
    root->mark_mask |= bits->mask;
    root->mark_set = true;
}

static int nfq_set_mark_parse(struct rule_parser *parser, struct span value)
{
    struct mark_bits *bits = arena_alloc(rule_parser_arena(parser), sizeof(*bits));

    if (!bits)
        return -ENOMEM;
    int err = mark_bits_parse(parser, value, true, bits);

    if (err)
        return err;
    if (bits->mask == 0)
        rule_parser_warning(parser, value, "no bit is set under the mask 0");
    else if (bits->value & ~bits->mask)
        rule_parser_warning(parser, value, "bits of the mark outside the mask are left out");
    return rule_parser_add_action(parser, nfq_set_mark_act, bits, true);
}

const struct keyword keyword_nfq_set_mark = {
    .name = "nfq_set_mark",
    .value = "VALUE/MASK",
    .help = "set the bits in MASK of the packet's mark to VALUE once the rule has matched",
    .manual = "Later firewall chains, routing and traffic control see the mark; save it to the connection "
              "mark there to apply it to the whole flow. The bits of queue.mark are set afterwards. Packets "
              "inside a tunnel and packets that carry a tunnel are not marked. Without a queue the keyword "
              "has no effect.",
    .kind = KEYWORD_META,
    .parse = nfq_set_mark_parse,
};
