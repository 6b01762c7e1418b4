/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file engine: windows, digests, libmagic, and the stored bytes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/file.h"
#include "sluice/file_store.h"

enum { MIB = 1 << 20 };

struct rig {
    struct heap *heap;
    struct file_engine *engine;
    struct file_options options;
    struct file_list list;
    struct file_store *store;
    char dir[64];
};

static void rig_store(struct rig *rig)
{
    strcpy(rig->dir, "/tmp/sluice-file-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(rig->dir));
    struct file_store_options options = { .dir = rig->dir, .workers = 1, .lossless = true };

    ck_assert_int_eq(file_store_new(&rig->store, &options), 0);
    ck_assert_int_eq(file_store_start(rig->store), 0);
    rig->options.spool = file_store_spool(rig->store, 0);
}

static void rig_start(struct rig *rig, size_t memcap)
{
    ck_assert_int_eq(heap_new(&rig->heap, memcap), 0);
    ck_assert_int_eq(file_engine_new(&rig->engine, &rig->options, rig->heap), 0);
}

static void rig_end(struct rig *rig)
{
    file_list_clear(rig->engine, &rig->list);
    ck_assert_uint_eq(rig->list.count, 0);
    ck_assert_uint_eq(heap_memory(rig->heap), 0);
    file_engine_free(rig->engine);
    heap_free(rig->heap);
    file_store_free(rig->store);
    if (rig->dir[0]) {
        char command[128];

        snprintf(command, sizeof(command), "rm -r '%s'", rig->dir);
        ck_assert_int_eq(system(command), 0);
    }
}

static struct file *rig_open(struct rig *rig, const char *name)
{
    struct file *file = file_open(rig->engine, &rig->list, rig->list.count, name, name ? strlen(name) : 0);

    ck_assert_ptr_nonnull(file);
    return file;
}

static uint8_t byte_at(uint64_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

/* Feeds the bytes [from, from + length) of the content that byte_at() defines, in pieces of `step` bytes. */
static void feed(struct rig *rig, struct file *file, uint64_t from, uint64_t length, uint32_t step)
{
    static uint8_t bytes[MIB];

    for (uint64_t done = 0; done < length;) {
        uint32_t part = length - done < step ? (uint32_t)(length - done) : step;

        for (uint32_t i = 0; i < part; i++)
            bytes[i] = byte_at(from + done + i);
        file_engine_tick(rig->engine);
        file_append(rig->engine, file, bytes, part);
        done += part;
    }
}

static void check_window(const struct file *file)
{
    ck_assert_uint_eq(file->data_offset + file->data.length, file->size);
    for (uint32_t i = 0; i < file->data.length; i++)
        if (file->data.bytes[i] != byte_at(file->data_offset + i))
            ck_abort_msg("byte %u of the window is wrong", i);
}

START_TEST(files_are_listed_with_their_names)
{
    struct rig rig = { 0 };
    char long_name[FILE_NAME_MAX + 10];

    memset(long_name, 'n', sizeof(long_name));
    rig_start(&rig, MIB);
    struct file *a = rig_open(&rig, "a.txt"), *b = rig_open(&rig, NULL);
    struct file *c = file_open(rig.engine, &rig.list, 7, long_name, sizeof(long_name));

    ck_assert_ptr_eq(rig.list.first, a);
    ck_assert_ptr_eq(a->next, b);
    ck_assert_ptr_eq(rig.list.last, c);
    ck_assert_uint_eq(rig.list.count, 3);
    ck_assert_mem_eq(a->name.bytes, "a.txt", 5);
    ck_assert_uint_eq(a->name.length, 5);
    ck_assert_uint_eq(b->name.length, 0);
    ck_assert_uint_eq(c->name.length, FILE_NAME_MAX);
    ck_assert_uint_eq(c->id, 7);
    ck_assert_uint_eq(file_engine_counts(rig.engine)->opened, 3);
    ck_assert_int_eq(a->state, FILE_OPEN);
    rig_end(&rig);
}
END_TEST

static const uint32_t steps[] = { 1, 100, 1460, 16384, 65535, 300000, MIB };

/* Up to the limit all bytes are stored; after it, at least the window and the bytes of the last feed. */
START_TEST(the_window_slides)
{
    enum { SIZE = 700000 };
    struct rig rig = { 0 };
    uint32_t step = steps[_i], size = step == 1 ? 200000 : SIZE;

    rig_start(&rig, 16 * MIB);
    struct file *file = rig_open(&rig, "x");

    for (uint64_t done = 0; done < size;) {
        uint64_t part = size - done < step ? size - done : step;

        feed(&rig, file, done, part, step);
        done += part;
        uint64_t least = part + FILE_INSPECT_WINDOW, most = FILE_INSPECT_LIMIT + least + step;

        if (done <= FILE_INSPECT_LIMIT)
            ck_assert_uint_eq(file->data_offset, 0);
        ck_assert_uint_ge(file->data.length, least < done ? least : done);
        ck_assert_uint_le(file->data.length, most);
        if (step > 1 || done % 1000 == 0)
            check_window(file);
    }
    check_window(file);
    ck_assert_uint_eq(file->size, size);
    file_close(rig.engine, file, FILE_CLOSED);
    ck_assert_int_eq(file->state, FILE_CLOSED);
    file_append(rig.engine, file, "more", 4);
    ck_assert_uint_eq(file->size, size);
    rig_end(&rig);
}
END_TEST

START_TEST(without_memory_the_window_begins_anew)
{
    struct rig rig = { 0 };

    rig_start(&rig, 2 * 65536);
    struct file *file = rig_open(&rig, "x");

    feed(&rig, file, 0, 100000, 1000);
    ck_assert_uint_gt(file_engine_counts(rig.engine)->no_memory, 0);
    ck_assert_uint_eq(file->size, 100000);
    check_window(file);
    ck_assert_uint_gt(file->data_offset, 0);
    rig_end(&rig);
}
END_TEST

START_TEST(without_memory_there_is_no_file)
{
    struct rig rig = { 0 };
    struct file *file = NULL;

    rig_start(&rig, 1);
    for (int i = 0; i < 10000 && (i == 0 || file); i++)
        file = file_open(rig.engine, &rig.list, (uint32_t)i, NULL, 0);
    ck_assert_ptr_null(file);
    ck_assert_uint_gt(rig.list.count, 10);
    ck_assert_uint_eq(file_engine_counts(rig.engine)->no_memory, 1);
    rig_end(&rig);
}
END_TEST

/* --- Digests -------------------------------------------------------------------------------------- */

static void expect_hex(const uint8_t *digest, const char *hex)
{
    for (size_t i = 0; i < strlen(hex) / 2; i++) {
        char two[3];

        snprintf(two, sizeof(two), "%02x", digest[i]);
        ck_assert_mem_eq(two, hex + 2 * i, 2);
    }
}

static const struct {
    enum file_state end;
    bool gap;
    enum file_state state;
    unsigned digests;
} ends[] = {
    { FILE_CLOSED, false, FILE_CLOSED, 7 },
    { FILE_TRUNCATED, false, FILE_TRUNCATED, 1 << FILE_SHA256 },
    { FILE_CLOSED, true, FILE_TRUNCATED, 1 << FILE_SHA256 },
    { FILE_ERROR, false, FILE_ERROR, 0 },
};

START_TEST(digests_are_there_at_the_end)
{
    struct rig rig = { 0 };

    rig.options.digests = 1 << FILE_MD5;
    rig_start(&rig, MIB);
    file_engine_set_needs(rig.engine, 1 << FILE_SHA1 | 1 << FILE_SHA256, false);
    struct file *file = rig_open(&rig, "x");

    file_append(rig.engine, file, "ab", 2);
    ck_assert_uint_eq(file->digests, 0);
    if (ends[_i].gap)
        file_gap(rig.engine, file, 10);
    file_append(rig.engine, file, "c", 1);
    file_close(rig.engine, file, ends[_i].end);
    ck_assert_int_eq(file->state, ends[_i].state);
    ck_assert_uint_eq(file->digests, ends[_i].digests);
    ck_assert(file->has_gaps == ends[_i].gap);
    ck_assert_uint_eq(file->size, ends[_i].gap ? 13 : 3);
    if (file->digests & 1 << FILE_MD5)
        expect_hex(file->digest[FILE_MD5], "900150983cd24fb0d6963f7d28e17f72");
    if (file->digests & 1 << FILE_SHA1)
        expect_hex(file->digest[FILE_SHA1], "a9993e364706816aba3e25717850c26c9cd0d89d");
    if (file->digests & 1 << FILE_SHA256)
        expect_hex(file->digest[FILE_SHA256], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    rig_end(&rig);
}
END_TEST

START_TEST(only_digests_that_are_wanted)
{
    struct rig rig = { 0 };

    rig_start(&rig, MIB);
    struct file *none = rig_open(&rig, "x");

    file_engine_set_needs(rig.engine, 1 << FILE_SHA1, false);
    struct file *one = rig_open(&rig, "y");

    file_close(rig.engine, none, FILE_CLOSED);
    file_close(rig.engine, one, FILE_CLOSED);
    ck_assert_uint_eq(none->digests, 0);
    ck_assert_uint_eq(one->digests, 1 << FILE_SHA1);
    expect_hex(one->digest[FILE_SHA1], "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    rig_end(&rig);
}
END_TEST

/* Rules have not inspected the bytes before the gap. */
START_TEST(a_gap_keeps_the_window)
{
    struct rig rig = { 0 };

    rig_start(&rig, MIB);
    struct file *file = rig_open(&rig, "x");

    file_append(rig.engine, file, "before", 6);
    file_gap(rig.engine, file, 1000);
    ck_assert_uint_eq(file->data.length, 6);
    file_append(rig.engine, file, "behind", 6);
    ck_assert_uint_eq(file->data.length, 12);
    ck_assert_mem_eq(file->data.bytes, "beforebehind", 12);
    ck_assert_uint_eq(file->data_offset, 0);
    ck_assert_uint_eq(file->size, 1012);
    ck_assert_uint_eq(file_received(file), 12);
    rig_end(&rig);
}
END_TEST

START_TEST(nothing_begins_behind_a_gap)
{
    struct rig rig = { 0 };

    rig_start(&rig, MIB);
    struct file *file = rig_open(&rig, "x");

    file_gap(rig.engine, file, 10);
    file_append(rig.engine, file, "behind", 6);
    ck_assert_uint_eq(file->data_offset, 10);
    ck_assert_uint_eq(file->size, 16);
    rig_end(&rig);
}
END_TEST

/* --- libmagic ------------------------------------------------------------------------------------- */

static const uint8_t png[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0,  0, 0, 13, 'I', 'H', 'D',
                               'R',  0,   0,   0,   16,   0,    0,    0,    16, 8, 6, 0,  0,   0 };

/* The type is the same however the bytes are cut, and is known at the end of the file at the latest. */
START_TEST(magic_is_known_in_time)
{
    struct rig rig = { 0 };
    uint32_t step = steps[_i];
    uint8_t bytes[FILE_MAGIC_BYTES + 1000] = { 0 };

    memcpy(bytes, png, sizeof(png));
    rig.options.magic = true;
    rig_start(&rig, 4 * MIB);
    struct file *large = rig_open(&rig, "x"), *small = rig_open(&rig, "y");

    for (size_t done = 0; done < sizeof(bytes); done += step)
        file_append(rig.engine, large, bytes + done, step < sizeof(bytes) - done ? step : sizeof(bytes) - done);
    ck_assert_ptr_nonnull(large->magic);
    ck_assert_str_eq(large->magic, "PNG image data, 16 x 16, 8-bit/color RGBA, non-interlaced");
    file_append(rig.engine, small, png, sizeof(png));
    ck_assert_ptr_null(small->magic);
    file_close(rig.engine, small, FILE_CLOSED);
    ck_assert_str_eq(small->magic, large->magic);
    ck_assert_uint_eq(file_engine_counts(rig.engine)->magic, 2);
    rig_end(&rig);
}
END_TEST

START_TEST(magic_is_not_asked_unless_wanted)
{
    struct rig rig = { 0 };

    rig_start(&rig, 4 * MIB);
    struct file *file = rig_open(&rig, "x");

    file_append(rig.engine, file, png, sizeof(png));
    file_close(rig.engine, file, FILE_CLOSED);
    ck_assert_ptr_null(file->magic);
    file_engine_set_needs(rig.engine, 0, true);
    file = rig_open(&rig, "y");
    file_append(rig.engine, file, png, sizeof(png));
    file_close(rig.engine, file, FILE_CLOSED);
    ck_assert_ptr_nonnull(file->magic);
    rig_end(&rig);
}
END_TEST

/* --- Stored bytes --------------------------------------------------------------------------------- */

enum when { NEVER, FROM_THE_START, AFTER_THE_FIRST_BYTES, BEFORE_THE_END, BEHIND_THE_END };

static const struct {
    const char *what;
    uint64_t size;
    enum when when;
    bool may_store;
    uint64_t limit;
    uint64_t gap_at;
    enum file_state end;
    bool is_stored;
} keeps[] = {
    { "small, wanted at once", 5000, FROM_THE_START, true, 0, 0, FILE_CLOSED, true },
    { "small, wanted later", 5000, AFTER_THE_FIRST_BYTES, true, 0, 0, FILE_CLOSED, true },
    { "small, wanted by its digest", 5000, BEHIND_THE_END, true, 0, 0, FILE_CLOSED, true },
    { "small, never wanted", 5000, NEVER, true, 0, 0, FILE_CLOSED, false },
    { "large, wanted at once", 900000, FROM_THE_START, false, 0, 0, FILE_CLOSED, true },
    { "large, wanted later", 900000, BEFORE_THE_END, true, 0, 0, FILE_CLOSED, true },
    { "large, wanted by its digest", 900000, BEHIND_THE_END, true, 0, 0, FILE_CLOSED, true },
    { "large, never wanted", 900000, NEVER, true, 0, 0, FILE_CLOSED, false },
    { "no rule could want it, and yet", 900000, BEFORE_THE_END, false, 0, 0, FILE_CLOSED, false },
    { "above the limit", 900000, FROM_THE_START, true, 800000, 0, FILE_CLOSED, false },
    { "below the limit", 900000, FROM_THE_START, true, 900000, 0, FILE_CLOSED, true },
    { "truncated", 900000, FROM_THE_START, true, 0, 0, FILE_TRUNCATED, true },
    { "with a hole", 900000, FROM_THE_START, true, 0, 5000, FILE_CLOSED, true },
    { "with a hole, wanted behind it", 900000, BEFORE_THE_END, true, 0, 5000, FILE_CLOSED, true },
    { "broken", 900000, FROM_THE_START, true, 0, 0, FILE_ERROR, false },
};

static void path_of(const struct rig *rig, const struct file *file, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "%s/%02x/", rig->dir, file->digest[FILE_SHA256][0]);

    for (int i = 0; i < 32; i++)
        at += (size_t)snprintf(out + at, size - at, "%02x", file->digest[FILE_SHA256][i]);
}

static void check_content(const char *path, uint64_t size)
{
    FILE *in = fopen(path, "rb");

    if (!in)
        ck_abort_msg("%s is not there", path);
    for (uint64_t i = 0; i < size; i++)
        if (getc(in) != byte_at(i))
            ck_abort_msg("byte %llu on disk is wrong", (unsigned long long)i);
    ck_assert_int_eq(getc(in), EOF);
    fclose(in);
}

static void run_keep(struct rig *rig, struct file *file, int row)
{
    uint64_t first = 4000, last = keeps[row].size - 500;

    if (keeps[row].when == FROM_THE_START)
        file_request_store(rig->engine, file, 5);
    feed(rig, file, 0, first, 700);
    if (keeps[row].when == AFTER_THE_FIRST_BYTES)
        file_request_store(rig->engine, file, 5);
    if (keeps[row].gap_at)
        file_gap(rig->engine, file, 100);
    feed(rig, file, first, last - first, 3000);
    if (keeps[row].when == BEFORE_THE_END)
        file_request_store(rig->engine, file, 5);
    feed(rig, file, last, keeps[row].size - last, 100);
    file_close(rig->engine, file, keeps[row].end);
    if (keeps[row].when == BEHIND_THE_END)
        file_request_store(rig->engine, file, 5);
}

START_TEST(what_is_wanted_is_stored)
{
    struct rig rig = { 0 };
    char path[256];

    rig.options.store_limit = keeps[_i].limit;
    rig_store(&rig);
    rig_start(&rig, 16 * MIB);
    if (keeps[_i].may_store)
        file_engine_set_may_store(rig.engine, true);
    else
        file_engine_set_needs(rig.engine, 1 << FILE_SHA256, false);
    struct file *file = rig_open(&rig, "x");

    run_keep(&rig, file, _i);
    if (file->stored != keeps[_i].is_stored)
        ck_abort_msg("%s: stored: %d", keeps[_i].what, file->stored);
    ck_assert_uint_eq(file_engine_counts(rig.engine)->stored, keeps[_i].is_stored);
    ck_assert_uint_eq(file_engine_counts(rig.engine)->store_refused, !file->stored && keeps[_i].when != NEVER);
    ck_assert_uint_eq(file->sid_count, keeps[_i].when != NEVER);
    path_of(&rig, file, path, sizeof(path));
    file_list_clear(rig.engine, &rig.list);
    file_store_stop(rig.store);
    if (keeps[_i].is_stored)
        check_content(path, keeps[_i].size);
    else
        ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(path, sizeof(path), "%s/tmp", rig.dir);
    ck_assert_int_eq(rmdir(path), 0); /* the folder is empty */
    rig_end(&rig);
}
END_TEST

START_TEST(everything_is_stored_when_forced)
{
    struct rig rig = { 0 };
    char path[256];

    rig.options.store_all = true;
    rig_store(&rig);
    rig_start(&rig, 16 * MIB);
    struct file *file = rig_open(&rig, "x"), *empty = rig_open(&rig, "y");

    feed(&rig, file, 0, 300000, 1460);
    file_close(rig.engine, file, FILE_CLOSED);
    file_close(rig.engine, empty, FILE_CLOSED);
    ck_assert(file->stored && empty->stored);
    ck_assert_uint_eq(file->sid_count, 0);
    path_of(&rig, file, path, sizeof(path));
    file_list_clear(rig.engine, &rig.list);
    file_store_stop(rig.store);
    check_content(path, 300000);
    rig_end(&rig);
}
END_TEST

START_TEST(without_a_store_nothing_is)
{
    struct rig rig = { 0 };

    rig_start(&rig, 16 * MIB);
    struct file *file = rig_open(&rig, "x");

    for (uint32_t sid = 1; sid < 20; sid++)
        file_request_store(rig.engine, file, sid / 2 + 1);
    ck_assert_uint_eq(file->sid_count, FILE_MAX_SIDS);
    ck_assert_uint_eq(file->sids[0], 1);
    ck_assert_uint_eq(file->sids[1], 2);
    feed(&rig, file, 0, 3000, 1460);
    file_close(rig.engine, file, FILE_CLOSED);
    ck_assert(file->store_requested && !file->stored && !file->store_refused);
    rig_end(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file");
    TCase *tcase = tcase_create("file");
    const int step_count = sizeof(steps) / sizeof(steps[0]);

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, files_are_listed_with_their_names);
    tcase_add_loop_test(tcase, the_window_slides, 0, step_count);
    tcase_add_test(tcase, without_memory_the_window_begins_anew);
    tcase_add_test(tcase, without_memory_there_is_no_file);
    tcase_add_loop_test(tcase, digests_are_there_at_the_end, 0, sizeof(ends) / sizeof(ends[0]));
    tcase_add_test(tcase, only_digests_that_are_wanted);
    tcase_add_test(tcase, a_gap_keeps_the_window);
    tcase_add_test(tcase, nothing_begins_behind_a_gap);
    tcase_add_loop_test(tcase, magic_is_known_in_time, 0, step_count);
    tcase_add_test(tcase, magic_is_not_asked_unless_wanted);
    tcase_add_loop_test(tcase, what_is_wanted_is_stored, 0, sizeof(keeps) / sizeof(keeps[0]));
    tcase_add_test(tcase, everything_is_stored_when_forced);
    tcase_add_test(tcase, without_a_store_nothing_is);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
