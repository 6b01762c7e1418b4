/* SPDX-License-Identifier: GPL-2.0-or-later */
/* S7comm: PDUs in one and in several packets, items, events, identification. */
#include <check.h>

#include "../lib/app_rig.h"

#define CONNECT "\x03\0\0\x0b\x06\xe0\0\0\0\x01\0"
#define DATA(size) "\x03\0\0" size "\x02\xf0\x80"
#define JOB "\x32\x01\0\0\0\x05\0"
/* 31 bytes: a read of 4 bytes in DB 7, from byte 10 on. */
#define READ DATA("\x1f") JOB "\x0e\0\0\x04\x01\x12\x0a\x10\x02\0\x04\0\x07\x84\0\0\x50"
#define SEND(rig, direction, text) app_rig_send(rig, direction, text, sizeof(text) - 1)

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static struct app_rig *s7comm_rig(int cut, uint16_t port)
{
    struct app_rig *rig = app_rig_new("s7comm", NULL);

    rig->transport = APP_TCP;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    rig->cut = cut;
    return rig;
}

START_TEST(pdus_are_parsed)
{
    struct app_rig *rig = s7comm_rig(cuts[_i], 102);
    struct app_bytes bytes = { 0 };

    SEND(rig, FLOW_TO_SERVER, CONNECT READ);
    SEND(rig, FLOW_TO_CLIENT, CONNECT DATA("\x15") "\x32\x03\0\0\0\x05\0\x02\0\0\x85\x01\x04\x01");
    SEND(rig, FLOW_TO_SERVER, DATA("\x07"));                                                 /* no data */
    SEND(rig, FLOW_TO_SERVER, "\x03\0\0\x0c\x02\xf0\0\x32\x01\0\0\0\x03\0\0\x0d\x02\xf0\0"); /* a PDU in four packets */
    SEND(rig, FLOW_TO_SERVER,
         "\x06\0\x10\0\0\x29\x03\0\0\x10\x02\xf0\0\0\0\0\0\0\x09P_P\x03\0\0\x0d\x02\xf0\x80ROGRAM");
    ck_assert_str_eq(app_rig_protocol(rig), "s7comm");
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"s7comm\":{\"rosctr\":\"job\",\"pdu_reference\":5,\"function_code\":4,\"function\":\"read_var\","
        "\"item_count\":1,\"items\":[{\"area_code\":132,\"area\":\"db\",\"db\":7,\"address\":10,\"bit\":0,"
        "\"transport_size\":2,\"count\":4}]}}");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7comm.item:area DB, address 13, db <8;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7comm.item:area db, address 14;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7comm.item:area db, address 9;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_CLIENT, "s7comm.error_class:supplies;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_CLIENT, "s7comm.error_code:1;"));
    ck_assert(!app_rig_has_event(rig, 1, "invalid_parameter"));
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "s7comm.function:plc_stop;"));
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "s7comm.pdu_reference:6;"));
    ck_assert(!app_rig_has_event(rig, 2, "invalid_length"));
    ck_assert(app_rig_buffer(rig, 2, "s7comm.service", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(bytes.length == 9 && memcmp(bytes.bytes, "P_PROGRAM", 9) == 0);
    ck_assert(!app_rig_buffer(rig, 2, "s7comm.block", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_ptr_null(app_rig_tx(rig, 3));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Jobs read_var: the parameters after the function, whether they are valid, and whether the last item has the
 * address 1. */
static const struct {
    const char *bytes;
    uint32_t length;
    bool is_valid, has_item;
} requests[] = {
    { "\x00", 1, true, false },
    { "\x01", 1, false, false },
    { "\x01\x12\x0a\x10\x02\0\x01\0\x01\x84\0\0\x08", 13, true, true },
    { "\x01\x12\x0a\x10\x02\0\x01\0\x01\x84\0\0", 12, false, false },
    { "\x01\x12\x09\x10\x02\0\x01\0\x01\x84\0\0", 12, false, false },
    { "\x01\x12\0", 3, false, false },
    { "\x01\x11\x01\x10", 4, false, false },
    { "\x01\x12\x0a\x10\x1d\0\x01\0\0\x1d\0\0\x01", 13, true, true },                       /* timer 1 */
    { "\x01\x12\x0a\x10\x02\0\0\0\x01\x84\0\0\x08", 13, true, true },                       /* no element */
    { "\x01\x12\x0e\xb2\xff\0\0\0\0\0\0\0\0\0\0\0\0", 17, true, false },                    /* symbolic */
    { "\x02\x12\x03\xb2\xff\0\0\x12\x0a\x10\x02\0\x01\0\x01\x84\0\0\x08", 19, true, true }, /* a fill byte */
    { "\x01\x12\x0c\xb0\x02\x01\0\x01\0\x05\x01\0\x01\0\x01", 15, true, true },             /* two parts */
    { "\x01\x12\x07\xb0\x02\x01\0\x01\0\x05", 10, false, false },
    { "\x01\x12\x01\xb0", 4, false, false },
};
enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };

START_TEST(items_are_parsed)
{
    struct app_rig *rig = s7comm_rig(_i % 2, 102);
    uint8_t packet[64] = DATA("\0") JOB "\0\0\0\x04";

    memcpy(packet + 18, requests[_i].bytes, requests[_i].length);
    packet[3] = (uint8_t)(18 + requests[_i].length);
    packet[14] = (uint8_t)(1 + requests[_i].length);
    app_rig_send(rig, FLOW_TO_SERVER, packet, packet[3]);
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7comm.function:read_var;"));
    ck_assert_int_eq(app_rig_has_event(rig, 0, "invalid_parameter"), !requests[_i].is_valid);
    ck_assert_int_eq(app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7comm.item:address 1;"), requests[_i].has_item);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    uint32_t length;
    const char *event;
    bool ends;
} faults[] = {
    { "\x04\0\0\x07\x02\xf0\x80", 7, "invalid_tpkt", true },
    { "\x03\0\0\x06\x02\xf0", 6, "invalid_tpkt", true },
    { "\x03\0\0\x07\x03\xf0\x80", 7, "invalid_tpkt", true },
    { "\x03\0\0\x07\x01\xf0\x80", 7, "invalid_tpkt", true },
    { DATA("\x09") "\x32\x01", 9, "invalid_length", false },
    { DATA("\x11") "\x72\x01\0\0\0\0\0\0\0\0", 17, "invalid_protocol", false },
    { DATA("\x11") "\x32\x04\0\0\0\0\0\0\0\0", 17, "invalid_rosctr", false },
    { DATA("\x12") "\x32\x03\0\0\0\0\0\0\0\0\0", 18, "invalid_length", false },
    { DATA("\x11") "\x32\x01\0\0\0\0\0\x01\0\0", 17, "invalid_length", false },
    { DATA("\x12") "\x32\x01\0\0\0\0\0\0\0\0\x04", 18, "invalid_length", false },
    { DATA("\x12") "\x32\x01\0\0\0\0\0\x01\0\0\xf0", 18, "invalid_parameter", false },
    { DATA("\x12") "\x32\x01\0\0\0\0\0\x01\0\0\x28", 18, "invalid_parameter", false },
    { DATA("\x12") "\x32\x01\0\0\0\0\0\x01\0\0\x29", 18, "invalid_parameter", false },
    { DATA("\x1a") "\x32\x01\0\0\0\0\0\x09\0\0\x1d\0\0\0\0\0\0\0\x01", 26, "invalid_parameter", false },
    { DATA("\x12") "\x32\x07\0\0\0\0\0\x01\0\0\0", 18, "invalid_parameter", false },
};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

START_TEST(faults_have_events)
{
    struct app_rig *rig = s7comm_rig(_i % 2, 102);

    SEND(rig, FLOW_TO_SERVER, READ);
    app_rig_send(rig, FLOW_TO_SERVER, faults[_i].bytes, faults[_i].length);
    ck_assert(!app_rig_has_event(rig, 0, faults[_i].event));
    ck_assert(app_rig_has_event(rig, 1, faults[_i].event));
    ck_assert_int_eq(rig->failed, faults[_i].ends);
    app_rig_free(rig);
}
END_TEST

/* A PDU in several packets is discarded when it becomes too long; the next one is parsed. */
START_TEST(parts_are_limited)
{
    static uint8_t part[0x9000] = "\x03\0\x90\0\x02\xf0\0\x32\x01";
    struct app_rig *rig = s7comm_rig(cuts[_i] == 1 ? 1000 : cuts[_i], 102);

    SEND(rig, FLOW_TO_SERVER, READ);
    app_rig_send(rig, FLOW_TO_SERVER, part, sizeof(part));
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    app_rig_send(rig, FLOW_TO_SERVER, part, sizeof(part));
    ck_assert(app_rig_has_event(rig, 1, "too_long"));
    SEND(rig, FLOW_TO_SERVER, READ);
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "s7comm.function:read_var;"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    uint32_t length;
    bool found;
} starts[] = {
    { 102, READ, 31, true },
    { 102, CONNECT READ, 42, true },
    { 9999, READ, 31, false },
    { 102, CONNECT, 11, false },
    { 102, CONNECT DATA("\x11") "\x72\x01\0\0\0\0\0\0\0\0", 28, false },
    { 102, DATA("\x10") "\x32\x01\0\0\0\0\0\0\0", 16, false },
    { 102, "\x03\x01\0\x1f\x02\xf0\x80\x32\x01\0\0", 11, false },
};
enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

START_TEST(protocol_is_identified)
{
    for (unsigned i = 0; i < CUTS; i++) {
        struct app_rig *rig = s7comm_rig(cuts[i], starts[_i].port);
        const char *protocol;

        app_rig_send(rig, FLOW_TO_SERVER, starts[_i].bytes, starts[_i].length);
        protocol = app_rig_protocol(rig);
        ck_assert_int_eq(protocol && strcmp(protocol, "s7comm") == 0, starts[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_s7comm");
    TCase *tests = tcase_create("s7comm");

    tcase_add_loop_test(tests, pdus_are_parsed, 0, CUTS);
    tcase_add_loop_test(tests, items_are_parsed, 0, REQUESTS);
    tcase_add_loop_test(tests, faults_have_events, 0, FAULTS);
    tcase_add_loop_test(tests, parts_are_limited, 0, CUTS);
    tcase_add_loop_test(tests, protocol_is_identified, 0, STARTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
