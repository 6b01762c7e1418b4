/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heap: sizes, memcap, slabs that change their size class, and random operations compared with a model. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/heap.h"

enum { SLAB = 64 * 1024, MIB = 1 << 20 };

static struct heap *new_heap(size_t memcap)
{
    struct heap *heap = NULL;

    ck_assert_int_eq(heap_new(&heap, memcap), 0);
    return heap;
}

static bool is_zero(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Objects of every size are large enough, cleared and aligned; small ones waste at most a quarter. */
START_TEST(sizes)
{
    struct heap *heap = new_heap(8 * MIB);

    for (size_t size = 1; size <= HEAP_OBJECT_MAX; size = size < 40000 ? size + 1 : size + size / 3) {
        unsigned char *dirty = heap_alloc_uncleared(heap, size);

        ck_assert_ptr_nonnull(dirty);
        memset(dirty, 0xa5, size);
        heap_release(heap, dirty);
        unsigned char *object = heap_alloc(heap, size);

        if (!object || (uintptr_t)object % 16 != 0 || !is_zero(object, size))
            ck_abort_msg("size %zu", size);
        size_t room = heap_size(heap, object);

        if (room < size || heap_memory(heap) != room)
            ck_abort_msg("size %zu has room for %zu, memory %zu", size, room, heap_memory(heap));
        if (size > 48 && size <= SLAB / 2 && (room - size) * 4 > room)
            ck_abort_msg("size %zu wastes %zu", size, room - size);
        memset(object, 0x5a, room);
        heap_release(heap, object);
        ck_assert_uint_eq(heap_memory(heap), 0);
    }
    ck_assert_uint_eq(heap_refused_count(heap), 0);
    heap_free(heap);
}
END_TEST

START_TEST(what_is_too_large_is_refused)
{
    struct heap *heap = new_heap(16 * MIB);

    ck_assert_ptr_null(heap_alloc(heap, HEAP_OBJECT_MAX + 1));
    ck_assert_ptr_null(heap_alloc(heap, SIZE_MAX));
    ck_assert_uint_eq(heap_refused_count(heap), 2);
    void *object = heap_alloc(heap, HEAP_OBJECT_MAX);

    ck_assert_ptr_nonnull(object);
    heap_release(heap, object);
    heap_release(heap, NULL);
    heap_free(heap);
    heap_free(NULL);
    ck_assert_int_eq(heap_new(&heap, SIZE_MAX), -ENOMEM);
}
END_TEST

/* Allocates objects of one size until the heap is full, linked through their first word. Returns their number. */
static size_t fill(struct heap *heap, size_t size, void **all)
{
    size_t count = 0;
    void *object;

    while ((object = heap_alloc_uncleared(heap, size))) {
        memcpy(object, all, sizeof(*all));
        *all = object;
        count++;
    }
    return count;
}

static void give_all(struct heap *heap, void *all)
{
    while (all) {
        void *next;

        memcpy(&next, all, sizeof(next));
        heap_release(heap, all);
        all = next;
    }
}

/* Sizes, and the number of objects for which 1 MiB has room. */
static const struct {
    size_t size, count;
} fills[] = {
    { 8, 65536 },   { 16, 65536 },     { 17, 32768 }, { 128, 8192 },  { 129, 6544 },   { 1000, 1024 },
    { 20480, 48 },  { 32768, 32 },     { 32769, 16 }, { SLAB, 16 },   { SLAB + 1, 8 }, { 250000, 4 },
    { MIB / 2, 2 }, { MIB - SLAB, 1 }, { MIB, 1 },    { MIB + 1, 0 },
};

START_TEST(keeps_the_memcap_and_gives_slabs_to_other_classes)
{
    struct heap *heap = new_heap(MIB);
    void *all = NULL;

    /* After all earlier objects were freed, in any order, the heap has the same room as an empty one. */
    for (size_t before = 0; before < sizeof(fills) / sizeof(fills[0]); before++) {
        fill(heap, fills[before].size, &all);
        give_all(heap, all);
        all = NULL;
        ck_assert_uint_eq(heap_memory(heap), 0);
        uint64_t refused = heap_refused_count(heap);
        size_t count = fill(heap, fills[_i].size, &all);

        if (count != fills[_i].count)
            ck_abort_msg("%zu of %zu bytes after those of %zu", count, fills[_i].size, fills[before].size);
        ck_assert_uint_eq(heap_refused_count(heap), refused + 1);
        ck_assert_uint_le(heap_memory(heap), MIB);
        give_all(heap, all);
        all = NULL;
    }
    heap_free(heap);
}
END_TEST

START_TEST(a_small_memcap_is_one_slab)
{
    struct heap *heap = new_heap(1);
    void *object = heap_alloc(heap, SLAB);

    ck_assert_ptr_nonnull(object);
    ck_assert_ptr_null(heap_alloc(heap, 1));
    heap_release(heap, object);
    ck_assert_ptr_nonnull(heap_alloc(heap, 1));
    heap_free(heap);
}
END_TEST

START_TEST(the_last_given_is_taken_first)
{
    struct heap *heap = new_heap(MIB);
    void *a = heap_alloc(heap, 100), *b = heap_alloc(heap, 100), *c = heap_alloc(heap, 100);

    ck_assert(a && b && c && a != b && b != c && a != c);
    heap_release(heap, a);
    heap_release(heap, c);
    ck_assert_ptr_eq(heap_alloc(heap, 100), c);
    ck_assert_ptr_eq(heap_alloc(heap, 112), a);
    heap_free(heap);
}
END_TEST

START_TEST(grows)
{
    struct heap *heap = new_heap(4 * MIB);
    unsigned char *object = heap_grow(heap, NULL, 0, 20);

    ck_assert_ptr_nonnull(object);
    memset(object, 7, 20);
    ck_assert_ptr_eq(heap_grow(heap, object, 20, 32), object);
    for (size_t size = 33; size < 600000; size *= 2) {
        object = heap_grow(heap, object, 20, size);
        ck_assert_ptr_nonnull(object);
        for (int i = 0; i < 20; i++)
            ck_assert_uint_eq(object[i], 7);
        ck_assert_uint_eq(heap_memory(heap), heap_size(heap, object));
    }
    ck_assert_ptr_null(heap_grow(heap, object, 20, 4 * MIB));
    ck_assert_uint_eq(object[19], 7);
    ck_assert_uint_eq(heap_refused_count(heap), 1);
    heap_release(heap, object);
    ck_assert_uint_eq(heap_memory(heap), 0);
    heap_free(heap);
}
END_TEST

/* --- Comparison with a model ---------------------------------------------------------------------- */

enum { OBJECTS = 400, ROUNDS = 200000, MODEL_MEMCAP = 4 * MIB };

struct model {
    unsigned char *object;
    size_t size;
};

static unsigned next_random(unsigned *state)
{
    *state = *state * 1103515245 + 12345;
    return *state / 65536;
}

/* Returns a random size: mostly small, sometimes of any magnitude. */
static size_t random_size(unsigned *state)
{
    unsigned magnitude = next_random(state) % 100;
    size_t limit = magnitude < 60 ? 200 : magnitude < 90 ? 5000 : magnitude < 98 ? 100000 : 700000;

    return 1 + (next_random(state) * 32768u + next_random(state)) % limit;
}

static void mark(struct model *model, int i)
{
    memset(model->object, i % 251 + 1, model->size < 64 ? model->size : 64);
    model->object[model->size - 1] = (unsigned char)(i % 251 + 1);
}

static void check_mark(const struct model *model, int i)
{
    for (size_t k = 0; k < model->size && k < 64; k++)
        if (model->object[k] != i % 251 + 1)
            ck_abort_msg("object %d was written over at %zu", i, k);
    if (model->object[model->size - 1] != i % 251 + 1)
        ck_abort_msg("the end of object %d was written over", i);
}

static size_t sum_of_sizes(const struct heap *heap, const struct model *models)
{
    size_t sum = 0;

    for (int i = 0; i < OBJECTS; i++)
        sum += models[i].object ? heap_size(heap, models[i].object) : 0;
    return sum;
}

static void one_round(struct heap *heap, struct model *model, int i, unsigned *random)
{
    if (model->object && next_random(random) % 8 == 0) {
        size_t size = model->size + random_size(random);
        unsigned char *larger = size <= HEAP_OBJECT_MAX ? heap_grow(heap, model->object, model->size, size) : NULL;

        check_mark(&(struct model){ larger ? larger : model->object, model->size }, i);
        *model = larger ? (struct model){ larger, size } : *model;
        mark(model, i);
    } else if (model->object) {
        check_mark(model, i);
        heap_release(heap, model->object);
        model->object = NULL;
    } else {
        model->size = random_size(random);
        model->object = heap_alloc_uncleared(heap, model->size);
        if (model->object)
            mark(model, i);
    }
}

START_TEST(holds_what_is_written)
{
    struct heap *heap = new_heap(MODEL_MEMCAP);
    struct model models[OBJECTS] = { { 0 } };
    unsigned random = (unsigned)_i + 1;

    for (int round = 0; round < ROUNDS; round++) {
        int i = (int)(next_random(&random) % OBJECTS);

        one_round(heap, &models[i], i, &random);
        if (round % 1000 == 0)
            ck_assert_uint_eq(heap_memory(heap), sum_of_sizes(heap, models));
        ck_assert_uint_le(heap_memory(heap), MODEL_MEMCAP);
    }
    ck_assert_uint_gt(heap_refused_count(heap), 0);
    for (int i = 0; i < OBJECTS; i++) {
        if (models[i].object)
            check_mark(&models[i], i);
        heap_release(heap, models[i].object);
    }
    ck_assert_uint_eq(heap_memory(heap), 0);
    ck_assert_ptr_nonnull(heap_alloc(heap, MODEL_MEMCAP)); /* the free memory is contiguous again */
    heap_free(heap);
}
END_TEST

/* --- Buffers -------------------------------------------------------------------------------------- */

START_TEST(a_buffer_keeps_its_limit)
{
    struct heap *heap = new_heap(MIB);
    struct buffer buffer = { 0 };
    uint8_t bytes[1000];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)i;
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 0, 10), 0);
    ck_assert_ptr_null(buffer.bytes);
    for (uint32_t length = 0; length < 7000; length += 1000)
        ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 1000, 7500), 1000);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 1000, 7500), 500);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 1000, 7500), 0);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 1000, 100), 0);
    ck_assert_uint_eq(buffer.length, 7500);
    for (uint32_t i = 0; i < buffer.length; i++)
        ck_assert_uint_eq(buffer.bytes[i], (uint8_t)(i % 1000));
    buffer_consume(&buffer, 1500);
    ck_assert_uint_eq(buffer.length, 6000);
    ck_assert_uint_eq(buffer.bytes[0], (uint8_t)500);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 2, 7500), 2);
    ck_assert_uint_eq(buffer.bytes[6001], 1);
    buffer_consume(&buffer, 6002);
    ck_assert_uint_eq(buffer.length, 0);
    buffer_clear(heap, &buffer);
    ck_assert_ptr_null(buffer.bytes);
    ck_assert_uint_eq(heap_memory(heap), 0);
    buffer_clear(heap, &buffer);
    heap_free(heap);
}
END_TEST

/* If there is no memory to double a buffer, it gets the size that it needs; if that fails, it takes only bytes that
 * fit. */
START_TEST(a_buffer_grows_once_when_it_has_room)
{
    struct heap *heap = new_heap(MIB);
    struct buffer buffer = { 0 };

    buffer_reserve(heap, &buffer, 1000);
    const uint8_t *at = buffer.bytes;

    ck_assert(at && buffer.length == 0);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(buffer_append(heap, &buffer, "0123456789012345678901234567890123456789", 40, 400), 40);
    buffer_reserve(heap, &buffer, 900); /* enough capacity already */
    ck_assert_ptr_eq(buffer.bytes, at);
    buffer_reserve(heap, &buffer, HEAP_OBJECT_MAX); /* no memory: the buffer does not change */
    ck_assert_ptr_eq(buffer.bytes, at);
    buffer_reserve(heap, &buffer, 10000);
    ck_assert_uint_eq(buffer.length, 400);
    ck_assert(buffer.capacity >= 10000 && memcmp(buffer.bytes + 360, "01234567", 8) == 0);
    buffer_clear(heap, &buffer);
    ck_assert_uint_eq(heap_memory(heap), 0);
    heap_free(heap);
}
END_TEST

START_TEST(a_buffer_stops_at_the_memcap)
{
    struct heap *heap = new_heap(6 * SLAB);
    struct buffer buffer = { 0 };
    static uint8_t bytes[SLAB];

    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, SLAB, UINT32_MAX), SLAB);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 10, UINT32_MAX), 10);
    ck_assert_uint_eq(buffer.capacity, 2 * SLAB);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, SLAB, UINT32_MAX), SLAB); /* 3 slabs, not 4 */
    ck_assert_uint_eq(buffer.capacity, 3 * SLAB);
    ck_assert_uint_eq(heap_refused_count(heap), 0);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, SLAB, UINT32_MAX), SLAB - 10);
    ck_assert_uint_eq(heap_refused_count(heap), 1);
    ck_assert_uint_eq(buffer_append(heap, &buffer, bytes, 1, UINT32_MAX), 0);
    buffer_clear(heap, &buffer);
    heap_free(heap);
}
END_TEST

START_TEST(changes_its_memcap)
{
    struct heap *heap = new_heap(2 * SLAB);
    void *large[2 * HEAP_GROWTH];

    large[0] = heap_alloc(heap, SLAB);
    large[1] = heap_alloc(heap, SLAB);
    ck_assert_ptr_null(heap_alloc(heap, SLAB));
    ck_assert_int_eq(heap_set_memcap(heap, SLAB), -EBUSY);
    ck_assert_int_eq(heap_set_memcap(heap, (HEAP_GROWTH * 2 + 1) * SLAB), -ERANGE);
    ck_assert_int_eq(heap_set_memcap(heap, HEAP_GROWTH * 2 * SLAB), 0);
    ck_assert_uint_eq(heap_capacity(heap), HEAP_GROWTH * 2 * SLAB);
    ck_assert_uint_eq(heap_available(heap), (2 * HEAP_GROWTH - 2) * SLAB);
    for (unsigned i = 2; i < 2 * HEAP_GROWTH; i++) {
        large[i] = heap_alloc(heap, SLAB);
        ck_assert_ptr_nonnull(large[i]);
        memset(large[i], 0xa5, SLAB);
    }
    ck_assert_ptr_null(heap_alloc(heap, SLAB));
    for (unsigned i = 0; i < 2 * HEAP_GROWTH - 1; i++)
        heap_release(heap, large[i]);
    /* The slabs are free, but above the memcap. */
    ck_assert_int_eq(heap_set_memcap(heap, 2 * SLAB), 0);
    ck_assert_uint_eq(heap_available(heap), SLAB);
    large[0] = heap_alloc(heap, 100);
    ck_assert_ptr_nonnull(large[0]);
    ck_assert_ptr_null(heap_alloc(heap, SLAB));
    heap_release(heap, large[0]); /* its size class keeps the slab */
    ck_assert_int_eq(heap_set_memcap(heap, SLAB), 0);
    ck_assert_uint_eq(heap_available(heap), 0);
    heap_release(heap, large[2 * HEAP_GROWTH - 1]);
    ck_assert_ptr_nonnull(heap_alloc(heap, SLAB));
    heap_free(heap);
}
END_TEST

/* Free slabs between others do not suffice for a larger object. */
START_TEST(tells_whether_slabs_are_contiguous)
{
    struct heap *heap = new_heap(8 * SLAB);
    void *slabs[8];

    ck_assert(heap_can_allocate(heap, 8 * SLAB));
    for (unsigned i = 0; i < 8; i++)
        slabs[i] = heap_alloc(heap, SLAB);
    ck_assert(!heap_can_allocate(heap, 1));
    for (unsigned i = 0; i < 8; i += 2)
        heap_release(heap, slabs[i]);
    ck_assert_uint_eq(heap_available(heap), 4 * SLAB);
    ck_assert(heap_can_allocate(heap, SLAB));
    ck_assert(!heap_can_allocate(heap, SLAB + 1));
    ck_assert_ptr_null(heap_alloc(heap, SLAB + 1));
    heap_release(heap, slabs[3]);
    ck_assert(heap_can_allocate(heap, 3 * SLAB));
    ck_assert(!heap_can_allocate(heap, 3 * SLAB + 1));
    ck_assert_ptr_nonnull(heap_alloc(heap, 3 * SLAB));
    heap_free(heap);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap");
    TCase *tcase = tcase_create("heap");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, sizes);
    tcase_add_test(tcase, what_is_too_large_is_refused);
    tcase_add_loop_test(tcase, keeps_the_memcap_and_gives_slabs_to_other_classes, 0, sizeof(fills) / sizeof(fills[0]));
    tcase_add_test(tcase, a_small_memcap_is_one_slab);
    tcase_add_test(tcase, the_last_given_is_taken_first);
    tcase_add_test(tcase, grows);
    tcase_add_loop_test(tcase, holds_what_is_written, 0, 4);
    tcase_add_test(tcase, a_buffer_keeps_its_limit);
    tcase_add_test(tcase, a_buffer_grows_once_when_it_has_room);
    tcase_add_test(tcase, a_buffer_stops_at_the_memcap);
    tcase_add_test(tcase, changes_its_memcap);
    tcase_add_test(tcase, tells_whether_slabs_are_contiguous);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
