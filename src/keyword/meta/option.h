/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing of keyword values: numbers, names of byte_extract variables, and comma-separated lists of `name` or `name
 * value`, dispatched by tables of handlers.
 */
#ifndef SLUICE_KEYWORD_OPTION_H
#define SLUICE_KEYWORD_OPTION_H

#include <stdint.h>

#include "sluice/keyword.h"

/* Parses a number in [low, high]; `what` names it in the error message. 0 or -EINVAL after an error; sets *out only on
 * success. */
int option_number(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                  int64_t *out);

/* Parses a number or a byte_extract variable: for a variable, *index is its index into inspection.values, otherwise -1.
 */
int option_number_or_value(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                           int64_t *out, int8_t *index);

/* Whether the text is the name of a variable (begins with a letter). */
bool option_is_name(struct span text);

/* Returns the index of a variable, or -EINVAL after an error. */
int option_value(struct rule_parser *parser, struct span name);

/* Adds a variable, or finds the one of the same name: returns its index, or -EINVAL after an error. */
int option_new_value(struct rule_parser *parser, struct span name);

/* One option name with its handler and the handler's argument. */
struct option {
    const char *name;
    int (*set)(struct rule_parser *parser, struct span value, void *data, int argument);
    int argument;
    bool has_value; /* `name value` */
};

/* Parses `rest`, the options after the positional parts; rest.at NULL is an empty list. */
int option_list(struct rule_parser *parser, struct span rest, const struct option *options, size_t count, void *data);

/* Calls the handler of one option. */
int option_apply(struct rule_parser *parser, struct span part, const struct option *options, size_t count, void *data);

#endif
