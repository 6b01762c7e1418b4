/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "condition.h"
#include "keyword/meta/option.h"

static int distance_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "distance");
    int64_t number;

    if (!content)
        return -EINVAL;
    if (content->has_distance)
        return rule_parser_error(parser, value, "the content has a distance already");
    int err = condition_check_position(parser, value, content, "distance", true);

    if (!err)
        err =
            option_number_or_value(parser, value, "distance", INT32_MIN, INT32_MAX, &number, &content->distance_value);
    if (err)
        return err;
    content->distance = (int32_t)number;
    content->has_distance = content->relative = true;
    rule_parser_set_relative(parser);
    return 0;
}

const struct keyword keyword_distance = {
    .name = "distance",
    .value = "NUMBER or VARIABLE",
    .help = "minimum number of bytes between the end of the previous match and the preceding content",
    .manual = "A negative number allows the content to start before the end of the previous match.",
    .kind = KEYWORD_MODIFIER,
    .parse = distance_parse,
};
