/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EtherNet/IP: commands on both transports, CIP services, conditions, events, detection. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static const char register_session[] =
    "\x65\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
    "\x00\x00\x00";
static const char registered[] =
    "\x65\x00\x04\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
    "\x00\x00\x00";
static const char services_request[] =
    "\x04\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
static const char services[] =
    "\x04\x00\x1a\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
    "\x00\x00\x01\x14\x00\x01\x00\x20\x01\x43\x6f\x6d\x6d\x75\x6e\x69\x63\x61\x74\x69\x6f\x6e\x73\x00\x00";
static const char identity_request[] =
    "\x63\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
static const char identity[] =
    "\x63\x00\x2d\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
    "\x00\x0c\x00\x27\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00"
    "\x0c\x00\x3a\x00\x04\x03\x30\x00\x8e\x4d\x52\x00\x05\x31\x37\x35\x36\x2d\x03";
static const char multiple[] =
    "\x6f\x00\x32\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\xb2\x00\x22\x00\x0a\x02\x20\x02\x24\x01\x02\x00\x06\x00"
    "\x0e\x00\x0e\x03\x20\x01\x24\x01\x30\x07\x03\x03\x20\x04\x25\x00\x01\x01\x02\x00\x05\x00\x06\x00";
static const char multiple_response[] =
    "\x6f\x00\x24\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\xb2\x00\x14\x00\x8a\x00\x1e\x00\x02\x00\x06\x00\x0a\x00"
    "\x8e\x00\x00\x00\x83\x00\x08\x01\x00\x01";
static const char connected_request[] =
    "\x70\x00\x1e\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x02\x00\xa1\x00\x04\x00\x09\x00\x00\x00\xb1\x00\x0a\x00\x05\x00\x10\x03\x20\x04"
    "\x24\x01\x30\x03";
static const char unregister[] =
    "\x66\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";
static const char broken[] =
    "\x6f\x00\x13\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\xb2\x00\x03\x00\x0e\x09\x20";
static const char failed_response[] =
    "\x6f\x00\x00\x00\x07\x00\x00\x00\x64\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00";

static const struct {
    unsigned transport;
    int cut;
} ways[] = { { APP_UDP, 0 }, { APP_TCP, 0 }, { APP_TCP, 1 }, { APP_TCP, -1 } };

static struct app_rig *enip_rig(unsigned way)
{
    struct app_rig *rig = app_rig_new("enip", NULL);

    rig->transport = ways[way].transport;
    app_rig_start_flow(rig);
    rig->flow.server_port = 44818;
    rig->cut = ways[way].cut;
    return rig;
}

#define CLIENT(name) app_rig_send(rig, FLOW_TO_SERVER, DATA(name))
#define SERVER(name) app_rig_send(rig, FLOW_TO_CLIENT, DATA(name))
#define REQUEST(options) ck_assert_msg(app_rig_matches(rig, 0, FLOW_TO_SERVER, options), "%s", options)
#define RESPONSE(options) ck_assert_msg(app_rig_matches(rig, 0, FLOW_TO_CLIENT, options), "%s", options)
#define NO_REQUEST(options) ck_assert_msg(!app_rig_matches(rig, 0, FLOW_TO_SERVER, options), "%s", options)
#define NO_RESPONSE(options) ck_assert_msg(!app_rig_matches(rig, 0, FLOW_TO_CLIENT, options), "%s", options)

static void assert_buffer(const struct app_rig *rig, const char *keyword, const char *expected)
{
    struct app_bytes bytes = { 0 };

    ck_assert_int_eq(app_rig_buffer(rig, 0, keyword, FLOW_TO_CLIENT, 0, &bytes), expected != NULL);
    if (expected)
        ck_assert_int_eq(strncmp((const char *)bytes.bytes, expected, bytes.length), 0);
}

START_TEST(lists)
{
    struct app_rig *rig = enip_rig(_i);

    CLIENT(identity_request);
    SERVER(identity);
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"request\":{\"command\":\"list_identity\",\"status\":\"success\"},\"response\":{\"command\":"
                     "\"list_identity\","
                     "\"status\":\"success\",\"identity\":{\"protocol_version\":1,\"revision\":\"4.3\",\"vendor_id\":"
                     "\"Rockwell Automation/Allen-Bradley\",\"device_type\":\"Communications "
                     "Adapter\",\"product_code\":58,\"status\":48,"
                     "\"serial\":5393806,\"product_name\":\"1756-\",\"state\":3}}}");
    assert_buffer(rig, "enip.product_name", "1756-");
    assert_buffer(rig, "enip.service_name", NULL);
    RESPONSE("enip.protocol_version:1;");
    RESPONSE("enip.revision:0x403;");
    RESPONSE("enip.identity_status:0x30;");
    RESPONSE("enip.state:3;");
    RESPONSE("enip.serial:0x524d8e;");
    RESPONSE("enip.product_code:58;");
    RESPONSE("enip.device_type:12;");
    RESPONSE("enip.vendor_id:1;");
    RESPONSE("enip.command:list_identity;");
    NO_RESPONSE("enip.vendor_id:2;");
    NO_RESPONSE("enip.capabilities:<999;");
    NO_REQUEST("enip.protocol_version:<999;");
    REQUEST("enip_command:99;");
    app_rig_free(rig);

    rig = enip_rig(_i);
    CLIENT(services_request);
    SERVER(services);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"list_services\":{\"protocol_version\":1,\"capabilities\":288,"
                                                       "\"service_name\":\"Communications\"}"));
    assert_buffer(rig, "enip.service_name", "Communications");
    RESPONSE("enip.capabilities:288;");
    app_rig_free(rig);
}
END_TEST

START_TEST(services_of_cip)
{
    struct app_rig *rig = enip_rig(_i);

    CLIENT(multiple);
    SERVER(multiple_response);
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"request\":{\"command\":\"sendrr_data\",\"status\":\"success\",\"cip\":{\"service\":\"Multiple "
        "Service\",\"path\":"
        "[{\"segment_type\":\"class_8bit\",\"value\":2},{\"segment_type\":\"instance_8bit\",\"value\":1}],\"class_"
        "name\":"
        "\"Message Router\",\"multiple\":[{\"service\":\"Get Attribute "
        "Single\",\"path\":[{\"segment_type\":\"class_8bit\","
        "\"value\":1},{\"segment_type\":\"instance_8bit\",\"value\":1},{\"segment_type\":\"attribute_8bit\",\"value\":"
        "7}],"
        "\"class_name\":\"Identity\"},{\"service\":\"Get Attribute List\",\"path\":[{\"segment_type\":\"class_8bit\","
        "\"value\":4},{\"segment_type\":\"instance_16bit\",\"value\":257}],\"class_name\":\"Assembly\"}]}},"
        "\"response\":"
        "{\"command\":\"sendrr_data\",\"status\":\"success\",\"cip\":{\"service\":\"Multiple Service\",\"status\":"
        "\"Embedded service error\",\"multiple\":[{\"service\":\"Get Attribute "
        "Single\",\"status\":\"Success\"},{\"service\":"
        "\"Get Attribute List\",\"status\":\"Service not supported\",\"status_extended\":\"0001\"}]}}}");
    REQUEST("enip.cip_class:4;");
    NO_REQUEST("enip.cip_class:5;");
    REQUEST("enip.cip_instance:257;");
    REQUEST("enip.cip_attribute:7;");
    REQUEST("enip.cip_attribute:6;");
    NO_REQUEST("enip.cip_attribute:1;");
    REQUEST("cip_service:10;");
    REQUEST("cip_service:14,1,7;");
    REQUEST("cip_service:3, 4, 5;");
    REQUEST("cip_service:14,1,!9;");
    NO_REQUEST("cip_service:14,4;");
    NO_REQUEST("cip_service:14,1,6;");
    RESPONSE("cip_service:3;");
    RESPONSE("enip.cip_status:8;");
    RESPONSE("enip.cip_extendedstatus:0x100;");
    NO_RESPONSE("enip.cip_status:5;");
    NO_RESPONSE("enip.cip_extendedstatus:1;");
    app_rig_free(rig);
}
END_TEST

START_TEST(sessions_and_events)
{
    struct app_rig *rig = enip_rig(_i);

    CLIENT(register_session);
    SERVER(registered);
    REQUEST("enip.protocol_version:1;");
    RESPONSE("enip.status:success;");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"register_session\":{\"protocol_version\":1,\"options\":0}"));
    CLIENT(connected_request);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"service\":\"Set Attribute Single\""));
    CLIENT(broken);
    SERVER(failed_response);
    CLIENT(unregister);
    ck_assert(!app_rig_has_event(rig, 1, "invalid_pdu"));
    ck_assert(app_rig_has_event(rig, 2, "invalid_pdu"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"status\":\"invalid_session\""));
    ck_assert_uint_eq(app_rig_tx(rig, 3)->progress[FLOW_TO_CLIENT], 1);
    SERVER(identity); /* without a request */
    ck_assert_uint_eq(app_rig_tx(rig, 4)->directions, APP_TO_CLIENT);
    for (unsigned i = 0; i < 1024; i++)
        CLIENT(services_request);
    ck_assert(app_rig_has_event(rig, 1, "too_many_transactions"));
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    size_t length;
    bool found;
} finds[] = {
    { 44818, DATA(services_request), true },
    { 9999, DATA(services_request), false },
    { 44818, DATA("GET / HTTP/1.0\r\nHost: a.example\r\n\r\n"), false },
};

START_TEST(protocol_is_found)
{
    for (unsigned way = 0; way < ROWS(ways); way++) {
        struct app_rig *rig = enip_rig(way);
        const char *name;

        rig->flow.server_port = finds[_i].port;
        app_rig_send(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
        name = app_rig_protocol(rig);
        ck_assert_int_eq(name && strcmp(name, "enip") == 0, finds[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_enip");
    TCase *tests = tcase_create("enip");

    tcase_add_loop_test(tests, lists, 0, ROWS(ways));
    tcase_add_loop_test(tests, services_of_cip, 0, ROWS(ways));
    tcase_add_loop_test(tests, sessions_and_events, 0, ROWS(ways));
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failures ? 1 : 0;
}
