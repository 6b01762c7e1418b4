/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * subslice:OFFSET[,LENGTH][,truncate]; the part of the buffer that begins at OFFSET. A negative offset counts from the
 * end of the buffer, and a negative length leaves out that many bytes at the end of the buffer (as in Suricata 9).
 */
#include <errno.h>

#include "keyword/meta/option.h"
#include "transform.h"

enum { SUBSLICE_LIMIT = 1 << 30 }; /* of the offset and the length */

struct subslice {
    int64_t offset, length;
    bool has_length;
    bool truncate; /* a part that exceeds the buffer is cut at its ends; otherwise the result is empty */
};

static bool subslice_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                               const void *data, const uint8_t **out, uint32_t *out_length)
{
    const struct subslice *part = data;
    int64_t size = length, start = part->offset < 0 ? size + part->offset : part->offset, end = size;

    (void)scratch;
    if (part->truncate)
        start = start < 0 ? 0 : start > size ? size : start;
    if (part->has_length)
        end = part->length < 0 ? size + part->length : start + part->length;
    if (part->truncate)
        end = end < start ? start : end > size ? size : end;
    if (start < 0 || end < start || end > size)
        return transform_keep(bytes, 0, out, out_length);
    return transform_keep(bytes + start, (uint32_t)(end - start), out, out_length);
}

static int subslice_parse(struct rule_parser *parser, struct span value)
{
    struct subslice *part = arena_alloc(rule_parser_arena(parser), sizeof(*part));
    struct span item, rest = value;
    int err = 0;

    if (!part)
        return -ENOMEM;
    *part = (struct subslice){ 0 };
    span_next(&rest, ',', &item);
    err = option_number(parser, span_trim(item), "the offset", -SUBSLICE_LIMIT, SUBSLICE_LIMIT, &part->offset);
    while (!err && rest.at) {
        span_next(&rest, ',', &item);
        item = span_trim(item);
        if (part->truncate)
            err = rule_parser_error(parser, item, "nothing may follow 'truncate'");
        else if (span_equal(item, "truncate"))
            part->truncate = true;
        else if (part->has_length)
            err = rule_parser_error(parser, item, "expected 'truncate', got '" SPAN_FORMAT "'", SPAN_ARGS(item));
        else
            err = option_number(parser, item, "the length", -SUBSLICE_LIMIT, SUBSLICE_LIMIT, &part->length);
        part->has_length |= !part->truncate;
    }
    return err ? err : rule_parser_add_transform(parser, part);
}

const struct keyword keyword_subslice = {
    .name = "subslice",
    .value = "OFFSET[,LENGTH][,truncate]",
    .help = "a part of the buffer: subslice:-6,3",
    .manual = "A negative OFFSET counts from the end of the buffer. Without LENGTH the part ends at the end of the "
              "buffer; a negative LENGTH omits that many bytes at the end of the buffer. If the part exceeds the "
              "buffer, the result is empty, or with truncate the bytes of the part that exist.",
    .kind = KEYWORD_TRANSFORM,
    .parse = subslice_parse,
    .transform = { .apply = subslice_transform },
};
