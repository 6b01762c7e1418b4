/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every transform: results, valid values, and limits. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "rule_text.h"
#include "sluice/transform.h"

static struct transform_scratch *scratch;

static void setup(void)
{
    scratch = transform_scratch_new();
    ck_assert_ptr_nonnull(scratch);
}

static void teardown(void)
{
    transform_scratch_free(scratch);
}

/* Parses a rule with a buffer and these transforms, and a bsize condition that always matches. */
static const struct condition *parse_transforms(struct rule_text *text, const char *transforms)
{
    char options[2048];

    snprintf(options, sizeof(options), "test.buffer; %s bsize:>=0;", transforms);
    rule_text_open(text, options, strlen(options));
    return text->rule ? text->rule->buffers->transforms : NULL;
}

static bool apply(const struct condition *transforms, const uint8_t **bytes, uint32_t *length)
{
    for (const struct condition *t = transforms; t; t = t->next) {
        if (!t->keyword->transform.apply(scratch, *bytes, *length, t->data, bytes, length))
            return false;
    }
    return true;
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
    const char *transforms;
    const char *in;
    size_t in_length;
    const char *out;
    size_t out_length;
} rows[] = {
    { "dotprefix;", BYTES("example.com"), BYTES(".example.com") },
    { "dotprefix;", BYTES("\0"), BYTES(".\0") },
    { "dotprefix;", BYTES(""), BYTES("") },
    { "dotprefix; dotprefix;", BYTES("a"), BYTES("..a") },
    { "to_md5;", BYTES(" A B C D "), BYTES("\xe0\x59\xf8\x30\x43\x69\x58\xb6\x45\x82\x8c\xc2\x33\xc2\x47\x13") },
    { "to_md5;", BYTES(""), BYTES("") },
    { "to_sha1;", BYTES(" A B C D "),
      BYTES("\xc8\xdc\x44\x97\xf7\xe0\x55\xf8\x6b\x88\x90\x52\x08\x2c\x0c\x7b\xdc\xc9\xc8\x89") },
    { "to_sha256;", BYTES(" A B C D "),
      BYTES("\xd6\xbf\x7d\x8d\x69\x53\x02\x4d\x0d\x84\x5c\x99\x9b\xae\x93\xcc\xac\x68\xea\xab\x9a\xc9\x77\xd0\xfd\x30"
            "\x6a\xf5\x9a\x3d\xe4\x3a") },
    { "to_lowercase;", BYTES("@AZ[`az{\xC4 9"), BYTES("@az[`az{\xC4 9") },
    { "to_uppercase;", BYTES("@AZ[`az{\xE4 9"), BYTES("@AZ[`AZ{\xE4 9") },
    { "strip_whitespace;", BYTES(" A\tB\nC\vD\fE\rF\0 "), BYTES("ABCDEF\0") },
    { "strip_whitespace;", BYTES("   "), BYTES("") },
    { "compress_whitespace;", BYTES("I  \t J\r\n\r\nK "), BYTES("I J\rK ") },
    { "compress_whitespace;", BYTES("\t\t"), BYTES("\t") },
    { "strip_pseudo_headers;", BYTES(":method:get\nA: :1\n:b\n\nC:2"), BYTES("A: :1\n\nC:2") },
    { "strip_pseudo_headers;", BYTES(":method:get"), BYTES("") },
    { "header_lowercase;", BYTES("Header1: Value1:X\nHeader2:Value2\nREST"),
      BYTES("header1: Value1:X\nheader2:Value2\nrest") },
    { "url_decode;", BYTES("Suricata%20is+%27%61wesome%21%27%25%30%30%ZZ%4"), BYTES("Suricata is 'awesome!'%00%ZZ%4") },
    { "url_decode;", BYTES("%%41%4+%+a%"), BYTES("%%41%4+%+a%") },
    { "url_decode;", BYTES("%c3%BC%00"), BYTES("\xC3\xBC\0") },
    { "xor:\"0a0DC8ff\";", BYTES("example.com"), BYTES("\x6f\x75\xa9\x92\x7a\x61\xad\xd1\x69\x62\xa5") },
    { "xor:offset 1,20;", BYTES("abc"), BYTES("aBC") },
    { "xor:offset 2, \"2000\";", BYTES("abcde"), BYTES("abCdE") },
    { "xor:offset 4,20;", BYTES("abc"), BYTES("abc") },
    { "xor:offset 3,20;", BYTES("abc"), BYTES("abc") },
    { "xor:offset 1,extract 1 0;",
      BYTES("\x20"
            "abc"),
      BYTES("\x20"
            "ABC") },
    { "xor:extract 2 1;", BYTES("a\x01\x02z"), BYTES("\x60\x03\x03x") },
    { "xor:extract 2 3;", BYTES("abcd"), BYTES("abcd") },
    { "xor:20;", BYTES("ab"), BYTES("AB") },
    { "subslice:2;", BYTES("abcdef"), BYTES("cdef") },
    { "subslice:0;", BYTES("abcdef"), BYTES("abcdef") },
    { "subslice:6;", BYTES("abcdef"), BYTES("") },
    { "subslice:7;", BYTES("abcdef"), BYTES("") },
    { "subslice:1, 2;", BYTES("abcdef"), BYTES("bc") },
    { "subslice:1,5;", BYTES("abcdef"), BYTES("bcdef") },
    { "subslice:1,6;", BYTES("abcdef"), BYTES("") },
    { "subslice:1,6, truncate;", BYTES("abcdef"), BYTES("bcdef") },
    { "subslice:9,2,truncate;", BYTES("abcdef"), BYTES("") },
    { "subslice:-3;", BYTES("abcdef"), BYTES("def") },
    { "subslice:-3,2;", BYTES("abcdef"), BYTES("de") },
    { "subslice:-7;", BYTES("abcdef"), BYTES("") },
    { "subslice:-7,2,truncate;", BYTES("abcdef"), BYTES("ab") },
    { "subslice:-7,truncate;", BYTES("abcdef"), BYTES("abcdef") },
    { "subslice:1,-2;", BYTES("abcdef"), BYTES("bcd") },
    { "subslice:1,-5;", BYTES("abcdef"), BYTES("") },
    { "subslice:1,-9;", BYTES("abcdef"), BYTES("") },
    { "subslice:1,-9,truncate;", BYTES("abcdef"), BYTES("") },
    { "subslice:3;", BYTES(""), BYTES("") },
    { "pcrexform:\"/get\\?data=(.*)\";", BYTES("/get?data=abc"), BYTES("abc") },
    { "pcrexform:\"/get\\?data=(.*)\";", BYTES("/put?data=abc"), BYTES("/put?data=abc") },
    { "pcrexform:\"a(b)?\";", BYTES("xa"), BYTES("xa") },
    { "pcrexform:\"a(b?)\";", BYTES("xa"), BYTES("") },
    { "pcrexform:\"(?:a+)+(c)$\";", BYTES("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"),
      BYTES("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab") },
    { "domain;", BYTES("www.example.co.uk"), BYTES("example.co.uk") },
    { "domain;", BYTES("example.com"), BYTES("example.com") },
    { "domain;", BYTES("www.example.com."), BYTES("example.com.") },
    { "domain;", BYTES("a.b.unknownsuffix"), BYTES("b.unknownsuffix") },
    { "domain;", BYTES("a.b.c\xC3\xA4"), BYTES("b.c\xC3\xA4") },
    { "domain;", BYTES("co.uk"), BYTES("") },
    { "domain;", BYTES("com"), BYTES("") },
    { "domain;", BYTES("."), BYTES("") },
    { "domain;", BYTES(""), BYTES("") },
    { "tld;", BYTES("www.example.co.uk"), BYTES("co.uk") },
    { "tld;", BYTES("www.example.com"), BYTES("com") },
    { "tld;", BYTES("com"), BYTES("") },
    { "from_base64;", BYTES("VGhpcyBpcyBTdXJpY2F0YQ=="), BYTES("This is Suricata") },
    { "from_base64;", BYTES("VGhpcyBpcyBTdXJpY2F0YQ"), BYTES("This is Suricata") },
    { "from_base64;", BYTES("VGhpcyBpcyBTdXJpY2F0YQ="), BYTES("This is Suricata") },
    { "from_base64;", BYTES("VGhpcyBp cyBTdXJp"), BYTES("This i") },
    { "from_base64;", BYTES("Zg==Zg=="), BYTES("ff") },
    { "from_base64;", BYTES("!!!!"), BYTES("!!!!") },
    { "from_base64;", BYTES("===="), BYTES("====") },
    { "from_base64;", BYTES(""), BYTES("") },
    { "from_base64: mode rfc2045;", BYTES("Zm 9v Ym Fy"), BYTES("foobar") },
    { "from_base64: mode rfc2045;", BYTES("SGVs bG8 gV29y bGQ"), BYTES("Hello Wor") },
    { "from_base64: mode rfc2045, bytes 15;", BYTES("SGVs bG8 gV29y bGQ="), BYTES("Hello Wor") },
    { "from_base64: mode strict;", BYTES("dGhpc2lzYXRlc3QK"), BYTES("thisisatest\n") },
    { "from_base64: mode strict;", BYTES("Zg=="), BYTES("f") },
    { "from_base64: mode strict;", BYTES("Zg="), BYTES("Zg=") },
    { "from_base64: mode strict;", BYTES("Zh=="), BYTES("Zh==") },
    { "from_base64: mode strict;", BYTES("Zg==Zg=="), BYTES("Zg==Zg==") },
    { "from_base64: mode strict;", BYTES("Z=g="), BYTES("Z=g=") },
    { "from_base64: mode strict;", BYTES("Zm9v\n"), BYTES("Zm9v\n") },
    { "from_base64: offset 6 ;", BYTES("/?arg=dGhpc2lzYXRlc3QK"), BYTES("thisisatest\n") },
    { "from_base64: bytes 6, offset 6;", BYTES("/?arg=dGhpc2lzYXRlc3QK"), BYTES("this") },
    { "from_base64: offset 4;", BYTES("Zm9v"), BYTES("Zm9v") },
    { "from_base64: bytes 5;", BYTES("Zm9v"), BYTES("Zm9v") },
    { "from_base64: bytes 4;", BYTES("Zm9v"), BYTES("foo") },
    { "from_base64; zlib_deflate;", BYTES("eJwLycgsVgCi5PzcgqLU4uLUFIWSjNQ8haTE4lQzE93UvOT8lNQULgAeFA3n"),
      BYTES("This is compressed then base64-encoded\n") },
    { "from_base64; zlib_deflate: max-size 8;", BYTES("eJwLycgsVgCi5PzcgqLU4uLUFIWSjNQ8haTE4lQzE93UvOT8lNQULgAeFA3n"),
      BYTES("This is ") },
    { "from_base64; zlib_deflate: max-size 1 kib; strip_whitespace;",
      BYTES("eJwLycgsVgCi5PzcgqLU4uLUFIWSjNQ8haTE4lQzE93UvOT8lNQULgAeFA3n"),
      BYTES("Thisiscompressedthenbase64-encoded") },
    { "from_base64: bytes 20; zlib_deflate;", BYTES("eJwLycgsVgCi5PzcgqLU4uLUFIWSjNQ8haTE4lQzE93UvOT8lNQULgAeFA3n"),
      BYTES("This is compre") },
    /* A wrong checksum: zlib's is verified, gzip's is not. */
    { "from_base64; zlib_deflate;", BYTES("eJwLycgsVgCi5PzcgqLU4uLUFIWSjNQ8haTE4lQzE93UvOT8lNQULgAeFA3o"), BYTES("") },
    { "from_base64; gunzip;", BYTES("H4sIAAAAAAACA8tIzcnJV8hAkACAiPnlEQAAAA=="), BYTES("hello hello hello") },
    { "from_base64; gunzip;", BYTES("H4sIAAAAAAACA8tIzcnJV8hAkACBiPnlEQAAAA=="), BYTES("hello hello hello") },
    { "from_base64; gunzip:max-size 5;", BYTES("H4sIAAAAAAACA8tIzcnJV8hAkACAiPnlEQAAAA=="), BYTES("hello") },
    { "gunzip;", BYTES("hello"), BYTES("") },
    { "zlib_deflate;", BYTES(""), BYTES("") },
    { "to_lowercase; strip_whitespace; dotprefix;", BYTES("A B"), BYTES(".ab") },
};

START_TEST(bytes_are_transformed)
{
    struct rule_text text;
    const struct condition *transforms = parse_transforms(&text, rows[_i].transforms);
    /* In an allocation of exact size, so that a sanitizer detects reads past the end. */
    uint8_t *copy = malloc(rows[_i].in_length + 1);
    const uint8_t *bytes = copy + 1;
    uint32_t length = (uint32_t)rows[_i].in_length;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy + 1, rows[_i].in, length);
    ck_assert_str_eq(text.message, "");
    ck_assert_ptr_nonnull(transforms);
    ck_assert(apply(transforms, &bytes, &length));
    ck_assert_ptr_nonnull(bytes);
    ck_assert_mem_eq(copy + 1, rows[_i].in, rows[_i].in_length);
    ck_assert_uint_eq(length, rows[_i].out_length);
    ck_assert_mem_eq(bytes, rows[_i].out, length);
    free(copy);
    rule_text_close(&text);
}
END_TEST

static const char *const bad_rows[] = {
    "subslice;",
    "subslice:x;",
    "subslice:1,;",
    "subslice:1,x;",
    "subslice:1,2,3;",
    "subslice:truncate;",
    "subslice:1,truncate,2;",
    "subslice:1,truncate,truncate;",
    "subslice:1073741825;",
    "subslice:1,-1073741825;",
    "xor:1;",
    "xor:0g;",
    "xor:\"\";",
    "xor;",
    "xor:offset 1;",
    "xor:offset 1,;",
    "xor:offset x,20;",
    "xor:extract 1;",
    "xor:extract 0 1;",
    "xor:extract 256 1;",
    "xor:extract 1 65536;",
    "xor:\"-1\";",
    "pcrexform:\"abc\";",
    "pcrexform:\"(a)(b)\";",
    "pcrexform:\"(a\";",
    "pcrexform:(a);",
    "from_base64:mode unknown;",
    "from_base64:offset 70000;",
    "from_base64:offset x;",
    "from_base64:bytes -1;",
    "from_base64:mode strict, mode rfc2045;",
    "from_base64:offset 1, offset 2;",
    "from_base64:relative;",
    "gunzip:max-size 0;",
    "gunzip:max-size 17MiB;",
    "gunzip:max-size 1GiB;",
    "gunzip:max-size 1, max-size 1;",
    "gunzip:max-size;",
    "gunzip:max-size 1 X;",
    "zlib_deflate:size 1;",
    "to_md5:1;",
    "dotprefix:.;",
    /* Contents that cannot occur in the transformed buffer. */
    "to_lowercase; content:\"aB\";",
    "to_uppercase; content:\"aB\";",
    "strip_whitespace; content:\"a b\";",
    "compress_whitespace; content:\"a  b\";",
    "absent;",
    "absent:or;",
    "base64_data; content:\"a\";",
    "base64_decode; base64_data; to_lowercase; content:\"a\";",
    "base64_decode; base64_data; absent:or_else; content:\"a\";",
    "base64_decode:relatve; base64_data; content:\"a\";",
    "base64_decode:bytes 70000; base64_data; content:\"a\";",
    "base64_decode:bytes 1, bytes 1; base64_data; content:\"a\";",
    "base64_decode:offset -1; base64_data; content:\"a\";",
    "dotprefix; to_lowercase; content:\".A\";",
};

START_TEST(mistakes_are_refused)
{
    struct rule_text text;

    ck_assert_ptr_null(parse_transforms(&text, bad_rows[_i]));
    ck_assert_uint_gt(text.errors, 0);
    rule_text_close(&text);
}
END_TEST

static const char *const good_rows[] = {
    "to_lowercase; content:\"ab\";",         "to_lowercase; content:\"aB\"; nocase;",
    "to_uppercase; content:\"aB\"; nocase;", "to_lowercase; content:!\"AB\";",
    "to_uppercase; content:\"AB\";",         "compress_whitespace; content:\" a b \";",
    "strip_whitespace; pcre:\"/a b/\";",     "url_decode; content:\"% +A\";",
};

START_TEST(what_may_be_found_is_accepted)
{
    struct rule_text text;

    ck_assert_ptr_nonnull(parse_transforms(&text, good_rows[_i]));
    rule_text_close(&text);
}
END_TEST

/* Without room the buffer does not exist; a failed transform uses no room. */
START_TEST(memory_is_bounded)
{
    static const char *const needy[] = {
        "dotprefix;",
        "to_md5;",
        "to_sha1;",
        "to_sha256;",
        "to_lowercase;",
        "to_uppercase;",
        "strip_whitespace;",
        "compress_whitespace;",
        "strip_pseudo_headers;",
        "header_lowercase;",
        "url_decode;",
        "xor:01;",
        "from_base64;",
        "gunzip;",
    };
    uint8_t in[] = "Zm9v";

    transform_scratch_reset(scratch);
    ck_assert_ptr_null(transform_output(scratch, TRANSFORM_SCRATCH_SIZE + 1));
    ck_assert_ptr_nonnull(transform_output(scratch, TRANSFORM_SCRATCH_SIZE));
    ck_assert_uint_eq(transform_scratch_available(scratch), 0);
    for (size_t i = 0; i < sizeof(needy) / sizeof(needy[0]); i++) {
        struct rule_text text;
        const struct condition *transforms = parse_transforms(&text, needy[i]);
        const uint8_t *bytes = in;
        uint32_t length = sizeof(in) - 1;

        ck_assert_ptr_nonnull(transforms);
        ck_assert(!apply(transforms, &bytes, &length));
        rule_text_close(&text);
    }
    transform_scratch_reset(scratch);
    ck_assert_uint_eq(transform_scratch_available(scratch), TRANSFORM_SCRATCH_SIZE);
}
END_TEST

/* A decompression bomb: the output is limited by the scratch memory. */
START_TEST(large_results_are_cut)
{
    struct rule_text text;
    const struct condition *transforms = parse_transforms(&text, "zlib_deflate:max-size 16MiB;");
    enum { SIZE = 8 * 1024 * 1024 };
    uint8_t *zeros = calloc(1, SIZE);
    uLongf packed_length = compressBound(SIZE);
    uint8_t *packed = malloc(packed_length);
    const uint8_t *bytes = packed;

    ck_assert(zeros && packed && transforms);
    ck_assert_int_eq(compress(packed, &packed_length, zeros, SIZE), Z_OK);
    uint32_t length = (uint32_t)packed_length;

    transform_scratch_reset(scratch);
    ck_assert(apply(transforms, &bytes, &length));
    ck_assert_uint_gt(length, TRANSFORM_SCRATCH_SIZE - 128 * 1024);
    ck_assert_uint_lt(length, TRANSFORM_SCRATCH_SIZE);
    ck_assert_mem_eq(bytes, zeros, length);
    free(zeros);
    free(packed);
    rule_text_close(&text);
}
END_TEST

/* A transform that needs no more memory than its input writes over it; for others the memory may be exhausted, which is
 * not the same as an input without a result. */
START_TEST(missing_memory_is_no_absence)
{
    static const struct {
        const char *transforms;
        enum transform_result result;
    } chains[] = {
        { "zlib_deflate:max-size 3MiB; to_lowercase; strip_whitespace;", TRANSFORM_DONE },
        { "zlib_deflate:max-size 3MiB; dotprefix;", TRANSFORM_NO_MEMORY },
        { "zlib_deflate:max-size 3MiB; to_lowercase; xor:01;", TRANSFORM_NO_MEMORY },
        { "zlib_deflate:max-size 1MiB; dotprefix; xor:01;", TRANSFORM_DONE },
    };
    enum { SIZE = 3 << 20 };
    uint8_t *text_bytes = malloc(SIZE), *packed = malloc(SIZE);
    uLongf packed_length = SIZE;

    ck_assert(text_bytes && packed);
    memset(text_bytes, 'A', SIZE);
    ck_assert_int_eq(compress(packed, &packed_length, text_bytes, SIZE), Z_OK);
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        struct rule_text text;
        const struct condition *transforms = parse_transforms(&text, chains[i].transforms);
        const uint8_t *bytes = packed;
        uint32_t length = (uint32_t)packed_length;

        ck_assert_ptr_nonnull(transforms);
        transform_scratch_reset(scratch);
        ck_assert_int_eq(transforms_apply(scratch, transforms, &bytes, &length), chains[i].result);
        if (i == 0) {
            ck_assert_uint_eq(length, SIZE);
            ck_assert(bytes[0] == 'a' && memcmp(bytes, bytes + 1, SIZE - 1) == 0);
        }
        ck_assert(chains[i].result == TRANSFORM_DONE || bytes == packed);
        rule_text_close(&text);
    }
    free(text_bytes);
    free(packed);
}
END_TEST

#define ROWS(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("transform");
    TCase *tcase = tcase_create("transform");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, bytes_are_transformed, 0, ROWS(rows));
    tcase_add_loop_test(tcase, mistakes_are_refused, 0, ROWS(bad_rows));
    tcase_add_loop_test(tcase, what_may_be_found_is_accepted, 0, ROWS(good_rows));
    tcase_add_test(tcase, memory_is_bounded);
    tcase_add_test(tcase, large_results_are_cut);
    tcase_add_test(tcase, missing_memory_is_no_absence);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
