/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datasets: a set compared with a plain model, limits, several workers, lines and files, and which files rules may
 * name. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "default_options.h"
#include "sluice/dataset.h"

static char folder[64];
static struct diag *diag;
static char error[DATASET_ERROR_SIZE];

static void set_up(void)
{
    snprintf(folder, sizeof(folder), "/tmp/sluice-dataset-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    diag = diag_new();
    ck_assert_ptr_nonnull(diag);
    error[0] = '\0';
}

static void tear_down(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
    diag_free(diag);
}

static const char *path_of(const char *name)
{
    static char path[2][256];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
    return path[turn];
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void expect_file(const char *name, const char *text)
{
    char bytes[4096];
    FILE *file = fopen(path_of(name), "r");

    ck_assert_ptr_nonnull(file);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
    fclose(file);
    ck_assert_str_eq(bytes, text);
}

static const uint8_t *bytes_of(const char *text)
{
    return (const uint8_t *)text;
}

/* A registry with one set, which belongs to it. */
static struct datasets *open_set(enum dataset_type type, size_t memcap, uint64_t seed, struct dataset **set)
{
    const struct dataset_spec spec = { .name = span_of("set"), .has_type = true, .type = type };
    struct datasets_options options;
    struct datasets *datasets;

    datasets_options_default(&options);
    options.memcap = memcap;
    options.seed = seed;
    ck_assert_int_eq(datasets_new(&datasets, &options), 0);
    ck_assert_int_eq(datasets_get(datasets, &spec, set, diag, error), 0);
    return datasets;
}

/* --- A set ---------------------------------------------------------------------------------------- */

enum { VALUES = 300, STEPS = 30000 };

/* Makes value `i`. The values have all lengths around the block sizes. */
static size_t make_value(unsigned i, uint8_t *bytes)
{
    size_t length = 1 + i % 171;

    for (size_t k = 0; k < length; k++)
        bytes[k] = (uint8_t)(i >> (k % 2 * 8));
    bytes[length - 1] ^= (uint8_t)(i * 7);
    return length;
}

START_TEST(random_steps_match_a_model)
{
    struct dataset *set;
    struct datasets *datasets = open_set(DATASET_STRING, 1 << 20, 99, &set);
    bool model[VALUES] = { false };
    uint8_t bytes[256];
    size_t count = 0;

    srand(3);
    for (int step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)rand() % VALUES;
        size_t length = make_value(i, bytes);

        switch (rand() % 3) {
        case 0:
            ck_assert_int_eq(dataset_add(set, bytes, length), model[i] ? DATASET_UNCHANGED : DATASET_CHANGED);
            count += !model[i];
            model[i] = true;
            break;
        case 1:
            ck_assert_int_eq(dataset_remove(set, bytes, length), model[i] ? DATASET_CHANGED : DATASET_UNCHANGED);
            count -= model[i];
            model[i] = false;
            break;
        default:
            ck_assert_int_eq(dataset_has(set, bytes, length), model[i]);
        }
        ck_assert_uint_eq(dataset_count(set), count);
    }
    datasets_free(datasets);
}
END_TEST

START_TEST(a_full_set_refuses_and_counts)
{
    struct dataset *set;
    struct datasets *datasets = open_set(DATASET_STRING, 1 << 18, 0, &set);
    uint8_t bytes[200] = { 0 };
    size_t added = 0, refused = 0, memory;

    memory = datasets_memory(datasets);
    ck_assert_uint_le(memory, (1 << 18) + 8192);
    for (uint32_t i = 0; i < 10000; i++) {
        memcpy(bytes, &i, sizeof(i));
        added += dataset_add(set, bytes, sizeof(bytes)) == DATASET_CHANGED;
        refused += !dataset_has(set, bytes, sizeof(bytes));
    }
    ck_assert_uint_gt(added, 500);
    ck_assert_uint_eq(added + refused, 10000);
    ck_assert_uint_eq(datasets_memcap_hits(datasets), refused);
    ck_assert_uint_eq(datasets_memory(datasets), memory);
    for (uint32_t i = 0; i < 10000; i++) { /* removed values make room for as many new ones */
        memcpy(bytes, &i, sizeof(i));
        dataset_remove(set, bytes, sizeof(bytes));
    }
    ck_assert_uint_eq(dataset_count(set), 0);
    for (uint32_t i = 0; i < 10000; i++) {
        memcpy(bytes, &i, sizeof(i));
        dataset_add(set, bytes, sizeof(bytes));
    }
    ck_assert_uint_eq(dataset_count(set), added);
    datasets_free(datasets);
}
END_TEST

static const struct {
    enum dataset_type type;
    size_t length;
    bool fits;
} lengths[] = {
    { DATASET_STRING, 0, false },
    { DATASET_STRING, 1, true },
    { DATASET_STRING, DATASET_MAX_STRING, true },
    { DATASET_MD5, 15, false },
    { DATASET_MD5, 16, true },
    { DATASET_MD5, 17, false },
    { DATASET_SHA256, 16, false },
    { DATASET_SHA256, 32, true },
    { DATASET_IPV4, 4, true },
    { DATASET_IPV4, 16, false },
    { DATASET_IP, 4, true },
    { DATASET_IP, 16, true },
    { DATASET_IP, 5, false },
    { DATASET_STRING, DATASET_MAX_STRING + 1, false },
};

START_TEST(a_type_has_its_lengths)
{
    static const uint8_t bytes[DATASET_MAX_STRING + 1] = { 1, 2, 3 };
    size_t length = lengths[_i].length;
    struct dataset *set;
    struct datasets *datasets = open_set(lengths[_i].type, 1 << 22, 0, &set);

    ck_assert_int_eq(dataset_add(set, bytes, length), lengths[_i].fits ? DATASET_CHANGED : DATASET_UNCHANGED);
    ck_assert_int_eq(dataset_has(set, bytes, length), lengths[_i].fits);
    ck_assert_uint_eq(dataset_count(set), lengths[_i].fits);
    datasets_free(datasets);
}
END_TEST

enum { THREADS = 4, PER_THREAD = 3000 };
static struct dataset *shared;

/* All workers add the same values; for each value exactly one of them is told that it is new. */
static void *add_values(void *arg)
{
    uintptr_t added = 0;

    (void)arg;
    for (uint32_t i = 0; i < PER_THREAD; i++) {
        uint8_t bytes[100] = { 0 };

        memcpy(bytes, &i, sizeof(i));
        added += dataset_add(shared, bytes, sizeof(bytes)) == DATASET_CHANGED;
    }
    return (void *)added;
}

START_TEST(workers_share_a_set)
{
    struct datasets *datasets = open_set(DATASET_STRING, 1 << 20, 1, &shared);
    pthread_t threads[THREADS];
    uintptr_t total = 0;

    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, add_values, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *added;

        pthread_join(threads[i], &added);
        total += (uintptr_t)added;
    }
    ck_assert_uint_eq(total, PER_THREAD);
    ck_assert_uint_eq(dataset_count(shared), PER_THREAD);
    datasets_free(datasets);
}
END_TEST

/* --- Lines ---------------------------------------------------------------------------------------- */

static const struct {
    enum dataset_type type;
    const char *line;
    const char *printed; /* NULL: an error */
    uint16_t value;
} lines[] = {
    { DATASET_STRING, "YQ==", "YQ==", 0 },
    { DATASET_STRING, "YWI=", "YWI=", 0 },
    { DATASET_STRING, "YWJj", "YWJj", 0 },
    { DATASET_STRING, "+/+/", "+/+/", 0 },
    { DATASET_STRING, "YWJj,65535", "YWJj", 65535 },
    { DATASET_STRING, "YWJj , 7", "YWJj", 7 },
    { DATASET_STRING, "YWJ", NULL, 0 },
    { DATASET_STRING, "YWJjYQ=", NULL, 0 },
    { DATASET_STRING, "YQ==YWJj", NULL, 0 },
    { DATASET_STRING, "Y===", NULL, 0 },
    { DATASET_STRING, "YW J", NULL, 0 },
    { DATASET_STRING, "YWJj,", NULL, 0 },
    { DATASET_STRING, "YWJj,65536", NULL, 0 },
    { DATASET_STRING, "YWJj,1,2", NULL, 0 },
    { DATASET_STRING, ",1", NULL, 0 },
    { DATASET_MD5, "d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427e", 0 },
    { DATASET_MD5, "D41D8CD98F00B204E9800998ECF8427E,3", "d41d8cd98f00b204e9800998ecf8427e", 3 },
    { DATASET_MD5, "d41d8cd98f00b204e9800998ecf8427", NULL, 0 },
    { DATASET_MD5, "g41d8cd98f00b204e9800998ecf8427e", NULL, 0 },
    { DATASET_SHA256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0 },
    { DATASET_SHA256, "d41d8cd98f00b204e9800998ecf8427e", NULL, 0 },
    { DATASET_IPV4, "10.1.2.3,9", "10.1.2.3", 9 },
    { DATASET_IPV4, "10.1.2", NULL, 0 },
    { DATASET_IPV4, "fd00::1", NULL, 0 },
    { DATASET_IP, "10.1.2.3", "10.1.2.3", 0 },
    { DATASET_IP, "FD00::1", "fd00::1", 0 },
    { DATASET_IP, "::ffff:10.1.2.3", "10.1.2.3", 0 },
    { DATASET_IP, "10.0.0.0/8", NULL, 0 },
};

START_TEST(lines_are_read_and_written)
{
    uint8_t bytes[DATASET_MAX_STRING];
    struct text text;
    size_t length;
    uint16_t value;
    const char *mistake = dataset_parse_line(lines[_i].type, (struct span){ lines[_i].line, strlen(lines[_i].line) },
                                             bytes, &length, &value);

    ck_assert_msg(!mistake == (lines[_i].printed != NULL), "%s: %s", lines[_i].line, mistake ? mistake : "no mistake");
    if (mistake)
        return;
    ck_assert_uint_eq(value, lines[_i].value);
    text_init(&text);
    dataset_print_value(lines[_i].type, bytes, length, &text);
    ck_assert_str_eq(text.bytes, lines[_i].printed);
    text_clear(&text);
}
END_TEST

/* --- The registry --------------------------------------------------------------------------------- */

static struct datasets *open_datasets(bool allow_write, bool allow_absolute)
{
    struct datasets_options options;
    struct datasets *datasets;

    datasets_options_default(&options);
    options.memcap = 1 << 20;
    options.data_dir = folder;
    options.allow_write = allow_write;
    options.allow_absolute_names = allow_absolute;
    ck_assert_int_eq(datasets_new(&datasets, &options), 0);
    return datasets;
}

static struct dataset_spec spec_of(const char *name, enum dataset_type type)
{
    return (struct dataset_spec){ .name = span_of(name), .has_type = true, .type = type, .from_rule = true };
}

START_TEST(state_survives_a_stop)
{
    struct dataset_spec spec = spec_of("seen", DATASET_STRING), again = { .name = span_of("seen"), .from_rule = true };
    struct datasets *datasets = open_datasets(true, false);
    struct dataset *set, *other;

    spec.load = spec.save = span_of("seen.lst");
    spec.has_state = true;
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), 0);
    ck_assert_int_eq(datasets_get(datasets, &again, &other, diag, error), 0);
    ck_assert_ptr_eq(set, other);
    dataset_add(set, bytes_of("b"), 1);
    dataset_add(set, bytes_of("a"), 1);
    dataset_add(set, bytes_of("abc"), 3);
    ck_assert_int_eq(datasets_save(datasets, diag), 0);
    datasets_free(datasets);
    expect_file("seen.lst", "YQ==\nYWJj\nYg==\n");

    datasets = open_datasets(true, false);
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), 0);
    ck_assert_uint_eq(dataset_count(set), 3);
    ck_assert(dataset_has(set, bytes_of("abc"), 3));
    dataset_remove(set, bytes_of("a"), 1);
    ck_assert_int_eq(datasets_save(datasets, diag), 0);
    datasets_free(datasets);
    expect_file("seen.lst", "YWJj\nYg==\n");
    ck_assert_uint_eq(diag_count(diag), 0);
}
END_TEST

START_TEST(an_empty_set_is_saved_too)
{
    struct dataset_spec spec = spec_of("none", DATASET_STRING);
    struct datasets *datasets = open_datasets(true, false);
    struct dataset *set;

    spec.save = span_of("none.lst");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), 0);
    ck_assert_int_eq(datasets_save(datasets, diag), 0);
    ck_assert_uint_eq(diag_count(diag), 0);
    datasets_free(datasets);
    expect_file("none.lst", "");
}
END_TEST

START_TEST(files_are_looked_for_beside_the_rules_first)
{
    struct dataset_spec spec = spec_of("one", DATASET_IP), second = spec_of("two", DATASET_IPV4);
    struct datasets *datasets = open_datasets(true, false);
    char rules[300];
    struct dataset *set;
    uint16_t value;

    ck_assert_int_eq(mkdir(path_of("rules"), 0700), 0);
    snprintf(rules, sizeof(rules), "%s/rules/x.rules", folder);
    write_file("rules/one.lst", "10.0.0.1,5\r\n\nfd00::1\n");
    write_file("one.lst", "10.0.0.2\n");
    write_file("two.lst", "10.0.0.3\n");
    spec.load = span_of("one.lst");
    second.load = span_of("two.lst");
    spec.rule_file = second.rule_file = rules;
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), 0);
    ck_assert_uint_eq(dataset_count(set), 2);
    ck_assert(dataset_value(set, (const uint8_t[]){ 10, 0, 0, 1 }, 4, &value));
    ck_assert_uint_eq(value, 5);
    ck_assert_int_eq(datasets_get(datasets, &second, &set, diag, error), 0);
    ck_assert(dataset_has(set, (const uint8_t[]){ 10, 0, 0, 3 }, 4));
    datasets_free(datasets);
}
END_TEST

START_TEST(mistakes_in_a_file_are_told_once)
{
    struct dataset_spec spec = spec_of("bad", DATASET_IPV4);
    struct datasets *datasets = open_datasets(true, false);
    struct dataset *set = NULL;

    write_file("bad.lst", "10.0.0.1\nten\n10.0.0.3,x\n");
    spec.load = span_of("bad.lst");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_null(set);
    ck_assert_uint_eq(diag_errors(diag), 2);
    ck_assert_uint_eq(diag_get(diag, 0)->line, 2);
    ck_assert_uint_eq(diag_get(diag, 1)->line, 3);
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_uint_eq(diag_errors(diag), 2);
    spec = spec_of("none", DATASET_IPV4);
    spec.load = span_of("not-there.lst");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "No such file"));
    spec = spec_of("folder", DATASET_IPV4);
    spec.load = span_of(".");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "directory"));
    spec = spec_of("endless", DATASET_IPV4);
    spec.load = span_of("/dev/zero");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_uint_eq(diag_errors(diag), 2);
    datasets_free(datasets);
}
END_TEST

static const struct {
    const char *text, *value_key, *array_key;
    enum dataset_format format;
    bool remove_key;
    const char *object;  /* expected object of the value "found"; NULL: the set does not have it */
    const char *message; /* expected diagnostic; NULL: none */
    bool loaded;
} json_files[] = {
    { "[{\"h\": \"found\", \"n\": 1}, {\"h\": \"other\"}]", "h", NULL, DATASET_JSON, false, "{\"h\":\"found\",\"n\":1}",
      NULL, true },
    { "[{\"h\": \"found\", \"n\": 1}, {\"h\": \"found\", \"n\": 2}]", "h", NULL, DATASET_JSON, true, "{\"n\":1}", NULL,
      true },
    { "{\"a\": {\"list\": [{\"k\": {\"h\": \"found\"}, \"n\": [1, null]}]}}", "k.h", "a.list", DATASET_JSON, true,
      "{\"k\":{},\"n\":[1,null]}", NULL, true },
    { "{\"h\": \"found\", \"u\": \"a/b\"}\n\n{\"h\": \"other\"}\n", "h", NULL, DATASET_NDJSON, false,
      "{\"h\":\"found\",\"u\":\"a/b\"}", NULL, true },
    { "{\"h\": \"found\"}\n{\"x\": 1}", "h", NULL, DATASET_NDJSON, false, "{\"h\":\"found\"}", "left out", true },
    { "{\"h\": 7}\n{\"h\": \"found\"}", "h", NULL, DATASET_NDJSON, false, "{\"h\":\"found\"}", "left out", true },
    { "[]", "h", NULL, DATASET_JSON, false, NULL, NULL, true },
    { "{\"h\": \"found\"}", "h", NULL, DATASET_JSON, false, NULL, "an array is expected", false },
    { "{\"a\": 1}", "h", "a", DATASET_JSON, false, NULL, "no array", false },
    { "[{\"h\": \"found\"}", "h", NULL, DATASET_JSON, false, NULL, "unexpected end", false },
    { "[{\"h\": \"found\"}] x", "h", NULL, DATASET_JSON, false, NULL, "unexpected character", false },
    { "[{\"h\": \"\xff\"}]", "h", NULL, DATASET_JSON, false, NULL, "utf-8", false },
    { "{\"h\": \"\"}", "h", NULL, DATASET_NDJSON, false, NULL, "a value is missing", false },
    { "null", "h", NULL, DATASET_NDJSON, false, NULL, "not null", false },
};

START_TEST(json_files_have_objects)
{
    struct dataset_spec spec = spec_of("json", DATASET_STRING);
    struct datasets *datasets = open_datasets(true, false);
    struct dataset *set = NULL;
    const char *object = NULL;

    write_file("set.json", json_files[_i].text);
    spec.load = span_of("set.json");
    spec.format = json_files[_i].format;
    spec.value_key = span_of(json_files[_i].value_key);
    if (json_files[_i].array_key)
        spec.array_key = span_of(json_files[_i].array_key);
    spec.remove_key = json_files[_i].remove_key;
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), json_files[_i].loaded ? 0 : -EINVAL);
    if (json_files[_i].message) {
        ck_assert_uint_eq(diag_errors(diag) + diag_warnings(diag), 1);
        ck_assert_msg(strstr(diag_get(diag, 0)->message, json_files[_i].message), "%s", diag_get(diag, 0)->message);
    } else {
        ck_assert_uint_eq(diag_errors(diag) + diag_warnings(diag), 0);
    }
    if (set) {
        ck_assert_int_eq(dataset_object(set, (const uint8_t *)"found", 5, &object), json_files[_i].object != NULL);
        ck_assert_pstr_eq(object, json_files[_i].object);
        ck_assert_int_eq(dataset_add(set, (const uint8_t *)"added", 5), DATASET_CHANGED);
        ck_assert(dataset_object(set, (const uint8_t *)"added", 5, &object));
        ck_assert_ptr_null(object);
    }
    datasets_free(datasets);
}
END_TEST

/* The objects of a set count towards its memcap, too. */
START_TEST(objects_are_limited)
{
    struct dataset_spec spec = spec_of("json", DATASET_STRING);
    struct datasets *datasets = open_datasets(true, false);
    struct dataset *set = NULL;
    char text[400];

    snprintf(text, sizeof(text), "{\"h\": \"a\", \"x\": \"%0300d\"}", 0);
    write_file("set.json", text);
    spec.load = span_of("set.json");
    spec.format = DATASET_NDJSON;
    spec.value_key = span_of("h");
    spec.memcap = 200;
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "too many values"));
    spec.name = span_of("no key");
    spec.value_key = (struct span){ NULL, 0 };
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "value_key"));
    spec.value_key = span_of("h");
    spec.save = span_of("set.json");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "cannot be saved"));
    datasets_free(datasets);
}
END_TEST

static const struct {
    const char *save;
    bool allow_write, allow_absolute;
    const char *message; /* expected error message; NULL: allowed */
} saves[] = {
    { "a.lst", true, false, NULL },
    { "sub/..x/a.lst", true, false, NULL },
    { "a.lst", false, false, "allow-write" },
    { "../a.lst", true, false, "allow-absolute-filenames" },
    { "sub/../../a.lst", true, false, "allow-absolute-filenames" },
    { "/tmp/a.lst", true, false, "allow-absolute-filenames" },
    { "/tmp/a.lst", true, true, NULL },
};

START_TEST(rules_write_in_the_data_folder_only)
{
    struct datasets *datasets = open_datasets(saves[_i].allow_write, saves[_i].allow_absolute);
    struct dataset_spec spec = spec_of("x", DATASET_STRING);
    struct dataset *set;
    int err;

    spec.save = span_of(saves[_i].save);
    err = datasets_get(datasets, &spec, &set, diag, error);
    ck_assert_int_eq(err, saves[_i].message ? -EINVAL : 0);
    if (saves[_i].message)
        ck_assert_ptr_nonnull(strstr(error, saves[_i].message));
    datasets_free(datasets);
}
END_TEST

START_TEST(who_names_a_set_again_must_agree)
{
    struct datasets *datasets = open_datasets(true, false);
    struct dataset_spec spec = spec_of("x", DATASET_STRING), other = { .name = span_of("y"), .from_rule = true };
    struct dataset *set;

    ck_assert_int_eq(datasets_get(datasets, &other, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "specify its type"));
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), 0);
    spec.type = DATASET_MD5;
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "with type string"));
    spec.type = DATASET_STRING;
    spec.save = span_of("x.lst");
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error, "other files"));
    datasets_free(datasets);
}
END_TEST

/* A file that exceeds the memcap is not loaded at all. */
START_TEST(a_file_must_fit)
{
    struct datasets *datasets = open_datasets(true, false);
    struct dataset_spec spec = spec_of("big", DATASET_IPV4);
    FILE *file = fopen(path_of("big.lst"), "w");
    struct dataset *set;

    for (int i = 0; i < 5000; i++)
        fprintf(file, "10.0.%d.%d\n", i / 256, i % 256);
    fclose(file);
    spec.load = span_of("big.lst");
    spec.memcap = 65536;
    ck_assert_int_eq(datasets_get(datasets, &spec, &set, diag, error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "memcap"));
    datasets_free(datasets);
}
END_TEST

/* A reload: writable sets keep their values, read-only sets are loaded again, and a changed type makes a new set. */
START_TEST(sets_outlive_their_registry)
{
    const struct dataset_spec dynamic = { .name = span_of("dynamic"), .has_type = true, .type = DATASET_STRING };
    struct dataset_spec state = {
        .name = span_of("state"), .has_type = true, .type = DATASET_STRING, .has_state = true
    };
    struct dataset_spec list = { .name = span_of("list"), .has_type = true, .type = DATASET_STRING };
    struct dataset_spec other = { .name = span_of("other"), .has_type = true, .type = DATASET_STRING };
    struct datasets_options options;
    struct datasets *before, *after;
    struct dataset *set, *old;

    datasets_options_default(&options);
    options.memcap = 1 << 18;
    options.data_dir = folder;
    state.load = state.save = span_of("state.lst");
    list.load = span_of("list.lst");
    write_file("list.lst", "b25l\n");
    ck_assert_int_eq(datasets_new(&before, &options), 0);
    ck_assert_int_eq(datasets_get(before, &state, &set, diag, error), 0);
    dataset_add(set, bytes_of("kept"), 4);
    ck_assert_int_eq(datasets_get(before, &list, &set, diag, error), 0);
    dataset_add(set, bytes_of("not kept"), 8);
    ck_assert_int_eq(datasets_get(before, &other, &set, diag, error), 0);
    ck_assert_int_eq(datasets_get(before, &dynamic, &old, diag, error), 0);

    write_file("list.lst", "dHdv\n");
    ck_assert_int_eq(datasets_new(&after, &options), 0);
    ck_assert_int_eq(datasets_inherit(after, before), 0);
    ck_assert_int_eq(datasets_get(after, &dynamic, &set, diag, error), 0);
    ck_assert_ptr_eq(set, old);
    dataset_add(old, bytes_of("by an old rule"), 14); /* a worker may still use the old rules */
    other.type = DATASET_IPV4;
    ck_assert_int_eq(datasets_get(after, &other, &set, diag, error), 0);
    ck_assert_uint_eq(dataset_type_of(set), DATASET_IPV4);
    other.type = DATASET_MD5; /* the set belongs to this registry now */
    ck_assert_int_eq(datasets_get(after, &other, &set, diag, error), -EINVAL);
    datasets_free(before);

    ck_assert(dataset_has(old, bytes_of("by an old rule"), 14));
    ck_assert_int_eq(datasets_get(after, &state, &set, diag, error), 0);
    ck_assert(dataset_has(set, bytes_of("kept"), 4));
    ck_assert_int_eq(datasets_get(after, &list, &set, diag, error), 0);
    ck_assert(!dataset_has(set, bytes_of("not kept"), 8) && !dataset_has(set, bytes_of("one"), 3));
    ck_assert(dataset_has(set, bytes_of("two"), 3));
    ck_assert_int_eq(datasets_save(after, diag), 0);
    expect_file("state.lst", "a2VwdA==\n");
    datasets_free(after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dataset");
    TCase *tcase = tcase_create("dataset");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, random_steps_match_a_model);
    tcase_add_test(tcase, a_full_set_refuses_and_counts);
    tcase_add_loop_test(tcase, a_type_has_its_lengths, 0, sizeof(lengths) / sizeof(lengths[0]));
    tcase_add_test(tcase, workers_share_a_set);
    tcase_add_loop_test(tcase, lines_are_read_and_written, 0, sizeof(lines) / sizeof(lines[0]));
    tcase_add_test(tcase, state_survives_a_stop);
    tcase_add_test(tcase, an_empty_set_is_saved_too);
    tcase_add_test(tcase, files_are_looked_for_beside_the_rules_first);
    tcase_add_test(tcase, mistakes_in_a_file_are_told_once);
    tcase_add_loop_test(tcase, json_files_have_objects, 0, sizeof(json_files) / sizeof(json_files[0]));
    tcase_add_test(tcase, objects_are_limited);
    tcase_add_loop_test(tcase, rules_write_in_the_data_folder_only, 0, sizeof(saves) / sizeof(saves[0]));
    tcase_add_test(tcase, who_names_a_set_again_must_agree);
    tcase_add_test(tcase, a_file_must_fit);
    tcase_add_test(tcase, sets_outlive_their_registry);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
