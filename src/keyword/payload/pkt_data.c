/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "sluice/keyword.h"

static int pkt_data_parse(struct rule_parser *parser, struct span value)
{
    (void)value;
    return rule_parser_select_buffer(parser, NULL);
}

const struct keyword keyword_pkt_data = {
    .name = "pkt_data",
    .help = "select the payload again for the conditions that follow",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_NO_VALUE,
    .parse = pkt_data_parse,
};
