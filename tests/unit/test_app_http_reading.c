/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that servers interpret differently: every reading must be inspected, however the bytes are cut. */
#include <check.h>

#include "app_rig.h"

#define POST(headers) "POST /a HTTP/1.1\r\nHost: h\r\n" headers "\r\n"
#define EVIL "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n"
#define DROP "app-layer: { protocols: { http: { ambiguous-request-policy: drop } } }"
#define PASS "app-layer: { protocols: { http: { ambiguous-request-policy: pass } } }"

#define BYTES(text) text, sizeof(text) - 1

enum { CLEAR, AMBIGUOUS };

/* Requests whose length some server interprets in this way. `bytes` must be in the buffer of some transaction. */
static const struct {
    const char *name, *client;
    size_t length;
    const char *keyword, *bytes;
    bool ambiguous;
} cases[] = {
    { "a length", BYTES(POST("Content-Length: 5\r\n") "12345" EVIL), "http.uri", "/evil", CLEAR },
    { "chunks", BYTES(POST("Transfer-Encoding: chunked\r\n") "5\r\n12345\r\n0\r\n\r\n" EVIL), "http.uri", "/evil",
      CLEAR },
    { "no body", BYTES(POST("") EVIL), "http.uri", "/evil", CLEAR },
    /* Transfer-Encoding */
    { "a word with chunked in it, and none", BYTES(POST("Transfer-Encoding: xchunked\r\n") EVIL), "http.uri", "/evil",
      AMBIGUOUS },
    { "a word with chunked in it, and chunks",
      BYTES(POST("Transfer-Encoding: xchunked\r\n") "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n"), "http.request_body", "abcd",
      AMBIGUOUS },
    { "a word with chunked in it, and a length",
      BYTES(POST("Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n") "ab\r\n" EVIL), "http.uri", "/evil",
      AMBIGUOUS },
    { "quoted", BYTES(POST("Transfer-Encoding: \"chunked\"\r\n") EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "a parameter", BYTES(POST("Transfer-Encoding: chunked;q=1\r\nContent-Length: 2\r\n") "ab" EVIL), "http.uri",
      "/evil", AMBIGUOUS },
    { "chunked is not the last", BYTES(POST("Transfer-Encoding: chunked, identity\r\nContent-Length: 2\r\n") "ab" EVIL),
      "http.uri", "/evil", AMBIGUOUS },
    { "chunked is the last", BYTES(POST("Transfer-Encoding: gzip, chunked\r\n") "2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n" EVIL),
      "http.uri", "/evil", AMBIGUOUS },
    { "two lines", BYTES(POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\nContent-Length: 2\r\n") "ab" EVIL),
      "http.uri", "/evil", AMBIGUOUS },
    { "chunks with a length: the length",
      BYTES(POST("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") "0\r\n\r\n" EVIL), "http.uri", "/evil",
      AMBIGUOUS },
    { "chunks with a length: the length hides nothing",
      BYTES(POST("Transfer-Encoding: chunked\r\nContent-Length: 60\r\n") "0\r\n\r\n" EVIL), "http.uri", "/evil",
      AMBIGUOUS },
    { "chunks with a length: chunks hide nothing",
      BYTES(POST("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") "30\r\n" EVIL
                                                                        "123456789012345678\r\n0\r\n\r\n"),
      "http.uri", "/evil", AMBIGUOUS },
    { "chunks in HTTP/1.0",
      BYTES("POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n30\r\n" EVIL
            "1234567890123456789\r\n"),
      "http.uri", "/evil", AMBIGUOUS },
    { "a blank before the colon", BYTES(POST("Transfer-Encoding : chunked\r\nContent-Length: 4\r\n") "30\r\n" EVIL),
      "http.uri", "/evil", AMBIGUOUS },
    /* Content-Length */
    { "two lengths: the first", BYTES(POST("Content-Length: 2\r\nContent-Length: 60\r\n") "ab" EVIL), "http.uri",
      "/evil", AMBIGUOUS },
    { "two lengths: the last", BYTES(POST("Content-Length: 60\r\nContent-Length: 2\r\n") "ab" EVIL), "http.uri",
      "/evil", AMBIGUOUS },
    { "two equal lengths", BYTES(POST("Content-Length: 2\r\nContent-Length: 2\r\n") "ab" EVIL), "http.uri", "/evil",
      CLEAR },
    { "a list: the last", BYTES(POST("Content-Length: 60, 2\r\n") "ab" EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "a list: the first", BYTES(POST("Content-Length: 2, 60\r\n") "ab" EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "a plus sign", BYTES(POST("Content-Length: +2\r\n") "ab" EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "a plus sign: no body", BYTES(POST("Content-Length: +60\r\n") EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "an underscore", BYTES(POST("Content-Length: 1_0\r\n") "0123456789" EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "an underscore: ten bytes", BYTES(POST("Content-Length: 1_0\r\n") "0\n23456\n89" EVIL), "http.request_body",
      "0\n23456\n89", AMBIGUOUS },
    { "hexadecimal", BYTES(POST("Content-Length: 0x20\r\n") EVIL), "http.uri", "/evil", CLEAR },
    { "a length that is none", BYTES(POST("Content-Length: 60x\r\n") EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "a blank in the length", BYTES(POST("Content-Length: 6 0\r\n") EVIL), "http.uri", "/evil", AMBIGUOUS },
    { "a length with a blank before the colon", BYTES(POST("Content-Length : 60\r\n") EVIL), "http.uri", "/evil",
      AMBIGUOUS },
    { "a folded length", BYTES(POST("Content-Length:\r\n 2\r\n") "ab" EVIL), "http.uri", "/evil", CLEAR },
    { "a tab before the length", BYTES(POST("Content-Length:\t2\r\n") "ab" EVIL), "http.uri", "/evil", CLEAR },
    /* Line ends */
    { "a length behind CR, for Python", BYTES(POST("X: a\rContent-Length: 44\r\n") "ab\n" EVIL "0123456789"),
      "http.request_body", "ab\n" EVIL "0123456789", AMBIGUOUS },
    { "a cookie behind CR", BYTES(POST("X: a\rCookie: evil\r\n")), "http.cookie", "evil", AMBIGUOUS },
    { "headers that end with CR CR LF, for PHP", BYTES("GET / HTTP/1.1\r\nX: a\rCookie: evil\r\r\n"), "http.cookie",
      "evil", AMBIGUOUS },
    { "headers that go on behind LF LF, for gunicorn", BYTES("GET / HTTP/1.1\r\nX: a\n\nb\r\nCookie: evil\r\n\r\n"),
      "http.cookie", "evil", AMBIGUOUS },
    { "lines that end with LF", BYTES("GET / HTTP/1.1\nCookie: evil\n\n"), "http.cookie", "evil", CLEAR },
    { "a byte 0 in a name", BYTES(POST("Content-Len\0gth: 60\r\n") EVIL), "http.uri", "/evil", AMBIGUOUS },
    /* Chunks */
    { "a chunk of 0x5", BYTES(POST("Transfer-Encoding: chunked\r\n") "0x5\r\nabcde\r\n0\r\n\r\n" EVIL),
      "http.request_body", "abcde", CLEAR },
    { "a chunk of +5", BYTES(POST("Transfer-Encoding: chunked\r\n") "+5\r\nabcde\r\n0\r\n\r\n" EVIL),
      "http.request_body", "abcde", CLEAR },
    { "a chunk of 1_0", BYTES(POST("Transfer-Encoding: chunked\r\n") "1_0\r\n0123456789abcdef\r\n0\r\n\r\n" EVIL),
      "http.request_body", "0123456789abcdef", CLEAR },
    { "an extension that ends with LF, for gunicorn",
      BYTES(POST("Transfer-Encoding: chunked\r\n") "5;a\n12345\r\nabcde\r\n0\r\n\r\n"), "http.request_body", "abcde",
      AMBIGUOUS },
    { "an extension that ends with LF, for others",
      BYTES(POST("Transfer-Encoding: chunked\r\n") "5;a\n12345\r\n0\r\n\r\n" EVIL), "http.request_body", "12345",
      AMBIGUOUS },
    { "a chunk that is a request of Python",
      BYTES(POST("Transfer-Encoding: chunked\r\n") "A /evil HTTP/1.1\r\n0123456789\r\n0\r\n\r\n"), "http.uri", "/evil",
      AMBIGUOUS },
    /* CONNECT */
    { "the body of CONNECT", BYTES("CONNECT h:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nab\ncdGET /evil HTTP/1.1\r\n\r\n"),
      "http.request_body", "ab\ncd", AMBIGUOUS },
    { "a request behind the body of CONNECT",
      BYTES("CONNECT h:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\nab\ncdGET /evil HTTP/1.1\r\n\r\n"), "http.uri", "/evil",
      AMBIGUOUS },
    { "chunks of CONNECT", BYTES("CONNECT h:1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\ncd\r\n0\r\n\r\n"),
      "http.request_body", "ab\ncd", AMBIGUOUS },
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };
static const int cuts[] = { 0, 1, 7, -1 };

static bool is_inspected(const struct app_rig *rig, const char *keyword, const char *wanted)
{
    for (const struct app_tx *tx = app_transactions(&rig->flow); tx; tx = tx->next) {
        struct app_bytes bytes;

        if (app_rig_buffer(rig, tx->id, keyword, FLOW_TO_SERVER, 0, &bytes) && bytes.length == strlen(wanted) &&
            memcmp(bytes.bytes, wanted, bytes.length) == 0)
            return true;
    }
    return false;
}

static bool has_event(const struct app_rig *rig, const char *name)
{
    for (const struct app_tx *tx = app_transactions(&rig->flow); tx; tx = tx->next) {
        if (app_rig_has_event(rig, tx->id, name))
            return true;
    }
    return false;
}

static unsigned count_transactions(const struct app_rig *rig, bool logged)
{
    unsigned count = 0;

    for (const struct app_tx *tx = app_transactions(&rig->flow); tx; tx = tx->next)
        count += !logged || !tx->log_never;
    return count;
}

START_TEST(all_readings_are_inspected)
{
    unsigned transactions[sizeof(cuts) / sizeof(cuts[0])];

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct app_rig *rig = app_rig_new("http", NULL);

        rig->cut = cuts[i];
        app_rig_send(rig, FLOW_TO_SERVER, cases[_i].client, cases[_i].length);
        ck_assert_msg(!rig->failed, "%s, cut %d: failed", cases[_i].name, cuts[i]);
        ck_assert_msg(is_inspected(rig, cases[_i].keyword, cases[_i].bytes), "%s, cut %d: no %s is \"%s\"",
                      cases[_i].name, cuts[i], cases[_i].keyword, cases[_i].bytes);
        ck_assert_msg(has_event(rig, "request_ambiguous") == cases[_i].ambiguous, "%s, cut %d: the event",
                      cases[_i].name, cuts[i]);
        transactions[i] = count_transactions(rig, false);
        ck_assert_msg(transactions[i] == transactions[0], "%s, cut %d: %u transactions, not %u", cases[_i].name,
                      cuts[i], transactions[i], transactions[0]);
        app_rig_close(rig);
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(the_policy_decides)
{
    struct app_rig *rig = app_rig_new("http", DROP);

    app_rig_send(rig, FLOW_TO_SERVER, cases[_i].client, cases[_i].length);
    ck_assert_msg((rig->verdict.exception == EXCEPTION_APP_AMBIGUOUS) == cases[_i].ambiguous, "%s: exception %d",
                  cases[_i].name, rig->verdict.exception);
    app_rig_text(rig, FLOW_TO_SERVER, "GET");
    ck_assert_int_ne(rig->verdict.exception, EXCEPTION_APP_AMBIGUOUS); /* reported once per flow */
    app_rig_free(rig);
    rig = app_rig_new("http", PASS);
    app_rig_send(rig, FLOW_TO_SERVER, cases[_i].client, cases[_i].length);
    ck_assert_msg(!rig->failed, "%s: failed", cases[_i].name);
    ck_assert_uint_eq(count_transactions(rig, true), count_transactions(rig, false));
    app_rig_free(rig);
}
END_TEST

/* Many ambiguous requests, each of which may begin readings. The readings converge again, and none is left. */
START_TEST(readings_are_bounded)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    size_t memory = 0;

    rig->tidy = true;
    for (unsigned i = 0; i < 3000; i++) {
        app_rig_text(rig, FLOW_TO_SERVER,
                     i % 2 ? POST("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n") "0\r\n\r\n"
                           : POST("Content-Length: 2\r\nContent-Length: 4\r\n") "ab\r\n");
        app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        if (i == 100)
            memory = app_rig_memory(rig);
    }
    ck_assert(!rig->failed);
    ck_assert_uint_le(app_rig_memory(rig), memory);
    app_rig_free(rig);
}
END_TEST

/* Incomplete bodies with headers that all dialects interpret differently: one reading for each dialect, not more. */
START_TEST(readings_do_not_multiply)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    for (unsigned i = 0; i < 40; i++)
        app_rig_text(
            rig, FLOW_TO_SERVER,
            POST("Transfer-Encoding: xchunked\r\nContent-Length: 1_0, 200\r\nContent-Length: 3\r\nX: a\rb\r\n"));
    ck_assert_uint_le(count_transactions(rig, false), 40 * 8);
    app_rig_close(rig);
    app_rig_free(rig);
}
END_TEST

/* The main reading fails at an invalid chunk; the reading that uses Content-Length continues, so the flow does not
 * fail. */
START_TEST(one_reading_is_enough)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    app_rig_text(rig, FLOW_TO_SERVER, POST("Transfer-Encoding: xchunked\r\nContent-Length: 4\r\n") "text" EVIL);
    ck_assert(!rig->failed);
    ck_assert(is_inspected(rig, "http.request_body", "text"));
    ck_assert(is_inspected(rig, "http.uri", "/evil"));
    app_rig_free(rig);
}
END_TEST

/* A line that is too long for all servers is skipped and is no parser error. */
START_TEST(long_junk_is_skipped)
{
    static char junk[40000];

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct app_rig *rig = app_rig_new("http", NULL);

        rig->cut = cuts[i];
        memset(junk, 'x', sizeof(junk));
        app_rig_text(rig, FLOW_TO_SERVER, POST("Content_Length: 40000\r\n"));
        app_rig_send(rig, FLOW_TO_SERVER, junk, sizeof(junk));
        app_rig_text(rig, FLOW_TO_SERVER, "\n" EVIL);
        ck_assert(!rig->failed);
        ck_assert(is_inspected(rig, "http.uri", "/evil"));
        app_rig_free(rig);
    }
}
END_TEST

/* Gaps: a reading continues after a gap within a body of known length, and ends at other gaps. */
START_TEST(lost_bytes)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    app_rig_text(rig, FLOW_TO_SERVER, POST("Content-Length: 20\r\nContent-Length: 100\r\n") "0123456789");
    app_rig_lose(rig, FLOW_TO_SERVER, 10);
    app_rig_text(rig, FLOW_TO_SERVER, EVIL EVIL);
    ck_assert(!rig->failed);
    ck_assert(is_inspected(rig, "http.uri", "/evil"));
    app_rig_close(rig);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_http_reading");
    TCase *tcase = tcase_create("readings");
    SRunner *runner;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, all_readings_are_inspected, 0, CASES);
    tcase_add_loop_test(tcase, the_policy_decides, 0, CASES);
    tcase_add_test(tcase, readings_are_bounded);
    tcase_add_test(tcase, readings_do_not_multiply);
    tcase_add_test(tcase, one_reading_is_enough);
    tcase_add_test(tcase, long_junk_is_skipped);
    tcase_add_test(tcase, lost_bytes);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
