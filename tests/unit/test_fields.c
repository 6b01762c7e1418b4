/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields: written values are rendered as complete JSON, with any buffer size; invalid bytes are refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/fields.h"
#include "sluice/text.h"

/* Renders the fields as a JSON object. */
static char *render(const struct fields *fields)
{
    struct text out;

    text_init(&out);
    json_object_open(&out, NULL);
    ck_assert(fields_render(fields->bytes, fields->length, &out));
    json_object_close(&out);
    ck_assert(!out.failed);
    return out.bytes;
}

static void expect(const struct fields *fields, const char *json)
{
    char *text = render(fields);

    ck_assert_str_eq(text, json);
    free(text);
}

/* Writes a value of each type, in nested objects and arrays. */
static void write_all(struct fields *fields)
{
    struct address address = { { 192, 0, 2, 1 } };

    fields_string(fields, "string", "a\"b");
    fields_string(fields, "nothing", NULL);
    fields_bytes(fields, "bytes", "\xff\xc3\xa4\n", 4);
    fields_bytes_named(fields, "x\"\0y", 4, "v", 1);
    fields_array_open(fields, "list");
    fields_string(fields, NULL, "one");
    fields_object_open(fields, NULL);
    fields_uint(fields, "uint", UINT64_MAX);
    fields_int(fields, "int", INT64_MIN);
    fields_object_close(fields);
    fields_bool(fields, NULL, false);
    fields_array_close(fields);
    fields_object_open(fields, "more");
    fields_object_close(fields);
    fields_bool(fields, "true", true);
    fields_hex(fields, "hex", "\x00\xab", 2);
    fields_colon_hex(fields, "colon", "\x00\xab\xcd", 3);
    fields_colon_hex(fields, "empty", "", 0);
    fields_base64(fields, "base64", "ab", 2);
    fields_address(fields, "v4", 4, &address);
    fields_address(fields, "v6", 6, &(struct address){ { 0x20, 1, 0xd, 0xb8, [15] = 1 } });
    fields_time(fields, "time", 1709294400);
    fields_double(fields, "double", -2.5);
    fields_double(fields, "integer", 3);
    fields_double(fields, "large", 1e300);
}

START_TEST(renders_everything)
{
    uint8_t bytes[1024];
    struct fields fields;

    fields_init(&fields, bytes, sizeof(bytes));
    write_all(&fields);
    ck_assert(!fields.cut);
    ck_assert_uint_eq(fields.depth, 0);
    expect(&fields, "{\"string\":\"a\\\"b\",\"bytes\":\"\\\\xff\\\\xc3\\\\xa4\\n\",\"x\\\"\\u0000y\":\"v\","
                    "\"list\":[\"one\",{\"uint\":18446744073709551615,\"int\":-9223372036854775808},false],"
                    "\"more\":{},\"true\":true,\"hex\":\"00ab\",\"colon\":\"00:ab:cd\",\"empty\":\"\","
                    "\"base64\":\"YWI=\",\"v4\":\"192.0.2.1\",\"v6\":\"2001:0db8:0000:0000:0000:0000:0000:0001\","
                    "\"time\":\"2024-03-01T12:00:00\",\"double\":-2.5,"
                    "\"integer\":3.0,\"large\":1e+300}");
}
END_TEST

static const struct {
    int64_t seconds;
    const char *json;
} times[] = {
    { 0, "{\"t\":\"1970-01-01T00:00:00\"}" },
    { -1, "{\"t\":\"1969-12-31T23:59:59\"}" },
    { 253402300799, "{\"t\":\"9999-12-31T23:59:59\"}" },
    { INT64_MAX, "{\"t\":\"9999-12-31T23:59:59\"}" },
    { -62135596800, "{\"t\":\"0001-01-01T00:00:00\"}" },
    { INT64_MIN, "{\"t\":\"0001-01-01T00:00:00\"}" },
};

START_TEST(times_have_four_digits_of_years)
{
    uint8_t bytes[64];
    struct fields fields;

    fields_init(&fields, bytes, sizeof(bytes));
    fields_time(&fields, "t", times[_i].seconds);
    expect(&fields, times[_i].json);
}
END_TEST

/* With a small buffer only the first members are rendered, each complete, and all objects are closed. */
START_TEST(too_little_room_leaves_whole_members_out)
{
    uint8_t whole[1024], *bytes;
    struct fields fields;
    uint32_t length;

    fields_init(&fields, whole, sizeof(whole));
    write_all(&fields);
    length = fields.length;
    for (uint32_t room = 0; room <= length; room++) {
        bytes = malloc(room + 1); /* of exact size, so that a sanitizer detects writes past the end */
        fields_init(&fields, bytes, room);
        write_all(&fields);
        ck_assert_uint_le(fields.length, room);
        ck_assert_uint_eq(fields.depth, 0);
        ck_assert_uint_eq(fields.skipped, 0);
        ck_assert(fields.cut == (room < length));
        free(render(&fields));
        free(bytes);
    }
}
END_TEST

START_TEST(what_is_small_goes_on_where_something_large_did_not_fit)
{
    uint8_t bytes[64], value[64] = { 0 };
    struct fields fields;

    fields_init(&fields, bytes, sizeof(bytes));
    fields_bytes(&fields, "large", value, 60);
    fields_object_open(&fields, "o");
    fields_bytes(&fields, "large", value, 50);
    fields_uint(&fields, "n", 5);
    fields_array_open(&fields, "a");
    fields_bytes(&fields, NULL, value, 30);
    fields_array_close(&fields);
    fields_object_close(&fields);
    ck_assert(fields.cut);
    expect(&fields, "{\"o\":{\"n\":5,\"a\":[]}}");
}
END_TEST

START_TEST(nests_so_deep_and_no_deeper)
{
    uint8_t bytes[4096];
    struct fields fields;
    char *text;

    fields_init(&fields, bytes, sizeof(bytes));
    for (int i = 0; i < FIELDS_DEPTH_MAX + 4; i++)
        fields_object_open(&fields, "o");
    fields_uint(&fields, "lost", 1);
    for (int i = 0; i < 4; i++)
        fields_object_close(&fields);
    fields_uint(&fields, "deep", 1);
    for (int i = 0; i < FIELDS_DEPTH_MAX; i++)
        fields_object_close(&fields);
    fields_uint(&fields, "after", 2);
    ck_assert(fields.cut);
    text = render(&fields);
    ck_assert_ptr_null(strstr(text, "lost"));
    ck_assert_ptr_nonnull(strstr(text, "{\"deep\":1}}"));
    ck_assert_ptr_nonnull(strstr(text, "}},\"after\":2}"));
    free(text);
}
END_TEST

/* A value that is truncated at FIELDS_VALUE_MAX, `split` bytes after the begin of `tail`. */
static const struct {
    const char *tail;
    size_t split, kept;
} cuts[] = {
    { "abcd", 2, 2 },         { "\xc3\xa4xx", 1, 0 },       { "\xc3\xa4xx", 2, 2 },       { "\xe2\x82\xac", 2, 0 },
    { "\xe2\x82\xac", 1, 0 }, { "\xf0\x9f\x98\x80", 3, 0 }, { "\xff\xff\xff\xff", 2, 2 }, /* not valid UTF-8 */
};

START_TEST(cuts_values_between_characters)
{
    static uint8_t value[FIELDS_VALUE_MAX + 16], bytes[FIELDS_VALUE_MAX + 64];
    size_t at = FIELDS_VALUE_MAX - cuts[_i].split, length = at + strlen(cuts[_i].tail);
    struct fields fields;
    struct text out, expected;

    memset(value, 'x', sizeof(value));
    memcpy(value + at, cuts[_i].tail, strlen(cuts[_i].tail));
    fields_init(&fields, bytes, sizeof(bytes));
    fields_bytes(&fields, NULL, value, length);
    ck_assert(fields.cut == (length > FIELDS_VALUE_MAX));
    text_init(&out);
    text_init(&expected);
    ck_assert(fields_render(fields.bytes, fields.length, &out));
    if ((uint8_t)cuts[_i].tail[0] == 0xff) {
        memcpy(value + at, "\\xff\\xff", 8);
        json_stringn(&expected, NULL, value, at + 8);
    } else {
        json_stringn(&expected, NULL, value, at + cuts[_i].kept);
    }
    if (length > FIELDS_VALUE_MAX)
        ck_assert_str_eq(out.bytes, expected.bytes);
    text_clear(&out);
    text_clear(&expected);
}
END_TEST

START_TEST(cuts_other_values)
{
    static uint8_t value[FIELDS_VALUE_MAX + 1], bytes[FIELDS_VALUE_MAX * 2];
    struct fields fields;
    char *text;

    fields_init(&fields, bytes, sizeof(bytes));
    fields_hex(&fields, "h", value, sizeof(value));
    ck_assert(fields.cut);
    text = render(&fields);
    ck_assert_uint_eq(strlen(text), strlen("{\"h\":\"\"}") + 2 * FIELDS_VALUE_MAX);
    free(text);
    fields_init(&fields, bytes, sizeof(bytes));
    fields_bytes_named(&fields, value, sizeof(value), "v", 1);
    ck_assert(fields.cut);
    free(render(&fields));
}
END_TEST

/* Truncated fields are refused, or are a shorter list of complete members. */
START_TEST(refuses_what_is_cut)
{
    uint8_t bytes[1024];
    struct fields fields;
    struct text out;
    unsigned refused = 0;

    text_init(&out);
    fields_init(&fields, bytes, sizeof(bytes));
    write_all(&fields);
    for (uint32_t length = 0; length < fields.length; length++) {
        uint8_t *copy = malloc(length + 1);

        memcpy(copy, bytes, length);
        text_reset(&out);
        json_object_open(&out, NULL);
        refused += !fields_render(copy, length, &out);
        free(copy);
    }
    ck_assert_uint_gt(refused, fields.length / 2);
    text_clear(&out);
}
END_TEST

enum { OBJECT, ARRAY, OBJECT_END, ARRAY_END, BYTES, UINT, NAMED = 2 << 6, BOTH = 3 << 6 };

static const struct {
    uint8_t bytes[12];
    uint32_t length;
} malformed[] = {
    { { OBJECT_END }, 1 },
    { { ARRAY_END }, 1 },
    { { OBJECT }, 1 },
    { { ARRAY }, 1 },
    { { OBJECT, ARRAY_END }, 2 },
    { { ARRAY, OBJECT_END }, 2 },
    { { 15 }, 1 },
    { { 63 }, 1 },
    { { BYTES }, 1 },
    { { BYTES, 4, 0, 'a' }, 4 },
    { { BYTES, 0xff, 0xff, 'a' }, 4 },
    { { UINT, 1, 2, 3 }, 4 },
    { { OBJECT, BYTES, 0, 0, OBJECT_END }, 5 },                  /* a member of an object without key */
    { { ARRAY, BYTES | NAMED, 1, 0, 'k', 0, 0, ARRAY_END }, 8 }, /* a key in an array */
    { { UINT | NAMED, 1, 0, 'k', 0, 0, 0, 0, 0, 0, 0, 0 }, 12 }, /* only byte strings may have such keys */
    { { BYTES | NAMED, 9, 0, 'k' }, 4 },
    { { BYTES | BOTH, 0, 0 }, 3 },
};

START_TEST(refuses_what_nobody_writes)
{
    struct text out;

    text_init(&out);
    ck_assert(!fields_render(malformed[_i].bytes, malformed[_i].length, &out));
    text_clear(&out);
}
END_TEST

/* Random bytes, without pointers to keys: nothing is read past the end, and accepted fields are well-formed JSON. */
START_TEST(survives_random_bytes)
{
    struct text out;
    unsigned random = 1;

    text_init(&out);
    for (int round = 0; round < 50000; round++) {
        uint32_t length = (uint32_t)round % 40;
        uint8_t *bytes = malloc(length + 1);

        for (uint32_t i = 0; i < length; i++) {
            random = random * 1103515245 + 12345;
            bytes[i] = (uint8_t)(random >> 16) & (uint8_t)(random >> 30 ? 0x8f : 0xff);
            bytes[i] &= (uint8_t)~0x40;
        }
        text_reset(&out);
        json_array_open(&out, NULL);
        fields_render(bytes, length, &out);
        free(bytes);
    }
    ck_assert(!out.failed);
    text_clear(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fields");
    TCase *tcase = tcase_create("fields");

    tcase_add_test(tcase, renders_everything);
    tcase_add_loop_test(tcase, times_have_four_digits_of_years, 0, sizeof(times) / sizeof(times[0]));
    tcase_add_test(tcase, too_little_room_leaves_whole_members_out);
    tcase_add_test(tcase, what_is_small_goes_on_where_something_large_did_not_fit);
    tcase_add_test(tcase, nests_so_deep_and_no_deeper);
    tcase_add_loop_test(tcase, cuts_values_between_characters, 0, sizeof(cuts) / sizeof(cuts[0]));
    tcase_add_test(tcase, cuts_other_values);
    tcase_add_test(tcase, refuses_what_is_cut);
    tcase_add_loop_test(tcase, refuses_what_nobody_writes, 0, sizeof(malformed) / sizeof(malformed[0]));
    tcase_add_test(tcase, survives_random_bytes);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
