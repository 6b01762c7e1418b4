/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assembly_model.h"

enum { MEMCAP = 8 << 20, BLOCK = 2048, MAX_PIECES = 256 };

static struct assembly_store *store;
static struct assembly assembly;
static struct assembly_report report;

static void set_up_mode(bool inline_mode, size_t memcap)
{
    const struct assembly_options options = { .memcap = memcap, .inline_mode = inline_mode };

    ck_assert_int_eq(assembly_store_new(&store, &options), 0);
    assembly = (struct assembly){ 0 };
}

static void set_up(void)
{
    set_up_mode(true, MEMCAP);
}

static void set_up_passive(void)
{
    set_up_mode(false, MEMCAP);
}

static void tear_down(void)
{
    assembly_clear(store, &assembly);
    ck_assert_uint_eq(assembly_store_memory(store), 0);
    assembly_store_free(store);
}

static int add(uint64_t offset, const char *text)
{
    return assembly_add(store, &assembly, offset, (const uint8_t *)text, (uint32_t)strlen(text), HOST_OS_BSD, &report);
}

/* Returns the texts of the chunks up to `until`, separated by "|"; a chunk after a gap has "~" before it. */
static const char *views(uint64_t until)
{
    static char out[256];
    struct stream_chunk view;
    size_t length = 0;

    while (assembly_next_chunk(store, &assembly, until, NULL, 0, 0, &view)) {
        length += (size_t)snprintf(out + length, sizeof(out) - length, "%s%s%.*s", length ? "|" : "",
                                   view.gap ? "~" : "", (int)view.length, (const char *)view.data);
        ck_assert_uint_lt(length, sizeof(out));
    }
    out[length] = '\0';
    return out;
}

/* --- In order and not, first wins ----------------------------------------------------------------- */

struct step {
    uint64_t offset;
    const char *text;
    uint32_t added, overlapping;
    bool differs;
    const char *views;
};

static const struct {
    const char *name;
    struct step steps[5];
} orders[] = {
    { "in order", { { 0, "abc", 3, 0, false, "abc" }, { 3, "def", 3, 0, false, "def" } } },
    { "reversed", { { 2, "c", 1, 0, false, "" }, { 1, "b", 1, 0, false, "" }, { 0, "a", 1, 0, false, "abc" } } },
    { "a hole filled exactly",
      { { 0, "a", 1, 0, false, "a" }, { 3, "d", 1, 0, false, "" }, { 1, "bc", 2, 0, false, "bcd" } } },
    { "a hole filled and more", { { 2, "cd", 2, 0, false, "" }, { 0, "abcdef", 4, 2, false, "abcdef" } } },
    { "retransmission", { { 0, "abc", 3, 0, false, "abc" }, { 0, "abc", 0, 3, false, "" } } },
    { "retransmission with more", { { 0, "abc", 3, 0, false, "abc" }, { 1, "bcde", 2, 2, false, "de" } } },
    { "other bytes after inspection", { { 0, "abc", 3, 0, false, "abc" }, { 0, "abX", 0, 3, true, "" } } },
    { "other bytes before a hole is filled",
      { { 1, "bcd", 3, 0, false, "" }, { 1, "XXXe", 1, 3, true, "" }, { 0, "a", 1, 0, false, "abcde" } } },
    { "other bytes in two pieces",
      { { 1, "b", 1, 0, false, "" }, { 3, "d", 1, 0, false, "" }, { 0, "aXcXe", 3, 2, true, "abcde" } } },
    { "pieces that touch",
      { { 4, "e", 1, 0, false, "" }, { 2, "cd", 2, 0, false, "" }, { 0, "ab", 2, 0, false, "abcde" } } },
    { "a piece over two",
      { { 2, "c", 1, 0, false, "" },
        { 4, "e", 1, 0, false, "" },
        { 1, "bcdef", 3, 2, false, "" },
        { 0, "a", 1, 0, false, "abcdef" } } },
};

START_TEST(first_bytes_win)
{
    for (const struct step *step = orders[_i].steps; step->text; step++) {
        bool differs =
            assembly_differs(&assembly, step->offset, (const uint8_t *)step->text, (uint32_t)strlen(step->text));

        ck_assert_msg(add(step->offset, step->text) == 0, "%s", orders[_i].name);
        ck_assert_msg(report.added == step->added && report.overlapping == step->overlapping &&
                          report.differs == step->differs && differs == step->differs,
                      "%s: %s: added %u, overlapping %u, differs %d", orders[_i].name, step->text, report.added,
                      report.overlapping, report.differs);
        const char *got = views(UINT64_MAX);

        ck_assert_msg(strcmp(got, step->views) == 0, "%s: %s: '%s'", orders[_i].name, step->text, got);
    }
}
END_TEST

START_TEST(rewrites_to_what_came_first)
{
    uint8_t segment[] = "XXXXXXXX";

    add(0, "ab");
    add(4, "ef");
    assembly_rewrite(&assembly, 0, segment, 8);
    ck_assert_mem_eq(segment, "abXXefXX", 8);

    uint8_t before_zero[] = "YYYY";

    assembly_rewrite(&assembly, (uint64_t)-2, before_zero, 4);
    ck_assert_mem_eq(before_zero, "YYab", 4);
}
END_TEST

START_TEST(asking_for_differences_changes_nothing)
{
    add(0, "abc");
    ck_assert(assembly_differs(&assembly, 1, (const uint8_t *)"bXd", 3));
    ck_assert(!assembly_differs(&assembly, 1, (const uint8_t *)"bcd", 3));
    ck_assert(!assembly_differs(&assembly, 3, (const uint8_t *)"XXX", 3));
    ck_assert_str_eq(views(UINT64_MAX), "abc");
}
END_TEST

/* --- Passive -------------------------------------------------------------------------------------- */

/* The old segment is [10, 14). Positions of the new segment; the winners below are in this order (N new, O old). */
static const struct {
    uint64_t start, end;
} shapes[] = {
    { 8, 12 }, { 8, 14 }, { 8, 16 }, { 10, 12 }, { 10, 14 }, { 10, 16 }, { 11, 13 }, { 12, 14 }, { 12, 16 }
};

static const struct {
    enum host_os os;
    const char *winners;
} systems[] = {
    { HOST_OS_BSD, "NNNOOOOOO" },        { HOST_OS_BSD_RIGHT, "NNNOOOOOO" },   { HOST_OS_OLD_LINUX, "NNNONNOOO" },
    { HOST_OS_LINUX, "NNNOONOOO" },      { HOST_OS_OLD_SOLARIS, "ONNONNOON" }, { HOST_OS_SOLARIS, "ONNONNOON" },
    { HOST_OS_HPUX10, "NNNOOOOOO" },     { HOST_OS_HPUX11, "ONNONNOON" },      { HOST_OS_IRIX, "NNNOOOOOO" },
    { HOST_OS_MACOS, "NNNOOOOOO" },      { HOST_OS_WINDOWS, "NNNOOOOOO" },     { HOST_OS_VISTA, "OOOOOOOOO" },
    { HOST_OS_WINDOWS2K3, "NNNOOOOOO" },
};

START_TEST(overlaps_as_the_system_does)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        uint8_t bytes[16] = "0123456789", kept[16];
        uint32_t length = (uint32_t)(shapes[i].end - shapes[i].start);

        assembly_add(store, &assembly, 10, (const uint8_t *)"OOOO", 4, systems[_i].os, &report);
        assembly_add(store, &assembly, shapes[i].start, (const uint8_t *)"NNNNNNNN", length, systems[_i].os, &report);
        ck_assert(report.differs);
        assembly_add(store, &assembly, 0, bytes, 8, systems[_i].os, &report);
        if (shapes[i].start > 8)
            assembly_add(store, &assembly, 8, bytes + 8, 2, systems[_i].os, &report);
        memset(kept, 0, sizeof(kept));
        assembly_rewrite(&assembly, 0, kept, 16);
        for (uint64_t at = 10; at < 14; at++) {
            bool both = at >= shapes[i].start && at < shapes[i].end;

            ck_assert_msg(kept[at] == (both ? systems[_i].winners[i] : 'O'), "system %d, shape %zu, byte %d: %c",
                          systems[_i].os, i, (int)at, kept[at]);
        }
        assembly_clear(store, &assembly);
    }
}
END_TEST

START_TEST(acknowledged_bytes_do_not_change)
{
    add(2, "OOOO");
    add(0, "ab");
    assembly_acknowledge(store, &assembly, 4);
    add(1, "NNNNN"); /* begins before: for BSD the new segment wins */
    ck_assert(report.differs);
    ck_assert_str_eq(views(4), "abOO");
    ck_assert_str_eq(views(UINT64_MAX), "NN");
}
END_TEST

START_TEST(inspected_bytes_do_not_change)
{
    add(2, "OOOO");
    add(0, "ab");
    ck_assert_str_eq(views(4), "abOO");
    add(1, "NNNNN");
    ck_assert_str_eq(views(UINT64_MAX), "NN");
}
END_TEST

START_TEST(must_win_against_all)
{
    add(4, "1111");
    add(2, "22222222"); /* replaces the first */
    add(3, "333333");   /* begins before the first and after the second, which keeps its bytes */
    add(0, "ab");
    ck_assert_str_eq(views(UINT64_MAX), "ab22222222");
}
END_TEST

START_TEST(more_segments_than_are_remembered)
{
    enum { COUNT = 3000 };

    for (unsigned i = 0; i < COUNT; i++)
        ck_assert_int_eq(add(i * 2, "ab"), 0);
    uint64_t bytes = 0;
    struct stream_chunk view;

    assembly_acknowledge(store, &assembly, COUNT * 2);
    while (assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view)) {
        for (uint32_t i = 0; i < view.length; i++, bytes++)
            ck_assert(view.data[i] == "ab"[bytes % 2]);
    }
    ck_assert_uint_eq(bytes, COUNT * 2);
}
END_TEST

/* --- Bounds --------------------------------------------------------------------------------------- */

START_TEST(nothing_is_kept_behind_the_limit)
{
    struct stream_chunk view;

    assembly.limit = 4;
    add(2, "cdef");
    ck_assert(report.beyond_limit && report.added == 2);
    add(4, "efg");
    ck_assert(report.beyond_limit && report.added == 0);
    add(0, "ab");
    ck_assert(!report.beyond_limit);
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view));
    ck_assert(view.length == 4 && view.end);
    ck_assert(!assembly_acknowledge(store, &assembly, 100)); /* no gap beyond it */
    ck_assert(!assembly.has_gap);
    ck_assert_uint_eq(assembly.contiguous, 4);
}
END_TEST

START_TEST(what_is_too_old)
{
    add((uint64_t)-3, "xyzab");
    ck_assert(report.too_old && report.added == 2);
    add((uint64_t)-3, "xy");
    ck_assert(report.too_old && report.added == 0);
    ck_assert_str_eq(views(UINT64_MAX), "ab");
    assembly_acknowledge(store, &assembly, 2);
    ck_assert_uint_eq(assembly.base, 2);
    add(0, "XXcd");
    ck_assert(report.too_old && report.added == 2 && !report.differs && report.overlapping == 0);
    ck_assert_str_eq(views(UINT64_MAX), "cd");
    ck_assert_int_eq(add(0, ""), 0);
    ck_assert(!report.too_old);
}
END_TEST

START_TEST(too_many_extents)
{
    for (unsigned i = 0; i < MAX_PIECES; i++)
        ck_assert_int_eq(add(2 + i * 2, "x"), 0);
    size_t memory = assembly_store_memory(store);

    ck_assert_int_eq(add(2 + MAX_PIECES * 2, "x"), -ENOSPC);
    ck_assert(report.too_many_extents && report.added == 0);
    ck_assert_uint_eq(assembly_store_memory(store), memory);
    ck_assert_uint_eq(assembly.max_extents_seen, MAX_PIECES);
    ck_assert_int_eq(add(3, "y"), 0); /* joins two extents */
    ck_assert_int_eq(add(2 + MAX_PIECES * 2, "x"), 0);
    ck_assert_int_eq(add(0, "ab"), 0);
    ck_assert_str_eq(views(UINT64_MAX), "abxyx");
}
END_TEST

START_TEST(no_memory)
{
    enum { BLOCKS = 16, SIZE = BLOCKS * BLOCK };
    static const uint8_t bytes[SIZE];
    struct assembly other = { 0 };

    /* Fills the blocks with data of the other direction. */
    for (uint64_t i = 1;; i++) {
        int err = assembly_add(store, &other, i * 2 * BLOCK, bytes, 1, HOST_OS_BSD, &report);

        if (err) {
            ck_assert_int_eq(err, -ENOMEM);
            ck_assert(report.no_memory);
            break;
        }
    }
    size_t memory = assembly_store_memory(store);

    ck_assert_int_eq(assembly_add(store, &assembly, 0, bytes, SIZE, HOST_OS_BSD, &report), -ENOMEM);
    ck_assert(report.no_memory && report.added == 0);
    ck_assert_int_eq(assembly_add(store, &assembly, 1, bytes, SIZE, HOST_OS_BSD, &report), -ENOMEM);
    ck_assert_uint_eq(assembly.contiguous, 0);
    ck_assert_uint_eq(assembly_store_memory(store), memory);
    assembly_clear(store, &other);
    ck_assert_int_eq(assembly_add(store, &assembly, 0, bytes, SIZE, HOST_OS_BSD, &report), 0);
}
END_TEST

static void set_up_small(void)
{
    set_up_mode(true, 150000);
}

START_TEST(stops)
{
    add(0, "abc");
    add(5, "f");
    assembly_stop(store, &assembly);
    ck_assert_uint_eq(assembly_store_memory(store), 0);
    ck_assert_int_eq(add(3, "defgh"), 0);
    ck_assert(report.added == 0 && report.beyond_limit);
    ck_assert(!assembly_acknowledge(store, &assembly, 10));
    ck_assert_str_eq(views(UINT64_MAX), "");
    ck_assert_uint_eq(assembly_store_memory(store), 0);
}
END_TEST

START_TEST(stops_before_the_first_byte)
{
    assembly_stop(store, &assembly);
    ck_assert_int_eq(add(0, "abc"), 0);
    ck_assert_uint_eq(report.added, 0);
    ck_assert_uint_eq(assembly_store_memory(store), 0);
}
END_TEST

/* --- Gaps ----------------------------------------------------------------------------------------- */

START_TEST(acknowledged_holes_are_gaps)
{
    struct stream_chunk view;

    add(0, "ab");
    add(4, "ef");
    ck_assert(!assembly_acknowledge(store, &assembly, 2));
    ck_assert(assembly_acknowledge(store, &assembly, 7)); /* two gaps: after "ab" and after "ef" */
    ck_assert(assembly.has_gap);
    ck_assert_uint_eq(assembly.contiguous, 7);
    add(2, "cd");
    ck_assert(report.too_old && report.lost && report.added == 0);
    add(7, "h");
    ck_assert_str_eq(views(2), "ab");
    ck_assert(assembly_next_chunk(store, &assembly, 6, NULL, 0, 0, &view));
    ck_assert(view.gap && view.before_length == 0 && view.offset == 4);
    ck_assert_str_eq(views(UINT64_MAX), "~h");
}
END_TEST

static void note_gap(size_t at, uint64_t missing, void *user)
{
    char *text = user;

    snprintf(text + strlen(text), 64 - strlen(text), "%zu:%u ", at, (unsigned)missing);
}

START_TEST(copies_with_gaps)
{
    uint8_t out[16] = { 0 };
    char gaps[64] = "";

    add(0, "ab");
    add(4, "ef");
    assembly_acknowledge(store, &assembly, 5);
    assembly_skip(store, &assembly, 6, 1);
    add(10, "k");
    ck_assert_uint_eq(assembly_copy(&assembly, out, sizeof(out), note_gap, gaps), 5);
    ck_assert_str_eq((char *)out, "abefk");
    ck_assert_str_eq(gaps, "2:2 4:3 ");
    ck_assert_uint_eq(assembly_copy(&assembly, out, 3, NULL, NULL), 3);
}
END_TEST

START_TEST(skipped_bytes_are_left_out)
{
    const uint8_t *bytes;
    uint32_t length, view_at;
    struct stream_chunk view;

    assembly.window = 100;
    add(0, "ab");
    ck_assert_int_eq(assembly_skip(store, &assembly, 2, 1), 0);
    add(3, "cd");
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view));
    ck_assert(view.length == 2);
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view));
    ck_assert(!view.gap && view.offset == 3 && view.before_length == 2);
    ck_assert_mem_eq(view.before, "ab", 2);
    ck_assert_uint_eq(assembly_window(store, &assembly, &view, &bytes, &length, &view_at), 0);
    ck_assert(length == 4 && view_at == 2);
    ck_assert_mem_eq(bytes, "abcd", 4);
    add(2, "X"); /* any later data for it */
    ck_assert(!report.differs && report.added == 0);
}
END_TEST

START_TEST(skipped_out_of_order)
{
    ck_assert_int_eq(assembly_skip(store, &assembly, 3, 2), 0);
    add(1, "bcXXef");
    ck_assert(!report.differs);
    ck_assert_str_eq(views(UINT64_MAX), "");
    add(0, "a");
    ck_assert_str_eq(views(UINT64_MAX), "abc|ef");
    ck_assert(!assembly.has_gap);
}
END_TEST

/* More gaps than can be stored: gaps before the inspected position are merged; others wait for that. */
START_TEST(endless_gaps)
{
    enum { ROUNDS = 20, PIECES = 200 };
    uint64_t at = 0, bytes = 0, gaps = 0;
    struct stream_chunk view;

    assembly.window = 65536;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < PIECES; i++, at += 2)
            ck_assert_int_eq(add(at + 1, "x"), 0);
        assembly_acknowledge(store, &assembly, at);
        while (assembly.inspected < at) {
            uint64_t before = assembly.inspected;

            while (assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view)) {
                bytes += view.length;
                gaps += view.gap;
            }
            assembly_acknowledge(store, &assembly, at);
            ck_assert_uint_gt(assembly.inspected, before);
        }
    }
    ck_assert_uint_eq(bytes, ROUNDS * PIECES);
    ck_assert_uint_eq(gaps, ROUNDS * PIECES);
}
END_TEST

/* Merging skipped ranges must not discard bytes that are still compared with retransmissions. */
START_TEST(endless_skips)
{
    enum { COUNT = 1000, ROOM = 256 };
    unsigned taken = 0;

    while (taken < COUNT && assembly_skip(store, &assembly, taken * 2 + 1, 1) == 0) {
        add(taken * 2, "x");
        views(UINT64_MAX);
        taken++;
    }
    ck_assert_uint_eq(taken, ROOM);
    ck_assert(assembly_differs(&assembly, 0, (const uint8_t *)"y", 1));
    assembly.window = 65536;
    assembly_acknowledge(store, &assembly, ROOM * 2);
    ck_assert_int_eq(assembly_skip(store, &assembly, ROOM * 2, 1), 0);
    add(ROOM * 2 + 1, "z");

    const uint8_t *bytes;
    uint32_t length, view_at;
    struct stream_chunk view;

    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view));
    ck_assert(!view.gap && view.offset == ROOM * 2 + 1);
    assembly_window(store, &assembly, &view, &bytes, &length, &view_at);
    ck_assert_uint_eq(view_at, ROOM - 2); /* after the two merged ranges */
}
END_TEST

/* Without memory for a gap, the history before it is discarded. */
START_TEST(gap_without_memory)
{
    struct assembly other = { 0 };
    struct stream_chunk view;

    assembly.window = 100;
    add(0, "ab");
    for (uint64_t at = 2; assembly_add(store, &other, at, (const uint8_t *)"x", 1, HOST_OS_BSD, &report) == 0; at += 2)
        ck_assert_uint_lt(at, BLOCK);
    ck_assert(!assembly_acknowledge(store, &assembly, 4)); /* later, because "ab" is not inspected yet */
    ck_assert_str_eq(views(UINT64_MAX), "ab");
    ck_assert(assembly_acknowledge(store, &assembly, 4));
    ck_assert_int_eq(add(4, "ef"), 0);
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view));
    ck_assert(view.gap && view.offset == 4 && view.length == 2 && view.before_length == 0);
    ck_assert_mem_eq(view.data, "ef", 2);
    assembly_clear(store, &other);
}
END_TEST

/* Room for three blocks and six extents. */
static void set_up_tiny(void)
{
    set_up_mode(true, 7000);
}

/* --- Chunks --------------------------------------------------------------------------------------- */

START_TEST(points_into_the_payload)
{
    static const uint8_t bytes[5000] = "payload";
    struct stream_chunk view;

    assembly_add(store, &assembly, 0, bytes, sizeof(bytes), HOST_OS_BSD, &report);
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, bytes, 0, sizeof(bytes), &view));
    ck_assert(view.data == bytes && view.is_payload && view.length == sizeof(bytes));
    /* Only a part of the payload is new: the chunk points into the payload. */
    assembly_add(store, &assembly, 4000, bytes + 4000, 1000, HOST_OS_BSD, &report);
    assembly_add(store, &assembly, 4990, bytes + 4990, 10, HOST_OS_BSD, &report);
    assembly_add(store, &assembly, 4996, bytes, 4, HOST_OS_BSD, &report);
    ck_assert(!assembly_next_chunk(store, &assembly, UINT64_MAX, bytes, 4996, 4, &view));
    assembly_add(store, &assembly, 4998, bytes + 1000, 10, HOST_OS_BSD, &report);
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, bytes + 1000, 4998, 10, &view));
    ck_assert(view.data == bytes + 1002 && !view.is_payload && view.length == 8);
}
END_TEST

START_TEST(does_not_point_where_other_bytes_are)
{
    static const uint8_t second[] = "XbYd", third[] = "efgh";
    struct stream_chunk view;

    add(1, "b");
    add(2, "c");
    assembly_add(store, &assembly, 0, second, 4, HOST_OS_BSD, &report);
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, second, 0, 4, &view));
    ck_assert(!view.is_payload && view.length == 4);
    ck_assert_mem_eq(view.data, "Xbcd", 4);
    /* The chunk must not point into a payload that differs from the stored bytes. */
    add(4, "1234");
    ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, third, 4, 4, &view));
    ck_assert_mem_eq(view.data, "1234", 4);
}
END_TEST

START_TEST(views_of_64_kib)
{
    static uint8_t bytes[65535];
    struct stream_chunk view;
    uint64_t at = 0;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8));
    for (uint64_t i = 3; i-- > 0;)
        ck_assert_int_eq(assembly_add(store, &assembly, i * sizeof(bytes), bytes, sizeof(bytes), HOST_OS_BSD, &report),
                         0);
    while (assembly_next_chunk(store, &assembly, UINT64_MAX, bytes, 0, sizeof(bytes), &view)) {
        ck_assert(view.offset == at && view.length <= 65536);
        for (uint32_t i = 0; i < view.length; i++)
            MODEL_MUST(view.data[i] == bytes[(at + i) % sizeof(bytes)]);
        at += view.length;
    }
    ck_assert_uint_eq(at, 3 * sizeof(bytes));
}
END_TEST

START_TEST(history_before_the_view)
{
    static uint8_t bytes[10000];
    const uint8_t *window;
    uint32_t length, view_at;
    struct stream_chunk view;

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 31 + (i >> 8));
    assembly.window = 2560;
    for (uint64_t at = 0; at < sizeof(bytes); at += 100) {
        uint64_t history = at < 2560 ? at : 2560;

        assembly_add(store, &assembly, at, bytes + at, 100, HOST_OS_BSD, &report);
        ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, bytes + at, at, 100, &view));
        ck_assert_uint_eq(assembly_window(store, &assembly, &view, &window, &length, &view_at), at - history);
        ck_assert(view_at == history && length == history + 100);
        MODEL_MUST(memcmp(window, bytes + at - history, length) == 0);
        MODEL_MUST(view.before_length == (at < 64 ? at : 64));
        MODEL_MUST(memcmp(view.before, bytes + at - view.before_length, view.before_length) == 0);
        assembly_acknowledge(store, &assembly, at + 100);
    }
    ck_assert_uint_eq(assembly.base, sizeof(bytes) - 2560);
    ck_assert_uint_le(assembly_store_memory(store), 3 * (BLOCK + 64));
}
END_TEST

START_TEST(no_window_of_another_stream)
{
    const uint8_t *bytes;
    uint32_t length, view_at;
    struct stream_chunk view;

    for (unsigned i = 0; i < 2; i++) {
        const char *text = i == 0 ? "old stream" : "new";

        add(0, text);
        ck_assert(assembly_next_chunk(store, &assembly, UINT64_MAX, NULL, 0, 0, &view));
        assembly_window(store, &assembly, &view, &bytes, &length, &view_at);
        ck_assert_uint_eq(length, strlen(text));
        ck_assert_mem_eq(bytes, text, length);
        assembly_clear(store, &assembly);
    }
}
END_TEST

/* Unacknowledged data is stored, up to the limit. */
START_TEST(keeps_what_is_not_acknowledged)
{
    static const uint8_t bytes[1000];

    assembly.limit = 100 * 1000;
    for (uint64_t at = 0; at < 200 * 1000; at += 1000) {
        ck_assert_int_eq(assembly_add(store, &assembly, at, bytes, 1000, HOST_OS_BSD, &report), 0);
        views(0);
    }
    ck_assert_uint_le(assembly_store_memory(store), 100 * 1000 + 2 * BLOCK + 4096);
    ck_assert(assembly_differs(&assembly, 50, (const uint8_t *)"x", 1));
}
END_TEST

/* --- The model ------------------------------------------------------------------------------------ */

static uint32_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)(*state * UINT64_C(0x2545F4914F6CDD1D) >> 32);
}

START_TEST(as_the_model)
{
    enum { SCRIPTS = 10 };
    static uint8_t script[4096];
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)_i;

    for (int n = 0; n < SCRIPTS; n++) {
        size_t length = 2 + next_random(&state) % (sizeof(script) - 2);

        for (size_t i = 0; i < length; i++)
            script[i] = (uint8_t)next_random(&state);
        script[0] = (uint8_t)_i;
        model_run(script, length);
    }
}
END_TEST

#define TABLE_TEST(tcase, test, table) tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof((table)[0])))

static TCase *new_case(Suite *suite, const char *name, void (*before)(void))
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, 60);
    if (before)
        tcase_add_checked_fixture(tcase, before, tear_down);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static void add_inline_tests(TCase *tcase)
{
    TABLE_TEST(tcase, first_bytes_win, orders);
    tcase_add_test(tcase, rewrites_to_what_came_first);
    tcase_add_test(tcase, asking_for_differences_changes_nothing);
    tcase_add_test(tcase, nothing_is_kept_behind_the_limit);
    tcase_add_test(tcase, what_is_too_old);
    tcase_add_test(tcase, too_many_extents);
    tcase_add_test(tcase, stops);
    tcase_add_test(tcase, stops_before_the_first_byte);
    tcase_add_test(tcase, acknowledged_holes_are_gaps);
    tcase_add_test(tcase, copies_with_gaps);
    tcase_add_test(tcase, skipped_bytes_are_left_out);
    tcase_add_test(tcase, skipped_out_of_order);
    tcase_add_test(tcase, endless_gaps);
    tcase_add_test(tcase, endless_skips);
    tcase_add_test(tcase, no_window_of_another_stream);
    tcase_add_test(tcase, points_into_the_payload);
    tcase_add_test(tcase, does_not_point_where_other_bytes_are);
    tcase_add_test(tcase, views_of_64_kib);
    tcase_add_test(tcase, history_before_the_view);
    tcase_add_test(tcase, keeps_what_is_not_acknowledged);
}

static void add_passive_tests(TCase *tcase)
{
    TABLE_TEST(tcase, overlaps_as_the_system_does, systems);
    tcase_add_test(tcase, acknowledged_bytes_do_not_change);
    tcase_add_test(tcase, inspected_bytes_do_not_change);
    tcase_add_test(tcase, must_win_against_all);
    tcase_add_test(tcase, more_segments_than_are_remembered);
}

int main(void)
{
    Suite *suite = suite_create("stream_assembly");

    add_inline_tests(new_case(suite, "inline", set_up));
    add_passive_tests(new_case(suite, "passive", set_up_passive));
    tcase_add_test(new_case(suite, "small", set_up_small), no_memory);
    tcase_add_test(new_case(suite, "tiny", set_up_tiny), gap_without_memory);
    tcase_add_loop_test(new_case(suite, "model", NULL), as_the_model, 0, 32);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
