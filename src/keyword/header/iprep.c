/* SPDX-License-Identifier: GPL-2.0-or-later */
/* iprep:any,CATEGORY,>,30; the reputation of the packet's addresses according to reputation.files. */
#include <errno.h>

#include "keyword/meta/option.h"
#include "sluice/reputation.h"

enum iprep_side { SIDE_ANY, SIDE_SOURCE, SIDE_DESTINATION, SIDE_BOTH };
enum iprep_sign { SIGN_LESS, SIGN_LESS_OR_EQUAL, SIGN_GREATER, SIGN_GREATER_OR_EQUAL, SIGN_EQUAL, SIGN_NOT_EQUAL };

struct iprep {
    const struct reputation *reputation;
    enum iprep_side side;
    enum iprep_sign sign;
    int category, value;
};

/* Returns whether the reputation of the address satisfies the condition; false if it has none, even with `<`. */
static bool holds(const struct iprep *rep, const struct packet *pkt, const struct address *address)
{
    int known = reputation_value(rep->reputation, (unsigned)rep->category, pkt->ip_version, address);

    if (known < 0)
        return false;
    switch (rep->sign) {
    case SIGN_LESS:
        return known < rep->value;
    case SIGN_LESS_OR_EQUAL:
        return known <= rep->value;
    case SIGN_GREATER:
        return known > rep->value;
    case SIGN_GREATER_OR_EQUAL:
        return known >= rep->value;
    case SIGN_EQUAL:
        return known == rep->value;
    default:
        return known != rep->value;
    }
}

static bool iprep_match(const struct match_input *in, const void *data)
{
    const struct iprep *rep = data;
    const struct packet *pkt = in->packet;

    if (pkt->ip_version == 0)
        return false;
    switch (rep->side) {
    case SIDE_SOURCE:
        return holds(rep, pkt, &pkt->source_address);
    case SIDE_DESTINATION:
        return holds(rep, pkt, &pkt->destination_address);
    case SIDE_ANY:
        return holds(rep, pkt, &pkt->source_address) || holds(rep, pkt, &pkt->destination_address);
    default:
        return holds(rep, pkt, &pkt->source_address) && holds(rep, pkt, &pkt->destination_address);
    }
}

/* Returns the index of the word in `words`, or -1. */
static int find_word(struct span word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_equal(word, words[i]))
            return (int)i;
    return -1;
}

static int iprep_parse(struct rule_parser *parser, struct span value)
{
    static const char *const sides[] = { "any", "src", "dst", "both" };     /* indexed by enum iprep_side */
    static const char *const signs[] = { "<", "<=", ">", ">=", "=", "!=" }; /* indexed by enum iprep_sign */
    struct iprep *rep = arena_alloc(rule_parser_arena(parser), sizeof(*rep));
    struct span rest = value, fields[4];
    size_t count = 0;
    int64_t number = 0;

    if (!rep)
        return -ENOMEM;
    while (count < 4 && span_next(&rest, ',', &fields[count]))
        count++;
    if (count != 4 || rest.at)
        return rule_parser_error(parser, value, "four parts are expected: any|src|dst|both,CATEGORY,SIGN,NUMBER");
    int side = find_word(fields[0], sides, sizeof(sides) / sizeof(sides[0]));
    int sign = find_word(fields[2], signs, sizeof(signs) / sizeof(signs[0]));

    if (side < 0)
        return rule_parser_error(parser, fields[0], "the first part is any, src, dst or both");
    if (sign < 0)
        return rule_parser_error(parser, fields[2], "the third part is <, >, =, <=, >= or !=");
    int err = option_number(parser, fields[3], "a reputation", 0, REPUTATION_MAX, &number);

    if (err)
        return err;
    *rep = (struct iprep){
        .reputation = rule_parser_reputation(parser),
        .side = (enum iprep_side)side,
        .sign = (enum iprep_sign)sign,
        .value = (int)number,
    };
    if (!rep->reputation)
        return rule_parser_error(parser, fields[1],
                                 "there are no reputations: set reputation.categories and reputation.files");
    rep->category = reputation_category(rep->reputation, fields[1]);
    if (rep->category < 0)
        return rule_parser_error(parser, fields[1], "reputation.categories has no category '" SPAN_FORMAT "'",
                                 SPAN_ARGS(fields[1]));
    return rule_parser_add_packet_condition(parser, rep, false);
}

const struct keyword keyword_iprep = {
    .name = "iprep",
    .value = "any|src|dst|both,CATEGORY,<|<=|>|>=|=|!=,NUMBER",
    .help = "reputation of the packet's addresses (0 to 127)",
    .manual = "Reputations come from the files in reputation.categories and reputation.files. An address "
              "has its own value or that of the smallest network that contains it; an address without a "
              "reputation does not match.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_IP_ONLY,
    .parse = iprep_parse,
    .packet = { .cost = 2, .match = iprep_match },
};
