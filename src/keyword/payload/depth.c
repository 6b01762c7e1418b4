/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>

#include "condition.h"
#include "keyword/meta/option.h"

static int depth_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "depth");
    int64_t number;

    if (!content)
        return -EINVAL;
    if (content->has_depth)
        return rule_parser_error(parser, value, "the content has a %s already",
                                 content->starts_with ? "startswith" : "depth");
    int err = condition_check_position(parser, value, content, "depth", false);

    if (!err)
        err = option_number_or_value(parser, value, "depth", 0, UINT16_MAX, &number, &content->depth_value);
    if (err)
        return err;
    if (content->depth_value < 0 && number < content->length)
        return rule_parser_error(parser, value,
                                 "depth %" PRId64 " is less than the content's %u bytes: no match possible", number,
                                 content->length);
    content->depth = (int32_t)number;
    content->has_depth = true;
    return 0;
}

const struct keyword keyword_depth = {
    .name = "depth",
    .value = "NUMBER or VARIABLE",
    .help = "last byte of the buffer, counted from its start or from offset, at which the preceding "
            "content may end",
    .kind = KEYWORD_MODIFIER,
    .parse = depth_parse,
};
