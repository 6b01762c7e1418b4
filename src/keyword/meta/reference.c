/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reference:url,example.com/page; further information about the rule. reference.config defines the prefix of a system.
 */
#include <errno.h>

#include "sluice/keyword.h"

static int reference_parse(struct rule_parser *parser, struct span value)
{
    struct arena *arena = rule_parser_text_arena(parser);
    struct span rest = value, system = { 0 }, id;
    struct reference **link = &rule_parser_rule(parser)->references;
    struct reference *reference;

    span_next(&rest, ',', &system);
    id = span_trim(rest);
    if (system.length == 0 || id.length == 0)
        return rule_parser_error(parser, value, "'reference' needs a system and an id: url,example.com");
    reference = arena_alloc(arena, sizeof(*reference));
    if (!reference)
        return -ENOMEM;
    if (!rule_parser_find_reference(parser, system, &reference->system, &reference->prefix))
        rule_parser_warning(parser, system,
                            "there is no reference system '" SPAN_FORMAT "'; its references have no prefix",
                            SPAN_ARGS(system));
    reference->id = arena_strndup(arena, id.at, id.length);
    if (!reference->system || !reference->id)
        return -ENOMEM;
    while (*link)
        link = &(*link)->next;
    *link = reference;
    return 0;
}

const struct keyword keyword_reference = {
    .name = "reference",
    .value = "SYSTEM,ID",
    .help = "source of further information about the rule",
    .kind = KEYWORD_META,
    .parse = reference_parse,
};
