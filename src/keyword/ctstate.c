/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ctstate:established,related; what the packet is to its connection, as the kernel's connection tracking says. */
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>

#include "netfilter.h"

enum ct_state { CT_NEW = 1 << 0, CT_ESTABLISHED = 1 << 1, CT_RELATED = 1 << 2 };

struct ct_states {
    unsigned states; /* enum ct_state */
    bool negated;
};

static unsigned state_of(uint32_t info)
{
    switch (info) {
    case IP_CT_NEW:
        return CT_NEW;
    case IP_CT_ESTABLISHED:
    case IP_CT_ESTABLISHED_REPLY:
        return CT_ESTABLISHED;
    case IP_CT_RELATED:
    case IP_CT_RELATED_REPLY:
        return CT_RELATED;
    default:
        return 0;
    }
}

static bool ctstate_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = netfilter_packet(in->packet);
    const struct ct_states *wanted = data;
    unsigned state = pkt && pkt->conntrack.bytes ? state_of(pkt->conntrack.info) : 0;

    return state != 0 && ((state & wanted->states) != 0) != wanted->negated;
}

static int parse_state(struct rule_parser *parser, struct span name, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned state;
    } names[] = { { "new", CT_NEW }, { "established", CT_ESTABLISHED }, { "related", CT_RELATED } };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal_nocase(name, names[i].name)) {
            *out |= names[i].state;
            return 0;
        }
    }
    if (span_equal_nocase(name, "invalid") || span_equal_nocase(name, "untracked"))
        return rule_parser_error(parser, name,
                                 "the kernel does not tell '" SPAN_FORMAT "' with packets: give such packets a mark by "
                                 "a firewall rule, and ask for that (mark)",
                                 SPAN_ARGS(name));
    return rule_parser_error(parser, name, "expected new, established or related, got '" SPAN_FORMAT "'",
                             SPAN_ARGS(name));
}

static int ctstate_parse(struct rule_parser *parser, struct span value, bool negated)
{
    struct ct_states *wanted = arena_alloc(rule_parser_arena(parser), sizeof(*wanted));
    int err = 0;

    if (!wanted)
        return -ENOMEM;
    *wanted = (struct ct_states){ .negated = negated };
    for (struct span rest = value, name; !err && span_next(&rest, ',', &name);)
        err = parse_state(parser, name, &wanted->states);
    rule_parser_rule(parser)->needs_conntrack = true;
    return err ? err : rule_parser_add_packet_condition(parser, wanted, false);
}

const struct keyword keyword_ctstate = {
    .name = "ctstate",
    .value = "[!]STATE[,STATE...]",
    .help = "what a packet is to its connection in the kernel's connection tracking: new, established, related",
    .manual =
        "Does not match packets that the kernel tells no connection of (queue.conntrack), as it does of untracked and "
        "invalid ones; rules with this keyword make the daemon ask for it.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .cost = 1,
    .parse = ctstate_parse,
    .match = ctstate_match,
};
