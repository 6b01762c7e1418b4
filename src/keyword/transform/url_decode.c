/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = transform_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the length of an escape at the '%': 3. For an invalid escape it returns the number of bytes to copy
 * unchanged, as in Suricata up to and including the byte that is no digit: the second '%' of "%%41" does not start an
 * escape. */
static uint32_t measure(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 1; i < 3; i++) {
        if (i == length || hex_value(bytes[i]) < 0)
            return i == length ? i : i + 1;
    }
    return 3;
}

static bool is_escape(const uint8_t *bytes, uint32_t length)
{
    return length >= 3 && hex_value(bytes[1]) >= 0 && hex_value(bytes[2]) >= 0;
}

static bool url_decode_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                 const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output = transform_output(scratch, length);
    uint32_t count = 0;

    (void)data;
    if (!output)
        return false;
    for (uint32_t i = 0; i < length;) {
        if (bytes[i] != '%') {
            output[count++] = bytes[i] == '+' ? ' ' : bytes[i];
            i++;
        } else if (is_escape(bytes + i, length - i)) {
            output[count++] = (uint8_t)(hex_value(bytes[i + 1]) << 4 | hex_value(bytes[i + 2]));
            i += 3;
        } else {
            for (uint32_t end = i + measure(bytes + i, length - i); i < end; i++)
                output[count++] = bytes[i];
        }
    }
    return transform_keep(output, count, out, out_length);
}

const struct keyword keyword_url_decode = {
    .name = "url_decode",
    .help = "decode percent escapes: %41 becomes A, + becomes a space; invalid escapes stay unchanged",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = url_decode_transform,
};
