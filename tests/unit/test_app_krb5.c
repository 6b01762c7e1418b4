/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kerberos: messages on both transports, malformed messages, buffers, EVE, identification, the BER reader. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

/* AS-REQ for alice/admin@EX.COM; TGS-REQ without a client; AS-REP (23, ticket 18); TGS-REP (18, ticket 17); TGS-REP
 * (-5, ticket 99); errors 25 and 200; AS-REQ with a name of 17 parts; the start of an AP-REQ; an AS-REQ that is cut
 * off. */
static const char as_req[] =
    "\x6a\x72\x30\x70\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0a\xa3\x02\x30\x00\xa4\x60\x30\x5e\xa0\x07\x03\x05\x00"
    "\x00\x00\x00\x00\xa1\x19\x30\x17\xa0\x03\x02\x01\x01\xa1\x10\x30\x0e\x1b\x05\x61\x6c\x69\x63\x65\x1b\x05\x61"
    "\x64\x6d\x69\x6e\xa2\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa3\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10"
    "\x1b\x06\x6b\x72\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa5\x11\x18\x0f\x32\x30\x32\x34\x30\x31\x30"
    "\x31\x30\x30\x30\x30\x30\x30\x5a";
static const char tgs_req[] =
    "\x6c\x53\x30\x51\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0c\xa4\x45\x30\x43\xa0\x07\x03\x05\x00\x00\x00\x00\x00"
    "\xa2\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa3\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10\x1b\x06\x6b\x72"
    "\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa5\x11\x18\x0f\x32\x30\x32\x34\x30\x31\x30\x31\x30\x30\x30"
    "\x30\x30\x30\x5a";
static const char as_rep_weak[] =
    "\x6b\x81\x8d\x30\x81\x8a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x0b\xa3\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa4"
    "\x12\x30\x10\xa0\x03\x02\x01\x01\xa1\x09\x30\x07\x1b\x05\x61\x6c\x69\x63\x65\xa5\x48\x61\x46\x30\x44\xa0\x03"
    "\x02\x01\x05\xa1\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa2\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10\x1b"
    "\x06\x6b\x72\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa3\x16\x30\x14\xa0\x03\x02\x01\x12\xa1\x03\x02"
    "\x01\x02\xa2\x08\x04\x06\x73\x65\x63\x72\x65\x74\xa6\x16\x30\x14\xa0\x03\x02\x01\x17\xa1\x03\x02\x01\x02\xa2"
    "\x08\x04\x06\x73\x65\x63\x72\x65\x74";
static const char tgs_rep[] =
    "\x6d\x81\x8d\x30\x81\x8a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x0d\xa3\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa4"
    "\x12\x30\x10\xa0\x03\x02\x01\x01\xa1\x09\x30\x07\x1b\x05\x61\x6c\x69\x63\x65\xa5\x48\x61\x46\x30\x44\xa0\x03"
    "\x02\x01\x05\xa1\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa2\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10\x1b"
    "\x06\x6b\x72\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa3\x16\x30\x14\xa0\x03\x02\x01\x11\xa1\x03\x02"
    "\x01\x02\xa2\x08\x04\x06\x73\x65\x63\x72\x65\x74\xa6\x16\x30\x14\xa0\x03\x02\x01\x12\xa1\x03\x02\x01\x02\xa2"
    "\x08\x04\x06\x73\x65\x63\x72\x65\x74";
static const char tgs_rep_unknown[] =
    "\x6d\x81\x8d\x30\x81\x8a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x0d\xa3\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa4"
    "\x12\x30\x10\xa0\x03\x02\x01\x01\xa1\x09\x30\x07\x1b\x05\x61\x6c\x69\x63\x65\xa5\x48\x61\x46\x30\x44\xa0\x03"
    "\x02\x01\x05\xa1\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa2\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10\x1b"
    "\x06\x6b\x72\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xa3\x16\x30\x14\xa0\x03\x02\x01\x63\xa1\x03\x02"
    "\x01\x02\xa2\x08\x04\x06\x73\x65\x63\x72\x65\x74\xa6\x16\x30\x14\xa0\x03\x02\x01\xfb\xa1\x03\x02\x01\x02\xa2"
    "\x08\x04\x06\x73\x65\x63\x72\x65\x74";
static const char error[] =
    "\x7e\x50\x30\x4e\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x1e\xa4\x11\x18\x0f\x32\x30\x32\x34\x30\x31\x30\x31\x30"
    "\x30\x30\x30\x30\x30\x5a\xa5\x03\x02\x01\x01\xa6\x03\x02\x01\x19\xa9\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d\xaa"
    "\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10\x1b\x06\x6b\x72\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43\x4f"
    "\x4d";
static const char error_unknown[] =
    "\x7e\x51\x30\x4f\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x1e\xa4\x11\x18\x0f\x32\x30\x32\x34\x30\x31\x30\x31\x30"
    "\x30\x30\x30\x30\x30\x5a\xa5\x03\x02\x01\x01\xa6\x04\x02\x02\x00\xc8\xa9\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d"
    "\xaa\x1b\x30\x19\xa0\x03\x02\x01\x01\xa1\x12\x30\x10\x1b\x06\x6b\x72\x62\x74\x67\x74\x1b\x06\x45\x58\x2e\x43"
    "\x4f\x4d";
static const char many_parts[] =
    "\x6a\x63\x30\x61\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0a\xa4\x55\x30\x53\xa0\x07\x03\x05\x00\x00\x00\x00\x00"
    "\xa1\x3e\x30\x3c\xa0\x03\x02\x01\x01\xa1\x35\x30\x33\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01"
    "\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01"
    "\x78\x1b\x01\x78\x1b\x01\x78\x1b\x01\x78\xa2\x08\x1b\x06\x45\x58\x2e\x43\x4f\x4d";
static const char ap_req[] = "\x6e\x0c\x30\x0a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x0e";
static const char cut[] =
    "\x6a\x72\x30\x70\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0a\xa3\x02\x30\x00\xa4\x60\x30\x5e\xa0\x07\x03\x05\x00"
    "\x00\x00\x00\x00\xa1\x19\x30\x17\xa0\x03\x02\x01\x01\xa1\x10\x30\x0e\x1b\x05\x61\x6c\x69\x63\x65\x1b\x05\x61"
    "\x64\x6d\x69\x6e\xa2\x08";

static struct app_rig *krb_rig(unsigned transport, uint16_t port)
{
    struct app_rig *rig = app_rig_new("krb5", NULL);

    rig->transport = transport;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    return rig;
}

static void send_message(struct app_rig *rig, enum flow_direction direction, const char *bytes, size_t length)
{
    uint8_t record[1024] = { 0, 0, (uint8_t)(length >> 8), (uint8_t)length };

    memcpy(record + 4, bytes, length);
    if (rig->transport == APP_TCP)
        app_rig_send(rig, direction, record, 4 + length);
    else
        app_rig_send(rig, direction, bytes, length);
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                          unsigned index, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, keyword, direction, index, &bytes);

    ck_assert_int_eq(there, want != NULL);
    if (!want)
        return;
    ck_assert_uint_eq(bytes.length, strlen(want));
    ck_assert_mem_eq(bytes.bytes, want, bytes.length);
}

static const struct {
    unsigned transport;
    int cut;
} ways[] = { { APP_UDP, 0 }, { APP_TCP, 0 }, { APP_TCP, 1 }, { APP_TCP, -1 } };

START_TEST(session_is_logged)
{
    struct app_rig *rig = krb_rig(ways[_i].transport, 88);

    rig->cut = ways[_i].cut;
    send_message(rig, FLOW_TO_SERVER, DATA(as_req));
    send_message(rig, FLOW_TO_CLIENT, DATA(error));
    send_message(rig, FLOW_TO_SERVER, DATA(as_req));
    send_message(rig, FLOW_TO_CLIENT, DATA(as_rep_weak));
    send_message(rig, FLOW_TO_SERVER, DATA(tgs_req));
    send_message(rig, FLOW_TO_CLIENT, DATA(tgs_rep));
    send_message(rig, FLOW_TO_CLIENT, DATA(error_unknown));
    send_message(rig, FLOW_TO_CLIENT, DATA(tgs_rep_unknown));
    ck_assert_str_eq(app_rig_protocol(rig), "krb5");
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"msg_type\":\"KRB_AS_REQ\",\"cname\":\"alice/admin\",\"realm\":\"EX.COM\",\"sname\":"
                     "\"krbtgt/EX.COM\",\"encryption\":\"<none>\",\"weak_encryption\":false}");
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"msg_type\":\"KRB_ERROR\",\"failed_request\":\"KRB_AS_REQ\",\"error_code\":"
                     "\"KDC_ERR_PREAUTH_REQUIRED\",\"cname\":\"<empty>\",\"realm\":\"<empty>\",\"sname\":"
                     "\"krbtgt/EX.COM\",\"encryption\":\"<none>\",\"weak_encryption\":false}");
    ck_assert_str_eq(app_rig_json(rig, 3),
                     "{\"msg_type\":\"KRB_AS_REP\",\"cname\":\"alice\",\"realm\":\"EX.COM\",\"sname\":"
                     "\"krbtgt/EX.COM\",\"encryption\":\"rc4-hmac\",\"weak_encryption\":true,\"ticket_encryption\":"
                     "\"aes256-cts-hmac-sha1-96\",\"ticket_weak_encryption\":false,\"events\":[\"weak_encryption\"]}");
    ck_assert_str_eq(app_rig_json(rig, 4),
                     "{\"msg_type\":\"KRB_TGS_REQ\",\"cname\":\"<empty>\",\"realm\":\"EX.COM\",\"sname\":"
                     "\"krbtgt/EX.COM\",\"encryption\":\"<none>\",\"weak_encryption\":false}");
    ck_assert_str_eq(app_rig_json(rig, 5),
                     "{\"msg_type\":\"KRB_TGS_REP\",\"cname\":\"alice\",\"realm\":\"EX.COM\",\"sname\":"
                     "\"krbtgt/EX.COM\",\"encryption\":\"aes256-cts-hmac-sha1-96\",\"weak_encryption\":false,"
                     "\"ticket_encryption\":\"aes128-cts-hmac-sha1-96\",\"ticket_weak_encryption\":false}");
    ck_assert_ptr_nonnull(
        strstr(app_rig_json(rig, 6), "\"failed_request\":\"UNKNOWN\",\"error_code\":\"ErrorCode(200 / 0xc8)\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 7), "\"encryption\":\"EncryptionType(-5 / 0xfffffffb)\""));
    ck_assert_ptr_null(app_rig_tx(rig, 8));
    assert_buffer(rig, 0, "krb5.cname", FLOW_TO_SERVER, 0, "alice");
    assert_buffer(rig, 0, "krb5.cname", FLOW_TO_SERVER, 1, "admin");
    assert_buffer(rig, 0, "krb5.cname", FLOW_TO_SERVER, 2, NULL);
    assert_buffer(rig, 1, "krb5.cname", FLOW_TO_CLIENT, 0, NULL);
    assert_buffer(rig, 1, "krb5.sname", FLOW_TO_CLIENT, 1, "EX.COM");
    app_rig_free(rig);
}
END_TEST

START_TEST(broken_messages_are_passed_over)
{
    struct app_rig *rig = krb_rig(ways[_i].transport, 88);

    rig->cut = ways[_i].cut;
    send_message(rig, FLOW_TO_SERVER, DATA(as_req));
    send_message(rig, FLOW_TO_SERVER, DATA(many_parts));
    send_message(rig, FLOW_TO_SERVER, DATA(cut));
    send_message(rig, FLOW_TO_SERVER, DATA(ap_req));
    send_message(rig, FLOW_TO_SERVER, DATA("\x1f\x81\x01"));
    send_message(rig, FLOW_TO_SERVER, DATA("\x30\x03\x02\x01\x05")); /* wrong class */
    send_message(rig, FLOW_TO_SERVER, DATA(tgs_req));
    ck_assert(!app_rig_has_event(rig, 0, "malformed_data"));
    for (uint64_t id = 1; id <= 3; id++) {
        ck_assert(app_rig_has_event(rig, id, "malformed_data"));
        ck_assert(app_rig_tx(rig, id)->log_never);
        ck_assert_str_eq(app_rig_json(rig, id), "{\"events\":[\"malformed_data\"]}");
        assert_buffer(rig, id, "krb5.cname", FLOW_TO_SERVER, 0, NULL);
    }
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 4), "KRB_TGS_REQ"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(endless_record_fails)
{
    struct app_rig *rig = krb_rig(APP_TCP, 88);

    rig->cut = ways[_i].cut;
    send_message(rig, FLOW_TO_SERVER, DATA(as_req));
    app_rig_send(rig, FLOW_TO_SERVER, "\x00\x01\x86\xa1", 4);
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    unsigned transport;
    const char *bytes;
    size_t length;
    unsigned directions; /* directions of the transaction; 0: not identified as Kerberos */
} finds[] = {
    { APP_UDP, DATA(as_req), APP_TO_SERVER },
    { APP_TCP, DATA(as_req), APP_TO_SERVER },
    { APP_UDP, DATA(as_rep_weak), APP_TO_CLIENT },
    { APP_TCP, DATA(error), APP_TO_SERVER }, /* on TCP the handshake shows which side is the client */
    { APP_UDP, DATA("\x6a\x10\x30\x0e\xa1\x03\x02\x01\x04\xa2\x03\x02\x01\x0a\0\0"), 0 },
    { APP_UDP, DATA("\x6a\x10\x30\x0e\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0b\0\0"), 0 },
    { APP_UDP, DATA("\x6a\x10\x31\x0e\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0a\0\0"), 0 },
    { APP_UDP, DATA("\x6a\x10\x30\x0e\xa1\x03\x02\x01\x05\xa2\x03\x02\x01"), 0 },
    { APP_TCP, DATA("\x30\x10\x30\x0e\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0a\0\0"), 0 },
};

START_TEST(protocol_is_found)
{
    static const int cuts[] = { 0, 1 };

    for (size_t i = 0; i < ROWS(cuts); i++) {
        struct app_rig *rig = krb_rig(finds[_i].transport, 9999);

        rig->cut = cuts[i];
        send_message(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
        const struct app_tx *tx = app_rig_tx(rig, 0);

        ck_assert_int_eq(tx != NULL, finds[_i].directions != 0);
        if (tx)
            ck_assert_uint_eq(tx->directions, finds[_i].directions);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_krb5");
    TCase *tests = tcase_create("krb5");

    tcase_add_loop_test(tests, session_is_logged, 0, ROWS(ways));
    tcase_add_loop_test(tests, broken_messages_are_passed_over, 0, ROWS(ways));
    tcase_add_loop_test(tests, endless_record_fails, 1, ROWS(ways));
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
