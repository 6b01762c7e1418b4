/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/keyword.h"

static int prefilter_parse(struct rule_parser *parser, struct span value, bool negated)
{
    (void)parser;
    (void)value;
    (void)negated;
    return 0;
}

const struct keyword keyword_prefilter = {
    .name = "prefilter",
    .help = "a hint to look at the keyword before it first; Sluice chooses by itself",
    .kind = KEYWORD_META,
    .flags = KEYWORD_NO_VALUE,
    .parse = prefilter_parse,
};
