/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network service header (RFC 8300). */
#include "decode_priv.h"

enum {
    NSH_HEADER_LENGTH = 8,
    NSH_LENGTH_MASK = 0x3f, /* length in units of 4 bytes, including the base header and the service path header */
    NSH_TYPE_OFFSET = 2,
    NSH_NEXT_OFFSET = 3,
    MD_RESERVED = 0,
    MD_FIXED = 1,
    MD_VARIABLE = 2,
    MD_EXPERIMENT = 15,
    MD_FIXED_LENGTH = 24,
};

static decode_header *const by_next[] = {
    NULL, decode_ipv4, decode_ipv6, decode_ethernet, NULL /* NSH in NSH */, decode_mpls,
};

bool decode_nsh(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_NSH);
    const uint8_t *header = cursor_peek(&cur, NSH_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_NSH_HEADER_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    if (header[0] >> 6 != 0) {
        decode_note(pkt, DECODE_EVENT_NSH_UNSUPPORTED_VERSION);
        return true;
    }
    size_t length = (size_t)(header[1] & NSH_LENGTH_MASK) * 4;
    uint8_t type = header[NSH_TYPE_OFFSET], next = header[NSH_NEXT_OFFSET];

    if (length >= cursor_remaining(&cur) || (type == MD_FIXED && length != MD_FIXED_LENGTH))
        return decode_invalid(pkt, DECODE_EVENT_NSH_BAD_HEADER_LENGTH);
    if (type != MD_FIXED && type != MD_VARIABLE) {
        decode_note(pkt, type == MD_RESERVED || type == MD_EXPERIMENT ? DECODE_EVENT_NSH_RESERVED_TYPE
                                                                      : DECODE_EVENT_NSH_UNSUPPORTED_TYPE);
        return true;
    }
    cursor_skip(&cur, length);
    if (next < sizeof(by_next) / sizeof(by_next[0]) && by_next[next])
        return by_next[next](decoder, pkt, cur);
    decode_note(pkt, DECODE_EVENT_NSH_UNKNOWN_PAYLOAD);
    return true;
}
