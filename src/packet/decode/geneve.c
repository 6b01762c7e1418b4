/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GENEVE (RFC 8926). Without a valid header of version 0 the packet is plain UDP, without events. */
#include "decode_priv.h"

enum {
    GENEVE_HEADER_LENGTH = 8,
    GENEVE_LENGTH_MASK = 0x3f, /* length of the options, in units of 4 bytes */
    GENEVE_RESERVED_FLAGS = 0x3f,
    OPTION_HEADER_LENGTH = 4,
    OPTION_LENGTH_MASK = 0x1f, /* length of an option in units of 4 bytes, without its header */
};

bool decode_geneve(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *header = cursor_read(&cur, GENEVE_HEADER_LENGTH);

    if (!header || !decode_layer(decoder, pkt))
        return false;
    size_t options_length = (size_t)(header[0] & GENEVE_LENGTH_MASK) * 4;
    const uint8_t *options = cursor_read(&cur, options_length);

    if (!options || header[0] >> 6 != 0 || (header[1] & GENEVE_RESERVED_FLAGS) || header[7] != 0)
        return false;
    /* The options must fill exactly the length that the header announces. */
    for (struct cursor left = cursor_of(options, options_length); cursor_remaining(&left) > 0;) {
        const uint8_t *option = cursor_read(&left, OPTION_HEADER_LENGTH);

        if (!option || !cursor_skip(&left, (size_t)(option[3] & OPTION_LENGTH_MASK) * 4))
            return false;
    }
    decode_count(decoder, COUNTER_GENEVE);
    uint16_t type = load_be16(header + 2);

    if (type == ETHER_IPV4)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_GENEVE, decode_ipv4);
    else if (type == ETHER_IPV6)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_GENEVE, decode_ipv6);
    else if (type == ETHER_BRIDGE)
        decode_tunnel(decoder, pkt, cur, PACKET_SOURCE_GENEVE, decode_ethernet);
    else if (type != ETHER_ARP)
        decode_invalid(pkt, DECODE_EVENT_GENEVE_UNKNOWN_PAYLOAD_TYPE);
    return true;
}
