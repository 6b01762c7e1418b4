/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a keyword's value: numbers, names of byte_extract variables, and lists of `name` or `name value` after
 * commas, read by tables of handlers.
 */
#ifndef SLUICE_KEYWORD_OPTION_H
#define SLUICE_KEYWORD_OPTION_H

#include <stdint.h>

#include "sluice/keyword.h"

/* A number in [low, high]; `what` names it in the message. 0 or -EINVAL after an error; *out only on success. */
int option_number(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                  int64_t *out);

/* The same, or a byte_extract variable: then *index is its place in inspection.values, otherwise -1. */
int option_number_or_value(struct rule_parser *parser, struct span text, const char *what, int64_t low, int64_t high,
                           int64_t *out, int8_t *index);

/* Whether text is the name of a variable (it starts with a letter). */
bool option_is_name(struct span text);

/* Looks up a variable: its index, or -EINVAL after an error. */
int option_value(struct rule_parser *parser, struct span name);

/* A new variable, or one of the same name: its index, or -EINVAL after an error. */
int option_new_value(struct rule_parser *parser, struct span name);

/* One name of a list, its handler and what it is told besides. */
struct option {
    const char *name;
    int (*set)(struct rule_parser *parser, struct span value, void *data, int argument);
    int argument;
    bool has_value; /* `name value` */
};

/* Reads `rest`, the parts of a list after the positional ones; rest.at NULL is an empty list. */
int option_list(struct rule_parser *parser, struct span rest, const struct option *options, size_t count, void *data);

/* Hands one part to its option. */
int option_apply(struct rule_parser *parser, struct span part, const struct option *options, size_t count, void *data);

#endif
