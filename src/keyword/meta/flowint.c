/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flowint:NAME,OPERATOR[,NUMBER or NAME]; integer variables of a flow.
 *
 * Comparisons, isset and notset are conditions; a packet without a flow never matches them. =, + and - run once all
 * conditions of the rule have matched. As in Suricata: an unset variable does not match any comparison and counts as 0
 * as the right-hand operand; + creates it, - does not; results wrap at 32 bits.
 */
#include <ctype.h>
#include <errno.h>

#include "sluice/number_range.h"
#include "state_name.h"

enum integer_operator {
    INTEGER_IS_SET,
    INTEGER_IS_NOT_SET,
    INTEGER_EQUAL,
    INTEGER_NOT_EQUAL,
    INTEGER_LESS,
    INTEGER_AT_MOST,
    INTEGER_MORE,
    INTEGER_AT_LEAST,
    INTEGER_SET,
    INTEGER_ADD,
    INTEGER_SUBTRACT,
};

struct flow_integer {
    enum integer_operator operation;
    uint32_t number;
    uint32_t other; /* number of the variable that is the right-hand operand; 0: `value` is the operand */
    uint32_t value;
};

/* The parser uses the first operator with which the text begins, so `>=` is listed before `>`. */
static const struct {
    const char *name;
    enum integer_operator operation;
    bool has_value;
} operators[] = {
    { "isset", INTEGER_IS_SET, false },
    { "isnotset", INTEGER_IS_NOT_SET, false },
    { "notset", INTEGER_IS_NOT_SET, false },
    { "==", INTEGER_EQUAL, true },
    { "!=", INTEGER_NOT_EQUAL, true },
    { "<=", INTEGER_AT_MOST, true },
    { ">=", INTEGER_AT_LEAST, true },
    { "<", INTEGER_LESS, true },
    { ">", INTEGER_MORE, true },
    { "=", INTEGER_SET, true },
    { "+", INTEGER_ADD, true },
    { "-", INTEGER_SUBTRACT, true },
};

static uint32_t right_side(const struct flow *flow, const struct flow_integer *integer)
{
    uint32_t value = integer->value;

    if (integer->other != 0 && !flow_integer_get(flow, integer->other, &value))
        return 0;
    return value;
}

static bool flowint_match(const struct match_input *in, const void *data)
{
    const struct flow_integer *integer = data;
    const struct flow *flow = in->packet->flow;
    uint32_t left = 0;

    if (!flow)
        return false;
    bool is_set = flow_integer_get(flow, integer->number, &left);

    if (integer->operation == INTEGER_IS_SET || integer->operation == INTEGER_IS_NOT_SET)
        return is_set == (integer->operation == INTEGER_IS_SET);
    uint32_t right = right_side(flow, integer);

    switch (integer->operation) {
    case INTEGER_EQUAL:
        return is_set && left == right;
    case INTEGER_NOT_EQUAL:
        return is_set && left != right;
    case INTEGER_LESS:
        return is_set && left < right;
    case INTEGER_AT_MOST:
        return is_set && left <= right;
    case INTEGER_MORE:
        return is_set && left > right;
    case INTEGER_AT_LEAST:
        return is_set && left >= right;
    default:
        return false;
    }
}

static bool flowint_needs_variables(const void *data)
{
    return ((const struct flow_integer *)data)->operation != INTEGER_IS_NOT_SET;
}

static void flowint_act(const struct match_input *in, const void *data)
{
    const struct flow_integer *integer = data;
    struct flow *flow = in->packet->flow;
    uint32_t left = 0;

    if (!flow)
        return;
    bool is_set = flow_integer_get(flow, integer->number, &left);
    uint32_t right = right_side(flow, integer);

    if (integer->operation == INTEGER_SET)
        flow_integer_set(in->flows, flow, integer->number, right);
    else if (integer->operation == INTEGER_ADD)
        flow_integer_set(in->flows, flow, integer->number, left + right);
    else if (is_set)
        flow_integer_set(in->flows, flow, integer->number, left - right);
}

/* Parses the right-hand operand, a number or the name of a variable. Returns 0 or -errno. */
static int parse_right_side(struct rule_parser *parser, struct span text, struct flow_integer *out)
{
    uint64_t value = 0;

    if (text.length == 0)
        return rule_parser_error(parser, text, "a number or a variable name is missing");
    if (isalpha((unsigned char)text.at[0]))
        return state_name_number(parser, RULE_NAME_FLOWINT, text, 0, &out->other);
    if (!isdigit((unsigned char)text.at[0]) || !span_to_uint(text, 0, UINT32_MAX, &value))
        return rule_parser_error(parser, text, "expected a number from 0 to %u, or a name, got '" SPAN_FORMAT "'",
                                 UINT32_MAX, SPAN_ARGS(text));
    out->value = (uint32_t)value;
    return 0;
}

static int parse_operation(struct rule_parser *parser, struct span text, struct flow_integer *out)
{
    enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };
    struct span rest = text;
    size_t row = 0;

    while (row < OPERATORS && !number_range_skip_prefix(&rest, operators[row].name))
        row++;
    if (row == OPERATORS)
        return rule_parser_error(
            parser, text, "expected one of isset, notset, ==, !=, <, <=, >, >=, =, + and -, got '" SPAN_FORMAT "'",
            SPAN_ARGS(text));
    number_range_skip_prefix(&rest, ",");
    out->operation = operators[row].operation;
    if (operators[row].has_value)
        return parse_right_side(parser, rest, out);
    if (rest.length > 0)
        rule_parser_warning(parser, rest, "'%s' takes no value; it is ignored", operators[row].name);
    return 0;
}

static int flowint_parse(struct rule_parser *parser, struct span value)
{
    struct flow_integer *integer = arena_alloc(rule_parser_arena(parser), sizeof(*integer));
    struct span rest = value, name;

    if (!integer)
        return -ENOMEM;
    span_next(&rest, ',', &name);
    if (!rest.at)
        return rule_parser_error(parser, value, "expected NAME,OPERATOR or NAME,OPERATOR,NUMBER");
    int err = parse_operation(parser, span_trim(rest), integer);
    bool changes = integer->operation >= INTEGER_SET;

    if (!err && name.length > 0 && !isalpha((unsigned char)name.at[0]))
        err = rule_parser_error(parser, name, "the name must begin with a letter");
    if (!err)
        err = state_name_number(parser, RULE_NAME_FLOWINT, name, changes ? RULE_STATE_WRITES : RULE_STATE_READS,
                                &integer->number);
    if (err)
        return err;
    return changes ? rule_parser_add_action(parser, flowint_act, integer, true)
                   : rule_parser_add_packet_condition(parser, integer, false);
}

const struct keyword keyword_flowint = {
    .name = "flowint",
    .value = "NAME,isset|notset; NAME,==|!=|<|<=|>|>=,NUMBER|NAME; or NAME,=|+|-,NUMBER|NAME",
    .help = "test or change named integer variables of the packet's flow",
    .manual = "=, + and - run after the rule has matched, the others are conditions. An unset variable "
              "matches no comparison; as the right-hand operand it is 0. + adds to an unset variable as to 0, "
              "- leaves it unset. Names are case-sensitive. The conditions never match packets without a flow.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = flowint_parse,
    .hints = &(const struct prefilter_hints){ .needs_variables = flowint_needs_variables },
    .packet = { .cost = 1, .match = flowint_match },
};
