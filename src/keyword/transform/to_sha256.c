/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <nettle/sha2.h>

#include "transform.h"

static bool to_sha256_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                const void *data, const uint8_t **out, uint32_t *out_length)
{
    struct sha256_ctx context;
    uint8_t *output;

    (void)data;
    if (length == 0)
        return transform_keep(bytes, length, out, out_length);
    output = transform_output(scratch, SHA256_DIGEST_SIZE);
    if (!output)
        return false;
    sha256_init(&context);
    sha256_update(&context, length, bytes);
    sha256_digest(&context, SHA256_DIGEST_SIZE, output);
    return transform_keep(output, SHA256_DIGEST_SIZE, out, out_length);
}

const struct keyword keyword_to_sha256 = {
    .name = "to_sha256",
    .help = "replace the buffer by its SHA-256 digest, 32 bytes",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = to_sha256_transform },
};
