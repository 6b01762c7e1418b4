/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rules need acknowledgments: TCP segments without payload and with no flag but ACK. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "detect_rig.h"

static const struct {
    const char *protocol, *options;
    bool needs;
} rows[] = {
    /* contents, buffers and transactions */
    { "tcp", "content:\"a\";", false },
    { "tcp", "content:!\"a\";", false },
    { "tcp-pkt", "content:\"a\"; depth:1;", false },
    { "tcp", "content:\"a\"; flags:A; ttl:>1; window:5;", false },
    { "tcp", "isdataat:10;", false },
    { "http", "http.uri; content:\"a\";", false },
    { "tls", "tls.sni; content:\"a\"; flowbits:isset,x;", false },
    { "http", "filesize:>1;", false },
    { "tcp", "dsize:>0;", false },
    { "tcp", "dsize:1<>5; flow:established;", false },
    /* conditions that an acknowledgment can meet */
    { "tcp", "dsize:0;", true },
    { "tcp", "dsize:<5;", true },
    { "tcp", "flags:A;", true },
    { "tcp", "flags:A+;", true },
    { "tcp", "flags:!S;", true },
    { "tcp", "flags:A; dsize:0; flow:established,to_server;", true },
    { "tcp", "ack:1;", true },
    { "tcp", "seq:1;", true },
    { "tcp", "window:1;", true },
    { "tcp", "ttl:>1;", true },
    { "tcp", "tos:1;", true },
    { "tcp", "id:1;", true },
    { "ip", "ttl:1; ip_proto:6;", true },
    { "ip", "fragbits:D;", true },
    { "tcp", "tcp.hdr; content:\"a\";", true },
    { "ip", "ipv4.hdr; content:\"a\";", true },
    { "tcp", "stream_size:server,>,1;", true },
    { "tcp", "flow.age:>1;", true },
    { "tcp", "flowbits:isset,x;", true },
    { "tcp", "flow:established;", true },
    { "tcp", "tcpv4-csum:invalid;", true },
    { "tcp", "app-layer-protocol:http; flow:established;", true },
    { "http", "", true },
    { "pkthdr", "ttl:>1;", true },
    /* conditions that it cannot meet */
    { "tcp", "flags:S;", false },
    { "tcp", "flags:SA;", false },
    { "tcp", "flags:F+;", false },
    { "tcp", "flags:PA;", false },
    { "tcp", "flags:0;", false },
    { "tcp", "flow:not_established;", false },
    { "ip", "ipopts:any;", false },
    { "ip", "fragbits:R+;", false },
    { "ip", "sameip;", false }, /* connections between equal addresses are not offloaded */
    { "udp", "ttl:>1;", false },
    { "icmp", "itype:8;", false },
    { "ip", "ip_proto:17; ttl:>1;", false },
    /* evaluated for the first packets of a flow, or when the protocol is known */
    { "ip", "", false },
    { "tcp", "flowbits:set,x;", false },
    { "tcp", "app-layer-protocol:http;", false },
    /* counts of packets */
    { "tcp", "content:\"a\"; flow.pkts:toserver,>5;", true },
    { "tcp", "content:\"a\"; flow.pkts_toclient:>5;", true },
    { "http", "http.uri; content:\"a\"; flow.bytes_toserver:>5;", true },
    { "udp", "content:\"a\"; flow.pkts:either,>5;", false },
    { "tcp", "content:\"a\"; tag:host,10,packets,src;", true },
    { "tcp", "content:\"a\"; tag:session,10,packets;", false },
    { "tcp", "content:\"a\"; threshold:type limit, track by_src, count 1, seconds 10;", false },
    /* events */
    { "tcp", "stream-event:pkt_invalid_ack;", true },
    { "tcp", "stream-event:pkt_invalid_timestamp;", true },
    { "tcp", "stream-event:est_packet_out_of_window;", true },
    { "tcp", "stream-event:pkt_spurious_retransmission;", true },
    { "tcp", "stream-event:reassembly_seq_gap;", true },
    { "tcp", "stream-event:fin_invalid_ack; content:\"a\";", true },
    { "tcp", "stream-event:3whs_ack_in_wrong_dir;", false },
    { "tcp", "stream-event:4whs_invalid_ack;", false },
    { "tcp", "stream-event:est_synack_resend;", false },
    { "tcp", "stream-event:reassembly_overlap_different_data;", false },
    { "ip", "decode-event:tcp.opt_invalid_len;", true },
    { "pkthdr", "decode-event:tcp.opt_duplicate;", true },
    { "pkthdr", "decode-event:tcp.hlen_too_small;", false },
    { "pkthdr", "decode-event:ipv4.opt_invalid;", false },
    { "pkthdr", "decode-event:ipv6.trunc_pkt;", false },
    { "udp", "decode-event:udp.pkt_too_small;", false },
    { "tcp", "app-layer-event:http.missing_host_header;", false },
};

START_TEST(rules_need_acknowledgments)
{
    char text[512];

    snprintf(text, sizeof(text), "alert %s any any -> any any (%s sid:1;)", rows[_i].protocol, rows[_i].options);
    detect_rig_load(text);
    ck_assert_uint_eq(rule_list_count(ruleset_rules(detect_rig_ruleset)), 1);
    ck_assert_msg((ruleset_acknowledgment_count(detect_rig_ruleset) == 1) == rows[_i].needs, "%s", text);
    if (rows[_i].needs)
        ck_assert_uint_eq(ruleset_acknowledgment_rule(detect_rig_ruleset, 0)->sid, 1);
    detect_rig_unload();
}
END_TEST

/* Each rule is listed, in the order of evaluation. */
START_TEST(all_rules_are_listed)
{
    detect_rig_load("alert tcp any any -> any any (flags:A; sid:1;)\n"
                    "alert tcp any any -> any any (content:\"a\"; sid:2;)\n"
                    "drop tcp any any -> any any (dsize:0; sid:3;)\n");
    ck_assert_uint_eq(ruleset_acknowledgment_count(detect_rig_ruleset), 2);
    ck_assert_uint_eq(ruleset_acknowledgment_rule(detect_rig_ruleset, 0)->sid, 3);
    ck_assert_uint_eq(ruleset_acknowledgment_rule(detect_rig_ruleset, 1)->sid, 1);
    detect_rig_unload();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("detect_acknowledgment");
    TCase *tc = tcase_create("acknowledgments");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tc, rules_need_acknowledgments, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tc, all_rules_are_listed);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
