/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "condition.h"

static int startswith_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "startswith");

    if (!content)
        return -EINVAL;
    if (content->has_depth || content->has_offset)
        return rule_parser_error(parser, value, "'startswith' can't be used with offset, depth or another startswith");
    int err = condition_check_position(parser, value, content, "startswith", false);

    if (err)
        return err;
    content->depth = content->length;
    content->has_depth = content->starts_with = true;
    return 0;
}

const struct keyword keyword_startswith = {
    .name = "startswith",
    .help = "require the preceding content to match at the start of the buffer",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = startswith_parse,
};
