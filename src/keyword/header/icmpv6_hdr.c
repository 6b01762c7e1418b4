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

const struct keyword keyword_icmpv6_hdr = {
    .name = "icmpv6.hdr",
    .help = "ICMPv6 header: the first eight bytes of the message",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = icmpv6_hdr_buffer },
};
