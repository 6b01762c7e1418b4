/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sid:2000001; the signature ID, required in every rule. */
#include "sluice/keyword.h"

static int sid_parse(struct rule_parser *parser, struct span value)
{
    uint64_t number;

    if (!span_to_uint(value, 1, UINT32_MAX, &number))
        return rule_parser_error(parser, value, "'sid' needs a number from 1 to %u, got '" SPAN_FORMAT "'",
                                 (unsigned)UINT32_MAX, SPAN_ARGS(value));
    rule_parser_rule(parser)->sid = (uint32_t)number;
    return 0;
}

const struct keyword keyword_sid = {
    .name = "sid",
    .value = "NUMBER",
    .help = "signature ID, unique within its gid",
    .kind = KEYWORD_META,
    .flags = KEYWORD_QUOTED | KEYWORD_ONCE,
    .parse = sid_parse,
};
