/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv6 extension headers (RFC 8200 §4), decoded one after another until an upper-layer header or a fragment (an
 * atomic fragment is skipped). Each one has at least eight bytes, so their number is bounded by the packet's length. A
 * header that is repeated too often sets an event and is skipped.
 *
 * pkt->protocol is the type of the header at the current position, so that at the end it is the type of the header at
 * which the loop stopped.
 */
#include <netinet/in.h>

#include "decode_priv.h"

enum {
    EXTENSION_MIN_LENGTH = 2,
    EXTENSION_UNIT = 8,
    AUTHENTICATION_LENGTH = 12,
    AUTHENTICATION_UNIT = 4,
    FRAGMENT_LENGTH = 8,
    FRAGMENT_OFFSET_MASK = 0xfff8,
    FRAGMENT_MORE = 1,
    DSTOPTS_ALLOWED = 2, /* destination options may occur twice: before and after a routing header */
    OPTION_PAD1 = 0,
    OPTION_PADN = 1,
};

struct walk {
    struct packet *pkt;
    struct cursor cur;
    uint8_t next;
    uint8_t dstopts;
    bool hop, routing, authentication, fragment;
};

/* Consumes a header of `length` bytes and advances to the next one. Returns the header, or NULL if it is truncated. */
static const uint8_t *read_header(struct walk *walk, size_t length)
{
    const uint8_t *header = cursor_read(&walk->cur, length);

    if (header)
        walk->next = header[0];
    else
        decode_invalid(walk->pkt, DECODE_EVENT_IPV6_TRUNC_EXTHDR);
    return header;
}

/* Consumes a header with the common length field: units of eight bytes, not including the first unit. */
static const uint8_t *read_usual_header(struct walk *walk)
{
    return read_header(walk, ((size_t)walk->cur.at[1] + 1) * EXTENSION_UNIT);
}

static bool walk_skipped(struct walk *walk)
{
    return read_usual_header(walk) != NULL;
}

static bool walk_routing(struct walk *walk)
{
    const uint8_t *header = read_usual_header(walk);

    if (!header)
        return false;
    if (walk->routing) {
        decode_note(walk->pkt, DECODE_EVENT_IPV6_EXTHDR_DUPL_RH);
        return true;
    }
    walk->routing = true;
    if (header[2] == 0)
        decode_note(walk->pkt, DECODE_EVENT_IPV6_RH_TYPE_0);
    if (header[3] > 0)
        walk->pkt->flags |= PACKET_ROUTED;
    return true;
}

/* Options with a minimum length. `counts`: true if the option counts as more than padding. */
static const struct {
    uint8_t type, min_length;
    bool counts;
} known_options[] = {
    { 0x05, 2, true },  /* router alert, RFC 2711 */
    { 0xc9, 16, true }, /* home address, RFC 6275 */
    { 0xc2, 4, false }, /* jumbo payload, RFC 2675 */
};

/* The kinds of options that a header contains. */
struct option_sum {
    bool padding, other;
};

static bool check_option(struct packet *pkt, struct option_sum *sum, const uint8_t *option, enum decode_event unknown)
{
    if (option[0] == OPTION_PADN) {
        sum->padding = true;
        if (option[1] == 0)
            decode_note(pkt, DECODE_EVENT_IPV6_ZERO_LEN_PADN);
        return true;
    }
    for (size_t i = 0; i < sizeof(known_options) / sizeof(known_options[0]); i++) {
        if (known_options[i].type != option[0])
            continue;
        if (option[1] < known_options[i].min_length)
            return decode_invalid(pkt, DECODE_EVENT_IPV6_EXTHDR_INVALID_OPTLEN);
        sum->other |= known_options[i].counts;
        return true;
    }
    decode_note(pkt, unknown);
    sum->other = true;
    return true;
}

static bool walk_options(struct walk *walk, enum decode_event unknown, enum decode_event only_padding)
{
    struct option_sum sum = { false, false };
    const uint8_t *header = read_usual_header(walk);
    struct cursor cur;

    if (!header)
        return false;
    cur = cursor_of(header + 2, (size_t)(walk->cur.at - header - 2));
    while (cursor_remaining(&cur) > 0) {
        if (*cur.at == OPTION_PAD1) {
            sum.padding = true;
            cursor_skip(&cur, 1);
            continue;
        }
        const uint8_t *option = cursor_peek(&cur, 2);

        if (!option ||
            1u + option[1] > cursor_remaining(&cur)) { /* as in Suricata, the last option may be one byte too short */
            decode_invalid(walk->pkt, DECODE_EVENT_IPV6_EXTHDR_INVALID_OPTLEN);
            break;
        }
        if (!check_option(walk->pkt, &sum, option, unknown) || !cursor_skip(&cur, 2u + option[1]))
            break;
    }
    if (sum.padding && !sum.other)
        decode_note(walk->pkt, only_padding);
    return true;
}

static bool walk_hop_by_hop(struct walk *walk)
{
    if (walk->hop) {
        if (!read_usual_header(walk))
            return false;
        decode_note(walk->pkt, DECODE_EVENT_IPV6_EXTHDR_DUPL_HH);
        return true;
    }
    walk->hop = true;
    return walk_options(walk, DECODE_EVENT_IPV6_HOPOPTS_UNKNOWN_OPT, DECODE_EVENT_IPV6_HOPOPTS_ONLY_PADDING);
}

static bool walk_destination(struct walk *walk)
{
    if (walk->dstopts == DSTOPTS_ALLOWED) {
        if (!read_usual_header(walk))
            return false;
        decode_note(walk->pkt, DECODE_EVENT_IPV6_EXTHDR_DUPL_DH);
        return true;
    }
    walk->dstopts++;
    return walk_options(walk, DECODE_EVENT_IPV6_DSTOPTS_UNKNOWN_OPT, DECODE_EVENT_IPV6_DSTOPTS_ONLY_PADDING);
}

static bool walk_authentication(struct walk *walk)
{
    unsigned more = walk->cur.at[1] > 0 ? (walk->cur.at[1] - 1u) * AUTHENTICATION_UNIT : 0;
    const uint8_t *header = read_header(walk, AUTHENTICATION_LENGTH + more);

    if (!header)
        return false;
    if (load_be16(header + 2) != 0)
        decode_note(walk->pkt, DECODE_EVENT_IPV6_EXTHDR_AH_RES_NOT_NULL);
    if (walk->authentication)
        decode_note(walk->pkt, DECODE_EVENT_IPV6_EXTHDR_DUPL_AH);
    walk->authentication = true;
    return true;
}

/* Handles a fragment header: the loop ends at it, unless its offset is 0 and more-fragments is not set, so that the
 * packet is complete (atomic fragment, RFC 6946). */
static bool walk_fragment(struct walk *walk)
{
    struct packet *pkt = walk->pkt;
    size_t left = cursor_remaining(&walk->cur);
    const uint8_t *header = read_header(walk, FRAGMENT_LENGTH);

    if (!header)
        return false;
    if (header[1] != 0)
        decode_note(pkt, DECODE_EVENT_IPV6_FH_NON_ZERO_RESERVED_FIELD);
    if (walk->fragment) {
        decode_note(pkt, DECODE_EVENT_IPV6_EXTHDR_DUPL_FH);
        return true;
    }
    walk->fragment = true;
    pkt->fragment_offset = load_be16(header + 2) & FRAGMENT_OFFSET_MASK;
    pkt->more_fragments = load_be16(header + 2) & FRAGMENT_MORE;
    pkt->fragment_id = load_be32(header + 4);
    if (!pkt->more_fragments && pkt->fragment_offset == 0) {
        decode_note(pkt, DECODE_EVENT_IPV6_EXTHDR_USELESS_FH);
        return true;
    }
    if (pkt->more_fragments && left % 8 != 0)
        decode_note(pkt, DECODE_EVENT_IPV6_FRAG_INVALID_LENGTH);
    pkt->flags |= PACKET_FRAGMENT;
    return false;
}

/* The functions consume a header. They return false if decoding ends at it, and true to continue with the next one. */
static bool (*const by_next[UINT8_MAX + 1])(struct walk *walk) = {
    [IPPROTO_HOPOPTS] = walk_hop_by_hop,
    [IPPROTO_ROUTING] = walk_routing,
    [IPPROTO_FRAGMENT] = walk_fragment,
    [IPPROTO_AH] = walk_authentication,
    [IPPROTO_DSTOPTS] = walk_destination,
    [IPPROTO_MH] = walk_skipped,
    [139] = walk_skipped, /* HIP, RFC 7401 */
    [140] = walk_skipped, /* shim6, RFC 5533 */
};

bool decode_ipv6_extensions(struct decoder *decoder, struct packet *pkt, struct cursor cur)
{
    const uint8_t *start = cur.at;
    struct walk walk = { .pkt = pkt, .cur = cur, .next = pkt->protocol };

    while (walk.next != IPPROTO_NONE) {
        pkt->ip_extension_length = (uint16_t)(walk.cur.at - start);
        if (cursor_remaining(&walk.cur) < EXTENSION_MIN_LENGTH)
            return decode_invalid(pkt, DECODE_EVENT_IPV6_TRUNC_EXTHDR);
        if (!by_next[walk.next])
            return decode_ipv6_upper(decoder, pkt, walk.next, walk.cur);
        pkt->protocol = walk.next;
        if (!by_next[walk.next](&walk))
            return false;
    }
    pkt->ip_extension_length = (uint16_t)(walk.cur.at - start);
    pkt->protocol = IPPROTO_NONE;
    if (cursor_remaining(&walk.cur) > 0)
        decode_note(pkt, DECODE_EVENT_IPV6_DATA_AFTER_NONE_HEADER);
    return true;
}
