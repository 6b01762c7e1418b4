/* SPDX-License-Identifier: GPL-2.0-or-later */
/* geoip:src,DE,AT; the country of the packet's addresses. A ! before any code negates the whole list, as in Suricata.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sluice/geoip.h"
#include "sluice/keyword.h"

enum geoip_side { SIDE_ANY, SIDE_SOURCE, SIDE_DESTINATION, SIDE_BOTH };
enum { MAX_COUNTRIES = 64 };

struct countries {
    const struct geoip *geoip;
    enum geoip_side side;
    bool negated;
    unsigned count;
    char codes[MAX_COUNTRIES][2];
};

/* Returns whether the address satisfies the condition; false if its country is unknown, even if the list is negated. */
static bool holds(const struct countries *countries, const struct packet *pkt, const struct address *address)
{
    char code[3];
    bool found = false;

    if (!geoip_country(countries->geoip, pkt->ip_version, address, code))
        return false;
    for (unsigned i = 0; i < countries->count && !found; i++)
        found = memcmp(countries->codes[i], code, 2) == 0;
    return found != countries->negated;
}

static bool geoip_match(const struct match_input *in, const void *data)
{
    const struct countries *countries = data;
    const struct packet *pkt = in->packet;

    if (pkt->ip_version == 0)
        return false;
    switch (countries->side) {
    case SIDE_SOURCE:
        return holds(countries, pkt, &pkt->source_address);
    case SIDE_DESTINATION:
        return holds(countries, pkt, &pkt->destination_address);
    case SIDE_ANY:
        return holds(countries, pkt, &pkt->source_address) || holds(countries, pkt, &pkt->destination_address);
    default:
        return holds(countries, pkt, &pkt->source_address) && holds(countries, pkt, &pkt->destination_address);
    }
}

/* Parses the side (any, src, dst, both) at the start of the list and removes it from `rest`; without one, *side is
 * unchanged. */
static void parse_side(struct span *rest, enum geoip_side *side)
{
    static const char *const names[] = { "any", "src", "dst", "both" }; /* indexed by enum geoip_side */
    struct span after = *rest, word;

    if (!span_next(&after, ',', &word) || !after.at)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal(word, names[i])) {
            *side = (enum geoip_side)i;
            *rest = after;
        }
    }
}

static int parse_code(struct rule_parser *parser, struct span code, struct countries *countries)
{
    if (code.length > 0 && code.at[0] == '!') {
        countries->negated = true;
        code = span_trim((struct span){ code.at + 1, code.length - 1 });
    }
    if (code.length != 2 || !isupper((unsigned char)code.at[0]) || !isupper((unsigned char)code.at[1]))
        return rule_parser_error(parser, code, "a country must be two upper-case letters (ISO 3166), such as DE");
    if (countries->count == MAX_COUNTRIES)
        return rule_parser_error(parser, code, "a list can have at most %d countries", MAX_COUNTRIES);
    memcpy(countries->codes[countries->count++], code.at, 2);
    return 0;
}

static int geoip_parse(struct rule_parser *parser, struct span value)
{
    struct countries *countries = arena_alloc(rule_parser_arena(parser), sizeof(*countries));
    struct span rest = value;

    if (!countries)
        return -ENOMEM;
    parse_side(&rest, &countries->side);
    for (struct span code; span_next(&rest, ',', &code);) {
        int err = parse_code(parser, code, countries);

        if (err)
            return err;
    }
    countries->geoip = rule_parser_geoip(parser, value);
    return countries->geoip ? rule_parser_add_packet_condition(parser, countries, false) : -EINVAL;
}

const struct keyword keyword_geoip = {
    .name = "geoip",
    .value = "[any|src|dst|both,][!]COUNTRY[,COUNTRY...]",
    .help = "countries of the packet's addresses",
    .manual = "Countries are ISO 3166 codes from the MaxMind database set in geoip-database. A ! negates "
              "the whole list. An address whose country is unknown does not match.",
    .kind = KEYWORD_PACKET,
    .parse = geoip_parse,
    .packet = { .cost = 3, .match = geoip_match },
};
