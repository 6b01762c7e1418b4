/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PPP (RFC 1661), with and without HDLC address field, and with one-byte (compressed) or two-byte protocol field; PPPoE
 * (RFC 2516).
 *
 * Van Jacobson's uncompressed packets (RFC 1144) have a connection number in place of IPv4's protocol, which is TCP;
 * only connection number 0 is recognized, because other numbers look like IP protocols.
 */
#include <netinet/in.h>

#include "decode_priv.h"

enum {
    HDLC_ADDRESS = 0xff,
    PPP_IPV4 = 0x21,
    PPP_VJ_UNCOMPRESSED = 0x2f,
    PPP_IPV6 = 0x57,
    PPPOE_HEADER_LENGTH = 6,
    PPPOE_LENGTH_OFFSET = 4,
};

/* The event for a protocol that is not decoded. PPP_UNKNOWN: wrong_type; the protocol is not in the table. PPP_QUIET:
 * no event. PPP_UNSUPPORTED: unsup_proto. */
enum ppp_kind { PPP_UNKNOWN, PPP_QUIET, PPP_UNSUPPORTED };

static const struct {
    uint16_t protocol;
    uint8_t kind; /* enum ppp_kind */
} kinds[] = {
    { 0x0023, PPP_UNSUPPORTED }, /* OSI */
    { 0x0025, PPP_UNSUPPORTED }, /* Xerox NS */
    { 0x0027, PPP_UNSUPPORTED }, /* DECnet */
    { 0x0029, PPP_UNSUPPORTED }, /* AppleTalk */
    { 0x002b, PPP_UNSUPPORTED }, /* IPX */
    { 0x002d, PPP_UNSUPPORTED }, /* Van Jacobson, compressed */
    { 0x0031, PPP_UNSUPPORTED }, /* bridging */
    { 0x0033, PPP_UNSUPPORTED }, /* ST-II */
    { 0x0035, PPP_UNSUPPORTED }, /* VINES */
    { 0x00fd, PPP_QUIET },       /* compressed datagram */
    { 0x0201, PPP_UNSUPPORTED }, /* 802.1D hello */
    { 0x0231, PPP_UNSUPPORTED }, /* Luxcom */
    { 0x0233, PPP_UNSUPPORTED }, /* Sigma */
    { 0x0281, PPP_UNSUPPORTED }, /* MPLS unicast */
    { 0x0283, PPP_UNSUPPORTED }, /* MPLS multicast */
    { 0x8021, PPP_QUIET },       /* IPCP */
    { 0x8023, PPP_UNSUPPORTED }, /* 0x8023 to 0x8035: control protocols of 0x0023 to 0x0035 */
    { 0x8025, PPP_UNSUPPORTED }, { 0x8027, PPP_UNSUPPORTED }, { 0x8029, PPP_UNSUPPORTED }, { 0x802b, PPP_UNSUPPORTED },
    { 0x8033, PPP_UNSUPPORTED }, { 0x8035, PPP_UNSUPPORTED }, { 0x8057, PPP_QUIET }, /* IPV6CP */
    { 0x80fd, PPP_QUIET },                                                           /* CCP */
    { 0x8207, PPP_QUIET },                                                           /* Cisco discovery */
    { 0x8281, PPP_UNSUPPORTED }, { 0xc021, PPP_QUIET },                              /* LCP */
    { 0xc023, PPP_QUIET },                                                           /* PAP */
    { 0xc025, PPP_QUIET },                                                           /* link quality */
    { 0xc029, PPP_QUIET },                                                           /* callback control */
    { 0xc223, PPP_QUIET },                                                           /* CHAP */
};

static enum ppp_kind kind_of(uint16_t protocol)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].protocol == protocol)
            return kinds[i].kind;
    }
    return PPP_UNKNOWN;
}

static bool decode_vj_uncompressed(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *header = cursor_peek(&cur, IPV4_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_PPP_VJU_PKT_TOO_SMALL);
    if (header[0] >> 4 != 4 || !decode_ipv4(decoder, pkt, cur))
        return false;
    if (pkt->protocol == IPPROTO_IP && !(pkt->flags & PACKET_FRAGMENT)) {
        pkt->protocol = IPPROTO_TCP;
        decode_tcp(decoder, pkt,
                   cursor_of(pkt->ip + pkt->ip_header_length, pkt->ip_total_length - pkt->ip_header_length));
    }
    return true;
}

/* A protocol field. If its first byte is odd, it has only this byte (compressed); otherwise it has two bytes (RFC 1661
 * §2). */
struct protocol {
    uint16_t number;
    bool compressed;
};

static bool read_protocol(struct cursor *cur, struct protocol *out)
{
    uint8_t first, second = 0;

    if (!cursor_u8(cur, &first))
        return false;
    out->compressed = first & 1;
    out->number = first;
    if (out->compressed)
        return true;
    if (!cursor_u8(cur, &second))
        return false;
    out->number = (uint16_t)(first << 8 | second);
    return true;
}

static bool is_decoded(struct protocol protocol)
{
    return protocol.number == PPP_IPV4 || protocol.number == PPP_IPV6 || protocol.number == PPP_VJ_UNCOMPRESSED;
}

static bool decode_protocol(struct decoder *decoder, struct packet *pkt, struct protocol protocol,
                            enum decode_event ipv4_too_small, struct cursor cur)
{
    if (protocol.number == PPP_VJ_UNCOMPRESSED)
        return decode_vj_uncompressed(decoder, pkt, cur);
    if (protocol.number == PPP_IPV4)
        return cursor_peek(&cur, IPV4_HEADER_LENGTH) ? decode_ipv4(decoder, pkt, cur)
                                                     : decode_invalid(pkt, ipv4_too_small);
    return cursor_peek(&cur, IPV6_HEADER_LENGTH) ? decode_ipv6(decoder, pkt, cur)
                                                 : decode_invalid(pkt, DECODE_EVENT_PPP_IP6_PKT_TOO_SMALL);
}

static void note_kind(struct packet *pkt, enum ppp_kind kind)
{
    if (kind == PPP_UNKNOWN)
        decode_invalid(pkt, DECODE_EVENT_PPP_WRONG_TYPE);
    else if (kind == PPP_UNSUPPORTED)
        decode_note(pkt, DECODE_EVENT_PPP_UNSUP_PROTO);
}

bool decode_ppp(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *first = cursor_peek(&cur, 1);
    struct protocol protocol;

    decode_count(decoder, COUNTER_PPP);
    if (!first || (*first == HDLC_ADDRESS && !cursor_skip(&cur, 2)) || !read_protocol(&cur, &protocol))
        return decode_invalid(pkt, DECODE_EVENT_PPP_PKT_TOO_SMALL);
    if (!decode_layer(decoder, pkt))
        return false;
    if (is_decoded(protocol)) /* behind a compressed protocol field, the event for a short IPv4 packet is VJ's, as in
                                 Suricata */
        return decode_protocol(
            decoder, pkt, protocol,
            protocol.compressed ? DECODE_EVENT_PPP_VJU_PKT_TOO_SMALL : DECODE_EVENT_PPP_IP4_PKT_TOO_SMALL, cur);
    note_kind(pkt, protocol.compressed ? PPP_UNSUPPORTED : kind_of(protocol.number));
    return true;
}

bool decode_pppoe_session(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_PPPOE);
    const uint8_t *header = cursor_read(&cur, PPPOE_HEADER_LENGTH);
    struct protocol protocol;

    if (!header || cursor_remaining(&cur) == 0)
        return decode_invalid(pkt, DECODE_EVENT_PPPOE_PKT_TOO_SMALL);
    if (load_be16(header + PPPOE_LENGTH_OFFSET) == 0)
        return true;
    if (!read_protocol(&cur, &protocol))
        return decode_invalid(pkt, DECODE_EVENT_PPPOE_PKT_TOO_SMALL);
    if (is_decoded(protocol))
        return decode_protocol(decoder, pkt, protocol, DECODE_EVENT_PPP_IP4_PKT_TOO_SMALL, cur);
    note_kind(pkt, kind_of(protocol.number));
    return true;
}

bool decode_pppoe_discovery(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    static const uint8_t codes[] = { 0x07 /* PADO */, 0x09 /* PADI */, 0x19 /* PADR */, 0x65 /* PADS */,
                                     0xa7 /* PADT */ };

    decode_count(decoder, COUNTER_PPPOE);
    const uint8_t *header = cursor_read(&cur, PPPOE_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_PPPOE_PKT_TOO_SMALL);
    if (!memchr(codes, header[1], sizeof(codes)))
        return decode_invalid(pkt, DECODE_EVENT_PPPOE_WRONG_CODE);
    if (load_be16(header + PPPOE_LENGTH_OFFSET) > cursor_remaining(&cur))
        return decode_invalid(pkt, DECODE_EVENT_PPPOE_MALFORMED_TAGS);
    return true;
}
