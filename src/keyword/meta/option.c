/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "option.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>

int option_number(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                  int64_t *out)
{
    if (span_to_int(text, low, high, out))
        return 0;
    return rule_parser_error(parser, text, "%s must be a number from %" PRId64 " to %" PRId64 ", got '" SPAN_FORMAT "'",
                             what, low, high, SPAN_ARGS(text));
}

bool option_is_name(struct span text)
{
    return text.length > 0 && isalpha((unsigned char)text.at[0]);
}

int option_value(struct rule_parser *parser, struct span name)
{
    int index = rule_parser_find_value(parser, name);

    if (index >= 0)
        return index;
    return rule_parser_error(parser, name, "no byte_extract or byte_math before this sets '" SPAN_FORMAT "'",
                             SPAN_ARGS(name));
}

int option_new_value(struct rule_parser *parser, struct span name)
{
    int index = rule_parser_find_value(parser, name);

    if (!option_is_name(name))
        return rule_parser_error(parser, name, "the variable's name must start with a letter");
    if (index < 0)
        index = rule_parser_add_value(parser, name);
    if (index < 0)
        return rule_parser_error(parser, name, "a rule can't have more than %d variables", RULE_MAX_VALUES);
    return index;
}

int option_number_or_value(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                           int64_t *out, int8_t *index)
{
    if (!option_is_name(text)) {
        *index = -1;
        return option_number(parser, text, what, low, high, out);
    }
    int found = option_value(parser, text);

    if (found < 0)
        return found;
    *index = (int8_t)found;
    *out = 0;
    return 0;
}

/* Removes the first blank-separated word from the text and returns it. */
static struct span next_word(struct span *text)
{
    struct span word = { .at = text->at, .length = 0 };

    while (word.length < text->length && !isspace((unsigned char)text->at[word.length]))
        word.length++;
    text->at += word.length;
    text->length -= word.length;
    *text = span_trim(*text);
    return word;
}

int option_apply(struct rule_parser *parser, struct span part, const struct option *options, size_t count, void *data)
{
    struct span value = part;
    struct span name = next_word(&value);

    for (size_t i = 0; i < count; i++) {
        if (!span_equal_nocase(name, options[i].name))
            continue;
        if (options[i].has_value && value.length == 0)
            return rule_parser_error(parser, name, "'%s' needs a value", options[i].name);
        if (!options[i].has_value && value.length > 0)
            return rule_parser_error(parser, value, "'%s' takes no value", options[i].name);
        return options[i].set(parser, options[i].has_value ? value : name, data, options[i].argument);
    }
    return rule_parser_error(parser, part, "unknown option '" SPAN_FORMAT "'", SPAN_ARGS(name));
}

int option_list(struct rule_parser *parser, struct span rest, const struct option *options, size_t count, void *data)
{
    for (struct span part; span_next(&rest, ',', &part);) {
        int err = option_apply(parser, part, options, count, data);

        if (err)
            return err;
    }
    return 0;
}
