/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Common grammar of addresses and ports: groups in brackets, negation by `!`, variables by `$`, all of which nest.
 *
 * A variable's value is parsed at each use in a rule, so that negation applies inside it. A mistake inside a variable's
 * value is reported at the variable's name in the rule, and the message names the variable. Depth and number of parts
 * are limited: otherwise a few variables that each name the next one twice would expand exponentially.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

static int walk_list(struct set_walk *walk, struct span text, bool negated);

int set_walk_error(struct set_walk *walk, struct span where, const char *format, ...)
{
    char message[256];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (walk->variable_depth == 0)
        return rule_parser_error(walk->parser, where, "%s", message);

    struct span name = span_shown(walk->variables[walk->variable_depth - 1]);

    return rule_parser_error(walk->parser, walk->shown, "in the value of $" SPAN_FORMAT ": %s", SPAN_ARGS(name),
                             message);
}

/* Removes the next part of a comma-separated list from `rest`; commas inside brackets do not separate parts. Returns
 * false at the end. */
static bool next_part(struct span *rest, struct span *part)
{
    int depth = 0;
    size_t i = 0;

    if (!rest->at)
        return false;
    for (; i < rest->length; i++) {
        char c = rest->at[i];

        depth += (c == '[') - (c == ']');
        if (c == ',' && depth <= 0)
            break;
    }
    *part = span_trim((struct span){ .at = rest->at, .length = i });
    if (i < rest->length)
        *rest = (struct span){ .at = rest->at + i + 1, .length = rest->length - i - 1 };
    else
        rest->at = NULL;
    return true;
}

/* Returns whether the text is a single group: the bracket at its start is closed by the one at its end. */
static bool is_group(struct span text)
{
    int depth = 0;

    for (size_t i = 0; i < text.length; i++) {
        depth += (text.at[i] == '[') - (text.at[i] == ']');
        if (depth == 0)
            return i == text.length - 1;
    }
    return false;
}

/* Parses the value of a variable; `part` is its name with the dollar sign. */
static int walk_variable(struct set_walk *walk, struct span part, bool negated)
{
    struct span name = { .at = part.at + 1, .length = part.length - 1 };
    const char *value;
    int err;

    for (size_t i = 0; i < name.length; i++) {
        char c = name.at[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
            return set_walk_error(walk, name, "'" SPAN_FORMAT "' is not a valid variable name",
                                  SPAN_ARGS(span_shown(name)));
    }
    if (name.length == 0)
        return set_walk_error(walk, name, "'$' needs the name of a variable");
    for (unsigned i = 0; i < walk->variable_depth; i++) {
        struct span outer = walk->variables[i];

        if (outer.length == name.length && memcmp(outer.at, name.at, name.length) == 0)
            return set_walk_error(walk, name, "the variable $" SPAN_FORMAT " contains itself", SPAN_ARGS(name));
    }
    value = rule_variables_find(walk->parser->list->options.variables, walk->kind, name);
    if (!value)
        return set_walk_error(walk, part, "the %s variable $" SPAN_FORMAT " is not defined",
                              walk->kind == VARIABLE_PORT ? "port" : "address", SPAN_ARGS(span_shown(name)));
    if (walk->variable_depth == SET_MAX_DEPTH)
        return set_walk_error(walk, part, "variables are nested too deeply");
    if (walk->variable_depth == 0)
        walk->shown = part;
    /* If $X is `a,b`, `!$X` negates both, so its expanded text must be `![a,b]`: the cache finds equal sets by this
     * text. */
    bool bracket = strchr(value, ',') && !is_group(span_trim(span_of(value)));

    walk->variables[walk->variable_depth++] = name;
    text_puts(&walk->expanded, bracket ? "[" : "");
    err = walk_list(walk, span_of(value), negated);
    text_puts(&walk->expanded, bracket ? "]" : "");
    walk->variable_depth--;
    return err;
}

static int walk_part(struct set_walk *walk, struct span part, bool negated)
{
    while (part.length > 0 && part.at[0] == '!') {
        negated = walk->double_negation ? !negated : true;
        part = span_trim((struct span){ .at = part.at + 1, .length = part.length - 1 });
        text_append(&walk->expanded, "!", 1);
    }
    if (part.length == 0)
        return set_walk_error(walk, part, "an element of the list is missing");
    if (++walk->items > SET_MAX_ITEMS)
        return set_walk_error(walk, part, "more than %d parts", SET_MAX_ITEMS);
    if (part.at[0] == '[' && is_group(part)) {
        int err;

        text_append(&walk->expanded, "[", 1);
        err = walk_list(walk, (struct span){ .at = part.at + 1, .length = part.length - 2 }, negated);
        text_append(&walk->expanded, "]", 1);
        return err;
    }
    if (part.at[0] == '$')
        return walk_variable(walk, part, negated);
    if (memchr(part.at, ']', part.length) || memchr(part.at, '[', part.length))
        return set_walk_error(walk, part, "brackets do not match in '" SPAN_FORMAT "'", SPAN_ARGS(span_shown(part)));
    if (negated && span_equal_nocase(part, "any"))
        return set_walk_error(walk, part, "'!any' matches nothing");
    text_append(&walk->expanded, part.at, part.length);
    return walk->item(walk, part, negated);
}

static int walk_list(struct set_walk *walk, struct span text, bool negated)
{
    struct span rest = span_trim(text), part;
    int err = 0;

    if (rest.length == 0)
        return set_walk_error(walk, text, "the list is empty");
    if (walk->depth == SET_MAX_DEPTH)
        return set_walk_error(walk, text, "groups are nested too deeply");
    walk->depth++;
    for (bool first = true; !err && next_part(&rest, &part); first = false) {
        if (!first)
            text_append(&walk->expanded, ",", 1);
        err = walk_part(walk, part, negated);
    }
    walk->depth--;
    return err;
}

int set_walk(struct set_walk *walk, struct span text)
{
    int err;

    text_init(&walk->expanded);
    err = walk_list(walk, text, false);
    return !err && walk->expanded.failed ? -ENOMEM : err;
}

void set_cache_init(struct set_cache *cache)
{
    map_init(&cache->written, false);
    map_init(&cache->expanded, false);
}

void set_cache_clear(struct set_cache *cache)
{
    map_clear(&cache->written);
    map_clear(&cache->expanded);
}

void *set_cache_get(struct set_cache *cache, struct set_walk *walk, struct span text)
{
    struct arena *arena = walk->parser->list->arena;
    void *set = map_get(&cache->written, text);
    int err;

    if (set)
        return set;
    /* Expand the text; return the cached set with the same expansion, or create the set. */
    err = set_walk(walk, text);
    if (!err)
        set = map_get(&cache->expanded, (struct span){ walk->expanded.bytes, walk->expanded.length });
    if (!err && !set) {
        err = walk->merge(walk, text);
        if (!err) {
            char *key = arena_strndup(arena, walk->expanded.bytes, walk->expanded.length);

            set = key ? walk->make(walk, key) : NULL;
            err = set ? map_put(&cache->expanded, span_of(key), set) : -ENOMEM;
        }
    }
    text_clear(&walk->expanded);
    if (!err)
        err = map_put(&cache->written, text, set);
    if (err == -ENOMEM)
        rule_parser_error(walk->parser, text, "out of memory");
    return err ? NULL : set;
}
