/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctstate:established,related; what the packet is to its connection, as the kernel's connection tracking says. Of a
 * packet without a connection the kernel says nothing, neither whether it is invalid nor whether it is not tracked, so
 * these two are one here.
 */
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>

#include "netfilter.h"

enum ct_state { CT_NEW = 1 << 0, CT_ESTABLISHED = 1 << 1, CT_RELATED = 1 << 2, CT_NONE = 1 << 3 };

struct ct_states {
    unsigned states; /* enum ct_state */
    bool negated;
};

/* 0: not known. */
static unsigned state_of(const struct packet_conntrack *told)
{
    if (!told->bytes)
        return told->info == PACKET_CONNTRACK_NONE ? CT_NONE : 0;
    switch (told->info) {
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
    unsigned state = pkt ? state_of(&pkt->conntrack) : 0;

    return state != 0 && ((state & wanted->states) != 0) != wanted->negated;
}

static int parse_state(struct rule_parser *parser, struct span name, unsigned *out)
{
    static const struct {
        const char *name;
        unsigned state;
    } names[] = {
        { "new", CT_NEW },      { "established", CT_ESTABLISHED }, { "related", CT_RELATED },
        { "invalid", CT_NONE }, { "untracked", CT_NONE },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal_nocase(name, names[i].name)) {
            *out |= names[i].state;
            return 0;
        }
    }
    return rule_parser_error(parser, name,
                             "expected new, established, related, invalid or untracked, got '" SPAN_FORMAT "'",
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
    .help = "what a packet is to its connection in the kernel's connection tracking: new, established, related, "
            "invalid or untracked",
    .manual = "The kernel does not tell invalid packets from untracked ones: each of the two words means packets "
              "without a connection. To "
              "ask for one of them only, have a firewall rule mark such packets, and ask for the mark (mark). Does not "
              "match while "
              "the kernel tells nothing of connections (queue.conntrack), nor invalid or untracked in a queue before "
              "its first packet with a connection; rules with this keyword make the daemon ask "
              "for it.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .cost = 1,
    .parse = ctstate_parse,
    .match = ctstate_match,
};
