/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File keywords: names, sizes, types, digests, and filestore. Rules are parsed by the real parser, and evaluated on
 * files that the tests define. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detect/inspect.h"
#include "rule_text.h"
#include "sluice/app.h"
#include "sluice/file.h"

/* --- Parsed rules --------------------------------------------------------------------------------- */

static const struct {
    const char *options, *mistake; /* expected error message; NULL: valid */
    unsigned needs;
} parsed[] = {
    { "filename:\"a|2e|b\";", NULL, 0 },
    { "filename:a.b; nocase;", "the content has a nocase already", 0 },
    { "filename:a|b;", "a value with | or \\ must be in double quotes", 0 },
    { "filename:\"\";", "the content is empty", 0 },
    { "fileext:!\"exe\";", NULL, 0 },
    { "fileext:tar.gz;", NULL, 0 },
    { "filename:\"a\"; fileext:\"b\"; content:\"c\";", NULL, 0 },
    { "filemagic:\"PDF\";", NULL, RULE_FILE_MAGIC },
    { "filemagic:PDF;", "the bytes to search for must be in double quotes", 0 },
    { "file.magic; content:\"PDF\";", NULL, RULE_FILE_MAGIC },
    { "file.name; content:\"a\"; bsize:5;", NULL, 0 },
    { "filesize:5;", NULL, 0 },
    { "filesize:1 <> 3;", NULL, 0 },
    { "filesize:many;", "expected a number from 0 to 18446744073709551615, got 'many'", 0 },
    { "filesha1:/nowhere/list;", "/nowhere/list: No such file or directory", 0 },
    { "filemd5:!/dev/null;", "/dev/null: Invalid argument", 0 },
    { "filestore;", NULL, RULE_FILE_STORE },
    { "filestore:response;", NULL, RULE_FILE_STORE },
    { "filestore:both,flow;", NULL, RULE_FILE_STORE },
    { "filestore:to_server , file;", NULL, RULE_FILE_STORE },
    { "filestore:up;", "the direction of 'filestore' must be request, response or both, got 'up'", 0 },
    { "filestore:both,all;", "the scope of 'filestore' must be file, tx or flow, got 'all'", 0 },
    { "filestore:both,tx,x;", "'filestore' has at most two arguments, a direction and a scope", 0 },
};

START_TEST(parses)
{
    struct rule_text text;

    rule_text_open(&text, parsed[_i].options, strlen(parsed[_i].options));
    if (parsed[_i].mistake)
        ck_assert_str_eq(text.message, parsed[_i].mistake);
    else if (!text.rule)
        ck_abort_msg("%s: %s", parsed[_i].options, text.message);
    else
        ck_assert_uint_eq(text.rule->file_needs, parsed[_i].needs);
    rule_text_close(&text);
}
END_TEST

/* --- Names ---------------------------------------------------------------------------------------- */

static const struct {
    const char *options, *name;
    bool matches;
} names[] = {
    { "filename:\"secret\";", "my.SECRET.txt", true },
    { "filename:\"SECRET\";", "secret", true },
    { "filename:\"secret\";", "secre", false },
    { "filename:!\"secret\";", "x", true },
    { "filename:!\"secret\";", "secrets", false },
    { "filename:secret;", "Secret", true },
    { "fileext:\"exe\";", "a.ExE", true },
    { "fileext:\"exe\";", "exe", false },
    { "fileext:\"exe\";", "a.exe.txt", false },
    { "fileext:\"EXE\";", "a.exe.exe", true },
    { "fileext:\"tar.gz\";", "x.tar.gz", true },
    { "fileext:!\"exe\";", "a.txt", true },
    { "fileext:!\"exe\";", "a.exe", false },
    { "filename:\"a\"; fileext:\"exe\";", "ba.exe", true },
    { "filename:\"a\"; fileext:\"exe\";", "b.exe", false },
};

START_TEST(names_match)
{
    struct rule_text text;
    struct match_input input = { 0 };

    rule_text_open(&text, names[_i].options, strlen(names[_i].options));
    ck_assert_ptr_nonnull(text.rule);
    for (const struct rule_buffer *buffer = text.rule->buffers; buffer; buffer = buffer->next) {
        struct inspection inspection = {
            .input = &input,
            .data = (const uint8_t *)names[_i].name,
            .length = (uint32_t)strlen(names[_i].name),
            .steps_left = 1000,
        };

        if (!buffer->conditions)
            continue;
        ck_assert_str_eq(buffer->keyword->name, "file.name");
        if (inspect_buffer(&inspection, buffer->conditions) != names[_i].matches)
            ck_abort_msg("%s on %s", names[_i].options, names[_i].name);
    }
    rule_text_close(&text);
}
END_TEST

/* --- Conditions on files -------------------------------------------------------------------------- */

static enum file_match ask(const char *options, const struct file *file)
{
    struct rule_text text;
    enum file_match result = FILE_MATCH_YES;

    rule_text_open(&text, options, strlen(options));
    if (!text.rule)
        ck_abort_msg("%s: %s", options, text.message);
    for (const struct condition *c = text.rule->file_conditions; c; c = c->next) {
        enum file_match one = c->keyword->file.match(file, c->data);

        ck_assert(!c->negated);
        result = one == FILE_MATCH_YES ? result : one;
    }
    rule_text_close(&text);
    return result;
}

enum { NO = FILE_MATCH_NO, YES = FILE_MATCH_YES, LATER = FILE_MATCH_LATER };

static const struct {
    const char *options;
    uint64_t size;
    int open, closed, truncated; /* enum file_match */
} sizes[] = {
    { "filesize:10;", 10, LATER, YES, NO },     { "filesize:10;", 9, LATER, NO, NO },
    { "filesize:10;", 11, LATER, NO, NO },      { "filesize:>10;", 10, LATER, NO, NO },
    { "filesize:>10;", 11, YES, YES, YES },     { "filesize:>=10;", 10, YES, YES, YES },
    { "filesize:<10;", 9, LATER, YES, NO },     { "filesize:<10;", 10, LATER, NO, NO },
    { "filesize:10<>20;", 11, LATER, YES, NO }, { "filesize:10<>20;", 20, LATER, NO, NO },
    { "filesize:!10;", 11, LATER, YES, NO },    { "filesize:1kb;", 1024, LATER, YES, NO },
};

START_TEST(sizes_match)
{
    struct file file = { .size = sizes[_i].size };

    ck_assert_int_eq(ask(sizes[_i].options, &file), sizes[_i].open);
    file.state = FILE_CLOSED;
    ck_assert_int_eq(ask(sizes[_i].options, &file), sizes[_i].closed);
    file.state = FILE_TRUNCATED;
    ck_assert_int_eq(ask(sizes[_i].options, &file), sizes[_i].truncated);
}
END_TEST

static const struct {
    const char *options, *magic;
    bool done;
    enum file_state state;
    int match; /* enum file_match */
} magics[] = {
    { "filemagic:\"pdf DOC\";", "PDF document, version 1.4", true, FILE_OPEN, YES },
    { "filemagic:\"1.4|00|\";", "PDF document, version 1.4", true, FILE_OPEN, YES },
    { "filemagic:\"version|00|\";", "PDF document, version 1.4", true, FILE_OPEN, NO },
    { "filemagic:\"PNG\";", "PDF document", true, FILE_CLOSED, NO },
    { "filemagic:!\"PNG\";", "PDF document", true, FILE_OPEN, YES },
    { "filemagic:!\"PDF\";", "PDF document", true, FILE_OPEN, NO },
    { "filemagic:\"PDF\";", NULL, false, FILE_OPEN, LATER },
    { "filemagic:!\"PDF\";", NULL, false, FILE_OPEN, LATER },
    { "filemagic:!\"PDF\";", NULL, true, FILE_OPEN, NO },
    { "filemagic:!\"PDF\";", NULL, false, FILE_TRUNCATED, NO },
};

START_TEST(magics_match)
{
    struct file file = { .magic = magics[_i].magic, .magic_done = magics[_i].done, .state = magics[_i].state };

    ck_assert_int_eq(ask(magics[_i].options, &file), magics[_i].match);
}
END_TEST

/* --- Digests -------------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static const struct {
    const char *list;
    enum file_state state;
    unsigned digests;
    int match, negated; /* enum file_match */
} lists[] = {
    { "900150983cd24fb0d6963f7d28e17f72", FILE_CLOSED, 7, YES, NO },
    { "# a comment\n\n900150983CD24FB0D6963F7D28E17F72  abc.txt\r\n", FILE_CLOSED, 7, YES, NO },
    { "ffffffffffffffffffffffffffffffff\n900150983cd24fb0d6963f7d28e17f72\n00000000000000000000000000000000\n",
      FILE_CLOSED, 7, YES, NO },
    { "900150983cd24fb0d6963f7d28e17f73\n", FILE_CLOSED, 7, NO, YES },
    { "", FILE_CLOSED, 7, NO, YES },
    { "900150983cd24fb0d6963f7d28e17f72\n", FILE_OPEN, 7, LATER, LATER },
    { "900150983cd24fb0d6963f7d28e17f72\n", FILE_TRUNCATED, 7, NO, NO },
    { "900150983cd24fb0d6963f7d28e17f72\n", FILE_CLOSED, 6, NO, NO },
};

static const uint8_t md5_of_abc[] = { 0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2, 0x4f, 0xb0,
                                      0xd6, 0x96, 0x3f, 0x7d, 0x28, 0xe1, 0x7f, 0x72 };

START_TEST(digests_match)
{
    struct file file = { .state = lists[_i].state, .digests = lists[_i].digests };
    char path[] = "/tmp/sluice-digests-XXXXXX", options[128];
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    memcpy(file.digest[FILE_MD5], md5_of_abc, sizeof(md5_of_abc));
    write_text(path, lists[_i].list);
    snprintf(options, sizeof(options), "filemd5:%s;", path);
    ck_assert_int_eq(ask(options, &file), lists[_i].match);
    snprintf(options, sizeof(options), "filemd5:!\"%s\";", path);
    ck_assert_int_eq(ask(options, &file), lists[_i].negated);
    unlink(path);
}
END_TEST

START_TEST(a_line_of_another_length_is_a_mistake)
{
    char path[] = "/tmp/sluice-digests-XXXXXX", options[128], expected[160];
    struct rule_text text;
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    write_text(path, "-\n900150983cd24fb0d6963f7d28e17f72\n");
    snprintf(options, sizeof(options), "filesha256:%s;", path);
    snprintf(expected, sizeof(expected), "%s:2: the digest has 32 digits and not 64", path);
    rule_text_open(&text, options, strlen(options));
    ck_assert_str_eq(text.message, expected);
    rule_text_close(&text);
    unlink(path);
}
END_TEST

/* Lists of many unsorted digests: each is found, and similar ones are not. */
START_TEST(long_lists_are_searched)
{
    enum { COUNT = 5000 };
    char path[] = "/tmp/sluice-digests-XXXXXX", options[128];
    int fd = mkstemp(path);
    FILE *out = fdopen(fd, "w");
    struct rule_text text;
    unsigned found = 0;

    for (unsigned i = 0; i < COUNT; i++)
        fprintf(out, "%040x\n", i * 7919 % COUNT * 2);
    fclose(out);
    snprintf(options, sizeof(options), "filesha1:%s;", path);
    rule_text_open(&text, options, strlen(options));
    ck_assert_ptr_nonnull(text.rule);
    ck_assert_uint_eq(text.rule->file_needs, RULE_FILE_SHA1);
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        struct file file = { .state = FILE_CLOSED, .digests = 1 << FILE_SHA1 };
        const struct condition *c = text.rule->file_conditions;

        file.digest[FILE_SHA1][18] = (uint8_t)(i >> 8);
        file.digest[FILE_SHA1][19] = (uint8_t)i;
        if ((c->keyword->file.match(&file, c->data) == FILE_MATCH_YES) != (i % 2 == 0))
            ck_abort_msg("digest %u", i);
        found += i % 2 == 0;
    }
    ck_assert_uint_eq(found, COUNT);
    rule_text_close(&text);
    unlink(path);
}
END_TEST

/* --- filestore ------------------------------------------------------------------------------------ */

static const struct {
    const char *options;
    const char *kept; /* stored files of "ab" (to the server) and "cd" (to the client); the rule matches on a file to
                         the client */
    const char *new_kept; /* stored files of the later "e" (to the server) and "f" (to the client) */
} stores[] = {
    { "filestore;", "cd", "" },
    { "filestore; filesize:>1;", "d", "" },
    { "filestore:response,file;", "cd", "" },
    { "filestore:request,file;", "", "" },
    { "filestore:request;", "ab", "e" },
    { "filestore:response;", "cd", "f" },
    { "filestore:both,tx; filesize:>1;", "abcd", "ef" },
};

static void list_kept(const struct app_tx *tx, bool is_new, char *out)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        for (const struct file *file = tx->files[direction].first; file; file = file->next)
            if (file->store_requested && (file->name.bytes[0] >= 'e') == is_new)
                *out++ = (char)file->name.bytes[0];
    *out = '\0';
}

START_TEST(filestore_keeps_files)
{
    struct heap *heap;
    struct file_engine *engine;
    struct file_options options = { 0 };
    struct app_tx tx = { 0 };
    struct rule_text text;
    char kept[8];

    ck_assert_int_eq(heap_new(&heap, 1 << 20), 0);
    ck_assert_int_eq(file_engine_new(&engine, &options, heap), 0);
    for (int i = 0; i < 4; i++) {
        struct file *file = file_open(engine, &tx.files[i / 2], (uint32_t)i, "abcd" + i, 1);

        file_append(engine, file, "abc", 1 + (size_t)(i % 2));
        file_close(engine, file, FILE_CLOSED);
    }
    rule_text_open(&text, stores[_i].options, strlen(stores[_i].options));
    ck_assert_ptr_nonnull(text.rule);
    struct match_input input = { .files = engine, .transaction = &tx, .direction = FLOW_TO_CLIENT };

    text.rule->actions->act(&input, text.rule->actions->data);
    list_kept(&tx, false, kept);
    ck_assert_str_eq(kept, stores[_i].kept);
    file_open(engine, &tx.files[FLOW_TO_SERVER], 5, "e", 1);
    file_open(engine, &tx.files[FLOW_TO_CLIENT], 6, "f", 1);
    list_kept(&tx, true, kept);
    ck_assert_str_eq(kept, stores[_i].new_kept);
    rule_text_close(&text);
    file_list_clear(engine, &tx.files[0]);
    file_list_clear(engine, &tx.files[1]);
    file_engine_free(engine);
    heap_free(heap);
}
END_TEST

/* filestore in a rule without transaction is valid, but has no effect. */
START_TEST(filestore_without_a_transaction_does_nothing)
{
    struct rule_text text;
    struct match_input input = { 0 };

    rule_text_open(&text, "filestore;", 10);
    ck_assert_ptr_nonnull(text.rule);
    text.rule->actions->act(&input, text.rule->actions->data);
    rule_text_close(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keywords on files");
    TCase *tcase = tcase_create("keywords on files");

    tcase_add_loop_test(tcase, parses, 0, sizeof(parsed) / sizeof(parsed[0]));
    tcase_add_loop_test(tcase, names_match, 0, sizeof(names) / sizeof(names[0]));
    tcase_add_loop_test(tcase, sizes_match, 0, sizeof(sizes) / sizeof(sizes[0]));
    tcase_add_loop_test(tcase, magics_match, 0, sizeof(magics) / sizeof(magics[0]));
    tcase_add_loop_test(tcase, digests_match, 0, sizeof(lists) / sizeof(lists[0]));
    tcase_add_test(tcase, a_line_of_another_length_is_a_mistake);
    tcase_add_test(tcase, long_lists_are_searched);
    tcase_add_loop_test(tcase, filestore_keeps_files, 0, sizeof(stores) / sizeof(stores[0]));
    tcase_add_test(tcase, filestore_without_a_transaction_does_nothing);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
