/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target:src_ip; the side of the rule that is the target of the attack. */
#include "sluice/keyword.h"

static int target_parse(struct rule_parser *parser, struct span value)
{
    struct rule *rule = rule_parser_rule(parser);
    enum target target;

    if (span_equal_nocase(value, "src_ip"))
        target = TARGET_SOURCE;
    else if (span_equal_nocase(value, "dest_ip"))
        target = TARGET_DESTINATION;
    else
        return rule_parser_error(parser, value, "'target' is src_ip or dest_ip, not '" SPAN_FORMAT "'",
                                 SPAN_ARGS(value));
    if (rule->target != TARGET_NONE && rule->target != target)
        return rule_parser_error(parser, value, "a rule can't have two different targets");
    rule->target = target;
    return 0;
}

const struct keyword keyword_target = {
    .name = "target",
    .value = "src_ip|dest_ip",
    .help = "side of the rule that is the target of the attack",
    .kind = KEYWORD_META,
    .parse = target_parse,
};
