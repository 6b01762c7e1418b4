/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unusual responses: the buffers must contain the content that real clients deliver to their users. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_rig.h"

#define TEXT(text) text, sizeof(text) - 1

static const struct odd {
    const char *what;
    const char *bytes;
    size_t length;
    const char *body;
} odd[] = {
    { "Transfer-Encoding: gzip, chunked",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, "
           "chunked\r\n\r\n27\r\n\037\213\010\000\000\000\000\000\000\377+\316\317MU(I\255(Qp\r\363\364Q\310\315/"
           "J\005\000\263\334\317\274\023\000\000\000\r\n0\r\n\r\n"),
      "some text EVIL more" },
    { "x-gzip, in two lines",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: x-gzip\r\nTransfer-Encoding: "
           "chunked\r\n\r\n27\r\n\037\213\010\000\000\000\000\000\000\377+\316\317MU(I\255(Qp\r\363\364Q\310\315/"
           "J\005\000\263\334\317\274\023\000\000\000\r\n0\r\n\r\n"),
      "some text EVIL more" },
    { "deflate without chunks",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: deflate\r\n\r\n+\316\317MU(I\255(Qp\r\363\364Q\310\315/J\005\000"),
      "some text EVIL more" },
    { "identity",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked\r\n\r\n13\r\nsome text EVIL more\r\n0\r\n\r\n"),
      "some text EVIL more" },
    { "a transfer coding around a content coding",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\nContent-Encoding: "
           "deflate\r\n\r\n30\r\n\037\213\010\000\000\000\000\000\000\377\253\230\243}"
           "\356\274o\250\206\347Z\215\300\002\336\317_"
           "\002O\234\325\367bep\371\305\266\027\000m\020\003b\033\000\000\000\r\n0\r\n\r\n"),
      "some text EVIL more" },
    { "raw deflate, known before the connection ends",
      TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n+\316\317MU(I\255(Qp\r\363\364Q\310\315/J\005\000"),
      "some text EVIL more" },
    { "raw deflate with an error: the bytes decoded so far, then the body as received",
      TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\nJ\004\377EVIL"), "aJ\004\377EVIL" },
    { "text that is not encoded",
      TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n{\"a\": \"EVIL\", \"b\": 1}"),
      "{\"a\": \"EVIL\", \"b\": 1}" },
    { "zlib and its checksum",
      TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: "
           "deflate\r\n\r\nx\234+\316\317MU(I\255(Qp\r\363\364Q\310\315/J\005\000D\372\006\275"),
      "some text EVIL more" },
    { "bytes behind zlib", TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\nx\234K\004\000\000b\000bEVIL"),
      "aEVIL" },
    { "bytes behind gzip",
      TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: "
           "gzip\r\n\r\n\037\213\010\000\000\000\000\000\000\377K\004\000C\276\267\350\001\000\000\000EVIL"),
      "aEVIL" },
    { "bytes behind deflate", TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\nK\004\000EVIL"), "aEVIL" },
    { "bytes behind br", TEXT("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n\013\000\200a\003EVIL"), "aEVIL" },
    { "chunk with 0x",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x13\r\nsome text EVIL more\r\n0\r\n\r\n"),
      "some text EVIL more" },
    { "chunk with a sign",
      TEXT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+13\r\nsome text EVIL more\r\n0\r\n\r\n"),
      "some text EVIL more" },
    { "negative length", TEXT("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nsome text EVIL more"),
      "some text EVIL more" },
};

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static void request(struct app_rig *rig)
{
    app_rig_text(rig, FLOW_TO_SERVER, "GET /f HTTP/1.1\r\nHost: h\r\n\r\n");
}

/* Clients deliver received content before the connection ends, so the buffers must contain it. */
START_TEST(bodies_are_those_of_clients)
{
    const struct odd *o = &odd[_i / CUTS];
    struct app_rig *rig = app_rig_new("http", NULL);
    struct app_bytes body;

    rig->cut = cuts[_i % CUTS];
    request(rig);
    app_rig_send(rig, FLOW_TO_CLIENT, (const uint8_t *)o->bytes, o->length);
    ck_assert_msg(app_rig_buffer(rig, 0, "http.response_body", FLOW_TO_CLIENT, 0, &body), "%s: no body", o->what);
    ck_assert_msg(body.length == strlen(o->body) && memcmp(body.bytes, o->body, body.length) == 0,
                  "%s, cut %d: \"%.*s\"", o->what, rig->cut, (int)body.length, (const char *)body.bytes);
    app_rig_free(rig);
}
END_TEST

/* The file name in a gzip header may have any length. */
START_TEST(names_in_gzip_are_long)
{
    static const uint8_t before[] = { 0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0xff };
    static const uint8_t after[] = { 0, 1, 4, 0, 0xfb, 0xff, 'E', 'V', 'I', 'L' };
    static uint8_t name[70000];
    struct app_rig *rig = app_rig_new("http", NULL);
    struct app_bytes body;

    memset(name, 'n', sizeof(name));
    request(rig);
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
    app_rig_send(rig, FLOW_TO_CLIENT, before, sizeof(before));
    app_rig_send(rig, FLOW_TO_CLIENT, name, sizeof(name));
    app_rig_send(rig, FLOW_TO_CLIENT, after, sizeof(after));
    ck_assert(app_rig_buffer(rig, 0, "http.response_body", FLOW_TO_CLIENT, 0, &body));
    ck_assert(body.length == 4 && memcmp(body.bytes, "EVIL", 4) == 0);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_http_response");
    TCase *tcase = tcase_create("responses");

    tcase_add_loop_test(tcase, bodies_are_those_of_clients, 0, CUTS * (int)(sizeof(odd) / sizeof(odd[0])));
    tcase_add_test(tcase, names_in_gzip_are_long);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
