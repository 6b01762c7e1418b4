/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RDP: negotiation, TLS after it, connect messages, detection. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static const char request[] =
    "\x03\x00\x00\x2c\x27\xe0\x00\x00\x00\x00\x00\x43\x6f\x6f\x6b\x69\x65\x3a\x20\x6d\x73\x74\x73\x68\x61"
    "\x73\x68\x3d\x65\x6c\x74\x6f\x6e\x73\x0d\x0a\x01\x01\x08\x00\x03\x00\x00\x00";
static const char plain_request[] =
    "\x03\x00\x00\x21\x1c\xe0\x00\x00\x00\x00\x00\x43\x6f\x6f\x6b\x69\x65\x3a\x20\x6d\x73\x74\x73\x68\x61"
    "\x73\x68\x3d\x62\x6f\x62\x0d\x0a";
static const char token_request[] =
    "\x03\x00\x00\x2f\x2a\xe0\x00\x00\x00\x00\x00\x74\x73\x76\x3a\x2f\x2f\x4d\x53\x20\x54\x65\x72\x6d\x69"
    "\x6e\x61\x6c\x20\x53\x65\x72\x76\x69\x63\x65\x73\x0d\x0a\x01\x00\x08\x00\x00\x00\x00\x00";
static const char hybrid[] = "\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x02\x0b\x08\x00\x02\x00\x00\x00";
static const char refused[] = "\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x03\x00\x08\x00\x05\x00\x00\x00";
static const char plain_confirm[] = "\x03\x00\x00\x0b\x06\xd0\x00\x00\x12\x34\x00";
static const char connect_request[] =
    "\x03\x00\x01\x31\x02\xf0\x80\x7f\x65\x82\x01\x25\x04\x01\x01\x04\x01\x01\x01\x01\xff\x30\x03\x02\x01"
    "\x01\x30\x03\x02\x01\x01\x30\x03\x02\x01\x01\x04\x82\x01\x09\x00\x05\x00\x14\x7c\x00\x01\x81\x00\x00"
    "\x08\x00\x10\x00\x01\xc0\x00\x44\x75\x63\x61\x80\xf2\x01\xc0\xd2\x00\x04\x00\x08\x00\x00\x05\xd0\x02"
    "\x01\xca\x03\xaa\x09\x04\x00\x00\xb1\x1d\x00\x00\x50\x00\x43\x00\x2d\x00\xe4\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    "\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\xca\x01\x00\x00"
    "\x00\x00\x00\x18\x00\x07\x00\x21\x00\x35\x00\x35\x00\x36\x00\x36\x00\x31\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\xc0"
    "\x20\x00\x02\x00\x00\x00\x72\x64\x70\x64\x72\x00\x00\x00\x00\x00\x00\x00\x63\x6c\x69\x70\x72\x64\x72"
    "\x00\x00\x00\x00\x00";
static const char connected[] = "\x03\x00\x00\x0d\x02\xf0\x80\x7f\x66\x03\x0a\x01\x00";

static const int cuts[] = { 0, 1, -1 };

static struct app_rig *rdp_rig(int cut)
{
    struct app_rig *rig = app_rig_new("rdp", NULL);

    app_rig_start_flow(rig);
    rig->flow.server_port = 3389;
    rig->cut = cut;
    return rig;
}

START_TEST(standard_security)
{
    struct app_rig *rig = rdp_rig(cuts[_i]);

    app_rig_send(rig, FLOW_TO_SERVER, DATA(plain_request));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(plain_confirm));
    app_rig_send(rig, FLOW_TO_SERVER, DATA(connect_request));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(connected));
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\x03\x00\x00\x08\x02\xf0\x80\x28"));
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"tx_id\":1,\"event_type\":\"initial_request\",\"cookie\":\"bob\"}");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"tx_id\":2,\"event_type\":\"initial_response\"}");
    ck_assert_str_eq(
        app_rig_json(rig, 2),
        "{\"tx_id\":3,\"event_type\":\"connect_request\",\"client\":{\"version\":\"v5\",\"desktop_width\":1280,"
        "\"desktop_height\":720,\"color_depth\":24,\"keyboard_layout\":\"en-US\",\"build\":\"Windows 7 SP1\","
        "\"client_name\":\"PC-\xc3\xa4\",\"keyboard_type\":\"enhanced\",\"function_keys\":12,\"product_id\":1,"
        "\"capabilities\":[\"support_errinfo_pdf\",\"valid_connection_type\"],\"id\":\"55661\"},\"channels\":["
        "\"rdpdr\","
        "\"cliprdr\"]}");
    ck_assert_str_eq(app_rig_json(rig, 3), "{\"tx_id\":4,\"event_type\":\"connect_response\"}");
    ck_assert_ptr_null(app_rig_tx(rig, 4));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(tls_follows_the_negotiation)
{
    static const char hello[] = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";
    struct app_rig *rig = rdp_rig(cuts[_i]);

    app_rig_send(rig, FLOW_TO_SERVER, DATA(request));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(hybrid));
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"tx_id\":1,\"event_type\":\"initial_request\",\"cookie\":\"eltons\"}");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"tx_id\":2,\"event_type\":\"initial_response\"}");
    app_rig_send(rig, FLOW_TO_SERVER, DATA(hello));
    ck_assert_str_eq(app_rig_protocol(rig), "tls");
    app_rig_free(rig);

    rig = rdp_rig(cuts[_i]);
    app_rig_send(rig, FLOW_TO_SERVER, DATA(request));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(refused));
    app_rig_send(rig, FLOW_TO_SERVER, DATA(token_request));
    ck_assert_str_eq(app_rig_protocol(rig), "rdp");
    ck_assert_str_eq(app_rig_json(rig, 2), "{\"tx_id\":3,\"event_type\":\"initial_request\"}");
    app_rig_free(rig);
}
END_TEST

/* A connect message that is cut off at any byte: the part that is there is parsed, without errors. */
START_TEST(cut_connect_messages)
{
    char bytes[sizeof(connect_request)];

    for (size_t length = 8; length < sizeof(connect_request) - 1; length++) {
        struct app_rig *rig = rdp_rig(0);

        memcpy(bytes, connect_request, length);
        bytes[2] = (char)(length >> 8);
        bytes[3] = (char)length;
        app_rig_send(rig, FLOW_TO_SERVER, bytes, length);
        ck_assert(!rig->failed);
        app_rig_free(rig);
    }
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    size_t length;
    bool found;
} finds[] = {
    { 9999, DATA(request), true },
    { 9999, DATA(plain_request), true },
    { 9999, DATA("\x03\x00\x00\x0b\x06\xe0\x00\x00\x00\x00\x00"), false },
    { 3389, DATA("\x03\x00\x00\x0b\x06\xe0\x00\x00\x00\x00\x00"), true },
    { 3389, DATA("\x02\x00\x00\x0b\x06\xe0\x00\x00\x00\x00\x00"), false },
    { 9999, DATA("\x03\x00\x00\x16\x11\xe0\x00\x00\x00\x01\x00\xc1\x02\x01\x00\xc2\x02\x01\x02\xc0\x01\x0a"), false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = rdp_rig(_i & 1);
    const char *name;

    rig->flow.server_port = finds[_i].port;
    app_rig_send(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
    name = app_rig_protocol(rig);
    ck_assert_int_eq(name && strcmp(name, "rdp") == 0, finds[_i].found);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_rdp");
    TCase *tests = tcase_create("rdp");

    tcase_add_loop_test(tests, standard_security, 0, ROWS(cuts));
    tcase_add_loop_test(tests, tls_follows_the_negotiation, 0, ROWS(cuts));
    tcase_add_test(tests, cut_connect_messages);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
