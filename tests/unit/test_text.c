/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/json.h"
#include "sluice/text.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* --- Growing strings ------------------------------------------------------------------------------ */

START_TEST(grows_and_stays_terminated)
{
    struct text text;

    text_init(&text);
    for (int i = 0; i < 5000; i++) {
        text_append(&text, "ab", 2);
        text_puts(&text, "c");
        text_printf(&text, "%03d", i % 1000);
    }
    ck_assert(!text.failed);
    ck_assert_uint_eq(text.length, 5000 * 6);
    ck_assert_uint_eq(strlen(text.bytes), text.length);
    ck_assert_str_eq(text.bytes + text.length - 12, "abc998abc999");

    char *bytes = text.bytes;

    text_reset(&text);
    ck_assert_uint_eq(text.length, 0);
    ck_assert_str_eq(text.bytes, "");
    text_puts(&text, "again");
    ck_assert_ptr_eq(text.bytes, bytes);
    text_clear(&text);
    ck_assert_ptr_null(text.bytes);
}
END_TEST

START_TEST(writes_nothing_after_a_failure)
{
    struct text text;

    text_init(&text);
    text_puts(&text, "before");
    text_append(&text, NULL, SIZE_MAX / 2);
    ck_assert(text.failed);
    text_puts(&text, "after");
    json_string(&text, "key", "value");
    ck_assert_str_eq(text.bytes, "before");
    text_reset(&text);
    ck_assert(!text.failed);
    text_clear(&text);
}
END_TEST

static const struct {
    const char *in;
    size_t length;
    const char *out;
} printables[] = {
    { "plain text", 10, "plain text" },
    { "\033[31mred", 8, "\\x1b[31mred" },
    { "a\tb\nc\rd", 7, "a\\x09b\\x0ac\\x0dd" },
    { "\x7f", 1, "\\x7f" },
    { "\0", 1, "\\x00" },
    { "caf\xc3\xa9", 5, "caf\xc3\xa9" },
    { "\xc2\x9b"
      "1m",
      4, "\\xc2\\x9b1m" },
    { "a\xe2\x80\xae"
      "b",
      5,
      "a\\xe2\\x80\\xae"
      "b" },
    { "\xff\xfe", 2, "\\xff\\xfe" },
    { "\xc3", 1, "\\xc3" },
};

START_TEST(shows_nothing_that_a_terminal_obeys)
{
    struct text text;

    text_init(&text);
    text_printable(&text, printables[_i].in, printables[_i].length);
    ck_assert_str_eq(text.bytes, printables[_i].out);
    text_clear(&text);
}
END_TEST

/* --- JSON ----------------------------------------------------------------------------------------- */

static const struct {
    const char *in;
    size_t length;
    const char *out;
} strings[] = {
    { "", 0, "\"\"" },
    { "plain", 5, "\"plain\"" },
    { "quote\"back\\slash/", 17, "\"quote\\\"back\\\\slash/\"" },
    { "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"" },
    { "\0\x01\x1f", 3, "\"\\u0000\\u0001\\u001f\"" },
    { "\x7f", 1, "\"\\u007f\"" },
    { "caf\xc3\xa9", 5, "\"caf\xc3\xa9\"" },
    { "\xe2\x82\xac", 3, "\"\xe2\x82\xac\"" },         /* euro sign */
    { "\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"" }, /* beyond the 16 bits */
    { "\xf4\x8f\xbf\xbf", 4, "\"\xf4\x8f\xbf\xbf\"" }, /* U+10FFFF */
    { "a\xff"
      "b",
      3,
      "\"a\xef\xbf\xbd"
      "b\"" }, /* no valid byte */
    { "\xc2\x9b"
      "1m",
      4, "\"\\u009b1m\"" },                                  /* terminals interpret it (CSI) */
    { "\xe2\x80\xae!", 4, "\"\\u202e!\"" },                  /* right-to-left override */
    { "\xe2\x80\x8b\xe2\x81\xa0", 6, "\"\\u200b\\u2060\"" }, /* invisible characters */
    { "\xf3\xa0\x80\x81", 4, "\"\\udb40\\udc01\"" },         /* a tag character */
    { "\xe2\x80\x90\xf0\x9f\x98\x80\xc2\xa0", 9, "\"\xe2\x80\x90\xf0\x9f\x98\x80\xc2\xa0\"" },
    { "\x80", 1, "\"\xef\xbf\xbd\"" },                                 /* lone continuation byte */
    { "\xc3", 1, "\"\xef\xbf\xbd\"" },                                 /* truncated */
    { "\xc3(", 2, "\"\xef\xbf\xbd(\"" },                               /* not continued */
    { "\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },                 /* third byte missing */
    { "\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" },                 /* overlong slash */
    { "\xe0\x80\xaf", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* overlong slash in three bytes */
    { "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* surrogate */
    { "\xf4\x90\x80\x80", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* past U+10FFFF */
    { "\xf0\x8f\xbf\xbf", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* overlong */
};

START_TEST(escapes_strings)
{
    struct text text;

    text_init(&text);
    json_stringn(&text, NULL, strings[_i].in, strings[_i].length);
    ck_assert_str_eq(text.bytes, strings[_i].out);
    text_clear(&text);
}
END_TEST

/* Appends the expected form of a byte in a string. */
static void expect_byte(struct text *out, uint8_t byte)
{
    static const char *const short_forms[128] = {
        ['"'] = "\\\"", ['\\'] = "\\\\", ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"
    };

    if (byte >= 0x80)
        text_puts(out, "\xef\xbf\xbd");
    else if (short_forms[byte])
        text_puts(out, short_forms[byte]);
    else if (byte < 0x20 || byte == 0x7f)
        text_printf(out, "\\u%04x", byte);
    else
        text_append(out, (const char *)&byte, 1);
}

/* Strings are processed several bytes at a time, so each byte is tested at each position, for each length. As keys,
 * too. */
START_TEST(escapes_each_byte_at_each_place)
{
    struct text text, expected, string;
    char bytes[32];

    text_init(&text);
    text_init(&string);
    text_init(&expected);
    for (int place = 0; place < _i; place++) {
        for (unsigned byte = 1; byte < 256; byte++) {
            memset(bytes, '~', sizeof(bytes));
            bytes[place] = (char)byte;
            bytes[_i] = '\0';
            text_reset(&string);
            for (int i = 0; i < _i; i++)
                expect_byte(&string, (uint8_t)bytes[i]);
            text_reset(&expected);
            text_printf(&expected, "{\"%s\":\"%s\",\"v\":1}", string.bytes, string.bytes);
            text_reset(&text);
            json_object_open(&text, NULL);
            json_stringn(&text, bytes, bytes, (size_t)_i);
            json_uint(&text, "v", 1);
            json_object_close(&text);
            ck_assert_str_eq(text.bytes, expected.bytes);
        }
    }
    text_clear(&text);
    text_clear(&string);
    text_clear(&expected);
}
END_TEST

/* Each power of ten, and one less. */
START_TEST(writes_numbers_of_every_length)
{
    struct text text;
    uint64_t power = 1;

    text_init(&text);
    for (int digits = 1; digits <= 20; digits++) {
        char expected[64];

        text_reset(&text);
        json_uint(&text, NULL, power - 1);
        json_uint(&text, NULL, power);
        snprintf(expected, sizeof(expected), "%llu,%llu", (unsigned long long)power - 1, (unsigned long long)power);
        ck_assert_str_eq(text.bytes, expected);
        power *= 10;
    }
    text_clear(&text);
}
END_TEST

START_TEST(puts_commas_where_they_belong)
{
    struct text text;

    text_init(&text);
    json_object_open(&text, NULL);
    json_array_open(&text, "empty");
    json_array_close(&text);
    json_object_open(&text, "o");
    json_object_close(&text);
    json_string(&text, "none", NULL);
    json_array_open(&text, "list");
    json_uint(&text, NULL, 0);
    json_uint(&text, NULL, UINT64_MAX);
    json_int(&text, NULL, INT64_MIN);
    json_object_open(&text, NULL);
    json_bool(&text, "t", true);
    json_bool(&text, "f", false);
    json_object_close(&text);
    json_null(&text, NULL);
    json_array_close(&text);
    json_printf(&text, "k\"", "%s-%d", "a\nb", 7);
    json_object_close(&text);
    ck_assert_str_eq(text.bytes, "{\"empty\":[],\"o\":{},\"list\":[0,18446744073709551615,-9223372036854775808,"
                                 "{\"t\":true,\"f\":false},null],\"k\\\"\":\"a\\nb-7\"}");
    text_clear(&text);
}
END_TEST

/* Constant keys give the same text, at whatever position the buffer has to grow. */
START_TEST(members_with_constant_keys)
{
    struct text text, expected;

    text_init(&text);
    text_init(&expected);
    json_object_open(&text, NULL);
    json_object_open(&expected, NULL);
    for (int i = 0; i < 700; i++) {
        json_member_uint(&text, "a_number", (uint64_t)i * 12345);
        json_member_string(&text, "s", "te\"xt");
        json_member_string(&text, "none", NULL);
        json_member_object(&text, "object");
        json_object_close(&text);
        json_member_array(&text, "array");
        json_array_close(&text);
        json_uint(&expected, "a_number", (uint64_t)i * 12345);
        json_string(&expected, "s", "te\"xt");
        json_object_open(&expected, "object");
        json_object_close(&expected);
        json_array_open(&expected, "array");
        json_array_close(&expected);
        ck_assert_uint_eq(text.length, expected.length);
        ck_assert_str_eq(text.bytes, expected.bytes);
    }
    text_append(&text, NULL, SIZE_MAX / 2);
    ck_assert(text.failed);
    json_member_string(&text, "after", "a failure");
    ck_assert_str_eq(text.bytes, expected.bytes);
    text_clear(&text);
    text_clear(&expected);
}
END_TEST

START_TEST(formats_long_strings)
{
    struct text text;
    char value[1000];

    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    text_init(&text);
    json_printf(&text, NULL, "%s!", value);
    ck_assert_uint_eq(text.length, sizeof(value) + 2);
    ck_assert_str_eq(text.bytes + text.length - 3, "x!\"");
    text_clear(&text);
}
END_TEST

static const struct {
    double in;
    const char *out;
} doubles[] = {
    { 0, "0" },          { 1.5, "1.5" },       { -2, "-2" },    { 0.1, "0.1" }, { 1.0 / 3, "0.33333333333333331" },
    { 1e300, "1e+300" }, { INFINITY, "null" }, { NAN, "null" },
};

START_TEST(writes_doubles)
{
    struct text text;

    text_init(&text);
    json_double(&text, NULL, doubles[_i].in);
    ck_assert_str_eq(text.bytes, doubles[_i].out);
    text_clear(&text);
}
END_TEST

/* RFC 4648 §10 */
static const struct {
    const char *in, *out;
} base64[] = {
    { "", "\"\"" },
    { "f", "\"Zg==\"" },
    { "fo", "\"Zm8=\"" },
    { "foo", "\"Zm9v\"" },
    { "foob", "\"Zm9vYg==\"" },
    { "fooba", "\"Zm9vYmE=\"" },
    { "foobar", "\"Zm9vYmFy\"" },
    { "\xff\xfe\xfd", "\"//79\"" },
};

START_TEST(writes_base64)
{
    struct text text;

    text_init(&text);
    json_base64(&text, NULL, base64[_i].in, strlen(base64[_i].in));
    ck_assert_str_eq(text.bytes, base64[_i].out);
    text_clear(&text);
}
END_TEST

/* --- Spans ---------------------------------------------------------------------------------------- */

static const struct {
    const char *in;
    const char *parts[5]; /* NULL-terminated */
} lists[] = {
    { "a", { "a" } },      { "", { "" } },      { "a,b", { "a", "b" } },    { " a , b\t,c ", { "a", "b", "c" } },
    { "a,", { "a", "" } }, { ",", { "", "" } }, { ",,x", { "", "", "x" } },
};

START_TEST(cuts_lists)
{
    struct span rest = span_of(lists[_i].in), part;
    size_t count = 0;

    while (span_next(&rest, ',', &part)) {
        ck_assert_ptr_nonnull(lists[_i].parts[count]);
        ck_assert(span_equal(part, lists[_i].parts[count]));
        count++;
    }
    ck_assert_ptr_null(lists[_i].parts[count]);
    ck_assert_ptr_null(rest.at);
}
END_TEST

START_TEST(compares_and_trims_spans)
{
    ck_assert(span_equal(span_trim(span_of(" \t x y\t ")), "x y"));
    ck_assert(span_equal(span_trim(span_of("  ")), ""));
    ck_assert(span_equal(span_of("abc"), "abc"));
    ck_assert(!span_equal(span_of("abc"), "abcd"));
    ck_assert(!span_equal(span_of("abc"), "Abc"));
    ck_assert(span_equal_nocase(span_of("aBc"), "AbC"));
    ck_assert(!span_equal_nocase(span_of("abc"), "abd"));
    ck_assert(span_equal((struct span){ 0 }, ""));
    ck_assert_ptr_null(span_of(NULL).at);
}
END_TEST

/* --- Numbers -------------------------------------------------------------------------------------- */

static const struct {
    const char *in;
    uint64_t low, high;
    bool ok;
    uint64_t out;
} unsigned_numbers[] = {
    { "0", 0, 10, true, 0 },
    { "10", 0, 10, true, 10 },
    { "11", 0, 10, false, 0 },
    { "4", 5, 10, false, 0 },
    { "007", 0, 10, true, 7 },
    { "0x1F", 0, 100, true, 31 },
    { "0Xff", 0, 255, true, 255 },
    { "18446744073709551615", 0, UINT64_MAX, true, UINT64_MAX },
    { "18446744073709551616", 0, UINT64_MAX, false, 0 },
    { "0xffffffffffffffff", 0, UINT64_MAX, true, UINT64_MAX },
    { "0x10000000000000000", 0, UINT64_MAX, false, 0 },
    { "", 0, 10, false, 0 },
    { "0x", 0, 10, false, 0 },
    { "-1", 0, UINT64_MAX, false, 0 },
    { "+1", 0, 10, false, 0 },
    { " 1", 0, 10, false, 0 },
    { "1 ", 0, 10, false, 0 },
    { "1a", 0, 100, false, 0 },
    { "ten", 0, 100, false, 0 },
};

START_TEST(reads_unsigned_numbers)
{
    uint64_t out = 4711;

    ck_assert_int_eq(text_to_uint(unsigned_numbers[_i].in, strlen(unsigned_numbers[_i].in), unsigned_numbers[_i].low,
                                  unsigned_numbers[_i].high, &out),
                     unsigned_numbers[_i].ok);
    ck_assert_uint_eq(out, unsigned_numbers[_i].ok ? unsigned_numbers[_i].out : 4711);
}
END_TEST

static const struct {
    const char *in;
    int64_t low, high;
    bool ok;
    int64_t out;
} signed_numbers[] = {
    { "-5", -10, 10, true, -5 },
    { "5", -10, 10, true, 5 },
    { "-0", -10, 10, true, 0 },
    { "-11", -10, 10, false, 0 },
    { "-0x10", -16, 0, true, -16 },
    { "-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN },
    { "-9223372036854775809", INT64_MIN, INT64_MAX, false, 0 },
    { "9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX },
    { "9223372036854775808", INT64_MIN, INT64_MAX, false, 0 },
    { "--1", -10, 10, false, 0 },
    { "-", -10, 10, false, 0 },
    { "", -10, 10, false, 0 },
};

START_TEST(reads_signed_numbers)
{
    int64_t out = 4711;

    ck_assert_int_eq(span_to_int(span_of(signed_numbers[_i].in), signed_numbers[_i].low, signed_numbers[_i].high, &out),
                     signed_numbers[_i].ok);
    ck_assert_int_eq(out, signed_numbers[_i].ok ? signed_numbers[_i].out : 4711);
}
END_TEST

/* --- The nearest name ----------------------------------------------------------------------------- */

static const char *const names[] = { "content", "nocase", "dsize", "depth", "http.uri", "flow", "ttl" };

static const struct {
    const char *word, *nearest;
} words[] = {
    { "contnet", "content" },
    { "contents", "content" },
    { "Content", "content" },
    { "dsiez", "dsize" },
    { "htp.uri", "http.uri" },
    { "floe", "flow" },
    { "tt", NULL },
    { "xyzzy", NULL },
    { "depht", "depth" },
    { "", NULL },
    { "tlt", "ttl" },
    { "a-word-of-more-than-sixty-three-letters-which-no-name-has-or-ever-will-have", NULL },
};

START_TEST(finds_the_nearest_name)
{
    const char *nearest = text_nearest(words[_i].word, names, sizeof(names) / sizeof(names[0]));

    if (words[_i].nearest)
        ck_assert_pstr_eq(nearest, words[_i].nearest);
    else
        ck_assert_ptr_null(nearest);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tcase = tcase_create("text");

    tcase_add_test(tcase, grows_and_stays_terminated);
    tcase_add_test(tcase, writes_nothing_after_a_failure);
    tcase_add_loop_test(tcase, shows_nothing_that_a_terminal_obeys, 0, ROWS(printables));
    tcase_add_loop_test(tcase, escapes_strings, 0, ROWS(strings));
    tcase_add_loop_test(tcase, escapes_each_byte_at_each_place, 1, 26);
    tcase_add_test(tcase, writes_numbers_of_every_length);
    tcase_add_test(tcase, puts_commas_where_they_belong);
    tcase_add_test(tcase, members_with_constant_keys);
    tcase_add_test(tcase, formats_long_strings);
    tcase_add_loop_test(tcase, writes_doubles, 0, ROWS(doubles));
    tcase_add_loop_test(tcase, writes_base64, 0, ROWS(base64));
    tcase_add_loop_test(tcase, cuts_lists, 0, ROWS(lists));
    tcase_add_test(tcase, compares_and_trims_spans);
    tcase_add_loop_test(tcase, reads_unsigned_numbers, 0, ROWS(unsigned_numbers));
    tcase_add_loop_test(tcase, reads_signed_numbers, 0, ROWS(signed_numbers));
    tcase_add_loop_test(tcase, finds_the_nearest_name, 0, ROWS(words));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
