/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Base64 as rules have it decoded. */
#ifndef SLUICE_KEYWORD_BASE64_H
#define SLUICE_KEYWORD_BASE64_H

#include <stdint.h>

enum base64_mode {
    BASE64_RFC4648, /* ends at the first other character; what is left over counts */
    BASE64_RFC2045, /* skips other characters; a group of less than four is left out */
    BASE64_STRICT,  /* all of it with its padding, or nothing */
};

/* Bytes that may come of so many characters. */
static inline uint32_t base64_decoded_size(uint32_t length)
{
    return length / 4 * 3 + 3;
}

/* Into `out`, which has that much room; returns how many. */
uint32_t base64_decode(const uint8_t *text, uint32_t length, enum base64_mode mode, uint8_t *out);

#endif
