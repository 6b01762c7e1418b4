/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "transform.h"

int transform_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_add_transform(parser, NULL);
}
