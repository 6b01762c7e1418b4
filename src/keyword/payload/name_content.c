/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_content.h"

#include <errno.h>
#include <string.h>

#include "condition.h"
#include "literal.h"
#include "search.h"

const char *const name_content_applications[] = { "http", "http2", "doh2", "smtp", "ftp-data",
                                                  "smb",  "nfs",   "pop3", "imap", NULL };

/* Parses the value, whose quotes are optional; without quotes it may not contain escapes. Returns 0 or -errno. */
static int parse_bytes(struct rule_parser *parser, struct span value, uint8_t **bytes, uint16_t *length)
{
    if (value.length > 0 && value.at[0] == '"')
        return literal_parse(parser, value, bytes, length);
    if (value.length == 0 || value.length >= UINT16_MAX || memchr(value.at, '|', value.length) ||
        memchr(value.at, '\\', value.length))
        return rule_parser_error(parser, value, "a value with | or \\ must be in double quotes");
    *bytes = arena_alloc(rule_parser_arena(parser), value.length);
    if (!*bytes)
        return -ENOMEM;
    memcpy(*bytes, value.at, value.length);
    *length = (uint16_t)value.length;
    return 0;
}

static int make_content(struct rule_parser *parser, struct content *content, const uint8_t *bytes, uint16_t length,
                        bool is_extension)
{
    uint8_t *copy = arena_alloc(rule_parser_arena(parser), length + 1u);
    size_t at = 0;

    if (!copy)
        return -ENOMEM;
    if (is_extension)
        copy[at++] = '.';
    for (uint16_t i = 0; i < length; i++)
        copy[at++] = search_lower(bytes[i]);
    *content = (struct content){
        .bytes = copy,
        .length = (uint16_t)at,
        .nocase = true,
        .ends_with = is_extension,
        .offset_value = -1,
        .depth_value = -1,
        .distance_value = -1,
        .within_value = -1,
    };
    return 0;
}

int name_content_parse(struct rule_parser *parser, struct span value, bool is_extension)
{
    struct content_condition *data = arena_alloc(rule_parser_arena(parser), sizeof(*data));
    const struct keyword *buffer = rule_parser_find_keyword(parser, "file.name");
    uint16_t length;
    uint8_t *bytes;

    if (!data)
        return -ENOMEM;
    if (!buffer)
        return rule_parser_error(parser, value, "this build does not support 'file.name'");
    int err = parse_bytes(parser, value, &bytes, &length);

    if (!err)
        err = make_content(parser, &data->content, bytes, length, is_extension);
    data->content.negated = rule_parser_is_negated(parser);
    if (!err)
        err = rule_parser_select_buffer(parser, NULL);
    if (!err)
        err = rule_parser_add_content_condition(parser, data, false);
    return err ? err : rule_parser_move_last_content(parser, buffer);
}
