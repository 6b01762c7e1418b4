/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

static bool strip_whitespace_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                       const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output = transform_output(scratch, length);
    uint32_t count = 0;

    (void)data;
    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++) {
        if (!transform_is_space(bytes[i]))
            output[count++] = bytes[i];
    }
    return transform_keep(output, count, out, out_length);
}

static bool strip_whitespace_admits(const struct content *content)
{
    for (uint16_t i = 0; i < content->length; i++) {
        if (transform_is_space(content->bytes[i]))
            return false;
    }
    return true;
}

const struct keyword keyword_strip_whitespace = {
    .name = "strip_whitespace",
    .help = "remove spaces, tabs and line ends from the buffer",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = strip_whitespace_transform, .in_place = true, .admits = strip_whitespace_admits },
};
