/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules on streams: contents in several segments, pending candidates, and all bytes are inspected. */
#include "pipeline_rig.h"
#include "detect/pending.h"

#include "sluice/stream_event.h"

static void teardown(void)
{
    rig_close();
}

static void open_inline(const char *rules)
{
    rig_open(rules);
    rig_handshake();
}

/* --- Contents across segments --------------------------------------------------------------------- */

static const char word[] = "EvilWord";

START_TEST(a_word_is_found_wherever_it_is_split)
{
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)\n"
                "alert tcp any any -> any any (content:\"eVILwORD\"; nocase; sid:2;)");
    for (size_t first = 1; first < strlen(word); first++) {
        for (size_t second = first; second < strlen(word); second++) {
            ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 3), "");
            ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word, first), "");
            if (second > first)
                ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word + first, second - first), "");
            ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word + second, strlen(word) - second), "1 2");
        }
    }
}
END_TEST

START_TEST(a_word_at_one_place_is_found_wherever_it_is_split)
{
    size_t at = (size_t)_i + 1;

    open_inline(
        "alert tcp any any -> any any (content:\"EvilWord\"; startswith; sid:1;)\n"
        "alert tcp any any -> any any (content:\"wORD\"; nocase; offset:4; depth:4; sid:2;)\n"
        "alert tcp any any -> any any (content:\"Evil\"; depth:4; content:\"Word\"; distance:0; within:4; sid:3;)\n"
        "alert tcp any any -> any any (content:\"Word\"; offset:5; depth:4; sid:4;)");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word, at), "");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word + at, strlen(word) - at), "1 2 3");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 3), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, ".EvilWord"), "4");
    ck_assert_str_eq(rig_send(RIG_CLIENT, word), "1 2 3"); /* rules on the packet count from its own start */
}
END_TEST

/* Bytes that are no letters, some of which differ in the bit of the case only. */
START_TEST(any_bytes_are_found_wherever_they_are_split)
{
    static const char bytes[] = "@`[{\x80\xa0\xff\x01!";

    open_inline("alert tcp any any -> any any (content:\"@`[{|80 a0 ff 01|!\"; sid:1;)\n"
                "alert tcp any any -> any any (content:\"@`[{|80 a0 ff 01|!\"; nocase; sid:2;)\n"
                "alert tcp any any -> any any (content:\"`@{[|80 a0 ff 01|!\"; nocase; sid:3;)");
    for (size_t first = 1; first < strlen(bytes); first++) {
        ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 3), "");
        ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, bytes, first), "");
        ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, bytes + first, strlen(bytes) - first), "1 2");
    }
}
END_TEST

START_TEST(a_word_is_found_byte_by_byte)
{
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i + 1 < strlen(word); i++)
            ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word + i, 1), "");
        ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word + strlen(word) - 1, 1), "1");
    }
}
END_TEST

/* The prefilter searches at most 64 bytes of a content; the rest may arrive later. */
START_TEST(a_long_word_is_found_wherever_it_is_split)
{
    char rule[512], text[101] = "";

    for (int i = 0; i < 100; i++)
        text[i] = (char)('a' + i * 7 % 26);
    snprintf(rule, sizeof(rule), "alert tcp any any -> any any (content:\"%s\"; sid:1;)", text);
    open_inline(rule);
    for (size_t at = 1; at < 100; at++) {
        rig_send_filler(RIG_CLIENT, 3000);
        rig_acknowledge(RIG_SERVER);
        rig_send_filler(RIG_CLIENT, 1);
        ck_assert_msg(strcmp(rig_send_bytes(RIG_CLIENT, text, at), "") == 0, "%zu", at);
        ck_assert_msg(strcmp(rig_send_bytes(RIG_CLIENT, text + at, 100 - at), "1") == 0, "split at %zu", at);
    }
}
END_TEST

START_TEST(part_of_a_word_as_fast_pattern)
{
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; fast_pattern:1,3; sid:1;)");
    for (size_t at = 1; at < strlen(word); at++) {
        rig_send_filler(RIG_CLIENT, 3000);
        rig_acknowledge(RIG_SERVER);
        ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, word, at), "");
        ck_assert_msg(strcmp(rig_send_bytes(RIG_CLIENT, word + at, strlen(word) - at), "1") == 0, "split at %zu", at);
    }
}
END_TEST

/* --- Contents in several segments ----------------------------------------------------------------- */

START_TEST(words_in_any_order_of_segments)
{
    open_inline("alert tcp any any -> any any (content:\"First\"; content:\"TheLongerOne\"; sid:1;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx First xx"), "");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 1000), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx TheLongerOne xx"), "1");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 4000), "");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 1), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx TheLongerOne xx"), "");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 1000), "");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 1000), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx First xx"), "1");
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 10), "");
}
END_TEST

START_TEST(beyond_the_window_nothing_waits)
{
    open_inline("alert tcp any any -> any any (content:\"First\"; content:\"TheLongerOne\"; sid:1;)");
    rig_send(RIG_CLIENT, "TheLongerOne");
    ck_assert_ptr_nonnull(rig.packet.flow->detection[FLOW_TO_SERVER]);
    ck_assert_uint_eq(rig.packet.flow->detection[FLOW_TO_SERVER]->count, 1);
    rig_send_filler(RIG_CLIENT, 2560);
    ck_assert_uint_eq(rig.packet.flow->detection[FLOW_TO_SERVER]->count, 1);
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "First"), "");
    ck_assert_uint_eq(rig.packet.flow->detection[FLOW_TO_SERVER]->count, 0);
}
END_TEST

START_TEST(directions_are_different_streams)
{
    open_inline("alert tcp any any -> any any (content:\"First\"; content:\"TheLongerOne\"; sid:1;)\n"
                "alert tcp any 80 <> any any (content:\"Both\"; sid:2;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "TheLongerOne Bo"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "First Bo"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "th"), "2");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "th First"), "1 2");
}
END_TEST

START_TEST(a_hole_parts_words)
{
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Evil"), "");
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 5, "Word"), "");
    ck_assert(rig.packet.flags & PACKET_STREAM_ADDED);
    rig.next[RIG_CLIENT] = 9; /* the server acknowledges the byte in the gap, which took another route */
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
}
END_TEST

/* Bytes that arrive for a gap after it was given up are in no chunk; they are inspected as a packet. */
START_TEST(bytes_of_a_lost_place_are_looked_at)
{
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_send(RIG_CLIENT, "....");
    rig_send_at(RIG_CLIENT, 12, "....");
    rig.next[RIG_CLIENT] = 16;
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "...."), "");
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 4, "EvilWord"), "1");
}
END_TEST

START_TEST(what_fills_a_hole_brings_all_of_it)
{
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 6, "rd and EvilWord"), "");
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 3, "lWo"), "");
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 0, "Evi"), "1");
}
END_TEST

/* --- Any order ------------------------------------------------------------------------------------ */

enum { ROUNDS = 300, TEXT = 60, PIECES = 8 };

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Cuts [0, TEXT) into pieces (start and end), in random order. */
static size_t cut_and_shuffle(uint32_t *state, size_t pieces[PIECES][2])
{
    size_t count = 0;

    for (size_t at = 0; at < TEXT; count++) {
        size_t left = TEXT - at, length = count == PIECES - 1 ? left : 1 + next_random(state) % 15;

        pieces[count][0] = at;
        pieces[count][1] = at += length < left ? length : left;
    }
    for (size_t i = count; i-- > 1;) {
        size_t k = next_random(state) % (i + 1), start = pieces[k][0], end = pieces[k][1];

        memcpy(pieces[k], pieces[i], sizeof(pieces[k]));
        pieces[i][0] = start;
        pieces[i][1] = end;
    }
    return count;
}

/* Sends a piece with some equal bytes of its neighbours. */
static int send_piece(uint32_t *state, const char *text, const size_t piece[2])
{
    size_t before = next_random(state) % 4, after = next_random(state) % 4;
    size_t start = piece[0] > before ? piece[0] - before : 0;
    size_t end = piece[1] + after < TEXT ? piece[1] + after : TEXT;
    const char *hits =
        rig_segment(RIG_CLIENT, TCP_ACK, (int64_t)(rig.next[RIG_CLIENT] + start), text + start, end - start);

    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert(strcmp(hits, "") == 0 || strcmp(hits, "1") == 0);
    return hits[0] == '1';
}

START_TEST(a_word_is_told_once_in_whatever_order_its_pieces_come)
{
    uint32_t state = 4711;

    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT + 1];
        size_t pieces[PIECES][2], count = cut_and_shuffle(&state, pieces);
        int hits = 0;

        memset(text, '.', TEXT);
        memcpy(text + next_random(&state) % (TEXT - strlen(word)), word, strlen(word));
        for (size_t i = 0; i < count; i++)
            hits += send_piece(&state, text, pieces[i]);
        ck_assert_msg(hits == 1, "round %d: %d", round, hits);
        rig.next[RIG_CLIENT] += TEXT;
        rig_acknowledge(RIG_SERVER);
    }
}
END_TEST

/* --- ICMP ----------------------------------------------------------------------------------------- */

/* An ICMP error belongs to the flow, but must not consume chunks of its stream. */
static const char *send_icmp_error(int from)
{
    uint8_t *icmp = rig.bytes + 20, *quoted = icmp + 8;

    rig_put_ip(!from, IPPROTO_TCP, 40); /* quotes a packet of the other side */
    memmove(quoted, rig.bytes, 20);
    memset(icmp, 0, 8);
    icmp[0] = 3;
    icmp[1] = 1;
    memset(quoted + 20, 0, 20);
    rig_put16(quoted + 20, from == RIG_CLIENT ? 80 : rig.client_port);
    rig_put16(quoted + 22, from == RIG_CLIENT ? rig.client_port : 80);
    quoted[32] = 0x50;
    rig_put_ip(from, IPPROTO_ICMP, 20 + 8 + 40);
    rig.bytes[15] = 9; /* sent by a router */
    return rig_judge(20 + 8 + 40);
}

START_TEST(an_icmp_error_does_not_consume_the_stream)
{
    rig_passive();
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_send_filler(RIG_CLIENT, 3000);
    rig_send(RIG_CLIENT, "EvilWord");
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(send_icmp_error(RIG_CLIENT), "");
    ck_assert_ptr_nonnull(rig.packet.flow);
    ck_assert_uint_eq(rig.packet.flow->protocol, IPPROTO_TCP);
    ck_assert_str_eq(rig_acknowledge(RIG_CLIENT), "1");
}
END_TEST

/* An ICMP error is not the first packet of the flow in its direction. */
START_TEST(an_icmp_error_does_not_consume_rules_on_addresses)
{
    rig_open("alert ip 10.0.0.2 any -> any any (sid:1;)");
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0);
    ck_assert_str_eq(send_icmp_error(RIG_SERVER), "");
    ck_assert_str_eq(rig_segment(RIG_SERVER, TCP_SYN | TCP_ACK, -1, NULL, 0), "1");
}
END_TEST

/* --- Where contents are searched ------------------------------------------------------------------ */

static const struct {
    const char *name, *rule, *first, *second;
    const char *hits_first, *hits_second;
} scopes[] = {
    { "stream", "tcp any any -> any any (content:\"abcdef\"; sid:1;)", "abc", "def", "", "1" },
    { "flow:only_stream", "tcp any any -> any any (flow:only_stream; content:\"abcdef\"; sid:1;)", "abc", "def", "",
      "1" },
    { "tcp-stream", "tcp-stream any any -> any any (content:\"abcdef\"; sid:1;)", "abc", "def", "", "1" },
    { "tcp-pkt", "tcp-pkt any any -> any any (content:\"abcdef\"; sid:1;)", "abc", "def", "", "" },
    { "tcp-pkt in one", "tcp-pkt any any -> any any (content:\"abc\"; sid:1;)", "abc", "abc", "1", "1" },
    { "flow:no_stream", "tcp any any -> any any (flow:no_stream; content:\"abcdef\"; sid:1;)", "abc", "def", "", "" },
    { "flow:no_stream in one", "tcp any any -> any any (flow:no_stream; content:\"def\"; sid:1;)", "abc", "def", "",
      "1" },
    { "a header's condition", "tcp any any -> any any (tcp.flags:PA; content:\"abcdef\"; sid:1;)", "abc", "def", "",
      "" },
    { "ip", "ip any any -> any any (content:\"abcdef\"; sid:1;)", "abc", "def", "", "1" },
    { "depth over segments", "tcp any any -> any any (content:\"abcdef\"; depth:6; sid:1;)", "abc", "def", "", "1" },
    { "depth in a packet", "tcp any any -> any any (content:\"abc\"; depth:3; sid:1;)", "xxx", "abc", "", "1" },
    { "depth in a packet, not there", "tcp any any -> any any (content:\"abc\"; depth:3; sid:1;)", "xxx", "xabc", "",
      "" },
    { "offset", "tcp any any -> any any (content:\"abc\"; offset:3; sid:1;)", "xxx", "abc", "", "1" },
    { "negated with", "tcp any any -> any any (content:\"abc\"; content:!\"xyz\"; sid:1;)", "xyz", "abc", "", "" },
    { "pcre over segments", "tcp any any -> any any (pcre:\"/ab+c/\"; sid:1;)", "xxab", "bbc", "", "1" },
    { "pcre matches again", "tcp any any -> any any (pcre:\"/ab+c/\"; sid:1;)", "abc", "xabc", "1", "1" },
    { "pcre matches once", "tcp any any -> any any (pcre:\"/ab+c/\"; sid:1;)", "abc", "xx", "1", "" },
    { "distance over segments", "tcp any any -> any any (content:\"abc\"; content:\"def\"; distance:2; sid:1;)", "abc",
      "..def", "", "1" },
};

START_TEST(contents_are_looked_for_where_they_should)
{
    char rule[256];

    snprintf(rule, sizeof(rule), "alert %s", scopes[_i].rule);
    open_inline(rule);
    ck_assert_msg(strcmp(rig_send(RIG_CLIENT, scopes[_i].first), scopes[_i].hits_first) == 0, "%s, first",
                  scopes[_i].name);
    ck_assert_msg(strcmp(rig_send(RIG_CLIENT, scopes[_i].second), scopes[_i].hits_second) == 0, "%s, second",
                  scopes[_i].name);
}
END_TEST

START_TEST(beyond_the_depth_packets_are_looked_at)
{
    rig.options.stream.depth = 100;
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_send_filler(RIG_CLIENT, 96);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
}
END_TEST

START_TEST(rules_on_addresses_are_asked_once_a_direction)
{
    rig_open("alert ip any any -> any any (sid:1;)\nalert tcp 10.0.0.1 any -> any 80 (sid:2;)");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "1 2");
    ck_assert_str_eq(rig_segment(RIG_SERVER, TCP_SYN | TCP_ACK, -1, NULL, 0), "1");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_ACK, 0, NULL, 0), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "data"), "");
}
END_TEST

START_TEST(bits_are_set_before_they_are_asked)
{
    open_inline("alert tcp any any -> any any (content:\"b\"; flowbits:isset,x; sid:1;)\n"
                "alert tcp any any -> any any (content:\"aaaa\"; flowbits:set,x; sid:2;)\n"
                "alert tcp any any -> any any (content:\"cc\"; flowbits:isnotset,x; sid:3;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "b aa cc"), "3");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "aa aa"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "aa cc b"), "2 1");
}
END_TEST

/* Rules without a literal that test variables are not evaluated while the flow has none, unless another rule may set
 * one in the same packet. */
START_TEST(variables_of_this_packet_are_tested_without_a_literal)
{
    open_inline("alert tcp-pkt any any -> any any (content:\"bit\"; flowbits:set,x; sid:1;)\n"
                "alert tcp-pkt any any -> any any (flowbits:isset,x; dsize:>0; sid:2;)\n"
                "alert tcp-pkt any any -> any any (content:\"one\"; flowint:n,+,1; sid:3;)\n"
                "alert tcp-pkt any any -> any any (flowint:n,>=,2; dsize:>0; sid:4;)\n"
                "alert tcp-pkt any any -> any any (flowint:n,notset; dsize:3; sid:5;)\n"
                "alert tcp-pkt any any -> any any (content:\"none\"; sid:6;)");
    const struct detect_counters *counters = detector_counters(rig.pipeline.detector);
    uint64_t before = counters->evaluations;

    ck_assert_str_eq(rig_send(RIG_CLIENT, "nothing"), "");
    ck_assert_uint_eq(counters->evaluations, before);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "abc"), "5");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "bit"), "1 2 5");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "nothing"), "2");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "a one"), "2 3");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "two one"), "2 3 4");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "nothing"), "2 4");
}
END_TEST

/* --- Rewritten retransmissions -------------------------------------------------------------------- */

/* A rewritten retransmission adds nothing to the stream, but its payload is inspected. */
START_TEST(a_rewritten_segment_is_looked_at_without_a_view)
{
    rig.options.stream.overlap = STREAM_OVERLAP_REWRITE;
    open_inline("alert tcp any any -> any any (pcre:\"/ab+c/\"; sid:1;)\n"
                "alert tcp any any -> any any (content:\"abbc\"; sid:2;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "abbc"), "1 2");
    for (int i = 0; i < 2; i++) /* the match is then outside of the window, but not acknowledged */
        rig_send_filler(RIG_CLIENT, 4000);
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 0, "xxxx"), "1 2");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_ptr_nonnull(rig.packet.new_data);
    ck_assert_mem_eq(rig.packet.new_data + RIG_HEADERS, "abbc", 4);
}
END_TEST

START_TEST(a_contradiction_is_dropped)
{
    open_inline("alert tcp any any -> any any (content:\"abc\"; sid:1;)");
    rig_send(RIG_CLIENT, "xxxx");
    rig_send_at(RIG_CLIENT, 0, "yyyy");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert_int_eq(rig.packet.drop_reason, DROP_REASON_STREAM_ERROR);
}
END_TEST

/* --- Without memory ------------------------------------------------------------------------------- */

START_TEST(without_memory_the_window_is_scanned_again)
{
    rig.options.detector.flow_memcap = sizeof(struct flow_detection);
    open_inline("alert tcp any any -> any any (content:\"First\"; content:\"TheLongerOne\"; sid:1;)\n"
                "alert tcp any any -> any any (content:\"Simple\"; sid:2;)\n"
                "alert tcp any any -> any any (pcre:\"/ab+c/\"; sid:3;)");
    rig_send(RIG_SERVER, "TheLongerOne"); /* uses all memory */
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Simple TheLongerOne "), "2");
    ck_assert(rig.packet.flow->flags & FLOW_RESCAN);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "First"), "1");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Simple"), "2");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "x Sim"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "ple Simple"), "2");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "x abbc"), "3");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "abc"), "3");
    ck_assert_uint_gt(detector_counters(rig.pipeline.detector)->flow_memcap_hits, 0);
}
END_TEST

/* Bytes stored behind a part for which there was no memory are inspected when that part is acknowledged. */
START_TEST(without_memory_for_bytes_nothing_is_missed)
{
    rig.options.stream.reassembly_memcap = 8192;
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    for (int i = 0; i < 3; i++)
        rig_send_filler(RIG_CLIENT, 4000);
    ck_assert(!(rig.packet.flags & PACKET_STREAM_ADDED));
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), rig.packet.flags & PACKET_STREAM_ADDED ? "" : "1");
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
}
END_TEST

START_TEST(without_memory_for_flows_packets_are_looked_at)
{
    rig.options.flow.memcap = 1;
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    for (int i = 0; i < 3; i++) {
        rig.client_port++;
        rig_handshake();
        ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    }
}
END_TEST

static void many_rules(char *out, size_t size, int count)
{
    size_t used = 0;

    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(
            out + used, size - used,
            "alert tcp any any -> any any (content:\"TheCommonWord%02d\"; content:\"End%02d\"; sid:%d;)\n", i, i,
            i + 1);
}

static void send_common_words(int count)
{
    for (int i = 0; i < count; i++) {
        char text[32];

        snprintf(text, sizeof(text), "TheCommonWord%02d ", i);
        ck_assert_str_eq(rig_send(RIG_CLIENT, text), "");
    }
}

START_TEST(as_many_as_there_is_room_for_wait)
{
    char rules[8192];

    many_rules(rules, sizeof(rules), PENDING_MAX);
    open_inline(rules);
    send_common_words(PENDING_MAX);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "still waiting"), "");
    ck_assert(!(rig.packet.flow->flags & FLOW_RESCAN));
    ck_assert_str_eq(rig_send(RIG_CLIENT, "End07"), "8");
}
END_TEST

START_TEST(one_more_is_not_missed)
{
    char rules[8192];

    many_rules(rules, sizeof(rules), PENDING_MAX + 2);
    open_inline(rules);
    send_common_words(PENDING_MAX + 2);
    ck_assert(rig.packet.flow->flags & FLOW_RESCAN);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "End21"), "22");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "End00"), "1");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx"), "");
}
END_TEST

/* --- Passive -------------------------------------------------------------------------------------- */

/* The data before and after a gap are two chunks of one packet. */
START_TEST(actions_are_done_once_a_packet)
{
    rig_passive();
    rig.options.stream.chunk[FLOW_TO_SERVER] = 1;
    open_inline("alert tcp any any -> any any (content:\"EVIL\"; flowint:found,+,1; sid:1;)"
                "\nalert tcp any any -> any any (content:\"ask\"; flowint:found,==,1; sid:2;)");
    rig_send_at(RIG_CLIENT, 0, "EVIL");
    rig_send_at(RIG_CLIENT, 10, "EVIL");
    rig.next[RIG_CLIENT] = 14;
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "ask"), "1");
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "more"), "2");
}
END_TEST

START_TEST(passive_streams_are_looked_at_when_acknowledged)
{
    rig_passive();
    open_inline("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Evil"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Word"), "");
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send_filler(RIG_CLIENT, 3000), "");
    rig_acknowledge(RIG_SERVER);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "x"), "1");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("detect_stream");

    tcase_add_checked_fixture(tcase, rig_setup, teardown);
    tcase_add_test(tcase, a_word_is_found_wherever_it_is_split);
    tcase_add_test(tcase, any_bytes_are_found_wherever_they_are_split);
    tcase_add_test(tcase, a_word_is_found_byte_by_byte);
    tcase_add_loop_test(tcase, a_word_at_one_place_is_found_wherever_it_is_split, 0, (int)sizeof(word) - 2);
    tcase_add_test(tcase, a_long_word_is_found_wherever_it_is_split);
    tcase_add_test(tcase, part_of_a_word_as_fast_pattern);
    tcase_add_test(tcase, words_in_any_order_of_segments);
    tcase_add_test(tcase, beyond_the_window_nothing_waits);
    tcase_add_test(tcase, directions_are_different_streams);
    tcase_add_test(tcase, a_hole_parts_words);
    tcase_add_test(tcase, bytes_of_a_lost_place_are_looked_at);
    tcase_add_test(tcase, what_fills_a_hole_brings_all_of_it);
    tcase_add_test(tcase, a_word_is_told_once_in_whatever_order_its_pieces_come);
    tcase_add_test(tcase, an_icmp_error_does_not_consume_the_stream);
    tcase_add_test(tcase, an_icmp_error_does_not_consume_rules_on_addresses);
    tcase_add_loop_test(tcase, contents_are_looked_for_where_they_should, 0, sizeof(scopes) / sizeof(scopes[0]));
    tcase_add_test(tcase, beyond_the_depth_packets_are_looked_at);
    tcase_add_test(tcase, rules_on_addresses_are_asked_once_a_direction);
    tcase_add_test(tcase, bits_are_set_before_they_are_asked);
    tcase_add_test(tcase, variables_of_this_packet_are_tested_without_a_literal);
    tcase_add_test(tcase, a_rewritten_segment_is_looked_at_without_a_view);
    tcase_add_test(tcase, a_contradiction_is_dropped);
    tcase_add_test(tcase, without_memory_the_window_is_scanned_again);
    tcase_add_test(tcase, without_memory_for_bytes_nothing_is_missed);
    tcase_add_test(tcase, without_memory_for_flows_packets_are_looked_at);
    tcase_add_test(tcase, as_many_as_there_is_room_for_wait);
    tcase_add_test(tcase, one_more_is_not_missed);
    tcase_add_test(tcase, actions_are_done_once_a_packet);
    tcase_add_test(tcase, passive_streams_are_looked_at_when_acknowledged);
    return rig_run(tcase, "detect_stream");
}
