/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "keyword/meta/option.h"
#include "sluice/base64.h"
#include "transform.h"

struct from_base64 {
    uint32_t offset, bytes;
    enum base64_mode mode;
    bool has_offset, has_bytes, has_mode;
};

static bool from_base64_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                  const void *data, const uint8_t **out, uint32_t *out_length)
{
    const struct from_base64 *want = data;
    uint32_t rest = length, decoded;
    uint8_t *output;

    if (want->offset >= rest)
        return transform_keep(bytes, length, out, out_length);
    rest -= want->offset;
    if (want->bytes > rest)
        return transform_keep(bytes, length, out, out_length);
    if (want->bytes > 0)
        rest = want->bytes;
    output = transform_output(scratch, base64_decoded_size(rest));
    if (!output)
        return false;
    decoded = base64_decode(bytes + want->offset, rest, want->mode, output);
    if (decoded == 0)
        return transform_keep(bytes, length, out, out_length);
    return transform_keep(output, decoded, out, out_length);
}

static int set_number(struct rule_parser *parser, struct span value, bool *has, uint32_t *out, const char *what)
{
    int64_t number = 0;

    if (*has)
        return rule_parser_error(parser, value, "%s was given before", what);
    *has = true;
    int err = option_number(parser, value, what, 0, UINT16_MAX, &number);

    *out = (uint32_t)number;
    return err;
}

static int set_offset(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct from_base64 *want = data;

    (void)argument;
    return set_number(parser, value, &want->has_offset, &want->offset, "the offset");
}

static int set_bytes(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct from_base64 *want = data;

    (void)argument;
    return set_number(parser, value, &want->has_bytes, &want->bytes, "the number of bytes");
}

static int set_mode(struct rule_parser *parser, struct span value, void *data, int argument)
{
    static const char *const names[] = { "rfc4648", "rfc2045", "strict" }; /* indexed by enum base64_mode */
    struct from_base64 *want = data;

    (void)argument;
    if (want->has_mode)
        return rule_parser_error(parser, value, "the mode was given before");
    want->has_mode = true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal(value, names[i])) {
            want->mode = (enum base64_mode)i;
            return 0;
        }
    }
    return rule_parser_error(parser, value, "a mode is rfc4648, rfc2045 or strict, got '" SPAN_FORMAT "'",
                             SPAN_ARGS(value));
}

static const struct option options[] = {
    { .name = "offset", .set = set_offset, .has_value = true },
    { .name = "bytes", .set = set_bytes, .has_value = true },
    { .name = "mode", .set = set_mode, .has_value = true },
};

static int from_base64_parse(struct rule_parser *parser, struct span value)
{
    struct from_base64 *want = arena_alloc(rule_parser_arena(parser), sizeof(*want));
    struct span rest = value;

    if (!want)
        return -ENOMEM;
    if (value.length == 0)
        rest.at = NULL;
    int err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), want);

    return err ? err : rule_parser_add_transform(parser, want);
}

const struct keyword keyword_from_base64 = {
    .name = "from_base64",
    .value = "[offset NUMBER][,bytes NUMBER][,mode rfc4648|rfc2045|strict]",
    .help = "decode the buffer from Base64; it stays unchanged when nothing can be decoded",
    .manual = "Decodes `bytes` bytes, starting at byte `offset`. Mode rfc4648 (the default) stops at the "
              "first byte that is not Base64, rfc2045 skips such bytes, strict requires valid Base64 with "
              "correct padding.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = from_base64_parse,
    .transform = { .apply = from_base64_transform },
};
