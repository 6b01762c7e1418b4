/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BER (X.690) decoder for Kerberos: low tag numbers and definite lengths only. The caller names the expected values one
 * after the other; there is no recursion, and no value extends beyond the one that contains it.
 */
#ifndef SLUICE_APP_KRB5_BER_H
#define SLUICE_APP_KRB5_BER_H

#include "sluice/bytes.h"

enum ber_tag {
    BER_INTEGER = 0x02,
    BER_GENERAL_STRING = 0x1b,
    BER_SEQUENCE = 0x30,
    BER_APPLICATION = 0x60, /* | number; constructed */
    BER_CONTEXT = 0xa0,     /* | number; constructed */
};

enum ber_result { BER_OK, BER_SHORT, BER_BROKEN };

/* Parses a tag and a length, whether or not the value is available. BER_SHORT: more bytes are required. Advances only
 * on BER_OK. */
enum ber_result ber_read_header(struct cursor *cur, uint8_t *tag, uint32_t *length);
/* Consumes a value with this tag. False, without advancing, if the next value has another tag or is incomplete. */
bool ber_read(struct cursor *cur, uint8_t tag, struct cursor *body);
/* Consume [number] SEQUENCE, [number] INTEGER of 32 bits, [number] GeneralString. */
bool ber_read_sequence(struct cursor *cur, uint8_t number, struct cursor *body);
bool ber_read_integer(struct cursor *cur, uint8_t number, int32_t *out);
bool ber_read_string(struct cursor *cur, uint8_t number, struct cursor *body);
/* Skips [number] if it is the next value. */
void ber_skip(struct cursor *cur, uint8_t number);

#endif
