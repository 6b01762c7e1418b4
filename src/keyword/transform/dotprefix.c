/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "transform.h"

static bool dotprefix_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                const void *data, const uint8_t **out, uint32_t *out_length)
{
    uint8_t *output;

    (void)data;
    if (length == 0)
        return transform_keep(bytes, length, out, out_length);
    if (length == UINT32_MAX)
        return false;
    output = transform_output(scratch, length + 1);
    if (!output)
        return false;
    output[0] = '.';
    memcpy(output + 1, bytes, length);
    return transform_keep(output, length + 1, out, out_length);
}

const struct keyword keyword_dotprefix = {
    .name = "dotprefix",
    .help = "prepend a dot to the buffer, so that a name matches together with its subdomains: "
            "content:\".example.com\"",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = dotprefix_transform },
};
