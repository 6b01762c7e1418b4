/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See detect_rig.h. */
#include "detect_rig.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "default_options.h"
#include "sluice/app.h"
#include "sluice/keyword.h"

static struct keyword_table *keywords;
static struct rule_variables *variables;
struct ruleset *detect_rig_ruleset;
struct detector *detect_rig_detector;

void detect_rig_load(const char *text)
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
                                                    .datasets = datasets_new_default(NULL),
                                                    .owns_datasets = true,
                                                    .applications = words,
                                                    .hooks = &app_hook_names };

    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ruleset_options_default(&options);
    ck_assert_int_eq(ruleset_new(&detect_rig_ruleset, list, &options, diag), 0);
    detector_options_default(&detector_options);
    ck_assert_int_eq(detector_new(&detect_rig_detector, &detector_options), 0);
    ck_assert_int_eq(detector_prepare(detect_rig_detector, detect_rig_ruleset), 0);
    diag_free(diag);
}

void detect_rig_unload(void)
{
    detector_free(detect_rig_detector);
    ruleset_free(detect_rig_ruleset);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}
