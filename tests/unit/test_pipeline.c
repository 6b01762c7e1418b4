/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The whole pipeline, other than the evaluation of rules. */
#include <unistd.h>

#include "pipeline_rig.h"

#include "conntrack_bytes.h"

#include "sluice/decode_event.h"

static void teardown(void)
{
    rig_close();
}

/* --- The end of flows ----------------------------------------------------------------------------- */

START_TEST(passive_what_is_left_is_inspected_at_the_end)
{
    rig_passive();
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)\n"
             "alert tcp any any -> any any (content:\"Answer\"; flow:to_client; sid:2;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "Answer"), "");
    ck_assert_uint_eq(rig_finish(), 2);
}
END_TEST

START_TEST(what_was_inspected_is_not_inspected_again)
{
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)\n"
             "alert tcp any any -> any any (pcre:\"/E.il/\"; sid:2;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1 2");
    ck_assert_uint_eq(rig_finish(), 0);
}
END_TEST

/* The server acknowledged bytes after a gap, so it has bytes that Sluice has not seen. */
START_TEST(inline_what_is_behind_a_hole_is_inspected_at_the_end)
{
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_handshake();
    rig_send_at(RIG_CLIENT, 5, "EvilWord");
    rig.next[RIG_CLIENT] = 13;
    rig_acknowledge(RIG_SERVER);
    ck_assert_uint_eq(rig_finish(), 1);
}
END_TEST

START_TEST(what_is_left_of_a_closed_connection_is_inspected)
{
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_handshake();
    rig_send_at(RIG_CLIENT, 5, "EvilWord");
    rig.next[RIG_CLIENT] = 13;
    rig_acknowledge(RIG_SERVER);
    rig_segment(RIG_SERVER, TCP_RST | TCP_ACK, 0, NULL, 0);
    rig_finish();
    ck_assert_uint_eq(policy_counters(rig.pipeline.policy)->alerts, 1);
}
END_TEST

START_TEST(a_dropped_flow_is_not_inspected_at_the_end)
{
    rig_open("drop tcp any any -> any any (content:\"EvilWord\"; sid:1;)\n"
             "alert tcp any any -> any any (content:\"Other\"; sid:2;)");
    rig_handshake();
    rig_send_at(RIG_CLIENT, 8, "Other");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1 2");
    ck_assert_uint_eq(rig_finish(), 0);
}
END_TEST

START_TEST(flows_that_end_are_told)
{
    char path[] = "/tmp/pipeline_test_XXXXXX";
    struct output_counters counters;

    close(mkstemp(path));
    rig.eve_path = path;
    rig_open("");
    rig_handshake();
    rig.client_port++;
    rig_handshake();
    rig_finish();
    output_stop(rig.output);
    output_counters(rig.output, &counters);
    ck_assert_uint_eq(counters.written[OUTPUT_FLOW], 2);
    unlink(path);
}
END_TEST

START_TEST(a_flow_whose_time_is_over_ends)
{
    rig_open("alert tcp any any -> any 80 (sid:1;)");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "1");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "");
    rig.time_ns += 3600 * RIG_SECOND;
    pipeline_expire(&rig.pipeline, rig.ruleset, rig.time_ns, 10);
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "1");
}
END_TEST

/* --- Midstream ------------------------------------------------------------------------------------ */

START_TEST(older_connections_are_picked_up_for_a_while)
{
    rig.options.policy.exceptions[EXCEPTION_STREAM_MIDSTREAM] = EXCEPTION_DROP_FLOW;
    rig.options.stream.midstream_until_ns = rig.time_ns + RIG_SECOND;
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Evil"), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Word"), "1");
    rig.time_ns += 2 * RIG_SECOND;
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    rig.client_port++;
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "");
    ck_assert_int_eq(rig.packet.drop_reason, DROP_REASON_STREAM_MIDSTREAM);
}
END_TEST

/* The first packet is from the server of a connection that conntrack knows: the direction is correct, and
 * stream.midstream-policy is not applied. */
START_TEST(connections_that_conntrack_knows_are_picked_up)
{
    const struct conntrack_text known = {
        .client = "10.0.0.1",
        .server = "10.0.0.2",
        .client_port = rig.client_port,
        .server_port = 80,
        .protocol = IPPROTO_TCP,
        .status = IPS_SEEN_REPLY | IPS_ASSURED | IPS_CONFIRMED,
        .tcp_state = TCP_CONNTRACK_ESTABLISHED,
    };
    struct conntrack_bytes ct;

    ct_build(&ct, &known);
    rig.options.policy.exceptions[EXCEPTION_STREAM_MIDSTREAM] = EXCEPTION_DROP_FLOW;
    rig.options.stream.conntrack = STREAM_CONNTRACK_YES;
    rig_open("alert tcp any 80 -> any any (flow:established,to_client; content:\"Word\"; sid:1;)\n"
             "alert tcp any any -> any any (flow:to_server; content:\"Word\"; sid:2;)\n"
             "alert tcp any any -> any 80 (flow:established,to_server; content:\"Client\"; sid:3;)");
    rig.conntrack = (struct packet_conntrack){ ct.bytes, (uint32_t)ct.length, IP_CT_ESTABLISHED_REPLY };
    ck_assert_str_eq(rig_send(RIG_SERVER, "Word"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    rig.conntrack = (struct packet_conntrack){ 0 };
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Client"), "3");
    rig.client_port++;
    ck_assert_str_eq(rig_send(RIG_SERVER, "Word"), "");
    ck_assert_int_eq(rig.packet.drop_reason, DROP_REASON_STREAM_MIDSTREAM);
}
END_TEST

/* Packets without a known session are inspected one by one. */
START_TEST(without_a_session_packets_are_inspected)
{
    rig_open("drop tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert(rig.packet.flow->flags & FLOW_NO_STREAM);
}
END_TEST

/* --- Checksums ------------------------------------------------------------------------------------ */

START_TEST(a_wrong_checksum_keeps_a_segment_out_of_its_stream)
{
    rig.options.checksums = CHECKSUMS_CHECK;
    rig.options.policy.exceptions[EXCEPTION_STREAM_INVALID] = EXCEPTION_DROP_PACKET;
    rig_open("alert tcp any any -> any any (tcpv4-csum:invalid; sid:1;)");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "1"); /* all checksums of the rig are 0 */
    ck_assert_int_eq(rig.packet.drop_reason, DROP_REASON_STREAM_ERROR);
    ck_assert_ptr_null(rig.packet.flow->tcp);
}
END_TEST

START_TEST(without_validation_a_wrong_checksum_is_no_matter)
{
    rig.options.checksums = CHECKSUMS_CHECK;
    rig.options.stream.checksum_validation = false;
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "Evil");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Word"), "1");
}
END_TEST

/* --- Tunnels -------------------------------------------------------------------------------------- */

/* Sends the last segment again, in an IPv4 tunnel. */
static const char *send_in_tunnel(size_t length)
{
    memmove(rig.bytes + 20, rig.bytes, length);
    rig_put_ip(RIG_CLIENT, 4, 20 + length);
    return rig_judge(20 + length);
}

START_TEST(the_drop_of_what_is_inside_is_that_of_the_packet)
{
    rig_open("drop tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0);
    send_in_tunnel(RIG_HEADERS);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    rig_segment(RIG_SERVER, TCP_ACK, 0, "........", 8);
    memcpy(rig.bytes + RIG_HEADERS, "EvilWord", 8);
    send_in_tunnel(RIG_HEADERS + 8);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert_int_eq(rig.packet.drop_reason, DROP_REASON_TUNNEL);
    ck_assert_uint_eq(rig.pipeline.counters.drop_reason[DROP_REASON_TUNNEL], 1);
}
END_TEST

/* The kernel has verified the checksum of the outer packet, but not that of the inner one. */
START_TEST(what_is_inside_is_not_verified_by_the_kernel)
{
    rig.options.checksums = CHECKSUMS_CHECK;
    rig.options.kernel_checksums = true;
    rig.options.policy.exceptions[EXCEPTION_STREAM_INVALID] = EXCEPTION_DROP_PACKET;
    rig_open("");
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    send_in_tunnel(RIG_HEADERS);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* --- Replaced bytes ------------------------------------------------------------------------------- */

/* Bytes are replaced in both modes of stream tracking. */
START_TEST(bytes_are_replaced_however_streams_are_followed)
{
    rig.options.stream.inline_mode = _i;
    rig_open("alert tcp-pkt any any -> any any (content:\"EvilWord\"; replace:\"GoodWord\"; sid:1;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    ck_assert_ptr_nonnull(rig.packet.new_data);
    ck_assert_mem_eq(rig.packet.new_data + RIG_HEADERS, "GoodWord", 8);
}
END_TEST

START_TEST(passive_no_bytes_are_replaced)
{
    rig_passive();
    rig_open("alert tcp-pkt any any -> any any (content:\"EvilWord\"; replace:\"GoodWord\"; sid:1;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    ck_assert_ptr_null(rig.packet.new_data);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline");

    tcase_add_checked_fixture(tcase, rig_setup, teardown);
    tcase_add_test(tcase, passive_what_is_left_is_inspected_at_the_end);
    tcase_add_test(tcase, what_was_inspected_is_not_inspected_again);
    tcase_add_test(tcase, inline_what_is_behind_a_hole_is_inspected_at_the_end);
    tcase_add_test(tcase, what_is_left_of_a_closed_connection_is_inspected);
    tcase_add_test(tcase, a_dropped_flow_is_not_inspected_at_the_end);
    tcase_add_test(tcase, flows_that_end_are_told);
    tcase_add_test(tcase, a_flow_whose_time_is_over_ends);
    tcase_add_test(tcase, older_connections_are_picked_up_for_a_while);
    tcase_add_test(tcase, connections_that_conntrack_knows_are_picked_up);
    tcase_add_test(tcase, without_a_session_packets_are_inspected);
    tcase_add_test(tcase, a_wrong_checksum_keeps_a_segment_out_of_its_stream);
    tcase_add_test(tcase, without_validation_a_wrong_checksum_is_no_matter);
    tcase_add_test(tcase, the_drop_of_what_is_inside_is_that_of_the_packet);
    tcase_add_test(tcase, what_is_inside_is_not_verified_by_the_kernel);
    tcase_add_loop_test(tcase, bytes_are_replaced_however_streams_are_followed, 0, 2);
    tcase_add_test(tcase, passive_no_bytes_are_replaced);
    return rig_run(tcase, "pipeline");
}
