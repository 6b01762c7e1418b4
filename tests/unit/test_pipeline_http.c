/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP in the whole pipeline: when the parser gets bytes, and the flow after a parser error. */
#include "pipeline_app_rig.h"

/* If a capture has the acknowledgment before the data, the packet with the data must pass it to the parser. */
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
    { EXCEPTION_DROP_PACKET, VERDICT_ACCEPT }, /* verdict of the next packet */
    { EXCEPTION_DROP_FLOW, VERDICT_DROP },
};

/* A request with too many headers has an event, and app-layer.error-policy decides about the flow. */
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

/* After pass no rule is evaluated for the flow, but its transactions must still be freed. */
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

enum { KEPT_ALIVE = 6000, EVIL_AT = 5000, BODY_LENGTH = 700 };

static void send_request(unsigned number, const char *path)
{
    char request[128];

    snprintf(request, sizeof(request), "GET /%s%u HTTP/1.1\r\nHost: a\r\n\r\n", path, number);
    rig_send(RIG_CLIENT, request);
}

static void send_response(void)
{
    char response[BODY_LENGTH + 64];
    size_t head =
        (size_t)snprintf(response, sizeof(response), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY_LENGTH);

    memset(response + head, 'x', BODY_LENGTH);
    rig_send_bytes(RIG_SERVER, response, head + BODY_LENGTH);
}

/*
 * The responses of a keep-alive connection reach the stream depth after about 1,400 requests. Later responses are not
 * parsed, but each request must still be a transaction that is inspected and freed.
 */
START_TEST(requests_are_inspected_when_responses_have_reached_the_depth)
{
    struct app_memory_counts memory;
    uint64_t used = 0;

    if (_i == 1)
        rig_passive();
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    /* In passive mode a drop rule would end the evaluation of rules for the flow. */
    rig_open(_i == 1
                 ? "alert tcp any any -> any any (http.uri; content:\"/evil\"; sid:1;)\n"
                   "alert tcp any any -> any any (http.uri; content:\"/last\"; http.method; content:\"GET\"; sid:2;)"
                 : "drop tcp any any -> any any (http.uri; content:\"/evil\"; sid:1;)");
    rig_handshake();
    for (unsigned i = 0; i < KEPT_ALIVE; i++) {
        send_request(i, i == EVIL_AT ? "evil" : i == KEPT_ALIVE - 1 ? "last" : "");
        if (i == EVIL_AT && _i == 0)
            break;
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        send_response();
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        app_get_memory_counts(rig.pipeline.app, &memory);
        if (i == 3000)
            used = memory.used;
        if (i > 3000)
            ck_assert_uint_le(memory.used, used + 1024);
    }
    if (_i == 0) {
        ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
        ck_assert_uint_eq(app_tx_count(rig.packet.flow), EVIL_AT + 1);
        return;
    }
    rig_acknowledge(RIG_CLIENT);
    ck_assert_uint_eq(app_tx_count(rig.packet.flow), KEPT_ALIVE);
    ck_assert_uint_eq(policy_counters(rig.pipeline.policy)->alerts, 2);
    ck_assert_ptr_null(app_transactions(rig.packet.flow));
}
END_TEST

/* Requests that had no response when the depth was reached become complete, too. */
START_TEST(requests_that_wait_at_the_depth_are_complete)
{
    rig.options.stream.depth = 4096;
    rig_open("alert tcp any any -> any any (http.uri; content:\"/last\"; sid:1;)");
    rig_handshake();
    for (unsigned i = 0; i < 20; i++)
        send_request(i, "");
    for (unsigned i = 0; i < 20; i++)
        send_response();
    ck_assert_uint_eq(app_tx_count(rig.packet.flow), 20);
    ck_assert_ptr_null(app_transactions(rig.packet.flow));
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GET /last HTTP/1.1\r\nHost: a\r\n\r\n"), "1");
    rig_acknowledge(RIG_SERVER);
    ck_assert_ptr_null(app_transactions(rig.packet.flow));
}
END_TEST

/* Requests reach the depth first: later responses are inspected, and no memory stays allocated. */
START_TEST(responses_are_inspected_when_requests_have_reached_the_depth)
{
    char request[1024];
    size_t head = (size_t)snprintf(request, sizeof(request), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n",
                                   BODY_LENGTH);

    memset(request + head, 'x', BODY_LENGTH);
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig.options.stream.depth = 64 << 10;
    rig_open("drop tcp any any -> any any (http.stat_code; content:\"500\"; sid:1;)");
    rig_handshake();
    for (unsigned i = 0; i < 1500; i++) {
        rig_send_bytes(RIG_CLIENT, request, head + BODY_LENGTH);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    }
    ck_assert_uint_eq(app_tx_count(rig.packet.flow), 1500);
    rig_acknowledge(RIG_CLIENT);
    ck_assert_ptr_null(app_transactions(rig.packet.flow));
    ck_assert_str_eq(rig_send(RIG_SERVER, "HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* A CONNECT whose response is beyond the depth: no bytes are stored for it. */
START_TEST(a_tunnel_is_not_waited_for_behind_the_depth)
{
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig.options.stream.depth = 200;
    rig_open("alert tcp any any -> any any (http.method; content:\"CONNECT\"; sid:1;)");
    rig_handshake();
    send_request(0, "");
    send_response();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"), "1");
    for (unsigned i = 0; i < 20; i++) {
        rig_send_filler(RIG_CLIENT, 8192);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_http");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_test(tcase, what_was_acknowledged_before_it_was_seen_is_parsed);
    tcase_add_loop_test(tcase, a_flood_of_headers_is_told_and_judged, 0, sizeof(policies) / sizeof(policies[0]));
    tcase_add_test(tcase, a_flow_that_is_passed_goes_on_for_ever);
    tcase_add_loop_test(tcase, requests_are_inspected_when_responses_have_reached_the_depth, 0, 2);
    tcase_add_test(tcase, requests_that_wait_at_the_depth_are_complete);
    tcase_add_test(tcase, responses_are_inspected_when_requests_have_reached_the_depth);
    tcase_add_test(tcase, a_tunnel_is_not_waited_for_behind_the_depth);
    return rig_run(tcase, "pipeline_http");
}
