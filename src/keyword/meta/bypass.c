/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bypass; once the rule matched, the rest of the flow passes without inspection. */
#include "sluice/keyword.h"

static int bypass_parse(struct rule_parser *parser, struct span value, bool negated)
{
    (void)value;
    (void)negated;
    rule_parser_rule(parser)->bypass = true;
    return 0;
}

const struct keyword keyword_bypass = {
    .name = "bypass",
    .help = "the rest of the flow passes without inspection once the rule matched",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = bypass_parse,
};
