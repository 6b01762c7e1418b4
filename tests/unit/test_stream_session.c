/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP sessions. tests/lib/stream_rig.h describes the scripts. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "stream_rig.h"

#define HANDSHAKE "> S 0,0", "< SA 0,1", "> A 1,1"

enum option {
    PASSIVE = 1,
    MIDSTREAM = 2,
    ASYNC = 4,
    LINUX_HOST = 8,
    REWRITE = 16,
    SHALLOW = 32,
    WRAP = 64,
    URGENT_INLINE = 128,
    URGENT_DROP = 256,
    SOLARIS_HOST = 512
};

static const struct test_case {
    const char *name;
    unsigned options;
    const char *script[24];
} cases[] = {
    /* --- handshakes ------------------------------------------------------------------------------- */
    { "handshake and data",
      0,
      { "> S 0,0 | syn_sent", "< SA 0,1 | syn_recv", "> A 1,1 | established", "> PA 1,1 'hello' | established c:hello",
        "< A 1,6 | established", "< PA 1,6 'world' | established s:world", "> A 6,6 | established" } },
    { "data with the handshake's last ACK", 0, { "> S 0,0", "< SA 0,1", "> PA 1,1 'GET' | established c:GET" } },
    { "SYN/ACK with a wrong acknowledgment",
      0,
      { "> S 0,0", "< SA 0,2 | syn_sent 3whs_synack_with_wrong_ack", "< SA 0,1 | syn_recv" } },
    { "SYN/ACK in the wrong direction",
      0,
      { "> S 0,0", "> SA 0,1 | syn_sent 3whs_synack_in_wrong_direction =invalid" } },
    { "SYN again",
      0,
      { "> S 0,0 | syn_sent", "> S 0,0 | syn_sent", "< SA 0,1 | syn_recv", "> S 0,0 | syn_recv",
        "> A 1,1 | established" } },
    { "SYN on the ports of a connection that only the server remembers",
      0,
      { "> S 9000,0 ts=200/0 | syn_sent", "< A 500,77 ts=90/5 | syn_sent", "> R 77,0 | syn_sent",
        "> S 9000,0 ts=300/0 | syn_sent", "< SA 600,9001 ts=91/300 | syn_recv",
        "> A 9001,601 ts=301/91 | established" } },
    { "a reset that answers nothing",
      0,
      { "> S 9000,0 ts=200/0", "> R 77,0 | syn_sent =invalid", "< A 500,77 ts=90/5", "> R 77,0 | syn_sent",
        "> RA 77,5 | syn_sent pkt_invalid_ack rst_invalid_ack =invalid" } },
    { "SYN anew with another number",
      0,
      { "> S 0,0", "> S 50,0 | syn_sent", "< SA 0,51 | syn_recv", "> A 51,1 | established" } },
    { "a client's reset before the server has answered the SYN",
      0,
      { "> S 0,0", "> R 1,0 | syn_sent", "< SA 0,1 | syn_recv", "> A 1,1 | established",
        "> PA 1,1 'abc' | established c:abc" } },
    { "a SYN/ACK after a reset that the client did not believe",
      PASSIVE,
      { "> S 0,0", "< RA 0,1 | closed", "< SA 5,1 | syn_recv suspected_rst_inject", "> A 1,6 | established" } },
    { "simultaneous open in which the server's SYN/ACK is first",
      0,
      { "> S 0,0", "< S 0,0 | syn_sent", "< SA 0,1 | syn_recv", "> SA 0,1 | syn_recv 3whs_synack_toserver_on_syn_recv",
        "< PA 1,1 'abc' | established s:abc" } },
    { "the server side of an asymmetric route",
      ASYNC,
      { "< SA 0,1 | syn_recv =midstream", "< PA 1,1 'abc' | established s:abc",
        "< PA 4,9 'def' | established s:def" } },
    { "the client side of an asymmetric route",
      0,
      { "> S 0,0", "> A 1,1 | established", "> PA 1,1 'abc' | established c:abc",
        "> PA 4,9 'def' | established c:def" } },
    { "SYN with another number on SYN_RECV",
      0,
      { "> S 0,0", "< SA 0,1", "> S 9,0 | syn_recv 3whs_syn_resend_diff_seq_on_syn_recv" } },
    { "SYN to the client on SYN_RECV",
      0,
      { "> S 0,0", "< SA 0,1", "< S 9,0 | syn_recv 3whs_syn_toclient_on_syn_recv" } },
    { "SYN/ACK to the server on SYN_RECV",
      0,
      { "> S 0,0", "< SA 0,1", "> SA 5,1 | syn_recv 3whs_synack_toserver_on_syn_recv =invalid",
        "> SA 0,1 | syn_recv 3whs_synack_toserver_on_syn_recv" } },
    { "SYN/ACK again with another acknowledgment",
      0,
      { "> S 0,0", "< SA 0,1", "< SA 0,7 | syn_recv 3whs_synack_resend_with_different_ack =invalid" } },
    { "several SYN/ACKs: the acknowledged one counts",
      0,
      { "> S 0,0", "< SA 0,1", "< SA 100,1 | syn_recv", "< SA 200,1 | syn_recv", "> A 1,101 | established",
        "< PA 101,1 'x' | established s:x" } },
    { "SYN/ACK flood",
      0,
      { "> S 0,0", "< SA 0,1", "< SA 10,1 | syn_recv", "< SA 20,1 | syn_recv", "< SA 30,1 | syn_recv",
        "< SA 40,1 | syn_recv", "< SA 50,1 | syn_recv", "< SA 50,1 | syn_recv",
        "< SA 60,1 | syn_recv 3whs_synack_flood =invalid" } },
    { "SYN flood in a session",
      0,
      { "> S 0,0 ts=1/0", "> S 0,0 ts=2/0", "> S 0,0 ts=3/0", "> S 0,0 ts=4/0", "> S 0,0 ts=5/0", "> S 0,0 ts=6/0",
        "> S 0,0 ts=7/0", "> S 0,0 ts=8/0", "> S 0,0 ts=9/0", "> S 0,0 ts=10/0", "> S 0,0 ts=11/0 | syn_sent",
        "> S 0,0 ts=12/0 | syn_sent 3whs_syn_flood" } },
    { "SYN flood with other numbers, and the answer to the last one",
      0,
      { "> S 0,0 ts=1/0", "> S 100,0 ts=2/0", "> S 200,0 ts=3/0", "> S 300,0 ts=4/0", "> S 400,0 ts=5/0",
        "> S 500,0 ts=6/0", "> S 600,0 ts=7/0", "> S 700,0 ts=8/0", "> S 800,0 ts=9/0", "> S 900,0 ts=10/0",
        "> S 1000,0 ts=11/0 | syn_sent", "> S 1100,0 ts=12/0 | syn_sent 3whs_syn_flood",
        "> S 1100,0 ts=13/0 | syn_sent 3whs_syn_flood", "< SA 0,1101 ts=7/11 | syn_sent pkt_invalid_timestamp =invalid",
        "< SA 0,1101 ts=7/12 | syn_recv", "> A 1101,1 ts=14/7 | established" } },
    { "the SYN/ACK tells which SYN it answers",
      0,
      { "> S 0,0 ts=100/0", "> S 0,0 ts=200/0", "< SA 0,1 ts=7/150 | syn_sent pkt_invalid_timestamp =invalid",
        "< SA 0,1 ts=7/100 | syn_recv", "> A 1,1 ts=101/7 | established" } },
    { "SYN/ACK that echoes nothing of ours",
      0,
      { "> S 0,0", "< SA 0,1 ts=7/100 | syn_recv pkt_invalid_timestamp", "> A 1,1 | established",
        "< PA 1,1 'abc' ts=8/100 | established s:abc" } },
    { "right number, wrong acknowledgment",
      0,
      { "> S 0,0", "< SA 0,1", "> A 1,9 | syn_recv 3whs_right_seq_wrong_ack_evasion =invalid",
        "> A 1,1 | established" } },
    { "wrong number, wrong acknowledgment",
      0,
      { "> S 0,0", "< SA 0,1", "> A 3,9 | syn_recv 3whs_wrong_seq_wrong_ack =invalid" } },
    { "data of the server before the last ACK, inline",
      0,
      { "> S 0,0", "< SA 0,1", "< PA 1,1 'inject' | syn_recv 3whs_ack_data_inject =invalid",
        "< A 1,1 | syn_recv 3whs_ack_in_wrong_dir" } },
    { "data of the server before the last ACK, passive",
      PASSIVE,
      { "> S 0,0", "< SA 0,1", "< PA 1,1 'data' | established" } },
    { "out of order at once",
      0,
      { "> S 0,0", "< SA 0,1", "> PA 4,1 'def' | established", "> PA 1,1 'abc' | established c:abcdef" } },
    { "four ways",
      0,
      { "> S 0,0", "< S 0,0 | syn_sent", "> SA 0,1 | syn_recv", "< A 1,1 | established",
        "> PA 1,1 'abc' | established c:abc", "< PA 1,4 'def' | established s:def" } },
    { "four ways, wrong numbers",
      0,
      { "> S 0,0", "< S 0,0", "> SA 0,3 | syn_sent 4whs_synack_with_wrong_ack =invalid",
        "> SA 5,1 | syn_sent 4whs_synack_with_wrong_syn =invalid", "> SA 0,1 | syn_recv",
        "< A 2,1 | syn_recv 4whs_wrong_seq =invalid",
        "< A 1,99999 | syn_recv pkt_invalid_ack 4whs_invalid_ack =invalid", "< A 1,1 | established" } },
    /* --- without a beginning ---------------------------------------------------------------------- */
    { "midstream not allowed",
      0,
      { "> PA 1,1 'abc' | none =midstream", "< A 1,4 | none =midstream", "> S 0,0 | syn_sent" } },
    { "midstream",
      MIDSTREAM,
      { "> PA 100,100 'abc' | established =midstream c:abc", "< PA 100,103 'x' | established s:x",
        "> FA 103,101 | close_wait" } },
    { "midstream, acknowledging what came before",
      MIDSTREAM,
      { "> A 100,100 | established =midstream", "> A 100,5000 | established",
        "< PA 5000,100 'x' | established reassembly_seq_gap gap s:x", "> A 100,5001 | established",
        "> PA 100,4000000000 'y' | established pkt_invalid_ack est_invalid_ack =invalid" } },
    { "midstream with a FIN", MIDSTREAM, { "> FA 100,100 'abc' | fin_wait1 =midstream c:abc" } },
    { "midstream from a SYN/ACK: the flow turns",
      MIDSTREAM,
      { "< SA 0,1 | syn_recv =midstream", "> A 1,1 | established", "> PA 1,1 'abc' | established c:abc",
        "< PA 1,4 'def' | established s:def" } },
    { "FIN and RST without a session",
      0,
      { "> FA 1,1 | none fin_but_no_session =midstream", "> R 1,0 | none rst_but_no_session =invalid" } },
    { "one side alone",
      ASYNC,
      { "> S 0,0", "> A 1,1 | established", "> PA 1,1 'abc' | established c:abc",
        "> PA 4,1 'def' | established c:def" } },
    { "one side alone, wrong number", ASYNC, { "> S 0,0", "> A 7,1 | syn_sent 3whs_async_wrong_seq =invalid" } },
    { "one side alone, passive: what is sent counts as acknowledged",
      ASYNC | PASSIVE,
      { "> S 0,0", "> A 1,1", "> PA 1,1 'abc'", "> PA 4,1 'def'", "> FA 7,1 | close_wait c:abcdef" } },
    /* --- resets ----------------------------------------------------------------------------------- */
    { "RST in its place", 0, { HANDSHAKE, "> R 1,0 | closed" } },
    { "RST of a host that knows nothing: at what was acknowledged",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "< PA 1,1 'inflight'", "< R 1,0 | closed" } },
    { "RST after FIN", 0, { HANDSHAKE, "> FA 1,1 | close_wait", "> R 2,0 | closed" } },
    { "RST elsewhere",
      0,
      { HANDSHAKE, "> R 2,0 | established =invalid", "> RA 0,1 | established =invalid",
        "> PA 1,1 'a' | established c:a" } },
    { "RST with an acknowledged sequence number: ignored", 0, { HANDSHAKE, "> R 0,0 | established" } },
    { "RST within the window, as Linux believes it", LINUX_HOST, { HANDSHAKE, "> R 2,0 | closed" } },
    { "RST beyond the window, for Linux", LINUX_HOST, { HANDSHAKE, "> R 20000,0 | established =invalid" } },
    { "RST with a wrong acknowledgment",
      0,
      { HANDSHAKE, "< RA 1,30000 | established pkt_invalid_ack rst_invalid_ack =invalid" } },
    { "RST with data: no part of the stream", 0, { HANDSHAKE, "< RA 1,1 'sorry' | closed rst_with_data" } },
    { "RST as answer to a SYN", 0, { "> S 0,0", "< RA 0,1 | closed" } },
    { "RST that answers no SYN",
      0,
      { "> S 0,0", "< RA 0,7 | syn_sent pkt_invalid_ack rst_invalid_ack =invalid", "< R 0,0 | syn_sent =invalid",
        "< SA 0,1 | syn_recv" } },
    { "the server goes on after a RST",
      0,
      { "> S 0,0", "< RA 0,1 | closed", "< SA 0,1 | syn_recv suspected_rst_inject", "> A 1,1 | established" } },
    { "a signed RST may not be believed",
      0,
      { HANDSHAKE, "> R 1,0 md5 | closed", "> PA 1,1 'abc' | established suspected_rst_inject c:abc" } },
    { "new data after a RST",
      0,
      { HANDSHAKE, "> R 1,0 | closed", "> PA 1,1 'abc' | closed =invalid", "> A 1,1 | closed" } },
    { "new data after a RST, passive", PASSIVE, { HANDSHAKE, "> R 1,0 | closed", "> PA 1,1 'abc' | closed" } },
    { "RST on SYN_RECV after an attempt at evasion, Linux",
      LINUX_HOST,
      { "> S 0,0", "< SA 0,1", "> A 1,9", "< R 1,0 | syn_recv", "> A 1,1 | established" } },
    { "RST on SYN_RECV after an attempt at evasion, others",
      0,
      { "> S 0,0", "< SA 0,1", "> A 1,9", "< R 1,0 | closed" } },
    /* --- timestamps ------------------------------------------------------------------------------- */
    { "old timestamp",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=50/1000", "> A 1,1 ts=1001/50",
        "> PA 1,1 ts=4294867200/50 'evil' | established pkt_invalid_timestamp =invalid",
        "> PA 1,1 ts=1002/50 'good' | established c:good" } },
    { "timestamp one behind",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=50/1000", "> A 1,1 ts=1001/50",
        "> PA 1,1 ts=1000/50 'ok' | established c:ok" } },
    { "timestamps after a long silence",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=50/1000", "> A 1,1 ts=1001/50",
        "> PA 1,1 ts=900/50 'a' t=3000000 | established c:a" } },
    { "zero timestamp: BSD drops it",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=50/1000", "> A 1,1 ts=1001/50",
        "> PA 1,1 ts=0/50 'a' | established pkt_invalid_timestamp =invalid" } },
    { "no timestamp ends them for Solaris",
      SOLARIS_HOST,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=50/1000", "> A 1,1 ts=1001/50", "> PA 1,1 'a' | established c:a",
        "> PA 2,1 ts=5/50 'b' | established c:b" } },
    { "overtaken: an acknowledgment, and a segment that was sent again",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=2000/1000", "> A 1,1 ts=1000/2000",
        "> PA 1,1 'abc' ts=1500/2000 | established c:abc", "> A 4,1 ts=1200/2000 | established pkt_invalid_timestamp",
        "> PA 1,1 'abc' ts=1200/2000 | established pkt_invalid_timestamp",
        "> PA 1,1 'abX' ts=1200/2000 | established pkt_invalid_timestamp reassembly_overlap_different_data =drop",
        "> PA 4,1 'def' ts=1200/2000 | established pkt_invalid_timestamp c:def",
        "> PA 7,1 'ghi' ts=1400/2000 | established pkt_invalid_timestamp c:ghi",
        "> FA 10,1 ts=1300/2000 | close_wait pkt_invalid_timestamp" } },
    { "overtaken: the last of the data, by the acknowledgment of what was sent back",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=2000/1000", "> A 1,1 ts=1000/2000",
        "> PA 1,1 'abc' ts=1500/2000 | established c:abc", "< A 1,4 ts=2500/1500", "> A 4,1 ts=1800/2500",
        "> FPA 4,1 'd' ts=1700/2000 | close_wait pkt_invalid_timestamp c:d" } },
    { "older than what is overtaken can be",
      0,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=2000/1000", "> A 1,1 ts=90000/2000",
        "> PA 1,1 'abc' ts=24464/2000 | established pkt_invalid_timestamp c:abc",
        "> PA 4,1 'def' ts=24463/2000 | established pkt_invalid_timestamp =invalid" } },
    { "overtaken, passive",
      PASSIVE,
      { "> S 0,0 ts=1000/0", "< SA 0,1 ts=2000/1000", "> A 1,1 ts=1500/2000",
        "> PA 1,1 'abc' ts=1200/2000 | established pkt_invalid_timestamp" } },
    { "timestamps only when both use them", 0, { "> S 0,0 ts=1000/0", "< SA 0,1", "> A 1,1 ts=5/0 | established" } },
    /* --- window ----------------------------------------------------------------------------------- */
    { "overtaken by an acknowledgment that makes the window small",
      0,
      { HANDSHAKE, "> PA 1,1 'abcdefgh' | established c:abcdefgh", "< A 1,9 win=2 | established",
        "< PA 1,1 'x' | established s:x" } },
    { "beyond the window",
      0,
      { "> S 0,0", "< SA 0,1 win=4", "> A 1,1", "> PA 1,1 'abcd' | established c:abcd",
        "> PA 5,1 'e' | established est_packet_out_of_window =invalid", "< A 1,5 win=1 | established",
        "> PA 5,1 'e' | established c:e" } },
    { "scaled window",
      0,
      { "> S 0,0 ws=1", "< SA 0,1 win=1 ws=2", "> A 1,1", "< A 1,1 win=2",
        "> PA 1,1 'abcdefgh' | established c:abcdefgh",
        "> PA 9,1 'i' | established est_packet_out_of_window =invalid" } },
    { "no scale when one side has none",
      0,
      { "> S 0,0", "< SA 0,1 win=1 ws=2", "> A 1,1", "< A 1,1 win=2",
        "> PA 1,1 'abc' | established est_packet_out_of_window =invalid" } },
    { "selective acknowledgment widens it",
      0,
      { "> S 0,0 sackok", "< SA 0,1 win=4 sackok", "> A 1,1", "> PA 3,1 'cd' | established",
        "< A 1,1 win=4 sack=3-5 | established", "> PA 5,1 'ef' | established",
        "> PA 1,1 'ab' | established c:abcdef" } },
    { "probe of a closed window",
      0,
      { "> S 0,0", "< SA 0,1 win=2", "> A 1,1", "> PA 1,1 'ab'", "< A 1,3 win=0", "> PA 3,1 'c' | established c:c",
        "< A 1,3 win=0 | established", "> PA 3,1 'c' | established", "< A 1,4 win=0 | established est_ack_zwp_data" } },
    { "bad window update",
      0,
      { HANDSHAKE, "< PA 20,20 'x' win=100 | established pkt_bad_window_update =invalid",
        "< A 20,20 win=100 | established pkt_bad_window_update", "< PA 1,1 'y' | established s:y" } },
    { "acknowledgment of what was never sent",
      0,
      { HANDSHAKE, "< A 1,30000 | established pkt_invalid_ack est_invalid_ack =invalid" } },
    { "segment before the acknowledged",
      PASSIVE,
      { HANDSHAKE, "> PA 1,1 'abcdef'", "< A 1,7",
        "> PA 1,1 'abc' | established pkt_spurious_retransmission est_pkt_before_last_ack" } },
    { "without ACK", 0, { HANDSHAKE, "> P 1,0 'abc' | established =invalid", "> P 1,7 | established pkt_broken_ack" } },
    { "wrong checksum",
      0,
      { HANDSHAKE, "> PA 1,1 'evil' badsum | established =invalid", "> PA 1,1 'good' | established c:good",
        "> R 5,0 badsum | established =invalid" } },
    /* --- data ------------------------------------------------------------------------------------- */
    { "out of order",
      0,
      { HANDSHAKE, "> PA 4,1 'def' | established", "> PA 7,1 'ghi' | established",
        "> PA 1,1 'abc' | established c:abcdefghi" } },
    { "sent again", 0, { HANDSHAKE, "> PA 1,1 'abc' | established c:abc", "> PA 1,1 'abcdef' | established c:def" } },
    { "sent again with other bytes",
      0,
      { HANDSHAKE, "> PA 1,1 'abc' | established c:abc",
        "> PA 1,1 'abX' | established reassembly_overlap_different_data =drop", "> PA 4,1 'd' | established c:d" } },
    { "what a contradiction brings is not kept",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "> PA 3,1 'Xdef' | established reassembly_overlap_different_data =drop",
        "> PA 4,1 'DEF' | established c:DEF" } },
    { "other bytes, passive: an event",
      PASSIVE,
      { HANDSHAKE, "> PA 1,1 'abc'", "> PA 1,1 'abX' | established reassembly_overlap_different_data" } },
    { "passive: acknowledged bytes, at the end",
      PASSIVE,
      { HANDSHAKE, "> PA 1,1 'abc' | established", "< A 1,4 | established", "> PA 4,1 'def' | established",
        "< FA 1,7 | fin_wait1", "> FA 7,2 | time_wait", "> R 7,0 | closed c:abcdef" } },
    { "gap",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "> PA 7,1 'ghi' | established",
        "< A 1,10 | established reassembly_seq_gap gap c:ghi",
        "> PA 4,1 'def' | established pkt_spurious_retransmission est_pkt_before_last_ack "
        "reassembly_segment_before_base_seq" } },
    { "acknowledged before it was seen is no gap",
      0,
      { HANDSHAKE, "< A 1,4 | established", "> PA 1,1 'abc' | established pkt_spurious_retransmission c:abc" } },
    { "depth",
      SHALLOW,
      { HANDSHAKE, "> PA 1,1 'abcd' | established c:abcd",
        "> PA 5,1 'efgh' | established reassembly_depth_reached c:ef", "> PA 9,1 'ijk' | established" } },
    { "numbers wrap",
      WRAP,
      { HANDSHAKE, "> PA 1,1 'abcdef' | established c:abcdef", "> PA 7,1 'ghi' | established c:ghi", "< A 1,10",
        "< PA 1,10 '0123456789' | established s:0123456789", "> FA 10,11 | close_wait", "< FA 11,11 | last_ack",
        "> A 11,12 | closed" } },
    /* --- urgent data ------------------------------------------------------------------------------ */
    { "the urgent byte is out of band",
      0,
      { HANDSHAKE, "> PAU 1,1 'malXicious' urg=4 | established c:malicious", "> PA 11,1 '!' | established c:!" } },
    { "two urgent bytes: the last one is",
      0,
      { HANDSHAKE, "> PA 1,1 'mal'", "> PAU 4,1 'XY' urg=2 | established c:X",
        "> PA 6,1 'icious' | established c:icious" } },
    { "urgent data inline", URGENT_INLINE, { HANDSHAKE, "> PAU 1,1 'malXicious' urg=4 | established c:malXicious" } },
    { "urgent data dropped",
      URGENT_DROP,
      { HANDSHAKE, "> PAU 1,1 'abc' urg=2 | established =drop", "> PA 1,1 'abc' | established c:abc" } },
    { "the urgent byte sent again",
      0,
      { HANDSHAKE, "> PAU 1,1 'abXcd' urg=3 | established c:abcd", "> PA 1,1 'abYcdef' | established c:ef" } },
    { "urgent pointer of zero, BSD", 0, { HANDSHAKE, "> PAU 1,1 'abc' urg=0 | established c:abc" } },
    { "urgent pointer of zero, Linux", LINUX_HOST, { HANDSHAKE, "> PAU 1,1 'Xabc' urg=0 | established c:abc" } },
    { "urgent byte announced, Linux",
      LINUX_HOST,
      { HANDSHAKE, "> PAU 1,1 'ab' urg=4 | established c:ab", "> PA 3,1 'cXd' | established c:cd" } },
    /* --- keep-alives ------------------------------------------------------------------------------ */
    { "keep-alive",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "< A 1,4", "> A 3,1 | established", "< A 1,4 | established",
        "> A 3,1 'x' | established", "< A 1,4", "> PA 4,1 'd' | established c:d" } },
    { "keep-alive with the byte of a segment that got lost",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "> A 3,1 'X' | established reassembly_overlap_different_data =drop" } },
    /* --- SYN and SYN/ACK later -------------------------------------------------------------------- */
    { "SYN/ACK again",
      0,
      { HANDSHAKE, "< SA 0,1 | established", "< PA 1,1 'x'", "> A 1,2",
        "< SA 0,1 | established est_synack_resend =invalid",
        "< SA 9,1 | established est_synack_resend_with_diff_seq =invalid",
        "< SA 0,9 | established est_synack_resend_with_different_ack =invalid",
        "> SA 0,1 | established est_synack_toserver", "> SA 0,2 | established est_synack_toserver =invalid" } },
    { "SYN again, established",
      0,
      { HANDSHAKE, "> S 0,0 | established est_syn_resend", "> S 7,0 | established est_syn_resend_diff_seq",
        "< S 7,0 | established est_syn_toclient", "> S 0,0 'abc' | established est_syn_resend =invalid",
        "< PA 1,1 'x' | established s:x", "> S 0,0 | established est_syn_resend" } },
    /* --- ends ------------------------------------------------------------------------------------- */
    { "the client closes",
      0,
      { HANDSHAKE, "> FA 1,1 | close_wait", "< A 1,2 | close_wait", "< PA 1,2 'bye' | close_wait s:bye",
        "> A 2,4 | close_wait", "< FA 4,2 | last_ack", "> A 2,5 | closed" } },
    { "the server closes",
      0,
      { HANDSHAKE, "< FA 1,1 | fin_wait1", "> A 1,2 | fin_wait2", "> PA 1,2 'bye' | fin_wait2 c:bye",
        "> FA 4,2 | time_wait", "< A 2,5 | closed" } },
    { "the server closes, answered by a FIN at once",
      0,
      { HANDSHAKE, "< FA 1,1 | fin_wait1", "> FA 1,2 | time_wait", "< A 2,2 | closed" } },
    { "FIN with data",
      0,
      { HANDSHAKE, "> FA 1,1 'abc' | close_wait c:abc", "< FA 1,5 'xyz' | last_ack s:xyz", "> A 5,5 | closed" } },
    { "both at once, without ACK",
      0,
      { HANDSHAKE, "< FA 1,1 | fin_wait1", "> F 1,0 | closing", "> A 2,2 | time_wait", "> A 1,2 | time_wait" } },
    { "FIN sent again together with data that got lost",
      0,
      { HANDSHAKE, "< PA 1,1 'abc' | established s:abc", "> FA 1,1 | close_wait", "< PA 4,2 'def' | close_wait s:def",
        "< FA 1,2 'abcdefg' | last_ack s:g", "> A 2,9 | closed" } },
    { "the same of the server first",
      0,
      { HANDSHAKE, "< PA 1,1 'abc'", "> A 1,3 | established", "< FA 1,1 'abcdef' | fin_wait1 s:def",
        "> A 1,8 | fin_wait2" } },
    { "FIN of a session picked up",
      MIDSTREAM,
      { "> A 1,1 | established =midstream", "< FA 1,1 'abc' | fin_wait1 s:abc" } },
    { "picked up by what acknowledges the server's FIN, which has been sent again by then",
      MIDSTREAM,
      { "> A 4,4 | established =midstream", "< FA 3,4 | established",
        "< FA 1,4 'ab' | established pkt_spurious_retransmission", "> FA 4,4 | close_wait", "< FA 3,4 | close_wait",
        "< A 4,5 | close_wait", "< FA 3,5 | close_wait" } },
    { "the same of the client's",
      MIDSTREAM,
      { "> A 4,4 | established =midstream", "< A 4,4 | established", "> FA 3,4 | established", "< FA 4,4 | fin_wait1",
        "> FA 3,4 | fin_wait1", "> A 4,5 | fin_wait2", "> FA 3,5 | fin_wait2", "> FA 4,5 | time_wait" } },
    { "half closed: much data follows",
      0,
      { "> S 0,0 win=4", "< SA 0,1 win=4", "> A 1,1 win=4", "> FA 1,1 win=4 | close_wait",
        "< PA 1,2 'abcd' | close_wait s:abcd", "> A 2,5 win=4 | close_wait", "< PA 5,2 'efgh' | close_wait s:efgh",
        "> A 2,9 win=4 | close_wait", "< FA 9,2 'ijkl' | last_ack s:ijkl", "> A 2,11 win=4 | last_ack",
        "< PA 9,2 'ijkl' | last_ack", "> A 2,14 win=4 | closed" } },
    { "the last data is lost after both have closed",
      0,
      { HANDSHAKE, "< FA 1,1 | fin_wait1", "> PA 1,2 'abc' | fin_wait2 c:abc", "> FA 4,2 | time_wait",
        "< A 2,1 | time_wait", "> FA 1,2 'abc' | time_wait", "< A 2,5 | closed",
        "> FA 1,2 'abc' | closed pkt_spurious_retransmission" } },
    { "a window that shrinks leaves what was allowed, half closed",
      0,
      { HANDSHAKE, "> FA 1,1 win=0 | close_wait", "< PA 1,2 'a' | close_wait s:a",
        "< PA 2,2 'bc' | close_wait s:bc" } },
    { "FIN out of the window", 0, { HANDSHAKE, "> FA 30000,1 | established fin_out_of_window =invalid" } },
    { "FIN with SYN", 0, { HANDSHAKE, "> FSA 1,1 | established fin_syn =invalid" } },
    { "FIN with a wrong acknowledgment",
      0,
      { HANDSHAKE, "> FA 1,30000 | established pkt_invalid_ack fin_invalid_ack =invalid" } },
    { "FIN_WAIT1, wrong numbers",
      0,
      { HANDSHAKE, "< FA 1,1", "> FA 30000,2 | fin_wait1 fin1_fin_wrong_seq =invalid",
        "> A 30000,2 | fin_wait1 fin1_ack_wrong_seq =invalid",
        "> A 1,30000 | fin_wait1 pkt_invalid_ack fin1_invalid_ack =invalid",
        "> S 0,0 'abc' | fin_wait1 shutdown_syn_resend =invalid", "> S 0,0 | fin_wait1 shutdown_syn_resend" } },
    { "FIN_WAIT2, wrong numbers",
      0,
      { HANDSHAKE, "< FA 1,1", "> A 1,2", "> FA 30000,2 | fin_wait2 fin2_fin_wrong_seq =invalid",
        "> A 30000,2 | fin_wait2 fin2_ack_wrong_seq =invalid",
        "> A 1,30000 | fin_wait2 pkt_invalid_ack fin2_invalid_ack =invalid" } },
    { "CLOSE_WAIT, wrong numbers",
      0,
      { HANDSHAKE, "> FA 1,1", "< FA 30000,2 | close_wait closewait_fin_out_of_window =invalid",
        "< A 30000,2 | close_wait closewait_ack_out_of_window =invalid",
        "< A 1,30000 | close_wait pkt_invalid_ack closewait_invalid_ack =invalid" } },
    { "LAST_ACK, wrong numbers",
      0,
      { HANDSHAKE, "> FA 1,1", "< FA 1,2", "> A 7,2 | last_ack lastack_ack_wrong_seq =invalid",
        "> A 1,30000 | last_ack pkt_invalid_ack lastack_invalid_ack =invalid", "> A 2,2 | closed" } },
    { "LAST_ACK, the server's acknowledgment is the last",
      0,
      { HANDSHAKE, "> FA 1,1", "< FA 1,1", "> A 2,2 | last_ack", "< A 2,1 | last_ack", "< A 2,2 | closed" } },
    { "TIME_WAIT, wrong numbers",
      0,
      { HANDSHAKE, "< FA 1,1", "> FA 1,2", "< A 7,2 | time_wait timewait_ack_wrong_seq =invalid",
        "< A 2,30000 | time_wait pkt_invalid_ack timewait_invalid_ack =invalid" } },
    { "CLOSING, wrong acknowledgment",
      0,
      { HANDSHAKE, "< FA 1,1", "> F 1,0", "> A 1,30000 | closing pkt_invalid_ack closing_invalid_ack =invalid" } },
    { "data sent again after the FIN",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "> FA 4,1 | close_wait", "> A 1,1 'abc' | close_wait pkt_retransmission",
        "> A 1,1 'xyz' | close_wait pkt_retransmission reassembly_overlap_different_data =drop" } },
    { "the server's data lost before its FIN",
      0,
      { HANDSHAKE, "> FA 1,1 | close_wait", "< PA 4,2 'def'", "< FA 7,2 | last_ack", "> A 2,1 | last_ack",
        "< PA 1,2 'abc' | last_ack s:abcdef", "> A 2,8 | closed" } },
    { "the server's data lost behind us, before its FIN",
      0,
      { HANDSHAKE, "> FA 1,1", "< PA 1,2 'abcdef' | close_wait s:abcdef", "< FA 7,2", "> A 2,1 | last_ack",
        "< PA 1,2 'abcdef' | last_ack", "< PA 1,2 'abcXef' | last_ack reassembly_overlap_different_data =drop",
        "> A 2,8 | closed" } },
    { "the client's data lost before its FIN, after the server's",
      0,
      { HANDSHAKE, "< FA 1,1 | fin_wait1", "> PA 4,2 'def'", "> FA 7,2 | time_wait", "> A 8,2 | time_wait",
        "< A 2,1 | time_wait", "> PA 1,2 'abc' | time_wait c:abcdef", "< A 2,8 | closed" } },
    { "an acknowledgment that the FIN has overtaken",
      0,
      { HANDSHAKE, "> PA 1,1 'abc'", "< FA 1,4 | fin_wait1", "> FA 4,2 | time_wait", "> A 4,1 | time_wait",
        "< A 2,5 | closed" } },
    { "the window goes on after the client's FIN",
      0,
      { "> S 0,0", "< SA 0,1", "> A 1,1 win=4", "> FA 1,1 win=4 | close_wait", "< PA 1,2 'abcd' | close_wait s:abcd",
        "> A 2,5 win=4", "< PA 5,2 'efgh' | close_wait s:efgh", "> A 2,9 win=4", "< PA 9,2 'ijkl' | close_wait s:ijkl",
        "> A 2,13 | close_wait", "< FA 13,2 | last_ack", "> A 2,14 | closed" } },
    { "no data behind a FIN",
      0,
      { HANDSHAKE, "> FA 1,1", "< FA 1,2", "> A 2,2 | closed", "> A 2,2 'x' | closed =invalid",
        "< A 2,2 'x' | closed =invalid" } },
    { "no late data after a RST",
      0,
      { HANDSHAKE, "> FA 1,1", "< PA 4,2 'def'", "< FA 7,2 | last_ack", "> R 2,0 | closed",
        "< PA 1,2 'abc' | closed =invalid" } },
    /* --- port reuse ------------------------------------------------------------------------------- */
    { "another connection after the end",
      0,
      { HANDSHAKE, "> FA 1,1", "< FA 1,2", "> A 2,2 | closed", "> S 500000,0 | syn_sent",
        "< SA 7,500001 | syn_recv" } },
    { "another connection after a RST",
      0,
      { HANDSHAKE, "> R 1,0 | closed", "> S 0,0 | closed", "> S 500000,0 | syn_sent" } },
    { "no other connection before the end", 0, { HANDSHAKE, "> S 500000,0 | established est_syn_resend_diff_seq" } },
    { "a client that has forgotten: challenge and reset",
      0,
      { HANDSHAKE, "> S 500000,0 | established est_syn_resend_diff_seq", "< A 1,1 | established",
        "> R 1,0 | closed" } },
    { "the same with data", 0, { HANDSHAKE, "> S 500000,0 'abc' | established est_syn_resend_diff_seq =invalid" } },
};

static enum host_os always_linux(const void *user, int ip_version, const struct address *host)
{
    (void)user;
    (void)ip_version;
    (void)host;
    return HOST_OS_LINUX;
}

static enum host_os always_solaris(const void *user, int ip_version, const struct address *host)
{
    (void)user;
    (void)ip_version;
    (void)host;
    return HOST_OS_SOLARIS;
}

static void set_options(unsigned options)
{
    stream_rig.options.inline_mode = !(options & PASSIVE);
    stream_rig.options.midstream = options & MIDSTREAM;
    stream_rig.options.async_oneside = options & ASYNC;
    if (options & LINUX_HOST)
        stream_rig.options.host_os.of = always_linux;
    if (options & SOLARIS_HOST)
        stream_rig.options.host_os.of = always_solaris;
    if (options & REWRITE)
        stream_rig.options.overlap = STREAM_OVERLAP_REWRITE;
    if (options & SHALLOW)
        stream_rig.options.depth = 6;
    if (options & WRAP)
        stream_rig.isn[FLOW_TO_SERVER] = stream_rig.isn[FLOW_TO_CLIENT] = UINT32_MAX - 4;
    if (options & URGENT_INLINE)
        stream_rig.options.urgent = STREAM_URGENT_INLINE;
    if (options & URGENT_DROP)
        stream_rig.options.urgent = STREAM_URGENT_DROP;
}

START_TEST(script)
{
    set_options(cases[_i].options);
    stream_rig_open();
    stream_rig_play(cases[_i].name, cases[_i].script);
}
END_TEST

/* --- Beyond scripts ------------------------------------------------------------------------------- */

START_TEST(counts)
{
    const char *const lines[] = { HANDSHAKE, "> PA 1,1 'abc'", "> PA 1,1 'abX'", "> R 9,0", "> A 1,1 badsum" };

    stream_rig_open();
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        stream_rig_send_line(lines[i]);
    ck_assert_uint_eq(stream_rig_counter("tcp.sessions"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.active_sessions"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.syn"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.synack"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.rst"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.overlap"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.overlap_diff_data"), 1);
    ck_assert_uint_eq(stream_rig_counter("tcp.invalid_checksum"), 1);
    ck_assert_uint_eq(stream_rig_counter("stream.reassembly_overlap_different_data"), 1);
    ck_assert_uint_gt(stream_rig_counter("tcp.reassembly_memuse"), 0);
    flow_table_end_all(stream_rig.flows, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(stream_rig_counter("tcp.active_sessions"), 0);
    ck_assert_uint_eq(stream_rig_counter("tcp.memuse"), 0);
    ck_assert_uint_eq(stream_rig_counter("tcp.reassembly_memuse"), 0);
}
END_TEST

/* Decodes the packet that is sent in place of the original; its checksum must be valid. */
static struct packet what_goes_on(void)
{
    struct packet again = { .data = stream_rig.packet.new_data,
                            .length = stream_rig.packet.new_length,
                            .wire_length = stream_rig.packet.new_length,
                            .link = LINK_RAW };
    struct packet *found[DECODE_MAX_PACKETS];

    ck_assert_ptr_nonnull(stream_rig.packet.new_data);
    ck_assert_uint_eq(stream_rig.packet.new_length, stream_rig.packet.length);
    ck_assert_uint_eq(decode_packet(stream_rig.decoder, &again, found), 1);
    decode_check_checksums(&again);
    ck_assert(!(again.flags & PACKET_BAD_L4_CHECKSUM));
    return again;
}

START_TEST(rewrites_what_contradicts)
{
    set_options(REWRITE);
    stream_rig_open();
    stream_rig_play("rewrite", (const char *const[]){ HANDSHAKE, "> PA 1,1 'GOOD' | established c:GOOD", NULL });
    stream_rig_send_line("> PA 3,1 'XXmore'");
    ck_assert(!stream_rig.verdict.drop);
    ck_assert(packet_has_event(&stream_rig.packet, STREAM_EVENT_REASSEMBLY_OVERLAP_DIFFERENT_DATA));
    ck_assert_str_eq(stream_rig.yielded[FLOW_TO_SERVER], "more");
    ck_assert_mem_eq(what_goes_on().payload, "ODmore", 6);
}
END_TEST

START_TEST(urgent_data_goes_on_as_what_it_was_inspected_as)
{
    set_options(REWRITE);
    stream_rig.options.urgent = STREAM_URGENT_CLEAR;
    stream_rig_open();
    stream_rig_play("urgent", (const char *const[]){ HANDSHAKE, "> PA 1,1 'GOOD' | established c:GOOD", NULL });
    stream_rig_send_line("> PAU 5,1 'malXicious' urg=4");
    ck_assert_str_eq(stream_rig.yielded[FLOW_TO_SERVER], "malXicious");
    struct packet plain = what_goes_on();

    ck_assert(!(plain.tcp.flags & TCP_URG) && plain.tcp.urgent == 0);
    ck_assert_mem_eq(plain.payload, "malXicious", 10);
    stream_rig_send_line("> PAU 3,1 'XXmal' urg=2"); /* also has contradicting data */
    plain = what_goes_on();
    ck_assert(!(plain.tcp.flags & TCP_URG) && plain.tcp.urgent == 0);
    ck_assert_mem_eq(plain.payload, "ODmal", 5);
    stream_rig_send_line("> AU 15,1 urg=1"); /* the urgent byte is in the next segment */
    ck_assert(!(what_goes_on().tcp.flags & TCP_URG));
}
END_TEST

START_TEST(all_is_yielded_at_the_end)
{
    set_options(PASSIVE);
    stream_rig_open();
    stream_rig_play("end", (const char *const[]){ HANDSHAKE, "> PA 1,1 'abc' | established",
                                                  "> PA 7,1 'ghi' | established", NULL });
    stream_rig_take_views(FLOW_TO_SERVER, true);
    ck_assert_str_eq(stream_rig.yielded[FLOW_TO_SERVER], "abcghi");
    ck_assert(stream_rig.gap && stream_rig.end);
    ck_assert_uint_eq(stream_rig_counter("tcp.reassembly_gap"), 0);
}
END_TEST

START_TEST(passive_yields_chunks_on_packets_of_the_direction)
{
    stream_rig.options.chunk[FLOW_TO_SERVER] = 6;
    set_options(PASSIVE);
    stream_rig_open();
    stream_rig_play("chunks", (const char *const[]){ HANDSHAKE, "> PA 1,1 'abc' | established", "< A 1,4 | established",
                                                     "> PA 4,1 'def' | established", "< A 1,7 | established",
                                                     "> PA 7,1 'ghi' | established c:abcdef", NULL });
}
END_TEST

START_TEST(stopped_streams_give_their_memory_back)
{
    stream_rig_open();
    stream_rig_play("stop", (const char *const[]){ HANDSHAKE, "> PA 1,1 'abc' | established c:abc", NULL });
    stream_stop(stream_rig.stream, stream_rig.flow, FLOW_TO_SERVER);
    ck_assert_uint_eq(stream_rig_counter("tcp.reassembly_memuse"), 0);
    stream_rig_play("stopped",
                    (const char *const[]){ "> PA 4,1 'def' | established", "< PA 1,7 'x' | established s:x", NULL });
    ck_assert(stream_rig.packet.flags & PACKET_STREAM_ADDED);
}
END_TEST

START_TEST(flows_follow_their_session)
{
    stream_rig_open();
    stream_rig_send_line("> S 0,0");
    ck_assert_int_eq(stream_rig.flow->state, FLOW_NEW);
    stream_rig_send_line("< SA 0,1");
    ck_assert_int_eq(stream_rig.flow->state, FLOW_NEW);
    stream_rig_send_line("> PA 1,1 'abc'");
    ck_assert_int_eq(stream_rig.flow->state, FLOW_ESTABLISHED);
    ck_assert(stream_rig.packet.flags & PACKET_ESTABLISHED);
    stream_rig_send_line("> FA 4,1");
    ck_assert_int_eq(stream_rig.flow->state, FLOW_ESTABLISHED);
    stream_rig_send_line("< FA 1,5");
    ck_assert_int_eq(stream_rig.flow->state, FLOW_CLOSED);
}
END_TEST

START_TEST(a_flow_turns_when_the_server_is_seen_first)
{
    set_options(MIDSTREAM);
    stream_rig_open();
    stream_rig_send_line("< SA 0,1");
    ck_assert(stream_rig.flow->flags & FLOW_SWAPPED);
    ck_assert_uint_eq(stream_rig.flow->server_port, 80);
    ck_assert(stream_rig.packet.flags & PACKET_TO_CLIENT);
    stream_rig_send_line("> A 1,1");
    ck_assert(!(stream_rig.packet.flags & PACKET_TO_CLIENT));
}
END_TEST

/* The flow is usable without a session. */
START_TEST(a_flow_without_session_turns_to_the_client)
{
    stream_rig.keeps_flows = true;
    stream_rig_open();
    stream_rig_send_line("< R 1,0");
    stream_rig_send_line("> S 0,0");
    ck_assert(!(stream_rig.packet.flags & PACKET_TO_CLIENT));
    ck_assert_uint_eq(stream_rig.flow->server_port, 80);
    stream_rig_play("turned",
                    (const char *const[]){ "< SA 0,1 | syn_recv", "> PA 1,1 'abc' | established c:abc", NULL });
}
END_TEST

START_TEST(summary_tells_sizes)
{
    struct tcp_summary summary;

    stream_rig_open();
    stream_rig_play("summary", (const char *const[]){ HANDSHAKE, "> PA 1,1 'abc'", "< PA 1,4 'defgh'", NULL });
    stream_summary(stream_rig.flow, &summary);
    ck_assert_uint_eq(summary.size[FLOW_TO_SERVER], 4);
    ck_assert_uint_eq(summary.size[FLOW_TO_CLIENT], 6);
    ck_assert_uint_eq(summary.bytes[FLOW_TO_CLIENT], 5);
    ck_assert_uint_eq(summary.flags[FLOW_TO_SERVER], TCP_SYN | TCP_ACK | TCP_PSH);
    ck_assert(!summary.midstream);
}
END_TEST

START_TEST(names_of_events)
{
    enum stream_event event;

    for (unsigned i = STREAM_EVENT_FIRST; i < STREAM_EVENT_END; i++) {
        const char *name = stream_event_name((enum stream_event)i);

        ck_assert(stream_event_find(name, strlen(name), &event));
        ck_assert_int_eq(event, i);
    }
    ck_assert(stream_event_find("stream.wrong_thread", 19, &event));
    ck_assert_int_eq(event, STREAM_EVENT_WRONG_THREAD);
    ck_assert(!stream_event_find("wrong", 5, &event));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_session");
    TCase *scripts = tcase_create("scripts"), *other = tcase_create("other");

    tcase_add_checked_fixture(scripts, stream_rig_setup, stream_rig_teardown);
    tcase_add_loop_test(scripts, script, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_checked_fixture(other, stream_rig_setup, stream_rig_teardown);
    tcase_add_test(other, counts);
    tcase_add_test(other, rewrites_what_contradicts);
    tcase_add_test(other, urgent_data_goes_on_as_what_it_was_inspected_as);
    tcase_add_test(other, all_is_yielded_at_the_end);
    tcase_add_test(other, passive_yields_chunks_on_packets_of_the_direction);
    tcase_add_test(other, stopped_streams_give_their_memory_back);
    tcase_add_test(other, flows_follow_their_session);
    tcase_add_test(other, a_flow_turns_when_the_server_is_seen_first);
    tcase_add_test(other, a_flow_without_session_turns_to_the_client);
    tcase_add_test(other, summary_tells_sizes);
    tcase_add_test(other, names_of_events);
    suite_add_tcase(suite, scripts);
    suite_add_tcase(suite, other);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
