/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/base64.h"
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
    uint8_t *out = malloc(base64_decoded_size(length)); /* exact, for the sanitizer */

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
    { "YW\t Jj\r", "abc", false }, { "YW*Jj", "abc", true },     { "YWJj\n", "abc", true }, /* lines have no line end */
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

int main(void)
{
    Suite *suite = suite_create("encodings");
    TCase *hex = tcase_create("hexadecimal"), *base64 = tcase_create("base64");

    tcase_add_test(hex, reads_digits_of_both_cases_only);
    tcase_add_test(hex, reads_two_digits_or_nothing);
    tcase_add_test(hex, writes_what_it_reads);
    suite_add_tcase(suite, hex);
    tcase_add_loop_test(base64, decodes_by_the_rules_of_the_mode, 0, ROWS(texts));
    tcase_add_loop_test(base64, decodes_pieces_as_the_whole, 0, ROWS(streams));
    tcase_add_test(base64, decodes_what_it_encodes);
    suite_add_tcase(suite, base64);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
