/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MPLS (RFC 3032). Its header does not contain the type of the payload. Unless the label is an explicit null label for
 * IPv4 or IPv6, the first nibble of the payload decides: 4 and 6 are IP; 0 is the control word of a pseudo-wire (RFC
 * 4385), which is assumed to transport Ethernet.
 */
#include "decode_priv.h"

enum {
    LABEL_LENGTH = 4,
    LABEL_IPV4 = 0,
    LABEL_ROUTER_ALERT = 1,
    LABEL_IPV6 = 2,
    LABEL_IMPLICIT_NULL = 3,
    LABEL_RESERVED_END = 15,
    CONTROL_WORD_LENGTH = 4,
};

static bool decode_by_nibble(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *start = cursor_peek(&cur, CONTROL_WORD_LENGTH);

    if (!start)
        return decode_invalid(pkt, DECODE_EVENT_MPLS_PKT_TOO_SMALL);
    switch (start[0] >> 4) {
    case 4:
        decode_ipv4(decoder, pkt, cur);
        break;
    case 6:
        decode_ipv6(decoder, pkt, cur);
        break;
    case 0:
        cursor_skip(&cur, CONTROL_WORD_LENGTH);
        decode_ethernet(decoder, pkt, cur);
        break;
    default:
        decode_invalid(pkt, DECODE_EVENT_MPLS_UNKNOWN_PAYLOAD_TYPE);
    }
    return true;
}

bool decode_mpls(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_MPLS);
    if (!decode_layer(decoder, pkt))
        return false;
    uint32_t shim, label;

    do {
        if (!cursor_be32(&cur, &shim))
            return decode_invalid(pkt, DECODE_EVENT_MPLS_HEADER_TOO_SMALL);
    } while (!(shim >> 8 & 1)); /* until the bottom of the stack */
    label = shim >> 12;
    if (label == LABEL_IPV4)
        return decode_ipv4(decoder, pkt, cur);
    if (label == LABEL_IPV6)
        return decode_ipv6(decoder, pkt, cur);
    if (label >= LABEL_RESERVED_END)
        return decode_by_nibble(decoder, pkt, cur);
    decode_note(pkt, label == LABEL_ROUTER_ALERT    ? DECODE_EVENT_MPLS_BAD_LABEL_ROUTER_ALERT
                     : label == LABEL_IMPLICIT_NULL ? DECODE_EVENT_MPLS_BAD_LABEL_IMPLICIT_NULL
                                                    : DECODE_EVENT_MPLS_BAD_LABEL_RESERVED);
    return true;
}
