/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A detector with rules as text, for packets made by hand. */
#ifndef DETECT_RIG_H
#define DETECT_RIG_H

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "detect/detect_priv.h"
#include "sluice/keyword.h"

static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct ruleset *ruleset;
static struct detector *detector;

static inline void load(const char *text)
{
    struct detector_options detector_options;
    struct ruleset_options options;
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;
    const char *words[2 * APP_MAX_PROTOCOLS];

    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    app_list_names(words, sizeof(words) / sizeof(words[0]));
    const struct rule_list_options list_options = { .keywords = keywords,
                                                    .variables = variables,
                                                    .applications = words };

    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ruleset_options_default(&options);
    ck_assert_int_eq(ruleset_new(&ruleset, list, &options, diag), 0);
    detector_options_default(&detector_options);
    ck_assert_int_eq(detector_new(&detector, &detector_options), 0);
    ck_assert_int_eq(detector_prepare(detector, ruleset), 0);
    diag_free(diag);
}

static inline void unload(void)
{
    detector_free(detector);
    ruleset_free(ruleset);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

#endif
