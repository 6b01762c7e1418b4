/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host bits: compared with a plain model, at their limits, and with several workers. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/clock.h"
#include "sluice/host.h"

static struct host_table *table;

static void make_table(void)
{
    ck_assert_int_eq(host_table_new(&table, 1 << 20), 0);
}

static void free_table(void)
{
    host_table_free(table);
}

static struct host_key key_of(uint32_t host, uint32_t number)
{
    struct host_key key = { .ip_version = 4, .number = number };

    memcpy(key.first.bytes, &host, sizeof(host));
    return key;
}

static struct host_key two_byte_pair(uint32_t one, uint32_t other, uint32_t number)
{
    struct host_key key = key_of(one, number);

    memcpy(key.second.bytes, &other, sizeof(other));
    key.is_pair = true;
    return key;
}

START_TEST(a_bit_lasts_until_its_time)
{
    struct host_key key = key_of(1, 1);

    ck_assert(!host_bit_is_set(table, &key, 10));
    ck_assert(host_bit_set(table, &key, 10, 20));
    ck_assert(host_bit_is_set(table, &key, 20));
    ck_assert(!host_bit_is_set(table, &key, 21));
    ck_assert(!host_bit_is_set(table, &key, 15)); /* removed for good */
    ck_assert(host_bit_set(table, &key, 30, 40));
    ck_assert(host_bit_set(table, &key, 35, 60)); /* set again, with a later expiry */
    ck_assert(host_bit_is_set(table, &key, 60));
    host_bit_clear(table, &key, 0);
    ck_assert(!host_bit_is_set(table, &key, 60));
    ck_assert(host_bit_set(table, &key, 70, UINT64_MAX));
    ck_assert(host_bit_is_set(table, &key, UINT64_MAX - 1));
}
END_TEST

START_TEST(toggling_turns_a_bit_round)
{
    struct host_key key = key_of(1, 1);

    ck_assert(host_bit_toggle(table, &key, 10, 20));
    ck_assert(host_bit_is_set(table, &key, 10));
    ck_assert(!host_bit_toggle(table, &key, 11, 20));
    ck_assert(!host_bit_is_set(table, &key, 11));
    ck_assert(host_bit_toggle(table, &key, 12, 20));
    ck_assert(host_bit_toggle(table, &key, 21, 30)); /* the bit had expired, so it is set */
    ck_assert(host_bit_is_set(table, &key, 21));
}
END_TEST

START_TEST(keys_that_differ_are_apart)
{
    struct host_key key = key_of(1, 1), other = key_of(1, 2), version6 = key_of(1, 1), pair = two_byte_pair(1, 2, 1);
    struct host_key reverse = two_byte_pair(2, 1, 1), alone = two_byte_pair(1, 0, 1);

    version6.ip_version = 6;
    ck_assert(host_bit_set(table, &key, 1, UINT64_MAX));
    ck_assert(!host_bit_is_set(table, &other, 1));
    ck_assert(!host_bit_is_set(table, &version6, 1));
    ck_assert(!host_bit_is_set(table, &pair, 1));
    ck_assert(!host_bit_is_set(table, &alone, 1));
    ck_assert(host_bit_set(table, &pair, 1, UINT64_MAX));
    ck_assert(host_bit_is_set(table, &reverse, 1));
    host_bit_clear(table, &reverse, 0);
    ck_assert(!host_bit_is_set(table, &pair, 1));
    ck_assert(host_bit_is_set(table, &key, 1));
}
END_TEST

/* A scan from many addresses: memory is bounded, bits without room are counted, and expired bits make room. */
START_TEST(memory_is_bounded)
{
    size_t memory = host_table_memory(table);
    uint32_t taken = 0;

    ck_assert_uint_le(memory, (1 << 20) + 8192);
    for (uint32_t host = 0; host < 100000; host++) {
        struct host_key key = key_of(host, 1);

        taken += host_bit_set(table, &key, 1, 100);
    }
    ck_assert_uint_gt(taken, 10000);
    ck_assert_uint_eq(host_table_memcap_hits(table), 100000 - taken);
    ck_assert_uint_eq(host_table_memory(table), memory);
    for (uint32_t host = 200000; host < 200000 + taken / 2; host++) {
        struct host_key key = key_of(host, 1);

        ck_assert(host_bit_set(table, &key, 101, 200));
    }
    ck_assert_uint_eq(host_table_memcap_hits(table), 100000 - taken);
}
END_TEST

/* --- Comparison with a model ---------------------------------------------------------------------- */

enum { HOSTS = 8, NUMBERS = 4, STEPS = 50000 };

struct model {
    uint64_t single[HOSTS][NUMBERS]; /* expiry time of the bit; 0: not set */
    uint64_t pair[HOSTS][HOSTS][NUMBERS];
};

static uint64_t *model_bit(struct model *model, uint32_t one, uint32_t other, bool is_pair, uint32_t number)
{
    return !is_pair       ? &model->single[one][number]
           : one <= other ? &model->pair[one][other][number]
                          : &model->pair[other][one][number];
}

static void random_step(struct model *model, uint64_t now_ns)
{
    uint32_t one = (uint32_t)rand() % HOSTS, other = (uint32_t)rand() % HOSTS, number = (uint32_t)rand() % NUMBERS;
    bool is_pair = rand() % 2, model_set;
    struct host_key key = is_pair ? two_byte_pair(one, other, number) : key_of(one, number);
    uint64_t *expires_ns = model_bit(model, one, other, is_pair, number);
    uint64_t until = now_ns + (uint64_t)rand() % 500;

    model_set = *expires_ns >= now_ns;
    switch (rand() % 4) {
    case 0:
        ck_assert(host_bit_set(table, &key, now_ns, until));
        *expires_ns = until;
        break;
    case 1:
        host_bit_clear(table, &key, 0);
        *expires_ns = 0;
        break;
    case 2:
        ck_assert_int_eq(host_bit_toggle(table, &key, now_ns, until), !model_set);
        *expires_ns = model_set ? 0 : until;
        break;
    default:
        ck_assert_int_eq(host_bit_is_set(table, &key, now_ns), model_set);
    }
}

START_TEST(random_steps_match_a_model)
{
    struct model *model = calloc(1, sizeof(*model));

    ck_assert_ptr_nonnull(model);
    srand(7);
    host_table_set_seed(table, 12345);
    for (uint64_t step = 1; step <= STEPS; step++)
        random_step(model, step * 3);
    free(model);
}
END_TEST

/* --- Workers -------------------------------------------------------------------------------------- */

enum { THREADS = 4, TOGGLES = 5001 };

/* Each worker sets its own bits; all toggle the same one. */
static void *work(void *arg)
{
    uint32_t number = (uint32_t)(uintptr_t)arg;
    struct host_key common = key_of(1, 1);
    uintptr_t failures = 0;

    for (uint32_t i = 0; i < TOGGLES; i++) {
        struct host_key own = key_of(i % 100, 10 + number);

        host_bit_toggle(table, &common, 1, UINT64_MAX);
        failures += !host_bit_set(table, &own, 1, UINT64_MAX) || !host_bit_is_set(table, &own, 2);
        if (i % 3 == 0) {
            host_bit_clear(table, &own, 0);
            failures += host_bit_is_set(table, &own, 2);
        }
    }
    return (void *)failures;
}

/* An even number of workers toggle the bit an odd number of times: it must not be set. After one more toggle it must be
 * set. A lost toggle would change that. */
START_TEST(workers_lose_nothing)
{
    struct host_key common = key_of(1, 1);
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures;

        pthread_join(threads[i], &failures);
        ck_assert_ptr_null(failures);
    }
    ck_assert(!host_bit_is_set(table, &common, 2));
    ck_assert(host_bit_toggle(table, &common, 2, UINT64_MAX));
    ck_assert_uint_eq(host_table_memcap_hits(table), 0);
}
END_TEST

static unsigned count_set(uint32_t hosts)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < hosts; i++) {
        struct host_key key = key_of(i, 1);

        count += host_bit_is_set(table, &key, 2);
    }
    return count;
}

START_TEST(changes_its_memcap)
{
    const uint32_t hosts = 60000;
    unsigned before, after;

    for (uint32_t i = 0; i < hosts; i++) {
        struct host_key key = key_of(i, 1);

        ck_assert(host_bit_set(table, &key, 1, 100 + i));
    }
    before = count_set(hosts);
    ck_assert_uint_lt(before, hosts); /* the table is full: it has evicted bits */
    ck_assert_int_eq(host_table_set_memcap(table, 1 << 18), -EBUSY);
    ck_assert_int_eq(host_table_set_memcap(table, 8 << 20), 0);
    ck_assert_uint_eq(count_set(hosts), before); /* bits are kept */
    for (uint32_t i = 0; i < hosts; i++) {
        struct host_key key = key_of(i, 1);

        ck_assert(host_bit_set(table, &key, 1, 100 + i));
    }
    ck_assert_uint_eq(count_set(hosts), hosts);
    for (uint32_t i = 0; i < hosts - 100; i++) {
        struct host_key key = key_of(i, 1);

        host_bit_clear(table, &key, 2);
    }
    ck_assert_int_eq(host_table_set_memcap(table, 1 << 18), 0);
    for (uint32_t i = 0; i < hosts; i++) {
        struct host_key key = key_of(i, 1);

        ck_assert(host_bit_set(table, &key, 1, 100 + i));
    }
    after = count_set(hosts);
    ck_assert_uint_lt(after, before / 2);
    ck_assert_uint_gt(after, 1000);
}
END_TEST

/* One thread changes the memcap while workers use the table. */
START_TEST(changes_its_memcap_while_workers_use_it)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (unsigned i = 1; i <= 16; i++)
        ck_assert_int_eq(host_table_set_memcap(table, (1u + i) << 20), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failures;

        pthread_join(threads[i], &failures);
        ck_assert_ptr_null(failures);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host");
    TCase *tcase = tcase_create("host");

    tcase_add_checked_fixture(tcase, make_table, free_table);
    tcase_add_test(tcase, a_bit_lasts_until_its_time);
    tcase_add_test(tcase, toggling_turns_a_bit_round);
    tcase_add_test(tcase, keys_that_differ_are_apart);
    tcase_add_test(tcase, memory_is_bounded);
    tcase_add_test(tcase, random_steps_match_a_model);
    tcase_add_test(tcase, workers_lose_nothing);
    tcase_add_test(tcase, changes_its_memcap);
    tcase_add_test(tcase, changes_its_memcap_while_workers_use_it);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
