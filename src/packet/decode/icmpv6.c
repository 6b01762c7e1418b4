/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMPv6 (RFC 4443) and the protocols that use it: neighbour discovery, multicast listeners, mobility. An error quotes
 * the packet that caused it; the quoted header is checked, but not stored. Echo messages have a header of eight bytes.
 * All remaining messages have a header of four bytes and a payload.
 */
#include "decode_priv.h"

enum {
    ICMPV6_HEADER_LENGTH = 8,
    ICMPV6_SHORT_HEADER_LENGTH = 4,
    ICMPV6_TOO_BIG = 2,
    LISTENER_HOP_LIMIT = 1,
    FIRST_INFORMATION_TYPE = 127,
};

enum icmpv6_kind {
    KIND_UNASSIGNED,
    KIND_ERROR,    /* quotes a packet */
    KIND_ECHO,     /* identifier and sequence */
    KIND_MESSAGE,  /* valid codes: up to last_code */
    KIND_LISTENER, /* as KIND_MESSAGE, but valid only from a neighbour (RFC 2710 §3) */
    KIND_RENUMBER, /* valid codes: up to last_code, and 255 */
    KIND_RPL,      /* valid codes: up to last_code, with or without the security bit (RFC 6550 §6) */
    KIND_ANY,      /* all codes are valid */
};

static const struct {
    uint8_t kind; /* enum icmpv6_kind */
    uint8_t last_code;
} types[] = {
    [1] = { KIND_ERROR, 6 },      /* destination unreachable */
    [2] = { KIND_ERROR, 0 },      /* packet too big */
    [3] = { KIND_ERROR, 1 },      /* time exceeded */
    [4] = { KIND_ERROR, 2 },      /* parameter problem */
    [128] = { KIND_ECHO, 0 },     /* echo request */
    [129] = { KIND_ECHO, 0 },     /* echo reply */
    [130] = { KIND_LISTENER, 0 }, /* listener query */
    [131] = { KIND_LISTENER, 0 }, /* report */
    [132] = { KIND_LISTENER, 0 }, /* done */
    [133] = { KIND_MESSAGE, 0 },  /* router solicitation */
    [134] = { KIND_MESSAGE, 0 },  /* router advertisement */
    [135] = { KIND_MESSAGE, 0 },  /* neighbour solicitation */
    [136] = { KIND_MESSAGE, 0 },  /* neighbour advertisement */
    [137] = { KIND_MESSAGE, 0 },  /* redirect */
    [138] = { KIND_RENUMBER, 2 }, /* router renumbering */
    [139] = { KIND_MESSAGE, 2 },  /* node information query */
    [140] = { KIND_MESSAGE, 2 },  /* response */
    [141] = { KIND_MESSAGE, 0 },  /* inverse solicitation */
    [142] = { KIND_MESSAGE, 0 },  /* inverse advertisement */
    [143] = { KIND_MESSAGE, 0 },  /* listener report, version 2 */
    [144] = { KIND_MESSAGE, 0 },  /* home agent discovery request */
    [145] = { KIND_MESSAGE, 0 },  /* reply */
    [146] = { KIND_MESSAGE, 0 },  /* mobile prefix solicitation */
    [147] = { KIND_MESSAGE, 0 },  /* advertisement */
    [148] = { KIND_MESSAGE, 0 },  /* certification path solicitation */
    [149] = { KIND_MESSAGE, 0 },  /* advertisement */
    [150] = { KIND_ANY, 0 },      /* experimental mobility */
    [151] = { KIND_ANY, 0 },      /* multicast router advertisement */
    [152] = { KIND_ANY, 0 },      /* solicitation */
    [153] = { KIND_ANY, 0 },      /* termination */
    [154] = { KIND_MESSAGE, 0 },  /* FMIPv6 */
    [155] = { KIND_RPL, 3 },      /* RPL control */
    [156] = { KIND_MESSAGE, 0 },  /* ILNPv6 locator update */
    [157] = { KIND_MESSAGE, 0 },  /* duplicate address request */
    [158] = { KIND_MESSAGE, 0 },  /* confirmation */
    [159] = { KIND_MESSAGE, 0 },  /* MPL control */
};

static bool code_is_known(const uint8_t *header, enum icmpv6_kind kind)
{
    uint8_t code = header[1];

    if (kind == KIND_ANY || code <= types[header[0]].last_code)
        return true;
    if (kind == KIND_RPL)
        return code >= 128 && code <= 132;
    return kind == KIND_RENUMBER && code == UINT8_MAX;
}

bool decode_icmpv6(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ICMPV6);
    struct cursor body = cur;
    const uint8_t *header = cursor_read(&body, ICMPV6_HEADER_LENGTH);
    size_t header_length = ICMPV6_SHORT_HEADER_LENGTH;

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_ICMPV6_PKT_TOO_SMALL);
    uint8_t type = header[0];
    enum icmpv6_kind kind = type < sizeof(types) / sizeof(types[0]) ? types[type].kind : KIND_UNASSIGNED;

    pkt->icmp.type = type;
    pkt->icmp.code = header[1];
    if (kind == KIND_UNASSIGNED) {
        /* 100, 101, 200 and 201 are for private use (RFC 4443 §2.1); 0 and 127 are reserved. */
        if (type == 100 || type == 101 || type == 200 || type == 201)
            decode_note(pkt, DECODE_EVENT_ICMPV6_EXPERIMENTATION_TYPE);
        else if (type == 0 || type == FIRST_INFORMATION_TYPE)
            decode_note(pkt, DECODE_EVENT_ICMPV6_UNKNOWN_TYPE);
        else
            decode_note(pkt, DECODE_EVENT_ICMPV6_UNASSIGNED_TYPE);
    } else if (!code_is_known(header, kind)) {
        decode_note(pkt, DECODE_EVENT_ICMPV6_UNKNOWN_CODE);
    } else if (kind == KIND_ECHO) {
        header_length = ICMPV6_HEADER_LENGTH;
        pkt->icmp.has_id = true;
        pkt->icmp.id = load_be16(header + 4);
        pkt->icmp.sequence = load_be16(header + 6);
    } else if (kind == KIND_ERROR) {
        const uint8_t *quoted = cursor_peek(&body, IPV6_HEADER_LENGTH);

        header_length = ICMPV6_HEADER_LENGTH;
        if (type == ICMPV6_TOO_BIG)
            pkt->icmp.mtu = load_be32(header + 4);
        if (!quoted)
            decode_invalid(pkt, DECODE_EVENT_ICMPV6_IPV6_TRUNC_PKT);
        else if (quoted[0] >> 4 != 6)
            decode_invalid(pkt, DECODE_EVENT_ICMPV6_IPV6_UNKNOWN_VERSION);
    }
    if (kind == KIND_LISTENER && pkt->ttl != LISTENER_HOP_LIMIT)
        decode_note(pkt, DECODE_EVENT_ICMPV6_MLD_MESSAGE_WITH_INVALID_HL);
    decode_transport(pkt, cur, header_length);
    return true;
}
