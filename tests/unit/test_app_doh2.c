/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNS over HTTP/2: messages in bodies and in paths, the change of the protocol, buffers, events, limits. */
#include <check.h>

#include "../lib/app_rig.h"
#include "../lib/http2_builder.h"

static const int cuts[] = { 0, 1, 5, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

/* www.example.org, type A: a request, and a response with one answer. */
#define QUESTION "\3www\7example\3org\0\0\1\0\1"
static const char request[] = "\0\0\1\0\0\1\0\0\0\0\0\0" QUESTION;
static const char response[] = "\0\0\x81\x80\0\1\0\1\0\0\0\0" QUESTION "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xcb\0\x71\7";
enum { REQUEST = sizeof(request) - 1, RESPONSE = sizeof(response) - 1 };
#define ENCODED "AAABAAABAAAAAAAAA3d3dwdleGFtcGxlA29yZwAAAQAB" /* the request in base64url */

static struct app_rig *rig;
static struct h2_bytes *client, *server;

static void start(const char *yaml, int cut)
{
    rig = app_rig_new("http2", yaml);
    rig->cut = cut;
    client = calloc(1, sizeof(*client));
    server = calloc(1, sizeof(*server));
    ck_assert(client && server);
    h2_add(client, h2_magic, H2_MAGIC);
}

static void stop(void)
{
    free(client);
    free(server);
    app_rig_free(rig);
}

static void send_both(void)
{
    app_rig_send(rig, FLOW_TO_SERVER, client->bytes, client->length);
    app_rig_send(rig, FLOW_TO_CLIENT, server->bytes, server->length);
    client->length = server->length = 0;
}

static void post(uint32_t stream, const char *type, const void *body, size_t length)
{
    h2_headers(client, stream, 0,
               (const char *const[]){ ":method", "POST", ":path", "/q", ":authority", "dns.example", "content-type",
                                      type, NULL });
    h2_frame(client, H2_DATA, 0, stream, body, length / 2);
    h2_frame(client, H2_DATA, H2_END_STREAM, stream, (const char *)body + length / 2, length - length / 2);
}

static void respond(uint32_t stream, const char *type, const void *body, size_t length)
{
    h2_headers(server, stream, 0, (const char *const[]){ ":status", "200", "content-type", type, NULL });
    h2_frame(server, H2_DATA, H2_END_STREAM, stream, body, length);
}

static void assert_name(uint64_t id, const char *keyword, enum flow_direction direction, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, keyword, direction, 0, &bytes);

    ck_assert_msg(there == (want != NULL), "%s", keyword);
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s: %.*s", keyword,
                      (int)bytes.length, (const char *)bytes.bytes);
}

START_TEST(bodies_are_messages)
{
    start(NULL, cuts[_i]);
    post(1, "Application/DNS-Message; v=1", request, REQUEST);
    respond(1, "application/dns-message", response, RESPONSE);
    send_both();
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "doh2");
    ck_assert_str_eq(app_name_by_id(app_original_protocol(&rig->flow)), "http2");
    assert_name(0, "dns.query", FLOW_TO_SERVER, "www.example.org");
    assert_name(0, "dns.queries.rrname", FLOW_TO_CLIENT, "www.example.org");
    assert_name(0, "dns.answers.rrname", FLOW_TO_CLIENT, "www.example.org");
    assert_name(0, "dns.answers.rrname", FLOW_TO_SERVER, NULL);
    assert_name(0, "dns.response.rrname", FLOW_TO_CLIENT, "www.example.org");
    assert_name(0, "http.uri", FLOW_TO_SERVER, "/q");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "dns.opcode:0;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "dns.opcode:1;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "dns.rcode:0;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "dns.rrtype:1;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_CLIENT, "dns.rrtype:28;"));
    const char *json = app_rig_json(rig, 0);

    ck_assert_msg(strstr(json, "{\"version\":3,\"type\":\"response\",\"tx_id\":0,") == json, "%s", json);
    ck_assert_msg(strstr(json, "\"rdata\":\"203.0.113.7\"") != NULL, "%s", json);
    ck_assert_msg(strstr(json, "\"http\":{\"version\":\"2\"") != NULL, "%s", json);
    stop();
}
END_TEST

static const struct {
    const char *method, *path;
    bool is_dns;
} paths[] = {
    { "GET", "/dns-query?dns=" ENCODED, true },
    { "GET", "/?ct&dns=" ENCODED "&x", true },
    { "HEAD", "/?dns=%41AABAAABAAAAAAAAA3d3dwdleGFtcGxlA29yZwAAAQAB", true },
    { "GET", "/?dns=AAAB&dns=" ENCODED, true },
    { "GET", "/?dns=" ENCODED "==", true },
    { "GET", "/?dns=AAABAAABAAAAAAAAA3d3dw", false },                       /* the question is incomplete */
    { "GET", "/?dns=AACBgAABAAAAAAAAA3d3dwdleGFtcGxlA29yZwAAAQAB", false }, /* a response */
    { "GET", "/?dns=", false },
    { "GET", "/?dns", false },
    { "GET", "/?xdns=" ENCODED, false },
    { "GET", "/dns=" ENCODED, false },
    { "GET", "/?", false },
};

START_TEST(paths_have_messages)
{
    const unsigned row = (unsigned)_i / CUTS;

    start(NULL, cuts[_i % CUTS]);
    h2_headers(client, 1, H2_END_STREAM,
               (const char *const[]){ ":method", paths[row].method, ":path", paths[row].path, NULL });
    send_both();
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), paths[row].is_dns ? "doh2" : "http2");
    if (paths[row].is_dns) {
        assert_name(0, "dns.query", FLOW_TO_SERVER, "www.example.org");
        app_rig_close(rig);
        ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"type\":\"request\""));
    }
    stop();
}
END_TEST

/* A server reads the path of a GET request and the body of a POST request. */
START_TEST(the_method_selects_the_message)
{
    static const char *const methods[] = { "GET", "POST" };
    static const char other[] = "\0\0\1\0\0\1\0\0\0\0\0\0\3abc\0\0\1\0\1";

    start(NULL, cuts[_i % CUTS]);
    h2_headers(client, 1, 0,
               (const char *const[]){ ":method", methods[_i / CUTS], ":path", "/?dns=" ENCODED, "content-type",
                                      "application/dns-message", NULL });
    h2_frame(client, H2_DATA, H2_END_STREAM, 1, other, sizeof(other) - 1);
    send_both();
    assert_name(0, "dns.query", FLOW_TO_SERVER, _i / CUTS == 0 ? "www.example.org" : "abc");
    stop();
}
END_TEST

/* Other streams and frames of the connection have the buffers of HTTP/2 and are logged as such. */
START_TEST(other_streams_remain_http)
{
    start(NULL, cuts[_i]);
    h2_frame(client, H2_SETTINGS, 0, 0, "\0\3\0\0\0\144", 6);
    post(1, "application/dns-message", request, REQUEST);
    post(3, "text/plain", request, REQUEST);
    send_both();
    ck_assert_str_eq(app_rig_protocol(rig), "doh2");
    assert_name(2, "dns.query", FLOW_TO_SERVER, NULL);
    assert_name(2, "http.uri", FLOW_TO_SERVER, "/q");
    ck_assert(!app_rig_matches(rig, 2, FLOW_TO_SERVER, "dns.opcode:0;"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "{\"version\":\"2\",\"http2\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "{\"version\":\"2\",\"request_headers\":"));
    stop();
}
END_TEST

START_TEST(a_response_alone_is_a_message)
{
    start(NULL, cuts[_i]);
    h2_get(client, 1, "/lookup");
    respond(1, "application/dns-message", response, RESPONSE);
    send_both();
    ck_assert_str_eq(app_rig_protocol(rig), "doh2");
    assert_name(0, "dns.query", FLOW_TO_SERVER, NULL);
    assert_name(0, "dns.answers.rrname", FLOW_TO_CLIENT, "www.example.org");
    stop();
}
END_TEST

/* Rules inspect the records before the error; the message is not logged. */
START_TEST(a_malformed_message_is_inspected)
{
    static const char broken[] = "\0\0\1\0\0\2\0\0\0\0\0\0" QUESTION "\3ww";

    start(NULL, cuts[_i]);
    post(1, "application/dns-message", broken, sizeof(broken) - 1);
    post(3, "application/dns-message", "no message", 10);
    send_both();
    ck_assert(!rig->failed);
    assert_name(0, "dns.query", FLOW_TO_SERVER, "www.example.org");
    ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "\"queries\""));
    assert_name(1, "dns.query", FLOW_TO_SERVER, NULL);
    stop();
}
END_TEST

START_TEST(long_messages_have_an_event)
{
    enum { LONG = 65536 };
    char *body = calloc(1, LONG);

    ck_assert_ptr_nonnull(body);
    memcpy(body, request, REQUEST);
    for (unsigned i = 0; i < 2; i++) { /* 65535 bytes, 65536 bytes */
        start(NULL, 1000);
        h2_headers(
            client, 1, 0,
            (const char *const[]){ ":method", "POST", ":path", "/", "content-type", "application/dns-message", NULL });
        for (unsigned part = 0; part < 4; part++)
            h2_frame(client, H2_DATA, part == 3 ? H2_END_STREAM : 0, 1, body + part * (LONG / 4),
                     LONG / 4 - (part == 3 && i == 0));
        h2_headers(server, 1, 0,
                   (const char *const[]){ ":status", "200", "content-type", "application/dns-message", NULL });
        for (unsigned part = 0; part < 4; part++)
            h2_frame(server, H2_DATA, part == 3 ? H2_END_STREAM : 0, 1, body + part * (LONG / 4),
                     LONG / 4 - (part == 3 && i == 0));
        send_both();
        ck_assert(!rig->failed);
        ck_assert(app_rig_has_event(rig, 0, "dns_request_too_long") == (i == 1));
        ck_assert(app_rig_has_event(rig, 0, "dns_response_too_long") == (i == 1));
        assert_name(0, "dns.query", FLOW_TO_SERVER, i == 0 ? "www.example.org" : NULL);
        stop();
    }
    free(body);
}
END_TEST

START_TEST(a_disabled_protocol_is_http)
{
    start("app-layer: {protocols: {doh2: {enabled: no}}}", 0);
    post(1, "application/dns-message", request, REQUEST);
    respond(1, "application/dns-message", response, RESPONSE);
    send_both();
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "http2");
    assert_name(0, "http.uri", FLOW_TO_SERVER, "/q");
    stop();
}
END_TEST

/* A reset or closed stream has no message. */
START_TEST(an_incomplete_body_is_no_message)
{
    start(NULL, cuts[_i]);
    h2_headers(
        client, 1, 0,
        (const char *const[]){ ":method", "POST", ":path", "/", "content-type", "application/dns-message", NULL });
    h2_frame(client, H2_DATA, 0, 1, request, REQUEST);
    send_both();
    app_rig_close(rig);
    ck_assert(!rig->failed);
    ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "\"queries\""));
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_doh2");
    TCase *tests = tcase_create("doh2");

    tcase_add_loop_test(tests, bodies_are_messages, 0, CUTS);
    tcase_add_loop_test(tests, paths_have_messages, 0, (int)(sizeof(paths) / sizeof(paths[0])) * CUTS);
    tcase_add_loop_test(tests, the_method_selects_the_message, 0, 2 * CUTS);
    tcase_add_loop_test(tests, other_streams_remain_http, 0, CUTS);
    tcase_add_loop_test(tests, a_response_alone_is_a_message, 0, CUTS);
    tcase_add_loop_test(tests, a_malformed_message_is_inspected, 0, CUTS);
    tcase_add_test(tests, long_messages_have_an_event);
    tcase_add_test(tests, a_disabled_protocol_is_http);
    tcase_add_loop_test(tests, an_incomplete_body_is_no_message, 0, CUTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
