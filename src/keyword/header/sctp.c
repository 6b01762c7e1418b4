/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sctp.h"

struct cursor sctp_chunks(const struct packet *pkt)
{
    struct cursor cur = header_transport(pkt);

    if (!header_is(pkt, IPPROTO_SCTP) || !cursor_skip(&cur, SCTP_COMMON_HEADER_LENGTH))
        return cursor_of(NULL, 0);
    return cur;
}

bool sctp_next_chunk(struct cursor *chunks, struct sctp_chunk *out)
{
    const uint8_t *header = cursor_peek(chunks, SCTP_CHUNK_HEADER_LENGTH);

    if (!header)
        return false;
    uint16_t length = load_be16(header + 2);
    const uint8_t *bytes = length < SCTP_CHUNK_HEADER_LENGTH ? NULL : cursor_read(chunks, length);

    if (!bytes)
        return false;
    size_t padding = -(size_t)length & 3;

    cursor_skip(chunks, padding < cursor_remaining(chunks) ? padding : cursor_remaining(chunks));
    *out = (struct sctp_chunk){ .bytes = bytes, .length = length, .type = bytes[0] };
    return true;
}
