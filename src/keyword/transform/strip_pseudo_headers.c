/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

static bool strip_pseudo_headers_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                           const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output = transform_output(scratch, length);
    bool line_starts = true, kept = true;
    uint32_t count = 0;

    (void)data;
    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++) {
        if (line_starts)
            kept = bytes[i] != ':';
        if (kept)
            output[count++] = bytes[i];
        line_starts = bytes[i] == '\n';
    }
    return transform_keep(output, count, out, out_length);
}

const struct keyword keyword_strip_pseudo_headers = {
    .name = "strip_pseudo_headers",
    .help = "remove lines that begin with a colon, such as :method in HTTP/2",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = strip_pseudo_headers_transform, .in_place = true },
};
