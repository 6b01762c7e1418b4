/* SPDX-License-Identifier: GPL-2.0-or-later */
/* detection_filter:track by_src, count 30, seconds 60; the first 30 matches in 60 seconds have no effect at all, not
 * even a drop. */
#include "sluice/keyword.h"

static int detection_filter_parse(struct rule_parser *parser, struct span value)
{
    struct threshold threshold;
    int err;

    /* As in Suricata, a second threshold or detection_filter is accepted while a buffer is selected, because published
     * rules have one. Both must then be satisfied. */
    if (rule_parser_rule(parser)->thresholds && !rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "a rule can have only one threshold or detection_filter");
    err = rule_parser_threshold(parser, value, THRESHOLD_FORM_DETECTION, &threshold);
    return err ? err : rule_parser_add_threshold(parser, &threshold);
}

const struct keyword keyword_detection_filter = {
    .name = "detection_filter",
    .value = "track by_src|by_dst|by_both|by_rule|by_flow, count N, seconds N[, unique_on src_port|dst_port]",
    .help = "match only after COUNT matches within SECONDS; earlier matches have no effect",
    .kind = KEYWORD_META,
    .parse = detection_filter_parse,
};
