/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LDAP: operations on both transports, buffers and conditions on lists, StartTLS, SASL, events, detection. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

/* The messages, in BER; the number after each name is its message id. */
static const char search_message[] =
    "\x30\x31\x02\x01\x02\x63\x2c\x04\x04\x64\x63\x3d\x61\x0a\x01\x02\x0a\x01\x00\x02\x01\x09\x02\x01\x08"
    "\x01\x01\xff\x87\x0b\x6f\x62\x6a\x65\x63\x74\x43\x6c\x61\x73\x73\x30\x08\x04\x02\x63\x6e\x04\x02\x73"
    "\x6e";
static const char entry_message[] =
    "\x30\x29\x02\x01\x02\x64\x24\x04\x09\x63\x6e\x3d\x78\x2c\x64\x63\x3d\x61\x30\x17\x30\x0c\x04\x02\x63"
    "\x6e\x31\x06\x04\x01\x78\x04\x01\x79\x30\x07\x04\x03\x75\x69\x64\x31\x00";
static const char reference_message[] = "\x30\x10\x02\x01\x02\x73\x0b\x04\x09\x6c\x64\x61\x70\x3a\x2f\x2f\x62\x2f";
static const char done_message[] =
    "\x30\x14\x02\x01\x02\x65\x0f\x0a\x01\x00\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65";
static const char bind_message[] =
    "\x30\x1a\x02\x01\x01\x60\x15\x02\x01\x03\x04\x08\x63\x6e\x3d\x61\x64\x6d\x69\x6e\x80\x06\x73\x65\x63"
    "\x72\x65\x74";
static const char bound_message[] =
    "\x30\x14\x02\x01\x01\x61\x0f\x0a\x01\x31\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65";
static const char sasl_message[] =
    "\x30\x1c\x02\x01\x03\x60\x17\x02\x01\x03\x04\x00\xa3\x10\x04\x0a\x47\x53\x53\x2d\x53\x50\x4e\x45\x47"
    "\x4f\x04\x02\x01\x02";
static const char sasl_bound_message[] =
    "\x30\x17\x02\x01\x03\x61\x12\x0a\x01\x00\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65\x87\x01\x03";
static const char modify_message[] =
    "\x30\x2d\x02\x01\x04\x66\x28\x04\x04\x63\x6e\x3d\x78\x30\x20\x30\x12\x0a\x01\x00\x30\x0d\x04\x04\x6d"
    "\x61\x69\x6c\x31\x05\x04\x03\x61\x40\x62\x30\x0a\x0a\x01\x03\x30\x05\x04\x01\x6e\x31\x00";
static const char add_message[] =
    "\x30\x18\x02\x01\x05\x68\x13\x04\x04\x63\x6e\x3d\x79\x30\x0b\x30\x09\x04\x02\x73\x6e\x31\x03\x04\x01"
    "\x7a";
static const char del_message[] = "\x30\x09\x02\x01\x06\x4a\x04\x63\x6e\x3d\x7a";
static const char mod_dn_message[] =
    "\x30\x1a\x02\x01\x07\x6c\x15\x04\x04\x63\x6e\x3d\x78\x04\x04\x63\x6e\x3d\x77\x01\x01\xff\x80\x04\x64"
    "\x63\x3d\x62";
static const char compare_message[] =
    "\x30\x14\x02\x01\x08\x6e\x0f\x04\x04\x63\x6e\x3d\x78\x30\x07\x04\x02\x73\x6e\x04\x01\x76";
static const char compared_message[] =
    "\x30\x14\x02\x01\x08\x6f\x0f\x0a\x01\x06\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65";
static const char start_tls_message[] =
    "\x30\x1d\x02\x01\x09\x77\x18\x80\x16\x31\x2e\x33\x2e\x36\x2e\x31\x2e\x34\x2e\x31\x2e\x31\x34\x36\x36"
    "\x2e\x32\x30\x30\x33\x37";
static const char tls_ok_message[] =
    "\x30\x14\x02\x01\x09\x78\x0f\x0a\x01\x00\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65";
static const char tls_refused_message[] =
    "\x30\x14\x02\x01\x09\x78\x0f\x0a\x01\x02\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65";
static const char abandon_message[] = "\x30\x06\x02\x01\x0a\x50\x01\x02";
static const char unbind_message[] = "\x30\x05\x02\x01\x0b\x42\x00";
static const char notice_message[] =
    "\x30\x27\x02\x01\x00\x78\x22\x0a\x01\x34\x04\x00\x04\x03\x62\x79\x65\x8a\x16\x31\x2e\x33\x2e\x36\x2e"
    "\x31\x2e\x34\x2e\x31\x2e\x31\x34\x36\x36\x2e\x32\x30\x30\x33\x36";
static const char orphan_message[] =
    "\x30\x14\x02\x01\x63\x65\x0f\x0a\x01\x50\x04\x04\x64\x63\x3d\x61\x04\x04\x6e\x6f\x74\x65";
static const char cut_message[] = "\x30\x0e\x02\x01\x0c\x63\x09\x04\x04\x64\x63\x3d\x61\x0a\x01\x02";
static const char no_message_message[] = "\x30\x05\x02\x01\x01\x7f\x00";

static const struct {
    unsigned transport;
    int cut;
} ways[] = { { APP_UDP, 0 }, { APP_TCP, 0 }, { APP_TCP, 1 }, { APP_TCP, -1 } };

static struct app_rig *ldap_rig(unsigned way)
{
    struct app_rig *rig = app_rig_new("ldap", NULL);

    rig->transport = ways[way].transport;
    app_rig_start_flow(rig);
    rig->flow.server_port = 389;
    rig->cut = ways[way].cut;
    return rig;
}

#define CLIENT(name) app_rig_send(rig, FLOW_TO_SERVER, name##_message, sizeof(name##_message) - 1)
#define SERVER(name) app_rig_send(rig, FLOW_TO_CLIENT, name##_message, sizeof(name##_message) - 1)

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, unsigned index,
                          const char *expected)
{
    enum flow_direction direction = strstr(keyword, "request") ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    struct app_bytes bytes = { 0 };

    ck_assert_int_eq(app_rig_buffer(rig, id, keyword, direction, index, &bytes), expected != NULL);
    if (!expected)
        return;
    ck_assert_uint_eq(bytes.length, strlen(expected));
    ck_assert_mem_eq(bytes.bytes, expected, bytes.length);
}

START_TEST(search)
{
    struct app_rig *rig = ldap_rig(_i);

    CLIENT(search);
    assert_buffer(rig, 0, "ldap.request.dn", 0, "dc=a");
    assert_buffer(rig, 0, "ldap.request.attribute_type", 0, "cn");
    assert_buffer(rig, 0, "ldap.request.attribute_type", 1, "sn");
    assert_buffer(rig, 0, "ldap.request.attribute_type", 2, NULL);
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "ldap.request.operation:search_request;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "ldap.request.operation:bind_request;"));
    SERVER(entry);
    SERVER(reference);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "response_in_progress");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.count:2;"));
    SERVER(done);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "response_complete");
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"request\":{\"message_id\":2,\"operation\":\"search_request\",\"search_request\":{\"base_object\":\"dc=a\","
        "\"scope\":2,\"deref_alias\":0,\"size_limit\":9,\"time_limit\":8,\"types_only\":true,\"attributes\":[\"cn\","
        "\"sn\"]}},\"responses\":[{\"operation\":\"search_result_entry\",\"search_result_entry\":{\"base_object\":"
        "\"cn=x,dc=a\",\"attributes\":[{\"type\":\"cn\",\"values\":[\"x\",\"y\"]},{\"type\":\"uid\"}]}},"
        "{\"operation\":\"search_result_reference\"},{\"operation\":\"search_result_done\",\"search_result_done\":"
        "{\"result_code\":\"success\",\"matched_dn\":\"dc=a\",\"message\":\"note\"}}]}");
    assert_buffer(rig, 0, "ldap.responses.dn", 0, "cn=x,dc=a");
    assert_buffer(rig, 0, "ldap.responses.dn", 1, "dc=a");
    assert_buffer(rig, 0, "ldap.responses.dn", 2, NULL);
    assert_buffer(rig, 0, "ldap.responses.message", 0, "note");
    assert_buffer(rig, 0, "ldap.responses.attribute_type", 1, "uid");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.operation:search_result_done,-1;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.operation:4,0;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.operation:4,all;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.result_code:success,0;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.result_code:>0;"));
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *request, *response;
    size_t request_length, response_length;
    const char *json, *dn, *attribute;
} operations[] = {
#define ROW(a, b, ...)                                                                                                 \
    {                                                                                                                  \
        a##_message, b##_message, sizeof(a##_message) - 1, sizeof(b##_message) - 1, __VA_ARGS__                        \
    }
    ROW(bind, bound,
        "{\"request\":{\"message_id\":1,\"operation\":\"bind_request\",\"bind_request\":{\"version\":3,\"name\":"
        "\"cn=admin\"}},\"responses\":[{\"operation\":\"bind_response\",\"bind_response\":{\"result_code\":"
        "\"invalid_credentials\",\"matched_dn\":\"dc=a\",\"message\":\"note\"}}]}",
        "cn=admin", NULL),
    ROW(sasl, sasl_bound,
        "{\"request\":{\"message_id\":3,\"operation\":\"bind_request\",\"bind_request\":{\"version\":3,\"name\":\"\","
        "\"sasl\":{\"mechanism\":\"GSS-SPNEGO\",\"credentials\":\"0102\"}}},\"responses\":[{\"operation\":"
        "\"bind_response\",\"bind_response\":{\"result_code\":\"success\",\"matched_dn\":\"dc=a\",\"message\":\"note\","
        "\"server_sasl_creds\":\"03\"}}]}",
        "", NULL),
    ROW(compare, compared,
        "{\"request\":{\"message_id\":8,\"operation\":\"compare_request\",\"compare_request\":{\"entry\":\"cn=x\","
        "\"attribute_value_assertion\":{\"description\":\"sn\",\"value\":\"v\"}}},\"responses\":[{\"operation\":"
        "\"compare_response\",\"compare_response\":{\"result_code\":\"compare_true\",\"matched_dn\":\"dc=a\","
        "\"message\":\"note\"}}]}",
        "cn=x", "sn"),
    ROW(modify, orphan,
        "{\"request\":{\"message_id\":4,\"operation\":\"modify_request\",\"modify_request\":{\"object\":\"cn=x\","
        "\"changes\":[{\"operation\":\"add\",\"modification\":{\"attribute_type\":\"mail\",\"attribute_values\":"
        "[\"a@b\"]}},{\"operation\":\"3\",\"modification\":{\"attribute_type\":\"n\"}}]}}}",
        "cn=x", "mail"),
    ROW(add, orphan,
        "{\"request\":{\"message_id\":5,\"operation\":\"add_request\",\"add_request\":{\"entry\":\"cn=y\","
        "\"attributes\":[{\"name\":\"sn\",\"values\":[\"z\"]}]}}}",
        "cn=y", "sn"),
    ROW(del, orphan, "{\"request\":{\"message_id\":6,\"operation\":\"del_request\",\"del_request\":{\"dn\":\"cn=z\"}}}",
        "cn=z", NULL),
    ROW(mod_dn, orphan,
        "{\"request\":{\"message_id\":7,\"operation\":\"mod_dn_request\",\"mod_dn_request\":{\"entry\":\"cn=x\","
        "\"new_rdn\":\"cn=w\",\"delete_old_rdn\":true,\"new_superior\":\"dc=b\"}}}",
        "cn=x", NULL),
    ROW(abandon, orphan,
        "{\"request\":{\"message_id\":10,\"operation\":\"abandon_request\",\"abandon_request\":{\"message_id\":2}}}",
        NULL, NULL),
    ROW(unbind, orphan, "{\"request\":{\"message_id\":11,\"operation\":\"unbind_request\"}}", NULL, NULL),
#undef ROW
};

START_TEST(operations_are_logged)
{
    for (unsigned way = 0; way < ROWS(ways); way++) {
        struct app_rig *rig = ldap_rig(way);

        app_rig_send(rig, FLOW_TO_SERVER, operations[_i].request, operations[_i].request_length);
        app_rig_send(rig, FLOW_TO_CLIENT, operations[_i].response, operations[_i].response_length);
        ck_assert_str_eq(app_rig_json(rig, 0), operations[_i].json);
        assert_buffer(rig, 0, "ldap.request.dn", 0, operations[_i].dn);
        assert_buffer(rig, 0, "ldap.request.attribute_type", 0, operations[_i].attribute);
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(responses_without_request)
{
    struct app_rig *rig = ldap_rig(_i);

    CLIENT(search);
    SERVER(orphan);
    SERVER(notice);
    ck_assert(app_rig_has_event(rig, 1, "request_not_found"));
    ck_assert(!app_rig_has_event(rig, 2, "request_not_found"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "{\"responses\":[{\"message_id\":99,\"operation\":"));
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"responses\":[{\"message_id\":0,\"operation\":\"extended_response\",\"extended_response\":"
                     "{\"result_code\":\"unavailable\",\"matched_dn\":\"\",\"message\":\"bye\",\"name\":"
                     "\"1.3.6.1.4.1.1466.20036\"}}]}");
    CLIENT(abandon);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "response_complete");
    app_rig_free(rig);
}
END_TEST

START_TEST(tls_follows_its_response)
{
    static const char hello[] = "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00";
    struct app_rig *rig = ldap_rig(1);

    CLIENT(start_tls);
    SERVER(tls_ok);
    app_rig_send(rig, FLOW_TO_SERVER, DATA(hello));
    ck_assert_str_eq(app_rig_protocol(rig), "tls");
    app_rig_free(rig);

    rig = ldap_rig(1);
    CLIENT(start_tls);
    SERVER(tls_refused);
    CLIENT(unbind);
    ck_assert_str_eq(app_rig_protocol(rig), "ldap");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(sasl_encrypts)
{
    struct app_rig *rig = ldap_rig(1);

    CLIENT(sasl);
    SERVER(sasl_bound);
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\0\0\4abcd"));
    ck_assert(!rig->failed);
    ck_assert(!app_rig_has_event(rig, 0, "invalid_data"));
    app_rig_free(rig);

    rig = ldap_rig(1);
    CLIENT(search);
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\0\0\4abcd"));
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 1, "invalid_data"));
    app_rig_free(rig);
}
END_TEST

START_TEST(malformed_operations_are_skipped)
{
    struct app_rig *rig = ldap_rig(_i);

    CLIENT(cut);
    CLIENT(search);
    ck_assert(app_rig_has_event(rig, 0, "invalid_data"));
    ck_assert(!app_rig_has_event(rig, 1, "invalid_data"));
    CLIENT(no_message);
    ck_assert(app_rig_has_event(rig, 2, "invalid_data"));
    ck_assert_int_eq(rig->failed, ways[_i].transport == APP_TCP);
    app_rig_free(rig);
}
END_TEST

START_TEST(limits)
{
    struct app_rig *rig = ldap_rig(1);

    CLIENT(search);
    for (unsigned i = 0; i < 501; i++)
        SERVER(entry);
    ck_assert(app_rig_has_event(rig, 0, "too_many_responses"));
    SERVER(done);
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.count:501;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_CLIENT, "ldap.responses.result_code:success;"));
    for (unsigned i = 0; i < 257; i++)
        CLIENT(add);
    ck_assert(app_rig_has_event(rig, 1, "too_many_transactions"));
    ck_assert(!app_rig_has_event(rig, 2, "too_many_transactions"));
    app_rig_free(rig);
}
END_TEST

/* Of a message of 2 MB only the operation is parsed; the message after it is parsed. */
START_TEST(long_messages_are_skipped)
{
    static const char start[] = "\x30\x83\x20\x00\x00\x02\x01\x02\x64\x83\x1f\xff\xf8\x04\x83\x1f\xff\xf3";
    static uint8_t block[1 << 16];
    struct app_rig *rig = ldap_rig(1);

    CLIENT(search);
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(start));
    for (unsigned i = 0; i < 31; i++)
        app_rig_send(rig, FLOW_TO_CLIENT, block, sizeof(block));
    app_rig_send(rig, FLOW_TO_CLIENT, block, sizeof(block) + 5 - (sizeof(start) - 1));
    SERVER(done);
    ck_assert(!rig->failed);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"responses\":[{\"operation\":\"search_result_entry\"},"
                                                       "{\"operation\":\"search_result_done\""));
    app_rig_free(rig);
}
END_TEST

static const struct {
    unsigned transport;
    const char *bytes;
    size_t length;
    bool found;
} finds[] = {
    { APP_TCP, DATA(search_message), true },
    { APP_UDP, DATA(search_message), true },
    { APP_TCP, DATA(no_message_message), false },
    { APP_UDP, DATA("\x30\x05\x02\x01\x80\x42\x00"), false },
    { APP_UDP, DATA("\x30\x05\x02\x01\x01\x62\x00"), false },
    { APP_TCP, DATA("\x31\x05\x02\x01\x01\x42\x00"), false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = app_rig_new("ldap", NULL);
    const char *name;

    rig->transport = finds[_i].transport;
    app_rig_start_flow(rig);
    rig->flow.server_port = 9999;
    app_rig_send(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
    name = app_rig_protocol(rig);
    ck_assert_int_eq(name && strcmp(name, "ldap") == 0, finds[_i].found);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_ldap");
    TCase *tests = tcase_create("ldap");

    tcase_add_loop_test(tests, search, 0, ROWS(ways));
    tcase_add_loop_test(tests, operations_are_logged, 0, ROWS(operations));
    tcase_add_loop_test(tests, responses_without_request, 0, ROWS(ways));
    tcase_add_test(tests, tls_follows_its_response);
    tcase_add_test(tests, sasl_encrypts);
    tcase_add_loop_test(tests, malformed_operations_are_skipped, 0, ROWS(ways));
    tcase_add_test(tests, limits);
    tcase_add_test(tests, long_messages_are_skipped);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
