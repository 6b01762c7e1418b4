/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memcaps in the whole pipeline: memory of idle connections is freed, new connections are inspected, and the freed
 * memory must not hide anything from rules. */
#include "pipeline_app_rig.h"

enum { FIRST_PORT = 40000, BODIES = 60, HEADS = 600 };

/* Sequence numbers of the first connection, which continues later. */
static uint32_t first_next[2];

static void begin_connection(unsigned number)
{
    rig.client_port = (uint16_t)(FIRST_PORT + number);
    rig.time_ns += 1000000;
    rig_handshake();
}

static void end_turn(unsigned number)
{
    rig_acknowledge(RIG_SERVER);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    if (number == 0)
        memcpy(first_next, rig.next, sizeof(first_next));
}

static void return_to_first(void)
{
    rig.client_port = FIRST_PORT;
    memcpy(rig.next, first_next, sizeof(first_next));
}

static struct app_memory_counts memory_counts(void)
{
    struct app_memory_counts counts;

    app_get_memory_counts(rig.pipeline.app, &counts);
    return counts;
}

static uint64_t stream_counter(const char *name)
{
    for (size_t i = 0; i < stream_counter_count(); i++)
        if (strcmp(stream_counter_name(i), name) == 0)
            return stream_counter_value(rig.pipeline.stream, i);
    ck_abort_msg("no counter %s", name);
}

static void check_new_connection(void)
{
    begin_connection(5000);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}

/* A parser whose stored body was freed continues: the rest of the body and the next request are inspected. */
START_TEST(idle_bodies_give_way)
{
    rig.options.app.memcap = 2 << 20;
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig_open("drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)\n"
             "alert http any any -> any any (http.request_body; content:\"THE-TAIL\"; sid:2;)");
    for (unsigned i = 0; i < BODIES; i++) {
        begin_connection(i);
        rig_send(RIG_CLIENT, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 81928\r\n\r\n");
        for (unsigned piece = 0; piece < 10; piece++) {
            rig_send_filler(RIG_CLIENT, 8192);
            end_turn(i);
        }
        ck_assert_uint_le(memory_counts().used, rig.options.app.memcap);
    }
    ck_assert_uint_gt(memory_counts().shed_flows, BODIES / 2);
    ck_assert_uint_eq(memory_counts().evicted_flows, 0);
    check_new_connection();
    return_to_first();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "THE-TAIL"), "2");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

static void open_unfinished_heads(enum exception_policy policy)
{
    rig.options.app.memcap = 2 << 20;
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig.options.policy.exceptions[EXCEPTION_APP_MEMCAP] = policy;
    rig_open("drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)\n"
             "alert tcp any any -> any any (content:\"RAW-BYTES\"; sid:2;)\n"
             "alert tcp any any -> any any (app-layer-event:applayer_memcap_evicted; sid:3;)");
    for (unsigned i = 0; i < HEADS; i++) {
        begin_connection(i);
        rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
        rig_send_filler(RIG_CLIENT, 6000);
        end_turn(i);
    }
    ck_assert_uint_gt(memory_counts().evicted_flows, HEADS / 4);
    check_new_connection();
    return_to_first();
}

/* A connection whose parser was freed is inspected as a stream, reported once, and parsed again from the next request.
 */
START_TEST(idle_parsers_give_way)
{
    open_unfinished_heads(EXCEPTION_IGNORE);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "RAW-BYTES"), "2 3");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_uint_eq(rig.packet.flow->exceptions[EXCEPTION_APP_MEMCAP], EXCEPTION_IGNORE + 1);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "more\r\n\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert_uint_eq(memory_counts().resumed_flows, 1);
}
END_TEST

START_TEST(the_policy_drops_what_lacks_its_parser)
{
    open_unfinished_heads(EXCEPTION_DROP_FLOW);
    rig_send(RIG_CLIENT, "more");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    rig_send(RIG_CLIENT, "more");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* Data after gaps is freed for new connections. A segment that would fill such a gap is refused, because the receiver
 * may have the freed data. */
START_TEST(data_behind_holes_gives_way)
{
    enum { CONNECTIONS = 60, PIECES = 20, BETWEEN = 2048 };

    rig.options.stream.reassembly_memcap = 1 << 20;
    rig.options.policy.exceptions[EXCEPTION_STREAM_REASSEMBLY] = EXCEPTION_DROP_PACKET;
    rig_open("drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)");
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        begin_connection(i);
        for (unsigned piece = 1; piece <= PIECES; piece++)
            rig_send_at(RIG_CLIENT, piece * BETWEEN, "x");
        rig.time_ns += RIG_SECOND;
        if (i == 0)
            memcpy(first_next, rig.next, sizeof(first_next));
    }
    ck_assert_uint_le(stream_counter("tcp.reassembly_memuse"), 1 << 20);
    ck_assert_uint_gt(stream_counter("tcp.reassembly_evicted"), CONNECTIONS / 4);
    ck_assert_uint_eq(stream_counter("tcp.segment_memcap_drop"), 0);
    check_new_connection();
    return_to_first();
    rig_send_filler(RIG_CLIENT, BETWEEN);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* Sessions of idle connections are freed for new ones. */
START_TEST(idle_connections_give_way)
{
    enum { CONNECTIONS = 200 };

    rig.options.stream.memcap = 64 << 10;
    rig_open("drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)");
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        begin_connection(i);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        ck_assert_ptr_nonnull(rig.packet.flow->tcp);
        rig.time_ns += RIG_SECOND;
    }
    ck_assert_uint_gt(stream_counter("tcp.ssn_evicted"), CONNECTIONS / 4);
    check_new_connection();
}
END_TEST

/* Idle established flows are evicted, too, if there are no new flows to evict. */
START_TEST(idle_flows_give_way)
{
    enum { CONNECTIONS = 400 };

    rig.options.flow.memcap = 64 << 10;
    rig_open("drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)");
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        begin_connection(i);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        ck_assert_ptr_nonnull(rig.packet.flow);
        rig.time_ns += RIG_SECOND / 5; /* before their emergency timeout */
    }
    ck_assert_uint_gt(flow_table_evicted(rig.pipeline.flows), CONNECTIONS / 4);
    check_new_connection();
}
END_TEST

/* A closed connection stays in the flow table until its timeout, but its parser is freed. A late segment does not start
 * a new parser. */
START_TEST(closed_connections_have_no_parser)
{
    rig_open("drop http any any -> any any (http.uri; content:\"/evil\"; sid:1;)\n"
             "alert tcp any any -> any any (app-layer-protocol:http; flags:R+; sid:2;)");
    for (unsigned i = 0; i < HEADS; i++) {
        begin_connection(i);
        rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        rig_acknowledge(RIG_CLIENT);
        ck_assert_ptr_nonnull(rig.packet.flow->app);
        rig_segment(RIG_SERVER, TCP_FIN | TCP_ACK, rig.next[RIG_SERVER], NULL, 0);
        rig.next[RIG_SERVER]++;
        rig_segment(RIG_CLIENT, TCP_FIN | TCP_ACK, rig.next[RIG_CLIENT], NULL, 0);
        rig.next[RIG_CLIENT]++;
        rig_acknowledge(RIG_SERVER);
        ck_assert_ptr_null(rig.packet.flow->app);
        ck_assert_uint_eq(app_tx_count(rig.packet.flow), 1);
    }
    ck_assert_uint_le(memory_counts().used, 128 << 10);
    rig.next[RIG_CLIENT]--;
    rig_send(RIG_CLIENT, "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n");
    ck_assert_ptr_null(rig.packet.flow->app);
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_RST | TCP_ACK, rig.next[RIG_CLIENT], NULL, 0), "2");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_memory");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_test(tcase, idle_bodies_give_way);
    tcase_add_test(tcase, idle_parsers_give_way);
    tcase_add_test(tcase, the_policy_drops_what_lacks_its_parser);
    tcase_add_test(tcase, data_behind_holes_gives_way);
    tcase_add_test(tcase, idle_connections_give_way);
    tcase_add_test(tcase, idle_flows_give_way);
    tcase_add_test(tcase, closed_connections_have_no_parser);
    return rig_run(tcase, "pipeline_memory");
}
