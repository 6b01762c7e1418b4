/* SPDX-License-Identifier: GPL-2.0-or-later */
/* filemagic:"PDF document"; matches if libmagic's description of the file contains the text, ignoring case. */
#include <errno.h>
#include <string.h>

#include "literal.h"
#include "name_content.h"
#include "search.h"
#include "sluice/file.h"

/* Evaluates the condition. As in Suricata, a file without a description never matches, even if the condition is
 * negated. */
static enum file_match filemagic_match(const struct file *file, const void *data)
{
    const struct content *content = data;

    if (!file->magic)
        return file->magic_done || file->state != FILE_OPEN ? FILE_MATCH_NO : FILE_MATCH_LATER;
    /* The description is searched with its terminating NUL, so that a rule can require a match at the end. */
    bool found = search_first(content, (const uint8_t *)file->magic, strlen(file->magic) + 1) != NULL;

    return found != content->negated ? FILE_MATCH_YES : FILE_MATCH_NO;
}

static int filemagic_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = arena_alloc(rule_parser_arena(parser), sizeof(*content));
    uint8_t *bytes;
    uint16_t length;

    if (!content)
        return -ENOMEM;
    int err = literal_parse(parser, value, &bytes, &length);

    if (err)
        return err;
    for (uint16_t i = 0; i < length; i++)
        bytes[i] = search_lower(bytes[i]);
    *content =
        (struct content){ .bytes = bytes, .length = length, .nocase = true, .negated = rule_parser_is_negated(parser) };
    rule_parser_rule(parser)->file_needs |= RULE_FILE_MAGIC;
    return rule_parser_add_file_condition(parser, content, false);
}

const struct keyword keyword_filemagic = {
    .name = "filemagic",
    .value = "[!]\"TEXT\"",
    .help = "text in the file type reported by libmagic, case-insensitive",
    .manual = "libmagic examines each file once, after its first 4096 bytes or when it is complete.",
    .kind = KEYWORD_FILE,
    .flags = KEYWORD_NEGATABLE,
    .scope = { name_content_applications, 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT },
    .parse = filemagic_parse,
    .file = { .match = filemagic_match },
};
