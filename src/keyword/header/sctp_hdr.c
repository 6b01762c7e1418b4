/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "header.h"

static const uint8_t *sctp_hdr_buffer(const struct match_input *in, uint32_t *length)
{
    struct cursor cur = header_transport(in->packet);

    if (!header_is(in->packet, IPPROTO_SCTP))
        return NULL;
    *length = (uint32_t)cursor_remaining(&cur);
    return cursor_read(&cur, *length);
}

static int sctp_hdr_parse(struct rule_parser *parser, struct span value, bool negated)
{
    (void)value;
    (void)negated;
    return rule_parser_select_buffer(parser, &keyword_sctp_hdr);
}

const struct keyword keyword_sctp_hdr = {
    .name = "sctp.hdr",
    .help = "SCTP common header and all chunks",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = sctp_hdr_parse,
    .buffer = sctp_hdr_buffer,
};
