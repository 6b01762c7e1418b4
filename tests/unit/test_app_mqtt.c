/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MQTT: messages of the versions, pairs of messages, events, limits, detection, EVE. */
#include <check.h>

#include "app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define BYTES(text) text, sizeof(text) - 1
#define CONNECT "\x10\x10\0\4MQTT\4\2\0\x3c\0\4unit"
#define CONNACK "\x20\2\0\0"
#define CONNECT_5 "\x10\x11\0\4MQTT\5\2\0\x3c\0\0\4unit"
#define CONNACK_5 "\x20\3\0\0\0"

static const int cuts[] = { 0, 1, 3, -1 };

static struct app_rig *rig_new(const char *yaml)
{
    struct app_rig *rig = app_rig_new("mqtt", yaml);

    rig->flow.server_port = 1883;
    return rig;
}

START_TEST(messages_are_paired)
{
    struct app_rig *rig = rig_new(NULL);
    struct app_bytes bytes;

    rig->cut = cuts[_i];
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(CONNECT));
    ck_assert(app_rig_buffer(rig, 0, "mqtt.connect.clientid", FLOW_TO_SERVER, 0, &bytes));
    app_rig_send(rig, FLOW_TO_CLIENT, BYTES(CONNACK));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES("\x34\x08\0\1t\0\7one\x32\x08\0\1t\0\x08two"));
    app_rig_send(rig, FLOW_TO_CLIENT, BYTES("\x40\2\0\x08\x50\2\0\7"));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES("\x62\2\0\7\x82\7\0\1\0\2ab\1"));
    app_rig_send(rig, FLOW_TO_CLIENT, BYTES("\x70\2\0\7\x90\3\0\1\1\x32\x08\0\1t\0\7abc"));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES("\x40\2\0\7\xe0\0"));
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"connect\":{\"qos\":0,\"retain\":false,\"dup\":false,\"protocol_string\":\"MQTT\","
                     "\"protocol_version\":4,\"client_id\":\"unit\",\"flags\":{\"username\":false,\"password\":false,"
                     "\"will_retain\":false,\"will\":false,\"clean_session\":true}},\"connack\":{\"qos\":0,"
                     "\"retain\":false,\"dup\":false,\"session_present\":false,\"return_code\":0}}");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"message\":\"one\"},\"pubrec\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"pubrel\":{\"qos\":1"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"pubcomp\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"message\":\"two\"},\"puback\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"topics\":[{\"topic\":\"ab\",\"qos\":1}]},\"suback\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 4), "\"message\":\"abc\"},\"puback\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 5), "\"disconnect\":"));
    ck_assert_ptr_null(app_rig_tx(rig, 6));
    for (uint64_t id = 0; id < 6; id++) {
        ck_assert(app_tx_is_complete(app_rig_tx(rig, id), FLOW_TO_SERVER));
        ck_assert(app_tx_is_complete(app_rig_tx(rig, id), FLOW_TO_CLIENT));
    }
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    const char *event; /* NULL: none */
    bool fails;
} messages[] = {
    { BYTES("\x30\7\0\1t\0abc"), NULL, false },
    { BYTES("\x30\2\0\5"), "malformed_traffic", true },             /* truncated topic */
    { BYTES("\x32\3\0\1t"), "malformed_traffic", true },            /* no packet identifier */
    { BYTES("\x30\4\0\1t\1"), "malformed_traffic", true },          /* truncated properties */
    { BYTES("\x30\5\0\1t\1\x7f"), "malformed_traffic", true },      /* unknown property */
    { BYTES("\x30\x0d\0\1t\x09\x26\0\1k\0\1v\1\1"), NULL, false },  /* user property */
    { BYTES("\x30\x80\x80\x80\x80\1"), "malformed_traffic", true }, /* length of 5 bytes */
    { BYTES("\x82\6\0\1\0\0\5x"), "malformed_traffic", true },      /* truncated topic of SUBSCRIBE */
    { BYTES("\x36\6\0\1t\0\1\0"), "invalid_qos_level", false },
    { BYTES("\0\0"), "unassigned_msg_type", false },
    { BYTES("\x40\2\0\1"), "missing_publish", false },
    { BYTES("\x62\2\0\1"), "missing_publish", false },
    { BYTES("\x90\4\0\1\0\0"), "missing_subscribe", false },
    { BYTES("\xb0\4\0\1\0\0"), "missing_unsubscribe", false },
    { BYTES(CONNECT_5), "double_connect", false },
    { BYTES("\xf0\2\x18\0"), NULL, false },
};

START_TEST(messages_have_events)
{
    struct app_rig *rig = rig_new(NULL);
    const char *json;

    app_rig_send(rig, FLOW_TO_SERVER, BYTES(CONNECT_5));
    app_rig_send(rig, FLOW_TO_CLIENT, BYTES(CONNACK_5));
    app_rig_send(rig, FLOW_TO_SERVER, messages[_i].bytes, messages[_i].length);
    json = app_rig_json(rig, 1);
    ck_assert_ptr_nonnull(json);
    if (messages[_i].event)
        ck_assert_msg(app_rig_has_event(rig, 1, messages[_i].event), "row %d: %s", _i, json);
    else
        ck_assert_msg(!strstr(json, "events"), "row %d: %s", _i, json);
    ck_assert_msg(rig->failed == messages[_i].fails, "row %d", _i);
    app_rig_free(rig);
}
END_TEST

START_TEST(long_messages_are_skipped)
{
    struct app_rig *rig = rig_new("app-layer.protocols.mqtt.max-msg-length: 20\n");

    rig->cut = cuts[_i];
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(CONNECT));
    app_rig_send(rig, FLOW_TO_CLIENT, BYTES(CONNACK));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES("\x30\x15\0\1t0123456789012345670\x05\0\1tab"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"truncated\":true,\"skipped_length\":23"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"message\":\"ab\""));
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    uint16_t port;
    bool is_mqtt;
} probed[] = {
    { BYTES(CONNECT), 1883, true },
    { BYTES(CONNECT), 9999, true },
    { BYTES("\x10\x12\0\6MQIsdp\3\2\0\x3c\0\4unit"), 9999, true },
    { BYTES("\x10\x10\0\4QTTM\4\2\0\x3c\0\4unit"), 9999, false },
    { BYTES("\xc0\0"), 1883, true },
    { BYTES("\xc0\0"), 9999, false },
    { BYTES("\x06\0"), 1883, false },
};

START_TEST(protocol_is_detected)
{
    struct app_rig *rig = rig_new(NULL);

    rig->flow.server_port = probed[_i].port;
    app_rig_send(rig, FLOW_TO_SERVER, probed[_i].bytes, probed[_i].length);
    app_rig_close(rig);
    ck_assert_msg((app_rig_protocol(rig) && strcmp(app_rig_protocol(rig), "mqtt") == 0) == probed[_i].is_mqtt, "row %d",
                  _i);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_mqtt");
    TCase *tests = tcase_create("mqtt");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tests, messages_are_paired, 0, ROWS(cuts));
    tcase_add_loop_test(tests, messages_have_events, 0, ROWS(messages));
    tcase_add_loop_test(tests, long_messages_are_skipped, 0, ROWS(cuts));
    tcase_add_loop_test(tests, protocol_is_detected, 0, ROWS(probed));
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
