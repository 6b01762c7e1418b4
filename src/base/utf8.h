/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8 by RFC 3629, for what is written to files and terminals. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the UTF-8 sequence at `at`, or 0 when it is none: overlong forms, surrogates and what lies past U+10FFFF are not
 * (RFC 3629 §4). */
static inline size_t utf8_length(const uint8_t *at, size_t left)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t length;

    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        length = 2;
    else if ((at[0] & 0xf0) == 0xe0)
        length = 3;
    else if (at[0] >= 0xf0 && at[0] <= 0xf4)
        length = 4;
    else
        return 0;
    if (at[0] == 0xe0)
        low = 0xa0;
    else if (at[0] == 0xed)
        high = 0x9f;
    else if (at[0] == 0xf0)
        low = 0x90;
    else if (at[0] == 0xf4)
        high = 0x8f;
    if (left < length || at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

#endif
