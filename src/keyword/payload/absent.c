/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/keyword.h"

static int absent_parse(struct rule_parser *parser, struct span value)
{
    if (value.length > 0 && !span_equal(value, "or_else"))
        return rule_parser_error(parser, value, "absent takes nothing or 'or_else', got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(value));
    return rule_parser_set_absent(parser, value.length > 0);
}

const struct keyword keyword_absent = {
    .name = "absent",
    .value = "[or_else]",
    .help = "matches when the buffer does not exist; with or_else, also when it exists and its conditions "
            "match",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = absent_parse,
};
