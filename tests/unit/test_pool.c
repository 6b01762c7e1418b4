/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/pool.h"

static struct pool *new_pool(size_t size, size_t memcap)
{
    struct pool *pool = NULL;

    ck_assert_int_eq(pool_new(&pool, size, memcap), 0);
    return pool;
}

static const struct {
    size_t size, memcap, capacity, stride;
} shapes[] = {
    { 8, 80, 10, 8 },
    { 1, 80, 10, 8 },
    { 24, 100, 4, 24 },
    { 63, 640, 10, 64 },
    { 64, 640, 10, 64 },
    { 65, 640, 5, 128 },
    { 200, 1000, 3, 256 },
    { 100, 0, 1, 128 },
    { 100, 99, 1, 128 },
    { 4096, 1 << 20, 256, 4096 },
    { 256, 9 << 20, 36864, 256 },
};

START_TEST(keeps_the_memcap)
{
    struct pool *pool = new_pool(shapes[_i].size, shapes[_i].memcap);
    size_t unit = shapes[_i].size >= 64 ? 64 : 8;

    ck_assert_uint_eq(pool_capacity(pool), shapes[_i].capacity);
    for (size_t i = 0; i < shapes[_i].capacity; i++) {
        unsigned char *object = pool_alloc(pool);

        if (!object || (uintptr_t)object % unit != 0)
            ck_abort_msg("object %zu: %p", i, (void *)object);
        memset(object, 0xa5, shapes[_i].size);
    }
    ck_assert_ptr_null(pool_alloc(pool));
    ck_assert_uint_eq(pool_used(pool), shapes[_i].capacity);
    ck_assert_uint_eq(pool_memory(pool), shapes[_i].capacity * shapes[_i].stride);
    pool_free(pool);
}
END_TEST

START_TEST(gives_the_last_one_first)
{
    struct pool *pool = new_pool(32, 3 * 32);
    void *a = pool_alloc(pool), *b = pool_alloc(pool), *c = pool_alloc(pool);

    ck_assert(a && b && c && a != b && b != c && a != c);
    pool_release(pool, NULL);
    ck_assert_uint_eq(pool_used(pool), 3);
    pool_release(pool, a);
    pool_release(pool, c);
    ck_assert_uint_eq(pool_used(pool), 1);
    ck_assert_uint_eq(pool_memory(pool), 32);
    ck_assert_ptr_eq(pool_alloc(pool), c);
    ck_assert_ptr_eq(pool_alloc(pool), a);
    ck_assert_ptr_null(pool_alloc(pool));
    pool_free(pool);
}
END_TEST

/* Objects do not overlap, in any order of allocations. */
START_TEST(objects_are_apart)
{
    enum { OBJECTS = 50, ROUNDS = 20000, SIZE = 40 };
    struct pool *pool = new_pool(SIZE, (size_t)OBJECTS * SIZE);
    unsigned char *taken[OBJECTS] = { NULL };
    unsigned random = 1;

    for (int round = 0; round < ROUNDS; round++) {
        random = random * 1103515245 + 12345;
        unsigned i = random / 65536 % OBJECTS;

        if (!taken[i]) {
            taken[i] = pool_alloc(pool);
            if (!taken[i])
                ck_abort_msg("there is room");
            memset(taken[i], (int)i + 1, SIZE);
            continue;
        }
        for (int k = 0; k < SIZE; k++) {
            if (taken[i][k] != i + 1)
                ck_abort_msg("object %u was written over", i);
        }
        pool_release(pool, taken[i]);
        taken[i] = NULL;
    }
    pool_free(pool);
}
END_TEST

/* A pool reserves address space only; the kernel has not allocated memory for it. */
START_TEST(reserves_address_space_only)
{
    enum { SIZE = 1 << 20, COUNT = 64 };
    struct pool *pool = new_pool(SIZE, (size_t)SIZE * COUNT);
    unsigned char *objects[COUNT], resident[SIZE / 4096];
    size_t backed = 0;

    ck_assert_int_eq(sysconf(_SC_PAGESIZE), 4096);
    for (int i = 0; i < COUNT; i++)
        objects[i] = pool_alloc(pool);
    for (int i = 0; i < COUNT; i++) {
        unsigned char *page = objects[i] + (4096 - (uintptr_t)objects[i] % 4096) % 4096;

        ck_assert_int_eq(mincore(page, SIZE - 4096, resident), 0);
        for (int k = 0; k < (SIZE - 4096) / 4096; k++)
            backed += resident[k] & 1;
    }
    ck_assert_uint_eq(backed, 0);
    ck_assert_uint_eq(objects[COUNT - 1][SIZE - 1], 0);
    pool_free(pool);
}
END_TEST

START_TEST(too_much_is_an_error)
{
    struct pool *pool = NULL;

    ck_assert_int_eq(pool_new(&pool, SIZE_MAX, SIZE_MAX), -ENOMEM);
    ck_assert_int_eq(pool_new(&pool, 64, SIZE_MAX), -ENOMEM);
    ck_assert_ptr_null(pool);
    pool_free(NULL);
}
END_TEST

START_TEST(changes_its_memcap)
{
    struct pool *pool = new_pool(64, 4 * 64);
    void *objects[4 * POOL_GROWTH];

    for (unsigned i = 0; i < 4; i++)
        objects[i] = pool_alloc(pool);
    ck_assert_int_eq(pool_set_memcap(pool, 3 * 64), -EBUSY);
    ck_assert_int_eq(pool_set_memcap(pool, (POOL_GROWTH * 4 + 1) * 64), -ERANGE);
    ck_assert_uint_eq(pool_capacity(pool), 4);
    ck_assert_int_eq(pool_set_memcap(pool, POOL_GROWTH * 4 * 64), 0);
    for (unsigned i = 4; i < 4 * POOL_GROWTH; i++) {
        objects[i] = pool_alloc(pool);
        ck_assert_ptr_nonnull(objects[i]);
        memset(objects[i], 0xa5, 64);
    }
    ck_assert_ptr_null(pool_alloc(pool));
    for (unsigned i = 2; i < 4 * POOL_GROWTH; i++)
        pool_release(pool, objects[i]);
    ck_assert_int_eq(pool_check_memcap(pool, 1 * 64), -EBUSY);
    ck_assert_int_eq(pool_set_memcap(pool, 3 * 64), 0); /* below the objects that were used once */
    ck_assert_ptr_nonnull(pool_alloc(pool));
    ck_assert_ptr_null(pool_alloc(pool));
    ck_assert_int_eq(pool_set_memcap(pool, 4 * 64), 0);
    ck_assert_ptr_nonnull(pool_alloc(pool));
    ck_assert_ptr_null(pool_alloc(pool));
    pool_free(pool);
}
END_TEST

/* A large pool has huge pages; its memory beyond the memcap is used only after a change. */
START_TEST(raises_a_large_memcap)
{
    struct pool *pool = new_pool(4096, 9 << 20);
    unsigned char *object = NULL;
    size_t count = 0;

    ck_assert_int_eq(pool_set_memcap(pool, 20 << 20), 0);
    for (; (object = pool_alloc(pool)); count++)
        object[4095] = 1;
    ck_assert_uint_eq(count, (20 << 20) / 4096);
    pool_free(pool);
}
END_TEST

static size_t count_resident(const unsigned char *at, size_t length)
{
    unsigned char resident[16 << 20 >> 12];
    size_t count = 0;

    ck_assert_int_eq(mincore((void *)((uintptr_t)at / 4096 * 4096), length, resident), 0);
    for (size_t i = 0; i < length / 4096; i++)
        count += resident[i] & 1;
    return count;
}

/* Objects of 576 bytes do not fill a huge page exactly. The lowest object stays in use, and so does one in the last,
 * partial chunk; all others are freed. */
START_TEST(gives_memory_back)
{
    enum { SIZE = 576, MEMCAP = 9 << 20 };
    struct pool *pool = new_pool(SIZE, MEMCAP);
    size_t count = pool_capacity(pool);
    unsigned char **objects = calloc(count, sizeof(*objects)), *lowest = NULL, *highest = NULL;

    ck_assert(objects && count > (9 << 20) / SIZE - 5 && count <= MEMCAP / SIZE);
    for (size_t i = 0; i < count; i++) {
        objects[i] = pool_alloc(pool);
        memset(objects[i], 0xa5, SIZE);
        lowest = !lowest || objects[i] < lowest ? objects[i] : lowest;
        highest = objects[i] > highest ? objects[i] : highest;
    }
    ck_assert_uint_eq(pool_trim(pool) + pool_trim(pool), 0); /* all are in use */
    ck_assert_uint_ge(count_resident(lowest, MEMCAP), (MEMCAP - 4096) / 4096);
    for (size_t i = 0; i < count; i++)
        if (objects[i] != lowest && objects[i] != highest)
            pool_release(pool, objects[i]);
    ck_assert_uint_eq(pool_trim(pool), 0); /* they were in use a moment ago */
    ck_assert_uint_eq(pool_trim(pool), 6 << 20);
    ck_assert_uint_eq(pool_trim(pool), 0);
    ck_assert_uint_eq(count_resident(lowest + (2 << 20), 6 << 20), 0);
    ck_assert(lowest[SIZE - 1] == 0xa5 && highest[0] == 0xa5 && highest[SIZE - 1] == 0xa5);
    ck_assert_uint_eq(pool_used(pool), 2);

    /* All objects can be allocated again. */
    for (size_t i = 2; i < count; i++) {
        unsigned char *object = pool_alloc(pool);

        if (!object || object <= lowest || object >= highest)
            ck_abort_msg("object %zu: %p", i, (void *)object);
        if (object >= lowest + (2 << 20) && object < lowest + (8 << 20) && (object[0] != 0 || object[SIZE - 1] != 0))
            ck_abort_msg("object %zu is not zero", i);
        memset(object, 0x5a, SIZE);
    }
    ck_assert_ptr_null(pool_alloc(pool));
    ck_assert(lowest[0] == 0xa5 && lowest[SIZE - 1] == 0xa5 && highest[0] == 0xa5 && highest[SIZE - 1] == 0xa5);
    pool_free(pool);
    free(objects);
}
END_TEST

/* A small pool keeps its memory. */
START_TEST(keeps_small_memory)
{
    struct pool *pool = new_pool(64, 1 << 20);
    void *object = pool_alloc(pool);

    pool_release(pool, object);
    ck_assert_uint_eq(pool_trim(pool) + pool_trim(pool), 0);
    ck_assert_ptr_eq(pool_alloc(pool), object);
    pool_free(pool);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");

    tcase_add_loop_test(tcase, keeps_the_memcap, 0, sizeof(shapes) / sizeof(shapes[0]));
    tcase_add_test(tcase, gives_the_last_one_first);
    tcase_add_test(tcase, objects_are_apart);
    tcase_add_test(tcase, reserves_address_space_only);
    tcase_add_test(tcase, too_much_is_an_error);
    tcase_add_test(tcase, changes_its_memcap);
    tcase_add_test(tcase, raises_a_large_memcap);
    tcase_add_test(tcase, gives_memory_back);
    tcase_add_test(tcase, keeps_small_memory);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
