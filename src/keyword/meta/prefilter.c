/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/keyword.h"

static int prefilter_parse(struct rule_parser *parser, struct span value)
{
    (void)parser;
    (void)value;
    return 0;
}

const struct keyword keyword_prefilter = {
    .name = "prefilter",
    .help = "use the preceding keyword for prefiltering; accepted and ignored, Sluice chooses "
            "automatically",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = prefilter_parse,
};
