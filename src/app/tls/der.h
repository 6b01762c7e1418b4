/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DER decoder (X.690) for certificates: consecutive values with low tag numbers and definite lengths. A value never
 * extends beyond its parent. Lengths need not be in their shortest form, because clients accept other forms, too.
 *
 * There is no recursion: the caller reads one value after the other and names the expected tag.
 */
#ifndef APP_TLS_DER_H
#define APP_TLS_DER_H

#include "sluice/bytes.h"

enum der_tag {
    DER_INTEGER = 0x02,
    DER_BIT_STRING = 0x03,
    DER_OCTET_STRING = 0x04,
    DER_OID = 0x06,
    DER_OBJECT_DESCRIPTOR = 0x07,
    DER_UTF8_STRING = 0x0c,
    DER_NUMERIC_STRING = 0x12,
    DER_PRINTABLE_STRING = 0x13,
    DER_T61_STRING = 0x14,
    DER_VIDEOTEX_STRING = 0x15,
    DER_IA5_STRING = 0x16,
    DER_UTC_TIME = 0x17,
    DER_GENERALIZED_TIME = 0x18,
    DER_GRAPHIC_STRING = 0x19,
    DER_VISIBLE_STRING = 0x1a,
    DER_GENERAL_STRING = 0x1b,
    DER_UNIVERSAL_STRING = 0x1c,
    DER_BMP_STRING = 0x1e,
    DER_SEQUENCE = 0x30,
    DER_SET = 0x31,
    DER_CONTEXT = 0x80,             /* | number */
    DER_CONTEXT_CONSTRUCTED = 0xa0, /* | number */
};

struct der_value {
    uint8_t tag; /* complete identifier octet: class, form, number */
    struct cursor body;
};

/* Consumes the next value. False when there is none, or it is invalid or too long; the cursor is then unchanged. */
bool der_next(struct cursor *cur, struct der_value *out);
/* Consumes the next value if it has this tag; false otherwise. */
bool der_read(struct cursor *cur, uint8_t tag, struct cursor *body);
/* Whether the header of the next value (tag and length) is truncated. */
bool der_header_is_cut(struct cursor cur);
/* Skips the next value if it has this tag; false when it has but is invalid. */
bool der_skip_optional(struct cursor *cur, uint8_t tag);

/* Converts a UTCTime or GeneralizedTime to seconds since 1970; false when it is invalid. */
bool der_time(const struct der_value *value, int64_t *seconds);
/* Returns midnight UTC of a day (month 1 to 12, day 1 to 31) in seconds since 1970, Gregorian calendar. */
int64_t der_day_seconds(unsigned year, unsigned month, unsigned day);

enum { DER_OID_TEXT_MAX = 128 };
/* Writes an OID as "2.5.4.3". Returns the length, truncated at DER_OID_TEXT_MAX; 0 when the OID is invalid. */
size_t der_oid_text(struct cursor body, char out[DER_OID_TEXT_MAX]);

#endif
