/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "keyword/meta/option.h"
#include "transform.h"
#include "sluice/hex.h"

enum { XOR_MAX_KEY = 255 };

struct xor_key {
    uint8_t bytes[XOR_MAX_KEY];
    uint8_t length;
    bool extracted; /* true: the key is the `length` bytes of the buffer at key_offset; false: it is in `bytes` */
    uint16_t key_offset;
    uint32_t offset; /* offset in the buffer; bytes before it stay unchanged */
};

static bool xor_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                          const uint8_t **out, uint32_t *out_length)
{
    const struct xor_key *key = data;
    const uint8_t *key_bytes = key->extracted ? bytes + key->key_offset : key->bytes;
    uint8_t *output;

    if (key->offset > length || (key->extracted && (uint32_t)key->key_offset + key->length > length))
        return transform_keep(bytes, length, out, out_length);
    output = transform_output(scratch, length);
    if (!output)
        return false;
    for (uint32_t i = 0; i < length; i++)
        output[i] = i < key->offset ? bytes[i] : bytes[i] ^ key_bytes[(i - key->offset) % key->length];
    return transform_keep(output, length, out, out_length);
}

static int parse_hex(struct rule_parser *parser, struct span text, struct xor_key *key)
{
    if (text.length > 1 && text.at[0] == '"' && text.at[text.length - 1] == '"')
        text = (struct span){ text.at + 1, text.length - 2 };
    if (text.length == 0 || text.length % 2 != 0 || text.length / 2 > XOR_MAX_KEY)
        return rule_parser_error(parser, text, "a key is 1 to %d bytes, each two hexadecimal digits", XOR_MAX_KEY);
    for (size_t i = 0; i < text.length; i += 2) {
        if (!hex_byte(text.at + i, &key->bytes[key->length]))
            return rule_parser_error(parser, (struct span){ text.at + i, 2 }, "expected a hexadecimal number");
        key->length++;
    }
    return 0;
}

/* Removes `word` and the blanks after it from the start of the text. Returns false if the text does not begin with
 * `word` and a blank. */
static bool take_word(struct span *text, const char *word)
{
    size_t length = strlen(word);

    if (text->length <= length || memcmp(text->at, word, length) != 0 || !strchr(" \t", text->at[length]))
        return false;
    *text = span_trim((struct span){ text->at + length, text->length - length });
    return true;
}

static int parse_extract(struct rule_parser *parser, struct span text, struct xor_key *key)
{
    struct span first = text, second = { text.at + text.length, 0 };
    int64_t length = 0, offset = 0;

    for (size_t i = 0; i < text.length; i++) {
        if (!strchr(" \t", text.at[i]))
            continue;
        first.length = i;
        second = span_trim((struct span){ text.at + i, text.length - i });
        break;
    }
    int err = option_number(parser, first, "the number of bytes of the key", 1, XOR_MAX_KEY, &length);

    if (!err)
        err = option_number(parser, second, "the place of the key", 0, UINT16_MAX, &offset);
    key->extracted = true;
    key->length = (uint8_t)length;
    key->key_offset = (uint16_t)offset;
    return err;
}

static int parse_offset(struct rule_parser *parser, struct span *text, struct xor_key *key)
{
    struct span number;
    int64_t offset = 0;

    if (!take_word(text, "offset"))
        return 0;
    span_next(text, ',', &number);
    if (!text->at)
        return rule_parser_error(parser, number, "a key must follow the offset, after a comma");
    *text = span_trim(*text);
    int err = option_number(parser, number, "the offset", 0, UINT32_MAX, &offset);

    key->offset = (uint32_t)offset;
    return err;
}

static int xor_parse(struct rule_parser *parser, struct span value)
{
    struct xor_key *key = arena_alloc(rule_parser_arena(parser), sizeof(*key));

    if (!key)
        return -ENOMEM;
    int err = parse_offset(parser, &value, key);

    if (!err)
        err = take_word(&value, "extract") ? parse_extract(parser, value, key) : parse_hex(parser, value, key);
    return err ? err : rule_parser_add_transform(parser, key);
}

const struct keyword keyword_xor = {
    .name = "xor",
    .value = "[offset NUMBER,]\"HEX\" or [offset NUMBER,]extract BYTES PLACE",
    .help = "XOR the buffer with a repeated key: xor:\"0d0ac8ff\"",
    .manual = "The key is written in hexadecimal, or with extract read from BYTES bytes at PLACE in the "
              "buffer. Decoding starts at `offset`; bytes before it stay unchanged. A buffer that is too "
              "short stays unchanged.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_QUOTED,
    .parse = xor_parse,
    .transform = { .apply = xor_transform },
};
