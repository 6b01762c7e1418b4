/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For tests: one rule out of the text of its options, through the real parser with all keywords of the build and more:
 * `test.buffer`, a buffer to select, and `http.uri`, if the build has none.
 */
#ifndef TEST_RULE_TEXT_H
#define TEST_RULE_TEXT_H

#include <stddef.h>

#include "sluice/diag.h"
#include "sluice/keyword.h"

struct rule_text {
    struct keyword_table *table;
    struct rule_variables *variables;
    struct rule_list *list;
    struct diag *diag;
    const struct rule *rule; /* NULL after a mistake */
    const char *message;     /* the first mistake; "" without one */
    size_t at;               /* its place in the options */
    size_t errors;
};

/* `options` need not be a string: the fuzz target has any bytes. */
void rule_text_open(struct rule_text *text, const char *options, size_t length);
void rule_text_close(struct rule_text *text);

#endif
