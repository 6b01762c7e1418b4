/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Midstream sessions, with and without conntrack data. */
#include "stream_rig.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conntrack_bytes.h"
#include "sluice/conntrack.h"

enum { ESTABLISHED_STATUS = IPS_SEEN_REPLY | IPS_ASSURED | IPS_CONFIRMED };

/* Conntrack data of the script's connection. */
static const struct conntrack_text known = {
    .client = "11.0.0.0",
    .server = "10.0.0.2",
    .client_port = 1234,
    .server_port = 80,
    .protocol = 6,
    .status = ESTABLISHED_STATUS,
    .tcp_state = TCP_CONNTRACK_ESTABLISHED,
    .scale = { 2, 7 },
    .flags = { IP_CT_TCP_FLAG_WINDOW_SCALE, IP_CT_TCP_FLAG_WINDOW_SCALE },
};

static struct conntrack_bytes ct;

static void conntrack_says(const struct conntrack_text *text, uint32_t info)
{
    ct_build(&ct, text);
    stream_rig.conntrack = (struct packet_conntrack){ ct.bytes, (uint32_t)ct.length, info };
}

enum says { NOTHING, KNOWN, ONE_SIDED, ANSWERED, HANDSHAKE_ONLY, OTHERS };

static const struct {
    enum stream_conntrack option;
    bool midstream, in_grace;
    enum says says;
    const char *line;
    bool by_conntrack;
} cases[] = {
    /* without grace period */
    { STREAM_CONNTRACK_YES, false, false, KNOWN, "> PA 1,1 'abc' | established c:abc", true },
    { STREAM_CONNTRACK_ONLY, false, false, KNOWN, "> PA 1,1 'abc' | established c:abc", true },
    { STREAM_CONNTRACK_NO, false, false, KNOWN, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_YES, false, false, NOTHING, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_YES, false, false, ONE_SIDED, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_YES, false, false, ANSWERED, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_YES, false, false, OTHERS, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_YES, false, false, KNOWN, "> FA 1,1 'abc' | fin_wait1 c:abc", true },
    { STREAM_CONNTRACK_YES, false, false, KNOWN, "> RA 1,1 | none rst_but_no_session =invalid", false },
    { STREAM_CONNTRACK_YES, false, false, HANDSHAKE_ONLY, "< SA 0,1 | none =midstream", false },
    /* stream.midstream is on; connections that conntrack does not know are an exception */
    { STREAM_CONNTRACK_YES, true, false, ONE_SIDED, "> PA 1,1 'abc' | established =midstream c:abc", false },
    { STREAM_CONNTRACK_YES, true, false, KNOWN, "> PA 1,1 'abc' | established c:abc", true },
    { STREAM_CONNTRACK_NO, true, false, KNOWN, "> PA 1,1 'abc' | established =midstream c:abc", false },
    /* in the grace period */
    { STREAM_CONNTRACK_YES, false, true, NOTHING, "> PA 1,1 'abc' | established c:abc", false },
    { STREAM_CONNTRACK_YES, false, true, ONE_SIDED, "> PA 1,1 'abc' | established c:abc", false },
    { STREAM_CONNTRACK_NO, false, true, KNOWN, "> PA 1,1 'abc' | established c:abc", false },
    { STREAM_CONNTRACK_ONLY, false, true, NOTHING, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_ONLY, false, true, ONE_SIDED, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_ONLY, false, true, OTHERS, "> PA 1,1 'abc' | none =midstream", false },
    { STREAM_CONNTRACK_ONLY, false, true, ANSWERED, "> PA 1,1 'abc' | established c:abc", false },
    { STREAM_CONNTRACK_ONLY, false, true, HANDSHAKE_ONLY, "< SA 0,1 | syn_recv", false },
    { STREAM_CONNTRACK_ONLY, false, true, KNOWN, "> PA 1,1 'abc' | established c:abc", true },
};

static void say(enum says says, bool from_server)
{
    uint32_t reply = from_server ? IP_CT_IS_REPLY : 0;
    struct conntrack_text text = known;

    switch (says) {
    case NOTHING:
        return;
    case KNOWN:
        break;
    case ONE_SIDED:
        text.status = IPS_CONFIRMED;
        conntrack_says(&text, IP_CT_NEW);
        return;
    case ANSWERED:
        text.status = IPS_CONFIRMED | IPS_SEEN_REPLY;
        break;
    case HANDSHAKE_ONLY:
        text.status = IPS_CONFIRMED | IPS_SEEN_REPLY;
        text.tcp_state = TCP_CONNTRACK_SYN_RECV;
        break;
    case OTHERS:
        text.client_port = 1235;
        break;
    }
    conntrack_says(&text, IP_CT_ESTABLISHED + reply);
}

/* Connections that began before Sluice, and end or are replaced while it starts. */
static const char *const older[][6] = {
    { "> RA 1,1 | none rst_but_no_session" },
    { "> S 0,0 ts=200/0 | syn_sent", "< SA 0,1 ts=7/100 | syn_recv", "> A 1,1 ts=201/7 | established",
      "> PA 1,1 ts=202/7 'abc' | established c:abc" },
    { "> S 0,0 ts=200/0", "> S 0,0 ts=300/0", "< SA 0,1 ts=7/100 | syn_recv" },
    { "> S 0,0 ts=200/0", "< SA 0,1 ts=7/201 | syn_sent pkt_invalid_timestamp =invalid" },
    { "> S 0,0", "< SA 0,1 ts=7/100 | syn_recv pkt_invalid_timestamp" },
};

START_TEST(older_than_the_program)
{
    char name[16];

    stream_rig.options.midstream_until_ns = stream_rig.time_ns + 100 * SECOND;
    stream_rig_open();
    snprintf(name, sizeof(name), "case %d", _i);
    stream_rig_play(name, older[_i]);
}
END_TEST

START_TEST(whether_it_is_picked_up)
{
    const char *const script[] = { cases[_i].line, NULL };
    char name[16];

    stream_rig.options.conntrack = cases[_i].option;
    stream_rig.options.midstream = cases[_i].midstream;
    stream_rig.options.midstream_until_ns = cases[_i].in_grace ? stream_rig.time_ns + SECOND : 0;
    stream_rig_open();
    say(cases[_i].says, cases[_i].line[0] == '<');
    snprintf(name, sizeof(name), "case %d", _i);
    stream_rig_play(name, script);
    ck_assert_uint_eq(stream_rig_counter("tcp.midstream_conntrack"), cases[_i].by_conntrack);
    ck_assert_int_eq((stream_rig.packet.flags & PACKET_ESTABLISHED) != 0, cases[_i].by_conntrack);
}
END_TEST

/* The sender of the first packet is not the client. */
START_TEST(the_server_is_heard_first)
{
    stream_rig.options.conntrack = STREAM_CONNTRACK_YES;
    stream_rig_open();
    conntrack_says(&known, IP_CT_ESTABLISHED_REPLY);
    stream_rig_play("server first", (const char *const[]){ "< PA 1,1 'abc' | established s:abc", NULL });
    ck_assert(stream_rig.packet.flags & PACKET_TO_CLIENT);
    ck_assert_uint_eq(stream_rig.flow->client_port, 1234);
    ck_assert_uint_eq(stream_rig.flow->server_port, 80);
    ck_assert_int_eq(stream_rig.flow->state, FLOW_ESTABLISHED);
    stream_rig.conntrack = (struct packet_conntrack){ 0 };
    stream_rig_play("and goes on",
                    (const char *const[]){ "> PA 1,4 'xyz' | established c:xyz", "< PA 4,4 'def' | established s:def",
                                           "> FA 4,7 | close_wait", "< FA 7,5 | last_ack", "> A 5,8 | closed", NULL });
}
END_TEST

/* Many segments of the server may arrive before the first one of the client, beyond the server's own window. */
START_TEST(the_other_side_is_heard_late)
{
    stream_rig.options.conntrack = STREAM_CONNTRACK_YES;
    stream_rig_open();
    conntrack_says(&known, IP_CT_ESTABLISHED_REPLY);
    stream_rig_play("one side",
                    (const char *const[]){ "< A 1,1 win=1 | established", "< A 60001,1 win=1 | established",
                                           "< A 120001,1 win=1 | established", "> A 1,120001 win=40000 | established",
                                           "< A 120001,1 win=1 | established", NULL });
}
END_TEST

/* --- Lookups for packets without conntrack data --------------------------------------------------- */

static struct look_up {
    int result;
    uint32_t info;
    unsigned calls;
} look_up;

static int find(void *user, const struct packet *pkt, struct conntrack *out)
{
    struct look_up *state = user;

    (void)pkt;
    state->calls++;
    ck_assert(conntrack_parse(out, ct.bytes, ct.length));
    out->info = state->info;
    return state->result;
}

static void open_look_up(int result, uint8_t tcp_state, uint32_t info)
{
    struct conntrack_text text = known;

    text.tcp_state = tcp_state;
    ct_build(&ct, &text);
    look_up = (struct look_up){ result, info, 0 };
    stream_rig.options.conntrack = STREAM_CONNTRACK_YES;
    stream_rig_open();
    stream_set_connections(stream_rig.stream, find, &look_up);
}

START_TEST(connection_is_found)
{
    open_look_up(0, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED_REPLY);
    stream_rig_play("found", (const char *const[]){ "< PA 1,1 'abc' | established s:abc",
                                                    "> PA 1,4 'xyz' | established c:xyz", NULL });
    ck_assert_uint_eq(stream_rig.flow->client_port, 1234);
    ck_assert_uint_eq(look_up.calls, 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.conntrack_queries"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.midstream_conntrack"), 1);
}
END_TEST

START_TEST(connection_is_not_found)
{
    open_look_up(-ENOENT, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED);
    stream_rig_play("not found", (const char *const[]){ "> PA 1,1 'abc' | none =midstream", NULL });
    ck_assert(!stream_rig.verdict.undecided);
}
END_TEST

/* If the lookup is not possible yet, the packet is undecided; the next one is decided. */
START_TEST(connection_cannot_be_looked_up)
{
    open_look_up(-EAGAIN, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED);
    stream_rig_play("limit", (const char *const[]){ "> PA 1,1 'abc' | none =midstream", NULL });
    ck_assert(stream_rig.verdict.undecided);
    ck_assert_uint_eq(stream_rig_counter("tcp.conntrack_undecided"), 1);
    look_up.result = 0;
    stream_rig_play("later", (const char *const[]){ "> PA 1,1 'abc' | established c:abc", NULL });
    ck_assert(!stream_rig.verdict.undecided);
}
END_TEST

/* The kernel attaches conntrack data, but not to this packet: conntrack considers it invalid, even if a connection has
 * its addresses. */
START_TEST(packet_that_conntrack_refuses_is_not_looked_up)
{
    open_look_up(0, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED);
    stream_rig.conntrack = (struct packet_conntrack){ .info = PACKET_CONNTRACK_NONE };
    stream_rig_play("invalid", (const char *const[]){ "> PA 1,1 'abc' | none =midstream", NULL });
    ck_assert_uint_eq(look_up.calls, 0);
}
END_TEST

/* Bytes before the pick-up are in no chunk; the packet must be inspected separately. */
START_TEST(data_from_before_the_pick_up)
{
    open_look_up(0, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED);
    stream_rig_play("before", (const char *const[]){ "> PA 11,1 'abc' | established c:abc", "< A 1,14", NULL });
    stream_rig_play("across", (const char *const[]){
                                  "> PA 8,1 'xyzabcd' | established reassembly_segment_before_base_seq c:d", NULL });
    ck_assert(!(stream_rig.packet.flags & PACKET_STREAM_ADDED));
    stream_rig_play("behind", (const char *const[]){ "> PA 15,1 'efg' | established c:efg", NULL });
    ck_assert(stream_rig.packet.flags & PACKET_STREAM_ADDED);
}
END_TEST

/* A first segment far beyond the receiver's position must not make later correct segments invalid. */
START_TEST(picked_up_at_the_wrong_place)
{
    open_look_up(0, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED);
    stream_rig_play("ahead",
                    (const char *const[]){ "> PA 1001,1 'xyz' | established c:xyz",
                                           "> PA 1,1 'ev' | established pkt_spurious_retransmission =invalid", NULL });
    look_up.info = IP_CT_ESTABLISHED_REPLY;
    stream_rig_play("the receiver tells", (const char *const[]){ "< A 1,1 | established", NULL });
    ck_assert_uint_eq(look_up.calls, 2);
    stream_rig_play("in order",
                    (const char *const[]){ "> PA 1,1 'ev' | established c:ev", "> PA 3,1 'il' | established c:il",
                                           "< A 1,5 | established", NULL });
    ck_assert_uint_eq(stream_rig.flow->client_port, 1234);
}
END_TEST

/* A flow that a rule has dropped stays dropped, also if the receiver answers. */
START_TEST(a_dropped_flow_does_not_begin_anew)
{
    open_look_up(0, TCP_CONNTRACK_ESTABLISHED, IP_CT_ESTABLISHED);
    stream_rig_play("ahead", (const char *const[]){ "> PA 1001,1 'xyz' | established c:xyz", NULL });
    stream_rig.flow->flags |= FLOW_DROPPED;
    stream_rig_play("the receiver tells", (const char *const[]){ "< A 1,1", NULL });
    ck_assert_uint_eq(look_up.calls, 1);
}
END_TEST

static const struct {
    uint8_t state;
    const char *line;
} ends[] = {
    { TCP_CONNTRACK_TIME_WAIT, "> A 1,1 | none" },
    { TCP_CONNTRACK_TIME_WAIT, "> FA 1,1 | none fin_but_no_session" },
    { TCP_CONNTRACK_TIME_WAIT, "> PA 1,1 'abc' | none =midstream" },
    { TCP_CONNTRACK_CLOSE, "> RA 1,1 | none rst_but_no_session" },
    { TCP_CONNTRACK_CLOSE, "> PA 1,1 'abc' | none =midstream" },
    { TCP_CONNTRACK_ESTABLISHED, "> RA 1,1 | none rst_but_no_session =invalid" },
};

START_TEST(end_of_an_idle_connection_passes)
{
    open_look_up(0, ends[_i].state, IP_CT_ESTABLISHED);
    stream_rig_play(ends[_i].line, (const char *const[]){ ends[_i].line, NULL });
}
END_TEST

/* The client's window scale is 2, so with a window of 100 the server may send 400 bytes. A segment that acknowledges
 * more is not from the client. */
START_TEST(window_scales_are_known)
{
    stream_rig.options.conntrack = STREAM_CONNTRACK_YES;
    stream_rig_open();
    conntrack_says(&known, IP_CT_ESTABLISHED);
    stream_rig_play("scales",
                    (const char *const[]){ "> A 1,1 win=100 | established", "< A 1,1 win=100 | established",
                                           "> A 1,401 win=100 | established",
                                           "> A 1,802 win=100 | established pkt_invalid_ack est_invalid_ack =invalid",
                                           "< A 401,1 win=100 | established", NULL });
}
END_TEST

START_TEST(unknown_scales_are_the_most_there_is)
{
    struct conntrack_text text = known;

    text.flags[1] = IP_CT_TCP_FLAG_BE_LIBERAL;
    stream_rig.options.conntrack = STREAM_CONNTRACK_YES;
    stream_rig_open();
    conntrack_says(&text, IP_CT_ESTABLISHED);
    stream_rig_play("scales", (const char *const[]){ "> A 1,1 win=100 | established", "< A 1,1 win=100 | established",
                                                     "> A 1,500000 win=100 | established", NULL });
    ck_assert_uint_eq(stream_rig_counter("tcp.midstream_conntrack"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_conntrack");
    TCase *pickup = tcase_create("pickup");

    tcase_add_checked_fixture(pickup, stream_rig_setup, stream_rig_teardown);
    tcase_add_loop_test(pickup, whether_it_is_picked_up, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_loop_test(pickup, older_than_the_program, 0, sizeof(older) / sizeof(older[0]));
    tcase_add_test(pickup, the_server_is_heard_first);
    tcase_add_test(pickup, the_other_side_is_heard_late);
    tcase_add_test(pickup, window_scales_are_known);
    tcase_add_test(pickup, unknown_scales_are_the_most_there_is);
    tcase_add_test(pickup, connection_is_found);
    tcase_add_test(pickup, connection_is_not_found);
    tcase_add_test(pickup, connection_cannot_be_looked_up);
    tcase_add_test(pickup, packet_that_conntrack_refuses_is_not_looked_up);
    tcase_add_test(pickup, data_from_before_the_pick_up);
    tcase_add_test(pickup, picked_up_at_the_wrong_place);
    tcase_add_test(pickup, a_dropped_flow_does_not_begin_anew);
    tcase_add_loop_test(pickup, end_of_an_idle_connection_passes, 0, sizeof(ends) / sizeof(ends[0]));
    suite_add_tcase(suite, pickup);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
