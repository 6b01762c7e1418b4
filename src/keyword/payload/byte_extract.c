/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "byte_source.h"

enum {
    EXTRACT_MAX_OCT = 23,
    EXTRACT_MAX_DEC = 20,
    EXTRACT_MAX_HEX = 14
}; /* maximum number of digits; Suricata's limits */

struct byte_extract {
    struct byte_source source; /* must come first, see byte_source.h */
    int8_t result;             /* index in inspection.values of the variable that is set */
    uint8_t align;             /* the value is rounded up to a multiple of 2 or 4; 0: it is not */
    uint16_t multiplier;
};

static enum inspect_result byte_extract_inspect(struct inspection *in, const struct condition *condition,
                                                struct inspect_retry *retry)
{
    const struct byte_extract *data = condition->data;
    struct byte_number number;

    (void)retry;
    if (!byte_source_read(in, &data->source, &number))
        return INSPECT_NO;
    uint64_t value = number.value * data->multiplier;

    if (data->align && value % data->align != 0)
        value += data->align - value % data->align;
    in->values[data->result] = value;
    in->at = number.at + number.taken;
    return INSPECT_YES;
}

static int set_base(struct rule_parser *parser, struct span value, void *data, int base)
{
    const struct byte_extract *extract = data;

    if (!extract->source.string)
        return rule_parser_error(parser, value, "'string' must come before the base");
    return byte_source_set_base(parser, value, data, base);
}

static int set_align(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_extract *extract = data;
    int64_t number;
    int err = option_number(parser, value, "align", 2, 4, &number);

    (void)unused;
    if (err)
        return err;
    if (number == 3)
        return rule_parser_error(parser, value, "align must be 2 or 4");
    extract->align = (uint8_t)number;
    return 0;
}

static int set_multiplier(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_extract *extract = data;
    int64_t number;
    int err = option_number(parser, value, "the multiplier", 1, UINT16_MAX, &number);

    (void)unused;
    if (!err)
        extract->multiplier = (uint16_t)number;
    return err;
}

static const struct option options[] = {
    BYTE_SOURCE_OPTIONS(set_base),
    { "align", set_align, 0, true },
    { "multiplier", set_multiplier, 0, true },
};

static int parse_positional(struct rule_parser *parser, struct span value, struct span *rest, struct span *name,
                            struct byte_source *source)
{
    struct span width, offset;
    int64_t bytes, start;

    if (!span_next(rest, ',', &width) || !span_next(rest, ',', &offset) || !span_next(rest, ',', name))
        return rule_parser_error(parser, value, "byte_extract needs BYTES,OFFSET,VARIABLE");
    int err = option_number(parser, width, "the number of bytes", 0, BYTE_SOURCE_MAX_STRING, &bytes);

    if (!err)
        err = option_number(parser, offset, "the offset", INT16_MIN, INT16_MAX, &start);
    if (err)
        return err;
    source->width = (uint8_t)bytes;
    source->offset = (int32_t)start;
    return 0;
}

static int check_source(struct rule_parser *parser, struct span value, const struct byte_source *source)
{
    int most = source->base == 16 ? EXTRACT_MAX_HEX : source->base == 8 ? EXTRACT_MAX_OCT : EXTRACT_MAX_DEC;

    if (!source->string)
        return byte_source_check(parser, value, source);
    if (source->has_endian)
        return rule_parser_error(parser, value, "'string' and an endianness exclude each other");
    if (source->width > most)
        return rule_parser_error(parser, value, "at most %d digits of this base can be read", most);
    return 0;
}

static int byte_extract_parse(struct rule_parser *parser, struct span value)
{
    struct byte_extract *extract = arena_alloc(rule_parser_arena(parser), sizeof(*extract));
    struct span rest = value, name = value;

    if (!extract)
        return -ENOMEM;
    byte_source_init(&extract->source);
    extract->multiplier = 1;
    int err = parse_positional(parser, value, &rest, &name, &extract->source);

    if (!err)
        err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), extract);
    if (!err)
        err = check_source(parser, value, &extract->source);
    if (err)
        return err;
    int result = option_new_value(parser, name);

    if (result < 0)
        return result;
    if (extract->source.string && !extract->source.base)
        extract->source.base = 10;
    extract->result = (int8_t)result;
    return rule_parser_add_content_condition(parser, extract, byte_source_is_relative(parser, &extract->source));
}

const struct keyword keyword_byte_extract = {
    .name = "byte_extract",
    .value = "BYTES,OFFSET,VARIABLE[,relative][,big|little|dce][,string,hex|dec|oct][,multiplier N][,align 2|4]",
    .help = "store a number from the buffer in a variable for options of later conditions",
    .kind = KEYWORD_CONTENT,
    .parse = byte_extract_parse,
    .content = { .inspect = byte_extract_inspect },
};
