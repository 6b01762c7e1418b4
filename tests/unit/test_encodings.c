/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/base64.h"
#include "sluice/der.h"
#include "sluice/hex.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* --- Hexadecimal ---------------------------------------------------------------------------------- */

START_TEST(reads_digits_of_both_cases_only)
{
    for (int c = -128; c < 256; c++) {
        const char *at = c > 0 && c < 128 ? strchr("0123456789abcdef0123456789ABCDEF", c) : NULL;

        ck_assert_int_eq(hex_digit(c), at ? (int)(at - "0123456789abcdef0123456789ABCDEF") % 16 : -1);
    }
}
END_TEST

START_TEST(reads_two_digits_or_nothing)
{
    static const char *const invalid[] = { "g0",
                                           "0g",
                                           "x1",
                                           " 1",
                                           "1 ",
                                           "-1",
                                           "\xb0"
                                           "0",
                                           "0\xff" };
    uint8_t byte = 0x55;

    for (int i = 0; i < ROWS(invalid); i++) {
        ck_assert(!hex_byte(invalid[i], &byte));
        ck_assert_uint_eq(byte, 0x55);
    }
    ck_assert(hex_byte("aF", &byte));
    ck_assert_uint_eq(byte, 0xaf);
    ck_assert(!hex_byte("\0", &byte));
}
END_TEST

START_TEST(writes_what_it_reads)
{
    static const uint8_t bytes[] = { 0x00, 0x0a, 0xb1, 0xff };
    char text[16] = "";

    *hex_write(text, bytes, sizeof(bytes)) = '\0';
    ck_assert_str_eq(text, "000ab1ff");
    *hex_write_colons(text, bytes, sizeof(bytes)) = '\0';
    ck_assert_str_eq(text, "00:0a:b1:ff");
    ck_assert_ptr_eq(hex_write_colons(text, bytes, 0), text);
    for (unsigned value = 0; value < 256; value++) {
        uint8_t byte;

        hex_write_byte(text, (uint8_t)value);
        ck_assert(hex_byte(text, &byte));
        ck_assert_uint_eq(byte, value);
    }
}
END_TEST

/* --- Base64 --------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    const char *decoded[4]; /* by enum base64_mode: RFC 4648, RFC 2045, strict, padded */
} texts[] = {
    { "", { "", "", "", "" } },
    { "YWJj", { "abc", "abc", "abc", "abc" } },
    { "YWI=", { "ab", "ab", "ab", "ab" } },
    { "YQ==", { "a", "a", "a", "a" } },
    { "YWJjZA==", { "abcd", "abcd", "abcd", "abcd" } },
    /* bits below the padding */
    { "YR==", { "a", "a", "", "a" } },
    { "YWK=", { "ab", "ab", "", "ab" } },
    /* incomplete groups */
    { "YWJjZ", { "abcd", "abc", "", "" } },
    { "YWJjZG", { "abcd", "abc", "", "" } },
    { "YWJjZGU", { "abcde", "abc", "", "" } },
    { "Y", { "`", "", "", "" } },
    /* other characters */
    { "YW*Jj", { "a", "abc", "", "" } },
    { "YW\r\nJj", { "a", "abc", "", "" } },
    { "*YWJj", { "", "abc", "", "" } },
    { "YWJ\xffj", { "ab", "abc", "", "" } },
    { "YW_j", { "a", "", "", "" } },
    /* padding at the wrong place */
    { "====", { "", "", "", "" } },
    { "=", { "", "", "", "" } },
    { "Y===", { "", "", "", "" } },
    { "YQ==YWJj", { "aabc", "aabc", "", "" } },
    { "YWJj====", { "abc", "abc", "", "" } },
};

START_TEST(decodes_by_the_rules_of_the_mode)
{
    static const enum base64_mode modes[] = { BASE64_RFC4648, BASE64_RFC2045, BASE64_STRICT, BASE64_PADDED };
    uint32_t length = (uint32_t)strlen(texts[_i].text);
    uint8_t *out =
        malloc(base64_decoded_size(length)); /* of exact size, so that a sanitizer detects writes past the end */

    for (int mode = 0; mode < ROWS(modes); mode++) {
        uint32_t decoded = base64_decode(texts[_i].text, length, modes[mode], out);

        ck_assert_msg(decoded == strlen(texts[_i].decoded[mode]) && memcmp(out, texts[_i].decoded[mode], decoded) == 0,
                      "'%s' in mode %d became '%.*s'", texts[_i].text, mode, (int)decoded, (const char *)out);
    }
    free(out);
}
END_TEST

static const struct {
    const char *text, *decoded;
    bool invalid;
} streams[] = {
    { "YWJj", "abc", false },      { "YWI=", "ab", false },      { "YWI", "ab", false },    { "Y", "", false },
    { "YW\t Jj\r", "abc", false }, { "YW*Jj", "abc", true },     { "YWJj\n", "abc", true }, /* each input is a line
                                                                                               without its end */
    { "YQ==YWJj", "aabc", false }, { "YQ=YWJj", "aabc", false }, { "=YWJj", "abc", false }, { "Y=WI=", "X", false },
    { "Y\xc3W=", "a", true },
};

START_TEST(decodes_pieces_as_the_whole)
{
    size_t length = strlen(streams[_i].text);

    for (size_t cut = 0; cut <= length; cut++) {
        struct base64_stream stream = { .count = 0 };
        uint8_t *out = malloc(base64_decoded_size((uint32_t)length) + 3);
        bool invalid = false;
        uint32_t decoded =
            base64_stream_decode(&stream, (const uint8_t *)streams[_i].text, (uint32_t)cut, out, &invalid);

        ck_assert_uint_le(decoded, base64_decoded_size((uint32_t)cut));
        decoded += base64_stream_decode(&stream, (const uint8_t *)streams[_i].text + cut, (uint32_t)(length - cut),
                                        out + decoded, &invalid);
        decoded += base64_stream_finish(&stream, out + decoded);
        ck_assert_msg(decoded == strlen(streams[_i].decoded) && memcmp(out, streams[_i].decoded, decoded) == 0,
                      "'%s' became '%.*s'", streams[_i].text, (int)decoded, (const char *)out);
        ck_assert_int_eq(invalid, streams[_i].invalid);
        free(out);
    }
}
END_TEST

START_TEST(decodes_what_it_encodes)
{
    uint8_t bytes[64], decoded[sizeof(bytes) + 3];

    srand(1);
    for (uint32_t length = 0; length <= sizeof(bytes); length++) {
        size_t size = base64_encoded_size(length);
        char *text = malloc(size + 1);

        for (uint32_t i = 0; i < length; i++)
            bytes[i] = (uint8_t)rand();
        base64_encode(bytes, length, text);
        for (enum base64_mode mode = BASE64_RFC4648; mode <= BASE64_PADDED; mode++) {
            ck_assert_uint_eq(base64_decode(text, (uint32_t)size, mode, decoded), length);
            ck_assert_mem_eq(decoded, bytes, length);
        }
        free(text);
    }
}
END_TEST

/* --- DER ------------------------------------------------------------------------------------------ */

#define DATA(text) text, sizeof(text) - 1

static const struct {
    const char *bytes;
    size_t length;
    enum der_result result[3]; /* by enum der_form: definite, any, one-octet tag */
    uint64_t value_length;
} headers[] = {
    { DATA("\x30\x05"), { DER_OK, DER_OK, DER_OK }, 5 },
    { DATA("\x30\x82\x01\x02"), { DER_OK, DER_OK, DER_OK }, 258 },
    { DATA("\x30\x83\0\0\x05"), { DER_OK, DER_OK, DER_OK }, 5 },
    { DATA("\x30\x84\x7f\xff\xff\xff"), { DER_OK, DER_OK, DER_MALFORMED }, 0x7fffffff },
    { DATA("\x30\x85\0\0\0\0\x01"), { DER_MALFORMED, DER_OK, DER_MALFORMED }, 1 },
    { DATA("\x30\x88\xff\xff\xff\xff\xff\xff\xff\xff"), { DER_MALFORMED, DER_OK, DER_MALFORMED }, UINT64_MAX },
    { DATA("\x30\x89\0\0\0\0\0\0\0\0\x01"), { DER_MALFORMED, DER_MALFORMED, DER_MALFORMED }, 0 },
    { DATA("\x30\xff"), { DER_MALFORMED, DER_MALFORMED, DER_MALFORMED }, 0 },
    { DATA(""), { DER_TRUNCATED, DER_TRUNCATED, DER_TRUNCATED }, 0 },
    { DATA("\x30"), { DER_TRUNCATED, DER_TRUNCATED, DER_TRUNCATED }, 0 },
    { DATA("\x30\x82\x01"), { DER_TRUNCATED, DER_TRUNCATED, DER_TRUNCATED }, 0 },
    { DATA("\x30\x85\0\0\0"), { DER_MALFORMED, DER_TRUNCATED, DER_MALFORMED }, 0 },
    /* indefinite length of a constructed and of a primitive value */
    { DATA("\x30\x80"), { DER_MALFORMED, DER_OK, DER_OK }, 0 },
    { DATA("\x04\x80"), { DER_MALFORMED, DER_MALFORMED, DER_OK }, 0 },
    /* high tag numbers: 1, then 0x7f as length; the octets of a number, up to four; a number that does not end */
    { DATA("\x7f\x01\x05"), { DER_MALFORMED, DER_OK, DER_OK }, 5 },
    { DATA("\x7f\x81\x82\x83\x04\x05"), { DER_MALFORMED, DER_OK, DER_OK }, 5 },
    { DATA("\x7f\x81\x82\x83\x84\x05\x05"), { DER_MALFORMED, DER_MALFORMED, DER_OK }, 0 },
    { DATA("\x7f"), { DER_MALFORMED, DER_TRUNCATED, DER_TRUNCATED }, 0 },
    { DATA("\x1f\x81\x82"), { DER_MALFORMED, DER_TRUNCATED, DER_OK }, 0 },
};

START_TEST(reads_headers_of_each_form)
{
    for (enum der_form form = DER_DEFINITE; form <= DER_ONE_OCTET_TAG; form++) {
        struct cursor cur = cursor_of(headers[_i].bytes, headers[_i].length);
        struct der_header header = { .length = 77 };
        enum der_result result = der_read_header(&cur, form, &header);

        ck_assert_msg(result == headers[_i].result[form], "form %d: %d", (int)form, (int)result);
        if (result != DER_OK) {
            ck_assert_ptr_eq(cur.at, headers[_i].bytes);
            ck_assert_uint_eq(header.length, 77);
        } else if (form != DER_ONE_OCTET_TAG) {
            ck_assert_uint_eq(header.length, headers[_i].value_length);
            ck_assert_uint_eq(header.identifier, (uint8_t)headers[_i].bytes[0]);
            ck_assert_uint_eq(cursor_remaining(&cur), 0);
        }
    }
}
END_TEST

START_TEST(reads_high_tag_numbers)
{
    struct cursor cur = cursor_of("\x7f\x81\x82\x83\x04\x05", 6);
    struct der_header header;

    ck_assert_int_eq(der_read_header(&cur, DER_ANY, &header), DER_OK);
    ck_assert_uint_eq(header.number, ((1u * 128 + 2) * 128 + 3) * 128 + 4);
    cur = cursor_of("\x7f\x01\x05", 3);
    ck_assert_int_eq(der_read_header(&cur, DER_ONE_OCTET_TAG, &header), DER_OK);
    ck_assert_uint_eq(header.number, 31);
    ck_assert_uint_eq(header.length, 1);
    ck_assert_uint_eq(cursor_remaining(&cur), 1);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    bool fine;
    int32_t value;
} integers[] = {
    { DATA("\xa1\x03\x02\x01\x05"), true, 5 },
    { DATA("\xa1\x04\x02\x02\xff\x7b"), true, -133 },
    { DATA("\xa1\x06\x02\x04\x80\0\0\0"), true, INT32_MIN },
    { DATA("\xa1\x07\x02\x05\0\0\0\0\x01"), false, 0 },
    { DATA("\xa1\x02\x02\0"), false, 0 },
    { DATA("\xa2\x03\x02\x01\x05"), false, 0 },
    { DATA("\xa1\x04\x02\x01\x05"), false, 0 },
    { DATA("\xa1\x03\x02\x02\x05\x06"), false, 0 },
};

START_TEST(reads_explicit_integers)
{
    struct cursor cur = cursor_of(integers[_i].bytes, integers[_i].length);
    int32_t value = 0;

    ck_assert_int_eq(der_read_explicit_int32(&cur, 1, &value), integers[_i].fine);
    ck_assert_int_eq(value, integers[_i].value);
    ck_assert_uint_eq(cursor_remaining(&cur), integers[_i].fine ? 0 : integers[_i].length);
}
END_TEST

START_TEST(keeps_values_inside_their_parents)
{
    static const char bytes[] = "\x30\x04\x02\x01\x05\x04\x30\x03\x04\x02\x01";
    struct cursor cur = cursor_of(bytes, sizeof(bytes) - 1), body, inner;
    struct der_value value;

    ck_assert(!der_read(&cur, DER_SET, &body));
    ck_assert(der_skip_optional(&cur, DER_SET));
    ck_assert_ptr_eq(cur.at, bytes);
    ck_assert(der_read(&cur, DER_SEQUENCE, &body));
    ck_assert(der_read(&body, DER_INTEGER, &inner));
    ck_assert_uint_eq(*inner.at, 5);
    ck_assert(!der_next(&body, &value)); /* its length octet is outside of the sequence */
    ck_assert(!der_read(&cur, DER_SEQUENCE, &body) || !der_next(&body, &value));

    cur = cursor_of("\x31\x05\x01", 3);
    ck_assert(!der_skip_optional(&cur, DER_SET)); /* present, but incomplete */
    cur = cursor_of("", 0);
    ck_assert(der_skip_optional(&cur, DER_SET));
    ck_assert(!der_next(&cur, &value));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encodings");
    TCase *hex = tcase_create("hexadecimal"), *base64 = tcase_create("base64"), *der = tcase_create("der");

    tcase_add_test(hex, reads_digits_of_both_cases_only);
    tcase_add_test(hex, reads_two_digits_or_nothing);
    tcase_add_test(hex, writes_what_it_reads);
    suite_add_tcase(suite, hex);
    tcase_add_loop_test(base64, decodes_by_the_rules_of_the_mode, 0, ROWS(texts));
    tcase_add_loop_test(base64, decodes_pieces_as_the_whole, 0, ROWS(streams));
    tcase_add_test(base64, decodes_what_it_encodes);
    suite_add_tcase(suite, base64);
    tcase_add_loop_test(der, reads_headers_of_each_form, 0, ROWS(headers));
    tcase_add_test(der, reads_high_tag_numbers);
    tcase_add_loop_test(der, reads_explicit_integers, 0, ROWS(integers));
    tcase_add_test(der, keeps_values_inside_their_parents);
    suite_add_tcase(suite, der);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
