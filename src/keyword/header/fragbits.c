/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "flag_letters.h"
#include "header.h"

/* The bits in the third 16-bit field of the IPv4 header, with the fragment offset (RFC 791 §3.1). */
enum { FRAGBITS_MORE = 0x2000, FRAGBITS_DONT = 0x4000, FRAGBITS_RESERVED = 0x8000, FRAGBITS_ALL = 0xe000 };

static const struct flag_letter letters[] = {
    { 'M', FRAGBITS_MORE }, { 'D', FRAGBITS_DONT }, { 'R', FRAGBITS_RESERVED }, { 0, 0 }
};

static bool fragbits_match(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;
    unsigned bits = (pkt->more_fragments ? FRAGBITS_MORE : 0u) | (pkt->dont_fragment ? FRAGBITS_DONT : 0u) |
                    (pkt->reserved_fragment_bit ? FRAGBITS_RESERVED : 0u);

    return pkt->ip_version == 4 && number_range_has(data, bits);
}

static void fragbits_narrow(const void *data, struct packet_needs *needs)
{
    const struct number_range *range = data;

    if (!range->negated && range->mask & FRAGBITS_RESERVED)
        packet_needs_properties(needs, PACKET_PROPERTY_RESERVED_BIT,
                                range->low & FRAGBITS_RESERVED ? PACKET_PROPERTY_RESERVED_BIT : 0);
}

static int fragbits_parse(struct rule_parser *parser, struct span value)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = flag_letters_parse(parser, value, letters, FRAGBITS_ALL, range);

    return err ? err : rule_parser_add_packet_condition(parser, range, false);
}

const struct keyword keyword_fragbits = {
    .name = "fragbits",
    .value = "[+|*|!]LETTERS of M, D and R",
    .help = "fragmentation bits of the IPv4 header: M more fragments, D don't fragment, R reserved",
    .manual = "Exactly these bits; with + these and possibly others, with * at least one of them, with ! "
              "not all of them.",
    .kind = KEYWORD_PACKET,
    .parse = fragbits_parse,
    .packet = { .match = fragbits_match },
    .hints = &(const struct prefilter_hints){ .narrow = fragbits_narrow },
};
