/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "condition.h"

static int rawbytes_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "rawbytes");

    if (!content)
        return -EINVAL;
    if (content->rawbytes)
        return rule_parser_error(parser, value, "the content has a rawbytes already");
    if (rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "'rawbytes' is for the payload, not for the buffer '%s'",
                                 rule_parser_current_buffer(parser)->name);
    content->rawbytes = true;
    return 0;
}

const struct keyword keyword_rawbytes = {
    .name = "rawbytes",
    .help = "search the unmodified payload, which content does anyway; accepted for compatibility with "
            "Snort",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = rawbytes_parse,
};
