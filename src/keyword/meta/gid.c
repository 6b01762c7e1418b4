/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gid:1; the generator ID, the namespace of the sid. */
#include "sluice/keyword.h"

static int gid_parse(struct rule_parser *parser, struct span value)
{
    uint64_t number;

    if (!span_to_uint(value, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, value, "'gid' needs a number from 0 to %u, got '" SPAN_FORMAT "'",
                                 (unsigned)UINT32_MAX, SPAN_ARGS(value));
    rule_parser_rule(parser)->gid = (uint32_t)number;
    return 0;
}

const struct keyword keyword_gid = {
    .name = "gid",
    .value = "NUMBER",
    .help = "generator ID, the namespace of the sid (default 1)",
    .kind = KEYWORD_META,
    .flags = KEYWORD_QUOTED | KEYWORD_ONCE,
    .parse = gid_parse,
};
