/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "flag_letters.h"
#include "header.h"

static const struct flag_letter letters[] = {
    { 'F', TCP_FIN }, { 'S', TCP_SYN }, { 'R', TCP_RST }, { 'P', TCP_PSH }, { 'A', TCP_ACK }, { 'U', TCP_URG },
    { 'E', TCP_ECE }, { '2', TCP_ECE }, { 'C', TCP_CWR }, { '1', TCP_CWR }, { '0', 0 },       { 0, 0 },
};

static bool tcp_flags_match(const struct match_input *in, const void *data)
{
    return header_is(in->packet, IPPROTO_TCP) && number_range_has(data, in->packet->tcp.flags);
}

static void tcp_flags_narrow(const void *data, struct packet_needs *needs)
{
    const struct number_range *range = data;

    packet_needs_protocols(needs, IPPROTO_TCP, IPPROTO_TCP);
    if (range->negated || range->width > 0)
        return;
    packet_needs_properties(needs, (range->mask & UINT8_MAX) << PACKET_PROPERTY_TCP_FLAGS,
                            (range->low & UINT8_MAX) << PACKET_PROPERTY_TCP_FLAGS);
}

/* Returns whether the value is a number, not letters. The digits 0, 1 and 2 are also old names of flags, so a number is
 * recognised by any other digit, 0x, or a comparison operator. */
static bool is_number(struct span value)
{
    for (size_t i = 0; i < value.length; i++) {
        if (strchr("3456789<>&", value.at[i]) || (i > 0 && value.at[i] == 'x' && value.at[i - 1] == '0'))
            return true;
    }
    return false;
}

static int tcp_flags_parse(struct rule_parser *parser, struct span value)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = is_number(value) ? number_range_parse(parser, value, UINT8_MAX, NULL, range)
                               : flag_letters_parse(parser, value, letters, UINT8_MAX, range);

    return err ? err : rule_parser_add_packet_condition(parser, range, false);
}

const struct keyword keyword_tcp_flags = {
    .name = "tcp.flags",
    .aliases = { "flags" },
    .value = "[+|*|!]LETTERS of F, S, R, P, A, U, E and C[,LETTERS to ignore]; 0; or a number",
    .help = "TCP flags",
    .manual = "Exactly these flags; with + these and possibly others, with * at least one of them, with ! "
              "not all of them. 0 means no flag. 1 and 2 are historic names of C and E. S,CE matches a SYN "
              "with or without ECN.",
    .kind = KEYWORD_PACKET,
    .parse = tcp_flags_parse,
    .packet = { .match = tcp_flags_match },
    .hints = &(const struct prefilter_hints){ .narrow = tcp_flags_narrow },
};
