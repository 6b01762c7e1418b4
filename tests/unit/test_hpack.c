/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Header compression of HTTP/2: the examples of RFC 7541, appendix C, errors, and the dynamic table. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "app/http2/hpack.h"
#include "sluice/hex.h"
#include "sluice/transfer.h"

enum { HEAP_SIZE = 16 << 20, TEXT_LIMIT = 64 << 10, BLOCK_MAX = 4096, ENTRY_OVERHEAD = 32 };

static struct heap *heap;
static struct hpack hpack;
static struct buffer text;

static void setup(void)
{
    ck_assert_int_eq(heap_new(&heap, HEAP_SIZE), 0);
    hpack_init(&hpack, 65536);
    text = (struct buffer){ 0 };
}

static void teardown(void)
{
    hpack_clear(heap, &hpack);
    buffer_clear(heap, &text);
    ck_assert_uint_eq(heap_memory(heap), 0);
    heap_free(heap);
}

/* Decodes a block in hexadecimal, with blanks; the result of the last call is returned. */
static enum hpack_result decode(const char *hex, uint32_t limit)
{
    uint8_t *block = malloc(BLOCK_MAX); /* of its own, so that a sanitizer detects reads past the end */
    uint32_t length = 0, value = 0;
    enum hpack_result result;
    struct http_field field;

    for (const char *at = hex; *at; at++) {
        if (*at == ' ')
            continue;
        ck_assert(hex_byte((const uint8_t *)at, &block[length++]));
        at++;
    }
    block = realloc(block, length > 0 ? length : 1);
    struct cursor cur = cursor_of(block, length);

    text.length = 0;
    do
        result = hpack_next(&hpack, heap, &cur, &text, limit, &field, &value);
    while (result == HPACK_FIELD || result == HPACK_SIZE_UPDATE || result == HPACK_INVALID_INDEX ||
           result == HPACK_INVALID_STRING);
    free(block);
    return result;
}

static void assert_block(const char *hex, const char *want, uint32_t size)
{
    ck_assert_int_eq(decode(hex, TEXT_LIMIT), HPACK_END);
    ck_assert_msg(text.length == strlen(want) && memcmp(text.bytes, want, text.length) == 0, "%.*s", (int)text.length,
                  (const char *)text.bytes);
    ck_assert_uint_eq(hpack.size, size);
}

START_TEST(fields_are_decoded) /* C.2 */
{
    assert_block("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", "custom-key: custom-header\r\n",
                 55);
    assert_block("040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\r\n", 55);
    assert_block("1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\r\n", 55);
    assert_block("82", ":method: GET\r\n", 55);
}
END_TEST

static const char first_request[] = ":method: GET\r\n:scheme: http\r\n:path: /\r\n:authority: www.example.com\r\n";
static const char second_request[] =
    ":method: GET\r\n:scheme: http\r\n:path: /\r\n:authority: www.example.com\r\ncache-control: no-cache\r\n";
static const char third_request[] = ":method: GET\r\n:scheme: https\r\n:path: /index.html\r\n:authority: "
                                    "www.example.com\r\ncustom-key: custom-value\r\n";

START_TEST(requests_are_decoded) /* C.3 */
{
    assert_block("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", first_request, 57);
    assert_block("8286 84be 5808 6e6f 2d63 6163 6865", second_request, 110);
    assert_block("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", third_request, 164);
}
END_TEST

START_TEST(requests_in_huffman_code_are_decoded) /* C.4 */
{
    assert_block("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", first_request, 57);
    assert_block("8286 84be 5886 a8eb 1064 9cbf", second_request, 110);
    assert_block("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", third_request, 164);
}
END_TEST

static const char first_response[] = ":status: 302\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:21 "
                                     "GMT\r\nlocation: https://www.example.com\r\n";
static const char second_response[] = ":status: 307\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:21 "
                                      "GMT\r\nlocation: https://www.example.com\r\n";
static const char third_response[] =
    ":status: 200\r\ncache-control: private\r\ndate: Mon, 21 Oct 2013 20:13:22 GMT\r\nlocation: "
    "https://www.example.com\r\ncontent-encoding: gzip\r\nset-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; "
    "version=1\r\n";

/* The table has 256 bytes: entries are evicted. */
START_TEST(responses_evict_entries) /* C.5 */
{
    hpack.limit = 256;
    assert_block("4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 "
                 "3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
                 first_response, 222);
    assert_block("4803 3330 37c1 c0bf", second_response, 222);
    assert_block("88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 "
                 "7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 "
                 "6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
                 third_response, 215);
}
END_TEST

START_TEST(responses_in_huffman_code_evict_entries) /* C.6 */
{
    hpack.limit = 256;
    assert_block("4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad "
                 "1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
                 first_response, 222);
    assert_block("4883 640e ffc1 c0bf", second_response, 222);
    assert_block("88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 "
                 "e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
                 third_response, 215);
}
END_TEST

static const struct {
    const char *hex, *text;
    enum hpack_result result;
} invalid[] = {
    { "80", "", HPACK_END },                                    /* index 0 is skipped */
    { "be 82", ":method: GET\r\n", HPACK_END },                 /* an index beyond the tables */
    { "7e 0161 82", ":method: GET\r\n", HPACK_END },            /* a name with such an index */
    { "00 0161 8100 82", ":method: GET\r\n", HPACK_END },       /* padding of zeros */
    { "00 0161 82ffff 82", ":method: GET\r\n", HPACK_END },     /* padding of more than 7 bits */
    { "00 0161 84ffffffff 82", ":method: GET\r\n", HPACK_END }, /* EOS */
    { "ff", "", HPACK_TRUNCATED },                              /* an integer ends early */
    { "ff80808080 10", "", HPACK_INTEGER_OVERFLOW },            /* 2^32 + 127 */
    { "ff80808080 8001", "", HPACK_INTEGER_OVERFLOW },          /* six bytes */
    { "00 7fff80808010", "", HPACK_INTEGER_OVERFLOW },          /* the length of a string */
    { "00 0161 05 62", "", HPACK_TRUNCATED },                   /* a string ends early */
    { "82 00 0161", ":method: GET\r\n", HPACK_TRUNCATED },      /* no value */
    { "3fe1ff03 82", ":method: GET\r\n", HPACK_END },           /* a size update to 65536 */
    { "3fe2ff03 82", "", HPACK_SIZE_EXCESSIVE },                /* to 65537 */
};

START_TEST(errors_are_found)
{
    ck_assert_int_eq(decode(invalid[_i].hex, TEXT_LIMIT), invalid[_i].result);
    ck_assert_uint_eq(text.length, strlen(invalid[_i].text));
    ck_assert_int_eq(memcmp(invalid[_i].text, text.bytes ? (const char *)text.bytes : "", text.length), 0);
}
END_TEST

/* Each byte refers to an entry of 120 bytes. */
START_TEST(decoded_text_is_limited)
{
    static const char value[] =
        "6161616161616161616161616161616161616161616161616161616161616161616161616161616161616161"
        "6161616161616161616161616161616161616161616161616161616161616161616161616161616161616161";
    char hex[1024];
    uint32_t entry = (sizeof(value) - 1) / 2 + 1;

    snprintf(hex, sizeof(hex), "40 0161 %02x %s", (unsigned)(sizeof(value) - 1) / 2, value);
    ck_assert_int_eq(decode(hex, TEXT_LIMIT), HPACK_END);
    ck_assert_int_eq(decode("bebebebebebebebebebe", TEXT_LIMIT), HPACK_END);
    ck_assert_uint_eq(text.length, 10 * (entry + 4));
    ck_assert_int_eq(decode("bebebebebebebebebebe", 10 * (entry + 4)), HPACK_END);
    ck_assert_int_eq(decode("bebebebebebebebebebe", 10 * (entry + 4) - 1), HPACK_TEXT_LIMIT);
    ck_assert_uint_eq(text.length, 9 * (entry + 4));
}
END_TEST

/* The memory of the table stays bounded however many entries pass through it. */
START_TEST(table_memory_is_bounded)
{
    size_t most = 0;
    char hex[128];

    for (unsigned i = 0; i < 5000; i++) {
        snprintf(hex, sizeof(hex), "40 0478%02x%02x78 05 61626364%02x", i >> 8 & 0xff, i & 0xff, i & 0xff);
        ck_assert_int_eq(decode(hex, TEXT_LIMIT), HPACK_END);
        ck_assert_uint_le(hpack.size, HPACK_DEFAULT_LIMIT);
        if (heap_memory(heap) > most)
            most = heap_memory(heap);
    }
    ck_assert_uint_eq(hpack.size, HPACK_DEFAULT_LIMIT / (9 + ENTRY_OVERHEAD) * (9 + ENTRY_OVERHEAD));
    ck_assert_uint_le(most, 4 * HPACK_DEFAULT_LIMIT);
    /* The newest entry is the first of the dynamic table, the oldest one the last. */
    ck_assert_int_eq(decode("be", TEXT_LIMIT), HPACK_END);
    ck_assert_int_eq(memcmp(text.bytes, "x\x13\x87x: abcd\x87\r\n", text.length), 0);
    snprintf(hex, sizeof(hex), "ff%02x", 61 + HPACK_DEFAULT_LIMIT / (9 + ENTRY_OVERHEAD) - 127);
    ck_assert_int_eq(decode(hex, TEXT_LIMIT), HPACK_END);
    ck_assert_uint_gt(text.length, 0);
    ck_assert_int_eq(decode("20", TEXT_LIMIT), HPACK_END); /* size 0 */
    ck_assert_uint_eq(hpack.size, 0);
}
END_TEST

/* The state continues in another process. */
START_TEST(table_is_transferred)
{
    struct hpack copy;
    struct transfer t;

    hpack.limit = 256;
    for (unsigned i = 0; i < 10; i++) /* evicts some */
        ck_assert_int_eq(decode("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", TEXT_LIMIT),
                         HPACK_END);
    transfer_write_start(&t);
    hpack_transfer(&t, &hpack);
    ck_assert_int_eq(t.error, 0);
    hpack_init(&copy, 65536);
    buffer_append(heap, &copy.text, hpack.text.bytes, hpack.text.length, UINT32_MAX);
    buffer_append(heap, &copy.entries, hpack.entries.bytes, hpack.entries.length, UINT32_MAX);
    struct transfer in;

    transfer_read_start(&in, t.bytes, t.at);
    hpack_transfer(&in, &copy);
    ck_assert_int_eq(in.error, 0);
    ck_assert_uint_eq(copy.size, hpack.size);
    hpack_clear(heap, &hpack);
    hpack = copy;
    assert_block("be", "custom-key: custom-header\r\n", 220);

    /* An entry beyond the text is rejected. */
    hpack_init(&copy, 65536);
    buffer_append(heap, &copy.text, hpack.text.bytes, hpack.text.length - 1, UINT32_MAX);
    buffer_append(heap, &copy.entries, hpack.entries.bytes, hpack.entries.length, UINT32_MAX);
    transfer_read_start(&in, t.bytes, t.at);
    hpack_transfer(&in, &copy);
    ck_assert_int_ne(in.error, 0);
    hpack_clear(heap, &copy);
    transfer_clear(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hpack");
    TCase *tc = tcase_create("hpack");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, fields_are_decoded);
    tcase_add_test(tc, requests_are_decoded);
    tcase_add_test(tc, requests_in_huffman_code_are_decoded);
    tcase_add_test(tc, responses_evict_entries);
    tcase_add_test(tc, responses_in_huffman_code_evict_entries);
    tcase_add_loop_test(tc, errors_are_found, 0, sizeof(invalid) / sizeof(invalid[0]));
    tcase_add_test(tc, decoded_text_is_limited);
    tcase_add_test(tc, table_memory_is_bounded);
    tcase_add_test(tc, table_is_transferred);
    suite_add_tcase(suite, tc);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
