/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hexadecimal digits: one reader for rules, files and traffic, one writer for events, names and hashes.
 *
 * The reader accepts digits of both cases. The writer writes lower case, two digits for each byte, and no NUL.
 */
#ifndef SLUICE_HEX_H
#define SLUICE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const char hex_digits[16 + 1]; /* "0123456789abcdef" */

/* Returns the value of a digit, 0 to 15, or -1 if the character is no hexadecimal digit. */
static inline int hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 'a' ^ 'A';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads two digits. Returns false, and leaves *out untouched, if one of them is no hexadecimal digit. */
static inline bool hex_byte(const void *two_digits, uint8_t *out)
{
    const uint8_t *digits = (const uint8_t *)two_digits;
    int high = hex_digit(digits[0]), low = hex_digit(digits[1]);

    if (high < 0 || low < 0)
        return false;
    *out = (uint8_t)(high << 4 | low);
    return true;
}

/* Writes two digits. Returns the position after them. */
static inline char *hex_write_byte(char *out, uint8_t byte)
{
    out[0] = hex_digits[byte >> 4];
    out[1] = hex_digits[byte & 15];
    return out + 2;
}

/* Writes "0a1b", 2 * length characters. Returns the position after them. */
char *hex_write(char *out, const void *bytes, size_t length);
/* Writes "0a:1b", 3 * length - 1 characters, or none when the length is 0. Returns the position after them. */
char *hex_write_colons(char *out, const void *bytes, size_t length);

#endif
