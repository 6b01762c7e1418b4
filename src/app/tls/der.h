/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DER (X.690), as far as certificates need it: values of low tag numbers and definite length, one after the other. A
 * value never reaches beyond the one it lies in. Lengths need not be in their shortest form: what clients accept is to
 * be read, too.
 *
 * Nothing recurses: who reads a structure opens one value after the other and names what it expects.
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
    uint8_t tag; /* the whole first byte */
    struct cursor body;
};

/* Takes the next value; false when there is none, or it is broken or does not fit: then nothing is taken. */
bool der_next(struct cursor *cur, struct der_value *out);
/* The same for a value of this tag. */
bool der_take(struct cursor *cur, uint8_t tag, struct cursor *body);
/* Whether there are too few bytes for a tag and a length. */
bool der_header_is_cut(struct cursor cur);
/* Skips a value of this tag if it is the next; false when it is but is broken. */
bool der_skip_optional(struct cursor *cur, uint8_t tag);

/* Seconds since 1970 of a UTCTime or GeneralizedTime; false when it is none. */
bool der_time(const struct der_value *value, int64_t *seconds);
/* Midnight of a day (of 1 to 12, 1 to 31) in seconds since 1970, by the Gregorian calendar. */
int64_t der_day_seconds(unsigned year, unsigned month, unsigned day);

enum { DER_OID_TEXT_MAX = 128 };
/* "2.5.4.3"; the length, cut at DER_OID_TEXT_MAX. 0 when it is no OID. */
size_t der_oid_text(struct cursor body, char out[DER_OID_TEXT_MAX]);

#endif
