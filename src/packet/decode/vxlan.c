/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VXLAN (RFC 7348). Receivers ignore the reserved bits, which extensions use (group policy, GPE). Permissive mode
 * decodes packets with reserved bits set; strict mode treats them as plain UDP. Decoding of the inner packet begins
 * after its Ethernet header.
 */
#include "decode_priv.h"

enum { VXLAN_HEADER_LENGTH = 8, VXLAN_HAS_ID = 0x08, INNER_TYPE_OFFSET = VXLAN_HEADER_LENGTH + 12 };

bool decode_vxlan(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *header = cursor_read(&cur, VXLAN_HEADER_LENGTH + ETHERNET_HEADER_LENGTH);

    if (!header || !decode_layer(decoder, pkt))
        return false;
    bool uses_reserved = header[0] != VXLAN_HAS_ID || header[1] != 0 || load_be16(header + 2) != 0 || header[7] != 0;

    if (!(header[0] & VXLAN_HAS_ID) || (!decoder->options.vxlan_permissive && uses_reserved))
        return false;
    decode_count(decoder, COUNTER_VXLAN);
    uint16_t type = load_be16(header + INNER_TYPE_OFFSET);

    if (type == ETHER_IPV4)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_VXLAN, decode_ipv4);
    else if (type == ETHER_IPV6)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_VXLAN, decode_ipv6);
    else if (type == ETHER_VLAN || type == ETHER_PROVIDER_BRIDGE || type == ETHER_QINQ)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_VXLAN, decode_vlan);
    else if (type == ETHER_ARP)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_VXLAN, decode_arp);
    else
        decode_invalid(pkt, DECODE_EVENT_VXLAN_UNKNOWN_PAYLOAD_TYPE);
    return true;
}
