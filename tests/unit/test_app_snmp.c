/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SNMP: messages of all versions, malformed messages, events, identification, hand-over of the state. */
#include <check.h>

#include "../lib/app_rig.h"

#define BYTES(literal) literal, sizeof(literal) - 1

static struct app_rig *udp_rig(uint16_t client_port, uint16_t server_port)
{
    struct app_rig *rig = app_rig_new("snmp", NULL);

    app_rig_start_flow(rig);
    rig->flow.client_port = client_port;
    rig->flow.server_port = server_port;
    return rig;
}

/* version 2c, community "ab", get_request with the variable 1.3.6.1 */
static const char get[] = "\x30\x1f\x02\x01\x01\x04\x02"
                          "ab"
                          "\xa0\x16\x02\x01\x05\x02\x01\x00\x02\x01\x00\x30\x0b\x30\x09\x06\x03\x2b\x06\x01\x04\x02"
                          "zz";
/* version 2c, response with error-status 2 and without variables */
static const char response[] = "\x30\x14\x02\x01\x01\x04\x02"
                               "ab"
                               "\xa2\x0b\x02\x01\x05\x02\x01\x02\x02\x01\x00\x30\x00";
/* version 1, trap of 1.3.6 and agent 192.0.2.1: linkDown */
static const char trap[] = "\x30\x1e\x02\x01\x00\x04\x02"
                           "ab"
                           "\xa4\x15\x06\x02\x2b\x06\x40\x04\xc0\x00\x02\x01\x02\x01\x02\x02\x01\x00\x43\x01\x07\x30"
                           "\x00";
/* version 3, encrypted, user "me" */
static const char encrypted[] = "\x30\x32\x02\x01\x03\x30\x0d\x02\x01\x09\x02\x02\x05\xdc\x04\x01\x03\x02\x01\x03"
                                "\x04\x14\x30\x12\x04\x02"
                                "en"
                                "\x02\x01\x01\x02\x01\x02\x04\x02"
                                "me"
                                "\x04\x00\x04\x00\x04\x08"
                                "\x01\x02\x03\x04\x05\x06\x07\x08";

START_TEST(messages_are_logged)
{
    struct app_rig *rig = udp_rig(40000, 161);
    struct app_bytes bytes;

    app_rig_send(rig, FLOW_TO_SERVER, BYTES(get));
    app_rig_send(rig, FLOW_TO_CLIENT, BYTES(response));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(trap));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(encrypted));
    ck_assert_str_eq(app_rig_protocol(rig), "snmp");
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"version\":2,\"pdu_type\":\"get_request\",\"vars\":[\"1.3.6.1\"],\"community\":\"ab\"}");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"version\":2,\"pdu_type\":\"response\",\"community\":\"ab\"}");
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"version\":1,\"pdu_type\":\"trap_v1\",\"trap_type\":\"linkDown\",\"trap_oid\":\"1.3.6\","
                     "\"trap_address\":\"192.0.2.1\",\"community\":\"ab\",\"events\":[\"version_mismatch\"]}");
    ck_assert_str_eq(app_rig_json(rig, 3),
                     "{\"version\":3,\"pdu_type\":\"encrypted\",\"usm\":\"me\",\"events\":[\"version_mismatch\"]}");
    ck_assert_uint_eq(app_rig_tx(rig, 0)->directions, APP_TO_SERVER);
    ck_assert_uint_eq(app_rig_tx(rig, 1)->directions, APP_TO_CLIENT);
    ck_assert(app_rig_buffer(rig, 0, "snmp.community", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 2);
    ck_assert(!app_rig_buffer(rig, 0, "snmp.usm", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(!app_rig_buffer(rig, 0, "snmp.trap_oid", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(!app_rig_buffer(rig, 0, "snmp.trap_address", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(app_rig_buffer(rig, 2, "snmp.trap_address", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_mem_eq(bytes.bytes, "\xc0\x00\x02\x01", 4);
    ck_assert(app_rig_buffer(rig, 3, "snmp.usm", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_mem_eq(bytes.bytes, "me", 2);
    ck_assert(!app_rig_has_event(rig, 1, "version_mismatch"));
    ck_assert(app_rig_has_event(rig, 2, "version_mismatch"));
    ck_assert(app_rig_has_event(rig, 3, "version_mismatch"));
    app_rig_free(rig);
}
END_TEST

START_TEST(rules_match)
{
    struct app_rig *rig = udp_rig(40000, 161);

    app_rig_send(rig, FLOW_TO_SERVER, BYTES(get));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(trap));
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(encrypted));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "snmp.version:2;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "snmp.pdu_type:0;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "snmp.version:1;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "snmp.trap_type:!99;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_SERVER, "snmp.pdu_type:trap_v1;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_SERVER, "snmp.trap_type:LINKDOWN;"));
    ck_assert(!app_rig_matches(rig, 2, FLOW_TO_SERVER, "snmp.pdu_type:!99;"));
    app_rig_free(rig);
}
END_TEST

/* Each prefix of a message, and each message with one wrong byte in its structure, is malformed; the flow continues. */
START_TEST(malformed_messages_set_an_event)
{
    static const struct {
        const char *bytes;
        size_t length;
    } messages[] = { { BYTES(get) }, { BYTES(response) }, { BYTES(trap) }, { BYTES(encrypted) } };
    struct app_rig *rig = udp_rig(40000, 161);
    uint64_t id = 1;
    struct app_bytes bytes;

    app_rig_send(rig, FLOW_TO_SERVER, BYTES(get));
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        for (size_t length = 1; length < messages[i].length; length++, id++) {
            app_rig_send(rig, FLOW_TO_SERVER, messages[i].bytes, length);
            ck_assert(app_rig_has_event(rig, id, "malformed_data"));
            ck_assert(app_rig_tx(rig, id)->log_never);
            ck_assert(!app_rig_buffer(rig, id, "snmp.community", FLOW_TO_SERVER, 0, &bytes));
            ck_assert(!app_rig_matches(rig, id, FLOW_TO_SERVER, "snmp.version:!99;"));
        }
    }
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(get));
    ck_assert(!app_rig_has_event(rig, id, "malformed_data"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* A byte of `get` that makes the message malformed when it has another value. */
static const struct {
    size_t at;
    uint8_t value;
} wrong[] = {
    { 0, 0x31 },  /* no SEQUENCE */
    { 4, 2 },     /* an unknown version */
    { 5, 0x05 },  /* the community is no OCTET STRING */
    { 9, 0xa9 },  /* an unknown PDU */
    { 9, 0x60 },  /* a tag of another class */
    { 20, 0x31 }, /* variables that are no SEQUENCE */
    { 24, 0x05 }, /* the name of a variable is no OID */
    { 25, 0x7f }, /* an OID beyond its variable */
};

START_TEST(structure_is_checked)
{
    struct app_rig *rig = udp_rig(40000, 161);
    char message[sizeof(get)];

    memcpy(message, get, sizeof(get));
    message[wrong[_i].at] = (char)wrong[_i].value;
    app_rig_send(rig, FLOW_TO_SERVER, BYTES(get));
    app_rig_send(rig, FLOW_TO_SERVER, message, sizeof(get) - 1);
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t client_port, server_port;
    const char *protocol;
    unsigned directions;
} probes[] = {
    { 40000, 161, "snmp", APP_TO_SERVER },
    { 40000, 162, "snmp", APP_TO_SERVER },
    { 161, 162, "snmp", APP_TO_SERVER },
    { 161, 40000, "snmp", APP_TO_CLIENT },
    { 40000, 9161, NULL, 0 },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = udp_rig(probes[_i].client_port, probes[_i].server_port);

    app_rig_send(rig, FLOW_TO_SERVER, BYTES(get));
    const struct app_tx *tx = app_rig_tx(rig, 0);

    ck_assert_int_eq(tx != NULL, probes[_i].protocol != NULL);
    if (tx) {
        ck_assert_str_eq(app_rig_protocol(rig), probes[_i].protocol);
        ck_assert_uint_eq(tx->directions, probes[_i].directions);
    }
    app_rig_free(rig);
}
END_TEST

START_TEST(other_datagrams_are_no_snmp)
{
    static const char *const others[] = { "", "GET / HTTP/1.1", "\x30\x05\x02\x01\x02\x04", "\x31\x03\x02\x01\x01" };
    struct app_rig *rig = udp_rig(40000, 161);

    app_rig_text(rig, FLOW_TO_SERVER, others[_i]);
    ck_assert_ptr_null(app_rig_tx(rig, 0));
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("snmp");
    TCase *tcase = tcase_create("snmp");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tcase, messages_are_logged);
    tcase_add_test(tcase, rules_match);
    tcase_add_test(tcase, malformed_messages_set_an_event);
    tcase_add_loop_test(tcase, structure_is_checked, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_loop_test(tcase, protocol_is_found, 0, sizeof(probes) / sizeof(probes[0]));
    tcase_add_loop_test(tcase, other_datagrams_are_no_snmp, 0, 4);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
