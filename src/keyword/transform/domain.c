/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "public_suffix.h"
#include "transform.h"

static bool domain_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                             const uint8_t **out, uint32_t *out_length)
{
    uint32_t start, suffix;

    (void)scratch;
    (void)data;
    if (!public_suffix_find(bytes, length, &start, &suffix))
        return transform_keep(bytes, 0, out, out_length);
    return transform_keep(bytes + start, length - start, out, out_length);
}

const struct keyword keyword_domain = {
    .name = "domain",
    .help = "reduce the buffer to its registrable domain: example.co.uk of www.example.co.uk",
    .manual = "The buffer becomes empty when the name has no registrable domain. The public suffix list is "
              "libpsl's, in lower case; names are compared case-sensitively.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_NO_VALUE,
    .parse = transform_parse,
    .transform = { .apply = domain_transform },
};
