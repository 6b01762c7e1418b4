/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "condition.h"

#include "base64_data.h"

#include <errno.h>

static bool is_pattern(const struct condition *condition)
{
    return condition->keyword == &keyword_content || condition->keyword == &keyword_pcre;
}

static const struct condition *find_content(struct rule_parser *parser, const struct content *content)
{
    for (const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers; buffer; buffer = buffer->next)
        for (const struct condition *c = buffer->conditions; c; c = c->next)
            if (c->keyword == &keyword_content && c->data == content)
                return c;
    return NULL;
}

struct content *condition_content_before(struct rule_parser *parser)
{
    struct content *content = rule_parser_last_content(parser);
    const struct condition *condition = content ? find_content(parser, content) : NULL;

    if (!condition)
        return NULL;
    for (const struct condition *c = condition->next; c; c = c->next)
        if (!rule_parser_current_buffer(parser) || is_pattern(c))
            return NULL;
    return content;
}

static bool has_pattern(const struct rule_buffer *buffer)
{
    for (const struct condition *c = buffer ? buffer->conditions : NULL; c; c = c->next)
        if (is_pattern(c))
            return true;
    return false;
}

bool condition_has_pattern(struct rule_parser *parser)
{
    return has_pattern(rule_parser_selected_buffer(parser));
}

bool condition_has_pattern_in(struct rule_parser *parser, const struct keyword *keyword)
{
    const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers;

    while (buffer && (buffer->keyword != keyword || buffer->transforms))
        buffer = buffer->next;
    return has_pattern(buffer);
}

static const struct rule_buffer *buffer_of(struct rule_parser *parser, const struct condition *condition)
{
    for (const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers; buffer; buffer = buffer->next)
        for (const struct condition *c = buffer->conditions; c; c = c->next)
            if (c == condition)
                return buffer;
    return NULL;
}

bool condition_needs_retry(struct rule_parser *parser, const struct condition *condition)
{
    const struct rule_buffer *buffer = buffer_of(parser, condition);
    const struct condition *next = condition->next;
    bool payload = buffer && !buffer->keyword;

    for (; next && !is_pattern(next); next = next->next)
        if (next->relative && next->keyword != &keyword_base64_decode && (!payload || next == condition->next))
            return true;
    if (!next || next->keyword == &keyword_pcre)
        return next && next->relative;

    const struct content *content = next->data;

    return content->has_within || (content->has_distance && (content->negated || condition->keyword == &keyword_pcre));
}

int64_t condition_required_bytes(struct rule_parser *parser, const struct condition *condition)
{
    const struct rule_buffer *buffer = condition ? buffer_of(parser, condition) : rule_parser_rule(parser)->buffers;
    int64_t total = 0, offset = 0;

    while (!condition && buffer && buffer->keyword)
        buffer = buffer->next;

    for (const struct condition *c = buffer ? buffer->conditions : NULL; c; c = c->next) {
        const struct content *content = c->data;

        if (c->keyword != &keyword_content || content->negated || (total > 0 && !content->relative))
            continue;
        total += content->length;
        if (content->has_distance && content->distance_value < 0)
            total += content->distance;
        if (content->has_offset && content->offset_value < 0 && content->offset > offset)
            offset = content->offset;
    }
    return total + offset;
}

struct content *condition_modified_content(struct rule_parser *parser, struct span value, const char *name)
{
    struct content *content = rule_parser_last_content(parser);

    if (!content)
        rule_parser_error(parser, value, "'%s' needs a content before it", name);
    return content;
}

/* Returns whether the last content or pcre before `content` in its buffer is a content with fast_pattern:only. */
static bool follows_fast_pattern_only(struct rule_parser *parser, const struct content *content)
{
    const struct condition *condition = find_content(parser, content), *before = NULL;
    const struct rule_buffer *buffer = condition ? buffer_of(parser, condition) : NULL;

    for (const struct condition *c = buffer ? buffer->conditions : NULL; c != condition; c = c->next)
        if (is_pattern(c))
            before = c;
    return before && before->keyword == &keyword_content && ((const struct content *)before->data)->fast_pattern_only;
}

int condition_check_position(struct rule_parser *parser, struct span value, const struct content *content,
                             const char *name, bool relative)
{
    bool has_absolute = content->has_offset || content->has_depth;
    bool has_relative = content->has_distance || content->has_within;

    if (relative ? has_absolute : has_relative)
        return rule_parser_error(parser, value, "'%s' can't be used with %s for the same content", name,
                                 relative ? "offset, depth or startswith" : "distance or within");
    if (content->negated && content->fast_pattern)
        return rule_parser_error(parser, value, "'%s' can't be used for a negated content with fast_pattern", name);
    if (content->fast_pattern_only)
        return rule_parser_error(parser, value, "'%s' can't be used for a content with fast_pattern:only", name);
    if (relative && follows_fast_pattern_only(parser, content))
        return rule_parser_error(parser, value, "'%s' can't count from a content with fast_pattern:only", name);
    return 0;
}
