/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text_content.h"

#include <errno.h>
#include <string.h>

#include "literal.h"

int text_content_parse(struct rule_parser *parser, enum rule_name_kind kind, struct span value)
{
    struct text_content *want = arena_alloc(rule_parser_arena(parser), sizeof(*want));
    struct span name = value, content;
    const char *comma = memchr(value.at, ',', value.length);
    uint8_t *bytes;
    int err;

    if (!want)
        return -ENOMEM;
    if (!comma)
        return rule_parser_error(parser, value, "'%s' needs NAME,\"CONTENT\"", rule_parser_keyword(parser)->name);
    name = span_trim((struct span){ .at = value.at, .length = (size_t)(comma - value.at) });
    content = span_trim((struct span){ .at = comma + 1, .length = value.length - (size_t)(comma - value.at) - 1 });
    if (name.length == 0)
        return rule_parser_error(parser, value, "'%s' needs a name before the comma",
                                 rule_parser_keyword(parser)->name);
    err = literal_parse(parser, content, &bytes, &want->length);
    if (err)
        return err;
    want->bytes = bytes;
    want->number = rule_parser_state(parser, kind, name, RULE_STATE_READS);
    return want->number == 0 ? -ENOMEM : rule_parser_add_packet_condition(parser, want, false);
}

bool text_content_is_in(const struct text_content *want, const uint8_t *text, uint32_t length)
{
    return text && memmem(text, length, want->bytes, want->length) != NULL;
}
