/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests which rules match a packet, in which order, and how the prefilter found them. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect/candidates.h"
#include "detect_rig.h"
#include "sluice/decode_event.h"

static struct packet packet_of(uint8_t protocol, uint16_t sport, uint16_t dport, const char *payload)
{
    struct packet pkt = {
        .ip_version = 4,
        .protocol = protocol,
        .source_address = { .bytes = { 10, 0, 0, 1 } },
        .destination_address = { .bytes = { 10, 0, 0, 2 } },
        .source_port = sport,
        .destination_port = dport,
        .payload = (const uint8_t *)payload,
        .payload_length = (uint32_t)strlen(payload),
    };

    return pkt;
}

/* Returns the sids of the hits as text, such as "3 1 2". */
static const char *sids(struct packet *pkt)
{
    static char text[256];
    const struct hit *hits;
    size_t count, used = 0;

    detect_packet(detect_rig_detector, detect_rig_ruleset, &(struct detect_input){ .packet = pkt }, NULL);
    count = detect_finish(detect_rig_detector, &hits);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? " " : "", (unsigned)hits[i].rule->sid);
    return text;
}

static const struct {
    const char *name, *rules;
    uint8_t protocol;
    uint16_t sport, dport;
    const char *payload, *expected;
} cases[] = {
    { "literal", "alert tcp any any -> any any (content:\"abc\"; sid:1;)", IPPROTO_TCP, 1, 2, "xxabcxx", "1" },
    { "not there", "alert tcp any any -> any any (content:\"abc\"; sid:1;)", IPPROTO_TCP, 1, 2, "xxabxcx", "" },
    { "case",
      "alert tcp any any -> any any (content:\"aBc\"; sid:1;)\nalert tcp any any -> any any (content:\"aBc\"; nocase; "
      "sid:2;)",
      IPPROTO_TCP, 1, 2, "ABC", "2" },
    { "equal literals of two rules",
      "alert tcp any any -> any any (content:\"abc\"; sid:1;)\nalert tcp any any -> any 80 (content:\"abc\"; sid:2;)",
      IPPROTO_TCP, 1, 80, "abc", "1 2" },
    { "protocol",
      "alert udp any any -> any any (content:\"abc\"; sid:1;)\nalert ip any any -> any any (content:\"abc\"; sid:2;)",
      IPPROTO_TCP, 1, 2, "abc", "2" },
    { "other protocol",
      "alert icmp any any -> any any (content:\"abc\"; sid:1;)\nalert ip any any -> any any (content:\"abc\"; sid:2;)",
      IPPROTO_ICMP, 0, 0, "abc", "1 2" },
    { "port",
      "alert tcp any any -> any 80 (content:\"abc\"; sid:1;)\nalert tcp any any -> any !80 (content:\"abc\"; "
      "sid:2;)\nalert tcp any 1:5 -> any any (content:\"abc\"; sid:3;)",
      IPPROTO_TCP, 5, 80, "abc", "1 3" },
    { "address",
      "alert tcp 10.0.0.1 any -> 10.0.0.0/30 any (content:\"abc\"; sid:1;)\nalert tcp !10.0.0.1 any -> any any "
      "(content:\"abc\"; sid:2;)",
      IPPROTO_TCP, 1, 2, "abc", "1" },
    { "addresses and ports of rules in a row",
      "alert tcp 10.0.0.1 any -> any any (content:\"abc\"; sid:1;)\n"
      "alert tcp 10.0.0.1 any -> any any (content:\"abc\"; sid:2;)\n"
      "alert tcp 10.0.0.1 any -> any 81 (content:\"abc\"; sid:3;)\n"
      "alert tcp !10.0.0.1 any -> any any (content:\"abc\"; sid:4;)\n"
      "alert tcp !10.0.0.1 any -> any any (content:\"abc\"; sid:5;)\n"
      "alert tcp any any -> 10.0.0.1 any (content:\"abc\"; sid:6;)\n"
      "alert tcp 10.0.0.1 !81 -> any 80 (content:\"abc\"; sid:7;)\n"
      "alert tcp any 80 <> 10.0.0.1 any (content:\"abc\"; sid:8;)\n"
      "alert tcp any 80 -> 10.0.0.1 any (content:\"abc\"; sid:9;)\n"
      "alert tcp any 81 <> 10.0.0.1 any (content:\"abc\"; sid:10;)",
      IPPROTO_TCP, 1, 80, "abc", "1 2 7 8" },
    { "both directions",
      "alert tcp any 80 <> any any (content:\"abc\"; sid:1;)\nalert tcp any 80 -> any any (content:\"abc\"; sid:2;)",
      IPPROTO_TCP, 1, 80, "abc", "1" },
    { "actions in order",
      "alert tcp any any -> any any (content:\"abc\"; sid:1;)\nreject tcp any any -> any any (content:\"abc\"; "
      "sid:2;)\ndrop tcp any any -> any any (content:\"abc\"; sid:3;)\npass tcp any any -> any any (content:\"abc\"; "
      "sid:4;)",
      IPPROTO_TCP, 1, 2, "abc", "4 3 2 1" },
    { "priority in order",
      "alert tcp any any -> any any (content:\"abc\"; priority:3; sid:1;)\nalert tcp any any -> any any "
      "(content:\"abc\"; priority:1; sid:2;)",
      IPPROTO_TCP, 1, 2, "abc", "2 1" },
    { "no literal", "alert tcp any any -> any any (dsize:3; sid:1;)\nalert tcp any any -> any any (dsize:4; sid:2;)",
      IPPROTO_TCP, 1, 2, "abc", "1" },
    { "only negated",
      "alert tcp any any -> any any (content:!\"xyz\"; sid:1;)\nalert tcp any any -> any any (content:!\"abc\"; "
      "sid:2;)",
      IPPROTO_TCP, 1, 2, "abc", "1" },
    { "second content decides", "alert tcp any any -> any any (content:\"abcdef\"; content:\"gh\"; distance:1; sid:1;)",
      IPPROTO_TCP, 1, 2, "abcdefgh", "" },
    { "fast_pattern part", "alert tcp any any -> any any (content:\"abcdef\"; fast_pattern:2,3; sid:1;)", IPPROTO_TCP,
      1, 2, "..abcdef", "1" },
    { "no payload", "alert tcp any any -> any any (content:!\"abc\"; sid:1;)\nalert tcp any any -> any any (sid:2;)",
      IPPROTO_TCP, 1, 2, "", "2" },
    { "at one place",
      "alert tcp any any -> any any (content:\"ab\"; depth:2; sid:1;)\n"
      "alert tcp any any -> any any (content:\"BC\"; nocase; offset:1; depth:2; sid:2;)\n"
      "alert tcp any any -> any any (content:\"bc\"; offset:2; depth:2; sid:3;)\n"
      "alert tcp any any -> any any (content:\"cdefghijkl\"; offset:2; depth:10; sid:4;)\n"
      "alert tcp any any -> any any (content:\"a\"; depth:1; content:\"cde\"; distance:1; within:3; sid:5;)\n"
      "alert tcp any any -> any any (content:\"a\"; depth:1; content:\"def\"; distance:1; within:3; sid:6;)\n"
      "alert tcp any any -> any any (content:\"kl\"; offset:10; depth:2; sid:7;)",
      IPPROTO_TCP, 1, 2, "abcdefghijkl", "1 2 4 5 7" },
    { "at one place, behind a content that may be anywhere",
      "alert tcp any any -> any any (content:\"a\"; content:\"cde\"; distance:1; within:3; sid:1;)", IPPROTO_TCP, 1, 2,
      "..abcde", "1" },
    { "at one place, behind something else that moves",
      "alert tcp any any -> any any (content:\"|01|\"; depth:1; byte_jump:1,0; content:\"def\"; distance:0; within:3; "
      "sid:1;)",
      IPPROTO_TCP, 1, 2, "\1.def", "1" },
    { "at one place that the payload has not",
      "alert tcp any any -> any any (content:\"abcd\"; depth:4; sid:1;)\n"
      "alert tcp any any -> any any (content:\"bc|00|\"; offset:1; depth:3; sid:2;)\n"
      "alert tcp any any -> any any (content:\"cd\"; offset:2; depth:2; sid:3;)\n"
      "alert tcp any any -> any any (content:\"gh\"; offset:100; depth:2; sid:4;)",
      IPPROTO_TCP, 1, 2, "abc", "" },
    { "at one place, not letters that differ as case does",
      "alert tcp any any -> any any (content:\"@[a\"; nocase; depth:3; sid:1;)\n"
      "alert tcp any any -> any any (content:\"`{A\"; nocase; depth:3; sid:2;)",
      IPPROTO_TCP, 1, 2, "`{a", "2" },
    { "at one place, part as fast_pattern",
      "alert tcp any any -> any any (content:\"abcdef\"; depth:6; fast_pattern:2,3; sid:1;)", IPPROTO_TCP, 1, 2,
      "abcdef", "1" },
    { "directions",
      "alert tcp any any -> any any (flow:to_server; content:\"abc\"; sid:1;)\n"
      "alert tcp any any -> any any (flow:to_client; content:\"abc\"; sid:2;)\n"
      "alert tcp any any -> any 2 (flow:to_client; content:\"abc\"; sid:3;)\n"
      "alert tcp any any -> any 2 (flow:to_server; dsize:3; sid:4;)\n"
      "alert tcp any any -> any 2 (flow:to_client; dsize:3; sid:5;)",
      IPPROTO_TCP, 1, 2, "abc", "1 4" },
    { "what a rule needs of a packet",
      "alert ip any any -> any any (ip_proto:6; sid:1;)\nalert ip any any -> any any (ip_proto:!6; sid:2;)\n"
      "alert ip any any -> any any (ip_proto:>5; ip_proto:<7; sid:3;)\nalert ip any any -> any any (ip_proto:17; "
      "sid:4;)\n"
      "alert tcp any any -> any any (dsize:!3; sid:5;)\nalert tcp any any -> any any (dsize:>2; sid:6;)\n"
      "alert tcp any any -> any any (dsize:2<>4; sid:7;)\nalert tcp any any -> any any (dsize:<3; sid:8;)",
      IPPROTO_TCP, 1, 2, "abc", "1 3 6 7" },
    { "binary", "alert tcp any any -> any any (content:\"|01 02|a|03|\"; sid:1;)", IPPROTO_TCP, 1, 2, "\1\2a\3", "1" },
};

START_TEST(rules_match)
{
    struct packet pkt = packet_of(cases[_i].protocol, cases[_i].sport, cases[_i].dport, cases[_i].payload);

    detect_rig_load(cases[_i].rules);
    ck_assert_msg(strcmp(sids(&pkt), cases[_i].expected) == 0, "%s: got '%s'", cases[_i].name, sids(&pkt));
    detect_rig_unload();
}
END_TEST

START_TEST(fragments_have_no_ports)
{
    struct packet pkt = packet_of(IPPROTO_TCP, 0, 0, "abc");

    detect_rig_load(
        "alert tcp any any -> any 80 (content:\"abc\"; sid:1;)\nalert tcp any any -> any !80 (content:\"abc\"; "
        "sid:2;)\n"
        "alert tcp any any -> any any (content:\"abc\"; sid:3;)");
    pkt.flags |= PACKET_FRAGMENT;
    ck_assert_str_eq(sids(&pkt), "3");
    detect_rig_unload();
}
END_TEST

START_TEST(event_rules_are_found_by_their_event)
{
    struct packet pkt = packet_of(IPPROTO_UDP, 1, 2, "abc");

    detect_rig_load("alert pkthdr any any -> any any (decode-event:udp.len_invalid; sid:1;)\n"
                    "alert pkthdr any any -> any any (decode-event:ipv4.trunc_pkt; sid:2;)");
    ck_assert_str_eq(sids(&pkt), "");
    ck_assert_uint_eq(detector_counters(detect_rig_detector)->candidates, 0);
    pkt.events[DECODE_EVENT_UDP_LEN_INVALID / 64] |= UINT64_C(1) << (DECODE_EVENT_UDP_LEN_INVALID % 64);
    pkt.event_count = 1;
    ck_assert_str_eq(sids(&pkt), "1");
    pkt.ip_version = 0;
    ck_assert_str_eq(sids(&pkt), "1");
    detect_rig_unload();
}
END_TEST

/* --- Short payloads ------------------------------------------------------------------------------- */

/* Payloads of two letters, in which contents occur at many places. The result must be that of a plain search. */
START_TEST(rules_match_where_a_plain_search_finds_their_word)
{
    static const char *const words[] = { "ab", "bbba", "aaaaaa" };
    uint32_t random = 2463534242U;
    char payload[24];

    detect_rig_load("alert udp any any -> any any (content:\"ab\"; sid:1;)\n"
                    "alert udp any any -> any any (content:\"bbba\"; sid:2;)\n"
                    "alert udp any any -> any any (content:\"aaaaaa\"; sid:3;)");
    for (unsigned round = 0; round < 20000; round++) {
        size_t length = 1 + round % 12;
        char expected[16] = "";

        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            payload[i] = "ab"[random >> 20 & 1];
        }
        payload[length] = '\0';
        for (unsigned i = 0; i < 3; i++) {
            if (strstr(payload, words[i]))
                snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s%u",
                         expected[0] ? " " : "", i + 1);
        }

        struct packet pkt = packet_of(IPPROTO_UDP, 1, 2, payload);

        ck_assert_str_eq(sids(&pkt), expected);
    }
    detect_rig_unload();
}
END_TEST

static const char *address_sids(const char *source, const char *destination)
{
    struct packet pkt = packet_of(IPPROTO_UDP, 1, 2, "");

    pkt.ip_version = (uint8_t)address_parse(source, strlen(source), &pkt.source_address);
    ck_assert_int_eq(pkt.ip_version, address_parse(destination, strlen(destination), &pkt.destination_address));
    return sids(&pkt);
}

START_TEST(rules_on_addresses_are_found_by_them)
{
    detect_rig_load("alert ip [10.0.0.1,10.0.0.3-10.0.0.5,192.168.0.0/16] any -> any any (sid:1;)\n"
                    "alert ip any any -> [10.0.0.5,10.0.0.6,2001:db8::/32] any (sid:2;)\n"
                    "alert ip 10.0.0.4/31 any -> 10.0.0.0/8 any (sid:3;)\n"
                    "alert ip any any -> any any (sid:4;)\n"
                    "alert ip 10.0.0.6 any <> 10.0.0.7 any (sid:5;)\n"
                    "alert ip [2001:db8::1,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff] any -> any any (sid:6;)\n"
                    "alert ip [0.0.0.0,255.255.255.255] any -> any any (sid:7;)\n"
                    "alert ip [0.0.0.0/1,8000::/1] any -> [128.0.0.0/1,0::/1] any (sid:8;)");
    ck_assert_str_eq(address_sids("10.0.0.1", "10.0.0.5"), "1 2 4");
    ck_assert_str_eq(address_sids("10.0.0.2", "10.0.0.6"), "2 4");
    ck_assert_str_eq(address_sids("10.0.0.3", "10.0.0.7"), "1 4");
    ck_assert_str_eq(address_sids("10.0.0.4", "10.0.0.7"), "1 3 4");
    ck_assert_str_eq(address_sids("10.0.0.5", "11.0.0.5"), "1 4");
    ck_assert_str_eq(address_sids("10.0.0.6", "10.0.0.7"), "4 5");
    ck_assert_str_eq(address_sids("10.0.0.7", "10.0.0.6"), "2 4 5");
    ck_assert_str_eq(address_sids("192.167.255.255", "1.1.1.1"), "4");
    ck_assert_str_eq(address_sids("192.168.0.0", "1.1.1.1"), "1 4");
    ck_assert_str_eq(address_sids("192.168.255.255", "1.1.1.1"), "1 4");
    ck_assert_str_eq(address_sids("192.169.0.0", "1.1.1.1"), "4");
    ck_assert_str_eq(address_sids("0.0.0.0", "128.0.0.0"), "4 7 8");
    ck_assert_str_eq(address_sids("0.0.0.1", "127.255.255.255"), "4");
    ck_assert_str_eq(address_sids("255.255.255.255", "255.255.255.255"), "4 7");
    ck_assert_str_eq(address_sids("2001:db8::1", "2001:db8:ffff::1"), "2 4 6");
    ck_assert_str_eq(address_sids("2001:db8::2", "2001:db9::"), "4");
    ck_assert_str_eq(address_sids("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "a00::5"), "4 6 8");
    ck_assert_str_eq(address_sids("a00:1::", "8000::"), "4");
    detect_rig_unload();
}
END_TEST

START_TEST(of_many_lists_of_addresses_one_is_evaluated)
{
    char rules[64 * 1024] = "";
    size_t used = 0;

    for (int i = 0; i < 250; i++)
        used += (size_t)snprintf(rules + used, sizeof(rules) - used,
                                 "alert ip [1.2.%d.1,1.3.%d.0/24] any -> any any (sid:%d;)\n", i, i, i + 1);
    detect_rig_load(rules);
    ck_assert_str_eq(address_sids("1.3.99.255", "1.2.3.1"), "100");
    ck_assert_uint_eq(detector_counters(detect_rig_detector)->candidates, 1);
    detect_rig_unload();
}
END_TEST

/* Only candidates are evaluated, each once. */
START_TEST(only_candidates_are_evaluated)
{
    char rules[64 * 1024] = "";
    size_t used = 0;
    struct packet pkt = packet_of(IPPROTO_TCP, 1, 2, "word17 and word17 and word3");

    for (int i = 0; i < 500; i++)
        used += (size_t)snprintf(rules + used, sizeof(rules) - used,
                                 "alert tcp any any -> any any (content:\"word%d \"; sid:%d;)\n", i, i + 1);
    detect_rig_load(rules);
    ck_assert_str_eq(sids(&pkt), "18");
    ck_assert_uint_eq(detector_counters(detect_rig_detector)->candidates, 1);
    ck_assert_uint_eq(detector_counters(detect_rig_detector)->evaluations, 1);
    detect_rig_unload();
}
END_TEST

START_TEST(marks_of_candidates_survive_the_wrap)
{
    enum { SIGNATURES = 8 };
    struct candidates candidates;

    ck_assert_int_eq(candidates_init(&candidates, SIGNATURES), 0);
    for (uint32_t i = 0; i < SIGNATURES; i += 2) /* in a scan whose number is used again after the wrap */
        candidates_add(&candidates, i);
    candidates.serial = UINT32_MAX - 2;
    for (int scan = 0; scan < 6; scan++) {
        candidates_clear(&candidates);
        ck_assert_uint_eq(candidates.count, 0);
        for (uint32_t i = 0; i < SIGNATURES; i++)
            ck_assert(!candidates_contain(&candidates, i));
        for (uint32_t i = 0; i < 2 * SIGNATURES; i += 2)
            candidates_add(&candidates, (i + 1) % SIGNATURES);
        ck_assert_uint_eq(candidates.count, SIGNATURES / 2);
        for (uint32_t i = 0; i < SIGNATURES / 2; i++)
            ck_assert_uint_eq(candidates.list[i], 2 * i + 1);
    }
    candidates_free(&candidates);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("detect");
    TCase *tcase = tcase_create("detect");

    tcase_add_loop_test(tcase, rules_match, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_test(tcase, fragments_have_no_ports);
    tcase_add_test(tcase, event_rules_are_found_by_their_event);
    tcase_add_test(tcase, rules_match_where_a_plain_search_finds_their_word);
    tcase_add_test(tcase, rules_on_addresses_are_found_by_them);
    tcase_add_test(tcase, of_many_lists_of_addresses_one_is_evaluated);
    tcase_add_test(tcase, only_candidates_are_evaluated);
    tcase_add_test(tcase, marks_of_candidates_survive_the_wrap);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
