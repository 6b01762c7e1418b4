/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IKE: both versions, weak and malformed proposals, the marker of port 4500, buffers, EVE. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1
#define SPIS "\"init_spi\":\"e47a591fd057587f\",\"resp_spi\":\"a00b8ef0902bb8ec\""

static struct app_rig *ike_rig(uint16_t port)
{
    struct app_rig *rig = app_rig_new("ike", NULL);

    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    return rig;
}

/* Sends a message with this content; `head` has first payload, version, exchange type and flags. */
static void send_message(struct app_rig *rig, enum flow_direction direction, const char *head, const char *body,
                         size_t length)
{
    uint8_t bytes[1024];

    memcpy(bytes, "\xe4\x7a\x59\x1f\xd0\x57\x58\x7f\xa0\x0b\x8e\xf0\x90\x2b\xb8\xec", 16);
    memcpy(bytes + 16, head, 4); /* first payload, version, exchange, flags */
    memset(bytes + 20, 0, 6);
    bytes[26] = (uint8_t)((28 + length) >> 8);
    bytes[27] = (uint8_t)(28 + length);
    memcpy(bytes + 28, body, length);
    app_rig_send(rig, direction, bytes, 28 + length);
}

/* --- Version 1 ------------------------------------------------------------------------------------ */

/* An SA of one proposal with one transform: AES-128, SHA, group 2, pre-shared key, 86,400 seconds. */
#define TRANSFORM(next)                                                                                                \
    next "\0\0\x28\x01\x01\0\0\x80\x01\0\x07\x80\x0e\0\x80\x80\x02\0\x02\x80\x04\0\x02\x80\x03\0\x01\x80\x0b\0\x01"    \
         "\0\x0c\0\x04\0\x01\x51\x80"
#define SA_ONE "\0\0\0\x3c\0\0\0\x01\0\0\0\x01\0\0\0\x30\x01\x01\0\x01" TRANSFORM("\0")
#define SA_TWO "\0\0\0\x64\0\0\0\x01\0\0\0\x01\0\0\0\x58\x01\x01\0\x02" TRANSFORM("\x03") TRANSFORM("\0")
#define ATTRIBUTES                                                                                                     \
    "{\"key\":\"alg_enc\",\"value\":\"EncAesCbc\",\"raw\":7},{\"key\":\"sa_key_length\",\"value\":\"Unknown\","        \
    "\"raw\":128},{\"key\":\"alg_hash\",\"value\":\"HashSha\",\"raw\":2},{\"key\":\"alg_dh\",\"value\":"               \
    "\"GroupAlternate1024BitModpGroup\",\"raw\":2},{\"key\":\"alg_auth\",\"value\":\"AuthPreSharedKey\",\"raw\":1},"   \
    "{\"key\":\"sa_life_type\",\"value\":\"LifeTypeSeconds\",\"raw\":1},{\"key\":\"sa_life_duration\",\"value\":"      \
    "\"Unknown\",\"raw\":86400}"

START_TEST(main_mode_is_logged)
{
    struct app_rig *rig = ike_rig(500);
    struct app_bytes bytes;

    send_message(rig, FLOW_TO_SERVER, "\x01\x10\x02\0", DATA(SA_ONE));
    send_message(rig, FLOW_TO_CLIENT, "\x01\x10\x02\0", DATA(SA_ONE));
    send_message(rig, FLOW_TO_SERVER, "\x04\x10\x02\0",
                 DATA("\x0a\0\0\x07"
                      "KEY"
                      "\x0d\0\0\x05"
                      "N"
                      "\0\0\0\x06\xab\xcd"));
    send_message(rig, FLOW_TO_CLIENT, "\x05\x10\x02\x01", DATA("encrypted"));
    ck_assert_str_eq(app_rig_protocol(rig), "ike");
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"_v\":2,\"version_major\":1,\"version_minor\":0," SPIS ",\"message_id\":0,\"exchange_type\":2,"
                     "\"payload\":[\"SecurityAssociation\",\"Proposal\",\"Transform\"],\"ikev1\":{\"doi\":1,"
                     "\"encrypted_payloads\":false,\"client\":{\"proposals\":[" ATTRIBUTES "]}}}");
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"_v\":2,\"version_major\":1,\"version_minor\":0," SPIS ",\"message_id\":0,\"exchange_type\":2,"
                     "\"attributes\":[" ATTRIBUTES "],\"payload\":[\"SecurityAssociation\",\"Proposal\",\"Transform\"],"
                     "\"ikev1\":{\"doi\":1,\"encrypted_payloads\":false,\"client\":{}}}");
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"_v\":2,\"version_major\":1,\"version_minor\":0," SPIS ",\"message_id\":0,\"exchange_type\":2,"
                     "\"attributes\":[" ATTRIBUTES "],\"payload\":[\"KeyExchange\",\"Nonce\",\"VendorID\"],\"ikev1\":{"
                     "\"doi\":1,\"encrypted_payloads\":false,\"client\":{\"key_exchange_payload\":\"4b4559\","
                     "\"key_exchange_payload_length\":3,\"nonce_payload\":\"4e\",\"nonce_payload_length\":1},"
                     "\"vendor_ids\":[\"abcd\"]}}");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"ikev1\":{\"doi\":1,\"encrypted_payloads\":true}"));
    ck_assert(app_rig_buffer(rig, 2, "ike.vendor", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_mem_eq(bytes.bytes, "abcd", 4);
    ck_assert(!app_rig_buffer(rig, 2, "ike.vendor", FLOW_TO_SERVER, 1, &bytes));
    ck_assert(app_rig_buffer(rig, 2, "ike.nonce_payload", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 1);
    ck_assert(!app_rig_buffer(rig, 3, "ike.nonce_payload", FLOW_TO_CLIENT, 0, &bytes));
    app_rig_free(rig);
}
END_TEST

/* --- Events --------------------------------------------------------------------------------------- */

#define V1 "\x01\x10\x02\0"
#define V2 "\x21\x20\x22\x08"
#define T2(more, type, id) more "\0\0\x08" type "\0\0" id
/* An IKEv2 SA of one proposal with two or four transforms. */
#define P2(protocol, transforms) "\0\0\0\x1c\0\0\0\x18\x01" protocol "\0\x02" transforms
#define P4(protocol, transforms) "\0\0\0\x2c\0\0\0\x28\x01" protocol "\0\x04" transforms

static const struct {
    enum flow_direction direction;
    const char *head, *body;
    size_t length;
    const char *events; /* expected end of the log */
} cases[] = {
    { FLOW_TO_CLIENT, V1, DATA(SA_TWO), "\"events\":[\"multiple_server_proposal\"]}" },
    { FLOW_TO_SERVER, V1, DATA(SA_TWO), "}}}" },
    { FLOW_TO_SERVER, V1, DATA(SA_ONE "x"), "\"events\":[\"payload_extra_data\"]}" },
    { FLOW_TO_SERVER, V1, DATA("\0\0\0\x03"), "\"events\":[\"malformed_data\"]}" },
    { FLOW_TO_SERVER, V1, DATA("\0\0\0\x30\0\0\0\x01"), "\"events\":[\"malformed_data\"]}" },
    { FLOW_TO_SERVER, V1, DATA(""), "\"events\":[\"malformed_data\"]}" },
    { FLOW_TO_SERVER, V1, DATA("\x0d\0\0\x04"), "\"events\":[\"malformed_data\"]}" },
    { FLOW_TO_SERVER, V2,
      DATA(P4("\x01", T2("\3", "\1", "\x0c") T2("\3", "\2", "\5") T2("\3", "\3", "\x0c") T2("\0", "\4", "\x0e"))),
      "\"errors\":0}}" },
    { FLOW_TO_SERVER, V2, DATA(P2("\x01", T2("\3", "\1", "\x14") T2("\0", "\4", "\x0e"))), "\"errors\":0}}" },
    { FLOW_TO_SERVER, V2,
      DATA(P4("\x01", T2("\3", "\1", "\3") T2("\3", "\2", "\1") T2("\3", "\3", "\2") T2("\0", "\4", "\2"))),
      "\"events\":[\"weak_crypto_enc\",\"weak_crypto_prf\",\"weak_crypto_dh\",\"weak_crypto_auth\"]}" },
    { FLOW_TO_CLIENT, V2, DATA(P2("\x02", T2("\3", "\2", "\0") T2("\0", "\x09", "\1"))),
      "\"events\":[\"no_encryption\",\"weak_crypto_nodh\",\"weak_crypto_noauth\",\"invalid_proposal\","
      "\"unknown_proposal\"]}" },
    { FLOW_TO_SERVER, V2, DATA(P2("\x01", T2("\3", "\1", "\x14") "\0\0\0\x05\4\0\0\x0e")),
      "\"events\":[\"malformed_data\"]}" },
};

START_TEST(events_are_told)
{
    struct app_rig *rig = ike_rig(500);

    send_message(rig, cases[_i].direction, cases[_i].head, cases[_i].body, cases[_i].length);
    const char *json = app_rig_json(rig, 0);

    ck_assert_ptr_nonnull(json);
    ck_assert_uint_ge(strlen(json), strlen(cases[_i].events));
    ck_assert_str_eq(json + strlen(json) - strlen(cases[_i].events), cases[_i].events);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(version_2_is_logged)
{
    struct app_rig *rig = ike_rig(500);

    send_message(rig, FLOW_TO_SERVER, "\x29\x20\x22\x08", DATA("\x29\0\0\x08\0\0\x40\x04\0\0\0\x08\0\0\x27\x0f"));
    send_message(rig, FLOW_TO_CLIENT, "\x21\x20\x22\x20",
                 DATA(P2("\x01", T2("\3", "\1", "\x14") T2("\0", "\4", "\x0e"))));
    send_message(rig, FLOW_TO_SERVER, "\x2e\x20\x23\x08",
                 DATA("\x23\0\0\x0a"
                      "secret"));
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"_v\":2,\"version_major\":2,\"version_minor\":0," SPIS ",\"message_id\":0,\"exchange_type\":34,"
                     "\"role\":\"initiator\",\"payload\":[\"Notify\",\"Notify\"],\"ikev2\":{\"errors\":1,\"notify\":["
                     "\"NAT_DETECTION_SOURCE_IP\",\"Unknown\"]}}");
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"_v\":2,\"version_major\":2,\"version_minor\":0," SPIS ",\"message_id\":0,\"exchange_type\":34,"
                     "\"role\":\"responder\",\"attributes\":[{\"key\":\"alg_enc\",\"value\":\"ENCR_AES_GCM_16\","
                     "\"raw\":20},{\"key\":\"alg_dh\",\"value\":\"Modp2048\",\"raw\":14}],\"payload\":["
                     "\"SecurityAssociation\"],\"ikev2\":{\"errors\":0}}");
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"_v\":2,\"version_major\":2,\"version_minor\":0," SPIS ",\"message_id\":0,\"exchange_type\":35,"
                     "\"role\":\"initiator\",\"payload\":[\"EncryptedAndAuthenticated\"],\"ikev2\":{\"errors\":0}}");
    app_rig_free(rig);
}
END_TEST

START_TEST(marker_tells_messages_from_esp)
{
    static const uint8_t esp[] = { 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 1, 9, 9, 9, 9 };
    struct app_rig *rig = ike_rig(4500);
    uint8_t message[4 + 28] = { 0 };

    memcpy(message + 4,
           "\xe4\x7a\x59\x1f\xd0\x57\x58\x7f\xa0\x0b\x8e\xf0\x90\x2b\xb8\xec\0\x20\x23\x08\0\0\0\x01\0\0\0\x1c", 28);
    app_rig_send(rig, FLOW_TO_SERVER, message, sizeof(message));
    app_rig_send(rig, FLOW_TO_CLIENT, esp, sizeof(esp));
    app_rig_send(rig, FLOW_TO_SERVER, "\xff", 1);
    ck_assert_str_eq(app_rig_protocol(rig), "ike");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"message_id\":1"));
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    app_rig_send(rig, FLOW_TO_CLIENT, message, sizeof(message));
    ck_assert_ptr_nonnull(app_rig_tx(rig, 1));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(spi_may_begin_with_zeros)
{
    static const char message[] =
        "\0\0\0\0\0\0\0\x01\xa0\x0b\x8e\xf0\x90\x2b\xb8\xec\0\x20\x23\x08\0\x20\0\x01\0\0\0\x1c";
    struct app_rig *rig = ike_rig(500);

    app_rig_send(rig, FLOW_TO_SERVER, message, 28);
    app_rig_send(rig, FLOW_TO_SERVER, message, 28);
    ck_assert_str_eq(app_rig_protocol(rig), "ike");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"init_spi\":\"0000000000000001\""));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(short_messages_have_their_event)
{
    struct app_rig *rig = ike_rig(500);

    send_message(rig, FLOW_TO_SERVER, V1, DATA(SA_ONE));
    app_rig_send(rig, FLOW_TO_CLIENT, "\xe4\x7a\x59\x1f", 4);
    send_message(rig, FLOW_TO_CLIENT, "\x01\x30\x02\0", DATA(SA_ONE)); /* version 3 */
    for (uint64_t id = 1; id <= 2; id++) {
        ck_assert_str_eq(app_rig_json(rig, id), "{\"events\":[\"malformed_data\"]}");
        ck_assert(app_rig_tx(rig, id)->log_never);
    }
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *head;
    bool found;
} finds[] = {
    { 500, "\0\x10\x02\0", true },    { 4500, "\0\x10\x02\0", true },   { 501, "\0\x10\x02\0", false },
    { 500, "\0\x20\x22\x08", true },  { 500, "\0\x21\x22\x08", false }, { 500, "\0\x20\x21\x08", false },
    { 500, "\0\x20\x2c\x08", false }, { 500, "\0\x30\x22\x08", false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = ike_rig(finds[_i].port);

    send_message(rig, FLOW_TO_SERVER, finds[_i].head, "", 0);
    ck_assert_int_eq(app_rig_tx(rig, 0) != NULL, finds[_i].found);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_ike");
    TCase *tests = tcase_create("ike");

    tcase_add_test(tests, main_mode_is_logged);
    tcase_add_loop_test(tests, events_are_told, 0, ROWS(cases));
    tcase_add_test(tests, version_2_is_logged);
    tcase_add_test(tests, marker_tells_messages_from_esp);
    tcase_add_test(tests, spi_may_begin_with_zeros);
    tcase_add_test(tests, short_messages_have_their_event);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
