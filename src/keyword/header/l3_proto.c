/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/keyword.h"

static bool l3_proto_match(const struct match_input *in, const void *data)
{
    return in->packet->ip_version == *(const uint8_t *)data;
}

static int l3_proto_parse(struct rule_parser *parser, struct span value)
{
    static const uint8_t ipv4 = 4, ipv6 = 6;
    const uint8_t *version = span_equal_nocase(value, "ipv4") || span_equal_nocase(value, "ip4")   ? &ipv4
                             : span_equal_nocase(value, "ipv6") || span_equal_nocase(value, "ip6") ? &ipv6
                                                                                                   : NULL;

    if (!version)
        return rule_parser_error(parser, value, "l3_proto is ipv4 or ipv6, got '" SPAN_FORMAT "'", SPAN_ARGS(value));
    return rule_parser_add_packet_condition(parser, version, rule_parser_is_negated(parser));
}

const struct keyword keyword_l3_proto = {
    .name = "l3_proto",
    .value = "[!]ipv4|ipv6",
    .help = "version of the Internet Protocol",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE | KEYWORD_IP_ONLY | KEYWORD_NEGATABLE,
    .parse = l3_proto_parse,
    .packet = { .match = l3_proto_match },
};
