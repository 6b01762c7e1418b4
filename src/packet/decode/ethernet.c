/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ethernet II (IEEE 802.3 clause 3.1.1), the decoder functions by EtherType, and Cisco's DCE, which encapsulates a
 * frame in a frame. */
#include "decode_priv.h"

enum { TYPE_OFFSET = 12, DCE_TAG_LENGTH = 2 };

static const struct {
    uint16_t type;
    decode_header *decode;
} by_type[] = {
    { ETHER_IPV4, decode_ipv4 },
    { ETHER_IPV6, decode_ipv6 },
    { ETHER_VLAN, decode_vlan },
    { ETHER_PROVIDER_BRIDGE, decode_vlan },
    { ETHER_QINQ, decode_vlan },
    { ETHER_ARP, decode_arp },
    { ETHER_MPLS, decode_mpls },
    { ETHER_MPLS_MULTICAST, decode_mpls },
    { ETHER_PPPOE_SESSION, decode_pppoe_session },
    { ETHER_PPPOE_DISCOVERY, decode_pppoe_discovery },
    { ETHER_BACKBONE_BRIDGE, decode_backbone_bridge },
    { ETHER_DCE, decode_dce },
    { ETHER_VNTAG, decode_vntag },
    { ETHER_ETAG, decode_etag },
    { ETHER_NSH, decode_nsh },
};

bool decode_ether_type(struct decoder *decoder, struct packet *pkt, uint16_t type, struct cursor cur)
{
    pkt->ether_type = type;
    for (size_t i = 0; i < sizeof(by_type) / sizeof(by_type[0]); i++) {
        if (by_type[i].type == type) {
            by_type[i].decode(decoder, pkt, cur);
            return true;
        }
    }
    decode_count(decoder, COUNTER_UNKNOWN_ETHERTYPE);
    decode_note(pkt, DECODE_EVENT_ETHERNET_UNKNOWN_ETHERTYPE);
    return false;
}

bool decode_ethernet(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ETHERNET);
    const uint8_t *header = cursor_read(&cur, ETHERNET_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_ETHERNET_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    pkt->ethernet = header;
    pkt->flags |= PACKET_ETHERNET;
    decode_ether_type(decoder, pkt, load_be16(header + TYPE_OFFSET), cur);
    return true;
}

bool decode_dce(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    if (!cursor_peek(&cur, DCE_TAG_LENGTH + ETHERNET_HEADER_LENGTH))
        return decode_invalid(pkt, DECODE_EVENT_DCE_PKT_TOO_SMALL);
    cursor_skip(&cur, DCE_TAG_LENGTH);
    return decode_ethernet(decoder, pkt, cur);
}
