/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

static bool compress_whitespace_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                          const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output = transform_output(scratch, length);
    bool was_space = false;
    uint32_t count = 0;

    (void)data;
    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++) {
        bool space = transform_is_space(bytes[i]);

        if (!space || !was_space)
            output[count++] = bytes[i];
        was_space = space;
    }
    return transform_keep(output, count, out, out_length);
}

static bool compress_whitespace_admits(const struct content *content)
{
    for (uint16_t i = 1; i < content->length; i++) {
        if (transform_is_space(content->bytes[i - 1]) && transform_is_space(content->bytes[i]))
            return false;
    }
    return true;
}

const struct keyword keyword_compress_whitespace = {
    .name = "compress_whitespace",
    .help = "replace each run of whitespace in the buffer by its first character",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = compress_whitespace_transform, .in_place = true, .admits = compress_whitespace_admits },
};
