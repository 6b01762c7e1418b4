/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * content: a literal and the positions where it may match.
 *
 * The inspection window of a content is a part of the buffer: offset and depth count from the buffer's start, distance
 * and within from the end of the previous match (inspection.at). The arithmetic has 32 bits and wraps, as in Suricata:
 * a within that ends before the buffer's start sets no limit, and only the low 32 bits of a variable are used.
 *
 * If a content without distance or within is not found, the result is INSPECT_NEVER, because retrying earlier contents
 * at other positions cannot help. A content with distance may be searched up to the buffer's end for each position of
 * the previous content. struct inspect_search stores the range that was searched, so that all these searches together
 * scan the buffer once.
 */
#include <errno.h>

#include "condition.h"
#include "literal.h"
#include "search.h"

/* --- Matching ------------------------------------------------------------------------------------- */

struct window {
    uint32_t start, end;
};

enum {
    SHORT_WINDOW = 256 /* bytes; a shorter window is searched faster than an entry of inspection.searches is found */
};

static uint32_t number_of(const struct inspection *in, int32_t constant, int8_t index)
{
    return index >= 0 ? (uint32_t)in->values[index] : (uint32_t)constant;
}

static struct window relative_window(const struct inspection *in, const struct content *content)
{
    struct window window = { .start = in->at, .end = in->length };
    uint32_t distance = 0;

    if (content->has_distance) {
        distance = number_of(in, content->distance, content->distance_value);
        if ((int32_t)distance < 0 && 0 - distance > in->at)
            window.start = 0;
        else
            window.start = in->at + distance;
    }
    if (content->has_within)
        window.end = in->at + number_of(in, content->within, content->within_value) + distance;
    return window;
}

static struct window absolute_window(const struct inspection *in, const struct content *content)
{
    struct window window = { .end = in->length };

    if (content->has_offset)
        window.start = number_of(in, content->offset, content->offset_value);
    if (content->has_depth) {
        uint64_t end = (uint64_t)window.start + number_of(in, content->depth, content->depth_value);

        window.end = end < in->length ? (uint32_t)end : in->length;
    }
    return window;
}

/* Returns the entry of the condition in inspection.searches, added at first use; NULL if the table is full. */
static struct inspect_search *search_of(struct inspection *in, const struct condition *condition)
{
    for (uint32_t i = 0; i < in->search_count; i++)
        if (in->searches[i].condition == condition)
            return &in->searches[i];
    if (in->search_count == INSPECT_MAX_SEARCHES)
        return NULL;
    in->searches[in->search_count] = (struct inspect_search){ .condition = condition };
    return &in->searches[in->search_count++];
}

/* Returns the first position in the window at which the whole content fits and matches, or NULL. It uses the stored
 * range of earlier searches, because the evaluation may call it for each of its steps. */
static const uint8_t *search_window(struct inspection *in, const struct condition *condition,
                                    const struct content *content, struct window window)
{
    struct inspect_search *known = window.end - window.start < SHORT_WINDOW ? NULL : search_of(in, condition);
    uint32_t start = window.start, from = start;

    if (!known)
        return search_first(content, in->data + start, window.end - start);
    if (start >= known->from && start <= known->until) {
        from = known->from;
        start = known->until;
    }
    if (start > window.end || content->length > window.end - start)
        return NULL; /* nothing was searched, so the stored range stays as it is */

    const uint8_t *found = search_first(content, in->data + start, window.end - start);

    known->from = from;
    known->until = found ? (uint32_t)(found - in->data) : window.end - content->length + 1;
    return found;
}

static const uint8_t *find_content(struct inspection *in, const struct condition *condition,
                                   const struct content *content, struct window window)
{
    if (content->length > window.end - window.start)
        return NULL;
    if (!content->ends_with)
        return search_window(in, condition, content, window);
    if (window.end < in->length)
        return NULL;
    if (content->negated) /* content_inspect() needs the first occurrence */
        return search_window(in, condition, content, window);

    const uint8_t *last = in->data + (in->length - content->length);

    return search_equal(content, last) ? last : NULL;
}

enum inspect_result content_inspect(struct inspection *in, const struct condition *condition,
                                    struct inspect_retry *retry)
{
    const struct content_condition *data = condition->data;
    const struct content *content = &data->content;
    struct window window = content->relative ? relative_window(in, content) : absolute_window(in, content);

    if (retry->from)
        window.start = retry->from;
    if (window.end > in->length)
        window.end = in->length;
    if (window.start > window.end || window.end == 0)
        return content->negated ? INSPECT_YES : INSPECT_NO;

    const uint8_t *found = find_content(in, condition, content, window);

    if (!found) {
        if (content->negated)
            return INSPECT_YES;
        return content->relative ? INSPECT_NO : INSPECT_NEVER;
    }
    uint32_t match_start = (uint32_t)(found - in->data);

    if (content->negated) {
        /* As in Suricata, a negated content with endswith matches if its first occurrence is not at the end of the
         * window; later occurrences are not considered. */
        if (content->ends_with && window.end - window.start != match_start + content->length)
            return INSPECT_YES;
        return content->relative || content->offset_value >= 0 || content->depth_value >= 0 ? INSPECT_NO
                                                                                            : INSPECT_NEVER;
    }
    if (data->replacement)
        replacement_note(in, data->replacement, match_start);
    in->at = match_start + content->length;
    *retry = (struct inspect_retry){ .from = match_start + 1, .more = data->retry, .alone = !data->retry };
    return INSPECT_YES;
}

bool content_occurs(const struct content *content, const uint8_t *bytes, size_t length)
{
    return search_first(content, bytes, length) != NULL;
}

/* For decided_by_place(): returns whether the content is searched in a short window of constant size after the previous
 * match, so that its evaluation takes constant time. */
static bool content_by_place(const struct condition *condition)
{
    const struct content_condition *data = condition->data;
    const struct content *content = &data->content;

    return content->has_within && content->within < SHORT_WINDOW && content->within_value < 0 &&
           content->distance_value < 0 && !data->replacement;
}

/* --- Parsing -------------------------------------------------------------------------------------- */

static int content_parse(struct rule_parser *parser, struct span value)
{
    struct content_condition *data = arena_alloc(rule_parser_arena(parser), sizeof(*data));
    uint16_t length = 0;
    uint8_t *bytes;

    if (!data)
        return -ENOMEM;
    int err = literal_parse(parser, value, &bytes, &length);

    if (err)
        return err;
    data->content = (struct content){
        .bytes = bytes,
        .length = length,
        .negated = rule_parser_is_negated(parser),
        .offset_value = -1,
        .depth_value = -1,
        .distance_value = -1,
        .within_value = -1,
    };
    return rule_parser_add_content_condition(parser, data, false);
}

int content_finish(struct rule_parser *parser, const struct condition *condition)
{
    struct content_condition *data = (struct content_condition *)condition->data;

    data->retry = condition_needs_retry(parser, condition);
    return data->replacement ? replacement_finish(parser, data) : 0;
}

const struct keyword keyword_content = {
    .name = "content",
    .value = "[!]\"BYTES\"",
    .help = "bytes that the buffer contains",
    .manual = "Bytes other than plain text are written in hexadecimal between bars: |0d 0a|. The only\n"
              "escapes are \\\" \\; \\: and \\\\. The options that follow limit the position of the match: offset,\n"
              "depth, startswith and endswith count from the ends of the buffer, distance and within from the end\n"
              "of the previous match.",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .parse = content_parse,
    .finish = content_finish,
    .content = { .inspect = content_inspect, .is_literal = true },
    .hints = &(const struct prefilter_hints){ .decided_by_place = content_by_place },
};
