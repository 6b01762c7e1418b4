/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NTP: valid and invalid messages, buffers, EVE, identification. */
#include <check.h>

#include "../lib/app_rig.h"

enum { NTP_PORT = 123 };

static struct app_rig *udp_rig(uint16_t client_port, uint16_t server_port)
{
    struct app_rig *rig = app_rig_new("ntp", NULL);

    app_rig_start_flow(rig);
    rig->flow.client_port = client_port;
    rig->flow.server_port = server_port;
    return rig;
}

static void send_message(struct app_rig *rig, enum flow_direction direction, uint8_t first, uint8_t stratum,
                         size_t length)
{
    uint8_t bytes[80] = { first, stratum };

    memcpy(bytes + 12, "LOCL", 4);
    app_rig_send(rig, direction, bytes, length);
}

START_TEST(messages_are_logged)
{
    struct app_rig *rig = udp_rig(40000, NTP_PORT);
    struct app_bytes bytes;

    send_message(rig, FLOW_TO_SERVER, 0x23, 0, 48);
    send_message(rig, FLOW_TO_CLIENT, 0x1c, 2, 68);
    ck_assert_str_eq(app_rig_protocol(rig), "ntp");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"version\":4,\"mode\":3,\"stratum\":0,\"reference_id\":\"4c:4f:43:4c\"}");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"version\":3,\"mode\":4,\"stratum\":2,\"reference_id\":\"4c:4f:43:4c\"}");
    ck_assert_uint_eq(app_rig_tx(rig, 0)->directions, APP_TO_SERVER);
    ck_assert_uint_eq(app_rig_tx(rig, 1)->directions, APP_TO_CLIENT);
    ck_assert(app_rig_buffer(rig, 1, "ntp.reference_id", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert_mem_eq(bytes.bytes, "LOCL", 4);
    ck_assert_uint_eq(bytes.length, 4);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint8_t first;
    size_t length;
} broken[] = {
    { 0x23, 47 }, { 0x23, 1 }, { 0x1b, 47 }, { 0x13, 48 }, { 0x2b, 48 }, { 0x16, 12 },
};

START_TEST(what_is_no_message_is_told)
{
    struct app_rig *rig = udp_rig(40000, NTP_PORT);
    struct app_bytes bytes;

    send_message(rig, FLOW_TO_SERVER, 0x23, 0, 48);
    send_message(rig, FLOW_TO_CLIENT, broken[_i].first, 1, broken[_i].length);
    send_message(rig, FLOW_TO_CLIENT, 0x24, 1, 48);
    ck_assert(!app_rig_has_event(rig, 0, "malformed_data"));
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    ck_assert(app_rig_tx(rig, 1)->log_never);
    ck_assert(!app_rig_buffer(rig, 1, "ntp.reference_id", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert(!app_rig_has_event(rig, 2, "malformed_data"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t client_port, server_port;
    uint8_t first;
    size_t length;
    const char *protocol;
    unsigned directions;
} probes[] = {
    { 40000, 123, 0x23, 48, "ntp", APP_TO_SERVER },
    { 123, 123, 0x24, 48, "ntp", APP_TO_SERVER },
    { 123, 40000, 0x24, 48, "ntp", APP_TO_CLIENT },
    { 123, 40000, 0x23, 48, "ntp", APP_TO_SERVER },
    { 40000, 123, 0x13, 48, NULL, 0 },
    { 40000, 123, 0x23, 47, NULL, 0 },
    { 40000, 9123, 0x23, 48, NULL, 0 },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = udp_rig(probes[_i].client_port, probes[_i].server_port);

    send_message(rig, FLOW_TO_SERVER, probes[_i].first, 1, probes[_i].length);
    const struct app_tx *tx = app_rig_tx(rig, 0);

    ck_assert_int_eq(tx != NULL, probes[_i].protocol != NULL);
    if (tx) {
        ck_assert_str_eq(app_rig_protocol(rig), probes[_i].protocol);
        ck_assert_uint_eq(tx->directions, probes[_i].directions);
    }
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ntp");
    TCase *tcase = tcase_create("ntp");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tcase, messages_are_logged);
    tcase_add_loop_test(tcase, what_is_no_message_is_told, 0, sizeof(broken) / sizeof(broken[0]));
    tcase_add_loop_test(tcase, protocol_is_found, 0, sizeof(probes) / sizeof(probes[0]));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
