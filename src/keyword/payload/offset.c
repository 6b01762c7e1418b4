/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "condition.h"
#include "keyword/meta/option.h"

static int offset_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "offset");
    int64_t number;

    if (!content)
        return -EINVAL;
    if (content->has_offset)
        return rule_parser_error(parser, value, "the content has an offset already");
    if (content->starts_with)
        return rule_parser_error(parser, value, "'offset' can't be used with startswith for the same content");
    int err = condition_check_position(parser, value, content, "offset", false);

    if (!err)
        err = option_number_or_value(parser, value, "offset", 0, UINT16_MAX, &number, &content->offset_value);
    if (err)
        return err;
    content->offset = (int32_t)number;
    content->has_offset = true;
    return 0;
}

const struct keyword keyword_offset = {
    .name = "offset",
    .value = "NUMBER or VARIABLE",
    .help = "first byte of the buffer, counted from 0, at which the preceding content may start",
    .kind = KEYWORD_MODIFIER,
    .parse = offset_parse,
};
