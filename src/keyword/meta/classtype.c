/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classtype:trojan-activity; a class of classification.config, which sets the category and priority of the alert. An
 * unknown class is reported once as a warning and has priority 3, as in Suricata.
 */
#include <errno.h>

#include "sluice/keyword.h"

static int classtype_parse(struct rule_parser *parser, struct span value)
{
    struct rule *rule = rule_parser_rule(parser);
    const char *name = NULL, *description = NULL;
    uint8_t priority = 0;

    if (!rule_parser_find_class(parser, value, &name, &description, &priority))
        rule_parser_warning(parser, value, "there is no class '" SPAN_FORMAT "'; its rules get priority 3",
                            SPAN_ARGS(value));
    if (!name)
        return -ENOMEM;
    if (rule->class_name) {
        rule_parser_warning(parser, value, "a second class; the one of higher priority is used");
        if (!rule->has_priority && priority >= rule->priority)
            return 0;
    }
    rule->class_name = name;
    rule->class_description = description;
    if (!rule->has_priority)
        rule->priority = priority;
    return 0;
}

const struct keyword keyword_classtype = {
    .name = "classtype",
    .value = "NAME",
    .help = "class of the rule, from classification.config; sets category and priority of the alert",
    .kind = KEYWORD_META,
    .flags = KEYWORD_QUOTED,
    .parse = classtype_parse,
};
