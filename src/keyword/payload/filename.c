/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_content.h"

static int filename_parse(struct rule_parser *parser, struct span value)
{
    return name_content_parse(parser, value, false);
}

const struct keyword keyword_filename = {
    .name = "filename",
    .value = "[!]\"TEXT\"",
    .help = "text in the file's name, case-insensitive",
    .manual = "filename:\"secret\" is a shorthand for file.name; content:\"secret\"; nocase;",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .scope = { name_content_applications, 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT },
    .parse = filename_parse,
    .finish = content_finish,
    .content = { .inspect = content_inspect, .is_literal = true },
};
