/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RTSP: messages, bodies, frames, limits, identification, events. */
#include <check.h>

#include "../lib/app_rig.h"

#define SETUP "SETUP rtsp://a/b RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP\r\n\r\n"

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]), HEAD_MAX = 16 << 10, HEADERS_MAX = 128 };

static struct app_rig *rtsp_rig(int cut, uint16_t port)
{
    struct app_rig *rig = app_rig_new("rtsp", NULL);

    rig->transport = APP_TCP;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    rig->cut = cut;
    return rig;
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                          unsigned index, const char *wanted)
{
    struct app_bytes bytes = { 0 };
    bool exists = app_rig_buffer(rig, id, keyword, direction, index, &bytes);

    ck_assert_msg(exists == (wanted != NULL), "%s", keyword);
    if (wanted)
        ck_assert_msg(bytes.length == strlen(wanted) && memcmp(bytes.bytes, wanted, bytes.length) == 0, "%s: %.*s",
                      keyword, (int)bytes.length, (const char *)bytes.bytes);
}

START_TEST(messages_are_parsed)
{
    struct app_rig *rig = rtsp_rig(cuts[_i], 554);

    app_rig_text(rig, FLOW_TO_SERVER, SETUP "PLAY rtsp://a/b RTSP/2.0\ncontent-length : 9\n\nSETUP\r\n\r\n");
    app_rig_send(rig, FLOW_TO_SERVER, "$\1\0\5\r\n\r\nx", 9);
    app_rig_text(rig, FLOW_TO_SERVER, "\r\nTEARDOWN rtsp://a/b RTSP/1.0\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "RTSP/1.0 454 Session Not Found\r\nCSeq: 1\r\n\r\n");
    ck_assert_str_eq(app_rig_protocol(rig), "rtsp");
    assert_buffer(rig, 0, "rtsp.method", FLOW_TO_SERVER, 0, "SETUP");
    assert_buffer(rig, 0, "rtsp.uri", FLOW_TO_SERVER, 0, "rtsp://a/b");
    assert_buffer(rig, 0, "rtsp.header", FLOW_TO_SERVER, 1, "Transport: RTP/AVP");
    assert_buffer(rig, 0, "rtsp.header", FLOW_TO_SERVER, 2, NULL);
    assert_buffer(rig, 0, "rtsp.stat_code", FLOW_TO_SERVER, 0, NULL);
    assert_buffer(rig, 1, "rtsp.method", FLOW_TO_SERVER, 0, "PLAY");
    assert_buffer(rig, 2, "rtsp.method", FLOW_TO_SERVER, 0, "TEARDOWN");
    assert_buffer(rig, 3, "rtsp.stat_code", FLOW_TO_CLIENT, 0, "454");
    assert_buffer(rig, 3, "rtsp.method", FLOW_TO_CLIENT, 0, NULL);
    ck_assert_ptr_null(app_rig_tx(rig, 4));
    for (uint64_t id = 0; id < 4; id++)
        ck_assert(!app_rig_has_event(rig, id, "invalid_data"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes, *protocol;
} starts[] = {
    { "OPTIONS rtsp://a RTSP/1.0\r\n\r\n", "rtsp" },
    { "options RTSP://a RTSP/1.0\r\n\r\n", "rtsp" },
    { "OPTIONS * RTSP/1.0\r\n\r\n", "rtsp" },
    { "GET_PARAMETER rtsps://a RTSP/2.0\r\n\r\n", "rtsp" },
    { "OPTIONS * HTTP/1.1\r\n\r\n", "http" },
    { "OPTIONS /rtsp HTTP/1.1\r\n\r\n", "http" },
    { "RECORD 1 2\r\n\r\n", NULL },
};

START_TEST(protocol_is_identified)
{
    for (unsigned i = 0; i < CUTS; i++) {
        struct app_rig *rig = rtsp_rig(cuts[i], 9999);
        const char *protocol;

        app_rig_text(rig, FLOW_TO_SERVER, starts[_i].bytes);
        protocol = app_rig_protocol(rig);
        if (starts[_i].protocol)
            ck_assert_str_eq(protocol, starts[_i].protocol);
        else
            ck_assert(!protocol || strcmp(protocol, "rtsp") != 0);
        app_rig_free(rig);
    }
}
END_TEST

static const char *const faults[] = {
    "PLAY rtsp://a HTTP/1.0\r\n\r\n",
    "RTSP/1.0 20 OK\r\n\r\n",
    "PLAY rtsp://a RTSP/1.0\r\nContent-Length: 0x1\r\n\r\n",
    "PLAY rtsp://a RTSP/1.0\r\nContent-Length:\r\n\r\n",
    "PLAY rtsp://a RTSP/1.0\r\nContent-Length: 1\r\nCONTENT-LENGTH: 2\r\n\r\n",
};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

START_TEST(faults_end_parsing)
{
    struct app_rig *rig = rtsp_rig(_i % 2, 554);

    app_rig_text(rig, FLOW_TO_SERVER, SETUP);
    app_rig_text(rig, FLOW_TO_SERVER, faults[_i]);
    ck_assert(!app_rig_has_event(rig, 0, "invalid_data"));
    ck_assert(app_rig_has_event(rig, 1, "invalid_data"));
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

/* A head has at most HEADERS_MAX headers and HEAD_MAX bytes. */
START_TEST(heads_are_limited)
{
    static char text[2 * HEAD_MAX];
    struct app_rig *rig = rtsp_rig(0, 554);

    app_rig_text(rig, FLOW_TO_SERVER, SETUP "PLAY rtsp://a RTSP/1.0\r\n");
    for (unsigned i = 0; i < HEADERS_MAX; i++)
        app_rig_text(rig, FLOW_TO_SERVER, "a: b\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, "\r\n");
    ck_assert(!app_rig_has_event(rig, 1, "invalid_data"));
    app_rig_text(rig, FLOW_TO_SERVER, "PLAY rtsp://a RTSP/1.0\r\n");
    memset(text, 'x', HEAD_MAX);
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert(app_rig_has_event(rig, 2, "invalid_data"));
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_rtsp");
    TCase *tests = tcase_create("rtsp");

    tcase_add_loop_test(tests, messages_are_parsed, 0, CUTS);
    tcase_add_loop_test(tests, protocol_is_identified, 0, sizeof(starts) / sizeof(starts[0]));
    tcase_add_loop_test(tests, faults_end_parsing, 0, FAULTS);
    tcase_add_test(tests, heads_are_limited);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
