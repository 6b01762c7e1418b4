/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <nettle/md5.h>

#include "transform.h"

static bool to_md5_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                             const uint8_t **out, uint32_t *out_length)
{
    struct md5_ctx context;
    uint8_t *output;

    (void)data;
    if (length == 0)
        return transform_keep(bytes, length, out, out_length);
    output = transform_output(scratch, MD5_DIGEST_SIZE);
    if (!output)
        return false;
    md5_init(&context);
    md5_update(&context, length, bytes);
    md5_digest(&context, MD5_DIGEST_SIZE, output);
    return transform_keep(output, MD5_DIGEST_SIZE, out, out_length);
}

const struct keyword keyword_to_md5 = {
    .name = "to_md5",
    .help = "replace the buffer by its MD5 digest, 16 bytes",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = to_md5_transform },
};
