/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keywords urilen, the length of a URI, and uricontent, an older form of http.uri with content. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/number_range.h"

#include "keywords.h"

extern const struct keyword keyword_content;

enum { RANGE_SLACK = 2 }; /* bytes by which a content may exceed the upper bound of a range, as in Suricata */

static enum inspect_result urilen_inspect(struct inspection *in, const struct condition *condition,
                                          struct inspect_retry *retry)
{
    (void)retry;
    return number_range_has(condition->data, in->length) ? INSPECT_YES : INSPECT_NEVER;
}

/* A range that contains no number, such as 33<>34, is replaced by its first number, as in Suricata. */
static struct span resolve_empty_range(struct rule_parser *parser, struct span size)
{
    uint64_t low, high;
    size_t length = 0, at = number_range_separator(size, &length);
    struct span first = span_trim((struct span){ size.at, at });
    struct span second = span_trim((struct span){ size.at + at + length, size.length - at - length });

    if (!span_to_uint(first, 0, UINT16_MAX, &low) || !span_to_uint(second, 0, UINT16_MAX, &high) || high > low + 1)
        return size;
    rule_parser_warning(parser, size, "no number is between these bounds; the first one is used");
    return first;
}

/* Adds a condition on http.uri or http.uri.raw, regardless of the selected buffer. */
static int urilen_parse(struct rule_parser *parser, struct span value)
{
    struct number_range *range = arena_alloc(rule_parser_arena(parser), sizeof(*range));
    const struct keyword *selected = rule_parser_current_buffer(parser), *buffer = &keyword_http_uri;
    struct span rest = value, size, form = { 0 };
    int err;

    if (!range)
        return -ENOMEM;
    span_next(&rest, ',', &size);
    if (rest.at) {
        form = span_trim(rest);
        if (!span_equal_nocase(form, "raw") && !span_equal_nocase(form, "norm"))
            return rule_parser_error(parser, form, "the second argument of 'urilen' must be 'raw' or 'norm'");
        if (span_equal_nocase(form, "raw"))
            buffer = &keyword_http_uri_raw;
    }
    err = number_range_parse(parser, resolve_empty_range(parser, size), UINT16_MAX, NULL, range);
    if (!err)
        err = rule_parser_select_buffer(parser, buffer);
    if (!err)
        err = rule_parser_add_content_condition(parser, range, false);
    return err ? err : rule_parser_select_buffer(parser, selected);
}

static bool has_condition(const struct rule_buffer *buffer, const struct condition *condition)
{
    for (const struct condition *c = buffer->conditions; c; c = c->next)
        if (c == condition)
            return true;
    return false;
}

/* A content, negated or not, that is longer than the maximum length of the URI is an error, as in Suricata. */
static int urilen_finish(struct rule_parser *parser, const struct condition *condition)
{
    const struct number_range *range = condition->data;
    const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers;
    uint64_t largest = range->low + range->width + (range->width > 0 ? RANGE_SLACK : 0);

    while (buffer && !has_condition(buffer, condition))
        buffer = buffer->next;
    if (!buffer || range->negated || range->mask != UINT64_MAX)
        return 0;
    for (const struct condition *c = buffer->conditions; c; c = c->next) {
        const struct content *content = c->data;

        if (c->keyword == &keyword_content && content->length > largest)
            return rule_parser_error(parser, rule_parser_rule_span(parser),
                                     "a content has %u bytes, but 'urilen' limits the URI to %" PRIu64, content->length,
                                     largest);
    }
    return 0;
}

const struct keyword keyword_urilen = {
    .name = "urilen",
    .value = NUMBER_RANGE_FORM "[,raw|norm]",
    .help = "compares the length of http.uri, or with `raw` of http.uri.raw",
    .manual = "A<>B: more than A and less than B bytes.",
    .kind = KEYWORD_CONTENT,
    .parse = urilen_parse,
    .finish = urilen_finish,
    .content = { .inspect = urilen_inspect },
    .hints = &(const struct prefilter_hints){ .decided_by_size = true },
};

static int uricontent_parse(struct rule_parser *parser, struct span value)
{
    int err;

    if (rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value,
                                 "'uricontent' can't follow a sticky buffer keyword; use 'content' with 'http.uri'");
    err = rule_parser_parse_as(parser, &keyword_content, value);
    return err ? err : rule_parser_move_last_content(parser, &keyword_http_uri);
}

const struct keyword keyword_uricontent = {
    .name = "uricontent",
    .value = "[!]\"BYTES\"",
    .help = "matches bytes in http.uri; older form of http.uri with content",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .parse = uricontent_parse,
};
