/* SPDX-License-Identifier: GPL-2.0-or-later */
/* priority:1; from 1 (highest) to 255. It overrides the priority of the rule's class, even if classtype follows it. */
#include "sluice/keyword.h"

enum { MAX_PRIORITY = 255 };

static int priority_parse(struct rule_parser *parser, struct span value)
{
    struct rule *rule = rule_parser_rule(parser);
    uint64_t number;

    if (!span_to_uint(value, 1, MAX_PRIORITY, &number))
        return rule_parser_error(parser, value, "'priority' needs a number from 1 to %d, got '" SPAN_FORMAT "'",
                                 MAX_PRIORITY, SPAN_ARGS(value));
    if (rule->has_priority)
        rule_parser_warning(parser, value, "a second priority; the higher one is used");
    if (!rule->has_priority || number < rule->priority)
        rule->priority = (uint8_t)number;
    rule->has_priority = true;
    return 0;
}

const struct keyword keyword_priority = {
    .name = "priority",
    .value = "NUMBER",
    .help = "priority from 1 (highest) to 255; overrides the priority of the class",
    .kind = KEYWORD_META,
    .flags = KEYWORD_QUOTED,
    .parse = priority_parse,
};
