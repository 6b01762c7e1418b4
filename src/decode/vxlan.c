/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VXLAN (RFC 7348). Its reserved bits are used by extensions (group policy, GPE): strict mode treats such packets as
 * plain UDP, permissive mode decodes the inner packet. The inner packet begins after its Ethernet header.
 */
#include "decode_priv.h"

enum { VXLAN_HEADER_LENGTH = 8, VXLAN_HAS_ID = 0x08, INNER_TYPE_OFFSET = VXLAN_HEADER_LENGTH + 12 };

static bool is_reserved_zero(const uint8_t *header)
{
    return header[0] == VXLAN_HAS_ID && header[1] == 0 && load_be16(header + 2) == 0 && header[7] == 0;
}

static decode_header *inner_decoder(uint16_t type)
{
    switch (type) {
    case ETHER_IPV4:
        return decode_ipv4;
    case ETHER_IPV6:
        return decode_ipv6;
    case ETHER_VLAN:
    case ETHER_PROVIDER_BRIDGE:
    case ETHER_QINQ:
        return decode_vlan;
    default:
        return NULL;
    }
}

bool decode_vxlan(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *header = cursor_read(&cur, VXLAN_HEADER_LENGTH + ETHERNET_HEADER_LENGTH);

    if (!header || !decode_layer(decoder, pkt))
        return false;
    if (!(header[0] & VXLAN_HAS_ID) || (!decoder->options.vxlan_permissive && !is_reserved_zero(header)))
        return false;
    decode_count(decoder, COUNTER_VXLAN);
    uint16_t type = load_be16(header + INNER_TYPE_OFFSET);
    decode_header *inner = inner_decoder(type);

    if (inner)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_VXLAN, inner);
    else if (type != ETHER_ARP)
        decode_invalid(pkt, DECODE_EVENT_VXLAN_UNKNOWN_PAYLOAD_TYPE);
    return true;
}
