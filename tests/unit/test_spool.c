/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/spool.h"

static struct spool *writer, *reader;

static void setup(void)
{
    ck_assert_int_eq(spool_new(&writer, 1), 0);
    ck_assert_int_eq(spool_adopt(&reader, dup(spool_fd(writer))), 0);
}

static void teardown(void)
{
    spool_free(writer);
    spool_free(reader);
    writer = reader = NULL;
}

static enum spool_result put(const char *text, uint8_t kind)
{
    const struct spool_event event = {
        .bytes = text, .length = (uint32_t)strlen(text), .kind = kind, .severity = (uint8_t)(kind + 1)
    };

    return spool_write(writer, &event);
}

START_TEST(test_spool_order)
{
    uint64_t position = spool_oldest(reader);
    struct spool_event event;
    struct spool_counters counters;

    ck_assert_int_eq(put("first", 1), SPOOL_WRITTEN);
    ck_assert_int_eq(put("", 2), SPOOL_WRITTEN);
    ck_assert_int_eq(spool_read(reader, &position, &event), 0); /* not published yet */
    spool_publish(writer);
    ck_assert_int_eq(spool_read(reader, &position, &event), 1);
    ck_assert_uint_eq(event.length, 5);
    ck_assert_mem_eq(event.bytes, "first", 5);
    ck_assert_uint_eq(event.kind, 1);
    ck_assert_uint_eq(event.severity, 2);
    ck_assert_int_eq(spool_read(reader, &position, &event), 1);
    ck_assert_uint_eq(event.length, 0);
    ck_assert_int_eq(spool_read(reader, &position, &event), 0);
    spool_release(reader, position, 1, 1);
    spool_counters(writer, &counters);
    ck_assert_uint_eq(counters.written, 2);
    ck_assert_uint_eq(counters.delivered, 1);
    ck_assert_uint_eq(counters.rejected, 1);
}
END_TEST

/* Fills and empties the spool many times with events of all lengths: none is lost or damaged, also where it wraps. */
START_TEST(test_spool_wraps)
{
    char text[3000];
    uint64_t position = spool_oldest(reader), written = 0, read = 0, refused = 0;
    struct spool_event event;

    for (unsigned round = 0; round < 20000; round++) {
        size_t length = round * 7 % sizeof(text);

        memset(text, 'a' + (int)(round % 26), length);
        const struct spool_event next = { .bytes = text, .length = (uint32_t)length, .kind = (uint8_t)round };
        enum spool_result result = spool_write(writer, &next);

        written += result == SPOOL_WRITTEN;
        refused += result == SPOOL_FULL;
        ck_assert_int_ne(result, SPOOL_TOO_LONG);
        spool_publish(writer);
        for (unsigned i = 0; round % 50 > 40 && i < 10 && spool_read(reader, &position, &event) == 1; i++, read++) {
            if (event.length > 1) /* all bytes are equal */
                ck_assert_mem_eq(event.bytes, event.bytes + 1, event.length - 1);
            spool_release(reader, position, 1, 0);
        }
    }
    ck_assert_uint_gt(refused, 0);
    while (spool_read(reader, &position, &event) == 1)
        read++;
    ck_assert_uint_eq(read, written);
}
END_TEST

/* A reader that ends continues with the first event that it did not release. */
START_TEST(test_spool_reader_restarts)
{
    uint64_t position = spool_oldest(reader);
    struct spool_event event;

    put("one", 0);
    put("two", 0);
    spool_publish(writer);
    ck_assert_int_eq(spool_read(reader, &position, &event), 1);
    spool_release(reader, position, 1, 0);
    ck_assert_int_eq(spool_read(reader, &position, &event), 1);
    spool_free(reader);
    ck_assert_int_eq(spool_adopt(&reader, dup(spool_fd(writer))), 0);
    position = spool_oldest(reader);
    ck_assert_int_eq(spool_read(reader, &position, &event), 1);
    ck_assert_mem_eq(event.bytes, "two", 3);
}
END_TEST

START_TEST(test_spool_too_long)
{
    char *text = malloc(SPOOL_MIN_SIZE);
    const struct spool_event event = { .bytes = text, .length = SPOOL_MIN_SIZE / 4 };

    memset(text, 'x', SPOOL_MIN_SIZE);
    ck_assert_int_eq(spool_write(writer, &event), SPOOL_TOO_LONG);
    free(text);
}
END_TEST

/* Neither side trusts the other: damaged positions and lengths are errors, not accesses outside of the memory. */
START_TEST(test_spool_damaged)
{
    uint64_t *memory = mmap(NULL, 4096 + SPOOL_MIN_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, spool_fd(writer), 0);
    const size_t head = 64 / sizeof(*memory), tail = 128 / sizeof(*memory);
    uint64_t position = 0;
    struct spool_event event;

    ck_assert_ptr_ne(memory, MAP_FAILED);
    put("event", 0);
    spool_publish(writer);
    const uint64_t good = memory[head];

    memory[head] = UINT64_MAX; /* the writer's position, which the reader checks */
    ck_assert_int_eq(spool_read(reader, &position, &event), -EBADMSG);
    memory[head] = good + 4;
    ck_assert_int_eq(spool_read(reader, &position, &event), 1);
    ck_assert_int_eq(spool_read(reader, &position, &event), -EBADMSG);
    memory[head] = good;
    ((uint32_t *)memory)[1024] = 100000; /* the length of the first record */
    position = 0;
    ck_assert_int_eq(spool_read(reader, &position, &event), -EBADMSG);
    memory[tail] = 12345678; /* the reader's position, which the writer checks */
    ck_assert_int_eq(put("event", 0), SPOOL_FULL);
    munmap(memory, 4096 + SPOOL_MIN_SIZE);
}
END_TEST

START_TEST(test_spool_adopt_refuses)
{
    struct spool *other = NULL;
    int pipe_ends[2], file = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(ftruncate(file, 4096 + SPOOL_MIN_SIZE), 0);
    ck_assert_int_eq(spool_adopt(&other, dup(file)), -EPERM); /* the owner could truncate it */
    ck_assert_int_eq(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    ck_assert_int_eq(spool_adopt(&other, dup(file)), -EPROTO); /* no header */
    ck_assert_int_eq(pipe(pipe_ends), 0);
    ck_assert_int_lt(spool_adopt(&other, pipe_ends[0]), 0);
    ck_assert_ptr_null(other);
    close(pipe_ends[1]);
    close(file);
}
END_TEST

START_TEST(test_spool_send)
{
    char name[SPOOL_NAME_SIZE];
    int ends[2], fd = -1;
    struct spool *other;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    ck_assert_int_eq(spool_send(ends[0], "archive", writer), 0);
    ck_assert_int_eq(spool_receive(ends[1], name, &fd), 1);
    ck_assert_str_eq(name, "archive");
    ck_assert_int_eq(spool_adopt(&other, fd), 0);
    spool_free(other);
    ck_assert_int_eq(send(ends[0], "rubbish", 7, 0), 7);
    ck_assert_int_eq(spool_receive(ends[1], name, &fd), -EPROTO);
    close(ends[0]);
    ck_assert_int_eq(spool_receive(ends[1], name, &fd), 0);
    close(ends[1]);
}
END_TEST

static void *read_all(void *argument)
{
    uint64_t position = spool_oldest(reader), *sum = argument;
    struct spool_event event;

    for (unsigned count = 0; count < 100000;) {
        int found = spool_read(reader, &position, &event);

        ck_assert_int_ge(found, 0);
        if (found == 0) {
            spool_wait(reader, position, 1000);
            continue;
        }
        count++;
        *sum += strtoull(event.bytes, NULL, 10);
        spool_release(reader, position, 1, 0);
    }
    return NULL;
}

START_TEST(test_spool_threads)
{
    uint64_t sum = 0, expected = 0;
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, read_all, &sum), 0);
    for (unsigned i = 0; i < 100000;) {
        char text[16];

        snprintf(text, sizeof(text), "%u ", i);
        if (put(text, 0) == SPOOL_WRITTEN)
            expected += i++;
        spool_publish(writer);
    }
    pthread_join(thread, NULL);
    ck_assert_uint_eq(sum, expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spool");
    TCase *tests = tcase_create("spool");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_spool_order);
    tcase_add_test(tests, test_spool_wraps);
    tcase_add_test(tests, test_spool_reader_restarts);
    tcase_add_test(tests, test_spool_too_long);
    tcase_add_test(tests, test_spool_damaged);
    tcase_add_test(tests, test_spool_adopt_refuses);
    tcase_add_test(tests, test_spool_send);
    tcase_add_test(tests, test_spool_threads);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
