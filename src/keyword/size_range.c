/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "size_range.h"

#include "condition.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

static struct span after(struct span text, size_t length)
{
    return span_trim((struct span){ .at = text.at + length, .length = text.length - length });
}

static bool take(struct span *text, const char *prefix)
{
    size_t length = strlen(prefix);

    if (text->length < length || memcmp(text->at, prefix, length) != 0)
        return false;
    *text = after(*text, length);
    return true;
}

static bool parse_unit(struct span unit, unsigned *shift)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = { { "", 0 }, { "kb", 10 }, { "kib", 10 }, { "mb", 20 }, { "mib", 20 }, { "gb", 30 }, { "gib", 30 } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (span_equal_nocase(unit, units[i].name)) {
            *shift = units[i].shift;
            return true;
        }
    }
    return false;
}

static int parse_size(struct rule_parser *parser, struct span text, uint64_t limit, uint64_t *out)
{
    struct span digits = text;
    unsigned shift;

    while (digits.length > 0 && isalpha((unsigned char)digits.at[digits.length - 1]))
        digits.length--;
    if (digits.length >= 1 && digits.length < text.length && (digits.at[digits.length] | 0x20) == 'x')
        digits = text; /* hexadecimal: letters are digits, and there is no unit */
    if (!parse_unit((struct span){ .at = text.at + digits.length, .length = text.length - digits.length }, &shift) ||
        !span_to_uint(digits, 0, limit >> shift, out))
        return rule_parser_error(parser, text, "a size must be a number from 0 to %" PRIu64 ", got '" SPAN_FORMAT "'",
                                 limit, SPAN_ARGS(text));
    *out <<= shift;
    return 0;
}

/* Where the separator of LOW<>HIGH or LOW-HIGH starts, and its length; false for another form. */
static bool find_separator(struct span text, size_t *at, size_t *length)
{
    for (size_t i = 1; i < text.length; i++) {
        if (text.at[i] == '-' || (text.at[i] == '<' && i + 1 < text.length && text.at[i + 1] == '>')) {
            *at = i;
            *length = text.at[i] == '-' ? 1 : 2;
            return true;
        }
    }
    return false;
}

static int parse_between(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *range)
{
    uint64_t low = 0, high = 0;
    size_t at, length;

    if (!find_separator(text, &at, &length))
        return -ENOENT;
    if (parse_size(parser, span_trim((struct span){ .at = text.at, .length = at }), limit, &low) ||
        parse_size(parser, after(text, at + length), limit, &high))
        return -EINVAL;
    if (high <= low || high - low == 1)
        return rule_parser_error(parser, text, "no size lies between %" PRIu64 " and %" PRIu64, low, high);
    range->low = low + 1;
    range->high = high - 1;
    return 0;
}

static int parse_compared(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *range)
{
    struct span rest = text;
    bool at_least = take(&rest, ">="), at_most = !at_least && take(&rest, "<=");
    bool more = !at_least && !at_most && take(&rest, ">"), less = !at_least && !at_most && !more && take(&rest, "<");
    uint64_t number = 0;

    if (!at_least && !at_most && !more && !less)
        take(&rest, "=");
    int err = parse_size(parser, rest, limit, &number);

    if (err)
        return err;
    if ((less && number == 0) || (more && number == limit))
        return rule_parser_error(parser, text, "no size is like this");
    range->low = more ? number + 1 : less || at_most ? 0 : number;
    range->high = less ? number - 1 : more || at_least ? limit : number;
    return 0;
}

int size_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *out)
{
    struct span rest = text;
    struct size_range range = { .outside = take(&rest, "!"), .text = text };
    int err = parse_between(parser, rest, limit, &range);

    if (err == -ENOENT)
        err = parse_compared(parser, rest, limit, &range);
    if (!err)
        *out = range;
    return err;
}

int size_range_check_contents(struct rule_parser *parser, const struct size_range *range, const struct keyword *buffer)
{
    int64_t required = condition_required_bytes(parser, buffer);

    if (range->outside || required <= 0 || (uint64_t)required <= range->high)
        return 0;
    return rule_parser_error(parser, range->text, "the contents need %" PRId64 " bytes: no match possible", required);
}
