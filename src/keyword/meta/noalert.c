/* SPDX-License-Identifier: GPL-2.0-or-later */
/* noalert; the rule takes effect without an alert. */
#include "sluice/keyword.h"

static int noalert_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    rule_parser_rule(parser)->noalert = true;
    return 0;
}

const struct keyword keyword_noalert = {
    .name = "noalert",
    .help = "apply the rule without an alert",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = noalert_parse,
};
