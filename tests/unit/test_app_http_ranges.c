/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in byte ranges (HTTP 206) are reassembled, whatever the order of the ranges, their connections and segments. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_rig.h"

enum { TOTAL = 300, SECOND = 1000000000 };

static uint8_t content(uint32_t at)
{
    return (uint8_t)('a' + at * 7 % 26);
}

static void get_range(struct app_rig *rig, const char *path, uint32_t from, uint32_t to, uint32_t total)
{
    char text[256];
    uint8_t *body = malloc(to - from);

    for (uint32_t i = from; i < to; i++)
        body[i - from] = content(i);
    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: h\r\nRange: bytes=%u-%u\r\n\r\n", path, from, to - 1);
    app_rig_text(rig, FLOW_TO_SERVER, text);
    snprintf(text, sizeof(text),
             "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %u-%u/%u\r\nContent-Length: %u\r\n\r\n", from,
             to - 1, total, to - from);
    app_rig_text(rig, FLOW_TO_CLIENT, text);
    app_rig_send(rig, FLOW_TO_CLIENT, body, to - from);
    free(body);
}

static uint64_t reassembled_files(const struct app_rig *rig)
{
    return app_rig_counter(rig, "app_layer.byterange.reassembled_files");
}

static uint64_t abandoned_files(const struct app_rig *rig)
{
    return app_rig_counter(rig, "app_layer.byterange.abandoned_files");
}

static void next_connection(struct app_rig *rig)
{
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    rig->flow.client_port++;
}

/* Evicts a flow without a file in the table. The bytes in the flow's account are those that are freed. */
static void evict(struct app_rig *rig, struct flow *flow)
{
    struct app_memory_counts before, after;

    app_get_memory_counts(rig->app, &before);
    app_evict(rig->app, flow, false, NULL, NULL);
    app_get_memory_counts(rig->app, &after);
    ck_assert_uint_eq(after.evicted_bytes - before.evicted_bytes, before.used - after.used);
}

static void evict_connection(struct app_rig *rig)
{
    evict(rig, &rig->flow);
    next_connection(rig);
}

/* Checks that flows which have ended left nothing in the accounts by which the flow that frees memory is selected: a
 * remainder would be larger than the account of the only flow. */
static void check_no_remainder(struct app_rig *rig)
{
    app_rig_text(rig, FLOW_TO_SERVER, "GET /");
    ck_assert_ptr_eq(app_find_idle_flow(rig->app), &rig->flow);
}

/* The second file of the flow's newest transaction is the reassembled file. */
static void check_whole(const struct app_rig *rig, const char *what)
{
    const struct app_tx *tx = app_transactions(&rig->flow);
    const struct file *file;

    while (tx && tx->next)
        tx = tx->next;
    ck_assert_msg(tx && tx->files[FLOW_TO_CLIENT].count == 2, "%s: not reassembled", what);
    file = tx->files[FLOW_TO_CLIENT].first->next;
    ck_assert_msg(file->state == FILE_CLOSED && file->size == TOTAL && !file->byterange_file &&
                      file->data.length == TOTAL,
                  "%s", what);
    for (uint32_t i = 0; i < TOTAL; i++)
        ck_assert_msg(file->data.bytes[i] == content(i), "%s: byte %u", what, i);
    ck_assert_uint_eq(file->name.length, 2);
    ck_assert_uint_eq(file->start, 0);
    ck_assert_uint_eq(file->end, 0);
}

static const uint8_t orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
enum { ORDERS = sizeof(orders) / sizeof(orders[0]), CONNECTIONS = 2, CUTS = 3 };

START_TEST(ranges_are_reassembled)
{
    static const int cuts[CUTS] = { 0, 1, -1 };
    const uint8_t *order = orders[_i % ORDERS];
    bool one_each = _i / ORDERS % CONNECTIONS;
    struct app_rig *rig = app_rig_new("http", NULL);
    char what[64];

    rig->cut = cuts[_i / ORDERS / CONNECTIONS];
    snprintf(what, sizeof(what), "order %u%u%u, %s, cut %d", order[0], order[1], order[2],
             one_each ? "a connection each" : "one connection", rig->cut);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(reassembled_files(rig), 0);
        if (one_each && i > 0)
            next_connection(rig);
        get_range(rig, "/f", order[i] * 100u, order[i] * 100u + 100, TOTAL);
    }
    check_whole(rig, what);
    ck_assert_uint_eq(reassembled_files(rig), 1);
    ck_assert_uint_eq(abandoned_files(rig), 0);
    app_rig_free(rig);
}
END_TEST

/* As in the daemon, completed transactions are freed between ranges. The memory of the file is not accounted to a flow.
 */
START_TEST(transactions_are_freed_between_ranges)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    rig->tidy = true;
    get_range(rig, "/f", 0, 100, TOTAL);
    ck_assert_ptr_null(app_transactions(&rig->flow));
    evict_connection(rig);
    ck_assert_uint_gt(app_rig_memory(rig), 0); /* the file waits for its next range */
    get_range(rig, "/f", 200, 300, TOTAL);
    evict_connection(rig);
    rig->tidy = false;
    get_range(rig, "/f", 100, 200, TOTAL);
    check_whole(rig, "three connections");
    evict_connection(rig);
    check_no_remainder(rig);
    app_rig_free(rig);
}
END_TEST

static void feed(struct app_rig *rig, struct flow *flow, enum flow_direction direction, const char *head,
                 const void *body, uint32_t length)
{
    struct app_stream_chunk chunk = { .bytes = (const uint8_t *)head, .length = (uint32_t)strlen(head) };
    struct app_verdict verdict;

    app_feed_stream(rig->app, flow, direction, &chunk, rig->now_ns, &verdict);
    chunk = (struct app_stream_chunk){ .bytes = body, .length = length, .offset = chunk.length };
    if (length > 0)
        app_feed_stream(rig->app, flow, direction, &chunk, rig->now_ns, &verdict);
}

/* The file belongs to the transaction, and so to the flow, of its last range; then to the table, when that flow ends.
 */
START_TEST(the_file_moves_to_the_flow_of_the_last_range)
{
    enum { LENGTH = 100000 };
    static uint8_t body[LENGTH];
    struct app_rig *rig = app_rig_new("http", NULL);
    struct flow other = rig->flow;

    other.client_port += 100;
    get_range(rig, "/f", 0, LENGTH, 3 * LENGTH);
    feed(rig, &other, FLOW_TO_SERVER, "GET /f HTTP/1.1\r\nHost: h\r\nRange: bytes=100000-199999\r\n\r\n", NULL, 0);
    feed(rig, &other, FLOW_TO_CLIENT,
         "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 100000-199999/300000\r\nContent-Length: 100000\r\n\r\n",
         body, LENGTH);
    evict_connection(rig);
    ck_assert_uint_gt(app_rig_memory(rig), 2 * LENGTH);
    if (_i == 0) { /* the flow ends before the file */
        app_flow_free(rig->app, &other, NULL, NULL);
        ck_assert_uint_gt(app_rig_memory(rig), 2 * LENGTH);
    } else {
        app_byterange_clear(rig->app);
        ck_assert_uint_lt(app_rig_memory(rig), 2 * LENGTH);
        evict(rig, &other);
    }
    check_no_remainder(rig);
    app_rig_free(rig);
}
END_TEST

START_TEST(ranges_overlap)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    get_range(rig, "/f", 150, 260, TOTAL);
    get_range(rig, "/f", 200, 300, TOTAL);
    get_range(rig, "/f", 0, 120, TOTAL);
    get_range(rig, "/f", 0, 50, TOTAL);
    ck_assert_uint_eq(reassembled_files(rig), 0);
    get_range(rig, "/f", 100, 180, TOTAL);
    check_whole(rig, "overlapping");
    app_rig_free(rig);
}
END_TEST

START_TEST(other_files_are_not_mixed_in)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    get_range(rig, "/f", 0, 100, TOTAL);
    get_range(rig, "/g", 100, 300, TOTAL);     /* another URL */
    get_range(rig, "/f", 100, 300, TOTAL + 1); /* a file of another size */
    next_connection(rig);
    rig->flow.client.bytes[3]++;
    get_range(rig, "/f", 100, 300, TOTAL); /* another client */
    next_connection(rig);
    rig->flow.server.bytes[3]++;
    get_range(rig, "/f", 100, 300, TOTAL); /* another server */
    ck_assert_uint_eq(reassembled_files(rig), 0);
    next_connection(rig);
    get_range(rig, "/f", 100, 300, TOTAL);
    check_whole(rig, "the right one");
    app_rig_free(rig);
}
END_TEST

START_TEST(late_range_starts_new_file)
{
    struct app_rig *rig = app_rig_new("http", "app-layer: { protocols: { http: { byterange: { timeout: 30 } } } }");

    get_range(rig, "/f", 0, 100, TOTAL);
    next_connection(rig);
    rig->now_ns += UINT64_C(31) * SECOND;
    get_range(rig, "/f", 100, 300, TOTAL);
    ck_assert_uint_eq(reassembled_files(rig), 0);
    ck_assert_uint_eq(abandoned_files(rig), 1);
    app_rig_free(rig);
}
END_TEST

/* Ranges after a gap have a memory limit; a response that exceeds it has an event. Ranges of one connection, or of a
 * connection each: then no other memory is in use between two ranges. */
START_TEST(too_many_bytes_wait)
{
    enum { MEMCAP = 8 << 20, LENGTH = 90000, RANGES = 40, CONNECTION = 16 << 10 };
    bool one_each = _i;
    struct app_rig *rig = app_rig_new_limited("http", NULL, MEMCAP);
    unsigned events = 0;

    rig->tidy = true;
    for (unsigned i = 1; i <= RANGES; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%u", i % 4);
        get_range(rig, path, i * LENGTH, (i + 1) * LENGTH, 10000000);
        ck_assert(!rig->failed);
        const char *json = app_rig_json(rig, one_each ? 0 : i - 1);

        events += json && strstr(json, "RANGE_NOT_REASSEMBLED");
        if (one_each)
            evict_connection(rig);
        ck_assert_uint_le(app_rig_memory(rig), MEMCAP / 4 + (one_each ? 0 : CONNECTION));
    }
    ck_assert_uint_gt(abandoned_files(rig), 0);
    ck_assert_uint_eq(events, abandoned_files(rig));
    app_rig_free(rig);
}
END_TEST

/* Files that wait for their next range have the same limit, however many connections they are from. */
START_TEST(too_many_files_wait)
{
    enum { MEMCAP = 8 << 20, LENGTH = 90000, FILES = 60, CONNECTION = 16 << 10 };
    bool one_each = _i;
    struct app_rig *rig = app_rig_new_limited("http", NULL, MEMCAP);

    rig->tidy = true;
    for (unsigned i = 0; i < FILES; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%u", i);
        get_range(rig, path, 0, LENGTH, 10000000);
        ck_assert(!rig->failed);
        if (one_each)
            evict_connection(rig);
        ck_assert_uint_le(app_rig_memory(rig), MEMCAP / 8 + (one_each ? 0 : CONNECTION));
    }
    ck_assert_uint_gt(abandoned_files(rig), FILES / 2);
    app_rig_free(rig);
}
END_TEST

/* The table has 256 entries; a new file replaces the one that has waited longest. */
START_TEST(too_many_files)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    rig->tidy = true;
    for (unsigned i = 0; i < 1000; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%u", i);
        get_range(rig, path, 0, 100, TOTAL);
        rig->now_ns += 1000;
    }
    ck_assert_uint_ge(abandoned_files(rig), 700);
    get_range(rig, "/999", 100, 300, TOTAL);
    ck_assert_uint_eq(reassembled_files(rig), 1);
    app_rig_free(rig);
}
END_TEST

/* Invalid or complete ranges are inspected as separate files only, and use no memory of the table. */
START_TEST(odd_ranges_are_left_alone)
{
    static const char *const odd[] = { "bytes 0-99/100", "bytes 0-99/50",       "bytes 50-49/300", "bytes */300",
                                       "bytes 0-99/*",   "bytes 99-0/18446744", "lines 0-99/300" };
    struct app_rig *rig = app_rig_new("http", NULL);

    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "HTTP/1.1 206 OK\r\nContent-Range: %s\r\nContent-Length: 4\r\n\r\nbody", odd[i]);
        app_rig_text(rig, FLOW_TO_SERVER, "GET /f HTTP/1.1\r\nHost: h\r\n\r\n");
        app_rig_text(rig, FLOW_TO_CLIENT, text);
        ck_assert_uint_eq(app_rig_tx(rig, i)->files[FLOW_TO_CLIENT].count, 1);
    }
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    ck_assert_uint_eq(app_rig_memory(rig), 0);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_http_ranges");
    TCase *tcase = tcase_create("ranges");

    tcase_add_loop_test(tcase, ranges_are_reassembled, 0, ORDERS * CONNECTIONS * CUTS);
    tcase_add_test(tcase, transactions_are_freed_between_ranges);
    tcase_add_loop_test(tcase, the_file_moves_to_the_flow_of_the_last_range, 0, 2);
    tcase_add_test(tcase, ranges_overlap);
    tcase_add_test(tcase, other_files_are_not_mixed_in);
    tcase_add_test(tcase, late_range_starts_new_file);
    tcase_add_loop_test(tcase, too_many_bytes_wait, 0, CONNECTIONS);
    tcase_add_loop_test(tcase, too_many_files_wait, 0, CONNECTIONS);
    tcase_add_test(tcase, too_many_files);
    tcase_add_test(tcase, odd_ranges_are_left_alone);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
