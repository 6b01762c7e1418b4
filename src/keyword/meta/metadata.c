/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metadata:key value, key value; stored for the alert, not interpreted. As in Suricata, a key without a value is
 * ignored. */
#include <errno.h>

#include "sluice/keyword.h"

static int add_pair(struct rule_parser *parser, struct span pair, struct metadata ***tail)
{
    struct arena *arena = rule_parser_arena(parser);
    struct metadata *metadata = arena_alloc(arena, sizeof(*metadata));
    struct span key = pair, value;

    for (key.length = 0; key.length < pair.length; key.length++) {
        if (pair.at[key.length] == ' ' || pair.at[key.length] == '\t')
            break;
    }
    value = span_trim((struct span){ pair.at + key.length, pair.length - key.length });
    if (value.length == 0)
        return 0;
    if (!metadata)
        return -ENOMEM;
    metadata->key = arena_strndup(arena, key.at, key.length);
    metadata->value = arena_strndup(arena, value.at, value.length);
    if (!metadata->key || !metadata->value)
        return -ENOMEM;
    **tail = metadata;
    *tail = &metadata->next;
    return 0;
}

static int metadata_parse(struct rule_parser *parser, struct span value)
{
    struct metadata **tail = &rule_parser_rule(parser)->metadata;
    struct span rest = value, pair;

    while (*tail)
        tail = &(*tail)->next;
    while (span_next(&rest, ',', &pair)) {
        if (pair.length > 0 && add_pair(parser, pair, &tail))
            return -ENOMEM;
    }
    return 0;
}

const struct keyword keyword_metadata = {
    .name = "metadata",
    .value = "KEY VALUE[, KEY VALUE]...",
    .help = "key-value pairs that are logged with the alert",
    .kind = KEYWORD_META,
    .parse = metadata_parse,
};
