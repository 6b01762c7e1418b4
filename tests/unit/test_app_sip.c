/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIP: first lines, headers, bodies, both transports, limits, identification, events. */
#include <check.h>

#include "../lib/app_rig.h"

#define SDP                                                                                                            \
    "v=0\r\no=- 1 2 IN IP4 192.0.2.1\r\ns=call\r\nt=0 0\r\nt=1 2\r\nr=7d 1h 0 25h\r\na=one\r\nm=audio 1 RTP/AVP "      \
    "0\r\na=two\r\n"
#define HEADERS                                                                                                        \
    "Via: SIP/2.0/UDP a\r\nvia: SIP/2.0/UDP b\r\nFrom:  \"A\"\r\n <sip:a@b>\r\nContent-Type: application/SDP;x=y\r\n"
#define INVITE "INVITE sip:b@c SIP/2.0\r\n" HEADERS "Content-Length: 103\r\n\r\n" SDP
#define RINGING "SIP/2.0 180 Ringing now\r\nContent-Length: 0\r\n\r\n"

enum { SDP_LENGTH = sizeof(SDP) - 1 };
_Static_assert(SDP_LENGTH == 103, "the length in INVITE");

static const struct {
    unsigned transport;
    int cut;
} ways[] = { { APP_UDP, 0 }, { APP_TCP, 0 }, { APP_TCP, 1 }, { APP_TCP, 7 }, { APP_TCP, -1 } };
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct app_rig *sip_rig(unsigned transport, int cut, uint16_t port)
{
    struct app_rig *rig = app_rig_new("sip", NULL);

    rig->transport = transport;
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
    struct app_rig *rig = sip_rig(ways[_i].transport, ways[_i].cut, 5060);

    app_rig_text(rig, FLOW_TO_SERVER, INVITE);
    app_rig_text(rig, FLOW_TO_SERVER, "\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, RINGING);
    app_rig_text(rig, FLOW_TO_CLIENT, "BYE sip:a SIP/2.0\r\nf: x\r\nl: 0\r\n\r\n");
    ck_assert_str_eq(app_rig_protocol(rig), "sip");
    assert_buffer(rig, 0, "sip.method", FLOW_TO_SERVER, 0, "INVITE");
    assert_buffer(rig, 0, "sip.uri", FLOW_TO_SERVER, 0, "sip:b@c");
    assert_buffer(rig, 0, "sip.via", FLOW_TO_SERVER, 1, "SIP/2.0/UDP b");
    assert_buffer(rig, 0, "sip.via", FLOW_TO_SERVER, 2, NULL);
    assert_buffer(rig, 0, "sip.from", FLOW_TO_SERVER, 0, "\"A\"\r\n <sip:a@b>");
    assert_buffer(rig, 0, "sip.stat_code", FLOW_TO_SERVER, 0, NULL);
    assert_buffer(rig, 0, "sdp.time", FLOW_TO_SERVER, 1, "1 2");
    assert_buffer(rig, 0, "sdp.attribute", FLOW_TO_SERVER, 0, "one");
    assert_buffer(rig, 0, "sdp.attribute", FLOW_TO_SERVER, 1, NULL);
    assert_buffer(rig, 1, "sip.stat_msg", FLOW_TO_CLIENT, 0, "Ringing now");
    assert_buffer(rig, 1, "sip.method", FLOW_TO_CLIENT, 0, NULL);
    assert_buffer(rig, 1, "sdp.origin", FLOW_TO_CLIENT, 0, NULL);
    assert_buffer(rig, 2, "sip.method", FLOW_TO_CLIENT, 0, "BYE");
    assert_buffer(rig, 2, "sip.from", FLOW_TO_CLIENT, 0, "x");
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"method\":\"INVITE\",\"uri\":\"sip:b@c\",\"version\":\"SIP/2.0\",\"request_line\":\"INVITE sip:b@c "
        "SIP/2.0\",\"sdp\":{\"version\":0,\"origin\":\"- 1 2 IN IP4 192.0.2.1\",\"session_name\":\"call\","
        "\"time_descriptions\":[{\"time\":\"0 0\"},{\"time\":\"1 2\",\"repeat_time\":\"7d 1h 0 25h\"}],"
        "\"attributes\":[\"one\"],\"media_descriptions\":[{\"media\":\"audio 1 RTP/AVP "
        "0\",\"attributes\":[\"two\"]}]}}");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"version\":\"SIP/2.0\",\"code\":\"180\",\"reason\":\"Ringing now\","
                                           "\"response_line\":\"SIP/2.0 180 Ringing now\"}");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Over TCP the headers are available before the body, so that a rule can drop their packet. */
START_TEST(headers_come_before_the_body)
{
    struct app_rig *rig = sip_rig(APP_TCP, 0, 5060);
    struct app_bytes bytes;

    app_rig_text(rig, FLOW_TO_SERVER, "INVITE sip:b@c SIP/2.0\r\nTo: x\r\nContent-Type: application/sdp\r\nl:7\r\n\r");
    ck_assert_ptr_null(app_rig_tx(rig, 0));
    app_rig_text(rig, FLOW_TO_SERVER, "\n");
    assert_buffer(rig, 0, "sip.to", FLOW_TO_SERVER, 0, "x");
    app_rig_text(rig, FLOW_TO_SERVER, "o=abcd");
    ck_assert(!app_rig_buffer(rig, 0, "sdp.origin", FLOW_TO_SERVER, 0, &bytes));
    app_rig_text(rig, FLOW_TO_SERVER, "e" RINGING);
    assert_buffer(rig, 0, "sdp.origin", FLOW_TO_SERVER, 0, "abcde");
    assert_buffer(rig, 1, "sip.stat_code", FLOW_TO_SERVER, 0, "180");
    app_rig_free(rig);
}
END_TEST

/* A body that is too long for SDP is skipped, and parsing continues after it. */
START_TEST(long_bodies_are_skipped)
{
    struct app_rig *rig = sip_rig(APP_TCP, _i ? -1 : 0, 5060);
    static char body[70001];

    memset(body, '\n', sizeof(body) - 1);
    app_rig_text(rig, FLOW_TO_SERVER, "MESSAGE sip:b@c SIP/2.0\r\nContent-Length: 70000\r\n\r\n");
    app_rig_send(rig, FLOW_TO_SERVER, body, 70000);
    app_rig_text(rig, FLOW_TO_SERVER, INVITE);
    ck_assert(!rig->failed);
    assert_buffer(rig, 0, "sip.method", FLOW_TO_SERVER, 0, "MESSAGE");
    assert_buffer(rig, 1, "sdp.session_name", FLOW_TO_SERVER, 0, "call");
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *message;
    bool has_start_line;
} invalid[] = {
    { "INVITE sip:b@c SIP/2.0\r\nContent-Length: 0x10\r\n\r\n", true },
    { "INVITE sip:b@c SIP/2.0\r\nContent-Length: 1\r\nl: 2\r\n\r\n", true },
    { "INVITE sip:b@c SIP/2.0\r\nContent-Length:\r\n\r\n", true },
    { "INVITE SIP/2.0\r\n\r\n", false },
    { "SIP/2.0 18 x\r\n\r\n", false },
    { "not SIP\r\n\r\n", false },
};

START_TEST(invalid_messages_are_reported)
{
    unsigned row = (unsigned)_i / 2;
    struct app_rig *rig = sip_rig(_i % 2 ? APP_TCP : APP_UDP, 0, 5060);

    app_rig_text(rig, FLOW_TO_SERVER, INVITE);
    app_rig_text(rig, FLOW_TO_SERVER, invalid[row].message);
    ck_assert(app_rig_has_event(rig, 1, "invalid_data"));
    ck_assert(!app_rig_has_event(rig, 0, "invalid_data"));
    ck_assert_int_eq(rig->failed, _i % 2);
    assert_buffer(rig, 1, "sip.method", FLOW_TO_SERVER, 0, invalid[row].has_start_line ? "INVITE" : NULL);
    app_rig_free(rig);
}
END_TEST

START_TEST(values_are_limited)
{
    enum { VALUES = 64, LINES = 256 };
    struct app_rig *rig = sip_rig(APP_UDP, 0, 5060);
    static char text[16384];

    strcpy(text, "INVITE sip:b@c SIP/2.0\r\n");
    for (unsigned i = 0; i < VALUES; i++)
        strcat(text, "Via: x\r\n");
    strcat(text, "Content-Type: application/sdp\r\n\r\n");
    for (unsigned i = 0; i < LINES; i++)
        strcat(text, "a=y\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert(!app_rig_has_event(rig, 0, "invalid_data"));
    assert_buffer(rig, 0, "sdp.attribute", FLOW_TO_SERVER, LINES - 1, "y");
    strcat(text, "a=z\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert(app_rig_has_event(rig, 1, "invalid_data"));
    memcpy(strstr(text, "Content-Type"), "v:1\r\nv:2\r\nv:", 12);
    app_rig_text(rig, FLOW_TO_SERVER, text);
    ck_assert(app_rig_has_event(rig, 2, "invalid_data"));
    assert_buffer(rig, 2, "sip.via", FLOW_TO_SERVER, VALUES, NULL);
    app_rig_free(rig);
}
END_TEST

static const struct {
    unsigned transport;
    uint16_t port;
    const char *first, *protocol;
} first_bytes[] = {
    { APP_UDP, 9999, "REGISTER sip:a SIP/2.0\r\n\r\n", "sip" },
    { APP_UDP, 9999, "MESSAGE tel:1 SIP/2.0\r\n\r\n", "sip" },
    { APP_UDP, 9999, "NOTIFY * HTTP/1.1\r\nHost: 239.255.255.250:1900\r\n\r\n", NULL },
    { APP_UDP, 5060, "\r\n\r\nOPTIONS sip:a SIP/2.0\r\n\r\n", "sip" },
    { APP_TCP, 9999, "OPTIONS sip:a SIP/2.0\r\n\r\n", "sip" },
    { APP_TCP, 80, "OPTIONS sip:a SIP/2.0\r\n\r\n", "sip" },
    { APP_TCP, 5060, "OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n", "http" },
    { APP_TCP, 5060, "SUBSCRIBE /e HTTP/1.1\r\nHost: h\r\n\r\n", "http" },
    { APP_TCP, 9999, "INVITE tel:1 SIP/2.0\r\n\r\n", "sip" },
};

START_TEST(first_bytes_identify)
{
    enum { CUTS = 2 };
    unsigned row = (unsigned)_i / CUTS;
    struct app_rig *rig = sip_rig(first_bytes[row].transport, first_bytes[row].transport == APP_TCP ? _i % CUTS : 0,
                                  first_bytes[row].port);
    const char *protocol;

    app_rig_text(rig, FLOW_TO_SERVER, first_bytes[row].first);
    protocol = app_rig_protocol(rig);
    if (first_bytes[row].protocol)
        ck_assert_str_eq(protocol, first_bytes[row].protocol);
    else
        ck_assert(!protocol || strcmp(protocol, "sip") != 0);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_sip");
    TCase *tests = tcase_create("sip");

    tcase_add_loop_test(tests, messages_are_parsed, 0, WAYS);
    tcase_add_test(tests, headers_come_before_the_body);
    tcase_add_loop_test(tests, long_bodies_are_skipped, 0, 2);
    tcase_add_loop_test(tests, invalid_messages_are_reported, 0, (int)(sizeof(invalid) / sizeof(invalid[0])) * 2);
    tcase_add_test(tests, values_are_limited);
    tcase_add_loop_test(tests, first_bytes_identify, 0, (int)(sizeof(first_bytes) / sizeof(first_bytes[0])) * 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
