/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Base64 decoding in the modes of the rule language. */
#ifndef SLUICE_KEYWORD_BASE64_H
#define SLUICE_KEYWORD_BASE64_H

#include <stdint.h>

enum base64_mode {
    BASE64_RFC4648, /* stops at the first other character; an incomplete group is decoded */
    BASE64_RFC2045, /* skips other characters; an incomplete group is ignored */
    BASE64_STRICT,  /* all input with correct padding, or nothing */
};

/* Maximum number of bytes decoded from this many characters. */
static inline uint32_t base64_decoded_size(uint32_t length)
{
    return length / 4 * 3 + 3;
}

/* Decodes into `out`, which must have room for the maximum; returns the number of bytes. */
uint32_t base64_decode(const uint8_t *text, uint32_t length, enum base64_mode mode, uint8_t *out);

#endif
