/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "byte_source.h"

enum byte_test_operator { TEST_EQUAL, TEST_LESS, TEST_MORE, TEST_AT_MOST, TEST_AT_LEAST, TEST_AND, TEST_XOR };

struct byte_test {
    struct byte_source source; /* must come first, see byte_source.h */
    uint64_t number;
    int8_t value; /* index in inspection.values of the variable to compare with; -1: compare with `number` */
    enum byte_test_operator operator;
    bool negated;
    bool has_mask;
    uint8_t shift;
    uint32_t mask;
};

static bool compare(enum byte_test_operator operator, uint64_t left, uint64_t right)
{
    switch (operator) {
    case TEST_EQUAL:
        return left == right;
    case TEST_LESS:
        return left < right;
    case TEST_MORE:
        return left > right;
    case TEST_AT_MOST:
        return left <= right;
    case TEST_AT_LEAST:
        return left >= right;
    case TEST_AND:
        return (left & right) != 0;
    case TEST_XOR:
        return (left ^ right) != 0;
    }
    return false;
}

static enum inspect_result byte_test_inspect(struct inspection *in, const struct condition *condition,
                                             struct inspect_retry *retry)
{
    const struct byte_test *data = condition->data;
    uint64_t right = data->value >= 0 ? in->values[data->value] : data->number;
    struct byte_number left;

    (void)retry;
    if (!byte_source_read(in, &data->source, &left))
        return INSPECT_NO;
    if (data->has_mask)
        left.value = (left.value & data->mask) >> data->shift;
    return compare(data->operator, left.value, right) != data->negated ? INSPECT_YES : INSPECT_NO;
}

static bool byte_test_by_place(const struct condition *condition)
{
    const struct byte_test *data = condition->data;

    return byte_source_is_constant(&data->source) && data->value < 0;
}

static int set_mask(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_test *test = data;

    (void)unused;
    test->has_mask = true;
    return byte_source_mask(parser, value, false, &test->mask, &test->shift);
}

static const struct option options[] = {
    BYTE_SOURCE_OPTIONS(byte_source_set_base),
    { "bitmask", set_mask, 0, true },
};

static int parse_operator(struct rule_parser *parser, struct span text, struct byte_test *test)
{
    static const struct {
        const char *text;
        enum byte_test_operator operator;
    } operators[] = { { "=", TEST_EQUAL },     { "<", TEST_LESS }, { ">", TEST_MORE }, { "<=", TEST_AT_MOST },
                      { ">=", TEST_AT_LEAST }, { "&", TEST_AND },  { "^", TEST_XOR } };
    struct span rest = text;

    test->negated = text.length > 0 && text.at[0] == '!';
    if (test->negated)
        rest = span_trim((struct span){ .at = text.at + 1, .length = text.length - 1 });
    if (test->negated && rest.length == 0)
        return 0; /* a `!` without an operator stands for `!=` */
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (span_equal(rest, operators[i].text)) {
            test->operator= operators[i].operator;
            return 0;
        }
    }
    return rule_parser_error(parser, text, "the operator must be one of = < > <= >= & ^, with or without !");
}

static int parse_number(struct rule_parser *parser, struct span text, struct byte_test *test)
{
    int64_t negative;

    if (option_is_name(text)) {
        int index = option_value(parser, text);

        test->value = (int8_t)index;
        return index < 0 ? index : 0;
    }
    if (span_to_uint(text, 0, UINT64_MAX, &test->number))
        return 0;
    if (!span_to_int(text, INT64_MIN, -1, &negative))
        return rule_parser_error(parser, text, "the value to compare with must be a number or a variable");
    test->number = (uint64_t)negative; /* as in Suricata, a negative number is compared as its two's complement */
    return 0;
}

static int parse_positional(struct rule_parser *parser, struct span value, struct span *rest, struct byte_test *test)
{
    struct byte_source *source = &test->source;
    struct span width, operator, number, offset;
    int64_t bytes = 0, start = 0;

    if (!span_next(rest, ',', &width) || !span_next(rest, ',', &operator) || !span_next(rest, ',', &number) ||
        !span_next(rest, ',', &offset))
        return rule_parser_error(parser, value, "byte_test needs BYTES,OPERATOR,VALUE,OFFSET");
    int err = option_number_or_value(parser, width, "the number of bytes", 0, BYTE_SOURCE_MAX_STRING, &bytes,
                                     &source->width_value);

    if (!err)
        err = parse_operator(parser, operator, test);
    if (!err)
        err = parse_number(parser, number, test);
    if (!err)
        err = option_number_or_value(parser, offset, "the offset", INT32_MIN, INT32_MAX, &start, &source->offset_value);
    source->width = (uint8_t)bytes;
    source->offset = (int32_t)start;
    return err;
}

static int byte_test_parse(struct rule_parser *parser, struct span value)
{
    struct byte_test *test = arena_alloc(rule_parser_arena(parser), sizeof(*test));
    struct span rest = value;

    if (!test)
        return -ENOMEM;
    byte_source_init(&test->source);
    test->value = -1;
    int err = parse_positional(parser, value, &rest, test);

    if (!err)
        err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), test);
    if (!err)
        err = byte_source_check(parser, value, &test->source);
    if (err)
        return err;
    return rule_parser_add_content_condition(parser, test, byte_source_is_relative(parser, &test->source));
}

const struct keyword keyword_byte_test = {
    .name = "byte_test",
    .value = "BYTES,[!]OPERATOR,VALUE,OFFSET[,relative][,big|little|dce][,string,hex|dec|oct][,bitmask MASK]",
    .help = "compare a number in the buffer with a value",
    .manual = "Operators: = < > <= >= & (has one of the bits) ^ (differs). BYTES, VALUE and OFFSET may be "
              "variables. The\n"
              "masked number is shifted right by the number of trailing zeros of the mask.",
    .kind = KEYWORD_CONTENT,
    .parse = byte_test_parse,
    .content = { .inspect = byte_test_inspect },
    .hints = &(const struct prefilter_hints){ .decided_by_place = byte_test_by_place },
};
