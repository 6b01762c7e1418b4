/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/ring.h"

enum { CAPACITY = 1024, TRANSFERS = 100000, MAX_RECORD = 200 };

static struct ring *new_ring(size_t capacity)
{
    struct ring *ring = NULL;

    ck_assert_int_eq(ring_new(&ring, capacity), 0);
    return ring;
}

/* An assertion for loops. Check's own assertions write to a file each time. */
static void must(bool ok, const char *what)
{
    if (!ok)
        ck_abort_msg("%s", what);
}

static bool put(struct ring *ring, size_t size, uint8_t fill)
{
    void *room = ring_reserve(ring, size);

    if (!room)
        return false;
    must((uintptr_t)room % 8 == 0, "a record is aligned");
    memset(room, fill, size);
    ring_commit(ring);
    return true;
}

static void expect(struct ring *ring, size_t size, uint8_t fill)
{
    size_t got_size = 0;
    const uint8_t *got = ring_peek(ring, &got_size);

    must(got, "there is a record");
    must(got_size == size, "it has the size that was asked for");
    for (size_t i = 0; i < size; i++)
        must(got[i] == fill, "it has the bytes that were written");
    ring_release(ring);
}

static void expect_empty(struct ring *ring)
{
    size_t size;

    must(!ring_peek(ring, &size), "there is no record");
    must(ring_used(ring) == 0, "nothing is in use");
}

static const struct {
    size_t asked, got;
    int err;
} capacities[] = {
    { 1, 64, 0 },      { 64, 64, 0 },     { 65, 128, 0 },
    { 1000, 1024, 0 }, { 0, 0, -EINVAL }, { (size_t)UINT32_MAX + 1, 0, -EINVAL },
};

START_TEST(rounds_the_capacity_up)
{
    struct ring *ring = NULL;

    ck_assert_int_eq(ring_new(&ring, capacities[_i].asked), capacities[_i].err);
    if (capacities[_i].err)
        ck_assert_ptr_null(ring);
    else
        ck_assert_uint_eq(ring_capacity(ring), capacities[_i].got);
    ring_free(ring);
}
END_TEST

START_TEST(hands_over_in_order)
{
    struct ring *ring = new_ring(CAPACITY);

    expect_empty(ring);
    for (uint8_t i = 0; i < 10; i++)
        ck_assert(put(ring, i, i));
    for (uint8_t i = 0; i < 10; i++)
        expect(ring, i, i);
    expect_empty(ring);
    ring_free(ring);
}
END_TEST

START_TEST(shows_only_what_was_committed)
{
    struct ring *ring = new_ring(CAPACITY);
    size_t size;

    ck_assert_ptr_nonnull(ring_reserve(ring, 16));
    ck_assert_ptr_null(ring_peek(ring, &size));
    ck_assert_uint_eq(ring_published(ring), 0);
    ck_assert(put(ring, 24, 7)); /* a second reservation replaces the first */
    expect(ring, 24, 7);
    expect_empty(ring);
    ring_free(ring);
}
END_TEST

START_TEST(peeks_the_same_until_released)
{
    struct ring *ring = new_ring(CAPACITY);
    size_t size;

    ck_assert(put(ring, 8, 1));
    ck_assert(put(ring, 8, 2));
    ck_assert_ptr_eq(ring_peek(ring, &size), ring_peek(ring, &size));
    expect(ring, 8, 1);
    expect(ring, 8, 2);
    ring_free(ring);
}
END_TEST

START_TEST(refuses_records_over_a_quarter)
{
    struct ring *ring = new_ring(CAPACITY);

    ck_assert_ptr_null(ring_reserve(ring, CAPACITY / 4 + 1));
    ck_assert(put(ring, CAPACITY / 4, 3));
    expect(ring, CAPACITY / 4, 3);
    ring_free(ring);
}
END_TEST

START_TEST(is_full_to_the_last_byte)
{
    struct ring *ring = new_ring(CAPACITY);
    const size_t records = CAPACITY / 64;

    for (size_t i = 0; i < records; i++)
        ck_assert(put(ring, 56, (uint8_t)i)); /* 64 bytes with the header */
    ck_assert_uint_eq(ring_used(ring), CAPACITY);
    ck_assert(!put(ring, 0, 0));
    expect(ring, 56, 0);
    ck_assert(!put(ring, 57, 0));
    ck_assert(put(ring, 56, 99));
    for (size_t i = 1; i < records; i++)
        expect(ring, 56, (uint8_t)i);
    expect(ring, 56, 99);
    expect_empty(ring);
    ring_free(ring);
}
END_TEST

/* After a record of the row's size, a record of a quarter of the ring must wrap as a whole. */
START_TEST(wraps_a_record_whole)
{
    struct ring *ring = new_ring(CAPACITY);

    for (size_t used = 0; used + 16 <= CAPACITY; used += 16) {
        for (size_t i = 0; i < used / 16; i++) {
            must(put(ring, 8, 1), "there is room");
            expect(ring, 8, 1);
        }
        must(put(ring, (size_t)_i, 0x5a), "there is room");
        must(put(ring, 3, 0xa5), "there is room");
        expect(ring, (size_t)_i, 0x5a);
        expect(ring, 3, 0xa5);
        expect_empty(ring);
    }
    ring_free(ring);
}
END_TEST

START_TEST(counts_positions_with_gaps)
{
    struct ring *ring = new_ring(CAPACITY);

    for (int i = 0; i < 1000; i++) {
        ck_assert(put(ring, 200, 1));
        uint64_t published = ring_published(ring);

        ck_assert_uint_lt(ring_released(ring), published);
        expect(ring, 200, 1);
        ck_assert_uint_eq(ring_released(ring), published);
    }
    ck_assert_uint_ge(ring_published(ring), 1000 * 208);
    ring_free(ring);
}
END_TEST

/* --- Two threads ---------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void *produce(void *argument)
{
    struct ring *ring = argument;
    uint32_t random = 1;

    for (uint32_t i = 0; i < TRANSFERS; i++) {
        size_t size = sizeof(i) + next_random(&random) % MAX_RECORD;
        uint8_t *room;

        while (!(room = ring_reserve(ring, size)))
            sched_yield();
        memcpy(room, &i, sizeof(i));
        memset(room + sizeof(i), (int)(random & 0xff), size - sizeof(i));
        ring_commit(ring);
    }
    return NULL;
}

START_TEST(loses_nothing_between_threads)
{
    struct ring *ring = new_ring(CAPACITY << _i);
    uint32_t random = 1;
    uint64_t sum = 0, expected = 0;
    pthread_t producer;

    ck_assert_int_eq(pthread_create(&producer, NULL, produce, ring), 0);
    for (uint32_t i = 0; i < TRANSFERS; i++) {
        size_t wanted = sizeof(i) + next_random(&random) % MAX_RECORD, size;
        const uint8_t *got;
        uint32_t number;

        while (!(got = ring_peek(ring, &size)))
            sched_yield();
        must(size == wanted, "a record keeps its size");
        memcpy(&number, got, sizeof(number));
        must(number == i, "records keep their order");
        for (size_t k = sizeof(number); k < size; k++)
            sum += got[k];
        expected += (size - sizeof(number)) * (random & 0xff);
        ring_release(ring);
    }
    pthread_join(producer, NULL);
    ck_assert_uint_eq(sum, expected);
    expect_empty(ring);
    ring_free(ring);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ring");
    TCase *one = tcase_create("one thread"), *two = tcase_create("two threads");

    tcase_add_loop_test(one, rounds_the_capacity_up, 0, sizeof(capacities) / sizeof(capacities[0]));
    tcase_add_test(one, hands_over_in_order);
    tcase_add_test(one, shows_only_what_was_committed);
    tcase_add_test(one, peeks_the_same_until_released);
    tcase_add_test(one, refuses_records_over_a_quarter);
    tcase_add_test(one, is_full_to_the_last_byte);
    tcase_add_loop_test(one, wraps_a_record_whole, 0, CAPACITY / 4 + 1);
    tcase_add_test(one, counts_positions_with_gaps);
    tcase_set_timeout(two, 100);
    tcase_add_loop_test(two, loses_nothing_between_threads, 0, 2);
    suite_add_tcase(suite, one);
    suite_add_tcase(suite, two);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
