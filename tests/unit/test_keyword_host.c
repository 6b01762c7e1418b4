/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostbits and xbits: parsing, conditions and actions, with several rules on a sequence of packets. */
#include <check.h>

#include <stdio.h>
#include <string.h>

#include "sluice/clock.h"
#include "sluice/host.h"
#include "sluice/keyword.h"

static struct host_table *hosts;
static unsigned waits;

static void count_wait(struct replay_order *order)
{
    (void)order;
    waits++;
}

static struct replay_order order = { .wait = count_wait };

/* Evaluates the rule on a packet between two hosts (a to z) at a second, and executes its actions if it matches. */
static bool run(const struct rule *rule, char from, char to, uint64_t second)
{
    struct packet pkt = {
        .ip_version = 4,
        .time_ns = second * NS_PER_SECOND,
        .source_address = { .bytes = { 10, 0, 0, (uint8_t)from } },
        .destination_address = { .bytes = { 10, 0, 0, (uint8_t)to } },
    };
    struct match_input in = { .packet = &pkt, .hosts = hosts, .order = &order };

    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        if (c->keyword->packet.match(&in, c->data) == c->negated)
            return false;
    for (const struct match_action *c = rule->actions; c; c = c->next)
        c->act(&in, c->data);
    return true;
}

/* A step: the rule, the packet, and whether the rule matches. */
struct step {
    unsigned rule;
    char from, to;
    uint64_t second;
    bool matches;
};

/* clang-format off */
static const struct {
    const char *rules[4]; /* options */
    struct step steps[12];
} scenes[] = {
    { { "hostbits:set,a;", "hostbits:isset,a;", "hostbits:isnotset,a;", "hostbits:unset,a;" },
      { { 1, 'a', 'b', 1, false }, { 2, 'a', 'b', 1, true }, { 0, 'a', 'b', 1, true }, { 1, 'a', 'c', 2, true },
        { 1, 'b', 'a', 2, false }, { 2, 'a', 'b', 2, false }, { 1, 'a', 'b', 301, true }, { 1, 'a', 'b', 302, false },
        { 0, 'a', 'b', 400, true }, { 3, 'a', 'b', 401, true }, { 1, 'a', 'b', 402, false } } },
    { { "hostbits:set,a,dst;", "hostbits:isset,a,src;", "hostbits:isset, a , dst;", "hostbits:toggle,a,src;" },
      { { 0, 'a', 'b', 1, true }, { 1, 'a', 'b', 2, false }, { 2, 'a', 'b', 2, true }, { 1, 'b', 'x', 2, true },
        { 3, 'b', 'x', 3, true }, { 1, 'b', 'x', 3, false }, { 3, 'b', 'x', 3, true }, { 1, 'b', 'x', 3, true } } },
    { { "xbits:set,a,track ip_pair,expire 10;", "xbits:isset,a,track ip_pair;", "xbits:isnotset,a,track ip_pair;",
        "xbits:toggle,a,track ip_pair, expire 5;" },
      { { 2, 'a', 'b', 1, true }, { 0, 'a', 'b', 1, true }, { 1, 'b', 'a', 11, true }, { 1, 'a', 'c', 2, false },
        { 1, 'a', 'b', 12, false }, { 3, 'b', 'a', 13, true }, { 1, 'a', 'b', 14, true }, { 3, 'a', 'b', 14, true },
        { 1, 'a', 'b', 14, false } } },
    /* Both keywords use the same bits. The default expiry is 30 seconds. */
    { { "xbits:set,a,track ip_src;", "hostbits:isset,a;", "xbits:isset,a,track ip_dst;",
        "xbits:isset,a,track ip_pair;" },
      { { 0, 'a', 'b', 1, true }, { 1, 'a', 'b', 1, true }, { 2, 'b', 'a', 31, true }, { 2, 'b', 'a', 32, false },
        { 3, 'a', 'b', 1, false } } },
};
/* clang-format on */

/* --- Rules from options --------------------------------------------------------------------------- */

static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct rule_list *list;
static struct diag *diag;

static void open_rules(const char *const *options, size_t count)
{
    const struct rule_list_options list_options = { .keywords = keywords, .variables = variables };

    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    for (size_t i = 0; i < count; i++) {
        char text[512];
        int length = snprintf(text, sizeof(text), "alert ip any any -> any any (%s sid:%zu;)\n", options[i], i + 1);

        ck_assert_int_eq(rule_list_parse(list, "test.rules", text, (size_t)length, diag), 0);
    }
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
}

static void set_up(void)
{
    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    diag = diag_new();
    ck_assert(keywords && variables && diag);
    ck_assert_int_eq(host_table_new(&hosts, 1 << 20), 0);
    waits = 0;
}

static void tear_down(void)
{
    host_table_free(hosts);
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

START_TEST(bits_are_found_where_they_were_set)
{
    open_rules(scenes[_i].rules, 4);
    ck_assert_uint_eq(rule_list_count(list), 4);
    for (const struct step *step = scenes[_i].steps; step->from; step++)
        ck_assert_msg(run(rule_list_find(list, 1, step->rule + 1), step->from, step->to, step->second) == step->matches,
                      "step %zu", (size_t)(step - scenes[_i].steps));
    ck_assert_uint_gt(waits, 0);
}
END_TEST

/* Without addresses or table no bit is set, and no condition matches. */
START_TEST(packets_without_hosts_never_match)
{
    static const char *const options[] = { "hostbits:isset,a;", "hostbits:isnotset,a;", "xbits:set,a,track ip_pair;" };
    struct packet pkt = { 0 };
    struct match_input in = { .packet = &pkt, .hosts = hosts };

    open_rules(options, 3);
    for (uint32_t sid = 1; sid <= 2; sid++) {
        const struct condition *c = rule_list_find(list, 1, sid)->packet_conditions;

        ck_assert(c->keyword->packet.match(&in, c->data) == c->negated);
    }
    const struct match_action *action = rule_list_find(list, 1, 3)->actions;

    action->act(&in, action->data);
    in.hosts = NULL;
    pkt.ip_version = 4;
    action->act(&in, action->data);
}
END_TEST

START_TEST(rules_say_what_they_use)
{
    static const char *const options[] = { "hostbits:set,a; xbits:isset,b,track ip_pair;", "xbits:noalert;" };

    open_rules(options, 2);
    const struct rule *rule = rule_list_find(list, 1, 1);

    ck_assert_uint_eq(rule->state_use[RULE_NAME_HOSTBIT], RULE_STATE_WRITES);
    ck_assert_uint_eq(rule->state_use[RULE_NAME_XBIT], RULE_STATE_READS);
    ck_assert(rule_list_find(list, 1, 2)->noalert);
}
END_TEST

/* --- Errors --------------------------------------------------------------------------------------- */

static const struct {
    const char *options, *message;
} bad[] = {
    { "hostbits:sets,a;", "unknown command 'sets'" },
    { "hostbits:set;", "needs a name" },
    { "hostbits:set,;", "a name is missing" },
    { "hostbits:set,a b;", "can't have spaces" },
    { "hostbits:set,a,both;", "got 'both'" },
    { "hostbits:set,a,src,60;", "got 'src,60'" },
    { "hostbits:noalert,a;", "nothing may follow" },
    { "xbits:!set,a,track ip_src;", "" },
    { "xbits:set,a;", "'xbits' needs 'track ip_src'" },
    { "xbits:isset,a,track tx;", "needs a rule with a hook" },
    { "xbits:unset,a,track tx;", "can only be 'set' or 'isset'" },
    { "xbits:isnotset,a,track tx;", "can only be 'set' or 'isset'" },
    { "xbits:set,,track tx;", "a name is missing" },
    { "xbits:set,a,track tx,track ip_src;", "given before" },
    { "xbits:set,a,expire 10;", "'xbits' needs 'track ip_src'" },
    { "xbits:set,a,track ip_source;", "got 'ip_source'" },
    { "xbits:set,a,track ip_src,track ip_dst;", "given before" },
    { "xbits:set,a,track ip_src,expire 0;", "from 1 to" },
    { "xbits:set,a,track ip_src,expire -1;", "from 1 to" },
    { "xbits:set,a,track ip_src,expire 1,expire 2;", "given before" },
    { "xbits:set,a,noalert,track ip_src;", "unknown option 'noalert'" },
};

START_TEST(mistakes_are_told)
{
    open_rules(&bad[_i].options, 1);
    ck_assert_uint_eq(rule_list_count(list), 0);
    ck_assert_uint_ge(diag_errors(diag) + diag_unsupported(diag), 1);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, bad[_i].message));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyword_host");
    TCase *tcase = tcase_create("keyword_host");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, bits_are_found_where_they_were_set, 0, sizeof(scenes) / sizeof(scenes[0]));
    tcase_add_test(tcase, packets_without_hosts_never_match);
    tcase_add_test(tcase, rules_say_what_they_use);
    tcase_add_loop_test(tcase, mistakes_are_told, 0, sizeof(bad) / sizeof(bad[0]));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
