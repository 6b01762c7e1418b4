/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "condition.h"
#include "search.h"

/* Sets nocase and converts the bytes of the content to lower case, as search_first() requires. */
static int nocase_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "nocase");

    if (!content)
        return -EINVAL;
    if (content->nocase)
        return rule_parser_error(parser, value, "the content has a nocase already");
    uint8_t *bytes = (uint8_t *)content->bytes;

    for (uint16_t i = 0; i < content->length; i++)
        bytes[i] = search_lower(bytes[i]);
    content->nocase = true;
    return 0;
}

const struct keyword keyword_nocase = {
    .name = "nocase",
    .help = "match the preceding content case-insensitively",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_NO_VALUE,
    .parse = nocase_parse,
};
