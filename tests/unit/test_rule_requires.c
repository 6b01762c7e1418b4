/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option `requires`: its grammar, the comparison of versions, and how skipped rules are counted. The keywords are
 * those of the build. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

static struct keyword_table *table;
static struct rule_variables *variables;
static struct diag *diag;
static struct rule_list *list;

static void setup(void)
{
    struct rule_list_options options = { 0 };

    table = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    diag = diag_new();
    options.keywords = table;
    options.variables = variables;
    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
}

static void teardown(void)
{
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(table);
}

static void parse(const char *text)
{
    ck_assert_int_eq(rule_list_parse(list, "test.rules", text, strlen(text), diag), 0);
}

enum outcome { MET, UNMET, MISTAKE, MET_WITH_WARNING };

#ifdef SLUICE_LUA
#define WITH_LUA MET
#else
#define WITH_LUA UNMET
#endif

/* Own version: 8.0.7. */
static const struct {
    const char *value;
    enum outcome outcome;
} rows[] = {
    { "version >= 8", MET },
    { "version >=8.0.7", MET },
    { "version > 8.0.7", UNMET },
    { "version >8.0.6", MET },
    { "version <= 8.0.7", MET },
    { "version < 8.0.7", UNMET },
    { "version <= 8.0.6", UNMET },
    { "version >= 8.0.8", UNMET },
    { "version >= 8.1", UNMET },
    { "version < 8.1", MET },
    { "version < 10", MET },
    { "version >= 10", UNMET },
    { "version >= 7 < 8", UNMET },
    { "version >= 8 < 9", MET },
    { "version >= 8 < 9 > 8.0.7", UNMET },
    { "version >= 7.0.3 < 8 | >= 8.0.3", MET },
    { "version >= 7.0.3 < 8|>= 8.0.3", MET_WITH_WARNING }, /* as in Suricata, "8|" is no number */
    { "version >= 7.0.3 < 8 |>= 8.0.3", MET },
    { "version >= 7.0.3 < 8 | >= 8.0.99", UNMET },
    { "version >= 7.0.5 < 8 | >= 8.0.8 < 9 | >= 9.0.3", UNMET },
    { "version >= 8.0.0-dev", MET_WITH_WARNING },
    { "version >= 8 < x", MET_WITH_WARNING },
    { "version >= 8 | x", MET_WITH_WARNING },
    { "version >= 7 < 8 | x", UNMET },
    { "version >= 8-dev", MISTAKE },
    { "version >= 777", MISTAKE },
    { "version >= 7.1.2a", MISTAKE },
    { "version = 8", MISTAKE },
    { "version 8", MISTAKE },
    { "version", MISTAKE },
    { "version >=", MISTAKE },
    { "version >= 8, version < 9", MISTAKE },
    { "", MISTAKE },
    { "feature geoip", MET },
    { "feature geoip, feature lua", WITH_LUA },
    { "feature geoip,  version >= 8", MET },
    { "feature geoip,, version >= 9", UNMET },
    { "feature nonsense", UNMET },
    { "feature", UNMET },
    { "keyword sid", MET },
    { "keyword requires, keyword content", MET },
    { "keyword foobar", UNMET },
    { "version >= 8, keyword foobar", UNMET },
    { "foo bar", UNMET },
    { ">= 8", UNMET },
    { "foo bar, version >= x", MISTAKE },
};

START_TEST(values_are_evaluated)
{
    char rule[256];
    enum outcome outcome = rows[_i].outcome;

    snprintf(rule, sizeof(rule), "alert tcp any any -> any any (requires: %s; sid:7;)\n", rows[_i].value);
    parse(rule);
    ck_assert_msg(rule_list_read(list) == 1, "%s", rows[_i].value);
    ck_assert_msg(rule_list_count(list) == (outcome == MET || outcome == MET_WITH_WARNING), "%s", rows[_i].value);
    ck_assert_msg(rule_list_failed(list) == (outcome == MISTAKE), "%s", rows[_i].value);
    ck_assert_uint_eq(diag_errors(diag), outcome == MISTAKE);
    if (outcome == UNMET) {
        ck_assert_msg(rule_list_unmet(list) == 1 && rule_list_skipped(list) == 1, "%s", rows[_i].value);
        ck_assert_uint_eq(rule_list_rejected(list), 1);
        ck_assert_uint_eq(diag_unsupported(diag), 0);
        ck_assert_int_eq(rule_list_failure(list, 0)->kind, RULE_FAILURE_UNMET);
        ck_assert_uint_eq(rule_list_failure(list, 0)->sid, 7);
        ck_assert_ptr_nonnull(strstr(rule_list_failure(list, 0)->reason, "requires '"));
    } else {
        ck_assert_uint_eq(rule_list_unmet(list), 0);
        ck_assert_msg(diag_warnings(diag) == (outcome == MET_WITH_WARNING), "%s", rows[_i].value);
    }
}
END_TEST

/* A rule for another version may have any mistake before and after `requires`. */
START_TEST(the_rest_of_a_skipped_rule_is_not_parsed)
{
    parse("alert tcp any any -> any any (newer; content:!!; requires: version >= 9; sid:1; flow:sideways;)\n"
          "judge quic any -> (requires: version >= 9; sid:2;)\n"
          "alert tcp any any -> any any (requires: version >= 8; requires: keyword newer; newer:1; sid:3;)\n");
    ck_assert_uint_eq(rule_list_unmet(list), 3);
    ck_assert_uint_eq(diag_errors(diag) + diag_unsupported(diag) + diag_warnings(diag), 0);
    ck_assert_uint_eq(rule_list_failure(list, 0)->sid, 1);
    ck_assert_str_eq(rule_list_failure(list, 2)->reason,
                     "requires 'keyword newer', which Sluice (rules of Suricata " RULE_SURICATA_VERSION
                     ") does not meet");
}
END_TEST

START_TEST(only_an_option_is_evaluated)
{
    parse("alert tcp any any -> any any (msg:\"requires: version >= 9\"; sid:1;)\n"
          "alert tcp any any -> any any (msg:\"x\\; requires: version >= 9\"; sid:2;)\n");
    ck_assert_uint_eq(rule_list_count(list), 2);
    ck_assert_uint_eq(rule_list_unmet(list), 0);
}
END_TEST

/* Two rules with one sid, for two versions: the rule that is skipped neither replaces the other nor conflicts. */
START_TEST(one_sid_has_rules_for_two_versions)
{
    parse("alert tcp any any -> any any (msg:\"seven\"; requires: version >= 7 < 8; sid:1; rev:9;)\n"
          "alert tcp any any -> any any (msg:\"eight\"; requires: version >= 8 < 9; sid:1; rev:2;)\n");
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_count(list), 1);
    ck_assert_str_eq(rule_list_get(list, 0)->message, "eight");
    ck_assert_uint_eq(diag_errors(diag) + diag_warnings(diag), 0);
}
END_TEST

START_TEST(mistakes_point_at_the_value)
{
    parse("alert tcp any any -> any any (requires: feature geoip, version is 8; sid:1;)\n");
    ck_assert_uint_eq(diag_count(diag), 1);
    ck_assert_uint_eq(diag_get(diag, 0)->line, 1);
    ck_assert_uint_eq(diag_get(diag, 0)->column, 64);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "'is 8' is no version range; write for example"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rule_requires");
    TCase *tcase = tcase_create("rule_requires");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, values_are_evaluated, 0, (int)(sizeof(rows) / sizeof(rows[0])));
    tcase_add_test(tcase, the_rest_of_a_skipped_rule_is_not_parsed);
    tcase_add_test(tcase, only_an_option_is_evaluated);
    tcase_add_test(tcase, one_sid_has_rules_for_two_versions);
    tcase_add_test(tcase, mistakes_point_at_the_value);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
