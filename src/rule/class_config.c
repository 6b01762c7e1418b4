/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classification.config and reference.config: lines of
 *
 *     config classification: NAME,DESCRIPTION,PRIORITY
 *     config reference: SYSTEM PREFIX
 *
 * Names are compared without case; of several lines with one name the first applies. If a rule uses a name that no line
 * defines, the name is added as a class of priority 3 or as a reference system without prefix, and reported once.
 * Unknown reference systems are not reported if no reference.config is configured.
 */
#include <errno.h>
#include <string.h>

#include "rule_priv.h"

enum { DEFAULT_PRIORITY = 3, MAX_PRIORITY = 255 };

typedef int (*parse_line)(struct rule_parser *parser, struct map *names, struct span value);

static bool is_name(struct span text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.')))
            return false;
    }
    return text.length > 0;
}

/* Removes the first word from `rest` and returns it. */
static struct span take_word(struct span *rest)
{
    struct span word = *rest;

    for (word.length = 0; word.length < rest->length; word.length++) {
        if (strchr(" \t:", rest->at[word.length]))
            break;
    }
    rest->at += word.length;
    rest->length -= word.length;
    *rest = span_trim(*rest);
    return word;
}

/* Parses a line `config KIND: value` and passes the value to `parse`. */
static int parse_config_line(struct rule_parser *parser, const char *kind, parse_line parse, struct map *names)
{
    struct span rest = parser->statement->text;
    struct span first = take_word(&rest), second = take_word(&rest);

    if (!span_equal_nocase(first, "config") || !span_equal_nocase(second, kind) || rest.length == 0 ||
        rest.at[0] != ':')
        return rule_parser_error(parser, first, "a line must begin with 'config %s:'", kind);
    rest.at++;
    rest.length--;
    return parse(parser, names, span_trim(rest));
}

static int parse_lines(struct rule_list *list, const struct source *source, const char *kind, parse_line parse,
                       struct map *names, struct diag *diag)
{
    struct statement statement;
    struct rule_parser parser;
    struct scanner scanner;
    int more;

    scanner_init(&scanner, source);
    while ((more = scanner_next(&scanner, list->arena, &statement)) > 0) {
        rule_parser_init(&parser, list, &statement, diag);
        if (parse_config_line(&parser, kind, parse, names) == -ENOMEM)
            return -ENOMEM;
    }
    return more;
}

/* --- Classes -------------------------------------------------------------------------------------- */

static struct rule_class *add_class(struct arena *arena, struct map *classes, struct span name, const char *description,
                                    uint8_t priority)
{
    struct rule_class *class = arena_alloc(arena, sizeof(*class));

    if (!class || !description)
        return NULL;
    class->name = arena_strndup(arena, name.at, name.length);
    class->description = description;
    class->priority = priority;
    if (!class->name || map_put(classes, span_of(class->name), class))
        return NULL;
    return class;
}

static int parse_class(struct rule_parser *parser, struct map *classes, struct span value)
{
    const char *first_comma = memchr(value.at, ',', value.length);
    const char *last_comma = memrchr(value.at, ',', value.length);
    struct span name, description, priority_text;
    uint64_t priority;

    if (!first_comma || first_comma == last_comma)
        return rule_parser_error(parser, value, "a class needs a name, a description and a priority");
    name = span_trim((struct span){ value.at, (size_t)(first_comma - value.at) });
    description = span_trim((struct span){ first_comma + 1, (size_t)(last_comma - first_comma - 1) });
    priority_text = span_trim((struct span){ last_comma + 1, (size_t)(value.at + value.length - last_comma - 1) });
    if (!is_name(name))
        return rule_parser_error(parser, name, "'" SPAN_FORMAT "' is not a valid class name",
                                 SPAN_ARGS(span_shown(name)));
    if (!span_to_uint(priority_text, 1, MAX_PRIORITY, &priority))
        return rule_parser_error(parser, priority_text, "the priority must be a number from 1 to %d", MAX_PRIORITY);
    if (map_get(classes, name)) {
        rule_parser_warning(parser, name, "the class '" SPAN_FORMAT "' is already defined",
                            SPAN_ARGS(span_shown(name)));
        return 0;
    }

    char *text = arena_strndup(parser->list->arena, description.at, description.length);
    struct rule_class *class = add_class(parser->list->arena, classes, name, text, (uint8_t)priority);

    if (!class)
        return -ENOMEM;
    class->declared = true;
    return 0;
}

int class_config_parse(struct rule_list *list, const struct source *source, struct map *classes, struct diag *diag)
{
    return parse_lines(list, source, "classification", parse_class, classes, diag);
}

bool rule_parser_find_class(const struct rule_parser *parser, struct span name, const char **class_name,
                            const char **description, uint8_t *priority)
{
    struct rule_class *class = map_get(&parser->list->classes, name);
    bool known = class != NULL;

    if (!class)
        class = add_class(parser->list->arena, &parser->list->classes, name, "Unknown Classtype", DEFAULT_PRIORITY);
    if (!class)
        return false;
    *class_name = class->name;
    *description = class->description;
    *priority = class->priority;
    return known;
}

/* --- References ----------------------------------------------------------------------------------- */

static struct reference_system *add_system(struct arena *arena, struct map *references, struct span name,
                                           const char *prefix)
{
    struct reference_system *system = arena_alloc(arena, sizeof(*system));

    if (!system)
        return NULL;
    system->name = arena_strndup(arena, name.at, name.length);
    system->prefix = prefix;
    if (!system->name || map_put(references, span_of(system->name), system))
        return NULL;
    return system;
}

static int parse_reference(struct rule_parser *parser, struct map *references, struct span value)
{
    struct span rest = value, name = take_word(&rest);

    if (!is_name(name))
        return rule_parser_error(parser, name, "'" SPAN_FORMAT "' is not a valid name of a reference system",
                                 SPAN_ARGS(span_shown(name)));
    if (rest.length == 0)
        return rule_parser_error(parser, value, "a reference system needs a name and a prefix");
    if (map_get(references, name)) {
        rule_parser_warning(parser, name, "the reference system '" SPAN_FORMAT "' is already defined",
                            SPAN_ARGS(span_shown(name)));
        return 0;
    }

    char *prefix = arena_strndup(parser->list->arena, rest.at, rest.length);

    return prefix && add_system(parser->list->arena, references, name, prefix) ? 0 : -ENOMEM;
}

int reference_config_parse(struct rule_list *list, const struct source *source, struct map *references,
                           struct diag *diag)
{
    return parse_lines(list, source, "reference", parse_reference, references, diag);
}

bool rule_parser_find_reference(const struct rule_parser *parser, struct span system_name, const char **system_text,
                                const char **prefix)
{
    struct reference_system *system = map_get(&parser->list->references, system_name);
    bool known = system != NULL;

    if (!system)
        system = add_system(parser->list->arena, &parser->list->references, system_name, NULL);
    if (!system)
        return false;
    *system_text = system->name;
    *prefix = system->prefix;
    /* If no reference.config is configured, no prefix is known, so an unknown system is not reported. */
    return known || !parser->list->options.reference_file;
}
