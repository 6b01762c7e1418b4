/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/keyword.h"

static int alert_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    rule_parser_rule(parser)->alert = true;
    return 0;
}

const struct keyword keyword_alert = {
    .name = "alert",
    .help = "write an alert even if the rule's action (pass) would write none",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = alert_parse,
};
