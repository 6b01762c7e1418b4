/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bypass; when the rule has matched, the rest of the flow is not inspected. */
#include "sluice/keyword.h"

static int bypass_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    rule_parser_rule(parser)->bypass = true;
    return 0;
}

const struct keyword keyword_bypass = {
    .name = "bypass",
    .help = "exclude the rest of the flow from inspection once the rule has matched",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = bypass_parse,
};
