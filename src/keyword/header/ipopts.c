/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

/* The bits in ip_options_seen for the names of IP options. */
static const struct ip_option_name {
    const char *name;
    uint32_t bits;
} names[] = {
    { "rr", 1u << IP_OPTION_RR },
    { "eol", 1u << IP_OPTION_EOL },
    { "nop", 1u << IP_OPTION_NOP },
    { "ts", 1u << IP_OPTION_TS },
    { "sec", 1u << IP_OPTION_SEC },
    { "esec", 1u << IP_OPTION_ESEC },
    { "lsrr", 1u << IP_OPTION_LSRR },
    { "ssrr", 1u << IP_OPTION_SSRR },
    { "satid", 1u << IP_OPTION_SATID },
    { "qs", 1u << IP_OPTION_QS },
    { "cipso", 1u << IP_OPTION_CIPSO },
    { "rtralt", 1u << IP_OPTION_RTRALT },
    { "any", UINT32_MAX },
};

static bool ipopts_match(const struct match_input *in, const void *data)
{
    const struct ip_option_name *option = data;

    return in->packet->ip_version == 4 && (in->packet->ip_options_seen & option->bits);
}

static void ipopts_narrow(const void *data, struct packet_needs *needs)
{
    (void)data;
    packet_needs_properties(needs, PACKET_PROPERTY_IP_OPTIONS, PACKET_PROPERTY_IP_OPTIONS);
}

static int ipopts_parse(struct rule_parser *parser, struct span value)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (span_equal_nocase(value, names[i].name))
            return rule_parser_add_packet_condition(parser, &names[i], false);
    return rule_parser_error(parser, value, "unknown IP option '" SPAN_FORMAT "'", SPAN_ARGS(value));
}

const struct keyword keyword_ipopts = {
    .name = "ipopts",
    .value = "rr, eol, nop, ts, sec, esec, lsrr, ssrr, satid, qs, cipso, rtralt or any",
    .help = "option in the IPv4 header",
    .kind = KEYWORD_PACKET,
    .parse = ipopts_parse,
    .packet = { .match = ipopts_match },
    .hints = &(const struct prefilter_hints){ .narrow = ipopts_narrow },
};
