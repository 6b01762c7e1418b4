/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Port extender tags: Cisco's VNTag (802.1Qbh) and the E-tag of IEEE 802.1BR. */
#include "decode_priv.h"

enum { VNTAG_LENGTH = 6, VNTAG_TYPE_OFFSET = 4, ETAG_LENGTH = 8, ETAG_TYPE_OFFSET = 6 };

bool decode_vntag(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_VNTAG);
    const uint8_t *tag = cursor_read(&cur, VNTAG_LENGTH);

    if (!tag)
        return decode_invalid(pkt, DECODE_EVENT_VNTAG_HEADER_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    return decode_ether_type(decoder, pkt, load_be16(tag + VNTAG_TYPE_OFFSET), cur) ||
           decode_invalid(pkt, DECODE_EVENT_VNTAG_UNKNOWN_TYPE);
}

bool decode_etag(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ETAG);
    const uint8_t *tag = cursor_read(&cur, ETAG_LENGTH);

    if (!tag)
        return decode_invalid(pkt, DECODE_EVENT_ETAG_HEADER_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    return decode_ether_type(decoder, pkt, load_be16(tag + ETAG_TYPE_OFFSET), cur) ||
           decode_invalid(pkt, DECODE_EVENT_ETAG_UNKNOWN_TYPE);
}
