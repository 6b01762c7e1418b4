/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "transform.h"

enum { XOR_MAX_KEY = 255 };

struct xor_key {
    uint8_t bytes[XOR_MAX_KEY];
    uint8_t length;
};

static bool xor_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                          const uint8_t **out, uint32_t *out_length)
{
    const struct xor_key *key = data;
    uint8_t *output = transform_output(scratch, length);

    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++)
        output[i] = bytes[i] ^ key->bytes[i % key->length];
    return transform_keep(output, length, out, out_length);
}

static int xor_parse(struct rule_parser *parser, struct span value, bool negated)
{
    struct xor_key *key = arena_alloc(rule_parser_arena(parser), sizeof(*key));

    (void)negated;
    if (!key)
        return -ENOMEM;
    if (value.length % 2 != 0 || value.length / 2 > XOR_MAX_KEY)
        return rule_parser_error(parser, value, "a key is 1 to %d bytes, each two hexadecimal digits", XOR_MAX_KEY);
    for (size_t i = 0; i < value.length; i += 2) {
        char text[] = { '0', 'x', value.at[i], value.at[i + 1] };
        uint64_t byte = 0;

        if (!text_to_uint(text, sizeof(text), 0, UINT8_MAX, &byte))
            return rule_parser_error(parser, (struct span){ value.at + i, 2 }, "this is no hexadecimal number");
        key->bytes[key->length++] = (uint8_t)byte;
    }
    return rule_parser_add_transform(parser, key);
}

const struct keyword keyword_xor = {
    .name = "xor",
    .value = "\"HEX\"",
    .help = "the buffer's bytes exclusive-or those of the key, over and over: xor:\"0d0ac8ff\"",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_QUOTED,
    .parse = xor_parse,
    .transform = xor_transform,
};
