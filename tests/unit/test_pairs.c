/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules with literals of two bytes, whose conditions are evaluated as soon as the literal is found. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect_rig.h"

static uint32_t random_state;

static uint32_t random_number(void)
{
    random_state = random_state * 1664525 + 1013904223;
    return random_state >> 8;
}

enum { PACKETS = 3000, RULES = 14 };

static const char marker[] = "marker"; /* part of each payload */

/* Contents of two bytes, with conditions on their position and on the bytes after them. They are decided by position or
 * by earlier values, with one or several positions. */
static const char *const rules[RULES] = {
    "content:\"|79 94|\";",
    "content:\"|79 94|\"; offset:8; content:\"|00|\"; distance:0; within:1;",
    "content:\"|79 94|\"; depth:60; content:\"|94 79|\"; distance:2;",
    "content:\"|94 79|\"; offset:40; depth:30;",
    "content:\"aB\"; nocase; content:\"|79 94|\"; distance:0;",
    "content:\"|00 00|\"; content:!\"|79 94|\"; distance:0;",
    "content:\"|94 79|\"; byte_test:1,>,64,0,relative;",
    "content:\"|00 00|\"; offset:2; content:\"|00 00|\"; distance:4; within:60; isdataat:!9,relative;",
    "content:\"|79 94|\"; byte_jump:1,0,relative,from_beginning; isdataat:!40,relative;",
    "content:\"|79 94|\"; byte_jump:2,-4,relative,little,from_beginning,post_offset -1; content:\"|00|\"; within:60;",
    "content:\"|94 79|\"; content:\"|00|\"; distance:0; within:40; content:\"|79|\"; distance:0; within:3;",
    "byte_extract:1,0,first; content:\"|79 94|\"; byte_test:1,>,first,0,relative;",
    "byte_extract:1,0,first; content:\"|79 94|\"; content:\"|00|\"; distance:0; within:first;",
    "content:\"|79 94|\"; content:!\"|00|\"; within:5; byte_test:1,<,100,2;",
};

/* If the marker is the literal of each rule, there is no precheck. */
static void load_rules(bool by_marker)
{
    static char text[32768];
    size_t length = 0;

    for (unsigned i = 0; i < RULES; i++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "alert udp any any -> any any (%s%s sid:%u;)\n",
                             by_marker ? "content:\"marker\"; fast_pattern; " : "", rules[i], i + 1);
    ck_assert_uint_lt(length, sizeof(text));
    detect_rig_load(text);
}

static size_t detect(const uint8_t *payload, uint32_t length, const struct hit **hits)
{
    struct packet pkt = {
        .ip_version = 4,
        .protocol = IPPROTO_UDP,
        .source_address = { .bytes = { 10, 0, 0, 1 } },
        .destination_address = { .bytes = { 10, 0, 0, 2 } },
        .source_port = 1,
        .destination_port = 2,
        .payload = payload,
        .payload_length = length,
    };
    const struct detect_input input = { .packet = &pkt };

    detect_packet(detect_rig_detector, detect_rig_ruleset, &input, NULL);
    return detect_finish(detect_rig_detector, hits);
}

/* Returns a bit mask of the rules that match. All payloads use the same memory, as in a queue. */
static unsigned matches_of(uint32_t number)
{
    static const uint8_t letters[] = { 0x79, 0x94, 0, 'a', 'b', 'B', 'Z' };
    static uint8_t payload[300];
    unsigned matches = 0, kinds;
    const struct hit *hits;
    uint32_t length;

    random_state = number * 77 + 1;
    kinds = 2 + random_number() % (sizeof(letters) - 1);
    length = 33 + random_number() % (sizeof(payload) - 32);
    for (uint32_t i = 0; i < length; i++)
        payload[i] = random_number() % 4 ? (uint8_t)random_number() : letters[random_number() % kinds];
    memcpy(payload + 10, marker, sizeof(marker) - 1);

    size_t count = detect(payload, length, &hits);

    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_le(hits[i].rule->sid, RULES);
        matches |= 1U << (hits[i].rule->sid - 1);
    }
    return matches;
}

START_TEST(rules_match_alike_with_and_without_prechecks)
{
    static unsigned by_marker[PACKETS];
    unsigned matched[RULES] = { 0 };

    load_rules(true);
    for (uint32_t i = 0; i < PACKETS; i++)
        by_marker[i] = matches_of(i);
    detect_rig_unload();
    load_rules(false);
    for (uint32_t i = 0; i < PACKETS; i++) {
        unsigned matches = matches_of(i);

        ck_assert_msg(matches == by_marker[i], "packet %u: %x and not %x", i, matches, by_marker[i]);
        for (unsigned k = 0; k < RULES; k++)
            matched[k] += matches >> k & 1;
    }
    detect_rig_unload();
    for (unsigned k = 0; k < RULES; k++) {
        ck_assert_msg(matched[k] > 10, "rule %u matched %u packets", k + 1, matched[k]);
        ck_assert_msg(matched[k] < PACKETS, "rule %u matched all", k + 1);
    }
}
END_TEST

/* Checks the number of candidates, and whether the rule matches. */
static void check_follow(const char *options, const uint8_t *payload, uint32_t length, uint64_t candidates, bool match)
{
    char text[256];
    const struct hit *hits;

    snprintf(text, sizeof(text), "alert udp any any -> any any (%s sid:1;)\n", options);
    detect_rig_load(text);

    size_t count = detect(payload, length, &hits);

    ck_assert_msg(detector_counters(detect_rig_detector)->candidates == candidates, "%s: %u candidates", options,
                  (unsigned)detector_counters(detect_rig_detector)->candidates);
    ck_assert_uint_eq(count, match);
    detect_rig_unload();
}

/* A rule is no candidate if the bytes after its two-byte literal contradict its conditions. */
START_TEST(a_rule_whose_pair_is_followed_by_something_else_is_no_candidate)
{
    static const char jump[] = "content:\"|79 94|\"; byte_jump:1,-3,relative,from_beginning; isdataat:!1,relative;";
    uint8_t payload[100];

    memset(payload, 'x', sizeof(payload));
    memcpy(payload + 20, "\x33\x79\x94", 3);
    check_follow(jump, payload, sizeof(payload), 0, false);
    check_follow("content:\"|79 94|\"; pcre:\"/^y/R\";", payload, sizeof(payload), 1, false);
    check_follow("content:\"|79 94|\"; content:!\"x\"; within:1;", payload, sizeof(payload), 0, false);
    check_follow("content:\"|79 94|\"; content:\"y\"; within:1;", payload, sizeof(payload), 0, false);
    /* only the full evaluation tries the next position of the second content */
    check_follow("content:\"|79 94|\"; content:\"x\"; within:9; isdataat:90,relative;", payload, sizeof(payload), 1,
                 false);
    memcpy(payload + 60, "\x64\x79\x94", 3);
    check_follow(jump, payload, sizeof(payload), 1, true);
    payload[60] = 0x65; /* after the end of the payload */
    check_follow(jump, payload, sizeof(payload), 0, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs");
    TCase *tcase = tcase_create("pairs");

    tcase_set_timeout(tcase, 300);
    tcase_add_test(tcase, rules_match_alike_with_and_without_prechecks);
    tcase_add_test(tcase, a_rule_whose_pair_is_followed_by_something_else_is_no_candidate);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
