/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_content.h"

static int fileext_parse(struct rule_parser *parser, struct span value)
{
    return name_content_parse(parser, value, true);
}

const struct keyword keyword_fileext = {
    .name = "fileext",
    .value = "[!]\"TEXT\"",
    .help = "extension of the file's name, case-insensitive",
    .manual = "fileext:\"jpg\" is a shorthand for file.name; content:\".jpg\"; nocase; endswith;",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .scope = { name_content_applications, 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT },
    .parse = fileext_parse,
    .finish = content_finish,
    .content = { .inspect = content_inspect, .is_literal = true },
};
