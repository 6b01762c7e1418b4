/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file store: layout, several workers, losses, and errors of the file system. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/file_store.h"

static char dir[64], path[256];

static void make_dir(void)
{
    strcpy(dir, "/tmp/sluice-store-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    ck_assert_int_eq(system(command), 0);
}

static struct file_store *new_store(unsigned workers, size_t ring_size, bool lossless)
{
    struct file_store_options options = {
        .dir = dir, .workers = workers, .ring_size = ring_size, .lossless = lossless
    };
    struct file_store *store = NULL;

    ck_assert_int_eq(file_store_new(&store, &options), 0);
    return store;
}

/* Makes a digest; path_of() returns the path of its file. */
static const uint8_t *digest_of(unsigned number, uint8_t *out)
{
    memset(out, 0, 32);
    out[0] = (uint8_t)number;
    out[31] = (uint8_t)(number >> 8);
    return out;
}

static const char *path_of(unsigned number)
{
    snprintf(path, sizeof(path), "%s/%02x/%02x%060d%02x", dir, number & 0xff, number & 0xff, 0, number >> 8 & 0xff);
    return path;
}

static long size_of(const char *name)
{
    struct stat status;

    return stat(name, &status) ? -1 : (long)status.st_size;
}

static unsigned files_in_tmp(void)
{
    unsigned count = 0;

    snprintf(path, sizeof(path), "%s/tmp", dir);
    DIR *tmp = opendir(path);

    ck_assert_ptr_nonnull(tmp);
    for (struct dirent *entry; (entry = readdir(tmp));)
        count += entry->d_name[0] != '.';
    closedir(tmp);
    return count;
}

START_TEST(files_get_their_names)
{
    uint8_t digest[32];
    struct file_store_counts counts;

    make_dir();
    struct file_store *store = new_store(1, 0, false);
    struct file_spool *spool = file_store_spool(store, 0);

    ck_assert_int_eq(file_store_start(store), 0);
    uint64_t a = file_spool_open(spool), b = file_spool_open(spool), c = file_spool_open(spool);

    ck_assert(a && b && c && a != b && b != c);
    ck_assert(file_spool_write(spool, a, "12", 2));
    ck_assert(file_spool_write(spool, b, "abc", 3));
    ck_assert(file_spool_write(spool, a, "345", 3));
    ck_assert(file_spool_finish(spool, a, digest_of(0xab01, digest)));
    ck_assert(file_spool_finish(spool, c, digest_of(0xab02, digest)));
    file_spool_discard(spool, b);
    file_store_stop(store);
    ck_assert_int_eq(size_of(path_of(0xab01)), 5);
    ck_assert_int_eq(size_of(path_of(0xab02)), 0);
    ck_assert_uint_eq(files_in_tmp(), 0);
    file_store_counts(store, &counts);
    ck_assert_uint_eq(counts.files, 2);
    ck_assert_uint_eq(counts.errors, 0);
    file_store_free(store);
    remove_dir();
}
END_TEST

/* A file that is stored already is kept; its modification time is updated. */
START_TEST(equal_files_are_one)
{
    uint8_t digest[32];
    struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct stat status;

    make_dir();
    for (int round = 0; round < 2; round++) {
        struct file_store *store = new_store(1, 0, false);
        struct file_spool *spool = file_store_spool(store, 0);

        ck_assert_int_eq(file_store_start(store), 0);
        uint64_t a = file_spool_open(spool);

        ck_assert(file_spool_write(spool, a, round ? "new" : "old.", round ? 3 : 4));
        ck_assert(file_spool_finish(spool, a, digest_of(7, digest)));
        file_store_free(store);
        ck_assert_int_eq(size_of(path_of(7)), 4);
        ck_assert_int_eq(stat(path, &status), 0);
        ck_assert_int_gt(status.st_mtime, 1000000);
        ck_assert_int_eq(utimensat(0, path, old, 0), 0);
        ck_assert_uint_eq(files_in_tmp(), 0);
    }
    remove_dir();
}
END_TEST

START_TEST(what_is_not_finished_is_taken_away)
{
    char left[128];

    make_dir();
    snprintf(left, sizeof(left), "%s/deep/er", dir);
    strcpy(dir + strlen(dir), "/deep/er");
    struct file_store *store = new_store(1, 0, false);
    struct file_spool *spool = file_store_spool(store, 0);

    ck_assert_int_eq(file_store_start(store), 0);
    uint64_t a = file_spool_open(spool);

    ck_assert(file_spool_write(spool, a, "x", 1));
    file_store_stop(store);
    ck_assert_uint_eq(files_in_tmp(), 1);
    file_store_free(store);
    ck_assert_uint_eq(files_in_tmp(), 0);
    /* A temporary file of a run that was killed. */
    snprintf(left, sizeof(left), "%s/tmp/file.0.9", dir);
    FILE *out = fopen(left, "w");

    ck_assert_ptr_nonnull(out);
    fclose(out);
    ck_assert_uint_eq(files_in_tmp(), 1);
    file_store_free(new_store(1, 0, false));
    ck_assert_uint_eq(files_in_tmp(), 0);
    dir[strlen(dir) - strlen("/deep/er")] = '\0';
    remove_dir();
}
END_TEST

/* Without the thread the ring fills. A write to the full ring fails at once; there is still room for commands without
 * bytes. */
START_TEST(a_full_ring_is_no_wait)
{
    static uint8_t bytes[100000];
    uint8_t digest[32];
    unsigned written = 0;

    make_dir();
    struct file_store *store = new_store(1, 256 << 10, false);
    struct file_spool *spool = file_store_spool(store, 0);
    uint64_t a = file_spool_open(spool), b = file_spool_open(spool);

    ck_assert(file_spool_write(spool, a, "abc", 3));
    while (file_spool_write(spool, b, bytes, sizeof(bytes)))
        written++;
    ck_assert_uint_eq(written, 1);
    ck_assert(!file_spool_write(spool, a, bytes, sizeof(bytes)));
    ck_assert(file_spool_finish(spool, a, digest_of(3, digest)));
    file_spool_discard(spool, b);
    ck_assert_int_eq(file_store_start(store), 0);
    file_store_stop(store);
    ck_assert_int_ge(size_of(path_of(3)), 3);
    ck_assert_uint_eq(files_in_tmp(), 0);
    file_store_free(store);
    remove_dir();
}
END_TEST

START_TEST(a_file_system_that_refuses_is_counted)
{
    struct file_store_counts counts;
    uint8_t digest[32];

    make_dir();
    struct file_store *store = new_store(1, 0, false);
    struct file_spool *spool = file_store_spool(store, 0);

    /* A file is in the place of the folder 09. */
    snprintf(path, sizeof(path), "%s/09", dir);
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    fclose(out);
    ck_assert_int_eq(file_store_start(store), 0);
    uint64_t a = file_spool_open(spool), b = file_spool_open(spool);

    ck_assert(file_spool_write(spool, a, "x", 1));
    ck_assert(file_spool_finish(spool, a, digest_of(9, digest)));
    ck_assert(file_spool_write(spool, a, "x", 1)); /* the worker does not know of the error yet */
    ck_assert(file_spool_finish(spool, b, digest_of(10, digest)));
    file_store_stop(store);
    file_store_counts(store, &counts);
    ck_assert_uint_eq(counts.errors, 1);
    ck_assert_uint_eq(counts.files, 1);
    ck_assert_uint_eq(files_in_tmp(), 0);
    file_store_free(store);
    remove_dir();
}
END_TEST

START_TEST(a_folder_that_cannot_be_is_an_error)
{
    struct file_store_options options = { .dir = "/dev/null/x", .workers = 1 };
    struct file_store *store = NULL;

    ck_assert_int_eq(file_store_new(&store, &options), -ENOTDIR);
    options.dir = "";
    ck_assert_int_lt(file_store_new(&store, &options), 0);
    ck_assert_ptr_null(store);
    file_store_free(NULL);
}
END_TEST

/* --- Several workers ------------------------------------------------------------------------------ */

enum { WORKERS = 3, FILES = 400, AT_ONCE = 200, SIZE = 50000 };

struct worker {
    struct file_spool *spool;
    unsigned index;
};

/* More open files than the thread keeps descriptors for, written in turns. */
static void *work(void *user)
{
    struct worker *worker = user;
    static const uint8_t bytes[SIZE];
    uint64_t numbers[AT_ONCE];
    uint8_t digest[32];

    for (unsigned round = 0; round < FILES / AT_ONCE; round++) {
        for (unsigned i = 0; i < AT_ONCE; i++)
            numbers[i] = file_spool_open(worker->spool);
        for (unsigned part = 0; part < 4; part++)
            for (unsigned i = 0; i < AT_ONCE; i++)
                file_spool_write(worker->spool, numbers[i], bytes, SIZE / 4 * (part == 0) + i);
        for (unsigned i = 0; i < AT_ONCE; i++)
            if (i % 2)
                file_spool_discard(worker->spool, numbers[i]);
            else
                file_spool_finish(worker->spool, numbers[i],
                                  digest_of(worker->index * FILES + round * AT_ONCE + i, digest));
    }
    return NULL;
}

START_TEST(workers_do_not_mix)
{
    struct worker workers[WORKERS];
    pthread_t threads[WORKERS];
    struct file_store_counts counts;

    make_dir();
    struct file_store *store = new_store(WORKERS, 300000, true);

    ck_assert_int_eq(file_store_start(store), 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){ .spool = file_store_spool(store, i), .index = i };
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    file_store_stop(store);
    file_store_counts(store, &counts);
    ck_assert_uint_eq(counts.files, WORKERS * FILES / 2);
    ck_assert_uint_eq(counts.errors, 0);
    for (unsigned number = 0; number < WORKERS * FILES; number++)
        ck_assert_int_eq(size_of(path_of(number)), number % 2 ? -1 : SIZE / 4 + (long)(number % AT_ONCE) * 4);
    ck_assert_uint_eq(files_in_tmp(), 0);
    file_store_free(store);
    remove_dir();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("file store");
    TCase *tcase = tcase_create("file store");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, files_get_their_names);
    tcase_add_test(tcase, equal_files_are_one);
    tcase_add_test(tcase, what_is_not_finished_is_taken_away);
    tcase_add_test(tcase, a_full_ring_is_no_wait);
    tcase_add_test(tcase, a_file_system_that_refuses_is_counted);
    tcase_add_test(tcase, a_folder_that_cannot_be_is_an_error);
    tcase_add_test(tcase, workers_do_not_mix);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
