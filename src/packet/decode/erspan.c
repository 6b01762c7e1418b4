/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cisco's ERSPAN: mirrored Ethernet frames in GRE; type I without a header, type II and III with one
 * (draft-foschiano-erspan). */
#include "decode_priv.h"

enum {
    TYPE2_VERSION = 1,
    TYPE2_HEADER_LENGTH = 8,
    TYPE3_VERSION = 2,
    TYPE3_HEADER_LENGTH = 12,
    TYPE3_PLATFORM_LENGTH = 8,
    TYPE3_HAS_PLATFORM = 0x01, /* bit of the header's last byte: a platform-specific subheader follows */
    VLAN_ID_MASK = 0x0fff,
};

bool decode_erspan1(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ERSPAN);
    return decode_ethernet(decoder, pkt, cur);
}

/* Consumes the ERSPAN header and returns it. If it is truncated or of another version, returns NULL and sets the event
 * in the carrier, because there is no inner packet. */
static const uint8_t *read_header(struct packet *carrier, struct cursor *cur)
{
    const uint8_t *header = cursor_peek(cur, TYPE2_HEADER_LENGTH);
    unsigned version = header ? header[0] >> 4 : 0;
    size_t length = version == TYPE3_VERSION ? TYPE3_HEADER_LENGTH : TYPE2_HEADER_LENGTH;

    if (header && version != TYPE2_VERSION && version != TYPE3_VERSION) {
        decode_note(carrier, DECODE_EVENT_ERSPAN_UNSUPPORTED_VERSION);
        return NULL;
    }
    header = cursor_read(cur, length);
    if (!header || (version == TYPE3_VERSION && (header[TYPE3_HEADER_LENGTH - 1] & TYPE3_HAS_PLATFORM) &&
                    !cursor_skip(cur, TYPE3_PLATFORM_LENGTH))) {
        decode_note(carrier, DECODE_EVENT_ERSPAN_HEADER_TOO_SMALL);
        return NULL;
    }
    return header;
}

bool decode_erspan(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ERSPAN);
    const uint8_t *header = read_header(pkt->outer, &cur);

    if (!header || !decode_layer(decoder, pkt))
        return false;
    uint16_t vlan_id = load_be16(header) & VLAN_ID_MASK;

    if (vlan_id > 0)
        pkt->vlan_id[pkt->vlan_count++] = vlan_id;
    return decode_ethernet(decoder, pkt, cur);
}
