/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tpkt.h"

enum {
    HEADER = 4,
    VERSION = 3,
    LENGTH_MIN = 7, /* with a COTP header of three bytes */
    COTP_DATA = 0xf0,
    COTP_DATA_LENGTH = 2, /* minimum of its length field */
    COTP_END = 0x80,
};

enum tpkt_result tpkt_parse(const uint8_t *bytes, uint32_t length, struct tpkt *out)
{
    out->length = length >= HEADER ? load_be16(bytes + 2) : HEADER;
    if (bytes[0] != VERSION || (length >= HEADER && out->length < LENGTH_MIN))
        return TPKT_INVALID;
    if (length < out->length || length < HEADER)
        return TPKT_INCOMPLETE;
    uint32_t header = 1 + (uint32_t)bytes[HEADER];
    bool is_data = bytes[HEADER + 1] == COTP_DATA;

    if (header < 2 || HEADER + header > out->length || (is_data && header < 1 + COTP_DATA_LENGTH))
        return TPKT_INVALID;
    if (!is_data)
        return TPKT_OTHER;
    out->is_last = bytes[HEADER + 2] & COTP_END;
    out->data = cursor_of(bytes + HEADER + header, out->length - HEADER - header);
    return TPKT_DATA;
}

enum app_probe_result tpkt_probe(const struct app_probe *in, uint8_t protocol, uint32_t length)
{
    uint32_t at = 0;

    while (at < in->length) {
        struct tpkt packet;

        if (in->length - at > 1 && in->bytes[at + 1] != 0) /* reserved */
            return APP_NO;
        switch (tpkt_parse(in->bytes + at, in->length - at, &packet)) {
        case TPKT_INCOMPLETE:
            return APP_UNSURE;
        case TPKT_INVALID:
            return APP_NO;
        case TPKT_DATA:
            return cursor_remaining(&packet.data) >= length && packet.data.at[0] == protocol ? APP_YES : APP_NO;
        case TPKT_OTHER:
            at += packet.length;
        }
    }
    return APP_UNSURE;
}
