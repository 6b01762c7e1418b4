/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arena, diagnostics, cursor and folders; ring, text and address have separate tests. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/arena.h"
#include "sluice/array.h"
#include "sluice/bytes.h"
#include "sluice/diag.h"
#include "sluice/folder.h"

START_TEST(arena_lends_zeroed_aligned_memory)
{
    static const size_t sizes[] = { 0, 1, 15, 16, 17, 100, 4000, 70000, 1 << 20 };
    struct arena *arena = arena_new(4096);

    ck_assert_ptr_nonnull(arena);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *bytes = arena_alloc(arena, sizes[i]);

            ck_assert_ptr_nonnull(bytes);
            ck_assert_uint_eq((uintptr_t)bytes % 16, 0);
            bool zeroed = true; /* one assertion for all bytes, because each one costs a write to a file */

            for (size_t k = 0; k < sizes[i]; k++)
                zeroed &= bytes[k] == 0;
            ck_assert(zeroed);
            memset(bytes, 0xff, sizes[i]);
        }
        size_t reserved = arena_reserved(arena);

        arena_reset(arena);
        ck_assert_uint_eq(arena_used(arena), 0);
        ck_assert_uint_eq(arena_reserved(arena), reserved);
    }
    ck_assert_ptr_null(arena_alloc(arena, SIZE_MAX));
    arena_free(arena);
    arena_free(NULL);
}
END_TEST

START_TEST(arena_reuses_its_blocks_after_a_reset)
{
    struct arena *arena = arena_new(1024);

    for (int i = 0; i < 100; i++) {
        bool lent = true;

        for (int k = 0; k < 50; k++)
            lent &= arena_alloc(arena, 100) != NULL;
        ck_assert(lent);
        arena_reset(arena);
    }
    ck_assert_uint_le(arena_reserved(arena), 50 * 112 + 2 * 1024);
    arena_free(arena);
}
END_TEST

/* Returns the resident bytes of the shared mappings and mapped files of this process. */
static size_t resident_shared(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*u %*u %llu", &pages), 1);
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

START_TEST(a_cold_arena_is_paged_out)
{
    enum { TEXTS = 2000, TEXT_SIZE = 4096, ALL = TEXTS * TEXT_SIZE };
    struct arena *arena = arena_new_cold(1 << 20);
    unsigned char *texts[TEXTS];
    size_t before, intact = 0;

    ck_assert_ptr_nonnull(arena);
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = arena_alloc(arena, TEXT_SIZE);
        ck_assert_ptr_nonnull(texts[i]);
        memset(texts[i], i & 0xff, TEXT_SIZE);
    }
    before = resident_shared();
    arena_page_out(arena);
    ck_assert_uint_le(resident_shared() + ALL / 10 * 9, before);
    for (int i = 0; i < TEXTS; i++)
        intact += texts[i][0] == (i & 0xff) && texts[i][TEXT_SIZE - 1] == (i & 0xff);
    ck_assert_uint_eq(intact, TEXTS);
    ck_assert_ptr_nonnull(arena_alloc(arena, TEXT_SIZE));
    arena_free(arena);
}
END_TEST

START_TEST(arena_copies_strings)
{
    struct arena *arena = arena_new(0);

    ck_assert_str_eq(arena_strndup(arena, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_strdup(arena, ""), "");
    ck_assert_str_eq(arena_printf(arena, "%d-%s", 7, "x"), "7-x");
    arena_free(arena);
}
END_TEST

static char *print(const struct diag *diag)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    diag_print(diag, file, false);
    fclose(file);
    return text;
}

START_TEST(diag_points_at_the_text)
{
    struct diag *diag = diag_new();
    char line[] = "alert tcp (sid:abc;)\nnext line";
    struct position at = { .file = "web.rules", .line_text = line, .line = 42, .column = 16, .width = 3 };

    diag_error(diag, at, "'sid' needs a number, got '%s'", "abc");
    memset(line, 'X', sizeof(line) - 1); /* entries keep copies */

    char *text = print(diag);

    ck_assert_str_eq(text, "web.rules:42:16: error: 'sid' needs a number, got 'abc'\n"
                           "alert tcp (sid:abc;)\n"
                           "               ^~~\n");
    free(text);
    ck_assert_uint_eq(diag_errors(diag), 1);
    ck_assert_uint_eq(diag_warnings(diag), 0);
    diag_clear(diag);
    ck_assert_uint_eq(diag_count(diag), 0);
    diag_free(diag);
    diag_free(NULL);
}
END_TEST

START_TEST(diag_cuts_a_long_line_around_the_caret)
{
    struct diag *diag = diag_new();
    char line[1001];
    struct position at = { .file = "f", .line_text = line, .line = 1, .column = 901, .width = 1 };

    memset(line, 'a', 1000);
    line[900] = 'B';
    line[1000] = '\0';
    diag_warning(diag, at, "here");

    char *text = print(diag);
    size_t shown = strcspn(text, "\n") + 1;
    size_t caret_line = shown + strcspn(text + shown, "\n") + 1;

    ck_assert_uint_lt(strlen(text), 500);
    ck_assert_int_eq(text[shown + strcspn(text + caret_line, "^")], 'B');
    free(text);
    diag_free(diag);
}
END_TEST

START_TEST(diag_prints_no_control_characters)
{
    struct diag *diag = diag_new();
    struct position at = { .file = "f", .line_text = "a\033[31mb", .line = 1, .column = 2 };

    diag_error(diag, at, "got '%s'", "\033[2J");

    char *text = print(diag);

    ck_assert_ptr_null(strchr(text, '\033'));
    free(text);
    diag_free(diag);
}
END_TEST

START_TEST(diag_is_bounded)
{
    struct diag *diag = diag_new();
    struct position at = { .file = "f", .line = 1, .column = 1 };

    for (size_t i = 0; i < DIAG_MAX_ENTRIES + 10; i++)
        diag_error(diag, at, "x");
    ck_assert_uint_eq(diag_count(diag), DIAG_MAX_ENTRIES);
    ck_assert_uint_eq(diag_errors(diag), DIAG_MAX_ENTRIES + 10);
    diag_free(diag);
}
END_TEST

static void collect_tag(const char *tag, size_t count, void *user)
{
    char *text = user;

    sprintf(text + strlen(text), "%s=%zu ", tag, count);
}

START_TEST(diag_counts_tags_most_frequent_first)
{
    static const char *const tags[] = { "b", "a", "b", NULL, "c", "b", "a" };
    struct diag *diag = diag_new();
    char text[100] = "";

    for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
        diag_report(diag, DIAG_ERROR, (struct position){ 0 }, tags[i], "x");
    diag_report(diag, DIAG_UNSUPPORTED, (struct position){ 0 }, "d", "x");
    diag_each_tag(diag, DIAG_ERROR, collect_tag, text);
    ck_assert_str_eq(text, "b=3 a=2 c=1 ");
    diag_free(diag);
}
END_TEST

START_TEST(cursor_never_passes_the_end)
{
    static const uint8_t bytes[] = { 1, 2, 3, 4, 5 };
    struct cursor cur = cursor_of(bytes, sizeof(bytes));
    uint32_t word = 0;
    uint16_t half = 0;
    uint8_t byte = 0;

    ck_assert(cursor_be32(&cur, &word));
    ck_assert_uint_eq(word, 0x01020304);
    ck_assert(!cursor_be16(&cur, &half));
    ck_assert_uint_eq(half, 0);
    ck_assert_uint_eq(cursor_remaining(&cur), 1);
    ck_assert_ptr_null(cursor_read(&cur, SIZE_MAX));
    ck_assert(cursor_u8(&cur, &byte));
    ck_assert_uint_eq(byte, 5);
    ck_assert(!cursor_u8(&cur, &byte));
    ck_assert(!cursor_skip(&cur, 1));
    cur = cursor_of(bytes, sizeof(bytes));
    cursor_limit(&cur, 2);
    ck_assert_ptr_null(cursor_peek(&cur, 3));
    ck_assert_ptr_nonnull(cursor_peek(&cur, 2));
    cur = cursor_of(NULL, 0);
    ck_assert_uint_eq(cursor_remaining(&cur), 0);
}
END_TEST

START_TEST(folder_is_made_with_those_above)
{
    char base[] = "/tmp/sluice_folder_XXXXXX", inner[64], deep[80], too_long[PATH_MAX + 1];
    struct stat st;

    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(inner, sizeof(inner), "%s/a", base);
    snprintf(deep, sizeof(deep), "%s/b/", inner);
    ck_assert_int_eq(folder_create(deep), 0);
    ck_assert_int_eq(folder_create_for_owner(deep, 1, 1), 0); /* the folder exists, so its owner does not change */
    ck_assert_int_eq(stat(deep, &st), 0);
    ck_assert_uint_eq(st.st_uid, geteuid());
    ck_assert(S_ISDIR(st.st_mode) && (st.st_mode & 07027) == 0);
    ck_assert_int_eq(rmdir(deep), 0);
    ck_assert_int_eq(rmdir(inner), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(folder_create_for_owner(deep, 1, 2), 0);
        ck_assert_int_eq(stat(deep, &st), 0);
        ck_assert(st.st_uid == 1 && st.st_gid == 2);
        ck_assert_int_eq(stat(inner, &st), 0);
        ck_assert(st.st_uid == 1 && st.st_gid == 2);
        ck_assert_int_eq(rmdir(deep), 0);
        ck_assert_int_eq(rmdir(inner), 0);
    }
    ck_assert_int_eq(rmdir(base), 0);
    ck_assert_int_eq(folder_create("/proc/none/here"), -ENOENT);
    ck_assert_int_eq(folder_create(""), -ENAMETOOLONG);
    memset(too_long, 'a', PATH_MAX);
    too_long[PATH_MAX] = '\0';
    ck_assert_int_eq(folder_create(too_long), -ENAMETOOLONG);
}
END_TEST

START_TEST(array_grows_and_keeps_its_items)
{
    uint32_t *items = NULL;
    size_t count = 0, capacity = 0, huge = SIZE_MAX / 2 / sizeof(*items);

    for (; count < 1000; count++) {
        ck_assert_int_eq(array_grow(&items, count, &capacity, sizeof(*items)), 0);
        ck_assert_uint_gt(capacity, count);
        items[count] = (uint32_t)count;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(items[i], i);
    ck_assert_int_eq(array_grow(&items, huge, &huge, sizeof(*items)), -ENOMEM);
    ck_assert_uint_eq(huge, SIZE_MAX / 2 / sizeof(*items));
    ck_assert_uint_eq(items[count - 1], count - 1);
    free(items);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tcase = tcase_create("base");

    tcase_add_test(tcase, arena_lends_zeroed_aligned_memory);
    tcase_add_test(tcase, arena_reuses_its_blocks_after_a_reset);
    tcase_add_test(tcase, a_cold_arena_is_paged_out);
    tcase_add_test(tcase, arena_copies_strings);
    tcase_add_test(tcase, diag_points_at_the_text);
    tcase_add_test(tcase, diag_cuts_a_long_line_around_the_caret);
    tcase_add_test(tcase, diag_prints_no_control_characters);
    tcase_add_test(tcase, diag_is_bounded);
    tcase_add_test(tcase, diag_counts_tags_most_frequent_first);
    tcase_add_test(tcase, folder_is_made_with_those_above);
    tcase_add_test(tcase, cursor_never_passes_the_end);
    tcase_add_test(tcase, array_grows_and_keeps_its_items);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
