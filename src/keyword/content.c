/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * content: a literal, and the place where it must stand.
 *
 * Where a content may stand is a window of the buffer: offset and depth count from the buffer's start, distance and
 * within from the end of the match before (inspection.at). The arithmetic is 32 bit and wraps, as Suricata's does: a
 * within that ends before the buffer's start thereby does not limit at all, and a variable counts with its low 32 bits.
 *
 * A content without distance or within that is not found makes the buffer fail for good, since no other place of an
 * earlier content could help.
 */
#include <ctype.h>
#include <errno.h>

#include "condition.h"
#include "search.h"

/* --- Matching ----------------------------------------------------------------------------------------------------- */

struct window {
    uint32_t start, end;
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

static const uint8_t *find(const struct inspection *in, const struct content *content, struct window window)
{
    if (content->length > window.end - window.start)
        return NULL;
    if (!content->ends_with)
        return search_first(content, in->data + window.start, window.end - window.start);
    if (window.end < in->length)
        return NULL;
    if (content->negated) /* the first one decides, see below */
        return search_first(content, in->data + window.start, window.end - window.start);

    const uint8_t *last = in->data + (in->length - content->length);

    return search_equal(content, last) ? last : NULL;
}

/* A negated content that was found. With endswith it still holds when the first occurrence is not the end of the window;
 * that a later one may be is not looked at, as in Suricata. */
static enum inspect_result found_negated(const struct content *content, struct window window, uint32_t match_end)
{
    if (content->ends_with && window.end - window.start != match_end)
        return INSPECT_YES;
    return content->relative || content->offset_value >= 0 || content->depth_value >= 0 ? INSPECT_NO : INSPECT_GIVE_UP;
}

static enum inspect_result content_inspect(struct inspection *in, const struct condition *condition,
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

    const uint8_t *found = find(in, content, window);

    if (!found) {
        if (content->negated)
            return INSPECT_YES;
        return content->relative ? INSPECT_NO : INSPECT_GIVE_UP;
    }
    uint32_t match_start = (uint32_t)(found - in->data);

    if (content->negated)
        return found_negated(content, window, match_start + content->length);
    in->at = match_start + content->length;
    *retry = (struct inspect_retry){ .from = match_start + 1, .more = data->retry, .alone = !data->retry };
    return INSPECT_YES;
}

/* --- Parsing ------------------------------------------------------------------------------------------------------ */

/* The text between the quotes on its way to bytes. */
struct literal {
    struct rule_parser *parser;
    struct span text;
    size_t at;
    uint8_t *bytes;
    size_t length;
};

static struct span piece(const struct literal *literal, size_t start, size_t length)
{
    return (struct span){ .at = literal->text.at + start, .length = length };
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* |0d 0a|: from after the first bar to after the second. */
static int parse_hex(struct literal *literal)
{
    const char *text = literal->text.at;
    size_t start = literal->at - 1;
    int high = -1;

    for (; literal->at < literal->text.length; literal->at++) {
        char c = text[literal->at];
        int digit = hex_digit(c);

        if (c == '|' && high < 0) {
            literal->at++;
            return 0;
        }
        if (c == '|')
            return rule_parser_error(literal->parser, piece(literal, literal->at - 1, 1),
                                     "a byte between bars has two hexadecimal digits");
        if (digit < 0 && c != ' ' && c != ',')
            return rule_parser_error(literal->parser, piece(literal, literal->at, 1),
                                     "'%c' is not a hexadecimal digit; bytes between bars look like |0d 0a|", c);
        if (digit < 0)
            continue;
        if (high >= 0)
            literal->bytes[literal->length++] = (uint8_t)(high << 4 | digit);
        high = high < 0 ? digit : -1;
    }
    return rule_parser_error(literal->parser, piece(literal, start, 1),
                             "this bar has no second one; a bar itself is |7C|");
}

static int parse_escape(struct literal *literal)
{
    char c = literal->at < literal->text.length ? literal->text.at[literal->at] : '\0';

    if (c == '"' || c == ';' || c == ':' || c == '\\') {
        literal->bytes[literal->length++] = (uint8_t)c;
        literal->at++;
        return 0;
    }
    return rule_parser_error(literal->parser, piece(literal, literal->at - 1, c ? 2 : 1),
                             "only \\\" \\; \\: and \\\\ may be escaped; other bytes are written as |5C|");
}

static int parse_literal(struct literal *literal)
{
    while (literal->at < literal->text.length) {
        char c = literal->text.at[literal->at++];
        int err = 0;

        if (c == '|')
            err = parse_hex(literal);
        else if (c == '\\')
            err = parse_escape(literal);
        else if (c == '"')
            err = rule_parser_error(literal->parser, piece(literal, literal->at - 1, 1),
                                    "a double quote inside a content is written \\\" or |22|");
        else
            literal->bytes[literal->length++] = (uint8_t)c;
        if (err)
            return err;
    }
    return 0;
}

/* Takes the quotes off. `content:"x",nocase;` gets a message of its own: it is how Snort 3 writes modifiers. */
static int unquote(struct rule_parser *parser, struct span value, struct span *text)
{
    if (value.length < 2 || value.at[0] != '"')
        return rule_parser_error(parser, value, "the bytes to look for must stand in double quotes");
    if (value.at[value.length - 1] == '"') {
        *text = (struct span){ .at = value.at + 1, .length = value.length - 2 };
        return 0;
    }
    for (size_t i = value.length - 1; i > 0; i--) {
        if (value.at[i] != '"')
            continue;
        struct span rest = span_trim((struct span){ .at = value.at + i + 1, .length = value.length - i - 1 });

        if (rest.length > 0 && rest.at[0] == ',')
            return rule_parser_error(parser, rest,
                                     "modifiers after a comma are Snort 3's; here each is an option: \"...\"; nocase;");
        return rule_parser_error(parser, rest, "nothing may follow the closing quote");
    }
    return rule_parser_error(parser, value, "the closing quote is missing");
}

static int content_parse(struct rule_parser *parser, struct span value, bool negated)
{
    struct arena *arena = rule_parser_arena(parser);
    struct literal literal = { .parser = parser };
    int err = unquote(parser, value, &literal.text);

    if (err)
        return err;
    if (literal.text.length == 0)
        return rule_parser_error(parser, value, "the content is empty");
    struct content_condition *data = arena_alloc(arena, sizeof(*data));

    literal.bytes = arena_alloc(arena, literal.text.length);
    if (!data || !literal.bytes)
        return -ENOMEM;
    err = parse_literal(&literal);
    if (err)
        return err;
    if (literal.length == 0 || literal.length > UINT16_MAX)
        return rule_parser_error(parser, value,
                                 literal.length == 0 ? "the content is empty" : "the content is too long");
    data->content = (struct content){
        .bytes = literal.bytes,
        .length = (uint16_t)literal.length,
        .negated = negated,
        .offset_value = -1,
        .depth_value = -1,
        .distance_value = -1,
        .within_value = -1,
    };
    return rule_parser_add_content_condition(parser, data, false);
}

static int content_finish(struct rule_parser *parser, const struct condition *condition)
{
    struct content_condition *data = (struct content_condition *)condition->data;

    data->retry = condition_needs_retry(parser, condition);
    return 0;
}

static const struct content *content_literal(const struct condition *condition)
{
    const struct content_condition *data = condition->data;

    return data->content.negated ? NULL : &data->content;
}

const struct keyword keyword_content = {
    .name = "content",
    .value = "[!]\"BYTES\"",
    .help = "the buffer has these bytes",
    .manual =
        "Bytes that are not plain text stand between bars in hexadecimal: |0d 0a|. Only \\\" \\; \\: and \\\\ are\n"
        "escapes. The options that follow say where the bytes must stand: offset, depth, startswith and\n"
        "endswith count from the buffer's ends, distance and within from the end of the match before.",
    .kind = KEYWORD_CONTENT,
    .flags = KEYWORD_NEGATABLE,
    .parse = content_parse,
    .inspect = content_inspect,
    .literal = content_literal,
    .finish = content_finish,
};
