/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Certificates: DER, times, and the effect of each kind of change to a valid certificate. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "app/tls/x509.h"
#include "tls_samples.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- DER ------------------------------------------------------------------------------------------ */

struct der_case {
    const char *bytes;
    size_t length;
    bool good;
    size_t body;
};
#define DER(text, good, body)                                                                                          \
    {                                                                                                                  \
        text, sizeof(text) - 1, good, body                                                                             \
    }

static const struct der_case der_cases[] = {
    DER("\x02\x01\x05", true, 1),
    DER("\x02\x00", true, 0),
    DER("\x02\x02\x05", false, 0),                     /* too short */
    DER("\x02", false, 0),                             /* no length */
    DER("", false, 0),                                 /* empty */
    DER("\x30\x81\x01\x00", true, 1),                  /* longer form than needed */
    DER("\x30\x82\x00\x01\x00", true, 1),              /* longer form than needed */
    DER("\x30\x84\x00\x00\x00\x01\x00", true, 1),      /* four octets */
    DER("\x30\x85\x00\x00\x00\x00\x01\x00", false, 0), /* five octets */
    DER("\x30\x84\xff\xff\xff\xff\x00", false, 0),     /* the length would overflow */
    DER("\x30\x80\x00\x00", false, 0),                 /* indefinite */
    DER("\x30\x81", false, 0),                         /* the length is cut */
    DER("\x1f\x01\x00", false, 0),                     /* a high tag number */
};

START_TEST(values)
{
    const struct der_case *c = &der_cases[_i];
    uint8_t *bytes = malloc(c->length + 1);
    struct der_value value;

    memcpy(bytes, c->bytes, c->length);
    struct cursor cur = cursor_of(bytes, c->length);

    ck_assert_int_eq(der_next(&cur, &value), c->good);
    if (c->good) {
        ck_assert_uint_eq(cursor_remaining(&value.body), c->body);
        ck_assert_uint_eq(cursor_remaining(&cur), 0);
    } else {
        ck_assert_uint_eq(cursor_remaining(&cur), c->length); /* the cursor has not moved */
    }
    free(bytes);
}
END_TEST

/* --- Times ---------------------------------------------------------------------------------------- */

struct time_case {
    uint8_t tag;
    const char *text;
    bool good;
    int64_t seconds;
};

static const struct time_case time_cases[] = {
    { DER_UTC_TIME, "700101000000Z", true, 0 },
    { DER_UTC_TIME, "491231235959Z", true, 2524607999 },
    { DER_UTC_TIME, "500101000000Z", true, -631152000 }, /* 1950 */
    { DER_UTC_TIME, "0002292359Z", true, 951868740 },    /* a leap day, without seconds */
    { DER_UTC_TIME, "700101000000+0130", true, -5400 },
    { DER_UTC_TIME, "700101000000-0130", true, 5400 },
    { DER_GENERALIZED_TIME, "20500101000000Z", true, 2524608000 },
    { DER_GENERALIZED_TIME, "20240301120000.25Z", true, 1709294400 },
    { DER_GENERALIZED_TIME, "00010101000000Z", true, -62135596800 },
    { DER_UTC_TIME, "700101000000", false, 0 },
    { DER_UTC_TIME, "700101000000Zx", false, 0 },
    { DER_UTC_TIME, "701301000000Z", false, 0 },
    { DER_UTC_TIME, "700100000000Z", false, 0 },
    { DER_UTC_TIME, "700101240000Z", false, 0 },
    { DER_UTC_TIME, "70010100000aZ", false, 0 },
    { DER_UTC_TIME, "", false, 0 },
    { DER_INTEGER, "700101000000Z", false, 0 },
};

START_TEST(times)
{
    const struct time_case *c = &time_cases[_i];
    const struct der_value value = { .tag = c->tag, .body = cursor_of(c->text, strlen(c->text)) };
    int64_t seconds = 0;

    ck_assert_int_eq(der_time(&value, &seconds), c->good);
    if (c->good)
        ck_assert_int_eq(seconds, c->seconds);
}
END_TEST

/* --- OIDs ----------------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    size_t length;
    const char *text;
} oid_cases[] = {
    { "\x55\x04\x03", 3, "2.5.4.3" },
    { "\x2a\x86\x48\x86\xf7\x0d", 6, "1.2.840.113549" },
    { "\x09", 1, "0.9" },
    { "\x88\x37", 2, "2.999" },
    { "\x55\x84", 2, "" },
    { "", 0, "" },
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10, "" },
};

START_TEST(oids)
{
    char text[DER_OID_TEXT_MAX];
    size_t length = der_oid_text(cursor_of(oid_cases[_i].bytes, oid_cases[_i].length), text);

    ck_assert_uint_eq(length, strlen(oid_cases[_i].text));
    ck_assert_mem_eq(text, oid_cases[_i].text, length);
}
END_TEST

/* --- Certificates --------------------------------------------------------------------------------- */

START_TEST(good_certificates)
{
    struct x509 x509;

    ck_assert_int_eq(x509_read(tls_leaf, sizeof(tls_leaf), &x509), X509_OK);
    ck_assert_int_eq(x509.not_before, 1672628645);
    ck_assert_int_eq(x509_read(tls_root, sizeof(tls_root), &x509), X509_OK);
    ck_assert_uint_eq(cursor_remaining(&x509.alternatives), 0);
}
END_TEST

/* Example certificates with the expected values. */
START_TEST(outer_values)
{
    struct x509 x509;

    ck_assert_int_eq(x509_read((const uint8_t *)"\x30\x05\x30\x84\xff\xff\xff", 7, &x509), X509_LENGTH);
    ck_assert_int_eq(x509_read((const uint8_t *)"\x30\x06\x30\x84\xff\xff\xff\xfa", 8, &x509), X509_BROKEN);
    ck_assert_int_eq(x509_read((const uint8_t *)"\x31\x00", 2, &x509), X509_BROKEN);
}
END_TEST

/* A truncated certificate is malformed; each length that exceeds its parent is detected. */
START_TEST(every_cut)
{
    struct x509 x509;

    for (size_t length = 0; length < sizeof(tls_leaf); length++) {
        uint8_t *bytes = malloc(length + 1);

        memcpy(bytes, tls_leaf, length);
        ck_assert_int_eq(x509_read(bytes, length, &x509), length < 4 ? X509_LENGTH : X509_BROKEN);
        free(bytes);
    }
}
END_TEST

/* Replaces the first occurrence of some bytes in the certificate. */
struct change {
    const char *find;
    size_t length;
    const char *put; /* replacement of the same length */
    enum x509_result result;
};
#define CHANGE(find, put, result)                                                                                      \
    {                                                                                                                  \
        find, sizeof(find) - 1, put, result                                                                            \
    }

static const struct change changes[] = {
    CHANGE("\xa0\x03\x02\x01\x02", "\xa0\x03\x03\x01\x02", X509_VERSION),
    CHANGE("\xa0\x03\x02\x01\x02", "\xa0\x03\x02\x00\x02", X509_VERSION),
    CHANGE("\x02\x06\x00\xab", "\x03\x06\x00\xab", X509_SERIAL),
    CHANGE("\x30\x05\x06\x03\x2b\x65\x70", "\x31\x05\x06\x03\x2b\x65\x70", X509_ALGORITHM),
    CHANGE("\x31\x0b\x30\x09\x06\x03\x55\x04\x06", "\x31\x0b\x30\x09\x07\x03\x55\x04\x06", X509_ISSUER),
    CHANGE("\x31\x0b\x30\x09\x06\x03\x55\x04\x06", "\x31\x0b\x30\x7f\x06\x03\x55\x04\x06", X509_ISSUER),
    CHANGE("230102030405Z", "231302030405Z", X509_DATE),
    CHANGE("20511231235959Z", "2051123123595XZ", X509_DATE),
    CHANGE("\x06\x03\x55\x04\x06\x13\x02US", "\x06\x03\x55\x04\x06\x13\x03US", X509_SUBJECT),
    CHANGE("\x30\x2a\x30\x05", "\x31\x2a\x30\x05", X509_DER),
    CHANGE("\x06\x03\x55\x1d\x13", "\x05\x03\x55\x1d\x13", X509_EXTENSIONS),
    CHANGE("\x06\x03\x55\x1d\x11", "\x06\x7f\x55\x1d\x11", X509_EXTENSIONS),
};

START_TEST(changed_certificates)
{
    const struct change *c = &changes[_i];
    uint8_t bytes[sizeof(tls_leaf)];
    struct x509 x509;

    memcpy(bytes, tls_leaf, sizeof(bytes));
    uint8_t *place = memmem(bytes, sizeof(bytes), c->find, c->length);

    ck_assert_ptr_nonnull(place);
    memcpy(place, c->put, c->length);
    ck_assert_int_eq(x509_read(bytes, sizeof(bytes), &x509), c->result);
}
END_TEST

/* --- Names ---------------------------------------------------------------------------------------- */

static const struct {
    const char *bytes;
    size_t length;
    const char *text; /* NULL: no name */
    size_t text_length;
} name_cases[] = {
#define NAME(bytes, text)                                                                                              \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, text, sizeof(text) - 1                                                               \
    }
    NAME("", ""),
    NAME("\x31\x0a\x30\x08\x06\x03\x55\x04\x03\x0c\x01"
         "a",
         "CN=a"),
    NAME("\x31\x0b\x30\x09\x06\x03\x55\x04\x03\x0c\x02"
         "a\0",
         "CN=a\0"), /* a NUL stays */
    NAME("\x31\x0a\x30\x08\x06\x03\x55\x04\x03\x04\x01"
         "\xab",
         "CN=AB"), /* not a string type: the bytes are used */
    NAME("\x31\x00", ""),
    NAME("\x31\x0a\x30\x08\x06\x03\x55\x04\x03\x0c\x01"
         "a"
         "\x31\x0a\x30\x08\x06\x03\x55\x04\x06\x13\x01"
         "b",
         "CN=a, C=b"),
    NAME("\x31\x14\x30\x08\x06\x03\x55\x04\x03\x0c\x01"
         "a"
         "\x30\x08\x06\x03\x55\x04\x06\x13\x01"
         "b",
         "CN=a + C=b"),
    NAME("\x31\x09\x30\x07\x06\x02\x2a\x03\x0c\x01"
         "x",
         "OID(1.2.3)=x"),
    NAME("\x31\x14\x30\x12\x06\x0b\x2b\x06\x01\x04\x01\x82\x37\x3c\x02\x01\x03\x13\x03"
         "DEU",
         "msJurisdictionCountry=DEU"),
    NAME("\x31\x11\x30\x0f\x06\x0a\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01\x0c\x01"
         "u",
         "uid=u"),
    { "\x30\x00", 2, NULL, 0 },
    { "\x31\x02\x30\x00", 4, NULL, 0 },
    { "\x31\x07\x30\x05\x06\x03\x55\x04\x03", 9, NULL, 0 }, /* no value */
};

START_TEST(names)
{
    char text[256];
    struct x509_text out = { .bytes = text, .capacity = sizeof(text) }, counted = { 0 };
    struct cursor name = cursor_of(name_cases[_i].bytes, name_cases[_i].length);

    ck_assert_int_eq(x509_name_text(name, &out), name_cases[_i].text != NULL);
    if (!name_cases[_i].text)
        return;
    ck_assert_uint_eq(out.length, name_cases[_i].text_length);
    ck_assert_mem_eq(text, name_cases[_i].text, out.length);
    x509_name_text(name, &counted);
    ck_assert_uint_eq(counted.length, out.length);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    const char *text;
} alternative_cases[] = {
#define ALTERNATIVE(bytes, text)                                                                                       \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, text                                                                                 \
    }
    ALTERNATIVE("\x82\x01"
                "a",
                "a"),
    ALTERNATIVE("\x82\x00", ""),
    ALTERNATIVE("\x87\x04\x01\x02\x03\xff", "1.2.3.255"),
    ALTERNATIVE("\x87\x03\x01\x02\x03", ""),
    ALTERNATIVE("\x87\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "::"),
    ALTERNATIVE("\x87\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "::1"),
    ALTERNATIVE("\x87\x10\x20\1\x0d\xb8\0\0\0\1\0\0\0\0\0\0\0\0", "2001:db8:0:1::"),
    ALTERNATIVE("\x87\x10\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\x08", "1:2:3:4:5:6:7:8"),
    ALTERNATIVE("\x87\x10\0\1\0\0\0\3\0\4\0\5\0\6\0\7\0\x08", "1:0:3:4:5:6:7:8"),
    ALTERNATIVE("\xa0\x07\x06\x03\x2a\x03\x04\x05\x00", "1.2.3.4"),
    ALTERNATIVE("\x88\x03\x2a\x03\x04", "1.2.3.4"),
    ALTERNATIVE("\xa3\x00", ""),
};

START_TEST(alternatives)
{
    char text[256];
    struct x509_text out = { .bytes = text, .capacity = sizeof(text) };
    struct cursor list = cursor_of(alternative_cases[_i].bytes, alternative_cases[_i].length);

    ck_assert(x509_alternative_text(&list, &out));
    ck_assert_uint_eq(out.length, strlen(alternative_cases[_i].text));
    ck_assert_mem_eq(text, alternative_cases[_i].text, out.length);
    ck_assert(!x509_alternative_text(&list, &out));
}
END_TEST

static Suite *x509_suite(void)
{
    Suite *suite = suite_create("app_tls_x509");
    TCase *tcase = tcase_create("x509");

    tcase_add_loop_test(tcase, values, 0, (int)COUNT(der_cases));
    tcase_add_loop_test(tcase, times, 0, (int)COUNT(time_cases));
    tcase_add_loop_test(tcase, oids, 0, (int)COUNT(oid_cases));
    tcase_add_test(tcase, good_certificates);
    tcase_add_test(tcase, outer_values);
    tcase_add_test(tcase, every_cut);
    tcase_add_loop_test(tcase, changed_certificates, 0, (int)COUNT(changes));
    tcase_add_loop_test(tcase, names, 0, (int)COUNT(name_cases));
    tcase_add_loop_test(tcase, alternatives, 0, (int)COUNT(alternative_cases));
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(x509_suite());

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
