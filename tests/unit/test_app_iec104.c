/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IEC 60870-5-104: formats, ASDUs, events, identification. */
#include <check.h>

#include "../lib/app_rig.h"

#define START_ACT "\x68\x04\x07\0\0\0"
#define COMMAND "\x68\x0e\x06\0\x04\0\x2d\x81\xc7\x05\x34\x12\x01\0\0\x81"
#define SEND(rig, direction, text) app_rig_send(rig, direction, text, sizeof(text) - 1)

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static struct app_rig *iec104_rig(int cut, uint16_t port)
{
    struct app_rig *rig = app_rig_new("iec104", NULL);

    rig->transport = APP_TCP;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    rig->cut = cut;
    return rig;
}

START_TEST(messages_are_parsed)
{
    struct app_rig *rig = iec104_rig(cuts[_i], 2404);

    SEND(rig, FLOW_TO_SERVER, START_ACT COMMAND "\x68\x04\x01\0\x02\0");
    SEND(rig, FLOW_TO_CLIENT, "\x68\x04\x0b\0\0\0");
    ck_assert_str_eq(app_rig_protocol(rig), "iec104");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "iec104_apci_type:U;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "iec104_apci_type:s;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "iec104_asdu_func:0;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_SERVER, "iec104_apci_type:information_transfer_format;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_SERVER, "iec104_asdu_func:c_sc_na_1;"));
    ck_assert(!app_rig_matches(rig, 1, FLOW_TO_SERVER, "iec104_asdu_func:C_DC_NA_1;"));
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "iec104_apci_type:numbered_supervisory_function;"));
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_CLIENT, "iec104_apci_type:u;"));
    ck_assert_ptr_null(app_rig_tx(rig, 4));
    for (uint64_t id = 0; id < 4; id++) {
        ck_assert(!app_rig_has_event(rig, id, "invalid_length"));
        ck_assert(!app_rig_has_event(rig, id, "invalid_control"));
    }
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    uint32_t length;
    const char *event;
    bool ends;
} faults[] = {
    { "\x69\x04\x01\0\0\0", 6, "invalid_start", true },
    { "\x68\x03\x01\0\0", 5, "invalid_length", true },
    { "\x68\xfe\x01\0\0", 5, "invalid_length", true },
    { "\x68\x05\x01\0\0\0\0", 7, "invalid_length", false },
    { "\x68\x09\0\0\0\0\x01\x01\x03\0\x01", 11, "invalid_length", false },
    { "\x68\x04\x0f\0\0\0", 6, "invalid_control", false },
    { "\x68\x04\x07\0\x01\0", 6, "invalid_control", false },
    { "\x68\x04\x05\0\0\0", 6, "invalid_control", false },
    { "\x68\x04\x01\0\x01\0", 6, "invalid_control", false },
    { "\x68\x0a\0\0\x01\0\x01\x01\x03\0\x01\0", 12, "invalid_control", false },
};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

START_TEST(faults_have_events)
{
    struct app_rig *rig = iec104_rig(_i % 2, 2404);

    SEND(rig, FLOW_TO_SERVER, START_ACT);
    app_rig_send(rig, FLOW_TO_SERVER, faults[_i].bytes, faults[_i].length);
    ck_assert(app_rig_has_event(rig, 1, faults[_i].event));
    ck_assert_int_eq(rig->failed, faults[_i].ends);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    uint32_t length;
    bool found;
} starts[] = {
    { 9999, START_ACT, 6, true }, { 9999, "\x68\x04\x43\0\0\0", 6, false },   { 2404, "\x68\x04\x43\0\0\0", 6, true },
    { 2404, COMMAND, 16, true },  { 2404, "\x68\x04\x43\0\0\x01", 6, false }, { 2404, "h\x05llo world", 10, false },
};
enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

START_TEST(protocol_is_identified)
{
    for (unsigned i = 0; i < CUTS; i++) {
        struct app_rig *rig = iec104_rig(cuts[i], starts[_i].port);
        const char *protocol;

        app_rig_send(rig, FLOW_TO_SERVER, starts[_i].bytes, starts[_i].length);
        protocol = app_rig_protocol(rig);
        ck_assert_int_eq(protocol && strcmp(protocol, "iec104") == 0, starts[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_iec104");
    TCase *tests = tcase_create("iec104");

    tcase_add_loop_test(tests, messages_are_parsed, 0, CUTS);
    tcase_add_loop_test(tests, faults_have_events, 0, FAULTS);
    tcase_add_loop_test(tests, protocol_is_identified, 0, STARTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
