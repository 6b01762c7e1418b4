/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BER decoder; see ber.h. */
#include "ber.h"

enum { LENGTH_BYTES_MAX = 4 };

enum ber_result ber_read_header(struct cursor *cur, uint8_t *tag, uint32_t *length)
{
    struct cursor at = *cur;
    uint8_t head, first, byte;
    uint32_t sum = 0;

    if (!cursor_u8(&at, &head))
        return BER_SHORT;
    if ((head & 0x1f) == 0x1f)
        return BER_BROKEN;
    if (!cursor_u8(&at, &first))
        return BER_SHORT;
    if (first & 0x80 && ((first & 0x7f) == 0 || (first & 0x7f) > LENGTH_BYTES_MAX))
        return BER_BROKEN;
    if (!(first & 0x80))
        sum = first;
    for (unsigned i = 0; first & 0x80 && i < (first & 0x7fu); i++) {
        if (!cursor_u8(&at, &byte))
            return BER_SHORT;
        sum = sum << 8 | byte;
    }
    *cur = at;
    *tag = head;
    *length = sum;
    return BER_OK;
}

bool ber_read(struct cursor *cur, uint8_t tag, struct cursor *body)
{
    struct cursor at = *cur;
    uint32_t length;
    uint8_t actual;

    if (ber_read_header(&at, &actual, &length) != BER_OK || actual != tag)
        return false;
    const uint8_t *bytes = cursor_read(&at, length);

    if (!bytes)
        return false;
    *body = cursor_of(bytes, length);
    *cur = at;
    return true;
}

/* Parses [number] that contains one value with this tag. */
static bool read_explicit(struct cursor *cur, uint8_t number, uint8_t tag, struct cursor *body)
{
    struct cursor at = *cur, field;

    if (!ber_read(&at, (uint8_t)(BER_CONTEXT | number), &field) || !ber_read(&field, tag, body))
        return false;
    *cur = at;
    return true;
}

bool ber_read_sequence(struct cursor *cur, uint8_t number, struct cursor *body)
{
    return read_explicit(cur, number, BER_SEQUENCE, body);
}

bool ber_read_string(struct cursor *cur, uint8_t number, struct cursor *body)
{
    return read_explicit(cur, number, BER_GENERAL_STRING, body);
}

bool ber_read_integer(struct cursor *cur, uint8_t number, int32_t *out)
{
    struct cursor at = *cur, body;
    uint32_t value = 0;
    uint8_t byte;

    if (!read_explicit(&at, number, BER_INTEGER, &body) || cursor_remaining(&body) == 0 ||
        cursor_remaining(&body) > sizeof(value))
        return false;
    if (body.at[0] & 0x80)
        value = UINT32_MAX;
    while (cursor_u8(&body, &byte))
        value = value << 8 | byte;
    *out = (int32_t)value;
    *cur = at;
    return true;
}

void ber_skip(struct cursor *cur, uint8_t number)
{
    struct cursor ignored;

    (void)ber_read(cur, (uint8_t)(BER_CONTEXT | number), &ignored);
}
