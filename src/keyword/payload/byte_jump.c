/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "byte_source.h"

enum jump_origin { JUMP_FROM_NUMBER, JUMP_FROM_BEGINNING, JUMP_FROM_END };

struct byte_jump {
    struct byte_source source; /* must come first, see byte_source.h */
    enum jump_origin origin;
    bool align, has_mask;
    uint8_t shift;
    uint16_t multiplier;
    uint32_t mask;
    int32_t post_offset;
};

/* Returns the position in the buffer to jump to, which may be outside of it. As in Suricata the sums wrap at 64 bits,
 * so a huge number is a jump backwards. */
static int64_t target(const struct inspection *in, const struct byte_jump *data, const struct byte_number *number)
{
    uint64_t value = data->has_mask ? (number->value & data->mask) >> data->shift : number->value;
    uint64_t distance = value * data->multiplier;

    if (data->align && distance % 4 != 0)
        distance += 4 - distance % 4;
    distance += (uint64_t)(int64_t)data->post_offset;
    if (data->origin == JUMP_FROM_END)
        distance += in->length;
    else if (data->origin == JUMP_FROM_NUMBER)
        distance += (uint64_t)number->at + number->taken;
    return (int64_t)distance;
}

static enum inspect_result byte_jump_inspect(struct inspection *in, const struct condition *condition,
                                             struct inspect_retry *retry)
{
    const struct byte_jump *data = condition->data;
    struct byte_number number;

    (void)retry;
    if (!byte_source_read(in, &data->source, &number))
        return INSPECT_NO;
    int64_t to = target(in, data, &number);

    if (to > in->length)
        return INSPECT_NO;
    in->at = to < 0 ? 0 : (uint32_t)to; /* a jump to a position before the buffer goes to its start */
    return INSPECT_YES;
}

static bool byte_jump_by_place(const struct condition *condition)
{
    const struct byte_jump *data = condition->data;

    return byte_source_is_constant(&data->source);
}

static int set_origin(struct rule_parser *parser, struct span value, void *data, int origin)
{
    struct byte_jump *jump = data;

    if (jump->origin != JUMP_FROM_NUMBER && jump->origin != (enum jump_origin)origin)
        return rule_parser_error(parser, value, "'from_beginning' and 'from_end' exclude each other");
    jump->origin = (enum jump_origin)origin;
    return 0;
}

static int set_align(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_jump *jump = data;

    (void)parser, (void)value, (void)unused;
    jump->align = true;
    return 0;
}

static int set_multiplier(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_jump *jump = data;
    int64_t number;
    int err = option_number(parser, value, "the multiplier", 1, UINT16_MAX, &number);

    (void)unused;
    if (!err)
        jump->multiplier = (uint16_t)number;
    return err;
}

static int set_mask(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_jump *jump = data;

    (void)unused;
    jump->has_mask = true;
    return byte_source_mask(parser, value, false, &jump->mask, &jump->shift);
}

static int set_post_offset(struct rule_parser *parser, struct span value, void *data, int unused)
{
    struct byte_jump *jump = data;
    int64_t number;
    int err = option_number(parser, value, "post_offset", -UINT16_MAX, UINT16_MAX, &number);

    (void)unused;
    if (!err)
        jump->post_offset = (int32_t)number;
    return err;
}

static const struct option options[] = {
    BYTE_SOURCE_OPTIONS(byte_source_set_base),
    { "align", set_align, 0, false },
    { "from_beginning", set_origin, JUMP_FROM_BEGINNING, false },
    { "from_end", set_origin, JUMP_FROM_END, false },
    { "multiplier", set_multiplier, 0, true },
    { "post_offset", set_post_offset, 0, true },
    { "bitmask", set_mask, 0, true },
};

static int parse_positional(struct rule_parser *parser, struct span value, struct span *rest,
                            struct byte_source *source)
{
    struct span width, offset;
    int64_t bytes = 0, start = 0;

    if (!span_next(rest, ',', &width) || !span_next(rest, ',', &offset))
        return rule_parser_error(parser, value, "byte_jump needs BYTES,OFFSET");
    int err = option_number_or_value(parser, width, "the number of bytes", 0, BYTE_SOURCE_MAX_STRING, &bytes,
                                     &source->width_value);

    if (!err)
        err = option_number_or_value(parser, offset, "the offset", -UINT16_MAX, UINT16_MAX, &start,
                                     &source->offset_value);
    source->width = (uint8_t)bytes;
    source->offset = (int32_t)start;
    return err;
}

static int byte_jump_parse(struct rule_parser *parser, struct span value)
{
    struct byte_jump *jump = arena_alloc(rule_parser_arena(parser), sizeof(*jump));
    struct span rest = value;

    if (!jump)
        return -ENOMEM;
    byte_source_init(&jump->source);
    jump->source.may_be_empty = true;
    jump->multiplier = 1;
    int err = parse_positional(parser, value, &rest, &jump->source);

    if (!err)
        err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), jump);
    if (!err)
        err = byte_source_check(parser, value, &jump->source);
    if (err)
        return err;
    return rule_parser_add_content_condition(parser, jump, byte_source_is_relative(parser, &jump->source));
}

const struct keyword keyword_byte_jump = {
    .name = "byte_jump",
    .value =
        "BYTES,OFFSET[,relative][,big|little|dce][,string,hex|dec|oct][,multiplier N][,align][,from_beginning|from_end]"
        "[,post_offset N][,bitmask MASK]",
    .help = "move the position in the buffer by a number of bytes read from the buffer",
    .manual = "Later conditions with relative, distance or within count from the new position. A jump to "
              "before the buffer\n"
              "ends at its start; a jump past its end does not match. BYTES and OFFSET may be variables. "
              "The bitmask is applied to\n"
              "the number, which is then shifted right by the number of trailing zeros of the mask and "
              "multiplied.",
    .kind = KEYWORD_CONTENT,
    .parse = byte_jump_parse,
    .content = { .inspect = byte_jump_inspect },
    .hints = &(const struct prefilter_hints){ .decided_by_place = byte_jump_by_place },
};
