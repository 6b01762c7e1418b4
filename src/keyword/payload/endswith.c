/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "condition.h"

static int endswith_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "endswith");

    if (!content)
        return -EINVAL;
    content->ends_with = true;
    return 0;
}

const struct keyword keyword_endswith = {
    .name = "endswith",
    .help = "require the preceding content to match at the end of the buffer",
    .manual = "A negated content with endswith matches unless its first occurrence is at the end of the buffer; "
              "later occurrences are not considered.",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = endswith_parse,
};
