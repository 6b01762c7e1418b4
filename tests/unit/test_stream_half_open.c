/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Half-open TCP connections under a SYN flood, and port reuse. tests/lib/stream_rig.h describes the scripts. */
#include <check.h>
#include <string.h>

#include "stream_rig.h"

#include "sluice/transfer.h"

#define HANDSHAKE "> S 0,0", "< SA 0,1", "> A 1,1"

/* A server with SYN cookies answers all SYNs of a flood; the sessions must not stay forever. */
static void flood_answered(unsigned clients)
{
    for (stream_rig.client = 1000; stream_rig.client < 1000 + clients; stream_rig.client++) {
        stream_rig_send_line("> S 0,0");
        ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_NONE);
        stream_rig_send_line("< SA 0,1");
        ck_assert_int_eq(stream_rig.verdict.exception, EXCEPTION_NONE);
    }
}

static void complete_during_flood(void)
{
    stream_rig.client = 1;
    stream_rig_play(
        "begun", (const char *const[]){ "> S 0,0 ts=10/0 ws=3 sackok", "< SA 0,1 ts=90/10 ws=2 sackok win=100", NULL });
    flood_answered(60);
    stream_rig.client = 1;
    stream_rig_play("completed",
                    (const char *const[]){
                        "> PA 1,1 'abc' ts=11/90 | established c:abc", "< PA 1,4 'def' ts=91/11 | established s:def",
                        "> PA 1,4 'old' ts=5/91 | established pkt_spurious_retransmission pkt_invalid_timestamp "
                        "reassembly_overlap_different_data =drop",
                        NULL });
}

START_TEST(answered_half_open_sessions_give_way)
{
    stream_rig.options.memcap = 16 << 10;
    stream_rig_open();
    complete_during_flood();
    ck_assert_uint_gt(stream_rig_counter("tcp.ssn_memcap_drop"), 0);
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_restored"), 1);

    uint64_t sessions, data;

    stream_count_evictions(stream_rig.stream, &sessions, &data);
    ck_assert_uint_eq(sessions, stream_rig_counter("tcp.ssn_memcap_drop") + stream_rig_counter("tcp.ssn_evicted"));
}
END_TEST

START_TEST(flows_of_half_open_connections_give_way)
{
    stream_rig.flow_options.memcap = 16 << 10;
    stream_rig_open();
    complete_during_flood();
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_memcap_drop"), 0);
    ck_assert_uint_ge(stream_rig_counter("tcp.ssn_restored"), 1);
}
END_TEST

START_TEST(half_open_records_match_exactly)
{
    stream_rig.options.memcap = 16 << 10;
    stream_rig_open();
    stream_rig.client = 1;
    stream_rig_play("begun", (const char *const[]){ "> S 0,0", "< SA 0,1", NULL });
    flood_answered(60);
    stream_rig.client = 1;
    stream_rig_play("not the handshake's ACK",
                    (const char *const[]){ "> PA 1,2 'abc' | none =midstream", "> PA 2,1 'abc' | none =midstream",
                                           "< PA 1,1 'abc' | none =midstream", NULL });
    stream_rig_play("refused by the client",
                    (const char *const[]){ "> R 1,0 | none", "> R 2,0 | none rst_but_no_session =invalid", NULL });
}
END_TEST

/* Neither side has closed the first connection; the server no longer knows it. */
START_TEST(ports_of_an_unclosed_connection)
{
    stream_rig_open();
    stream_rig_play("first", (const char *const[]){ HANDSHAKE, "> PA 1,1 'abc' | established c:abc", "< A 1,4", NULL });
    struct flow *first = stream_rig.flow;
    uint64_t id = first->id;

    stream_rig_play("SYN and SYN/ACK", (const char *const[]){ "> S 5000,0 | established est_syn_resend_diff_seq",
                                                              "< SA 7000,5001 | syn_recv", NULL });
    ck_assert_uint_ne(stream_rig.flow->id, id);
    stream_rig_play("second", (const char *const[]){ "> PA 5001,7001 'new' | established c:new",
                                                     "< PA 7001,5004 'yes' | established s:yes", NULL });
}
END_TEST

#define OPEN_1000 "> S 1000,0", "< SA 0,1001", "> A 1001,1"

/* A SYN with the number of a session that a reset or FINs have closed: a new connection, if the server answers it. */
static const struct again {
    const char *name;
    const char *script[14];
} again[] = {
    { "reset after the SYN/ACK",
      { "> S 0,0", "< SA 0,1", "> R 1,0 | closed", "> S 0,0 | closed", "< SA 7000,1 | syn_recv",
        "> A 1,7001 | established", "> PA 1,7001 'new' | established c:new",
        "< PA 7001,4 'yes' | established s:yes" } },
    { "reset after the SYN/ACK, SYN cookies have the same number",
      { "> S 0,0", "< SA 0,1", "> R 1,0 | closed", "> S 0,0 | closed", "< SA 0,1 | syn_recv",
        "> PA 1,1 'new' | established c:new" } },
    { "reset after the handshake",
      { HANDSHAKE, "> R 1,0 | closed", "> S 0,0 | closed", "< SA 7000,1 | syn_recv",
        "> PA 1,7001 'new' | established c:new" } },
    { "reset after data",
      { HANDSHAKE, "> PA 1,1 'abc' | established c:abc", "< A 1,4", "> R 4,0 | closed", "> S 0,0 | closed",
        "< SA 7000,1 | syn_recv", "> PA 1,7001 'new' | established c:new" } },
    { "reset after data, SYN cookies have the same number",
      { HANDSHAKE, "> PA 1,1 'abc' | established c:abc", "< A 1,4", "> R 4,0 | closed", "> S 0,0 | closed",
        "< SA 0,1 | syn_recv", "> PA 1,1 'new' | established c:new" } },
    { "the options of the second SYN count",
      { "> S 0,0", "< SA 0,1", "> R 1,0 | closed", "> S 0,0 ts=10/0 | closed", "< SA 7000,1 ts=90/10 | syn_recv",
        "> PA 1,7001 'abc' ts=11/90 | established c:abc", "< A 7001,4 ts=91/11 | established",
        "> PA 1,7001 'old' ts=5/91 | established pkt_spurious_retransmission pkt_invalid_timestamp "
        "reassembly_overlap_different_data =drop" } },
    { "both have closed",
      { HANDSHAKE, "> FA 1,1 | close_wait", "< FA 1,2 | last_ack", "> A 2,2 | closed", "> S 0,0 | closed",
        "< SA 7000,1 | syn_recv", "> PA 1,7001 'new' | established c:new" } },
    { "without the last ACK",
      { HANDSHAKE, "> FA 1,1 | close_wait", "< FA 1,2 | last_ack", "> S 0,0 | last_ack shutdown_syn_resend",
        "< A 2,2 | last_ack", "> R 2,0 | closed", "> S 0,0 | closed", "< SA 7000,1 | syn_recv",
        "> PA 1,7001 'new' | established c:new" } },
    { "the SYN/ACK answers one SYN, not the next",
      { HANDSHAKE, "> R 1,0 | closed", "> S 0,0 | closed", "< SA 7000,1 | syn_recv", "> A 1,7001 | established",
        "< PA 7001,1 'ev' | established s:ev", "< SA 7002,1 | established est_synack_resend_with_diff_seq =invalid" } },
};

START_TEST(same_number_again)
{
    stream_rig_open();
    stream_rig_play(again[_i].name, again[_i].script);
}
END_TEST

/* The client sends a RST that the server does not receive or ignores, then a SYN. Data that the server would accept as
 * part of the old connection must not pass before a SYN/ACK answers the SYN. */
static const struct again ignored_resets[] = {
    { "same number",
      { OPEN_1000, "> PA 1001,1 'GET_ev' | established c:GET_ev", "< A 1,1007", "> R 1007,0 | closed",
        "> S 1000,0 | closed", "< A 1,1007 | closed", "> A 1001,1 | closed", "> PA 1001,1 '......il' | closed =invalid",
        "> PA 1007,1 'il' | closed =invalid" } },
    { "same number, and the server sends its SYN/ACK again before it receives the data",
      { OPEN_1000, "> PA 1001,1 'GET_ev' | established c:GET_ev", "> R 1007,0 | closed", "> S 1000,0 | closed",
        "< SA 0,1001 | closed", "> PA 1007,1 'il' | closed =invalid" } },
    { "a number before",
      { OPEN_1000, "> PA 1001,1 'GET_ev' | established c:GET_ev", "< A 1,1007", "> R 1007,0 | closed",
        "> S 990,0 | syn_sent", "> PA 991,1 '................il' | syn_sent =invalid", "< A 1,1007 | syn_sent",
        "> PA 991,1 '................il' | syn_sent =invalid", "> PA 1007,1 'il' | syn_sent =invalid" } },
    { "a number behind",
      { OPEN_1000, "> PA 1001,1 'GET_ev' | established c:GET_ev", "< A 1,1007", "> R 1007,0 | closed",
        "> S 30000,0 | syn_sent", "> PA 1001,1 '......il' | syn_sent =invalid",
        "> PA 1007,1 'il' | syn_sent =invalid" } },
    { "another number, and the server does answer",
      { OPEN_1000, "> PA 1001,1 'GET_ev' | established c:GET_ev", "< A 1,1007", "> R 1007,0 | closed",
        "> S 990,0 | syn_sent", "< SA 7000,991 | syn_recv", "> PA 991,7001 'new' | established c:new" } },
    { "data in the SYN, which a server with fast open takes",
      { OPEN_1000, "> PA 1001,1 'abcdef' | established c:abcdef", "< A 1,1007", "> R 1007,0 | closed",
        "> S 1000,0 tfo 'evil' | closed shutdown_syn_resend =invalid" } },
    { "the server did not take the data of the SYN",
      { "> S 1000,0 tfo 'GET_ev' | syn_sent c:GET_ev", "< SA 0,1001", "> PA 1001,1 'GET_ev' | established",
        "< A 1,1007", "> S 990,0 | established est_syn_resend_diff_seq",
        "> PA 991,1 '................il' | established reassembly_overlap_different_data =drop" } },
};

START_TEST(reset_that_the_server_ignores)
{
    stream_rig.options.midstream_until_ns = _i % 2 ? UINT64_MAX : 0; /* also in the grace period after a start */
    stream_rig_open();
    stream_rig_play(ignored_resets[_i / 2].name, ignored_resets[_i / 2].script);
}
END_TEST

/* Asymmetric routing: no segment of the server is seen, so that the new SYN needs no SYN/ACK. */
START_TEST(reset_with_one_side_seen)
{
    stream_rig_open();
    stream_rig_play("one side",
                    (const char *const[]){ "> S 0,0", "> PA 1,1 'abc' | established c:abc", "> R 4,0 | closed",
                                           "> S 5000,0 | syn_sent", "> PA 5001,1 'new' | established c:new", NULL });
}
END_TEST

/* Transfers the records to an engine with other hash seeds. */
static void hand_records_over(void)
{
    struct transfer written, read;

    transfer_write_start(&written);
    ck_assert(flow_table_transfer_seed(&written, stream_rig.flows));
    stream_transfer_half_open(&written, stream_rig.stream, true);
    ck_assert_int_eq(written.error, 0);
    stream_rig.options.seed += 77;
    stream_rig.flow_options.seed += 99;
    stream_rig_close();
    stream_rig_open();
    transfer_read_start(&read, written.bytes, written.at);
    bool same = flow_table_transfer_seed(&read, stream_rig.flows);

    ck_assert(same);
    stream_transfer_half_open(&read, stream_rig.stream, same);
    ck_assert_int_eq(read.error, 0);
    ck_assert_uint_eq(read.at, written.at);
    transfer_clear(&written);
}

START_TEST(records_go_to_the_next_engine)
{
    stream_rig.options.memcap = 16 << 10;
    stream_rig_open();
    stream_rig.client = 1;
    stream_rig_play(
        "begun", (const char *const[]){ "> S 0,0 ts=10/0 ws=3 sackok", "< SA 0,1 ts=90/10 ws=2 sackok win=100", NULL });
    flood_answered(60);
    hand_records_over();
    stream_rig.client = 1;
    stream_rig_play("completed", (const char *const[]){ "> PA 1,1 'abc' ts=11/90 | established c:abc",
                                                        "< PA 1,4 'def' ts=91/11 | established s:def", NULL });
    ck_assert_uint_eq(stream_rig_counter("tcp.ssn_restored"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_half_open");
    TCase *half_open = tcase_create("half_open");

    tcase_add_checked_fixture(half_open, stream_rig_setup, stream_rig_teardown);
    tcase_add_test(half_open, answered_half_open_sessions_give_way);
    tcase_add_test(half_open, flows_of_half_open_connections_give_way);
    tcase_add_test(half_open, half_open_records_match_exactly);
    tcase_add_test(half_open, ports_of_an_unclosed_connection);
    tcase_add_test(half_open, records_go_to_the_next_engine);
    tcase_add_loop_test(half_open, same_number_again, 0, sizeof(again) / sizeof(again[0]));
    tcase_add_loop_test(half_open, reset_that_the_server_ignores, 0,
                        2 * sizeof(ignored_resets) / sizeof(ignored_resets[0]));
    tcase_add_test(half_open, reset_with_one_side_seen);
    suite_add_tcase(suite, half_open);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
