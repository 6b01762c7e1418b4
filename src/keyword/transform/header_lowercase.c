/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

static bool header_lowercase_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                       const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output = transform_output(scratch, length);
    bool in_name = true;

    (void)data;
    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++) {
        output[i] = in_name ? transform_lower(bytes[i]) : bytes[i];
        if (in_name ? bytes[i] == ':' : bytes[i] == '\n')
            in_name = !in_name;
    }
    return transform_keep(output, length, out, out_length);
}

const struct keyword keyword_header_lowercase = {
    .name = "header_lowercase",
    .help = "convert header names (each line up to the colon) to lower case; values stay unchanged",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = header_lowercase_transform, .in_place = true },
};
