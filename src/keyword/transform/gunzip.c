/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decompress.h"

static bool gunzip_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                             const uint8_t **out, uint32_t *out_length)
{
    return decompress(scratch, bytes, length, data, DECOMPRESS_GZIP, out, out_length);
}

const struct keyword keyword_gunzip = {
    .name = "gunzip",
    .value = "[max-size SIZE]",
    .help = "the buffer uncompressed, which is gzip's format",
    .manual =
        "At most max-size bytes (1024): what comes after them is cut off. When it is broken before them the buffer is "
        "empty. Never more than about 4 MiB.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = decompress_parse,
    .transform = gunzip_transform,
};
