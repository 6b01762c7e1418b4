/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the text of a rule's options with the real parser, for tests. In addition to the keywords of the build there
 * is `test.buffer`, a sticky buffer, and `http.uri` if the build does not have it.
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
    const struct rule *rule; /* NULL after an error */
    const char *message;     /* the first error, or "" */
    size_t at;               /* offset of the first error in the options */
    size_t errors;
};

/* `options` may contain any bytes and need not be terminated. */
void rule_text_open(struct rule_text *text, const char *options, size_t length);
void rule_text_close(struct rule_text *text);

#endif
