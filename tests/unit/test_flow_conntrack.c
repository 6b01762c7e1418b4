/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows that began before Sluice: conntrack data shows which side is the client. */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "flow_rig.h"

#include "conntrack_bytes.h"

static struct conntrack_bytes ct;

static void says(struct packet *pkt, uint8_t protocol, uint32_t info)
{
    const struct conntrack_text text = {
        .client = "10.0.0.1",
        .server = "10.0.0.2",
        .client_port = 12345,
        .server_port = 80,
        .protocol = protocol,
        .status = IPS_SEEN_REPLY | IPS_CONFIRMED,
        .tcp_state = -1,
    };

    ct_build(&ct, &text);
    pkt->conntrack = (struct packet_conntrack){ ct.bytes, (uint32_t)ct.length, info };
}

static const struct {
    uint8_t protocol;
    enum flow_state first, second;
} protocols[] = {
    { IPPROTO_TCP, FLOW_NEW, FLOW_NEW }, /* src/stream sets the state of TCP flows */
    { IPPROTO_UDP, FLOW_ESTABLISHED, FLOW_ESTABLISHED },
    { IPPROTO_SCTP, FLOW_ESTABLISHED, FLOW_ESTABLISHED },
};

START_TEST(an_answer_first)
{
    uint8_t protocol = protocols[_i].protocol;
    struct packet first = flow_rig_answer(protocol), second = flow_rig_request(protocol),
                  third = flow_rig_answer(protocol);

    says(&first, protocol, IP_CT_ESTABLISHED_REPLY);

    struct flow *flow = flow_rig_see(&first);

    ck_assert(flow_rig_to_client(&first));
    ck_assert_int_eq(flow->state, protocols[_i].first);
    ck_assert_int_eq((first.flags & PACKET_ESTABLISHED) != 0, protocol != IPPROTO_TCP);
    ck_assert_mem_eq(flow->client.bytes, "\12\0\0\1", 4);
    ck_assert_mem_eq(flow->server.bytes, "\12\0\0\2", 4);
    ck_assert_uint_eq(flow->client_port, 12345);
    ck_assert_uint_eq(flow->server_port, 80);
    ck_assert_uint_eq(flow->side[FLOW_TO_CLIENT].packets, 1);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].packets, 0);
    ck_assert(!(flow->flags & FLOW_SWAPPED));
    ck_assert_ptr_eq(flow_rig_see(&second), flow);
    ck_assert(!flow_rig_to_client(&second));
    ck_assert_ptr_eq(flow_rig_see(&third), flow);
    ck_assert(flow_rig_to_client(&third));
    ck_assert_int_eq(flow->state, protocols[_i].second);
    ck_assert_uint_eq(flow_rig_counter("flow.conntrack_reply"), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.total"), 1);
}
END_TEST

/* Conntrack data is ignored if it is of a connection's first packet, has other addresses, or is untracked or damaged.
 */
START_TEST(otherwise_the_first_is_the_client)
{
    struct packet first = flow_rig_answer(IPPROTO_UDP);

    says(&first, IPPROTO_UDP, _i == 0 ? IP_CT_NEW : IP_CT_ESTABLISHED_REPLY);
    if (_i == 1)
        first.source_port = 81;
    if (_i == 2)
        first.conntrack.info = IP_CT_NUMBER;
    if (_i == 3)
        first.conntrack.length = 30;
    if (_i == 4)
        first.conntrack = (struct packet_conntrack){ .info = IP_CT_ESTABLISHED_REPLY };

    struct flow *flow = flow_rig_see(&first);

    ck_assert(!flow_rig_to_client(&first));
    ck_assert_int_eq(flow->state, FLOW_NEW);
    ck_assert_uint_eq(flow->server_port, 12345);
    ck_assert_uint_eq(flow_rig_counter("flow.conntrack_reply"), 0);
}
END_TEST

/* An existing flow does not change. */
START_TEST(a_flow_keeps_its_direction)
{
    struct packet first = flow_rig_answer(IPPROTO_UDP), second = flow_rig_answer(IPPROTO_UDP);
    struct flow *flow = flow_rig_see(&first);

    says(&second, IPPROTO_UDP, IP_CT_ESTABLISHED_REPLY);
    ck_assert_ptr_eq(flow_rig_see(&second), flow);
    ck_assert(!flow_rig_to_client(&second));
    ck_assert_uint_eq(flow_rig_counter("flow.conntrack_reply"), 0);
}
END_TEST

START_TEST(a_full_table_turns_nothing)
{
    enum exception_cause exception;
    struct packet pkt = flow_rig_answer(IPPROTO_UDP);

    flow_rig.options.memcap = 1;
    flow_rig_reopen();
    for (uint16_t port = 1; port < 2000; port++) { /* established flows are not evicted */
        struct packet there = flow_rig_packet(IPPROTO_UDP, CLIENT, port, SERVER, 80);
        struct packet back = flow_rig_packet(IPPROTO_UDP, SERVER, 80, CLIENT, port);
        struct flow *flow = flow_table_get(flow_rig.table, &there, &exception);

        if (!flow)
            break;
        flow_update(flow_rig.table, flow, &there);
        flow_rig_see(&back);
    }
    says(&pkt, IPPROTO_UDP, IP_CT_ESTABLISHED_REPLY);
    ck_assert_ptr_null(flow_table_get(flow_rig.table, &pkt, &exception));
    ck_assert_int_eq(exception, EXCEPTION_FLOW_MEMCAP);
    ck_assert(!flow_rig_to_client(&pkt));
    ck_assert_uint_eq(flow_rig_counter("flow.conntrack_reply"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flow_conntrack");
    TCase *tcase = tcase_create("direction");

    tcase_add_checked_fixture(tcase, flow_rig_setup, flow_rig_teardown);
    tcase_add_loop_test(tcase, an_answer_first, 0, sizeof(protocols) / sizeof(protocols[0]));
    tcase_add_loop_test(tcase, otherwise_the_first_is_the_client, 0, 5);
    tcase_add_test(tcase, a_flow_keeps_its_direction);
    tcase_add_test(tcase, a_full_table_turns_nothing);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
