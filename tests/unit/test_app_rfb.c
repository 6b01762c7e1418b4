/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RFB: handshakes of all versions, refusals, events, and messages that are cut or out of order. */
#include <check.h>

#include "../lib/app_rig.h"

#define CHALLENGE "0123456789abcdef"
#define RESPONSE "fedcba9876543210"
#define INIT "\x03\x20\x02\x58\x20\x18\x00\x01\x00\xff\x00\xff\x00\xff\x10\x08\x00\x00\x00\x00"

/* A message of a side. */
struct message {
    char side; /* 's': server; 'c': client; 0: the end */
    const char *bytes;
    size_t length;
};
#define SERVER(literal)                                                                                                \
    {                                                                                                                  \
        's', literal, sizeof(literal) - 1                                                                              \
    }
#define CLIENT(literal)                                                                                                \
    {                                                                                                                  \
        'c', literal, sizeof(literal) - 1                                                                              \
    }

static struct app_rig *play(const struct message *messages, int cut)
{
    struct app_rig *rig = app_rig_new("rfb", NULL);

    app_rig_start_flow(rig);
    rig->flow.server_port = 5900;
    rig->cut = cut;
    for (; messages->side; messages++)
        app_rig_send(rig, messages->side == 's' ? FLOW_TO_CLIENT : FLOW_TO_SERVER, messages->bytes, messages->length);
    return rig;
}

#define FRAMEBUFFER(name)                                                                                              \
    "\"framebuffer\":{\"width\":800,\"height\":600,\"name\":\"" name "\",\"pixel_format\":{\"bits_per_pixel\":32,"     \
    "\"depth\":24,\"big_endian\":false,\"true_color\":true,\"red_max\":255,\"green_max\":255,\"blue_max\":255,"        \
    "\"red_shift\":16,\"green_shift\":8,\"blue_shift\":0}}"
#define VERSIONS(minor)                                                                                                \
    "\"server_protocol_version\":{\"major\":\"003\",\"minor\":\"" minor "\"},"                                         \
    "\"client_protocol_version\":{\"major\":\"003\",\"minor\":\"" minor "\"},"
#define VNC                                                                                                            \
    "\"vnc\":{\"challenge\":\"30313233343536373839616263646566\",\"response\":\"66656463626139383736353433323130\"},"
#define EVENT(name) ",\"events\":[\"" name "\"]}"

static const struct {
    struct message messages[12];
    const char *json;
    const char *event;
} handshakes[] = {
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\x02\x01\x02"), CLIENT("\x02"), SERVER(CHALLENGE),
        CLIENT(RESPONSE), SERVER("\0\0\0\0"), CLIENT("\x01"),
        SERVER(INIT "\0\0\0\x04"
                    "desk") },
      "{" VERSIONS("008") "\"authentication\":{\"security_type\":2," VNC "\"security_result\":\"OK\"},"
                          "\"screen_shared\":true," FRAMEBUFFER("desk") "}",
      NULL },
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\x01\x01"), CLIENT("\x01"), SERVER("\0\0\0\0"),
        CLIENT("\0"), SERVER(INIT "\0\0\0\0") },
      "{" VERSIONS("008") "\"authentication\":{\"security_type\":1,\"security_result\":\"OK\"},"
                          "\"screen_shared\":false," FRAMEBUFFER("") "}",
      NULL },
    { { SERVER("RFB 003.007\n"), CLIENT("RFB 003.007\n"), SERVER("\x01\x01"), CLIENT("\x01\x01\x03\x02"),
        SERVER(INIT "\0\0\0\x01"
                    "d"),
        CLIENT("\x04\x01\0\0"), SERVER("\0\0\0\x01") },
      "{" VERSIONS("007") "\"authentication\":{\"security_type\":1},\"screen_shared\":true," FRAMEBUFFER("d") "}",
      NULL },
    { { SERVER("RFB 003.003\n"), CLIENT("RFB 003.003\n"), SERVER("\0\0\0\x02" CHALLENGE), CLIENT(RESPONSE),
        SERVER("\0\0\0\0"), CLIENT("\x01"),
        SERVER(INIT "\0\0\0\x01"
                    "d") },
      "{" VERSIONS("003") "\"authentication\":{\"security_type\":2," VNC "\"security_result\":\"OK\"},"
                          "\"screen_shared\":true," FRAMEBUFFER("d") "}",
      NULL },
    { { SERVER("RFB 003.003\n"), CLIENT("RFB 003.003\n"), SERVER("\0\0\0\x01"), CLIENT("\x01"),
        SERVER(INIT "\0\0\0\x01"
                    "d") },
      "{" VERSIONS("003") "\"authentication\":{\"security_type\":1},\"screen_shared\":true," FRAMEBUFFER("d") "}",
      NULL },
    { { SERVER("RFB 003.003\n"), CLIENT("RFB 003.003\n"),
        SERVER("\0\0\0\0\0\0\0\x03"
               "why") },
      "{" VERSIONS("003") "\"authentication\":{},\"server_security_failure_reason\":\"why\"}",
      NULL },
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\0"),
        SERVER("\0\0\0\x03"
               "why") },
      "{" VERSIONS("008") "\"authentication\":{},\"server_security_failure_reason\":\"why\"}",
      NULL },
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\x01\x02"), CLIENT("\x02"), SERVER(CHALLENGE),
        CLIENT(RESPONSE), SERVER("\0\0\0\x01\0\0\0\x02no") },
      "{" VERSIONS("008") "\"authentication\":{\"security_type\":2," VNC
                          "\"security_result\":\"FAIL\"},\"server_security_failure_reason\":\"no\"}",
      NULL },
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\x01\x02"), CLIENT("\x02"), SERVER(CHALLENGE),
        CLIENT(RESPONSE), SERVER("\0\0\0\x07") },
      "{" VERSIONS("008") "\"authentication\":{\"security_type\":2," VNC
                          "\"security_result\":\"UNKNOWN (7)\"}" EVENT("unknown_security_result"),
      "unknown_security_result" },
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\x02\x13\x02"), CLIENT("\x13"), SERVER("anything") },
      "{" VERSIONS("008") "\"authentication\":{\"security_type\":19}" EVENT("unimplemented_security_type"),
      "unimplemented_security_type" },
    /* the client's bytes come before the choice of the server, or the server's before that of the client */
    { { SERVER("RFB 003.003\n"), CLIENT("RFB 003.003\n\x01"), SERVER("\0\0\0\x01") },
      "{" VERSIONS("003") "\"authentication\":{}" EVENT("confused_state"),
      "confused_state" },
    { { SERVER("RFB 003.008\n"), CLIENT("RFB 003.008\n"), SERVER("\x01\x02" CHALLENGE) },
      "{" VERSIONS("008") "\"authentication\":{}" EVENT("confused_state"),
      "confused_state" },
};
enum { HANDSHAKES = sizeof(handshakes) / sizeof(handshakes[0]) };

START_TEST(handshakes_are_logged)
{
    static const int cuts[] = { 0, 1, 3, -1 };

    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct app_rig *rig = play(handshakes[_i].messages, cuts[i]);

        ck_assert(!rig->failed);
        ck_assert_str_eq(app_rig_protocol(rig), "rfb");
        ck_assert_str_eq(app_rig_json(rig, 0), handshakes[_i].json);
        if (handshakes[_i].event)
            ck_assert(app_rig_has_event(rig, 0, handshakes[_i].event));
        ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
        ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
        ck_assert_ptr_null(app_rig_tx(rig, 1));
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(keywords_are_available_with_their_message)
{
    struct message part[12] = { { 0, NULL, 0 } };
    struct app_bytes bytes;
    static const struct {
        size_t messages;
        bool type, result, name;
    } expected[] = { { 1, false, false, false }, { 3, false, false, false }, { 4, true, false, false },
                     { 6, true, false, false },  { 7, true, true, false },   { 9, true, true, true } };

    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        memcpy(part, handshakes[0].messages, expected[i].messages * sizeof(part[0]));
        struct app_rig *rig = play(part, 0);

        ck_assert_int_eq(app_rig_matches(rig, 0, FLOW_TO_SERVER, "rfb.sectype:2;"), expected[i].type);
        ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "rfb.sectype:!2;"));
        ck_assert_int_eq(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "rfb.secresult:ok;"), expected[i].result);
        ck_assert(!app_rig_matches(rig, 0, FLOW_TO_CLIENT, "rfb.secresult:unknown;"));
        ck_assert_int_eq(app_rig_buffer(rig, 0, "rfb.name", FLOW_TO_CLIENT, 0, &bytes), expected[i].name);
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(malformed_versions_end_the_parsing)
{
    static const struct message messages[][3] = {
        { SERVER("RFB 3.8\nxxxx") },
        { SERVER("RFB 003.008 ") },
        { SERVER("RFB 003.008\n"), CLIENT("GET / HTTP/1.0\r\n") },
    };
    struct app_rig *rig = play(messages[_i], 0);

    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 0, "malformed_message"));
    app_rig_free(rig);
}
END_TEST

START_TEST(long_names_are_cut)
{
    static const struct message start[] = { SERVER("RFB 003.003\n"), CLIENT("RFB 003.003\n"),     SERVER("\0\0\0\x01"),
                                            CLIENT("\x01"),          SERVER(INIT "\0\0\x10\x01"), { 0, NULL, 0 } };
    struct app_rig *rig = play(start, 0);
    struct app_bytes bytes;
    char name[4096];

    memset(name, 'n', sizeof(name));
    ck_assert(!app_rig_buffer(rig, 0, "rfb.name", FLOW_TO_CLIENT, 0, &bytes));
    app_rig_send(rig, FLOW_TO_CLIENT, name, sizeof(name));
    ck_assert(app_rig_buffer(rig, 0, "rfb.name", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert_uint_eq(bytes.length, sizeof(name));
    ck_assert(app_rig_has_event(rig, 0, "malformed_message"));
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rfb");
    TCase *tcase = tcase_create("rfb");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, handshakes_are_logged, 0, HANDSHAKES);
    tcase_add_test(tcase, keywords_are_available_with_their_message);
    tcase_add_loop_test(tcase, malformed_versions_end_the_parsing, 0, 3);
    tcase_add_test(tcase, long_names_are_cut);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
