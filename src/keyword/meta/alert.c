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
    .help = "report a match even when the action would not, such as a pass rule that alerts",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = alert_parse,
};
