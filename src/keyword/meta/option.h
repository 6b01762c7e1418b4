/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing of keyword values: numbers, names of byte_extract variables, and comma-separated lists of `name` or `name
 * value`, each of which a table assigns to a handler function.
 */
#ifndef SLUICE_KEYWORD_OPTION_H
#define SLUICE_KEYWORD_OPTION_H

#include <stdint.h>

#include "sluice/keyword.h"

/* Parses a number in [low, high]; `what` names the number in the error message. Returns 0 and sets *out, or returns
 * -EINVAL after an error was reported. */
int option_number(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                  int64_t *out);

/* Parses a number or the name of a byte_extract variable. Sets *index to the variable's index in inspection.values, or
 * to -1 for a number. Returns like option_number(). */
int option_number_or_value(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                           int64_t *out, int8_t *index);

/* Returns whether the text is the name of a variable, which begins with a letter. */
bool option_is_name(struct span text);

/* Returns the index of a variable in inspection.values, or -EINVAL after an error was reported. */
int option_value(struct rule_parser *parser, struct span name);

/* Adds a variable to the rule unless it has one of this name. Returns its index in inspection.values, or -EINVAL after
 * an error was reported. */
int option_new_value(struct rule_parser *parser, struct span name);

/* An option: its name, the handler, and the `argument` that is passed to the handler. */
struct option {
    const char *name;
    int (*set)(struct rule_parser *parser, struct span value, void *data, int argument);
    int argument;
    bool has_value; /* true: the option is written `name value`; false: `name` alone */
};

/* Parses the comma-separated options in `rest`, which may be empty (rest.at is NULL), and calls their handlers with
 * `data`. Returns 0, or the error of a handler. */
int option_list(struct rule_parser *parser, struct span rest, const struct option *options, size_t count, void *data);

/* Calls the handler of the option in `part`. Returns its result, or -EINVAL after reporting an unknown option. */
int option_apply(struct rule_parser *parser, struct span part, const struct option *options, size_t count, void *data);

#endif
