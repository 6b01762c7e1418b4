/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "decompress.h"

static bool zlib_deflate_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                   const void *data, const uint8_t **out, uint32_t *out_length)
{
    return decompress(scratch, bytes, length, data, DECOMPRESS_ZLIB, out, out_length);
}

const struct keyword keyword_zlib_deflate = {
    .name = "zlib_deflate",
    .value = "[max-size SIZE]",
    .help = "decompress the buffer from zlib format",
    .manual = "The output is truncated to max-size bytes (default 1024, maximum about 4 MiB). When the data "
              "is malformed before this limit, the buffer becomes empty.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = decompress_parse,
    .transform = { .apply = zlib_deflate_transform },
};
