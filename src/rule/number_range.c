/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/number_range.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static struct span part(struct span text, size_t from, size_t to)
{
    return span_trim((struct span){ .at = text.at + from, .length = to - from });
}

bool number_range_skip_prefix(struct span *text, const char *prefix)
{
    size_t length = strlen(prefix);

    if (text->length < length || memcmp(text->at, prefix, length) != 0)
        return false;
    *text = part(*text, length, text->length);
    return true;
}

/* Removes a unit such as `kb` from the end of a decimal number. Returns the unit as a power of two (10 for 1,024); 0 if
 * the number has no unit. */
static unsigned take_unit(struct span *text)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = { { "kib", 10 }, { "mib", 20 }, { "gib", 30 }, { "kb", 10 }, { "mb", 20 }, { "gb", 30 } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i].name);
        if (text->length <= length)
            continue;
        struct span end = { .at = text->at + text->length - length, .length = length };
        if (span_equal_nocase(end, units[i].name)) {
            text->length -= length;
            return units[i].shift;
        }
    }
    return 0;
}

int number_range_number(struct rule_parser *parser, struct span text, uint64_t limit, uint64_t *out)
{
    bool hexadecimal = text.length > 2 && text.at[0] == '0' && text.at[1] == 'x';
    struct span digits = text;
    unsigned shift = hexadecimal ? 0 : take_unit(&digits);
    uint64_t number;

    if (digits.length == 0 || digits.at[0] < '0' || digits.at[0] > '9' ||
        !span_to_uint(digits, 0, limit >> shift, &number))
        return rule_parser_error(parser, text, "expected a number from 0 to %" PRIu64 ", got '" SPAN_FORMAT "'", limit,
                                 SPAN_ARGS(text));
    *out = number << shift;
    return 0;
}

static int parse_mask(struct rule_parser *parser, struct span text, uint64_t limit, struct number_range *range)
{
    const char *equals = memchr(text.at, '=', text.length);

    if (!equals)
        return rule_parser_error(parser, text, "expected MASK=NUMBER or MASK!=NUMBER after '&'");
    size_t at = (size_t)(equals - text.at);

    range->negated = at > 0 && text.at[at - 1] == '!';
    int err = number_range_number(parser, part(text, 0, at - range->negated), limit, &range->mask);

    if (!err)
        err = number_range_number(parser, part(text, at + 1, text.length), limit, &range->low);
    if (!err && (range->low & range->mask) != range->low)
        err = rule_parser_error(parser, part(text, at + 1, text.length), "the number has bits outside of the mask");
    return err;
}

size_t number_range_separator(struct span text, size_t *length)
{
    for (size_t i = 1; i < text.length; i++) {
        *length = text.at[i] == '-' ? 1 : 2;
        if (text.at[i] == '-' || (text.at[i] == '<' && i + 1 < text.length && text.at[i + 1] == '>'))
            return i;
    }
    return 0;
}

static int parse_between(struct rule_parser *parser, struct span text, size_t separator, size_t separator_length,
                         uint64_t limit, struct number_range *range)
{
    uint64_t low = 0, high = 0;
    int err = number_range_number(parser, part(text, 0, separator), limit, &low);

    if (!err)
        err = number_range_number(parser, part(text, separator + separator_length, text.length), limit, &high);
    if (err)
        return err;
    if (high <= low || high - low == 1)
        return rule_parser_error(parser, text, "there is no number between %" PRIu64 " and %" PRIu64, low, high);
    range->low = low + 1;
    range->width = high - low - 2;
    return 0;
}

enum comparison { IS_EQUAL, IS_LESS, IS_AT_MOST, IS_MORE, IS_AT_LEAST };

static enum comparison take_comparison(struct span *text)
{
    if (number_range_skip_prefix(text, "<="))
        return IS_AT_MOST;
    if (number_range_skip_prefix(text, "<"))
        return IS_LESS;
    if (number_range_skip_prefix(text, ">="))
        return IS_AT_LEAST;
    if (number_range_skip_prefix(text, ">"))
        return IS_MORE;
    number_range_skip_prefix(text, "=");
    return IS_EQUAL;
}

static int parse_compared(struct rule_parser *parser, struct span text, uint64_t limit, struct number_range *range)
{
    struct span rest = text;
    enum comparison comparison = take_comparison(&rest);
    uint64_t number = 0;
    int err = number_range_number(parser, rest, limit, &number);

    if (err)
        return err;
    if ((comparison == IS_LESS && number == 0) || (comparison == IS_MORE && number == limit))
        return rule_parser_error(parser, text, "no number can match");
    if ((comparison == IS_AT_MOST && number == limit) || (comparison == IS_AT_LEAST && number == 0))
        return rule_parser_error(parser, text, "every number matches");
    if (comparison == IS_LESS || comparison == IS_AT_MOST) {
        range->width = number - (comparison == IS_LESS);
    } else if (comparison != IS_EQUAL) {
        range->low = number + (comparison == IS_MORE);
        range->width = limit - range->low;
    } else {
        range->low = number;
    }
    return 0;
}

static int parse_negatable(struct rule_parser *parser, struct span text, uint64_t limit,
                           const struct number_name *names, struct number_range *range)
{
    size_t separator_length;
    struct span rest = text;

    range->negated = number_range_skip_prefix(&rest, "!");
    for (; names && names->name; names++) {
        if (span_equal_nocase(rest, names->name)) {
            range->low = names->value;
            return 0;
        }
    }
    size_t separator = number_range_separator(rest, &separator_length);

    if (separator > 0)
        return parse_between(parser, rest, separator, separator_length, limit, range);
    if (range->negated && rest.length > 0 && (rest.at[0] == '<' || rest.at[0] == '>'))
        return rule_parser_error(parser, text, "'!' can't stand before '%c'", rest.at[0]);
    return parse_compared(parser, rest, limit, range);
}

int number_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                       struct number_range *out)
{
    struct number_range range = { .mask = UINT64_MAX };
    struct span rest = span_trim(text);
    int err = number_range_skip_prefix(&rest, "&") ? parse_mask(parser, rest, limit, &range)
                                                   : parse_negatable(parser, rest, limit, names, &range);

    if (!err)
        *out = range;
    return err;
}

static int add_range(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                     int (*condition)(struct rule_parser *parser, const void *data, bool negated))
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    int err = number_range_parse(parser, text, limit, names, range);

    return err ? err : condition(parser, range, false);
}

int number_range_condition(struct rule_parser *parser, struct span text, uint64_t limit,
                           const struct number_name *names)
{
    return add_range(parser, text, limit, names, rule_parser_add_packet_condition);
}

int number_range_transaction_condition(struct rule_parser *parser, struct span text, uint64_t limit,
                                       const struct number_name *names)
{
    return add_range(parser, text, limit, names, rule_parser_add_transaction_condition);
}
