/* SPDX-License-Identifier: GPL-2.0-or-later */
/* msg:"text"; the text of the alert. Backslashes that escape special characters are removed. */
#include <errno.h>

#include "sluice/keyword.h"

static int msg_parse(struct rule_parser *parser, struct span value)
{
    char *text = arena_alloc(rule_parser_text_arena(parser), value.length + 1);
    size_t length = 0;

    if (!text)
        return -ENOMEM;
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] == '\\' && i + 1 < value.length)
            i++;
        text[length++] = value.at[i];
    }
    rule_parser_rule(parser)->message = text;
    return 0;
}

const struct keyword keyword_msg = {
    .name = "msg",
    .value = "\"TEXT\"",
    .help = "text of the alert",
    .kind = KEYWORD_META,
    .flags = KEYWORD_QUOTED | KEYWORD_QUOTES_REQUIRED | KEYWORD_ONCE,
    .parse = msg_parse,
};
