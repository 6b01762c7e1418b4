/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

int checksum_parse(struct rule_parser *parser, struct span value)
{
    static const bool valid = true, invalid = false;

    if (span_equal_nocase(value, "valid"))
        return rule_parser_add_packet_condition(parser, &valid, false);
    if (span_equal_nocase(value, "invalid"))
        return rule_parser_add_packet_condition(parser, &invalid, false);
    return rule_parser_error(parser, value, "expected 'valid' or 'invalid', got '" SPAN_FORMAT "'", SPAN_ARGS(value));
}
