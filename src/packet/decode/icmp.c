/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMP (RFC 792, 950, 1256). An error quotes the packet that caused it; the quoted header is checked, but not stored.
 * The table contains, by type, the highest valid code and the format of the data behind the eight bytes that all
 * messages have.
 */
#include "decode_priv.h"

enum {
    ICMP_HEADER_LENGTH = 8,
    ICMP_UNREACHABLE = 3,
    ICMP_FRAGMENTATION_NEEDED = 4, /* code of destination unreachable */
    TIMESTAMPS_LENGTH = 12,
    ROUTER_WORD_LENGTH = 4,
};

enum icmp_body {
    BODY_UNKNOWN_TYPE,
    BODY_QUOTE,          /* a quoted packet, or nothing */
    BODY_REQUIRED_QUOTE, /* a quoted packet */
    BODY_ID,             /* any data; preceded by identifier and sequence */
    BODY_TIMESTAMPS,     /* three timestamps; preceded by identifier and sequence */
    BODY_ROUTERS,        /* router addresses, as many as the header says; any code is valid */
};

static const struct {
    uint8_t body; /* enum icmp_body */
    uint8_t last_code;
} types[] = {
    [0] = { BODY_ID, 0 },              /* echo reply */
    [3] = { BODY_QUOTE, 15 },          /* destination unreachable */
    [4] = { BODY_REQUIRED_QUOTE, 0 },  /* source quench */
    [5] = { BODY_QUOTE, 3 },           /* redirect */
    [8] = { BODY_ID, 0 },              /* echo */
    [9] = { BODY_ROUTERS, UINT8_MAX }, /* router advertisement */
    [11] = { BODY_QUOTE, 1 },          /* time exceeded */
    [12] = { BODY_QUOTE, 0 },          /* parameter problem */
    [13] = { BODY_TIMESTAMPS, 0 },     /* timestamp */
    [14] = { BODY_TIMESTAMPS, 0 },     /* timestamp reply */
    [15] = { BODY_ID, 0 },             /* information request */
    [16] = { BODY_ID, 0 },             /* information reply */
    [17] = { BODY_ID, 0 },             /* address mask request */
    [18] = { BODY_ID, 0 },             /* address mask reply */
};

/* Returns the number of bytes of the body that count as part of the header; 0, with an event, if the message is too
 * short. */
static size_t fixed_body(struct packet *pkt, const uint8_t *header, enum icmp_body body, struct cursor cur)
{
    size_t length = 0;

    if (body == BODY_TIMESTAMPS)
        length = TIMESTAMPS_LENGTH;
    else if (body == BODY_ROUTERS)
        length = (size_t)header[4] * header[5] * ROUTER_WORD_LENGTH;
    if (cursor_peek(&cur, length))
        return length;
    decode_note(pkt, DECODE_EVENT_ICMPV4_IPV4_TRUNC_PKT);
    return 0;
}

bool decode_icmpv4(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    decode_count(decoder, COUNTER_ICMPV4);
    struct cursor body_cursor = cur;
    const uint8_t *header = cursor_read(&body_cursor, ICMP_HEADER_LENGTH);

    if (!header)
        return decode_invalid(pkt, DECODE_EVENT_ICMPV4_PKT_TOO_SMALL);
    bool known = header[0] < sizeof(types) / sizeof(types[0]) && types[header[0]].body != BODY_UNKNOWN_TYPE;
    enum icmp_body body = known ? types[header[0]].body : BODY_UNKNOWN_TYPE;

    pkt->icmp.type = header[0];
    pkt->icmp.code = header[1];
    if (body == BODY_ID || body == BODY_TIMESTAMPS) {
        pkt->icmp.has_id = true;
        pkt->icmp.id = load_be16(header + 4);
        pkt->icmp.sequence = load_be16(header + 6);
    } else if (header[0] == ICMP_UNREACHABLE && header[1] == ICMP_FRAGMENTATION_NEEDED) {
        pkt->icmp.mtu = load_be16(header + 6);
    }
    if (!known) {
        decode_note(pkt, DECODE_EVENT_ICMPV4_UNKNOWN_TYPE);
    } else if (header[1] > types[header[0]].last_code) {
        decode_note(pkt, DECODE_EVENT_ICMPV4_UNKNOWN_CODE);
    } else if (body == BODY_REQUIRED_QUOTE || (body == BODY_QUOTE && cursor_remaining(&body_cursor) > 0)) {
        const uint8_t *quoted = cursor_peek(&body_cursor, IPV4_HEADER_LENGTH);

        if (!quoted)
            decode_invalid(pkt, DECODE_EVENT_ICMPV4_IPV4_TRUNC_PKT);
        else if (quoted[0] >> 4 != 4)
            decode_invalid(pkt, DECODE_EVENT_ICMPV4_IPV4_UNKNOWN_VER);
    }
    decode_transport(pkt, cur, ICMP_HEADER_LENGTH + fixed_body(pkt, header, body, body_cursor));
    return true;
}
