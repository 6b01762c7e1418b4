/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "file_digest.h"
#include "name_content.h"

static int filesha256_parse(struct rule_parser *parser, struct span value)
{
    return file_digest_parse(parser, value, FILE_SHA256);
}

const struct keyword keyword_filesha256 = {
    .name = "filesha256",
    .value = "[!]FILE",
    .help = "SHA-256 digest of the file is listed in FILE",
    .manual = FILE_DIGEST_MANUAL,
    .kind = KEYWORD_FILE,
    .flags = KEYWORD_NEGATABLE | KEYWORD_QUOTED,
    .scope = { name_content_applications, 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT },
    .parse = filesha256_parse,
    .file = { .match = file_digest_match },
};
