/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fast_pattern: chooses the content by which the prefilter finds the rule. In old versions of Suricata, "only" meant
 * that the content needs no evaluation after the prefilter found it. As in current versions, it means the same as
 * fast_pattern alone, but its restrictions are still checked.
 */
#include <errno.h>

#include "condition.h"
#include "keyword/meta/option.h"

static bool rule_has_fast_pattern(struct rule_parser *parser)
{
    for (const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers; buffer; buffer = buffer->next) {
        for (const struct condition *c = buffer->conditions; c; c = c->next) {
            const struct content *content = c->data;

            if (c->keyword == &keyword_content && content->fast_pattern)
                return true;
        }
    }
    return false;
}

static int parse_chop(struct rule_parser *parser, struct span value, struct content *content)
{
    struct span rest = value, offset_text, length_text;
    int64_t offset, length;

    if (!span_next(&rest, ',', &offset_text) || !span_next(&rest, ',', &length_text) || rest.at)
        return rule_parser_error(parser, value, "fast_pattern takes nothing, 'only', or OFFSET,LENGTH");
    if (option_number(parser, offset_text, "the offset", 0, UINT16_MAX, &offset) ||
        option_number(parser, length_text, "the length", 1, UINT16_MAX, &length))
        return -EINVAL;
    if (offset + length > content->length)
        return rule_parser_error(parser, value, "offset and length go beyond the content's %u bytes", content->length);
    content->fast_pattern_chop = true;
    content->fast_pattern_offset = (uint16_t)offset;
    content->fast_pattern_length = (uint16_t)length;
    return 0;
}

static int fast_pattern_parse(struct rule_parser *parser, struct span value)
{
    struct content *content = condition_modified_content(parser, value, "fast_pattern");
    int err = 0;

    if (!content)
        return -EINVAL;
    if (content->negated && (content->relative || content->has_offset || content->has_depth))
        return rule_parser_error(
            parser, value, "fast_pattern can't be used for a negated content with offset, depth, distance or within");
    if (rule_has_fast_pattern(parser))
        return rule_parser_error(parser, value, "only one content of a rule can be the fast pattern");
    if (span_equal(value, "only")) {
        if (content->negated || content->relative || content->has_offset || content->has_depth)
            return rule_parser_error(parser, value,
                                     "fast_pattern:only can't be used with !, offset, depth, distance or within");
        content->fast_pattern_only = true;
    } else if (value.length > 0) {
        err = parse_chop(parser, value, content);
    }
    if (!err)
        content->fast_pattern = true;
    return err;
}

const struct keyword keyword_fast_pattern = {
    .name = "fast_pattern",
    .value = "[only | OFFSET,LENGTH]",
    .help = "use the preceding content, or a part of it, in the prefilter",
    .kind = KEYWORD_MODIFIER,
    .flags = KEYWORD_OPTIONAL_VALUE,
    .parse = fast_pattern_parse,
};
