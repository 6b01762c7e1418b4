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
    .help = "decompress the buffer from gzip format",
    .manual = "The output is truncated to max-size bytes (default 1024, maximum about 4 MiB). When the data "
              "is malformed before this limit, the buffer becomes empty.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = decompress_parse,
    .transform = { .apply = gunzip_transform },
};
