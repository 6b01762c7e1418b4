/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "header.h"
#include "sluice/hex.h"
#include "sluice/number_range.h"

static bool tos_match(const struct match_input *in, const void *data)
{
    return in->packet->ip_version == 4 && number_range_has(data, in->packet->tos);
}

/* Parses Snort's notation of hexadecimal numbers: x1, x12, !x12. Returns false for any other text. */
static bool parse_short_hex(struct span value, struct number_range *out)
{
    bool negated = value.length > 0 && value.at[0] == '!';
    struct span rest = span_trim((struct span){ .at = value.at + negated, .length = value.length - negated });
    uint64_t number = 0;

    if (rest.length < 2 || rest.length > 3 || (rest.at[0] | 0x20) != 'x')
        return false;
    for (size_t i = 1; i < rest.length; i++) {
        int digit = hex_digit(rest.at[i]);
        if (digit < 0)
            return false;
        number = number << 4 | (uint64_t)digit;
    }
    *out = (struct number_range){ .mask = UINT64_MAX, .low = number, .negated = negated };
    return true;
}

static int tos_parse(struct rule_parser *parser, struct span value)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = parse_short_hex(value, range) ? 0 : number_range_parse(parser, value, UINT8_MAX, NULL, range);

    return err ? err : rule_parser_add_packet_condition(parser, range, false);
}

const struct keyword keyword_tos = {
    .name = "tos",
    .value = NUMBER_RANGE_FORM,
    .help = "type of service field of the IPv4 header",
    .manual = "x12 means 0x12, as in Snort. The IPv6 traffic class is not evaluated.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_QUOTED,
    .parse = tos_parse,
    .packet = { .match = tos_match },
};
