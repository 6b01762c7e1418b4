/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress of loading: the reports, and when they are shown. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/load_progress.h"
#include "sluice/detect.h"
#include "sluice/keyword.h"

enum { MS = 1000000 };

START_TEST(a_line_comes_after_a_second)
{
    struct load_progress progress = { .begin_ns = 5 };
    char line[PROGRESS_SIZE];

    ck_assert_uint_eq(load_progress_line(&progress, 5 + 999 * MS, "a.rules", 1, 3, line), 0);
    ck_assert(!progress.shown);
    ck_assert_uint_gt(load_progress_line(&progress, 5 + 1000 * MS, "a.rules", 1, 3, line), 0);
    ck_assert_str_eq(line, "\rsluice: a.rules:  33 %\033[K");
    ck_assert(progress.shown);
    ck_assert_uint_eq(load_progress_line(&progress, 5 + 1099 * MS, "a.rules", 2, 3, line), 0);
    ck_assert_uint_eq(load_progress_line(&progress, 5 + 1100 * MS, "a.rules", 3, 3, line), strlen(line));
    ck_assert_str_eq(line, "\rsluice: a.rules: 100 %\033[K");
    ck_assert_uint_eq(load_progress_line(&progress, 5 + 2000 * MS, "an empty file", 0, 0, line), 0);
}
END_TEST

START_TEST(a_long_path_is_shown_by_its_end)
{
    struct load_progress progress = { .begin_ns = 0 };
    char path[1000], line[PROGRESS_SIZE];

    memset(path, 'x', sizeof(path));
    memcpy(path + sizeof(path) - 9, "/a.rules", 9);
    size_t length = load_progress_line(&progress, 2000 * MS, path, 1, 2, line);

    ck_assert_uint_gt(length, 0);
    ck_assert_uint_lt(length, 80);
    ck_assert_ptr_nonnull(strstr(line, "xxx/a.rules:  50 %"));
}
END_TEST

struct heard {
    size_t calls, last, total;
    const char *what;
};

static void hear(void *user, const char *what, size_t done, size_t total)
{
    struct heard *heard = user;

    if (heard->what && strcmp(heard->what, what) == 0) {
        ck_assert_uint_ge(done, heard->last);
        ck_assert_uint_eq(total, heard->total);
    }
    ck_assert_uint_le(done, total);
    *heard = (struct heard){ heard->calls + 1, done, total, what };
}

START_TEST(loading_says_how_far_it_is)
{
    static const char text[] = "alert tcp any any -> any any (content:\"one\"; sid:1;)\n"
                               "alert tcp any any -> any any (sid:wrong;)\n"
                               "alert tcp any any -> any 80 (content:\"two\"; sid:2;)\n";
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = rule_variables_new();
    const struct rule_list_options list_options = { .keywords = keywords, .variables = variables };
    struct ruleset_options options;
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;
    struct ruleset *ruleset;
    struct heard heard = { 0 };

    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    diag_on_progress(diag, hear, &heard);
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
    ck_assert_str_eq(heard.what, "test");
    ck_assert_uint_eq(heard.calls, 3);
    ck_assert_uint_eq(heard.last, strlen(text));
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ruleset_options_default(&options);
    heard = (struct heard){ 0 };
    ck_assert_int_eq(ruleset_new(&ruleset, list, &options, diag), 0);
    if (heard.calls > 0) /* other threads may have done all the work */
        ck_assert_str_eq(heard.what, "compiling the rules");
    diag_on_progress(diag, NULL, NULL);
    diag_progress(diag, "nobody", 1, 1);
    ruleset_free(ruleset);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    diag_free(diag);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress");
    TCase *tests = tcase_create("progress");

    tcase_add_test(tests, a_line_comes_after_a_second);
    tcase_add_test(tests, a_long_path_is_shown_by_its_end);
    tcase_add_test(tests, loading_says_how_far_it_is);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
