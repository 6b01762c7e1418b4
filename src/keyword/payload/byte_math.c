/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * byte_math: calculates a variable from a number in the buffer. Its parts, most of the form `name value`, may be in any
 * order:
 *
 *     byte_math:bytes 2, offset 0, oper +, rvalue 10, result size, relative
 */
#include <errno.h>

#include "byte_source.h"

enum math_operator { MATH_ADD, MATH_SUBTRACT, MATH_DIVIDE, MATH_MULTIPLY, MATH_SHIFT_LEFT, MATH_SHIFT_RIGHT };

enum math_part {
    PART_BYTES = 1 << 0,
    PART_OFFSET = 1 << 1,
    PART_OPER = 1 << 2,
    PART_RVALUE = 1 << 3,
    PART_RESULT = 1 << 4
};

enum {
    PARTS_NEEDED = PART_BYTES | PART_OFFSET | PART_OPER | PART_RVALUE | PART_RESULT,
    MATH_MAX_BYTES = 10,
    MATH_MAX_SHIFT_BYTES = 4,
    MATH_MAX_OFFSET = 65535,
};

struct byte_math {
    struct byte_source source; /* must come first, see byte_source.h */
    enum math_operator operator;
    uint32_t number;
    int8_t value;  /* index in inspection.values of the right-hand operand; -1: `number` is the operand */
    int8_t result; /* index in inspection.values of the variable that is set */
    bool has_mask;
    uint8_t shift;
    uint32_t mask;
    unsigned parts; /* set of enum math_part: the parts that the rule has */
    struct span result_name;
};

static bool calculate(enum math_operator operator, uint64_t left, uint64_t right, uint64_t *out)
{
    switch (operator) {
    case MATH_ADD:
        *out = left + right;
        return true;
    case MATH_SUBTRACT:
        *out = left - right;
        return true;
    case MATH_MULTIPLY:
        *out = left * right;
        return true;
    case MATH_DIVIDE:
        if (right == 0)
            return false;
        *out = left / right;
        return true;
    case MATH_SHIFT_LEFT:
        *out = right < 64 ? left << right : 0;
        return true;
    case MATH_SHIFT_RIGHT:
        *out = right < 64 ? left >> right : 0;
        return true;
    }
    return false;
}

static enum inspect_result byte_math_inspect(struct inspection *in, const struct condition *condition,
                                             struct inspect_retry *retry)
{
    const struct byte_math *data = condition->data;
    uint64_t right = data->value >= 0 ? in->values[data->value] : data->number;
    struct byte_number left;
    uint64_t result;

    (void)retry;
    if (!byte_source_read(in, &data->source, &left))
        return INSPECT_NO;
    in->at = left.at + left.taken;
    if (!calculate(data->operator, left.value, right, &result))
        return INSPECT_NO;
    if (data->has_mask)
        result = (result & data->mask) >> data->shift;
    in->values[data->result] = result;
    return INSPECT_YES;
}

static int take_part(struct rule_parser *parser, struct span value, struct byte_math *math, enum math_part part)
{
    if (math->parts & part)
        return rule_parser_error(parser, value, "duplicate option");
    math->parts |= part;
    return 0;
}

static int set_bytes(struct rule_parser *parser, struct span value, void *data, int part)
{
    struct byte_math *math = data;
    int64_t number;
    int err = take_part(parser, value, math, (enum math_part)part);

    if (!err)
        err = option_number_or_value(parser, value, "bytes", 1, MATH_MAX_BYTES, &number, &math->source.width_value);
    if (!err)
        math->source.width = (uint8_t)number;
    return err;
}

static int set_offset(struct rule_parser *parser, struct span value, void *data, int part)
{
    struct byte_math *math = data;
    int64_t number;
    int err = take_part(parser, value, math, (enum math_part)part);

    if (!err)
        err = option_number(parser, value, "offset", -MATH_MAX_OFFSET, MATH_MAX_OFFSET, &number);
    if (!err)
        math->source.offset = (int32_t)number;
    return err;
}

static int set_operator(struct rule_parser *parser, struct span value, void *data, int part)
{
    static const char *const operators[] = { "+", "-", "/", "*", "<<", ">>" }; /* indexed by enum math_operator */
    struct byte_math *math = data;
    int err = take_part(parser, value, math, (enum math_part)part);

    if (err)
        return err;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (span_equal(value, operators[i])) {
            math->operator=(enum math_operator) i;
            return 0;
        }
    }
    return rule_parser_error(parser, value, "oper must be one of + - / * << >>");
}

static int set_rvalue(struct rule_parser *parser, struct span value, void *data, int part)
{
    struct byte_math *math = data;
    int64_t number;
    int err = take_part(parser, value, math, (enum math_part)part);

    if (!err)
        err = option_number_or_value(parser, value, "rvalue", 0, UINT32_MAX, &number, &math->value);
    if (!err)
        math->number = (uint32_t)number;
    return err;
}

static int set_result(struct rule_parser *parser, struct span value, void *data, int part)
{
    struct byte_math *math = data;

    /* the variable is added after all parts are parsed, so that rvalue cannot refer to it */
    math->result_name = value;
    return take_part(parser, value, math, (enum math_part)part);
}

static int set_endian(struct rule_parser *parser, struct span value, void *data, int unused)
{
    (void)unused;
    if (span_equal(value, "dce"))
        return byte_source_set_dce(parser, value, data, 0);
    if (!span_equal(value, "big") && !span_equal(value, "little"))
        return rule_parser_error(parser, value, "endian must be big, little or dce");
    return byte_source_set_little(parser, value, data, span_equal(value, "little"));
}

static int set_string(struct rule_parser *parser, struct span value, void *data, int unused)
{
    int base = span_equal(value, "hex") ? 16 : span_equal(value, "dec") ? 10 : span_equal(value, "oct") ? 8 : 0;

    if (base == 0)
        return rule_parser_error(parser, value, "string must be hex, dec or oct");
    byte_source_set_string(parser, value, data, unused);
    return byte_source_set_base(parser, value, data, base);
}

static int set_mask(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_math *math = data;

    (void)unused;
    math->has_mask = true;
    return byte_source_mask(parser, value, true, &math->mask, &math->shift);
}

static const struct option options[] = {
    { "bytes", set_bytes, PART_BYTES, true },    { "offset", set_offset, PART_OFFSET, true },
    { "oper", set_operator, PART_OPER, true },   { "rvalue", set_rvalue, PART_RVALUE, true },
    { "result", set_result, PART_RESULT, true }, { "relative", byte_source_set_relative, 0, false },
    { "endian", set_endian, 0, true },           { "string", set_string, 0, true },
    { "dce", byte_source_set_dce, 0, false },    { "bitmask", set_mask, 0, true },
};

static int check_operands(struct rule_parser *parser, struct span value, const struct byte_math *math)
{
    bool shifts = math->operator== MATH_SHIFT_LEFT || math->operator== MATH_SHIFT_RIGHT;

    if (math->parts != PARTS_NEEDED)
        return rule_parser_error(parser, value, "byte_math needs bytes, offset, oper, rvalue and result");
    if (shifts && math->source.width > MATH_MAX_SHIFT_BYTES)
        return rule_parser_error(parser, value, "at most %d bytes can be shifted", MATH_MAX_SHIFT_BYTES);
    if (math->operator== MATH_DIVIDE && math->value<0 && math->number == 0)
        return rule_parser_error(parser, value, "a division by 0 never matches");
    return 0;
}

static int byte_math_parse(struct rule_parser *parser, struct span value)
{
    struct byte_math *math = arena_alloc(rule_parser_arena(parser), sizeof(*math));

    if (!math)
        return -ENOMEM;
    byte_source_init(&math->source);
    math->value = -1;
    int err = option_list(parser, value, options, sizeof(options) / sizeof(options[0]), math);

    if (!err)
        err = check_operands(parser, value, math);
    if (err)
        return err;
    int result = option_new_value(parser, math->result_name);

    if (result < 0)
        return result;
    math->result = (int8_t)result;
    return rule_parser_add_content_condition(parser, math, byte_source_is_relative(parser, &math->source));
}

const struct keyword keyword_byte_math = {
    .name = "byte_math",
    .value = "bytes N, offset N, oper +|-|/|*|<<|>>, rvalue N, result VARIABLE[, relative][, endian big|little]"
             "[, string hex|dec|oct][, bitmask MASK]",
    .help = "calculate with a number from the buffer and store the result in a variable",
    .manual = "bytes and rvalue may be variables. A division by 0 does not match.",
    .kind = KEYWORD_CONTENT,
    .parse = byte_math_parse,
    .content = { .inspect = byte_math_inspect },
};
