/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "byte_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/bytes.h"

void byte_source_init(struct byte_source *source)
{
    *source = (struct byte_source){ .offset_value = -1, .width_value = -1 };
}

int byte_source_set_relative(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_source *source = data;

    (void)parser, (void)value, (void)unused;
    source->relative = true;
    return 0;
}

int byte_source_set_string(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_source *source = data;

    (void)parser, (void)value, (void)unused;
    source->string = true;
    return 0;
}

int byte_source_set_base(struct rule_parser *parser, struct span value, void *data, int base)
{
    struct byte_source *source = data;

    if (source->base)
        return rule_parser_error(parser, value, "the base is given twice");
    source->base = (uint8_t)base;
    return 0;
}

int byte_source_set_little(struct rule_parser *parser, struct span value, void *data, int little)
{
    struct byte_source *source = data;

    (void)parser, (void)value;
    source->little = little;
    source->has_endian = true;
    return 0;
}

int byte_source_set_dce(struct rule_parser *parser, struct span value, void *data, int unused)
{
    static const char *const applications[] = { "dcerpc", "smb", NULL };
    struct byte_source *source = data;

    (void)unused;
    if (source->has_endian)
        return rule_parser_error(parser, value, "'dce' and another endianness exclude each other");
    source->dce = source->has_endian = true;
    return rule_parser_require_applications(parser, applications);
}

int byte_source_check(struct rule_parser *parser, struct span value, const struct byte_source *source)
{
    int most = source->string ? BYTE_SOURCE_MAX_STRING : BYTE_SOURCE_MAX_BINARY;

    if (source->base && !source->string)
        return rule_parser_error(parser, value, "hex, dec and oct need 'string'");
    if (source->width_value < 0 && source->width > most)
        return rule_parser_error(parser, value, "at most %d bytes can be read%s", most,
                                 source->string ? " as a string" : " without 'string'");
    return 0;
}

int byte_source_mask(struct rule_parser *parser, struct span text, bool hexadecimal, uint32_t *mask, uint8_t *shift)
{
    char digits[16] = "0x";
    bool prefix = text.length > 1 && text.at[0] == '0' && (text.at[1] | 0x20) == 'x';
    struct span number = text;
    uint64_t value;

    if (hexadecimal && !prefix && text.length < sizeof(digits) - 2) {
        memcpy(digits + 2, text.at, text.length);
        number = (struct span){ .at = digits, .length = text.length + 2 };
    }
    if (!span_to_uint(number, 0, UINT32_MAX, &value))
        return rule_parser_error(parser, text, "the bitmask must be a number of at most 32 bits");
    *mask = (uint32_t)value;
    *shift = value ? (uint8_t)__builtin_ctzll(value) : 0;
    return 0;
}

bool byte_source_is_relative(struct rule_parser *parser, const struct byte_source *source)
{
    return source->relative && rule_parser_has_previous(parser);
}

bool byte_source_is_constant(const struct byte_source *source)
{
    return source->offset_value < 0 && source->width_value < 0 && !source->dce;
}

/* Parses a number in text form as strtoull() does: leading blanks and a sign are allowed, and the first character that
 * is no digit ends it. Returns false if there is no number. */
static bool read_string(struct cursor cur, const struct byte_source *source, uint32_t width, struct byte_number *number)
{
    char text[BYTE_SOURCE_MAX_STRING + 1];
    char *end;
    size_t length = width ? width : cursor_remaining(&cur); /* width 0: up to the first character that is no digit */

    if (length > BYTE_SOURCE_MAX_STRING)
        length = BYTE_SOURCE_MAX_STRING;
    const uint8_t *bytes = cursor_read(&cur, length);

    if (!bytes)
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    errno = 0;
    number->value = strtoull(text, &end, source->base);
    number->taken = (uint32_t)(end - text);
    return errno != ERANGE && end != text;
}

static bool read_binary(struct cursor cur, bool little, uint32_t width, struct byte_number *number)
{
    const uint8_t *bytes = cursor_read(&cur, width);

    if (!bytes)
        return false;
    number->value = 0;
    for (uint32_t i = 0; i < width; i++)
        number->value = number->value << 8 | bytes[little ? width - 1 - i : i];
    number->taken = width;
    return true;
}

bool byte_source_read(const struct inspection *in, const struct byte_source *source, struct byte_number *out)
{
    int64_t at = source->offset_value >= 0 ? (int32_t)in->values[source->offset_value] : source->offset;
    uint64_t width = source->width_value >= 0 ? in->values[source->width_value] : source->width;

    if (source->relative)
        at += in->at;
    if (in->length == 0 || at < 0 || at > in->length)
        return false;
    if (source->relative && at == in->length && !(width == 0 && source->may_be_empty))
        return false;
    if (width > (source->string ? BYTE_SOURCE_MAX_STRING : BYTE_SOURCE_MAX_BINARY))
        return false;

    struct cursor cur = cursor_of(in->data, in->length);
    struct byte_number number = { .at = (uint32_t)at };

    if (!cursor_skip(&cur, (size_t)at))
        return false;
    if (source->string ? !read_string(cur, source, (uint32_t)width, &number)
                       : !read_binary(cur, source->dce ? in->little : source->little, (uint32_t)width, &number))
        return false;
    *out = number;
    return true;
}
