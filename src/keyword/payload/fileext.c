/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_content.h"

static int fileext_parse(struct rule_parser *parser, struct span value, bool negated)
{
    return name_content_parse(parser, value, negated, true);
}

const struct keyword keyword_fileext = {
    .name = "fileext",
    .value = "[!]\"TEXT\"",
    .help = "extension of the file's name, case-insensitive",
    .manual = "fileext:\"jpg\" is a shorthand for file.name; content:\".jpg\"; nocase; endswith;",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .applications = name_content_applications,
    .directions = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT,
    .parse = fileext_parse,
    .inspect = name_content_inspect,
    .literal = name_content_literal,
    .finish = name_content_finish,
};
