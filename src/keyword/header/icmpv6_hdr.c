/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

enum { ICMPV6_HEADER_LENGTH = 8 };

static const uint8_t *icmpv6_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    struct cursor cur = header_transport(in->packet);

    if (!header_is(in->packet, IPPROTO_ICMPV6))
        return NULL;
    *length = ICMPV6_HEADER_LENGTH;
    return cursor_read(&cur, *length);
}

static int icmpv6_hdr_parse(struct rule_parser *parser, struct span value, bool negated)
{
    (void)value;
    (void)negated;
    return rule_parser_select_buffer(parser, &keyword_icmpv6_hdr);
}

const struct keyword keyword_icmpv6_hdr = {
    .name = "icmpv6.hdr",
    .help = "ICMPv6 header: the first eight bytes of the message",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = icmpv6_hdr_parse,
    .buffer = icmpv6_hdr_buffer,
};
