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

const struct keyword keyword_sctp_hdr = {
    .name = "sctp.hdr",
    .help = "SCTP common header and all chunks",
    .kind = KEYWORD_BUFFER,
    .buffer = { .get = sctp_hdr_buffer },
};
