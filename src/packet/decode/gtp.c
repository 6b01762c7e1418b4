/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GTP-U (3GPP TS 29.281 §5), the tunnel of user data in mobile networks. Only messages of type G-PDU carry a packet;
 * other messages, and those without a valid header of version 1, are plain UDP, without events.
 */
#include "decode_priv.h"

enum {
    GTP_HEADER_LENGTH = 8,
    GTP_VERSION_1 = 0x30, /* version 1, and the bit that tells GTP from GTP' */
    GTP_VERSION_MASK = 0xf0,
    GTP_HAS_EXTENSION = 0x04,
    GTP_HAS_OPTIONAL = 0x07, /* with any of these three flags, all optional fields are there */
    GTP_OPTIONAL_LENGTH = 4, /* sequence number, N-PDU number, type of the next extension header */
    GTP_G_PDU = 0xff,
    GTP_LENGTH_OFFSET = 2,
};

bool decode_gtp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *header = cursor_read(&cur, GTP_HEADER_LENGTH);
    uint8_t next = 0, units;

    if (!header || (header[0] & GTP_VERSION_MASK) != GTP_VERSION_1 || header[1] != GTP_G_PDU ||
        load_be16(header + GTP_LENGTH_OFFSET) > cursor_remaining(&cur) || !decode_layer(decoder, pkt))
        return false;
    cursor_limit(&cur, load_be16(header + GTP_LENGTH_OFFSET));
    if (header[0] & GTP_HAS_OPTIONAL) {
        const uint8_t *optional = cursor_read(&cur, GTP_OPTIONAL_LENGTH);

        if (!optional)
            return false;
        if (header[0] & GTP_HAS_EXTENSION)
            next = optional[GTP_OPTIONAL_LENGTH - 1];
    }
    /* An extension header: its length in units of 4 bytes, its content, and the type of the next one. */
    while (next != 0) {
        if (!cursor_u8(&cur, &units) || units == 0 || !cursor_skip(&cur, units * 4U - 2) || !cursor_u8(&cur, &next))
            return false;
    }
    const uint8_t *first = cursor_peek(&cur, 1);

    if (!first || (*first >> 4 != 4 && *first >> 4 != 6)) /* PPP, or a session of unstructured data */
        return false;
    decode_count(decoder, COUNTER_GTP);
    decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_GTP, *first >> 4 == 4 ? decode_ipv4 : decode_ipv6);
    return true;
}
