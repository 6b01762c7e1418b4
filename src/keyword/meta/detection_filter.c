/* SPDX-License-Identifier: GPL-2.0-or-later */
/* detection_filter:track by_src, count 30, seconds 60; below that the rule does nothing at all, not even drop. */
#include "sluice/keyword.h"

static int detection_filter_parse(struct rule_parser *parser, struct span value, bool negated)
{
    struct threshold threshold;
    int err;

    (void)negated;
    /* As in the field, where rules in use have two: while a buffer is selected that is no mistake, and both must let it
     * pass. */
    if (rule_parser_rule(parser)->thresholds && !rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "a rule can have only one threshold or detection_filter");
    err = rule_parser_threshold(parser, value, THRESHOLD_FORM_DETECTION, &threshold);
    return err ? err : rule_parser_add_threshold(parser, &threshold);
}

const struct keyword keyword_detection_filter = {
    .name = "detection_filter",
    .value = "track by_src|by_dst|by_both|by_rule|by_flow, count N, seconds N[, unique_on src_port|dst_port]",
    .help = "the rule matches only past the first count times within the seconds",
    .kind = KEYWORD_META,
    .parse = detection_filter_parse,
};
