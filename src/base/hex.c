/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/hex.h"

const char hex_digits[] = "0123456789abcdef";

char *hex_write(char *out, const void *bytes, size_t length)
{
    const uint8_t *in = bytes;

    for (size_t i = 0; i < length; i++)
        out = hex_write_byte(out, in[i]);
    return out;
}

char *hex_write_colons(char *out, const void *bytes, size_t length)
{
    const uint8_t *in = bytes;

    for (size_t i = 0; i < length; i++) {
        if (i > 0)
            *out++ = ':';
        out = hex_write_byte(out, in[i]);
    }
    return out;
}
