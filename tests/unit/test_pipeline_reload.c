/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A reload between two packets of a connection: pending candidates stay pending, and rules that have matched do not
 * match again. */
#include <stdatomic.h>

#include "pipeline_app_rig.h"

#define TWO_PARTS "alert tcp any any -> any any (content:\"first\"; content:\"second\"; distance:0; sid:1;)\n"
#define OTHERS                                                                                                         \
    "drop tcp any any -> any any (content:\"nothing\"; sid:90;)\n"                                                     \
    "alert tcp any any -> any any (content:\"unused\"; content:\"either\"; sid:91;)\n"

static void setup(void)
{
    rig_setup_applications();
    rig.names = rule_names_new();
}

/* The reload changes the numbers of all rules. */
START_TEST(what_waits_goes_on_waiting)
{
    rig_open(TWO_PARTS);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "the first part"), "");
    rig_reload(OTHERS TWO_PARTS);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "and the second"), "1");
    rig_reload(TWO_PARTS OTHERS);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "more"), "");
}
END_TEST

/* The numbers of the pending candidate are outdated after two reloads, so its bytes are searched again. */
START_TEST(what_waits_for_longer_than_one_reload_is_found_again)
{
    rig_open(TWO_PARTS);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "the first part"), "");
    for (unsigned i = 0; i < 3; i++)
        rig_reload(i % 2 ? TWO_PARTS : OTHERS TWO_PARTS);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "and the second"), "1");
}
END_TEST

START_TEST(a_rule_that_has_gone_is_forgotten)
{
    rig_open(TWO_PARTS OTHERS);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "the first part is unused"), "");
    rig_reload("alert tcp any any -> any any (content:\"something\"; sid:3;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "and the second, either"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "is something"), "3");
}
END_TEST

/* A rule with the same sid but another text is a new rule, and is evaluated on later bytes. */
START_TEST(a_rule_that_has_changed_begins_anew)
{
    rig_open(TWO_PARTS);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "the first part"), "");
    rig_reload("alert tcp any any -> any any (content:\"second\"; content:\"third\"; distance:0; sid:1; rev:2;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "and the second"), "");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "third"), "1");
}
END_TEST

/* A rule without a literal matches once for the same bytes. */
START_TEST(what_has_matched_does_not_match_again)
{
    static const char rule[] = "alert tcp any any -> any any (pcre:\"/a[0-9]+b/\"; flow:only_stream; sid:1;)\n";
    char with_others[1024];

    snprintf(with_others, sizeof(with_others), "%s%s", OTHERS, rule);
    rig_open(rule);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "a123b"), "1");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "c"), "");
    rig_reload(with_others);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "d"), "");
    rig_reload(rule);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "e"), "");
}
END_TEST

START_TEST(a_literal_across_the_reload_is_found)
{
    rig_open(OTHERS);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "this is ev"), "");
    rig_reload("drop tcp any any -> any any (content:\"evil\"; sid:2;)");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "il"), "2");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

#define OF_URI "alert tcp any any -> any any (http.uri; content:\"/once\"; sid:1;)\n"
#define OF_BOTH                                                                                                        \
    "alert tcp any any -> any any (http.uri; content:\"/once\"; http.request_body; content:\"evil\"; sid:2;)\n"

/* The request arrives before the reload, its body after it. */
START_TEST(transactions_go_on)
{
    rig_open(OF_URI OF_BOTH);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "POST /once HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nxx"), "1");
    rig_reload(OTHERS OF_BOTH OF_URI);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx"), "");
    rig_reload(OF_URI OF_BOTH);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "evil"), "2");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "xx"), "");
}
END_TEST

/* A new rule is evaluated on all data of an existing transaction. */
START_TEST(a_new_rule_is_asked_of_a_transaction_that_has_begun)
{
    rig_open(OTHERS);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "POST /once HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nxx"), "");
    rig_reload(OF_BOTH);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "evil"), "2");
}
END_TEST

/* More candidates of a transaction than fit into a block; the reload removes some of them. */
START_TEST(many_candidates_are_carried_over)
{
    enum { MANY = 60, RULE = 160 };
    static char all[MANY * RULE], some[MANY * RULE];
    const struct hit *hits;
    size_t used = 0, kept = 0;

    for (unsigned i = 0; i < MANY; i++) {
        char rule[RULE];
        int length = snprintf(rule, sizeof(rule),
                              "alert tcp any any -> any any (http.uri; content:\"/once\"; http.request_body; "
                              "content:\"evil\"; sid:%u;)\n",
                              100 + i);

        memcpy(all + used, rule, (size_t)length + 1);
        used += (size_t)length;
        if (i % 3 != 0)
            continue;
        memcpy(some + kept, rule, (size_t)length + 1);
        kept += (size_t)length;
    }
    rig.options.policy.packet_alert_max = MANY;
    rig_open(all);
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "POST /once HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nxx"), "");
    rig_reload(some);
    rig_send(RIG_CLIENT, "evil");
    ck_assert_uint_eq(rig_hits(&hits), MANY / 3);
    rig_reload(all);
    rig_send(RIG_CLIENT, "xx");
}
END_TEST

START_TEST(bits_of_flows_go_on)
{
    rig_open("alert tcp any any -> any any (content:\"first\"; flowbits:set,one; sid:1;)\n");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "first"), "1");
    rig_reload("alert tcp any any -> any any (content:\"x\"; flowbits:set,other; sid:4;)\n"
               "alert tcp any any -> any any (content:\"second\"; flowbits:isset,one; sid:2;)\n"
               "alert tcp any any -> any any (content:\"second\"; flowbits:isset,other; sid:3;)\n");
    ck_assert_str_eq(rig_send(RIG_CLIENT, "second"), "2");
}
END_TEST

START_TEST(rules_are_counted_over_reloads)
{
    static const char rule[] = "drop tcp any any -> any any (content:\"one\"; sid:7;)\n";
    const struct rule *now;
    const struct rule_tally *tally;

    rig_open(rule);
    rig_handshake();
    rig_send(RIG_CLIENT, "one");
    rig_reload(OTHERS);
    rig_reload(OTHERS "drop tcp any any -> any any (content:\"two\"; sid:7; rev:2;)\n");
    rig.client_port++;
    rig_handshake();
    rig_send(RIG_CLIENT, "two");
    now = rule_list_find(ruleset_rules(rig.ruleset), 1, 7);
    tally = policy_tally(rig.pipeline.policy, now->number);
    ck_assert_uint_eq(atomic_load(&tally->matches), 2);
    ck_assert_uint_eq(atomic_load(&tally->alerts), 2);
    ck_assert_uint_eq(atomic_load(&tally->drops), 2);
    ck_assert_uint_eq(atomic_load(&tally->last_ns), rig.packet.time_ns);
}
END_TEST

START_TEST(a_flow_knows_what_it_has_met)
{
    const struct flow_history *history;

    rig_open(
        "alert tcp any any -> any any (content:\"a\"; sid:1;)\n"
        "alert tcp any any -> any any (content:\"a\"; threshold:type limit, track by_src, count 1, seconds 60; "
        "sid:2;)\n"
        "alert tcp any any -> any any (content:\"b\"; sid:3;)\nalert tcp any any -> any any (content:\"b\"; sid:4;)\n"
        "alert tcp any any -> any any (content:\"b\"; sid:5;)\nalert tcp any any -> any any (content:\"b\"; sid:6;)\n"
        "alert tcp any any -> any any (content:\"b\"; sid:7;)\ndrop tcp any any -> any any (content:\"c\"; sid:8;)\n");
    rig_handshake();
    ck_assert_ptr_null(rig.packet.flow->history);
    rig_send(RIG_CLIENT, "a");
    rig_send(RIG_CLIENT, "a");
    history = rig.packet.flow->history;
    ck_assert_uint_eq(history->count, 2);
    ck_assert_uint_eq(history->rules[1].sid, 2);
    ck_assert_uint_eq(history->rules[1].count, 2);
    ck_assert(history->rules[1].reported && history->rules[1].silenced && !history->rules[0].silenced);
    rig_send(RIG_CLIENT, "b");
    ck_assert_uint_eq(history->count, FLOW_HISTORY_RULES);
    ck_assert_uint_eq(history->others, 1);
    rig_send(RIG_CLIENT, "c");
    ck_assert_uint_eq(history->others, 2);
    ck_assert_uint_eq(rig.packet.flow->drop_sid, 8);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pipeline_reload");

    tcase_add_checked_fixture(tcase, setup, rig_close_applications);
    tcase_add_test(tcase, what_waits_goes_on_waiting);
    tcase_add_test(tcase, what_waits_for_longer_than_one_reload_is_found_again);
    tcase_add_test(tcase, a_rule_that_has_gone_is_forgotten);
    tcase_add_test(tcase, a_rule_that_has_changed_begins_anew);
    tcase_add_test(tcase, what_has_matched_does_not_match_again);
    tcase_add_test(tcase, a_literal_across_the_reload_is_found);
    tcase_add_test(tcase, transactions_go_on);
    tcase_add_test(tcase, a_new_rule_is_asked_of_a_transaction_that_has_begun);
    tcase_add_test(tcase, many_candidates_are_carried_over);
    tcase_add_test(tcase, bits_of_flows_go_on);
    tcase_add_test(tcase, rules_are_counted_over_reloads);
    tcase_add_test(tcase, a_flow_knows_what_it_has_met);
    return rig_run(tcase, "pipeline_reload");
}
