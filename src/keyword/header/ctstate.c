/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ctstate:established,related; the conntrack state of the packet. For a packet without a connection the kernel does not
 * report whether it is "invalid" or "untracked", so each of the two words matches both.
 */
#include <errno.h>
#include <linux/netfilter/nf_conntrack_common.h>

#include "netfilter.h"

enum ct_state { CT_NEW = 1 << 0, CT_ESTABLISHED = 1 << 1, CT_RELATED = 1 << 2, CT_NONE = 1 << 3 };

struct ct_states {
    unsigned states; /* set of enum ct_state */
    bool negated;
};

/* Returns the state of a packet (enum ct_state); 0 if the kernel did not report it. */
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

static int ctstate_parse(struct rule_parser *parser, struct span value)
{
    struct ct_states *wanted = arena_alloc(rule_parser_arena(parser), sizeof(*wanted));
    int err = 0;

    if (!wanted)
        return -ENOMEM;
    *wanted = (struct ct_states){ .negated = rule_parser_is_negated(parser) };
    for (struct span rest = value, name; !err && span_next(&rest, ',', &name);)
        err = parse_state(parser, name, &wanted->states);
    rule_parser_rule(parser)->needs_conntrack = true;
    return err ? err : rule_parser_add_packet_condition(parser, wanted, false);
}

const struct keyword keyword_ctstate = {
    .name = "ctstate",
    .value = "[!]STATE[,STATE...]",
    .help = "conntrack state of the packet: new, established, related, invalid or untracked",
    .manual = "The kernel does not distinguish invalid from untracked packets: both words match packets "
              "without a connection. To match only one of the two, mark such packets in a firewall rule and "
              "match the mark (keyword mark). Rules with this keyword make the daemon request conntrack "
              "data with each packet (queue.conntrack); nothing matches while the kernel sends none, and "
              "invalid and untracked match only after the first packet with a connection in a queue.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_NEGATABLE | KEYWORD_STATE,
    .parse = ctstate_parse,
    .packet = { .cost = 1, .match = ctstate_match },
};
