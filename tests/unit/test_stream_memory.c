/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP sessions and their data when memory is used up. tests/lib/stream_rig.h describes the scripts. */
#include <check.h>
#include <stdio.h>

#include "stream_rig.h"

#define HANDSHAKE "> S 0,0", "< SA 0,1", "> A 1,1"

/* Opens as many sessions as there is memory for, and one more. */
static void fill_sessions(bool answered)
{
    static const char *const lines[] = { HANDSHAKE };
    unsigned count = answered ? 3 : 1;

    stream_rig.options.memcap = 16 << 10;
    stream_rig_open();
    for (stream_rig.client = 1;
         stream_rig.verdict.exception == EXCEPTION_NONE && stream_rig_counter("tcp.ssn_memcap_drop") == 0;
         stream_rig.client++)
        for (unsigned i = 0; i < count && stream_rig.verdict.exception == EXCEPTION_NONE; i++)
            stream_rig_send_line(lines[i]);
}

START_TEST(the_oldest_half_open_session_gives_way)
{
    fill_sessions(false);
    ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_NONE);
    ck_assert_str_eq(stream_rig_state_name(), "syn_sent");
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_memcap_drop"), 1);
    stream_rig.client = 1;
    stream_rig_send_line("< SA 0,1");
    ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_NONE);
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_restored"), 1);
    stream_rig_play("begun again", (const char *const[]){ "> PA 1,1 'abc' | established c:abc", NULL });
    stream_rig.client = 3;
    stream_rig_play("others stay", (const char *const[]){ "< SA 0,1 | syn_recv", "> A 1,1 | established", NULL });
    flow_table_end_all(stream_rig.flows, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(stream_rig_counter("tcp.active_sessions"), 0);
}
END_TEST

START_TEST(established_sessions_do_not)
{
    fill_sessions(true);
    ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_STREAM_MEMCAP);
    ck_assert(stream_rig.flow->flags & FLOW_NO_STREAM);

    uint64_t sessions, data;

    stream_count_evictions(stream_rig.stream, &sessions, &data);
    ck_assert_uint_eq(sessions, 0); /* a session that was not created is no eviction */
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_memcap_drop"), 1);
    stream_rig.client = 1;
    stream_rig_play("others stay", (const char *const[]){ "> PA 1,1 'abc' | established c:abc", NULL });
}
END_TEST

/* Many short connections: finished sessions are evicted, so that no new one is refused. */
START_TEST(sessions_that_are_over_give_way)
{
    static const char *const whole[] = { HANDSHAKE, "> FA 1,1", "< FA 1,2", "> A 2,2" };
    struct flow *second = NULL;

    stream_rig.options.memcap = 16 << 10;
    stream_rig_open();
    for (stream_rig.client = 1; stream_rig_counter("tcp.ssn_ended_early") < 3; stream_rig.client++) {
        for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
            stream_rig_send_line(whole[i]);
            ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_NONE);
        }
        ck_assert_str_eq(stream_rig_state_name(), "closed");
        if (stream_rig.client == 4)
            second = stream_rig.flow;
        ck_assert_uint_lt(stream_rig.client, 100);
    }
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_memcap_drop"), 0);
    stream_rig.client = 4; /* the first session that is not evicted */
    stream_rig_play("others stay", (const char *const[]){ "> A 2,2 | closed", NULL });
    ck_assert_ptr_eq(stream_rig.flow, second);
    flow_table_end_all(stream_rig.flows, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(stream_rig_counter("tcp.active_sessions"), 0);
}
END_TEST

/* A quarter of the memory is left for open connections. */
START_TEST(closed_sessions_leave_room)
{
    static const char *const whole[] = { HANDSHAKE, "> FA 1,1", "< FA 1,2", "> A 2,2" };
    static const char *const opened[] = { HANDSHAKE };
    uint64_t closed;

    stream_rig.options.memcap = 64 << 10;
    stream_rig_open();
    for (stream_rig.client = 1; stream_rig_counter("tcp.ssn_ended_early") < 1; stream_rig.client++) {
        for (unsigned i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
            stream_rig_send_line(whole[i]);
        ck_assert_uint_lt(stream_rig.client, 200);
    }
    closed = stream_rig_counter("tcp.active_sessions");
    ck_assert_uint_ge(closed, 20);
    for (uint64_t n = 0; n < closed / 4; n++, stream_rig.client++) {
        for (unsigned i = 0; i < sizeof(opened) / sizeof(opened[0]); i++)
            stream_rig_send_line(opened[i]);
        ck_assert_str_eq(stream_rig_state_name(), "established");
    }
    ck_assert_uint_le(stream_rig_counter("tcp.ssn_ended_early"), 2);
    ck_assert_uint_ge(stream_rig_counter("tcp.active_sessions"), closed + closed / 4 - 1);
    flow_table_end_all(stream_rig.flows, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(stream_rig_counter("tcp.active_sessions"), 0);
}
END_TEST

START_TEST(no_memory_for_data)
{
    char line[600] = "> PA 1,1 '";
    unsigned seq = 1;

    stream_rig.options.reassembly_memcap = 4096;
    stream_rig.options.window[0] = 1 << 20; /* so that no memory is freed */
    stream_rig_open();
    stream_rig_send_line("> S 0,0 win=65535");
    stream_rig_send_line("< SA 0,1 win=65535");
    stream_rig_send_line("> A 1,1");
    for (unsigned i = 0; i < 200 && stream_rig.verdict.exception == EXCEPTION_NONE; i++, seq += 400) {
        snprintf(line, sizeof(line), "> PA %u,1 '%0400u'", seq, i);
        stream_rig_send_line(line);
    }
    ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_STREAM_REASSEMBLY);
    ck_assert(!(stream_rig.packet.flags & PACKET_STREAM_ADDED));
    ck_assert(packet_has_event(&stream_rig.packet, STREAM_EVENT_REASSEMBLY_INSERT_MEMCAP));
    ck_assert_uint_ge(stream_rig_counter("tcp.segment_memcap_drop"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_memory");
    TCase *memory = tcase_create("memory");

    tcase_add_checked_fixture(memory, stream_rig_setup, stream_rig_teardown);
    tcase_add_test(memory, the_oldest_half_open_session_gives_way);
    tcase_add_test(memory, established_sessions_do_not);
    tcase_add_test(memory, sessions_that_are_over_give_way);
    tcase_add_test(memory, closed_sessions_leave_room);
    tcase_add_test(memory, no_memory_for_data);
    suite_add_tcase(suite, memory);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
