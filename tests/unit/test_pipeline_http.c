/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP in the packet's whole path: when its parser gets bytes, and what becomes of a flow that it gives up. */
#include "pipeline_app_rig.h"

/* Captures may have the acknowledgment first: then nothing but the data's own packet brings it to the parser. */
START_TEST(what_was_acknowledged_before_it_was_seen_is_parsed)
{
    char request[4096] = "GET /evil HTTP/1.1\r\nHost: a\r\nX: ";
    size_t begin = strlen(request);

    memset(request + begin, 'a', 3000);
    memcpy(request + begin + 3000, "\r\n\r\n", 4);
    rig_passive();
    rig_open("alert tcp any any -> any any (http.uri; content:\"/evil\"; sid:1;)");
    rig_handshake();
    rig.next[RIG_CLIENT] = (uint32_t)begin + 3004;
    ck_assert_str_eq(rig_acknowledge(RIG_SERVER), "");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_ACK, 0, request, begin + 3004), "1");
}
END_TEST

static const struct {
    enum exception_policy policy;
    enum verdict verdict;
} policies[] = {
    { EXCEPTION_IGNORE, VERDICT_ACCEPT },
    { EXCEPTION_DROP_PACKET, VERDICT_ACCEPT }, /* of the packet that comes next */
    { EXCEPTION_DROP_FLOW, VERDICT_DROP },
};

/* A request with too many headers: the event is told, and the flow is what the policy for errors says. */
START_TEST(a_flood_of_headers_is_told_and_judged)
{
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = policies[_i].policy;
    rig_open("alert tcp any any -> any any (app-layer-event:http.request_too_many_headers; sid:1;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (unsigned i = 0; i < 1500; i++)
        ck_assert_str_eq(rig_send(RIG_CLIENT, "X-Y: a\r\n"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "\r\n"), "1");
    ck_assert_int_eq(rig.packet.verdict, policies[_i].policy == EXCEPTION_IGNORE ? VERDICT_ACCEPT : VERDICT_DROP);
    rig_send(RIG_CLIENT, "more");
    ck_assert_int_eq(rig.packet.verdict, policies[_i].verdict);
}
END_TEST

/* No rule is asked of it any more, and its requests go nevertheless: they are not too many after a while. */
START_TEST(a_flow_that_is_passed_goes_on_for_ever)
{
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig_open("pass tcp any any -> any any (http.uri; content:\"/0\"; sid:1;)");
    rig_handshake();
    for (unsigned i = 0; i < 2000; i++) {
        char request[64];

        snprintf(request, sizeof(request), "GET /%u HTTP/1.1\r\nHost: a\r\n\r\n", i);
        rig_send(RIG_CLIENT, request);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    }
    ck_assert_uint_eq(app_tx_count(rig.packet.flow), 2000);
    ck_assert_ptr_null(app_transactions(rig.packet.flow));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_http");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_test(tcase, what_was_acknowledged_before_it_was_seen_is_parsed);
    tcase_add_loop_test(tcase, a_flood_of_headers_is_told_and_judged, 0, sizeof(policies) / sizeof(policies[0]));
    tcase_add_test(tcase, a_flow_that_is_passed_goes_on_for_ever);
    return rig_run(tcase, "pipeline_http");
}
