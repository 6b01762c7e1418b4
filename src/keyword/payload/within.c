/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>

#include "condition.h"
#include "keyword/meta/option.h"

static int within_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "within");
    int64_t number;

    if (!content)
        return -EINVAL;
    if (content->has_within)
        return rule_parser_error(parser, value, "the content has a within already");
    int err = condition_check_position(parser, value, content, "within", true);

    if (!err)
        err = option_number_or_value(parser, value, "within", INT32_MIN, INT32_MAX, &number, &content->within_value);
    if (err)
        return err;
    if (content->within_value < 0 && number < content->length)
        return rule_parser_error(parser, value,
                                 "within %" PRId64 " is less than the content's %u bytes: no match possible", number,
                                 content->length);
    content->within = (int32_t)number;
    content->has_within = content->relative = true;
    rule_parser_set_relative(parser);
    return 0;
}

const struct keyword keyword_within = {
    .name = "within",
    .value = "NUMBER or VARIABLE",
    .help = "maximum number of bytes from the end of the previous match, or from distance, to the end of "
            "the preceding content",
    .kind = KEYWORD_MODIFIER,
    .parse = within_parse,
};
