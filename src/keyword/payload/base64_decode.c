/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * base64_decode:bytes 12,offset 4,relative; base64_data; decodes a part of the buffer and evaluates the conditions
 * after base64_data on the result. base64_decode matches if at least one byte was decoded and all these conditions
 * match. As in Suricata, an earlier condition is not retried at another position when it does not match, and without a
 * following base64_data, base64_decode never matches.
 */
#include <errno.h>

#include "base64_data.h"
#include "keyword/meta/option.h"
#include "sluice/base64.h"
#include "sluice/transform.h"

enum {
    MAX_BYTES = UINT16_MAX,
    /* One step of inspection.steps_left is consumed per this number of bytes, to limit the work that crafted traffic
     * can cause. */
    BYTES_A_STEP = 256,
};

struct base64_decode {
    uint32_t bytes, offset;
    bool has_bytes, has_offset, relative;
    /* the buffer base64_data with its conditions; NULL if the rule does not select it */
    const struct rule_buffer *nested;
};

static bool decode_and_inspect(struct inspection *in, const struct base64_decode *want, uint32_t from, uint32_t length)
{
    struct inspection part = *in;
    uint8_t *decoded = transform_output(in->transforms, base64_decoded_size(length));

    if (!decoded)
        return false;
    part.length = base64_decode(in->data + from, length, BASE64_RFC4648, decoded);
    part.data = decoded;
    part.start_is_cut = part.end_is_cut = false;
    if (part.length == 0)
        return false;
    bool holds = in->walk(&part, want->nested->conditions);

    in->steps_left = part.steps_left;
    return holds;
}

static enum inspect_result base64_decode_inspect(struct inspection *in, const struct condition *condition,
                                                 struct inspect_retry *retry)
{
    const struct base64_decode *want = condition->data;
    uint64_t from = (uint64_t)(want->relative ? in->at : 0) + want->offset;
    uint32_t mark, length, steps;
    bool holds;

    (void)retry;
    if (!want->nested || !in->transforms || from >= in->length)
        return INSPECT_NO;
    length = in->length - (uint32_t)from;
    if (length > want->bytes)
        length = want->bytes;
    steps = length / BYTES_A_STEP;
    in->steps_left -= steps < in->steps_left ? steps : in->steps_left;
    mark = transform_scratch_mark(in->transforms);
    holds = decode_and_inspect(in, want, (uint32_t)from, length);
    transform_scratch_rewind(in->transforms, mark);
    return holds ? INSPECT_YES : INSPECT_NO;
}

static int set_bytes(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct base64_decode *want = data;
    int64_t number = 0;

    (void)argument;
    if (want->has_bytes)
        return rule_parser_error(parser, value, "the number of bytes was given before");
    want->has_bytes = true;
    int err = option_number(parser, value, "the number of bytes", 0, MAX_BYTES, &number);

    if (number > 0)
        want->bytes = (uint32_t)number;
    return err;
}

static int set_offset(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct base64_decode *want = data;
    int64_t number = 0;

    (void)argument;
    if (want->has_offset)
        return rule_parser_error(parser, value, "the offset was given before");
    want->has_offset = true;
    int err = option_number(parser, value, "the offset", 0, UINT32_MAX, &number);

    want->offset = (uint32_t)number;
    return err;
}

static int set_relative(struct rule_parser *parser, struct span value, void *data, int argument)
{
    struct base64_decode *want = data;

    (void)parser;
    (void)value;
    (void)argument;
    want->relative = true;
    return 0;
}

static const struct option options[] = {
    { .name = "bytes", .set = set_bytes, .has_value = true },
    { .name = "offset", .set = set_offset, .has_value = true },
    { .name = "relative", .set = set_relative },
};

static int base64_decode_parse(struct rule_parser *parser, struct span value)
{
    struct base64_decode *want = arena_alloc(rule_parser_arena(parser), sizeof(*want));
    struct span rest = value;

    if (!want)
        return -ENOMEM;
    want->bytes = MAX_BYTES;
    if (value.length == 0)
        rest.at = NULL;
    int err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), want);

    /* The condition is added to the buffer of the preceding condition, even if it is not relative to that condition. */
    return err ? err : rule_parser_add_content_condition(parser, want, rule_parser_has_previous(parser));
}

static int base64_decode_finish(struct rule_parser *parser, const struct condition *condition)
{
    struct base64_decode *want = (struct base64_decode *)condition->data;
    const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers;

    while (buffer && buffer->keyword != &keyword_base64_data)
        buffer = buffer->next;
    want->nested = buffer;
    if (!buffer)
        rule_parser_warning(parser, rule_parser_rule_span(parser),
                            "the rule can't match: no 'base64_data' selects the data that 'base64_decode' decodes");
    return 0;
}

const struct keyword keyword_base64_decode = {
    .name = "base64_decode",
    .value = "[bytes NUMBER][,offset NUMBER][,relative]",
    .help = "decode Base64 data in the buffer; select the result with base64_data",
    .manual = "Decoding begins at the start of the buffer, or with `relative` at the end of the previous "
              "match, plus `offset` bytes. It covers at most `bytes` bytes (maximum 65535) and ends at the "
              "first byte that is not Base64.",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = base64_decode_parse,
    .finish = base64_decode_finish,
    .content = { .inspect = base64_decode_inspect },
};
