/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rev:3; among rules with the same gid and sid the one with the highest revision is used. */
#include "sluice/keyword.h"

static int rev_parse(struct rule_parser *parser, struct span value)
{
    uint64_t number;

    if (!span_to_uint(value, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, value, "'rev' needs a number from 0 to %u, got '" SPAN_FORMAT "'",
                                 (unsigned)UINT32_MAX, SPAN_ARGS(value));
    rule_parser_rule(parser)->revision = (uint32_t)number;
    return 0;
}

const struct keyword keyword_rev = {
    .name = "rev",
    .value = "NUMBER",
    .help = "revision of the rule; the highest revision of a sid is used",
    .kind = KEYWORD_META,
    .flags = KEYWORD_QUOTED | KEYWORD_ONCE,
    .parse = rev_parse,
};
