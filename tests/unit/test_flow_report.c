/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's reports on offloaded flows. */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "flow_rig.h"

static struct flow_report report_of(uint64_t there, uint64_t back)
{
    struct packet pkt = flow_rig_request(IPPROTO_TCP);

    return (struct flow_report){
        .client = pkt.source_address,
        .server = pkt.destination_address,
        .client_port = pkt.source_port,
        .server_port = pkt.destination_port,
        .ip_version = 4,
        .protocol = IPPROTO_TCP,
        .has_counts = true,
        .packets = { there, back },
        .bytes = { there * 100, back * 100 },
        .timeout_seconds = 1000,
    };
}

/* Makes a flow of which Sluice has seen two packets of the client and one of the server. */
static struct flow *offloaded(enum packet_offload offload)
{
    struct packet first = flow_rig_request(IPPROTO_TCP), second = flow_rig_answer(IPPROTO_TCP),
                  third = flow_rig_request(IPPROTO_TCP);
    struct flow *flow = flow_rig_see(&first);

    ck_assert_ptr_eq(flow_rig_see(&second), flow);
    ck_assert_ptr_eq(flow_rig_see(&third), flow);
    if (offload == OFFLOAD_ACCEPT)
        flow_set_state(flow_rig.table, flow, FLOW_BYPASSED);
    flow->offload = (uint8_t)offload;
    return flow;
}

START_TEST(numbers_are_kept)
{
    struct flow *flow = offloaded(OFFLOAD_ACCEPT);
    struct flow_report report = report_of(10, 7);

    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + SECOND));
    ck_assert_uint_eq(flow->kernel->packets[FLOW_TO_SERVER], 10);
    ck_assert_uint_eq(flow->kernel->bytes[FLOW_TO_CLIENT], 700);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].packets, 2); /* packets that Sluice has seen are counted separately */
    ck_assert_uint_eq(flow_rig_counter("flow_bypassed.pkts"), 8 + 6);
    ck_assert_uint_eq(flow_rig_counter("flow_bypassed.bytes"), 800 + 600);
    report = report_of(12, 7);
    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + 2 * SECOND));
    ck_assert_uint_eq(flow_rig_counter("flow_bypassed.pkts"), 16);
    ck_assert_uint_eq(flow->last_ns, START + 2 * SECOND);
}
END_TEST

/* The flow and conntrack disagree about which side is the client. */
START_TEST(sides_are_the_flows)
{
    struct flow *flow = offloaded(OFFLOAD_ACCEPT);
    struct flow_report report = report_of(10, 7);

    flow_swap(flow, NULL);
    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + SECOND));
    ck_assert_uint_eq(flow->kernel->packets[FLOW_TO_SERVER], 7);
    ck_assert_uint_eq(flow->kernel->packets[FLOW_TO_CLIENT], 10);
}
END_TEST

/* A flow stays as long as its counters grow. The timeout of a bypassed flow is 100 s. */
START_TEST(what_moves_lives_on)
{
    bool counts = _i == 0;

    offloaded(OFFLOAD_ACCEPT);
    for (uint64_t i = 1; i <= 20; i++) {
        struct flow_report report = report_of(10 + i, 7);

        report.has_counts = counts;
        ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + i * 50 * SECOND));
        ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + i * 50 * SECOND, 100), 0);
    }
    for (uint64_t i = 21; i <= 22; i++) { /* no more packets: the counts are equal, and the flow expires */
        struct flow_report report = report_of(30, 7);

        report.has_counts = counts;
        report.timeout_seconds = (uint32_t)(1000 - 50 * (i - 20));
        ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + i * 50 * SECOND));
    }
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 1102 * SECOND, 100), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.end.state.capture_bypassed"), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.end.state.local_bypassed"), 0);
}
END_TEST

/* A flow whose acknowledgments are offloaded is inspected: packets of its connection restart its timeout, so that
 * keep-alives that were not queued keep it, but they are not counted as bypassed, and it ends by its own segments. */
START_TEST(acknowledgments_keep_the_flow)
{
    struct flow_report report = report_of(10, 7);
    struct flow *flow = offloaded(OFFLOAD_ACKNOWLEDGMENTS);

    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + SECOND));
    ck_assert_uint_eq(flow->last_ns, START + SECOND);
    report.packets[FLOW_TO_SERVER]++;
    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + 2 * SECOND));
    ck_assert_uint_eq(flow->last_ns, START + 2 * SECOND);
    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + 3 * SECOND)); /* no more packets */
    ck_assert_uint_eq(flow->last_ns, START + 2 * SECOND);
    ck_assert_uint_eq(flow_rig_counter("flow_bypassed.pkts"), 0);
    ck_assert_uint_eq(flow_rig_counter("flow_bypassed.bytes"), 0);
    report.ended = true;
    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + 4 * SECOND));
    ck_assert_uint_eq(flow_rig.ended, 0);
}
END_TEST

START_TEST(ends_with_its_connection)
{
    struct flow_report report = report_of(10, 7);

    offloaded(_i == 0 ? OFFLOAD_ACCEPT : OFFLOAD_DROP);
    report.ended = true;
    ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + SECOND));
    ck_assert_uint_eq(flow_rig.ended,
                      _i == 0); /* a reset does not end a dropped flow, because the other host did not get it */
    ck_assert_uint_eq(flow_rig_counter("flow_bypassed.closed"), _i == 0);
}
END_TEST

START_TEST(others_are_left_alone)
{
    struct flow *flow = offloaded(_i == 0 ? OFFLOAD_NONE : OFFLOAD_ACCEPT);
    struct flow_report report = report_of(10, 7);

    report.ended = true;
    if (_i == 1)
        report.client_port++;
    if (_i == 2)
        report.protocol = IPPROTO_UDP;
    if (_i == 3)
        report.protocol = IPPROTO_ICMP;
    if (_i == 4)
        report.ip_version = 6;
    ck_assert(!flow_table_update_offloaded(flow_rig.table, &report, START + SECOND));
    ck_assert_uint_eq(flow_rig.ended, 0);
    ck_assert_ptr_null(flow->kernel);
}
END_TEST

/* A flow stays even if there is no memory for its counters. */
START_TEST(no_room_for_numbers)
{
    struct flow_report report;

    flow_rig.options.memcap = 1;
    flow_rig_reopen();
    for (uint16_t port = 1; port <= 2; port++) {
        struct packet pkt = flow_rig_packet(IPPROTO_UDP, CLIENT, port, SERVER, 80);
        struct packet back = flow_rig_packet(IPPROTO_UDP, SERVER, 80, CLIENT, port);
        enum exception_cause exception;
        struct flow *flow = flow_table_get(flow_rig.table, &pkt, &exception);

        if (!flow)
            return; /* no memory for the flow itself */
        flow_update(flow_rig.table, flow, &pkt);
        flow_update(flow_rig.table, flow, &back);
        flow->offload = OFFLOAD_ACCEPT;
        report = report_of(10, 7);
        report.protocol = IPPROTO_UDP;
        report.client_port = port;
        ck_assert(flow_table_update_offloaded(flow_rig.table, &report, START + SECOND));
        ck_assert_uint_eq(flow->last_ns, START + SECOND);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flow_report");
    TCase *tcase = tcase_create("flow_report");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, flow_rig_setup, flow_rig_teardown);
    tcase_add_test(tcase, numbers_are_kept);
    tcase_add_test(tcase, sides_are_the_flows);
    tcase_add_loop_test(tcase, what_moves_lives_on, 0, 2);
    tcase_add_test(tcase, acknowledgments_keep_the_flow);
    tcase_add_loop_test(tcase, ends_with_its_connection, 0, 2);
    tcase_add_loop_test(tcase, others_are_left_alone, 0, 5);
    tcase_add_test(tcase, no_room_for_numbers);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
