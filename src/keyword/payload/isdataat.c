/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isdataat: matches if the buffer has data at a position. As in Suricata, the two forms count differently: an absolute
 * N requires that the byte at offset N exist (counted from 0), a relative N that at least N bytes follow the previous
 * match.
 */
#include <errno.h>

#include "condition.h"
#include "keyword/meta/option.h"

enum { ISDATAAT_MAX_VALUE = 100000000 }; /* maximum of N; no buffer is that long */

struct isdataat {
    uint32_t number;
    int8_t value; /* index in inspection.values of the variable to use instead of `number`; -1: none */
    bool negated, relative;
};

static enum inspect_result isdataat_inspect(struct inspection *in, const struct condition *condition,
                                            struct inspect_retry *retry)
{
    const struct isdataat *data = condition->data;
    uint64_t number = data->value >= 0 ? in->values[data->value] : data->number;
    bool holds;

    (void)retry;
    if (number >= ISDATAAT_MAX_VALUE)
        holds = false;
    else if (data->relative)
        holds = in->at + number <= in->length;
    else
        holds = number < in->length;
    if (holds != data->negated)
        return INSPECT_YES;
    if (data->value >= 0 || (data->relative && data->negated))
        return INSPECT_NO;
    return INSPECT_NEVER;
}

static bool isdataat_by_place(const struct condition *condition)
{
    const struct isdataat *data = condition->data;

    return data->value < 0;
}

static int isdataat_parse(struct rule_parser *parser, struct span value)
{
    struct isdataat data = { .negated = rule_parser_is_negated(parser) };
    struct span rest = value, first;
    struct content *content = NULL;
    int64_t number = 0;

    if (!span_next(&rest, ',', &first))
        first = value;
    int err = option_number_or_value(parser, first, "the number of bytes", 0, UINT16_MAX, &number, &data.value);

    if (err)
        return err;
    for (struct span part; span_next(&rest, ',', &part);) {
        if (span_equal(part, "relative"))
            data.relative = true;
        else if (!span_equal(part, "rawbytes"))
            return rule_parser_error(parser, part, "isdataat takes a number, 'relative' and 'rawbytes'");
    }
    data.number = (uint32_t)number;
    /* content:"x"; isdataat:!1,relative; is an old way to write endswith. */
    if (data.negated && data.relative && data.value < 0 && data.number == 1)
        content = condition_content_before(parser);
    if (content) {
        content->ends_with = true;
        return 0;
    }
    const void *copy = arena_copy(rule_parser_arena(parser), &data, sizeof(data));

    if (!copy)
        return -ENOMEM;
    return rule_parser_add_content_condition(parser, copy, data.relative && rule_parser_has_previous(parser));
}

const struct keyword keyword_isdataat = {
    .name = "isdataat",
    .value = "[!]NUMBER or VARIABLE[,relative][,rawbytes]",
    .help = "data exists at this byte of the buffer or, with relative, at least NUMBER bytes after the "
            "previous match",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .parse = isdataat_parse,
    .content = { .inspect = isdataat_inspect },
    .hints = &(const struct prefilter_hints){ .decided_by_place = isdataat_by_place },
};
