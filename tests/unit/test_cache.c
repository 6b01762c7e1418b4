/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cache of compiled databases: it returns only what was stored, whatever happened to its files. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "default_options.h"
#include "detect/cache.h"
#include "sluice/app.h"
#include "sluice/detect.h"
#include "sluice/keyword.h"

static char folder[64];
static const struct cache_key key_a = { { 0xa0, 1 } }, key_b = { { 0xb0, 2 } };

static void make_folder(void)
{
    snprintf(folder, sizeof(folder), "/tmp/sluice-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* Calls visit() for all files of the folder, and returns their number. */
static unsigned each_file(void (*visit)(const char *path))
{
    DIR *dir = opendir(folder);
    unsigned count = 0;

    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[PATH_MAX];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        if (visit)
            visit(path);
    }
    closedir(dir);
    return count;
}

static void remove_one(const char *path)
{
    ck_assert_int_eq(remove(path), 0);
}

static void remove_folder(void)
{
    each_file(remove_one);
    ck_assert_int_eq(rmdir(folder), 0);
}

static struct cache *open_it(uint64_t max_age_seconds, uint64_t max_bytes)
{
    struct cache *cache;

    ck_assert_int_eq(cache_open(&cache, &(struct cache_options){ .path = folder,
                                                                 .max_age_seconds = max_age_seconds,
                                                                 .max_bytes = max_bytes }),
                     0);
    return cache;
}

static const char *path_of(const struct cache_key *key)
{
    static char path[PATH_MAX];
    size_t used = (size_t)snprintf(path, sizeof(path), "%s/", folder);

    for (unsigned i = 0; i < CACHE_KEY_SIZE; i++)
        used += (size_t)snprintf(path + used, sizeof(path) - used, "%02x", key->bytes[i]);
    snprintf(path + used, sizeof(path) - used, ".database");
    return path;
}

static bool has(struct cache *cache, const struct cache_key *key, const char *text)
{
    struct cache_item item;

    if (!cache_get(cache, key, &item))
        return false;
    ck_assert_uint_eq(item.length, strlen(text));
    ck_assert_mem_eq(item.bytes, text, item.length);
    free(item.memory);
    return true;
}

/* Checks the number of warnings, and returns them as one text. */
static const char *told(const struct cache *cache, unsigned count)
{
    static char text[4096];
    struct diag *diag = diag_new();
    size_t used = 0;

    cache_report(cache, diag);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ck_assert_uint_eq(diag_warnings(diag), count);
    text[0] = '\0';
    for (size_t i = 0; i < diag_count(diag); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s: %s\n", diag_get(diag, i)->file,
                                 diag_get(diag, i)->message);
    diag_free(diag);
    return text;
}

/* --- A file --------------------------------------------------------------------------------------- */

enum { BYTES = 40, FILE_SIZE = CACHE_FILE_HEADER + BYTES };

static void make_file(uint8_t file[FILE_SIZE])
{
    for (unsigned i = 0; i < BYTES; i++)
        file[CACHE_FILE_HEADER + i] = (uint8_t)(i * 7);
    cache_file_header(file, &key_a, file + CACHE_FILE_HEADER, BYTES);
}

START_TEST(a_whole_file_is_taken)
{
    uint8_t file[FILE_SIZE];

    make_file(file);
    ck_assert_ptr_null(cache_file_check(&key_a, file, sizeof(file)));
    ck_assert_ptr_nonnull(cache_file_check(&key_b, file, sizeof(file)));
    cache_file_header(file, &key_a, NULL, 0);
    ck_assert_ptr_null(cache_file_check(&key_a, file, CACHE_FILE_HEADER));
}
END_TEST

/* Each length has a separate allocation, so that a sanitizer detects reads past the end. */
START_TEST(no_file_that_is_cut_or_grew_is_taken)
{
    uint8_t file[FILE_SIZE];

    make_file(file);
    for (size_t size = 0; size <= 2 * FILE_SIZE; size++) {
        uint8_t *copy = calloc(1, size ? size : 1);

        ck_assert_ptr_nonnull(copy);
        memcpy(copy, file, size < FILE_SIZE ? size : FILE_SIZE);
        ck_assert_int_eq(cache_file_check(&key_a, copy, size) == NULL, size == FILE_SIZE);
        free(copy);
    }
}
END_TEST

START_TEST(no_file_with_a_wrong_bit_is_taken)
{
    uint8_t file[FILE_SIZE];

    make_file(file);
    for (size_t bit = 0; bit < 8 * sizeof(file); bit++) {
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_msg(cache_file_check(&key_a, file, sizeof(file)), "bit %zu", bit);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert_ptr_null(cache_file_check(&key_a, file, sizeof(file)));
}
END_TEST

/* --- The folder ----------------------------------------------------------------------------------- */

START_TEST(what_was_put_is_got)
{
    make_folder();
    for (int round = 0; round < 2; round++) {
        struct cache *cache = open_it(0, 0);

        ck_assert_int_eq(has(cache, &key_a, "first"), round == 1);
        cache_put(cache, &key_a, "first", 5);
        ck_assert(has(cache, &key_a, "first"));
        ck_assert_int_eq(has(cache, &key_b, ""), round == 1);
        cache_put(cache, &key_b, "", 0);
        ck_assert(has(cache, &key_b, ""));
        told(cache, 0);
        cache_close(cache);
        ck_assert_uint_eq(each_file(NULL), 2); /* and no temporary file */
    }
    remove_folder();
}
END_TEST

START_TEST(the_folder_is_made)
{
    char base[sizeof(folder)];

    make_folder();
    memcpy(base, folder, sizeof(base));
    snprintf(folder, sizeof(folder), "%.40s/x/y", base);
    struct cache *cache = open_it(0, 0);

    cache_put(cache, &key_a, "1", 1);
    ck_assert(has(cache, &key_a, "1"));
    cache_close(cache);
    remove_folder();
    snprintf(folder, sizeof(folder), "%.40s/x", base);
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_int_eq(rmdir(base), 0);
}
END_TEST

static void overwrite(const char *path, const void *bytes, size_t length, off_t at)
{
    int file = open(path, O_WRONLY);

    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(pwrite(file, bytes, length, at), (ssize_t)length);
    close(file);
}

static void spoil_bytes(const char *path)
{
    overwrite(path, "?", 1, CACHE_FILE_HEADER + 3);
}

static void spoil_digest(const char *path)
{
    overwrite(path, "?!?!", 4, CACHE_FILE_HEADER - 4);
}

static void cut_off_end(const char *path)
{
    ck_assert_int_eq(truncate(path, CACHE_FILE_HEADER + 3), 0);
}

static void empty(const char *path)
{
    ck_assert_int_eq(truncate(path, 0), 0);
}

static void make_old_version(const char *path)
{
    overwrite(path, "\0", 1, 8);
}

static void let_others_write(const char *path)
{
    ck_assert_int_eq(chmod(path, 0666), 0);
}

static void make_link(const char *path)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
}

static void make_pipe(const char *path)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void put_another_there(const char *path)
{
    uint8_t file[FILE_SIZE];

    make_file(file);
    cache_file_header(file, &key_b, file + CACHE_FILE_HEADER, BYTES);
    ck_assert_int_eq(truncate(path, 0), 0);
    overwrite(path, file, sizeof(file), 0);
}

static const struct {
    void (*spoil)(const char *path);
    const char *cause;
} spoiled[] = {
    { spoil_bytes, "digest mismatch" },
    { spoil_digest, "digest mismatch" },
    { cut_off_end, "wrong length" },
    { empty, "wrong size" },
    { make_old_version, "written by another version" },
    { let_others_write, "another user can write the file" },
    { make_link, "symbolic link" },
    { make_pipe, "not a regular file" },
    { put_another_there, "key does not match the file name" },
};

/* A damaged file is reported once, with its name; storing the database again repairs it. */
START_TEST(a_spoiled_file_is_not_used_and_told)
{
    make_folder();
    struct cache *cache = open_it(0, 0);

    cache_put(cache, &key_a, "compiled", 8);
    spoiled[_i].spoil(path_of(&key_a));
    ck_assert(!has(cache, &key_a, "compiled"));
    ck_assert(!has(cache, &key_a, "compiled"));
    const char *text = told(cache, 1);

    ck_assert_msg(strstr(text, spoiled[_i].cause) && strstr(text, path_of(&key_a)), "%s", text);
    cache_put(cache, &key_a, "compiled", 8);
    ck_assert(has(cache, &key_a, "compiled"));
    cache_close(cache);
    cache = open_it(0, 0);
    ck_assert(has(cache, &key_a, "compiled"));
    told(cache, 0);
    cache_close(cache);
    remove_folder();
}
END_TEST

/* Root does not use the files of another user. It reports them only if the folder is not that user's. */
START_TEST(root_ignores_the_files_of_the_daemons_user)
{
    if (geteuid() != 0)
        return;
    make_folder();
    struct cache *cache = open_it(0, 0);

    cache_put(cache, &key_a, "compiled", 8);
    ck_assert_int_eq(chown(path_of(&key_a), 1000, 1000), 0);
    ck_assert_int_eq(chown(folder, 1000, 1000), 0);
    ck_assert(!has(cache, &key_a, "compiled"));
    told(cache, 0);
    ck_assert_int_eq(chown(folder, 1001, 1001), 0);
    ck_assert(!has(cache, &key_a, "compiled"));
    ck_assert_ptr_nonnull(strstr(told(cache, 1), "another user can write the file"));
    cache_close(cache);
    remove_folder();
}
END_TEST

START_TEST(many_spoiled_files_are_a_few_lines)
{
    make_folder();
    struct cache *cache = open_it(0, 0);

    for (uint8_t i = 0; i < 100; i++) {
        struct cache_key key = { { i } };

        cache_put(cache, &key, "compiled", 8);
        cut_off_end(path_of(&key));
        ck_assert(!has(cache, &key, "compiled"));
    }
    ck_assert_ptr_nonnull(strstr(told(cache, 9), "92 more"));
    cache_close(cache);
    remove_folder();
}
END_TEST

START_TEST(what_cannot_be_written_is_told_once)
{
    struct cache *cache;

    snprintf(folder, sizeof(folder), "/proc/self"); /* a folder in which even root cannot write */
    cache = open_it(60, 1);
    cache_put(cache, &key_a, "1", 1);
    cache_put(cache, &key_b, "2", 1);
    ck_assert(!has(cache, &key_a, "1"));
    ck_assert_ptr_nonnull(strstr(told(cache, 1), "/proc/self: cannot write to the cache: "));
    cache_expire(cache);
    cache_close(cache);
    ck_assert_int_eq(cache_open(&cache, &(struct cache_options){ .path = "/dev/null/x" }), -ENOTDIR);
    ck_assert_int_lt(cache_open(&cache, &(struct cache_options){ .path = "" }), 0);
}
END_TEST

/* --- Two at once ---------------------------------------------------------------------------------- */

enum { LARGE = 1 << 16, ROUNDS = 200 };

struct writer {
    pthread_t thread;
    unsigned hits;
    bool sound;
};

/* Each thread opens the cache itself, like two programs. */
static void *put_and_get(void *arg)
{
    struct writer *writer = arg;
    struct cache *cache;
    uint8_t *bytes = malloc(LARGE);

    writer->sound = bytes && cache_open(&cache, &(struct cache_options){ .path = folder }) == 0;
    for (unsigned i = 0; writer->sound && i < ROUNDS; i++) {
        struct cache_key key = { { (uint8_t)(i / 2) } };
        struct cache_item item;

        memset(bytes, key.bytes[0], LARGE);
        cache_put(cache, &key, bytes, LARGE);
        if (!cache_get(cache, &key, &item))
            continue;
        writer->hits++;
        writer->sound = item.length == LARGE && memcmp(item.bytes, bytes, LARGE) == 0;
        free(item.memory);
    }
    if (writer->sound) {
        struct diag *diag = diag_new();

        cache_expire(cache);
        cache_report(cache, diag);
        writer->sound = diag_count(diag) == 0;
        diag_free(diag);
        cache_close(cache);
    }
    free(bytes);
    return NULL;
}

START_TEST(two_writers_do_not_disturb_each_other)
{
    struct writer writers[2] = { 0 };

    make_folder();
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&writers[i].thread, NULL, put_and_get, &writers[i]), 0);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(writers[i].thread, NULL);
        ck_assert(writers[i].sound);
        ck_assert_uint_eq(writers[i].hits, ROUNDS); /* a stored database is always found */
    }
    ck_assert_uint_eq(each_file(NULL), ROUNDS / 2);
    remove_folder();
}
END_TEST

/* --- Tidying -------------------------------------------------------------------------------------- */

enum { HOUR = 3600, DAY = 24 * HOUR };

static void make_aged(const char *path, int64_t seconds)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - seconds } };

    times[1] = times[0];
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const struct cache_key aged[] = { { { 1 } }, { { 2 } }, { { 3 } }, { { 4 } } };
static const int64_t ages[] = { 30 * DAY, 8 * DAY, 2 * HOUR, 1800 };
static const struct {
    uint64_t max_age_seconds, max_bytes;
    bool stays[4];
} bounds[] = {
    { 0, 0, { true, true, true, true } },
    { 7 * DAY, 0, { false, false, true, true } },
    { 9 * DAY, 0, { false, true, true, true } },
    { 1, 0, { false, false, false, true } }, /* the newest file stays, because another program may be about to use it */
    { 0, 1 << 20, { true, true, true, true } },
    { 0, 3 * (CACHE_FILE_HEADER + 4), { false, true, true, true } },
    { 0, 3 * (CACHE_FILE_HEADER + 4) - 1, { false, false, true, true } },
    { 0, 1, { false, false, false, true } },
    { 9 * DAY, 2 * (CACHE_FILE_HEADER + 4), { false, false, true, true } },
};

START_TEST(what_is_old_or_too_much_goes)
{
    make_folder();
    struct cache *cache = open_it(bounds[_i].max_age_seconds, bounds[_i].max_bytes);

    for (unsigned i = 0; i < 4; i++) {
        cache_put(cache, &aged[i], "four", 4);
        make_aged(path_of(&aged[i]), ages[i]);
    }
    cache_expire(cache);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_msg((access(path_of(&aged[i]), F_OK) == 0) == bounds[_i].stays[i], "file %u", i);
    cache_close(cache);
    remove_folder();
}
END_TEST

START_TEST(what_is_used_stays)
{
    make_folder();
    struct cache *cache = open_it(DAY, 1);

    cache_put(cache, &key_a, "four", 4);
    make_aged(path_of(&key_a), 30 * DAY);
    ck_assert(has(cache, &key_a, "four"));
    cache_expire(cache);
    ck_assert(has(cache, &key_a, "four"));
    cache_close(cache);
    remove_folder();
}
END_TEST

/* The folder may contain files of other programs. */
START_TEST(files_of_others_are_left_alone)
{
    static const char *const names[] = { "12345_v2.hs", "abcd.database", ".new-1-2-3",
                                         "x000000000000000000000000000000000000000000000000000000000000000.database" };
    char path[PATH_MAX];

    make_folder();
    for (unsigned i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        close(open(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
        make_aged(path, 30 * DAY);
    }
    struct cache *cache = open_it(DAY, 1);

    cache_expire(cache);
    cache_close(cache);
    for (unsigned i = 0; i < 4; i++) { /* only the temporary file is removed */
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        ck_assert_int_eq(access(path, F_OK) == 0, i != 2);
    }
    remove_folder();
}
END_TEST

/* --- Rules ---------------------------------------------------------------------------------------- */

static const char rules[] = "alert tcp any any -> any any (content:\"one\"; sid:1;)\n"
                            "alert tcp any any -> any any (content:\"TWO\"; nocase; sid:2;)\n"
                            "alert tcp any any -> any any (content:\"two\"; nocase; sid:3;)\n"
                            "alert tcp any any -> any 80 (content:\"three\"; sid:4;)\n"
                            "alert udp any any -> any any (content:\"four\"; sid:5;)\n"
                            "alert http any any -> any any (http.uri; content:\"five\"; sid:6;)\n";

struct loaded {
    struct keyword_table *keywords;
    struct rule_variables *variables;
    struct ruleset *ruleset;
    struct diag *diag;
};

static void load(struct loaded *loaded, const char *text, const char *path)
{
    struct ruleset_options options;
    struct rule_list *list = NULL;

    loaded->diag = diag_new();
    loaded->keywords = keyword_table_new(keyword_list, keyword_list_count);
    loaded->variables = rule_variables_new();
    const char *words[2 * APP_MAX_PROTOCOLS];

    app_list_names(words, sizeof(words) / sizeof(words[0]));
    const struct rule_list_options list_options = { .keywords = loaded->keywords,
                                                    .variables = loaded->variables,
                                                    .applications = words };

    ck_assert_int_eq(rule_list_new(&list, &list_options, loaded->diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), loaded->diag), 0);
    ck_assert_int_eq(rule_list_finish(list, loaded->diag), 0);
    ck_assert_uint_eq(diag_count(loaded->diag), 0);
    ruleset_options_default(&options);
    options.cache_path = path;
    ck_assert_int_eq(ruleset_new(&loaded->ruleset, list, &options, loaded->diag), 0);
    ck_assert_uint_eq(diag_errors(loaded->diag), 0);
}

static void unload(struct loaded *loaded)
{
    ruleset_free(loaded->ruleset);
    rule_variables_free(loaded->variables);
    keyword_table_free(loaded->keywords);
    diag_free(loaded->diag);
}

static void check_hits(const struct ruleset *ruleset, const char *payload, uint16_t port, unsigned expected)
{
    struct detector_options options;
    struct detector *detector;
    const struct hit *hits;
    struct packet pkt = {
        .ip_version = 4,
        .protocol = IPPROTO_TCP,
        .source_port = 1,
        .destination_port = port,
        .payload = (const uint8_t *)payload,
        .payload_length = (uint32_t)strlen(payload),
    };
    unsigned sids = 0;

    detector_options_default(&options);
    ck_assert_int_eq(detector_new(&detector, &options), 0);
    ck_assert_int_eq(detector_prepare(detector, ruleset), 0);
    detect_packet(detector, ruleset, &(struct detect_input){ .packet = &pkt }, NULL);
    size_t count = detect_finish(detector, &hits);

    for (size_t i = 0; i < count; i++)
        sids |= 1u << hits[i].rule->sid;
    ck_assert_uint_eq(sids, expected);
    detector_free(detector);
}

/* Loads the rules; expects this number of databases from the cache (-1: all), and of warnings. */
static void expect_load(const char *text, const char *path, int cached, unsigned warnings)
{
    struct loaded loaded;
    struct ruleset_databases databases;

    load(&loaded, text, path);
    databases = ruleset_databases(loaded.ruleset);
    ck_assert_uint_gt(databases.count, 2);
    ck_assert_uint_eq(databases.cached, cached < 0 ? databases.count : (unsigned)cached);
    diag_print(loaded.diag, stderr, false);
    ck_assert_uint_eq(diag_warnings(loaded.diag), warnings);
    check_hits(loaded.ruleset, "one Two three four five", 80, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4);
    check_hits(loaded.ruleset, "One tWO three four five", 81, 1u << 2 | 1u << 3);
    unload(&loaded);
}

START_TEST(rules_from_the_cache_are_the_rules)
{
    make_folder();
    expect_load(rules, NULL, 0, 0);
    ck_assert_uint_eq(each_file(NULL), 0);
    expect_load(rules, folder, 0, 0);
    unsigned files = each_file(NULL);

    ck_assert_uint_gt(files, 2);
    expect_load(rules, folder, -1, 0);
    ck_assert_uint_eq(each_file(NULL), files);
    each_file(spoil_bytes);
    expect_load(rules, folder, 0, files);
    expect_load(rules, folder, -1, 0);
    remove_folder();
}
END_TEST

/* Only the database with the changed rule is compiled. */
START_TEST(rules_that_changed_are_compiled)
{
    struct loaded loaded;
    char text[sizeof(rules) + 8];

    make_folder();
    expect_load(rules, folder, 0, 0);
    snprintf(text, sizeof(text), "%s", rules);
    memcpy(strstr(text, "five"), "cinq", 4);
    load(&loaded, text, folder);
    struct ruleset_databases databases = ruleset_databases(loaded.ruleset);

    ck_assert_uint_eq(databases.cached + 1, databases.count);
    ck_assert_uint_eq(databases.count + 1, each_file(NULL)); /* HTTP/1 and HTTP/2 share a database */
    unload(&loaded);
    memcpy(text, rules, sizeof(rules)); /* change the case of letters of a nocase content */
    memcpy(strstr(text, "TWO"), "tWo", 3);
    memcpy(strstr(text, "two"), "TwO", 3);
    expect_load(text, folder, -1, 0);
    remove_folder();
}
END_TEST

START_TEST(rules_load_without_a_folder)
{
    expect_load(rules, "/dev/null/x", 0, 1);
    expect_load(rules, "/proc/self", 0, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *tests = tcase_create("cache");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_whole_file_is_taken);
    tcase_add_test(tests, no_file_that_is_cut_or_grew_is_taken);
    tcase_add_test(tests, no_file_with_a_wrong_bit_is_taken);
    tcase_add_test(tests, what_was_put_is_got);
    tcase_add_test(tests, the_folder_is_made);
    tcase_add_loop_test(tests, a_spoiled_file_is_not_used_and_told, 0, sizeof(spoiled) / sizeof(spoiled[0]));
    tcase_add_test(tests, root_ignores_the_files_of_the_daemons_user);
    tcase_add_test(tests, many_spoiled_files_are_a_few_lines);
    tcase_add_test(tests, what_cannot_be_written_is_told_once);
    tcase_add_test(tests, two_writers_do_not_disturb_each_other);
    tcase_add_loop_test(tests, what_is_old_or_too_much_goes, 0, sizeof(bounds) / sizeof(bounds[0]));
    tcase_add_test(tests, what_is_used_stays);
    tcase_add_test(tests, files_of_others_are_left_alone);
    tcase_add_test(tests, rules_from_the_cache_are_the_rules);
    tcase_add_test(tests, rules_that_changed_are_compiled);
    tcase_add_test(tests, rules_load_without_a_folder);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
