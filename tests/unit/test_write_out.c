/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A log that grows fast: only its end stays in the page cache. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "output/write_out.h"

enum { MIB = 1 << 20, TMPFS = 0x01021994, RAMFS = (int)0x858458f6 };

/* Opens an unnamed file in the current folder, because /tmp may be a tmpfs. */
static int open_log(void)
{
    char path[] = "write_out.XXXXXX";
    int fd = mkostemp(path, O_APPEND);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(unlink(path), 0);
    return fd;
}

static void append_bytes(int fd, size_t length, char letter)
{
    char *bytes = malloc(length);

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, letter, length);
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t)length);
    free(bytes);
}

/* Returns the number of pages of this part of the file that are in memory. */
static size_t pages_in_memory(int fd, off_t from, size_t length)
{
    static unsigned char seen[64 * MIB / 4096];
    void *map = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, from);
    size_t count = 0;

    ck_assert_ptr_ne(map, MAP_FAILED);
    ck_assert_uint_le(length / 4096, sizeof(seen));
    ck_assert_int_eq(mincore(map, length, seen), 0);
    for (size_t i = 0; i < length / 4096; i++)
        count += seen[i] & 1;
    munmap(map, length);
    return count;
}

START_TEST(only_the_end_is_kept)
{
    struct write_out out = { 0 };
    struct statfs where;
    int fd = open_log();

    ck_assert_int_eq(fstatfs(fd, &where), 0);
    if (where.f_type == TMPFS || (int)where.f_type == RAMFS) {
        printf("SKIP: the file system keeps files in memory only\n");
        close(fd);
        return;
    }
    for (int i = 0; i < 32 * 4; i++) {
        append_bytes(fd, MIB / 4 + 100, 'x');
        if (i % 4 == 3)
            ck_assert_int_eq(fdatasync(fd), 0); /* as a fast disk would do */
        write_out_note(&out, fd, MIB / 4 + 100);
        out.windows_to_skip = 0; /* for any speed of the machine's disk */
    }
    ck_assert_uint_lt(pages_in_memory(fd, 0, 20 * MIB), MIB / 4096);
    ck_assert_uint_gt(pages_in_memory(fd, 28 * MIB, 4 * MIB), 2 * MIB / 4096);
    close(fd);
}
END_TEST

START_TEST(little_is_left_alone)
{
    struct write_out out = { 0 };
    int fd = open_log();

    for (int i = 0; i < 10; i++) {
        append_bytes(fd, 1000, 'x');
        write_out_note(&out, fd, 1000);
    }
    ck_assert_uint_eq(out.waiting, 10000);
    ck_assert_uint_eq(pages_in_memory(fd, 0, 8192), 2);
    close(fd);
}
END_TEST

/* After a slow write-out, the next windows are skipped. */
START_TEST(slow_disk_is_left_alone_for_a_while)
{
    struct write_out out = { .windows_to_skip = 2 };
    int fd = open_log();

    for (int i = 0; i < 2; i++) {
        append_bytes(fd, MIB, 'x');
        write_out_note(&out, fd, MIB);
        ck_assert_uint_eq(out.waiting, 0);
    }
    ck_assert_uint_eq(out.windows_to_skip, 0);
    append_bytes(fd, MIB + 10, 'x');
    write_out_note(&out, fd, MIB + 10);
    ck_assert_uint_eq(out.waiting, 10);
    close(fd);
}
END_TEST

/* logrotate's copytruncate, and a pipe. */
START_TEST(cut_file_and_pipe)
{
    struct write_out out = { 0 };
    int fd = open_log(), ends[2];

    append_bytes(fd, MIB - 1, 'x');
    write_out_note(&out, fd, MIB - 1);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    append_bytes(fd, 5000, 'y');
    write_out_note(&out, fd, 5000);
    ck_assert_uint_eq(out.waiting, 5000);
    append_bytes(fd, 12 * MIB, 'z');
    write_out_note(&out, fd, 12 * MIB);
    ck_assert_uint_eq(out.waiting, 5000 % 4096);

    struct stat status;

    ck_assert_int_eq(fstat(fd, &status), 0);
    ck_assert_int_eq(status.st_size, 12 * MIB + 5000);
    close(fd);
    ck_assert_int_eq(pipe(ends), 0);
    out = (struct write_out){ 0 };
    write_out_note(&out, ends[1], 2 * MIB);
    ck_assert_uint_eq(out.waiting, 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("write_out");
    TCase *tcase = tcase_create("write_out");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, only_the_end_is_kept);
    tcase_add_test(tcase, little_is_left_alone);
    tcase_add_test(tcase, slow_disk_is_left_alone_for_a_while);
    tcase_add_test(tcase, cut_file_and_pipe);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
