/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encapsulating security payload (RFC 4303): the payload is encrypted. */
#include "decode_priv.h"

enum { ESP_HEADER_LENGTH = 8 };

bool decode_esp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ESP);
    if (!decode_layer(decoder, pkt))
        return false;
    const uint8_t *header = cursor_peek(&cur, ESP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_ESP_PKT_TOO_SMALL);
    pkt->esp.spi = load_be32(header);
    decode_transport(pkt, cur, ESP_HEADER_LENGTH);
    return true;
}
