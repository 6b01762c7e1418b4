/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "literal.h"

#include <errno.h>
#include "sluice/hex.h"

/* State of the conversion of `text`, the value without its quotes, to `bytes`. */
struct literal {
    struct rule_parser *parser;
    struct span text;
    size_t at;
    uint8_t *bytes;
    size_t length;
};

static struct span piece(const struct literal *literal, size_t start, size_t length)
{
    return (struct span){ .at = literal->text.at + start, .length = length };
}

/* Parses a hexadecimal block such as |0d 0a|. literal->at is after the opening bar at the call, and after the closing
 * one on return. Returns 0 or -EINVAL. */
static int parse_hex(struct literal *literal)
{
    const char *text = literal->text.at;
    size_t start = literal->at - 1;
    int high = -1;

    for (; literal->at < literal->text.length; literal->at++) {
        char c = text[literal->at];
        int digit = hex_digit(c);

        if (c == '|' && high < 0) {
            literal->at++;
            return 0;
        }
        if (c == '|')
            return rule_parser_error(literal->parser, piece(literal, literal->at - 1, 1),
                                     "a byte between bars has two hexadecimal digits");
        if (digit < 0 && c != ' ' && c != ',')
            return rule_parser_error(literal->parser, piece(literal, literal->at, 1),
                                     "'%c' is not a hexadecimal digit; bytes between bars look like |0d 0a|", c);
        if (digit < 0)
            continue;
        if (high >= 0)
            literal->bytes[literal->length++] = (uint8_t)(high << 4 | digit);
        high = high < 0 ? digit : -1;
    }
    return rule_parser_error(literal->parser, piece(literal, start, 1),
                             "the bar that ends the hexadecimal bytes is missing; write |7C| for a literal bar");
}

static int parse_escape(struct literal *literal)
{
    char c = literal->at < literal->text.length ? literal->text.at[literal->at] : '\0';

    if (c == '"' || c == ';' || c == ':' || c == '\\') {
        literal->bytes[literal->length++] = (uint8_t)c;
        literal->at++;
        return 0;
    }
    return rule_parser_error(literal->parser, piece(literal, literal->at - 1, c ? 2 : 1),
                             "only \\\" \\; \\: and \\\\ may be escaped; other bytes are written as |5C|");
}

static int parse_literal(struct literal *literal)
{
    while (literal->at < literal->text.length) {
        char c = literal->text.at[literal->at++];
        int err = 0;

        if (c == '|')
            err = parse_hex(literal);
        else if (c == '\\')
            err = parse_escape(literal);
        else if (c == '"')
            err = rule_parser_error(literal->parser, piece(literal, literal->at - 1, 1),
                                    "a double quote inside a content is written \\\" or |22|");
        else
            literal->bytes[literal->length++] = (uint8_t)c;
        if (err)
            return err;
    }
    return 0;
}

/* Sets *text to the value without its quotes. Returns 0, or -errno after an error was reported; Snort 3's form of
 * modifiers, `content:"x",nocase;`, is reported as unsupported. */
static int unquote(struct rule_parser *parser, struct span value, struct span *text)
{
    if (value.length < 2 || value.at[0] != '"')
        return rule_parser_error(parser, value, "the bytes to search for must be in double quotes");
    if (value.at[value.length - 1] == '"') {
        *text = (struct span){ .at = value.at + 1, .length = value.length - 2 };
        return 0;
    }
    for (size_t i = value.length - 1; i > 0; i--) {
        if (value.at[i] != '"')
            continue;
        struct span rest = span_trim((struct span){ .at = value.at + i + 1, .length = value.length - i - 1 });

        if (rest.length > 0 && rest.at[0] == ',')
            return rule_parser_unsupported(
                parser, rest, "content modifiers after a comma",
                "modifiers after a comma (Snort 3) are not supported; write each as an option: "
                "\"...\"; nocase;");
        return rule_parser_error(parser, rest, "nothing may follow the closing quote");
    }
    return rule_parser_error(parser, value, "the closing quote is missing");
}

int literal_parse(struct rule_parser *parser, struct span value, uint8_t **bytes, uint16_t *length)
{
    struct literal literal = { .parser = parser };
    int err = unquote(parser, value, &literal.text);

    if (err)
        return err;
    if (literal.text.length == 0)
        return rule_parser_error(parser, value, "the content is empty");
    literal.bytes = arena_alloc(rule_parser_arena(parser), literal.text.length);
    if (!literal.bytes)
        return -ENOMEM;
    err = parse_literal(&literal);
    if (err)
        return err;
    if (literal.length == 0 || literal.length > UINT16_MAX)
        return rule_parser_error(parser, value,
                                 literal.length == 0 ? "the content is empty" : "the content is too long");
    *bytes = literal.bytes;
    *length = (uint16_t)literal.length;
    return 0;
}
