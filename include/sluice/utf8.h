/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UTF-8 by RFC 3629, for output to files and terminals. */
#ifndef SLUICE_UTF8_H
#define SLUICE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the multi-byte UTF-8 sequence at `at`, of which `left` bytes are present; 0 for ASCII and for
 * invalid sequences, which include overlong forms, surrogates and code points past U+10FFFF (RFC 3629 §4). */
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

/* Returns the code point of a sequence of `length` bytes, the result of utf8_length(). */
static inline uint32_t utf8_code_point(const uint8_t *at, size_t length)
{
    uint32_t code_point = length == 1 ? at[0] : at[0] & (0xffu >> (length + 1));

    for (size_t i = 1; i < length; i++)
        code_point = code_point << 6 | (at[i] & 0x3f);
    return code_point;
}

/*
 * Whether a code point changes how a terminal or an editor displays the text around it: the C1 controls, which
 * terminals execute; invisible characters; line separators; the marks and overrides of bidirectional text (UAX #9),
 * which can display a text backwards; tags. Their general categories in Unicode are Cc, Cf, Zl and Zp.
 */
static inline bool utf8_is_control(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        { 0x80, 0x9f },     { 0xad, 0xad },     { 0x600, 0x605 },     { 0x61c, 0x61c },     { 0x6dd, 0x6dd },
        { 0x70f, 0x70f },   { 0x180e, 0x180e }, { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
        { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe007f },
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code_point <= ranges[i].last)
            return code_point >= ranges[i].first;
    return false;
}

#endif
