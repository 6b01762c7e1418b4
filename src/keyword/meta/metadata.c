/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metadata:key value, key value; stored for the alert, not interpreted. */
#include <errno.h>

#include "sluice/keyword.h"

static int metadata_parse(struct rule_parser *parser, struct span value)
{
    const struct metadata option = { .text = value };
    struct metadata_position position = { .next = &option };
    struct metadata **tail = &rule_parser_rule(parser)->metadata;
    struct span key, first;

    if (!rule_metadata_next(&position, &key, &first))
        return 0;
    while (*tail)
        tail = &(*tail)->next;
    *tail = arena_copy(rule_parser_text_arena(parser), &option, sizeof(option));
    return *tail ? 0 : -ENOMEM;
}

const struct keyword keyword_metadata = {
    .name = "metadata",
    .value = "KEY VALUE[, KEY VALUE]...",
    .help = "key-value pairs that are logged with the alert",
    .kind = KEYWORD_META,
    .parse = metadata_parse,
};
