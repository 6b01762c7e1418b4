/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GRE: version 0 (RFC 1701, 2784, 2890) and PPTP's version 1 (RFC 2637). */
#include "decode_priv.h"

enum {
    GRE_HEADER_LENGTH = 4,
    GRE_CHECKSUM = 0x80, /* up to GRE_RECURSION: bits of the first byte */
    GRE_ROUTING = 0x40,
    GRE_KEY = 0x20,
    GRE_SEQUENCE = 0x10,
    GRE_STRICT_ROUTE = 0x08,
    GRE_RECURSION = 0x07,
    GRE_VERSION = 0x07, /* up to GRE_ACKNOWLEDGMENT: bits of the second byte */
    GRE_FLAGS = 0x78,
    GRE_ACKNOWLEDGMENT = 0x80,
    GRE_FIELD_LENGTH = 4, /* length of each optional field */
    ROUTE_ENTRY_LENGTH = 4,
    PPTP_LENGTH_OFFSET = 4,
};

static bool read_version0(struct packet *pkt, const uint8_t *header, struct cursor *cur)
{
    if (header[0] & GRE_RECURSION)
        return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION0_RECUR);
    if (header[1] & GRE_FLAGS)
        return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION0_FLAGS);
    unsigned fields = !!(header[0] & GRE_KEY) + !!(header[0] & GRE_SEQUENCE);

    fields += !!(header[0] & (GRE_CHECKSUM | GRE_ROUTING));
    if (!cursor_skip(cur, (size_t)fields * GRE_FIELD_LENGTH))
        return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION0_HDR_TOO_BIG);
    if (!(header[0] & GRE_ROUTING))
        return true;
    for (;;) { /* skip the source route entries, up to the empty one at the end */
        const uint8_t *entry = cursor_read(cur, ROUTE_ENTRY_LENGTH);

        if (entry && load_be16(entry) == 0 && entry[3] == 0)
            return true;
        if (!entry || !cursor_skip(cur, entry[3]))
            return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION0_MALFORMED_SRE_HDR);
    }
}

/* Flags that must not be set in version 1 (PPTP), in the order in which Suricata checks them. */
static const struct {
    uint8_t byte, mask;
    enum decode_event event;
} forbidden1[] = {
    { 0, GRE_CHECKSUM, DECODE_EVENT_GRE_VERSION1_CHKSUM },  { 0, GRE_ROUTING, DECODE_EVENT_GRE_VERSION1_ROUTE },
    { 0, GRE_STRICT_ROUTE, DECODE_EVENT_GRE_VERSION1_SSR }, { 0, GRE_RECURSION, DECODE_EVENT_GRE_VERSION1_RECUR },
    { 1, GRE_FLAGS, DECODE_EVENT_GRE_VERSION1_FLAGS },
};

static bool read_version1(struct packet *pkt, const uint8_t *header, struct cursor *cur)
{
    for (size_t i = 0; i < sizeof(forbidden1) / sizeof(forbidden1[0]); i++) {
        if (header[forbidden1[i].byte] & forbidden1[i].mask)
            return decode_invalid(pkt, forbidden1[i].event);
    }
    if (load_be16(header + 2) != ETHER_PPP)
        return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION1_WRONG_PROTOCOL);
    if (!(header[0] & GRE_KEY))
        return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION1_NO_KEY);
    unsigned fields = 1u + !!(header[0] & GRE_SEQUENCE) + !!(header[1] & GRE_ACKNOWLEDGMENT);

    if (!cursor_skip(cur, (size_t)fields * GRE_FIELD_LENGTH))
        return decode_invalid(pkt, DECODE_EVENT_GRE_VERSION1_HDR_TOO_BIG);
    return true;
}

bool decode_gre(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_GRE);
    struct cursor rest = cur;
    const uint8_t *header = cursor_read(&rest, GRE_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_GRE_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    unsigned version = header[1] & GRE_VERSION;

    if (version > 1)
        return decode_invalid(pkt, DECODE_EVENT_GRE_WRONG_VERSION);
    if (version == 0 ? !read_version0(pkt, header, &rest) : !read_version1(pkt, header, &rest))
        return false;
    decode_transport(pkt, cur, (size_t)(rest.at - header));
    if (version == 1 && load_be16(header + PPTP_LENGTH_OFFSET) == 0)
        return true; /* no payload: an acknowledgment of PPTP */

    enum packet_source source = PACKET_SOURCE_GRE;
    decode_header *inner = NULL;

    switch (load_be16(header + 2)) {
    case ETHER_IPV4:
        inner = decode_ipv4;
        break;
    case ETHER_IPV6:
        inner = decode_ipv6;
        break;
    case ETHER_PPP:
        inner = decode_ppp;
        break;
    case ETHER_VLAN:
        inner = decode_vlan;
        break;
    case ETHER_BRIDGE:
        inner = decode_ethernet;
        break;
    case ETHER_ARP:
        inner = decode_arp;
        break;
    case ETHER_ERSPAN:
    case ETHER_ERSPAN3:
        /* ERSPAN type I, which has no header, is recognized by the absence of the GRE sequence number */
        source = PACKET_SOURCE_ERSPAN;
        if (header[0] & GRE_SEQUENCE)
            inner = decode_erspan;
        else if (decoder->options.erspan_type1)
            inner = decode_erspan1;
    }
    if (inner)
        decode_tunnel(decoder, pkt, rest, source, inner);
    return true;
}
