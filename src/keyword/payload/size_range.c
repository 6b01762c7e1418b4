/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "size_range.h"

#include "condition.h"
#include "sluice/number_range.h"

#include <errno.h>
#include <inttypes.h>

static int parse_between(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *range)
{
    uint64_t low = 0, high = 0;
    size_t length, at = number_range_separator(text, &length);

    if (at == 0)
        return -ENOENT;
    struct span first = span_trim((struct span){ .at = text.at, .length = at });
    struct span second = span_trim((struct span){ .at = text.at + at + length, .length = text.length - at - length });

    if (number_range_number(parser, first, limit, &low) || number_range_number(parser, second, limit, &high))
        return -EINVAL;
    if (high <= low || high - low == 1)
        return rule_parser_error(parser, text,
                                 "no size can match: the bounds are exclusive, and there is none between %" PRIu64
                                 " and %" PRIu64,
                                 low, high);
    range->low = low + 1;
    range->high = high - 1;
    return 0;
}

static int parse_compared(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *range)
{
    struct span rest = text;
    bool at_least = number_range_skip_prefix(&rest, ">="), at_most = !at_least && number_range_skip_prefix(&rest, "<=");
    bool more = !at_least && !at_most && number_range_skip_prefix(&rest, ">"),
         less = !at_least && !at_most && !more && number_range_skip_prefix(&rest, "<");
    uint64_t number = 0;

    if (!at_least && !at_most && !more && !less)
        number_range_skip_prefix(&rest, "=");
    int err = number_range_number(parser, rest, limit, &number);

    if (err)
        return err;
    if ((less && number == 0) || (more && number == limit))
        return rule_parser_error(parser, text, "no size can match this comparison");
    range->low = more ? number + 1 : less || at_most ? 0 : number;
    range->high = less ? number - 1 : more || at_least ? limit : number;
    return 0;
}

int size_range_parse(struct rule_parser *parser, struct span text, uint64_t limit, struct size_range *out)
{
    struct span rest = text;
    struct size_range range = { .outside = number_range_skip_prefix(&rest, "!"), .text = text };
    int err = parse_between(parser, rest, limit, &range);

    if (err == -ENOENT)
        err = parse_compared(parser, rest, limit, &range);
    if (!err)
        *out = range;
    return err;
}

int size_range_check_contents(struct rule_parser *parser, const struct size_range *range,
                              const struct condition *condition)
{
    int64_t required = condition_required_bytes(parser, condition);

    if (range->outside || required <= 0 || (uint64_t)required <= range->high)
        return 0;
    return rule_parser_error(parser, range->text, "the contents need %" PRId64 " bytes: no match possible", required);
}
