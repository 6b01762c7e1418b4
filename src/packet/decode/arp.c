/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ARP (RFC 826) for IPv4 over Ethernet. */
#include "decode_priv.h"

enum {
    ARP_FIXED_LENGTH = 8,
    ARP_LENGTH = 28,
    ARP_ETHERNET = 1,
    ARP_HARDWARE_SIZE = 6,
    ARP_PROTOCOL_SIZE = 4,
    ARP_FIRST_OPCODE = 1,
    ARP_LAST_OPCODE = 4, /* RARP reply */
};

bool decode_arp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ARP);
    const uint8_t *header = cursor_peek(&cur, ARP_FIXED_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_ARP_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    if (load_be16(header) != ARP_ETHERNET)
        return decode_invalid(pkt, DECODE_EVENT_ARP_UNSUPPORTED_HARDWARE);
    if (load_be16(header + 2) != ETHER_IPV4)
        return decode_invalid(pkt, DECODE_EVENT_ARP_UNSUPPORTED_PROTOCOL);
    if (!cursor_peek(&cur, ARP_LENGTH))
        return decode_invalid(pkt, DECODE_EVENT_ARP_INVALID_PKT);
    if (header[4] != ARP_HARDWARE_SIZE)
        return decode_invalid(pkt, DECODE_EVENT_ARP_INVALID_HARDWARE_SIZE);
    if (header[5] != ARP_PROTOCOL_SIZE)
        return decode_invalid(pkt, DECODE_EVENT_ARP_INVALID_PROTOCOL_SIZE);
    uint16_t opcode = load_be16(header + 6);

    if (opcode < ARP_FIRST_OPCODE || opcode > ARP_LAST_OPCODE)
        return decode_invalid(pkt, DECODE_EVENT_ARP_UNSUPPORTED_OPCODE);
    pkt->arp = header;
    pkt->flags |= PACKET_ARP;
    return true;
}
