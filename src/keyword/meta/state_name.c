/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state_name.h"

#include <ctype.h>
#include <errno.h>

int state_name_number(struct rule_parser *parser, enum rule_name_kind kind, struct span name, unsigned use,
                      uint32_t *out)
{
    if (name.length == 0)
        return rule_parser_error(parser, name, "a name is missing");
    for (size_t i = 0; i < name.length; i++) {
        if (isspace((unsigned char)name.at[i]))
            return rule_parser_error(parser, (struct span){ name.at + i, 1 }, "a name can't have spaces");
    }
    uint32_t number = rule_parser_state(parser, kind, name, use);

    if (number == 0)
        return -ENOMEM;
    *out = number;
    return 0;
}
