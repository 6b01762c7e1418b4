/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base64_data.h"

static bool was_decoded(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next)
        for (const struct condition *c = buffer->conditions; c; c = c->next)
            if (c->keyword == &keyword_base64_decode)
                return true;
    return false;
}

static int base64_data_parse(struct rule_parser *parser, struct span value)
{
    if (!was_decoded(rule_parser_rule(parser)))
        return rule_parser_error(parser, value, "'base64_data' needs a 'base64_decode' before it");
    return rule_parser_select_buffer(parser, &keyword_base64_data);
}

const struct keyword keyword_base64_data = {
    .name = "base64_data",
    .help = "select the data that base64_decode decoded",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE | KEYWORD_NESTED,
    .parse = base64_data_parse,
};
