/* SPDX-License-Identifier: GPL-2.0-or-later */
/* threshold:type limit, track by_src, count 1, seconds 60; or type backoff, track by_flow, count 1, multiplier 10; */
#include "sluice/keyword.h"

static int threshold_parse(struct rule_parser *parser, struct span value)
{
    struct threshold threshold;
    int err;

    /* As in Suricata, a second threshold or detection_filter is accepted while a buffer is selected, because published
     * rules have one. Both must then be satisfied. */
    if (rule_parser_rule(parser)->thresholds && !rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "a rule can have only one threshold or detection_filter");
    err = rule_parser_threshold(parser, value, THRESHOLD_FORM_KEYWORD, &threshold);
    return err ? err : rule_parser_add_threshold(parser, &threshold);
}

const struct keyword keyword_threshold = {
    .name = "threshold",
    .value =
        "type limit|threshold|both|backoff, track by_src|by_dst|by_both|by_rule|by_flow, count N, seconds|multiplier N",
    .help = "limit on how often the rule alerts",
    .kind = KEYWORD_META,
    .parse = threshold_parse,
};
