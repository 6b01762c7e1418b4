/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IPv4 options (RFC 791 §3.1 and the RFCs in the table). An option whose length exceeds the header makes the whole
 * header invalid; an option with malformed content marks the packet as malformed, and decoding continues with the next
 * option.
 */
#include "decode_priv.h"

enum {
    OPTION_EOL = 0,
    OPTION_NOP = 1,
    OPTION_HEADER_LENGTH = 2,
    ROUTE_FIRST_POINTER = 4,
    TIMESTAMP_FIRST_POINTER = 5,
    CIPSO_HEADER_LENGTH = 6,
    CIPSO_TAG_MIN_LENGTH = 4,
    CIPSO_TAG_FREE_FORM = 7,
};

/* Returns whether the content of an option is valid. `length`: bytes of the option including type and length, at least
 * min_length of its row. */
typedef bool option_check(const uint8_t *option, unsigned length);

/* The pointer counts from 1, and must point to an address or behind the last one. */
static bool route_is_valid(const uint8_t *option, unsigned length)
{
    unsigned pointer = option[2];

    return pointer >= ROUTE_FIRST_POINTER && pointer % 4 == 0 && pointer <= length + 1;
}

/* With flags 1 and 3, a record is an address and a time (8 bytes); otherwise it is a time (4 bytes). */
static bool timestamp_is_valid(const uint8_t *option, unsigned length)
{
    unsigned pointer = option[2], flag = option[3] & 0x0f, record = flag == 1 || flag == 3 ? 8 : 4;

    return pointer >= TIMESTAMP_FIRST_POINTER && (pointer - TIMESTAMP_FIRST_POINTER) % record == 0 &&
           pointer <= length + 1;
}

/* FIPS 188: the option contains a domain and tags. The alignment octet of a tag must be zero; free-form tags have none.
 */
static bool cipso_is_valid(const uint8_t *option, unsigned length)
{
    struct cursor tags = cursor_of(option + CIPSO_HEADER_LENGTH, length - CIPSO_HEADER_LENGTH);

    while (cursor_remaining(&tags) > 0) {
        const uint8_t *tag = cursor_peek(&tags, 2);

        if (!tag || tag[1] < CIPSO_TAG_MIN_LENGTH || !cursor_read(&tags, tag[1]))
            return false;
        if (tag[0] != 1 && tag[0] != 2 && tag[0] != 5 && tag[0] != 6 && tag[0] != CIPSO_TAG_FREE_FORM)
            return false;
        if (tag[0] != CIPSO_TAG_FREE_FORM && tag[2] != 0)
            return false;
    }
    return true;
}

static const struct {
    uint8_t type, min_length, max_length;
    uint8_t bit; /* enum ip_option_bit */
    option_check *check;
} options[] = {
    { 7, 3, 255, IP_OPTION_RR, route_is_valid },       { 25, 8, 255, IP_OPTION_QS, NULL },    /* RFC 4782 */
    { 68, 5, 255, IP_OPTION_TS, timestamp_is_valid },  { 130, 3, 255, IP_OPTION_SEC, NULL },  /* RFC 1108 */
    { 131, 3, 255, IP_OPTION_LSRR, route_is_valid },   { 133, 3, 255, IP_OPTION_ESEC, NULL }, /* RFC 1108 */
    { 134, 10, 255, IP_OPTION_CIPSO, cipso_is_valid }, { 136, 4, 4, IP_OPTION_SATID, NULL },
    { 137, 3, 255, IP_OPTION_SSRR, route_is_valid },   { 148, 4, 4, IP_OPTION_RTRALT, NULL }, /* RFC 2113 */
};

enum { OPTION_KINDS = sizeof(options) / sizeof(options[0]) };

bool decode_ipv4_options(struct packet *pkt, struct cursor cur)
{
    uint32_t seen = 0;

    if (cursor_remaining(&cur) % 8 != 0)
        decode_note(pkt, DECODE_EVENT_IPV4_OPT_PAD_REQUIRED);
    while (cursor_remaining(&cur) > 0) {
        if (*cur.at == OPTION_EOL) {
            seen |= 1u << IP_OPTION_EOL;
            break;
        }
        if (*cur.at == OPTION_NOP) {
            seen |= 1u << IP_OPTION_NOP;
            cursor_skip(&cur, 1);
            continue;
        }
        const uint8_t *option = cursor_peek(&cur, OPTION_HEADER_LENGTH);

        if (!option) {
            decode_note(pkt, DECODE_EVENT_IPV4_OPT_EOL_REQUIRED);
            break;
        }
        unsigned length = option[1];

        if (length < OPTION_HEADER_LENGTH || !cursor_skip(&cur, length))
            return decode_invalid(pkt, DECODE_EVENT_IPV4_OPT_INVALID_LEN);
        size_t i = 0;

        while (i < OPTION_KINDS && options[i].type != option[0])
            i++;
        if (i == OPTION_KINDS)
            decode_note(pkt, DECODE_EVENT_IPV4_OPT_INVALID);
        else if (seen >> options[i].bit & 1)
            decode_note(pkt, DECODE_EVENT_IPV4_OPT_DUPLICATE);
        else if (length < options[i].min_length || length > options[i].max_length)
            decode_invalid(pkt, DECODE_EVENT_IPV4_OPT_INVALID_LEN);
        else if (options[i].check && !options[i].check(option, length))
            decode_invalid(pkt, DECODE_EVENT_IPV4_OPT_MALFORMED);
        else
            seen |= 1u << options[i].bit;
    }
    pkt->ip_options_seen = seen;
    return true;
}
