/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time per rule, and suspension of rules that exceed the budget. The test has its own clock, which each reading
 * advances by `step_ns`. */
#include <stdatomic.h>

#include "pipeline_rig.h"

#define MS UINT64_C(1000000)

static uint64_t now_ns, step_ns;

static uint64_t test_clock(void)
{
    return now_ns += step_ns;
}

static const struct budget_options defaults = {
    .rule_ns = 5 * MS,
    .suspend = SUSPEND_ALERTS,
    .suspend_count = 3,
    .window_ns = 1000 * MS,
    .suspend_ns = 60000 * MS,
    .clock = test_clock,
};

static void open_rules(const struct budget_options *options, const char *rules)
{
    rig_setup();
    now_ns = 1000 * MS;
    step_ns = 1000;
    rig.options.detector.budget = *options;
    rig.names = rule_names_new();
    rig_open(rules);
    rig_handshake();
}

/* Sends a packet for which the evaluation of each rule takes `takes_ns`. */
static const char *send_slowly(uint64_t takes_ns, const char *text)
{
    const char *sids;

    step_ns = takes_ns;
    sids = rig_send(RIG_CLIENT, text);
    step_ns = 1000;
    return sids;
}

static const struct rule_cost *booked_on(uint32_t sid)
{
    const struct rule *rule = rule_list_find(ruleset_rules(rig.ruleset), 1, sid);

    return detector_cost(rig.pipeline.detector, rule->number);
}

#define ALERT "alert tcp any any -> any any (content:\"word\"; sid:1;)\n"

START_TEST(without_a_budget_nothing_is_timed)
{
    const struct budget_options none = { .clock = test_clock };

    open_rules(&none, ALERT);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "word"), "1");
    ck_assert_uint_eq(now_ns, 1000 * MS);
    ck_assert_ptr_null(booked_on(1));
}
END_TEST

START_TEST(costs_are_booked_on_rules)
{
    const struct budget_options only_measure = { .measure = true, .clock = test_clock };

    open_rules(&only_measure, ALERT "alert tcp any any -> any any (content:\"other\"; sid:2;)");
    ck_assert_str_eq(send_slowly(2 * MS, "word"), "1");
    ck_assert_str_eq(send_slowly(7 * MS, "word and word"), "1");
    ck_assert_uint_eq(booked_on(1)->evaluations, 2);
    ck_assert_uint_eq(booked_on(1)->total_ns, 9 * MS);
    ck_assert_uint_eq(booked_on(1)->max_ns, 7 * MS);
    ck_assert_uint_eq(booked_on(1)->over, 0); /* without a budget per rule */
    ck_assert_uint_eq(booked_on(2)->evaluations, 0);
    ck_assert_ptr_null(detector_cost(rig.pipeline.detector, 0));
}
END_TEST

START_TEST(a_slow_rule_is_suspended_and_comes_back)
{
    struct rule_suspension told;

    open_rules(&defaults, ALERT);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(send_slowly(6 * MS, "word"), "1");
    ck_assert_uint_eq(booked_on(1)->over, 3);
    ck_assert(detector_next_suspension(rig.pipeline.detector, &told));
    ck_assert_uint_eq(told.sid, 1);
    ck_assert_uint_eq(told.until_ns, now_ns + 60000 * MS);
    ck_assert(!detector_next_suspension(rig.pipeline.detector, &told));
    ck_assert_uint_eq(detector_counters(rig.pipeline.detector)->suspended, 1);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "word"), "");
    now_ns += 59000 * MS;
    ck_assert_str_eq(rig_send(RIG_CLIENT, "word"), "");
    now_ns += 1001 * MS;
    ck_assert_str_eq(rig_send(RIG_CLIENT, "word"), "1");
    ck_assert_uint_eq(booked_on(1)->evaluations, 4);
}
END_TEST

START_TEST(seldom_is_not_again_and_again)
{
    struct rule_suspension told;

    open_rules(&defaults, ALERT);
    for (int i = 0; i < 10; i++) {
        ck_assert_str_eq(send_slowly(6 * MS, "word"), "1");
        now_ns += 600 * MS;
    }
    ck_assert_uint_eq(booked_on(1)->over, 10);
    ck_assert(!detector_next_suspension(rig.pipeline.detector, &told));
}
END_TEST

START_TEST(fast_ones_are_left_alone)
{
    open_rules(&defaults, ALERT);
    for (int i = 0; i < 100; i++)
        ck_assert_str_eq(send_slowly(5 * MS, "word"), "1");
    ck_assert_uint_eq(booked_on(1)->over, 0);
    ck_assert_uint_eq(detector_counters(rig.pipeline.detector)->over_budget, 0);
}
END_TEST

/* Rules whose result affects more than alerts (drop, pass, flowbits and so on) are never suspended. */
START_TEST(what_does_more_than_alert_is_not_suspended)
{
    static const char *const rules[] = {
        "drop tcp-pkt any any -> any any (content:\"word\"; sid:1;)",
        "reject tcp-pkt any any -> any any (content:\"word\"; sid:1;)",
        "pass tcp-pkt any any -> any any (content:\"word\"; sid:1;)",
        "alert tcp any any -> any any (content:\"word\"; flowbits:set,seen; sid:1;)",
        "alert tcp any any -> any any (content:\"word\"; noalert; sid:1;)",
    };

    open_rules(&defaults, rules[_i]);
    for (int i = 0; i < 10; i++)
        send_slowly(6 * MS, "word");
    ck_assert_uint_eq(booked_on(1)->over, 10);
    ck_assert_uint_eq(detector_counters(rig.pipeline.detector)->suspended, 0);
}
END_TEST

START_TEST(unless_it_is_configured)
{
    struct budget_options all = defaults;

    all.suspend = SUSPEND_ALL;
    all.suspend_count = 1;
    open_rules(&all, "drop tcp-pkt any any -> any any (content:\"word\"; sid:1;)");
    ck_assert_str_eq(send_slowly(6 * MS, "word"), "1");
    ck_assert_uint_eq(detector_counters(rig.pipeline.detector)->suspended, 1);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "word"), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
}
END_TEST

START_TEST(nor_is_any_when_it_is_not_wanted)
{
    struct budget_options none = defaults;

    none.suspend = SUSPEND_NONE;
    open_rules(&none, ALERT);
    for (int i = 0; i < 10; i++)
        ck_assert_str_eq(send_slowly(6 * MS, "word"), "1");
    ck_assert_uint_eq(booked_on(1)->over, 10);
    ck_assert_uint_eq(detector_counters(rig.pipeline.detector)->suspended, 0);
}
END_TEST

/* A suspension survives a reload, because it is stored with the number of the rule. */
START_TEST(a_reload_does_not_bring_it_back)
{
    open_rules(&defaults, ALERT);
    for (int i = 0; i < 3; i++)
        send_slowly(6 * MS, "word");
    rig_reload("alert tcp any any -> any any (content:\"other\"; sid:2;)\n" ALERT);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "other word"), "2");
    ck_assert_uint_eq(booked_on(1)->over, 3);
}
END_TEST

/* Returns the sum of the costs of all searches of the loaded ruleset. */
static struct search_cost searched(void)
{
    struct search_cost sum = { 0 };

    for (uint32_t i = 0; i < ruleset_search_count(rig.ruleset); i++) {
        const struct search_cost *cost = detector_search_cost(rig.pipeline.detector, rig.ruleset, i);

        ck_assert_ptr_nonnull(cost);
        sum.scans += cost->scans;
        sum.bytes += cost->bytes;
        sum.candidates += cost->candidates;
    }
    return sum;
}

START_TEST(searches_are_counted_until_a_reload)
{
    const struct budget_options only_measure = { .measure = true, .clock = test_clock };
    const struct ruleset *before;

    open_rules(&only_measure, ALERT);
    ck_assert_uint_ge(ruleset_search_count(rig.ruleset), 1);
    rig_send(RIG_CLIENT, "word");
    rig_send(RIG_CLIENT, "....");
    ck_assert_uint_eq(searched().scans, 2);
    ck_assert_uint_eq(searched().bytes, 8);
    ck_assert_uint_eq(searched().candidates, 1);
    before = rig.ruleset;
    ck_assert_ptr_null(detector_search_cost(rig.pipeline.detector, rig.ruleset, BUDGET_MAX_SEARCHES));
    rig_reload("alert tcp any any -> any any (content:\"other\"; sid:2;)\n" ALERT);
    ck_assert_ptr_ne(before, rig.ruleset);
    ck_assert_ptr_null(detector_search_cost(rig.pipeline.detector, before, 0));
    ck_assert_uint_eq(searched().scans, 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("budget");

    tcase_add_checked_fixture(tcase, NULL, rig_close);
    tcase_add_test(tcase, without_a_budget_nothing_is_timed);
    tcase_add_test(tcase, costs_are_booked_on_rules);
    tcase_add_test(tcase, a_slow_rule_is_suspended_and_comes_back);
    tcase_add_test(tcase, seldom_is_not_again_and_again);
    tcase_add_test(tcase, fast_ones_are_left_alone);
    tcase_add_loop_test(tcase, what_does_more_than_alert_is_not_suspended, 0, 5);
    tcase_add_test(tcase, unless_it_is_configured);
    tcase_add_test(tcase, nor_is_any_when_it_is_not_wanted);
    tcase_add_test(tcase, searches_are_counted_until_a_reload);
    tcase_add_test(tcase, a_reload_does_not_bring_it_back);
    return rig_run(tcase, "budget");
}
