/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>

#include "netfilter.h"

static int parse_number(struct rule_parser *parser, struct span text, const char *what, uint32_t *out)
{
    uint64_t number;

    if (!span_to_uint(text, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, text, "%s must be a number of 32 bits such as 0x10, got '" SPAN_FORMAT "'",
                                 what, SPAN_ARGS(text));
    *out = (uint32_t)number;
    return 0;
}

int mark_bits_parse(struct rule_parser *parser, struct span text, bool mask_required, struct mark_bits *out)
{
    struct mark_bits bits = { .mask = UINT32_MAX };
    struct span rest = text, value;
    int err;

    span_next(&rest, '/', &value);
    if (!rest.at && mask_required)
        return rule_parser_error(parser, text, "expected VALUE/MASK such as 0x10/0xff, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(text));
    err = parse_number(parser, value, "the mark", &bits.value);
    if (!err && rest.at)
        err = parse_number(parser, span_trim(rest), "the mask", &bits.mask);
    if (!err)
        *out = bits;
    return err;
}

int mark_bits_condition(struct rule_parser *parser, struct span value)
{
    struct mark_bits *bits = arena_alloc(rule_parser_arena(parser), sizeof(*bits));
    int err;

    if (!bits)
        return -ENOMEM;
    err = mark_bits_parse(parser, value, false, bits);
    if (err)
        return err;
    if (bits->value & ~bits->mask)
        return rule_parser_error(parser, value, "0x%" PRIx32 " has bits outside its mask 0x%" PRIx32 ": never equal",
                                 bits->value, bits->mask);
    bits->negated = rule_parser_is_negated(parser);
    return rule_parser_add_packet_condition(parser, bits, false);
}
