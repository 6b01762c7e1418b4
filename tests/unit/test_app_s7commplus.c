/* SPDX-License-Identifier: GPL-2.0-or-later */
/* S7comm-plus: messages, versions, events, identification. */
#include <check.h>

#include "../lib/app_rig.h"

#define CONNECT "\x03\0\0\x0b\x06\xe0\0\0\0\x01\0"
#define EXPLORE "\x03\0\0\x15\x02\xf0\x80\x72\x02\0\x06\x31\0\0\x04\xbb\0\x72\x02\0\0"
#define SEND(rig, direction, text) app_rig_send(rig, direction, text, sizeof(text) - 1)

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static struct app_rig *s7commplus_rig(int cut, uint16_t port)
{
    struct app_rig *rig = app_rig_new("s7commplus", NULL);

    rig->transport = APP_TCP;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    rig->cut = cut;
    return rig;
}

START_TEST(messages_are_parsed)
{
    struct app_rig *rig = s7commplus_rig(cuts[_i], 102);
    struct app_bytes content = { 0 };

    SEND(rig, FLOW_TO_SERVER, CONNECT EXPLORE);
    SEND(rig, FLOW_TO_CLIENT,
         CONNECT "\x03\0\0\x13\x02\xf0\x80\x72\x03\0\x08\x02\xaa\xbb\x32\0\0\x10\0");             /* a digest */
    SEND(rig, FLOW_TO_SERVER, "\x03\0\0\x07\x02\xf0\x80\x03\0\0\x0c\x02\xf0\x80\x72\x02\0\x01x"); /* no opcode */
    ck_assert_str_eq(app_rig_protocol(rig), "s7commplus");
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7commplus_func:explore;"));
    ck_assert(app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7commplus_opcode:REQUEST;"));
    ck_assert(!app_rig_matches(rig, 0, FLOW_TO_SERVER, "s7commplus_opcode:response;"));
    ck_assert(app_rig_buffer(rig, 0, "s7commplus_content", FLOW_TO_SERVER, 0, &content));
    ck_assert_uint_eq(content.length, 10);
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_CLIENT, "s7commplus_func:4096;"));
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_CLIENT, "s7commplus_opcode:response;"));
    ck_assert(!app_rig_matches(rig, 2, FLOW_TO_SERVER, "s7commplus_opcode:120;"));
    ck_assert(app_rig_buffer(rig, 2, "s7commplus_content", FLOW_TO_SERVER, 0, &content));
    ck_assert_ptr_null(app_rig_tx(rig, 3));
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
    { "\x04\0\0\x07\x02\xf0\x80", 7, "invalid_tpkt", true },
    { "\x03\0\0\x06\x02\xf0", 6, "invalid_tpkt", true },
    { "\x03\0\0\x07\x03\xf0\x80", 7, "invalid_tpkt", true },
    { "\x03\0\0\x07\0\xf0\x80", 7, "invalid_tpkt", true },
    { "\x03\0\0\x0a\x02\xf0\x80\x72\x02\0", 10, "invalid_length", false },
    { "\x03\0\0\x0b\x02\xf0\x80\x72\x02\0\x01", 11, "invalid_length", false },
    { "\x03\0\0\x0b\x02\xf0\x80\x32\x02\0\0", 11, "invalid_length", false },
};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

START_TEST(faults_have_events)
{
    struct app_rig *rig = s7commplus_rig(_i % 2, 102);

    SEND(rig, FLOW_TO_SERVER, EXPLORE);
    app_rig_send(rig, FLOW_TO_SERVER, faults[_i].bytes, faults[_i].length);
    ck_assert(!app_rig_has_event(rig, 0, faults[_i].event));
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
    { 102, EXPLORE, 21, true },
    { 102, CONNECT EXPLORE, 32, true },
    { 9999, EXPLORE, 21, false },
    { 102, CONNECT, 11, false },
    { 102, CONNECT "\x03\0\0\x0b\x02\xf0\x80\x32\x01\0\0", 22, false },
    { 102, "\x03\x01\0\x0b\x02\xf0\x80\x72\x01\0\0", 11, false },
};
enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

START_TEST(protocol_is_identified)
{
    for (unsigned i = 0; i < CUTS; i++) {
        struct app_rig *rig = s7commplus_rig(cuts[i], starts[_i].port);
        const char *protocol;

        app_rig_send(rig, FLOW_TO_SERVER, starts[_i].bytes, starts[_i].length);
        protocol = app_rig_protocol(rig);
        ck_assert_int_eq(protocol && strcmp(protocol, "s7commplus") == 0, starts[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_s7commplus");
    TCase *tests = tcase_create("s7commplus");

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
