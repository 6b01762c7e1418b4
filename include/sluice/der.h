/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ASN.1 values in DER and BER (X.690): certificates, Kerberos messages and tickets, and data for the keyword `asn1`.
 *
 * There is no recursion: the caller reads one value after the other and names the expected tag. A value never extends
 * beyond the one that contains it, because each length is checked against the cursor that it is read from. Lengths need
 * not be in their shortest form, because clients accept other forms, too.
 *
 * Functions that return false, or anything but DER_OK, leave the cursor and the output unchanged.
 */
#ifndef SLUICE_DER_H
#define SLUICE_DER_H

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
    DER_APPLICATION_CONSTRUCTED = 0x60, /* the tag number is added by | */
    DER_CONTEXT = 0x80,                 /* the tag number is added by | */
    DER_CONTEXT_CONSTRUCTED = 0xa0,     /* the tag number is added by | */
};

enum der_form {
    DER_DEFINITE,      /* tag numbers below 31, definite lengths of up to four octets */
    DER_ANY,           /* BER: also tag numbers of up to four octets, lengths of up to eight, and indefinite lengths */
    DER_ONE_OCTET_TAG, /* each tag is one octet; lengths of up to three octets; an indefinite length counts as 0 */
};

enum der_result {
    DER_OK,
    DER_TRUNCATED, /* more bytes are needed */
    DER_MALFORMED, /* invalid, or not in the form that the caller allows */
};

struct der_header {
    uint8_t identifier; /* complete first octet: class, form, number below 31 */
    uint32_t number;    /* the tag's number */
    uint64_t length;    /* length of the value, which may be incomplete; 0 when indefinite */
    bool indefinite;    /* end-of-contents octets follow the value; with DER_ANY only if it is constructed */
};

/* Consumes the identifier and length octets of the next value. */
enum der_result der_read_header(struct cursor *cur, enum der_form form, struct der_header *out);

struct der_value {
    uint8_t tag; /* complete identifier octet: class, form, number */
    struct cursor body;
};

/* The next functions read values in the form DER_DEFINITE. */

/* Consumes the next value. Returns false when there is none, or it is invalid or incomplete. */
bool der_next(struct cursor *cur, struct der_value *out);
/* Consumes the next value if it has this tag; returns false otherwise. */
bool der_read(struct cursor *cur, uint8_t tag, struct cursor *body);
/* Consumes [number] EXPLICIT with a value that has this tag. */
bool der_read_explicit(struct cursor *cur, uint8_t number, uint8_t tag, struct cursor *body);
/* Consumes [number] EXPLICIT INTEGER of at most 32 bits. */
bool der_read_explicit_int32(struct cursor *cur, uint8_t number, int32_t *out);
/* Skips the next value if it has this tag. Returns false when a value with this tag is invalid or incomplete. */
bool der_skip_optional(struct cursor *cur, uint8_t tag);

/* Converts a UTCTime or GeneralizedTime to seconds since 1970; false when it is invalid. */
bool der_time(const struct der_value *value, int64_t *seconds);
/* Returns midnight UTC of a day (month 1 to 12, day 1 to 31) in seconds since 1970, Gregorian calendar. */
int64_t der_day_seconds(unsigned year, unsigned month, unsigned day);

enum { DER_OID_TEXT_MAX = 128 };
/* Writes an OID as "2.5.4.3", without a NUL; numbers that do not fit are left out. Returns the length of the text; 0
 * when the OID is invalid. */
size_t der_oid_text(struct cursor body, char out[DER_OID_TEXT_MAX]);

#endif
