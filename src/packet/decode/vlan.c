/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VLAN tags: IEEE 802.1Q, 802.1ad and the older QinQ, up to three; 802.1ah (MAC in MAC). */
#include "decode_priv.h"

enum { VLAN_TAG_LENGTH = 4, VLAN_ID_MASK = 0x0fff, BACKBONE_TAG_LENGTH = 18, BACKBONE_TYPE_OFFSET = 16 };

static const enum decode_counter by_depth[PACKET_MAX_VLANS] = {
    COUNTER_VLAN,
    COUNTER_VLAN_QINQ,
    COUNTER_VLAN_QINQINQ,
};

bool decode_vlan(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    if (pkt->vlan_count == PACKET_MAX_VLANS) {
        decode_note(pkt, DECODE_EVENT_VLAN_TOO_MANY_LAYERS);
        return false;
    }
    decode_count(decoder, by_depth[pkt->vlan_count]);
    const uint8_t *tag = cursor_read(&cur, VLAN_TAG_LENGTH);

    if (!tag)
        return decode_invalid(pkt, DECODE_EVENT_VLAN_HEADER_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    pkt->vlan_id[pkt->vlan_count++] = load_be16(tag) & VLAN_ID_MASK;
    return decode_ether_type(decoder, pkt, load_be16(tag + 2), cur) ||
           decode_invalid(pkt, DECODE_EVENT_VLAN_UNKNOWN_TYPE);
}

bool decode_backbone_bridge(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_IEEE8021AH);
    const uint8_t *tag = cursor_read(&cur, BACKBONE_TAG_LENGTH);

    if (!tag)
        return decode_invalid(pkt, DECODE_EVENT_IEEE8021AH_HEADER_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    decode_ether_type(decoder, pkt, load_be16(tag + BACKBONE_TYPE_OFFSET), cur);
    return true;
}
