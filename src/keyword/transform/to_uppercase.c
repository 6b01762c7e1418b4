/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

static uint8_t upper(uint8_t c)
{
    return c >= 'a' && c <= 'z' ? (uint8_t)(c - 32) : c;
}

static bool to_uppercase_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                   const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output = transform_output(scratch, length);

    (void)data;
    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++)
        output[i] = upper(bytes[i]);
    return transform_keep(output, length, out, out_length);
}

static bool to_uppercase_admits(const struct content *content)
{
    for (uint16_t i = 0; i < content->length && !content->nocase; i++) {
        if (upper(content->bytes[i]) != content->bytes[i])
            return false;
    }
    return true;
}

const struct keyword keyword_to_uppercase = {
    .name = "to_uppercase",
    .help = "convert the buffer to upper case (ASCII letters only)",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = to_uppercase_transform, .in_place = true, .admits = to_uppercase_admits },
};
