/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/number_list.h"

#include <errno.h>
#include <string.h>

/* Removes `word` and the spaces after it from the start of the text. Returns false if the text does not begin with it.
 */
static bool take_word(struct span *text, const char *word)
{
    size_t length = strlen(word);

    if (text->length < length || memcmp(text->at, word, length) != 0)
        return false;
    *text = span_trim((struct span){ .at = text->at + length, .length = text->length - length });
    return true;
}

static int parse_index(struct rule_parser *parser, struct span text, unsigned max_count, int32_t *out)
{
    int64_t index;

    if (!span_to_int(text, -(int64_t)max_count, (int64_t)max_count - 1, &index))
        return rule_parser_error(parser, text, "expected an index from -%u to %u, got '" SPAN_FORMAT "'", max_count,
                                 max_count - 1, SPAN_ARGS(text));
    *out = (int32_t)index;
    return 0;
}

static int parse_mode(struct rule_parser *parser, struct span text, unsigned max_count, struct number_list *list)
{
    static const struct {
        const char *name;
        enum number_list_mode mode;
    } names[] = {
        { "any", NUMBER_LIST_ANY },
        { "all", NUMBER_LIST_ALL },
        { "all_or_absent", NUMBER_LIST_ALL_OR_ABSENT },
        { "or_absent", NUMBER_LIST_ANY_OR_ABSENT },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (span_equal(text, names[i].name)) {
            list->mode = names[i].mode;
            return 0;
        }
    }
    struct span rest = text;

    if (take_word(&rest, "nb")) {
        list->mode = NUMBER_LIST_MATCHES;
        return number_range_parse(parser, rest, UINT32_MAX, NULL, &list->count);
    }
    list->mode = take_word(&rest, "oob_or") ? NUMBER_LIST_INDEX_OR_OUTSIDE : NUMBER_LIST_INDEX;
    return parse_index(parser, rest, max_count, &list->index);
}

static int parse_part(struct rule_parser *parser, struct span text, unsigned max_count, struct number_list *list)
{
    struct span rest = text, from;
    int64_t to;

    span_next(&rest, ':', &from);
    if (!rest.at)
        return rule_parser_error(parser, text, "expected FROM:TO, got '" SPAN_FORMAT "'", SPAN_ARGS(text));
    int err = parse_index(parser, from, max_count, &list->from);

    if (err)
        return err;
    rest = span_trim(rest);
    if (!span_to_int(rest, -(int64_t)max_count, max_count, &to))
        return rule_parser_error(parser, rest, "expected an end from -%u to %u, got '" SPAN_FORMAT "'", max_count,
                                 max_count, SPAN_ARGS(rest));
    if (to != 0 && (to < 0) == (list->from < 0) && to <= list->from)
        return rule_parser_error(parser, text, "the part is empty: its end must be behind its start");
    list->to = (int32_t)to;
    return 0;
}

int number_list_parse(struct rule_parser *parser, struct span text, uint64_t limit, const struct number_name *names,
                      unsigned max_count, struct number_list *out)
{
    struct number_list list = { .mode = NUMBER_LIST_ANY };
    struct span rest = span_trim(text), number, mode, of;
    int err;

    if (take_word(&rest, "count")) {
        list.mode = NUMBER_LIST_COUNT;
        err = number_range_parse(parser, rest, UINT32_MAX, NULL, &list.count);
        goto out;
    }
    span_next(&rest, ',', &number);
    err = number_range_parse(parser, number, limit, names, &list.number);
    if (!err && span_next(&rest, ',', &mode))
        err = parse_mode(parser, mode, max_count, &list);
    if (!err && span_next(&rest, ',', &of))
        err = parse_part(parser, of, max_count, &list);
    if (!err && rest.at)
        err = rule_parser_error(parser, rest, "nothing may follow the part of the list");
out:
    if (!err)
        *out = list;
    return err;
}

/* Returns the number of elements that the part FROM:TO selects from a list of `count`, and sets *first to the index of
 * the first one. Returns 0 if the part is not completely within the list. */
static unsigned part_of(const struct number_list *list, unsigned count, unsigned *first)
{
    int64_t from = list->from < 0 ? (int64_t)count + list->from : list->from;
    int64_t to = list->to > 0 ? list->to : (int64_t)count + list->to;

    if (from < 0 || to > (int64_t)count || from >= to)
        return 0;
    *first = (unsigned)from;
    return (unsigned)(to - from);
}

bool number_list_match(const struct number_list *list, number_list_get *number, const void *of, unsigned count)
{
    unsigned first = 0, matches = 0;
    int64_t index;

    count = part_of(list, count, &first);
    for (unsigned i = 0; i < count; i++)
        matches += number_range_has(&list->number, number(of, first + i));
    switch (list->mode) {
    case NUMBER_LIST_ANY:
        return matches > 0;
    case NUMBER_LIST_ALL:
        return count > 0 && matches == count;
    case NUMBER_LIST_ALL_OR_ABSENT:
        return matches == count;
    case NUMBER_LIST_ANY_OR_ABSENT:
        return matches > 0 || count == 0;
    case NUMBER_LIST_INDEX:
    case NUMBER_LIST_INDEX_OR_OUTSIDE:
        index = list->index < 0 ? (int64_t)count + list->index : list->index;
        if (index < 0 || index >= (int64_t)count)
            return list->mode == NUMBER_LIST_INDEX_OR_OUTSIDE;
        return number_range_has(&list->number, number(of, first + (unsigned)index));
    case NUMBER_LIST_MATCHES:
        return number_range_has(&list->count, matches);
    case NUMBER_LIST_COUNT:
        return number_range_has(&list->count, count);
    }
    return false;
}
