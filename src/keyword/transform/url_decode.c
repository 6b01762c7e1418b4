/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"
#include "sluice/hex.h"

/* Returns the number of bytes of the escape that begins at the '%': 3 if it is valid. For an invalid escape, returns
 * the number of bytes to copy unchanged: as in Suricata, up to and including the byte that is no hexadecimal digit, so
 * the second '%' of "%%41" does not start an escape. */
static uint32_t measure(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 1; i < 3; i++) {
        if (i == length || hex_digit(bytes[i]) < 0)
            return i == length ? i : i + 1;
    }
    return 3;
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
        } else if (length - i >= 3 && hex_byte(bytes + i + 1, &output[count])) {
            count++;
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
    .transform = { .apply = url_decode_transform, .in_place = true },
};
