/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values in BER (X.690), as far as Kerberos needs them: low tag numbers and definite lengths. Who reads a structure
 * names what it expects, one value after the other; nothing recurses, and no value reaches beyond the one it lies in.
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

/* Tag and length, whether or not the value behind them is there. BER_SHORT: more bytes would tell. Moves only when
 * BER_OK. */
enum ber_result ber_head(struct cursor *cur, uint8_t *tag, uint32_t *length);
/* Takes a value of this tag; false, without moving, when the next one is another or is not there as a whole. */
bool ber_take(struct cursor *cur, uint8_t tag, struct cursor *body);
/* [number] SEQUENCE, [number] INTEGER of 32 bits, [number] GeneralString. */
bool ber_sequence(struct cursor *cur, uint8_t number, struct cursor *body);
bool ber_integer(struct cursor *cur, uint8_t number, int32_t *out);
bool ber_string(struct cursor *cur, uint8_t number, struct cursor *body);
/* Skips [number] if it is the next. */
void ber_skip(struct cursor *cur, uint8_t number);

#endif
