/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of `sluice update`: files are exchanged, put back and compared; two rule sets are compared. What the command
 * does with suricata-update is in tests/product/update. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/rule_test.h"
#include "cli/update_priv.h"

static char folder[] = "/tmp/test_update.XXXXXX";
static struct update *update;

static void setup(void)
{
    strcpy(folder + sizeof(folder) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    update = calloc(1, sizeof(*update));
    update_path(update->live, folder, "live");
    update_path(update->staging, folder, "staging");
    ck_assert_int_eq(mkdir(update->live, 0700), 0);
    ck_assert_int_eq(mkdir(update->staging, 0700), 0);
}

static void teardown(void)
{
    free(update);
    ck_assert_int_eq(update_remove_tree(folder), 0);
}

/* Writes a file; folders on the way are created. */
static void put(const char *base, const char *name, const char *content)
{
    char path[UPDATE_PATH_SIZE];
    FILE *file;

    update_path(path, base, name);
    for (char *slash = path + strlen(base) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs(content, file);
    fclose(file);
}

/* Checks the content of a file; NULL: the file does not exist. */
static void has(const char *base, const char *name, const char *content)
{
    char path[UPDATE_PATH_SIZE];
    struct text text;

    update_path(path, base, name);
    text_init(&text);
    if (!content) {
        ck_assert_int_eq(update_read_file(path, &text), -ENOENT);
    } else {
        ck_assert_int_eq(update_read_file(path, &text), 0);
        ck_assert_str_eq(text.bytes, content);
    }
    text_clear(&text);
}

START_TEST(files_are_exchanged_and_put_back)
{
    put(update->live, "suricata.rules", "old");
    put(update->live, "datasets/one", "old one");
    put(update->live, "local.rules", "mine");
    put(update->staging, "suricata.rules", "new");
    put(update->staging, "datasets/one", "new one");
    put(update->staging, "classification.config", "classes");
    ck_assert_int_eq(update_swap(update), 0);
    ck_assert_int_eq(update->swapped, 3);
    ck_assert_str_eq(update->entries[2]->d_name, "suricata.rules"); /* after the files that it names */
    has(update->live, "suricata.rules", "new");
    has(update->live, "datasets/one", "new one");
    has(update->live, "classification.config", "classes");
    has(update->live, "local.rules", "mine");
    has(update->staging, "suricata.rules", "old");
    has(update->staging, "datasets/one", "old one");
    ck_assert_int_eq(update_swap_back(update), 0);
    has(update->live, "suricata.rules", "old");
    has(update->live, "datasets/one", "old one");
    has(update->live, "classification.config", NULL);
    has(update->staging, "suricata.rules", "new");
    has(update->staging, "classification.config", "classes");
}
END_TEST

START_TEST(a_failed_exchange_changes_nothing)
{
    put(update->live, "a", "old a");
    put(update->staging, "a", "new a");
    put(update->staging, "b", "new b");
    ck_assert_int_eq(update_swap(update), 0);
    ck_assert_int_eq(update_swap_back(update), 0);
    ck_assert_int_eq(update_swap(update), 0);
    update_swap_finish(update);
    ck_assert_int_eq(update_swap_back(update), 0); /* too late */
    has(update->live, "a", "new a");
    has(update->staging, "a", "old a");
    put(update->staging, "b", "new b");
    update_path(update->live, folder, "missing"); /* the folder of the rules is gone */
    ck_assert_int_eq(update_swap(update), -ENOENT);
    ck_assert_int_eq(update->swapped, 0);
    has(update->staging, "a", "old a");
    has(update->staging, "b", "new b");
    update_path(update->staging, folder, "nothing");
    ck_assert_int_eq(update_swap(update), -ENOENT);
}
END_TEST

START_TEST(trees_are_compared_by_content)
{
    put(update->live, "suricata.rules", "rules");
    put(update->live, "datasets/one", "values");
    put(update->live, "other", "more");
    put(update->staging, "suricata.rules", "rules");
    put(update->staging, "datasets/one", "values");
    ck_assert(update_same_tree(update->staging, update->live)); /* files of others do not count */
    ck_assert(!update_same_tree(update->live, update->staging));
    put(update->staging, "datasets/one", "valves");
    ck_assert(!update_same_tree(update->staging, update->live));
    put(update->staging, "datasets/one", "");
    ck_assert(!update_same_tree(update->staging, update->live));
    put(update->live, "datasets/one", "");
    ck_assert(update_same_tree(update->staging, update->live));
    put(update->staging, "datasets/two", "");
    ck_assert(!update_same_tree(update->staging, update->live));
}
END_TEST

START_TEST(a_file_is_copied_and_a_tree_removed)
{
    char from[UPDATE_PATH_SIZE], to[UPDATE_PATH_SIZE];

    put(update->live, "a", "content");
    put(update->staging, "b", "longer than the content");
    update_path(from, update->live, "a");
    update_path(to, update->staging, "b");
    ck_assert_int_eq(update_copy_file(from, to), 0);
    has(update->staging, "b", "content");
    update_path(from, update->live, "none");
    ck_assert_int_eq(update_copy_file(from, to), -ENOENT);
    has(update->staging, "b", "content");
    ck_assert_int_eq(update_remove_tree(update->staging), 0);
    ck_assert_int_eq(update_remove_tree(update->staging), 0);
    ck_assert_int_ne(access(update->staging, F_OK), 0);
}
END_TEST

START_TEST(rule_sets_are_compared_by_id_and_text)
{
    struct rule_stamp before[] = { { 1, 1, 10 }, { 1, 2, 20 }, { 1, 4, 40 }, { 3, 1, 1 } };
    struct rule_stamp after[] = { { 1, 2, 21 }, { 1, 3, 30 }, { 1, 4, 40 }, { 1, 5, 50 }, { 3, 1, 1 }, { 4, 1, 1 } };
    const struct rule_test one = { .loaded = 4, .stamps = before }, other = { .loaded = 6, .stamps = after };
    const struct rule_test none = { .loaded = 0 };
    struct rule_changes changes = rule_test_compare(&one, &other);

    ck_assert_uint_eq(changes.added, 3);
    ck_assert_uint_eq(changes.removed, 1);
    ck_assert_uint_eq(changes.changed, 1);
    changes = rule_test_compare(&none, &other);
    ck_assert_uint_eq(changes.added, 6);
    changes = rule_test_compare(&one, &none);
    ck_assert_uint_eq(changes.removed, 4);
    changes = rule_test_compare(&one, &one);
    ck_assert_uint_eq(changes.added + changes.removed + changes.changed, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("update");
    TCase *tcase = tcase_create("update");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, files_are_exchanged_and_put_back);
    tcase_add_test(tcase, a_failed_exchange_changes_nothing);
    tcase_add_test(tcase, trees_are_compared_by_content);
    tcase_add_test(tcase, a_file_is_copied_and_a_tree_removed);
    tcase_add_test(tcase, rule_sets_are_compared_by_id_and_text);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
