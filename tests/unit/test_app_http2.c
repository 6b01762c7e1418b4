/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP/2: frames, streams, buffers, bodies, events, limits, the upgrade from HTTP/1. */
#include <check.h>

#include "../lib/app_rig.h"
#include "../lib/http2_builder.h"

static const int cuts[] = { 0, 1, 5, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

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

static void send_client(void)
{
    app_rig_send(rig, FLOW_TO_SERVER, client->bytes, client->length);
    client->length = 0;
}

static void send_server(void)
{
    app_rig_send(rig, FLOW_TO_CLIENT, server->bytes, server->length);
    server->length = 0;
}

static void stop(void)
{
    free(client);
    free(server);
    app_rig_free(rig);
}

static void assert_buffer(uint64_t id, const char *keyword, enum flow_direction direction, unsigned index,
                          const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, keyword, direction, index, &bytes);

    ck_assert_msg(there == (want != NULL), "%s", keyword);
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s: %.*s", keyword,
                      (int)bytes.length, (const char *)bytes.bytes);
}

static void assert_json(uint64_t id, const char *part)
{
    const char *json = app_rig_json(rig, id);

    ck_assert_ptr_nonnull(json);
    ck_assert_msg(strstr(json, part) != NULL, "%s", json);
}

static const char *const not_found[] = { ":status", "404", "server", "test/1", "content-length", "9", NULL };

static bool any_has_event(const char *name)
{
    uint64_t id = 0;

    while (app_rig_tx(rig, id) && !app_rig_has_event(rig, id, name))
        id++;
    return app_rig_tx(rig, id) != NULL;
}

START_TEST(a_request_has_the_buffers_of_http)
{
    start(NULL, cuts[_i]);
    h2_frame(client, H2_SETTINGS, 0, 0, "\0\3\0\0\0\144", 6);
    h2_headers(client, 1, H2_END_STREAM,
               (const char *const[]){ ":method", "GET", ":path", "/a/../%62?x=1", ":scheme", "http", ":authority",
                                      "WWW.Example.org:8080", "cookie", "a=1", "cookie", "b=2", "accept", "*/*",
                                      NULL });
    send_client();
    h2_headers(server, 1, 0, not_found);
    h2_frame(server, H2_DATA, H2_END_STREAM, 1, "not found", 9);
    send_server();
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "http2");
    assert_buffer(1, "http.method", FLOW_TO_SERVER, 0, "GET");
    assert_buffer(1, "http.uri", FLOW_TO_SERVER, 0, "/b?x=1");
    assert_buffer(1, "http.uri.raw", FLOW_TO_SERVER, 0, "/a/../%62?x=1");
    assert_buffer(1, "http.host", FLOW_TO_SERVER, 0, "www.example.org");
    assert_buffer(1, "http.host.raw", FLOW_TO_SERVER, 0, "WWW.Example.org:8080");
    assert_buffer(1, "http.cookie", FLOW_TO_SERVER, 0, "a=1; b=2");
    assert_buffer(1, "http.accept", FLOW_TO_SERVER, 0, "*/*");
    assert_buffer(1, "http.user_agent", FLOW_TO_SERVER, 0, NULL);
    assert_buffer(1, "http.protocol", FLOW_TO_SERVER, 0, "HTTP/2");
    assert_buffer(1, "http.request_line", FLOW_TO_SERVER, 0, "GET /a/../%62?x=1 HTTP/2\r\n");
    assert_buffer(1, "http.header", FLOW_TO_SERVER, 0,
                  ":method: GET\r\n:path: /a/../%62?x=1\r\n:scheme: http\r\n:authority: WWW.Example.org:8080\r\n"
                  "accept: */*\r\n");
    assert_buffer(1, "http.request_header", FLOW_TO_SERVER, 4, "cookie: a=1");
    assert_buffer(1, "http2.header_name", FLOW_TO_SERVER, 6, "accept");
    assert_buffer(1, "http2.header_name", FLOW_TO_SERVER, 7, NULL);
    assert_buffer(1, "http.stat_code", FLOW_TO_CLIENT, 0, "404");
    assert_buffer(1, "http.stat_msg", FLOW_TO_CLIENT, 0, "");
    assert_buffer(1, "http.response_line", FLOW_TO_CLIENT, 0, "HTTP/2 404\r\n");
    assert_buffer(1, "http.server", FLOW_TO_CLIENT, 0, "test/1");
    assert_buffer(1, "http.response_body", FLOW_TO_CLIENT, 0, "not found");
    assert_buffer(1, "file.data", FLOW_TO_CLIENT, 0, "not found");
    assert_json(0, "{\"version\":\"2\",\"http2\":{\"stream_id\":0,\"request\":{\"settings\":[{\"settings_id\":"
                   "\"SETTINGSMAXCONCURRENTSTREAMS\",\"settings_value\":100}]}}}");
    assert_json(1, "{\"version\":\"2\",\"request_headers\":[{\"name\":\":method\",\"value\":\"GET\"}");
    assert_json(1, "\"hostname\":\"www.example.org\",\"http_method\":\"GET\",\"url\":\"/a/../%62?x=1\",\"status\":404,"
                   "\"length\":9,\"http2\":{\"stream_id\":1}}");
    stop();
}
END_TEST

/* A block in padded frames with a priority, in four parts, one of which is empty. */
START_TEST(a_block_is_reassembled)
{
    struct h2_bytes *block = calloc(1, sizeof(*block)), *payload = calloc(1, sizeof(*payload));

    ck_assert(block && payload);
    start(NULL, cuts[_i]);
    h2_field(block, ":method", "POST");
    h2_field(block, ":path", "/long");
    h2_add(payload, "\3\0\0\0\0\144", 6); /* padding, dependency, weight */
    h2_add(payload, block->bytes, 4);
    h2_add(payload, "xyz", 3);
    h2_frame(client, H2_HEADERS, H2_PADDED | H2_HAS_PRIORITY, 1, payload->bytes, payload->length);
    h2_frame(client, H2_CONTINUATION, 0, 1, block->bytes + 4, 5);
    h2_frame(client, H2_CONTINUATION, 0, 1, "", 0);
    h2_frame(client, H2_CONTINUATION, H2_END_HEADERS, 1, block->bytes + 9, block->length - 9);
    h2_frame(client, H2_DATA, H2_PADDED, 1, "\5bodypadde", 10);
    h2_frame(client, H2_DATA, H2_END_STREAM, 1, "-end", 4);
    send_client();
    ck_assert(!rig->failed);
    assert_buffer(0, "http.uri", FLOW_TO_SERVER, 0, "/long");
    assert_buffer(0, "http.request_body", FLOW_TO_SERVER, 0, "body-end");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.priority:100;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.priority:99;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.frametype:CONTINUATION;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.frametype:PING;"));
    assert_json(0, "\"http2\":{\"stream_id\":1,\"request\":{\"priority\":100}}");
    free(block);
    free(payload);
    stop();
}
END_TEST

START_TEST(a_promise_is_a_request)
{
    struct h2_bytes *payload = calloc(1, sizeof(*payload));

    ck_assert_ptr_nonnull(payload);
    start(NULL, cuts[_i]);
    h2_get(client, 1, "/");
    send_client();
    h2_add(payload, "\0\0\0\2", 4);
    h2_field(payload, ":method", "GET");
    h2_field(payload, ":path", "/pushed");
    h2_frame(server, H2_PUSH, H2_END_HEADERS, 1, payload->bytes, payload->length);
    h2_headers(server, 2, 0, not_found);
    h2_frame(server, H2_DATA, H2_END_STREAM, 2, "pushed", 6);
    send_server();
    ck_assert(!rig->failed);
    assert_buffer(1, "http.uri", FLOW_TO_SERVER, 0, "/pushed");
    assert_buffer(1, "file.data", FLOW_TO_CLIENT, 0, "pushed");
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_CLIENT, "http2.frametype:PUSH_PROMISE;"));
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    free(payload);
    stop();
}
END_TEST

/* Interim responses and trailers are logged, but are not the headers of the response. */
START_TEST(other_blocks_are_not_the_headers)
{
    start(NULL, cuts[_i]);
    h2_get(client, 1, "/");
    send_client();
    h2_headers(server, 1, 0, (const char *const[]){ ":status", "103", "link", "x", NULL });
    h2_headers(server, 1, 0, not_found);
    h2_frame(server, H2_DATA, 0, 1, "body", 4);
    h2_headers(server, 1, H2_END_STREAM, (const char *const[]){ "checksum", "1", NULL });
    send_server();
    ck_assert(!rig->failed);
    assert_buffer(0, "http.stat_code", FLOW_TO_CLIENT, 0, "404");
    assert_buffer(0, "http2.header_name", FLOW_TO_CLIENT, 0, ":status");
    assert_buffer(0, "http2.header_name", FLOW_TO_CLIENT, 3, NULL);
    assert_buffer(0, "http.response_body", FLOW_TO_CLIENT, 0, "body");
    assert_json(0, "{\"name\":\":status\",\"value\":\"103\"},{\"name\":\"link\",\"value\":\"x\"},{\"name\":\":status\","
                   "\"value\":\"404\"}");
    assert_json(0, "{\"name\":\"checksum\",\"value\":\"1\"}]");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    stop();
}
END_TEST

START_TEST(a_body_is_decoded)
{
    static const uint8_t gzip[] = { 0x1f, 0x8b, 8,    0,    0,    0, 0,    0,    2,    3,    0xcb, 0x48, 0xcd, 0xc9,
                                    0xc9, 0x57, 0xc8, 0x40, 0x90, 0, 0x80, 0x88, 0xf9, 0xe5, 0x11, 0,    0,    0 };

    start(NULL, cuts[_i]);
    h2_get(client, 1, "/f");
    send_client();
    h2_headers(server, 1, 0, (const char *const[]){ ":status", "200", "content-encoding", "gzip", NULL });
    h2_frame(server, H2_DATA, 0, 1, gzip, 13);
    h2_frame(server, H2_DATA, H2_END_STREAM, 1, gzip + 13, sizeof(gzip) - 13);
    send_server();
    assert_buffer(0, "file.data", FLOW_TO_CLIENT, 0, "hello hello hello");
    stop();
}
END_TEST

START_TEST(a_reset_closes_the_stream)
{
    start(NULL, cuts[_i]);
    h2_headers(client, 1, 0, (const char *const[]){ ":method", "POST", ":path", "/p", NULL });
    h2_frame(client, H2_RST, 0, 1, "\0\0\0\10", 4);
    h2_frame(client, H2_DATA, 0, 1, "late", 4);
    h2_frame(client, H2_GOAWAY, 0, 0, "\0\0\0\0\0\0\0\13bye", 11);
    h2_frame(client, H2_WINDOW, 0, 0, "\0\0\1\0", 4);
    h2_frame(client, H2_PING, 0, 0, "12345678", 8);
    send_client();
    ck_assert(!rig->failed);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    assert_buffer(0, "http.request_body", FLOW_TO_SERVER, 0, NULL);
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.errorcode:CANCEL;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.errorcode:9;"));
    assert_json(0, "\"request\":{\"error_code\":\"CANCEL\"}");
    assert_json(1, "\"request\":{\"error_code\":\"ENHANCEYOURCALM\"}");
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "http2.window:256;"));
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_SERVER, "http2.frametype:6;"));
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 3), false));
    stop();
}
END_TEST

/* The server may have sent a response before it got RST_STREAM. */
START_TEST(responses_to_reset_streams_are_parsed)
{
    start(NULL, cuts[_i]);
    for (uint32_t i = 0; i < 9; i++) {
        h2_get(client, 2 * i + 1, "/");
        h2_frame(client, H2_RST, 0, 2 * i + 1, "\0\0\0\10", 4);
    }
    send_client();
    for (uint32_t i = 0; i < 9; i++)
        ck_assert(app_tx_is_complete(app_rig_tx(rig, i), FLOW_TO_CLIENT) == (i == 0));
    h2_headers(server, 1, H2_END_STREAM, not_found); /* the oldest of nine: closed */
    h2_headers(server, 3, 0, not_found);
    h2_frame(server, H2_DATA, H2_END_STREAM, 3, "not found", 9);
    send_server();
    h2_frame(client, H2_RST, 0, 5, "\0\0\0\10", 4);
    send_client();
    ck_assert(!rig->failed);
    assert_buffer(0, "http.stat_code", FLOW_TO_CLIENT, 0, NULL);
    assert_buffer(1, "http.response_body", FLOW_TO_CLIENT, 0, "not found");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 2), FLOW_TO_CLIENT));
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 3), FLOW_TO_CLIENT));
    stop();
}
END_TEST

START_TEST(settings_are_compared)
{
    start(NULL, 0);
    h2_frame(client, H2_SETTINGS, 0, 0, "\0\2\0\0\0\0\0\1\0\0\40\0", 12);
    h2_headers(client, 1, 0, (const char *const[]){ ":method", "GET", NULL });
    send_client();
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.settings:SETTINGS_ENABLE_PUSH=0;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.settings:SETTINGS_ENABLE_PUSH=1;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.settings:SETTINGS_HEADER_TABLE_SIZE>8000;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.settings:SETTINGSHEADERTABLESIZE;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "http2.settings:SETTINGS_MAX_FRAME_SIZE;"));
    stop();
}
END_TEST

/* Frames that receivers reject. */
static const struct {
    uint8_t type, flags;
    uint32_t stream;
    const char *payload;
    size_t length;
    const char *event;
    bool fails;
} frames[] = {
    { H2_DATA, 0, 0, "x", 1, "data_stream_zero", false },
    { H2_HEADERS, H2_END_HEADERS, 0, "\x82", 1, "invalid_frame_header", true },
    { H2_SETTINGS, 0, 1, "", 0, "invalid_frame_header", false },
    { H2_SETTINGS, 0, 0, "12345", 5, "invalid_frame_length", false },
    { H2_SETTINGS, 1, 0, "\0\2\0\0\0\0", 6, "invalid_frame_length", false },
    { H2_PING, 0, 0, "1234567", 7, "invalid_frame_length", false },
    { H2_RST, 0, 1, "123", 3, "invalid_frame_length", false },
    { H2_GOAWAY, 0, 0, "1234567", 7, "invalid_frame_length", false },
    { H2_HEADERS, H2_END_HEADERS | H2_PADDED, 1, "\5\x82", 2, "invalid_frame_data", false },
    { H2_HEADERS, H2_END_HEADERS | H2_HAS_PRIORITY, 1, "\0\0\0", 3, "invalid_frame_data", false },
    { H2_DATA, H2_PADDED, 1, "", 0, "invalid_frame_data", false },
    { H2_PUSH, H2_END_HEADERS, 1, "\0\0\0\2\x82", 5, "invalid_frame_data", true },
    { H2_CONTINUATION, H2_END_HEADERS, 1, "\x82", 1, "invalid_frame_header", true },
    { H2_HEADERS, H2_END_HEADERS, 1, "\xbe", 1, "invalid_header", false },
    { H2_HEADERS, H2_END_HEADERS, 1, "\xff\xff\xff\xff\xff\x7f", 6, "header_integer_overflow", false },
    { H2_HEADERS, H2_END_HEADERS, 1, "\x82\0", 2, "extra_header_data", false },
    { H2_HEADERS, H2_END_HEADERS, 1, "\x3f\xe2\xff\x03", 4, "invalid_header", true },
};

START_TEST(bad_frames_have_events)
{
    start(NULL, cuts[_i % CUTS]);
    h2_frame(client, frames[_i / CUTS].type, frames[_i / CUTS].flags, frames[_i / CUTS].stream,
             frames[_i / CUTS].payload, frames[_i / CUTS].length);
    send_client();
    ck_assert_int_eq(rig->failed, frames[_i / CUTS].fails);
    ck_assert_msg(any_has_event(frames[_i / CUTS].event), "%s", frames[_i / CUTS].event);
    stop();
}
END_TEST

static const struct {
    const char *const fields[8];
    const char *event;
} requests[] = {
    { { ":method", "GET", ":authority", "a.example", "host", "b.example", NULL }, "authority_host_mismatch" },
    { { ":method", "GET", ":authority", "u:p@a.example", NULL }, "userinfo_in_uri" },
};

START_TEST(odd_authorities_have_events)
{
    start(NULL, 0);
    h2_headers(client, 1, H2_END_STREAM, requests[_i].fields);
    h2_headers(client, 3, H2_END_STREAM,
               (const char *const[]){ ":method", "GET", ":authority", "A.example", "host", "a.example", NULL });
    send_client();
    ck_assert(app_rig_has_event(rig, 0, requests[_i].event));
    ck_assert(!app_rig_has_event(rig, 1, requests[_i].event));
    assert_buffer(0, "http.host", FLOW_TO_SERVER, 0, "a.example");
    stop();
}
END_TEST

START_TEST(the_preface_is_required)
{
    start(NULL, cuts[_i]);
    h2_frame(server, H2_SETTINGS, 0, 0, "\0\3\0\0\0\144", 6);
    send_server();
    ck_assert_str_eq(app_rig_protocol(rig), "http2");
    app_rig_text(rig, FLOW_TO_SERVER, "PRI * HTTP/2.0\r\n\r\nNO\r\n\r\n");
    ck_assert(rig->failed);
    ck_assert(any_has_event("invalid_client_magic"));
    stop();
}
END_TEST

START_TEST(http1_with_the_method_pri_is_http1)
{
    start(NULL, cuts[_i]);
    app_rig_text(rig, FLOW_TO_SERVER, "PRI * HTTP/2.0\r\nHost: a\r\n\r\n");
    ck_assert_str_eq(app_rig_protocol(rig), "http");
    stop();
}
END_TEST

START_TEST(a_block_without_end_is_limited)
{
    start("app-layer: {protocols: {http2: {max-reassembly-size: 8192}}}", cuts[_i]);
    h2_frame(client, H2_HEADERS, 0, 1, "\x82", 1);
    for (unsigned i = 0; i < 20; i++)
        h2_frame(client, H2_CONTINUATION, 0, 1, client->bytes, 500);
    send_client();
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 0, "reassembly_limit_reached"));
    ck_assert_uint_lt(app_rig_memory(rig), 128 << 10);
    stop();
}
END_TEST

/* An entry of 4000 bytes, to which the following block refers 200 times. */
START_TEST(a_bomb_is_defused)
{
    struct h2_bytes *block = calloc(1, sizeof(*block));
    char value[4001] = "";

    ck_assert_ptr_nonnull(block);
    start(NULL, cuts[_i]);
    memset(value, 'x', sizeof(value) - 1);
    h2_field(block, "a", value);
    block->bytes[0] = 0x40; /* added to the table */
    h2_frame(client, H2_HEADERS, H2_END_HEADERS, 1, block->bytes, block->length);
    memset(block->bytes, 0xbe, 200);
    h2_frame(client, H2_HEADERS, H2_END_HEADERS, 3, block->bytes, 200);
    send_client();
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 1, "compression_bomb"));
    ck_assert_uint_lt(app_rig_memory(rig), 192 << 10);
    free(block);
    stop();
}
END_TEST

START_TEST(open_streams_are_limited)
{
    start("app-layer: {protocols: {http2: {max-streams: 100}}}", cuts[_i]);
    for (uint32_t i = 0; i < 100; i++)
        h2_get(client, 2 * i + 1, "/");
    send_client();
    ck_assert(!rig->failed);
    h2_get(client, 201, "/one-more");
    send_client();
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 100, "too_many_streams"));
    stop();
}
END_TEST

/* Streams are found when many are open, and after others have been closed. */
START_TEST(many_streams_are_found)
{
    enum { STREAMS = 300 };

    start(NULL, 0);
    rig->tidy = false;
    for (uint32_t i = 0; i < STREAMS; i++) {
        h2_headers(client, 2 * i + 1, 0, (const char *const[]){ ":method", "POST", ":path", "/", NULL });
        if (i % 3 == 1)
            h2_frame(client, H2_RST, 0, 2 * i + 1, "\0\0\0\0", 4);
    }
    for (uint32_t i = STREAMS; i-- > 0;) {
        char body[16];

        snprintf(body, sizeof(body), "body %u", i);
        h2_frame(client, H2_DATA, H2_END_STREAM, 2 * i + 1, body, strlen(body));
        h2_headers(server, 2 * i + 1, H2_END_STREAM, not_found);
    }
    send_client();
    send_server();
    ck_assert(!rig->failed);
    for (uint32_t i = 0; i < STREAMS; i++) {
        char body[16];

        snprintf(body, sizeof(body), "body %u", i);
        assert_buffer(i, "http.request_body", FLOW_TO_SERVER, 0, i % 3 == 1 ? NULL : body);
        assert_buffer(i, "http.stat_code", FLOW_TO_CLIENT, 0, i % 3 == 1 && i < STREAMS - 24 ? NULL : "404");
    }
    stop();
}
END_TEST

START_TEST(rapid_resets_have_an_event)
{
    start(NULL, 0);
    for (uint32_t i = 0; i < 300; i++) {
        h2_get(client, 2 * i + 1, "/");
        h2_frame(client, H2_RST, 0, 2 * i + 1, "\0\0\0\10", 4);
    }
    send_client();
    ck_assert(!rig->failed);
    ck_assert(any_has_event("rapid_reset"));
    stop();
}
END_TEST

START_TEST(a_closed_stream_is_not_opened_again)
{
    start(NULL, 0);
    h2_get(client, 5, "/");
    send_client();
    h2_headers(server, 5, H2_END_STREAM, not_found);
    send_server();
    h2_get(client, 3, "/again");
    send_client();
    ck_assert(app_rig_has_event(rig, 1, "stream_id_reuse"));
    assert_buffer(1, "http.uri", FLOW_TO_SERVER, 0, "/again");
    stop();
}
END_TEST

/* At the end of the connection the open streams end, and all memory is freed with the flow. */
START_TEST(the_end_completes_streams)
{
    start(NULL, cuts[_i]);
    h2_headers(client, 1, 0, (const char *const[]){ ":method", "POST", ":path", "/p", NULL });
    h2_frame(client, H2_DATA, 0, 1, "partial", 7);
    h2_frame(client, H2_HEADERS, 0, 3, "\x82", 1); /* a block without its end */
    send_client();
    app_rig_close(rig);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    assert_buffer(0, "http.request_body", FLOW_TO_SERVER, 0, "partial");
    stop();
}
END_TEST

static const char upgrade_request[] = "GET /robots.txt HTTP/1.1\r\nHost: nghttp2.org\r\nConnection: Upgrade, "
                                      "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: %s\r\n\r\n";

static const char switching[] = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";

START_TEST(http1_is_upgraded)
{
    char request[256];

    start(NULL, cuts[_i]);
    snprintf(request, sizeof(request), upgrade_request, "AAMAAABkAARAAAAAAAIAAAAA");
    app_rig_text(rig, FLOW_TO_SERVER, request);
    h2_add(server, switching, strlen(switching));
    h2_frame(server, H2_SETTINGS, 0, 0, "\0\3\0\0\0\144", 6);
    h2_headers(server, 1, 0, not_found);
    h2_frame(server, H2_DATA, H2_END_STREAM, 1, "not found", 9);
    send_server();
    h2_get(client, 3, "/humans.txt");
    send_client();
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "http2");
    assert_json(1,
                "\"request\":{\"settings\":[{\"settings_id\":\"SETTINGSMAXCONCURRENTSTREAMS\",\"settings_value\":100},"
                "{\"settings_id\":\"SETTINGSINITIALWINDOWSIZE\",\"settings_value\":1073741824},{\"settings_id\":"
                "\"SETTINGSENABLEPUSH\",\"settings_value\":0}]");
    assert_buffer(2, "http.uri", FLOW_TO_SERVER, 0, "/robots.txt");
    assert_buffer(2, "http.host", FLOW_TO_SERVER, 0, "nghttp2.org");
    assert_buffer(2, "http.stat_code", FLOW_TO_CLIENT, 0, "404");
    assert_buffer(2, "file.data", FLOW_TO_CLIENT, 0, "not found");
    assert_json(2, "\"http2\":{\"stream_id\":1}");
    assert_buffer(4, "http.uri", FLOW_TO_SERVER, 0, "/humans.txt");
    stop();
}
END_TEST

START_TEST(settings_of_an_upgrade_are_checked)
{
    char request[256];

    start(NULL, 0);
    snprintf(request, sizeof(request), upgrade_request, "AAMA!");
    app_rig_text(rig, FLOW_TO_SERVER, request);
    h2_add(server, switching, strlen(switching));
    h2_frame(server, H2_SETTINGS, 0, 0, "\0\3\0\0\0\144", 6);
    send_server();
    ck_assert(app_rig_has_event(rig, 1, "invalid_http1_settings"));
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_http2");
    TCase *tests = tcase_create("http2");

    tcase_add_loop_test(tests, a_request_has_the_buffers_of_http, 0, CUTS);
    tcase_add_loop_test(tests, a_block_is_reassembled, 0, CUTS);
    tcase_add_loop_test(tests, a_promise_is_a_request, 0, CUTS);
    tcase_add_loop_test(tests, other_blocks_are_not_the_headers, 0, CUTS);
    tcase_add_loop_test(tests, a_body_is_decoded, 0, CUTS);
    tcase_add_loop_test(tests, a_reset_closes_the_stream, 0, CUTS);
    tcase_add_loop_test(tests, responses_to_reset_streams_are_parsed, 0, CUTS);
    tcase_add_test(tests, settings_are_compared);
    tcase_add_loop_test(tests, bad_frames_have_events, 0, (int)(sizeof(frames) / sizeof(frames[0])) * CUTS);
    tcase_add_loop_test(tests, odd_authorities_have_events, 0, 2);
    tcase_add_loop_test(tests, the_preface_is_required, 0, CUTS);
    tcase_add_loop_test(tests, http1_with_the_method_pri_is_http1, 0, CUTS);
    tcase_add_loop_test(tests, a_block_without_end_is_limited, 0, CUTS);
    tcase_add_loop_test(tests, a_bomb_is_defused, 0, CUTS);
    tcase_add_loop_test(tests, open_streams_are_limited, 0, CUTS);
    tcase_add_test(tests, many_streams_are_found);
    tcase_add_test(tests, rapid_resets_have_an_event);
    tcase_add_test(tests, a_closed_stream_is_not_opened_again);
    tcase_add_loop_test(tests, the_end_completes_streams, 0, CUTS);
    tcase_add_loop_test(tests, http1_is_upgraded, 0, CUTS);
    tcase_add_test(tests, settings_of_an_upgrade_are_checked);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
