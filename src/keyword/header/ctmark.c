/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "netfilter.h"

static bool ctmark_match(const struct match_input *in, const void *data)
{
    struct conntrack conntrack;

    return netfilter_conntrack(&conntrack, in->packet) && mark_bits_hold(data, conntrack.mark);
}

static int ctmark_parse(struct rule_parser *parser, struct span value)
{
    rule_parser_rule(parser)->needs_conntrack = true;
    return mark_bits_condition(parser, value);
}

const struct keyword keyword_ctmark = {
    .name = "ctmark",
    .value = "[!]VALUE[/MASK]",
    .help = "conntrack mark of the packet's connection (nft: ct mark)",
    .manual = "Never matches a packet without conntrack data. Rules with this keyword make the daemon "
              "request conntrack data with each packet, which the kernel must support (queue.conntrack).",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .parse = ctmark_parse,
    .packet = { .cost = 2, .match = ctmark_match },
};
