/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/der.h"

enum { HIGH_TAG = 0x1f, CONSTRUCTED = 0x20, TAG_OCTETS_MAX = 4 };

enum der_result der_read_header(struct cursor *cur, enum der_form form, struct der_header *out)
{
    static const uint8_t octets_max[] = { [DER_DEFINITE] = 4, [DER_ANY] = 8, [DER_ONE_OCTET_TAG] = 3 };
    struct der_header header = { 0 };
    struct cursor at = *cur;
    uint8_t byte = 0x80;

    if (!cursor_u8(&at, &header.identifier))
        return DER_TRUNCATED;
    header.number = header.identifier & HIGH_TAG;
    if (header.number == HIGH_TAG && form == DER_DEFINITE)
        return DER_MALFORMED;
    if (header.number == HIGH_TAG && form == DER_ANY) {
        header.number = 0;
        for (unsigned i = 0; byte & 0x80; i++) {
            if (i == TAG_OCTETS_MAX)
                return DER_MALFORMED;
            if (!cursor_u8(&at, &byte))
                return DER_TRUNCATED;
            header.number = header.number << 7 | (byte & 0x7f);
        }
    }
    if (!cursor_u8(&at, &byte))
        return DER_TRUNCATED;
    const unsigned octets = byte & 0x80 ? byte & 0x7f : 0;

    header.indefinite = byte == 0x80;
    header.length = byte & 0x80 ? 0 : byte;
    if (octets > octets_max[form])
        return DER_MALFORMED;
    if (header.indefinite && (form == DER_DEFINITE || (form == DER_ANY && !(header.identifier & CONSTRUCTED))))
        return DER_MALFORMED;
    for (unsigned i = 0; i < octets; i++) {
        if (!cursor_u8(&at, &byte))
            return DER_TRUNCATED;
        header.length = header.length << 8 | byte;
    }
    *cur = at;
    *out = header;
    return DER_OK;
}

bool der_next(struct cursor *cur, struct der_value *out)
{
    struct cursor at = *cur;
    struct der_header header;

    if (der_read_header(&at, DER_DEFINITE, &header) != DER_OK)
        return false;
    const uint8_t *body = cursor_read(&at, (size_t)header.length);

    if (!body)
        return false;
    *out = (struct der_value){ .tag = header.identifier, .body = cursor_of(body, (size_t)header.length) };
    *cur = at;
    return true;
}

bool der_read(struct cursor *cur, uint8_t tag, struct cursor *body)
{
    struct cursor at = *cur;
    struct der_value value;

    if (!der_next(&at, &value) || value.tag != tag)
        return false;
    *cur = at;
    *body = value.body;
    return true;
}

bool der_read_explicit(struct cursor *cur, uint8_t number, uint8_t tag, struct cursor *body)
{
    struct cursor at = *cur, field;

    if (!der_read(&at, DER_CONTEXT_CONSTRUCTED | number, &field) || !der_read(&field, tag, body))
        return false;
    *cur = at;
    return true;
}

bool der_read_explicit_int32(struct cursor *cur, uint8_t number, int32_t *out)
{
    struct cursor at = *cur, body;
    uint32_t value = 0;
    uint8_t byte;

    if (!der_read_explicit(&at, number, DER_INTEGER, &body) || cursor_remaining(&body) == 0 ||
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

bool der_skip_optional(struct cursor *cur, uint8_t tag)
{
    const uint8_t *next = cursor_peek(cur, 1);
    struct cursor body;

    return !next || *next != tag || der_read(cur, tag, &body);
}

/* --- Times ---------------------------------------------------------------------------------------- */

static bool read_digits(struct cursor *cur, unsigned count, unsigned *out)
{
    const uint8_t *digits = cursor_read(cur, count);
    unsigned value = 0;

    if (!digits)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = value * 10 + (digits[i] - '0');
    }
    *out = value;
    return true;
}

/* Counts in years that begin in March, so that the leap day is the last day of the year. An era is 400 years. */
int64_t der_day_seconds(unsigned year, unsigned month, unsigned day)
{
    int64_t y = (int64_t)year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (int64_t)(month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return (era * 146097 + day_of_era - 719468) * 86400;
}

/* Parses "Z", "+hhmm" or "-hhmm"; *seconds is the offset to subtract for UTC. */
static bool read_zone(struct cursor *cur, int64_t *seconds)
{
    uint8_t sign;
    unsigned hour, minute;

    *seconds = 0;
    if (!cursor_u8(cur, &sign))
        return false;
    if (sign == 'Z')
        return cursor_remaining(cur) == 0;
    if ((sign != '+' && sign != '-') || !read_digits(cur, 2, &hour) || !read_digits(cur, 2, &minute) ||
        cursor_remaining(cur) > 0)
        return false;
    *seconds = ((int64_t)hour * 60 + minute) * 60;
    if (sign == '-')
        *seconds = -*seconds;
    return true;
}

static bool is_digit_next(const struct cursor *cur)
{
    const uint8_t *next = cursor_peek(cur, 1);

    return next && *next >= '0' && *next <= '9';
}

bool der_time(const struct der_value *value, int64_t *seconds)
{
    struct cursor cur = value->body;
    unsigned year, month, day, hour, minute, second = 0;
    int64_t zone;

    if (value->tag == DER_GENERALIZED_TIME ? !read_digits(&cur, 4, &year)
                                           : value->tag != DER_UTC_TIME || !read_digits(&cur, 2, &year))
        return false;
    if (value->tag == DER_UTC_TIME)
        year += year < 50 ? 2000 : 1900; /* RFC 5280 §4.1.2.5.1 */
    if (!read_digits(&cur, 2, &month) || !read_digits(&cur, 2, &day) || !read_digits(&cur, 2, &hour) ||
        !read_digits(&cur, 2, &minute))
        return false;
    if (is_digit_next(&cur) && !read_digits(&cur, 2, &second))
        return false;
    /* A fraction of a second, which only GeneralizedTime may have, is skipped. */
    const uint8_t *next = value->tag == DER_GENERALIZED_TIME ? cursor_peek(&cur, 1) : NULL;

    if (next && (*next == '.' || *next == ',')) {
        do
            cursor_skip(&cur, 1);
        while (is_digit_next(&cur));
    }
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60 ||
        !read_zone(&cur, &zone))
        return false;
    *seconds = der_day_seconds(year, month, day) + ((int64_t)hour * 60 + minute) * 60 + second - zone;
    return true;
}

/* --- Object identifiers --------------------------------------------------------------------------- */

static bool read_arc(struct cursor *cur, uint64_t *out)
{
    uint64_t value = 0;
    uint8_t next;

    for (unsigned i = 0; i < 9; i++) {
        if (!cursor_u8(cur, &next))
            return false;
        value = value << 7 | (next & 0x7f);
        if (!(next & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static size_t append_number(char *out, size_t length, uint64_t value)
{
    char digits[20];
    size_t count = 0;

    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    if (length + count + 1 > DER_OID_TEXT_MAX)
        return length;
    if (length > 0)
        out[length++] = '.';
    while (count > 0)
        out[length++] = digits[--count];
    return length;
}

size_t der_oid_text(struct cursor body, char out[DER_OID_TEXT_MAX])
{
    uint64_t arc;
    size_t length;

    if (!read_arc(&body, &arc))
        return 0;
    unsigned root = arc < 40 ? 0 : arc < 80 ? 1 : 2; /* the first two arcs are encoded as one number (X.690 §8.19.4) */

    length = append_number(out, 0, root);
    length = append_number(out, length, arc - 40 * (uint64_t)root);
    while (cursor_remaining(&body) > 0) {
        if (!read_arc(&body, &arc))
            return 0;
        length = append_number(out, length, arc);
    }
    return length;
}
