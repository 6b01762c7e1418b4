/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <nettle/sha1.h>

#include "transform.h"

static bool to_sha1_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                              const void *data, const uint8_t **out, uint32_t *out_length)
{
    struct sha1_ctx context;
    uint8_t *output;

    (void)data;
    if (length == 0)
        return transform_keep(bytes, length, out, out_length);
    output = transform_output(scratch, SHA1_DIGEST_SIZE);
    if (!output)
        return false;
    sha1_init(&context);
    sha1_update(&context, length, bytes);
    sha1_digest(&context, SHA1_DIGEST_SIZE, output);
    return transform_keep(output, SHA1_DIGEST_SIZE, out, out_length);
}

const struct keyword keyword_to_sha1 = {
    .name = "to_sha1",
    .help = "replace the buffer by its SHA-1 digest, 20 bytes",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = to_sha1_transform },
};
