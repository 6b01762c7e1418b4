/* SPDX-License-Identifier: GPL-2.0-or-later */
/* requires:version >= 7.0.4 < 8, feature geoip; src/rule/requires.c evaluates the requirements before the rule is
 * parsed, so they are met here. */
#include "sluice/keyword.h"
#include "sluice/rule.h"

static int requires_parse(struct rule_parser *parser, struct span value)
{
    (void)parser;
    (void)value;
    return 0;
}

const struct keyword keyword_requires = {
    .name = "requires",
    .value = "version >= V [< V] [| ...], feature NAME, keyword NAME",
    .help = "skip the rule, without an error, unless the version, feature and keyword are there",
    .manual =
        "Versions are compared with " RULE_SURICATA_VERSION ", the version of Suricata whose rules Sluice "
        "implements. Comparisons side by side must all be true, of alternatives between '|' one. Features: geoip, "
        "ja3, ja4, lua and output::file-store, if Sluice has the keyword of the feature. An unknown requirement "
        "is not met. Skipped rules are counted in rules_skipped.",
    .kind = KEYWORD_META,
    .parse = requires_parse,
};
