/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "size_range.h"

static enum inspect_result bsize_inspect(struct inspection *in, const struct condition *condition,
                                         struct inspect_retry *retry)
{
    (void)retry;
    return size_range_has(condition->data, in->length) ? INSPECT_YES : INSPECT_NEVER;
}

static int bsize_parse(struct rule_parser *parser, struct span value)
{
    struct size_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));

    if (!range)
        return -ENOMEM;
    if (!rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "'bsize' needs a buffer before it; the payload's size is dsize");
    int err = size_range_parse(parser, value, UINT64_MAX, range);

    return err ? err : rule_parser_add_content_condition(parser, range, false);
}

static int bsize_finish(struct rule_parser *parser, const struct condition *condition)
{
    return size_range_check_contents(parser, condition->data, condition);
}

const struct keyword keyword_bsize = {
    .name = "bsize",
    .value = "[<|>|<=|>=|!]NUMBER or LOW<>HIGH",
    .help = "size of the buffer in bytes",
    .manual = "LOW<>HIGH excludes both limits.",
    .kind = KEYWORD_CONTENT,
    .parse = bsize_parse,
    .finish = bsize_finish,
    .content = { .inspect = bsize_inspect },
    .hints = &(const struct prefilter_hints){ .decided_by_size = true },
};
