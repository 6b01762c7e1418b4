/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule policy: which rules a line matches, what it does to them, and its limits. The order of the files and the
 * text of diagnostics are in tests/rules/policy*.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/keyword.h"
#include "sluice/rule.h"

static const char rules[] =
    "alert tcp any any -> any 80 (msg:\"ET SCAN one\"; content:\"a\"; classtype:trojan-activity; sid:1; rev:2;)\n"
    "# alert tcp any any -> any 80 (msg:\"two\"; content:\"a\"; sid:2;)\n"
    "alert tcp any any -> any 80 (msg:\"three\"; content:\"a\"; flowbits:noalert; flowbits:set,x; gid:3; sid:3;)\n"
    "pass tcp any any -> any 80 (msg:\"four\"; content:\"a\"; metadata:x y, deployment perimeter; sid:4;)\n"
    "drop tcp any any -> any 80 (msg:\"five\"; content:\"a\"; metadata:Deployment Perimeter; metadata:a b c; sid:5;)\n";

static struct keyword_table *table;
static struct diag *diag;
static struct rule_list *list;
static char path[] = "/tmp/test_rule_policy.XXXXXX";

static void setup(void)
{
    int fd;

    strcpy(path, "/tmp/test_rule_policy.XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    table = keyword_table_new(keyword_list, keyword_list_count);
    diag = diag_new();
    list = NULL;
}

static void teardown(void)
{
    rule_list_free(list);
    diag_free(diag);
    keyword_table_free(table);
    unlink(path);
}

static void load(const char *policy)
{
    const struct rule_list_options options = { .keywords = table, .policy = { .decisions = path } };
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(policy, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    rule_list_free(list);
    list = NULL;
    diag_clear(diag);
    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "/etc/rules/emerging-x.rules", rules, strlen(rules), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
}

/* "1:alert 3:alert 4:pass 5:drop": the rules that are loaded, by sid. */
static const char *loaded(void)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < rule_list_count(list); i++) {
        const struct rule *rule = rule_list_get(list, i);

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u:%s%s", i > 0 ? " " : "", (unsigned)rule->sid,
                                 rule_action_name(rule->action), rule->alert_only ? "+alert-only" : "");
    }
    return text;
}

static const struct {
    const char *policy, *loaded;
} cases[] = {
    { "", "1:alert 3:alert 4:pass 5:drop" },
    /* Ids: gid 1 unless another is given. */
    { "disable 1", "3:alert 4:pass 5:drop" },
    { "disable 1:1", "3:alert 4:pass 5:drop" },
    { "disable 1:1:2", "3:alert 4:pass 5:drop" },
    { "disable 1:1:3", "1:alert 3:alert 4:pass 5:drop" },
    { "disable 3", "1:alert 3:alert 4:pass 5:drop" },
    { "disable 3:3", "1:alert 4:pass 5:drop" },
    { "disable 1, 1:5 ,3:3", "4:pass" },
    { "disable *", "" },
    { "enable 2", "1:alert 2:alert 3:alert 4:pass 5:drop" },
    { "enable *", "1:alert 2:alert 3:alert 4:pass 5:drop" },
    /* Other matchers. */
    { "disable re:et scan", "3:alert 4:pass 5:drop" },
    { "disable re: ET SCAN  # a comment", "3:alert 4:pass 5:drop" },
    { "disable msg:^et scan one$", "3:alert 4:pass 5:drop" },
    { "disable msg:\"ET SCAN\"", "3:alert 4:pass 5:drop" },
    { "disable msg:content", "1:alert 3:alert 4:pass 5:drop" },
    { "disable classtype:Trojan-Activity", "3:alert 4:pass 5:drop" },
    { "disable classtype:trojan", "1:alert 3:alert 4:pass 5:drop" },
    { "disable group:emerging-x", "" },
    { "disable group:emerging-x.rules", "" },
    { "disable emerging-x.rules", "" },
    { "disable group:emerging*", "" },
    { "disable group:rules/emerging-x.rules", "1:alert 3:alert 4:pass 5:drop" },
    { "disable filename:rules/*-x.rules", "" },
    { "disable filename:*rules", "" },
    { "disable filename:/etc/rules/emerging-x.rules", "" },
    { "disable filename:emerging-x", "1:alert 3:alert 4:pass 5:drop" },
    { "disable metadata: deployment perimeter", "1:alert 3:alert" },
    { "disable metadata:a b c", "1:alert 3:alert 4:pass" },
    { "disable metadata:a b", "1:alert 3:alert 4:pass 5:drop" },
    /* Actions do not apply to rules with noalert, and to pass rules only by id. */
    { "drop *", "1:drop 3:alert 4:pass 5:drop" },
    { "drop 4, 3:3", "1:alert 3:alert 4:drop 5:drop" },
    { "reject re:.", "1:reject 3:alert 4:pass 5:reject" },
    { "rejectboth 1", "1:rejectboth 3:alert 4:pass 5:drop" },
    { "alert *", "1:alert 3:alert 4:pass 5:alert" },
    { "pass 1", "1:pass 3:alert 4:pass 5:drop" },
    { "drop 2", "1:alert 3:alert 4:pass 5:drop" },
    { "drop 2\nenable 2", "1:alert 2:drop 3:alert 4:pass 5:drop" },
    { "alert-only 5", "1:alert 3:alert 4:pass 5:drop+alert-only" },
    { "alert-only 5\ndrop 5", "1:alert 3:alert 4:pass 5:drop" },
    { "drop 1\nalert-only *", "1:drop+alert-only 3:alert+alert-only 4:pass+alert-only 5:drop+alert-only" },
    /* The last line wins. */
    { "disable *\nenable 1", "1:alert" },
    { "enable 1\ndisable *", "" },
    { "drop 1\nalert re:scan", "1:alert 3:alert 4:pass 5:drop" },
    /* Later lines match the text as changed by earlier lines. */
    { "modify 1 SCAN BAN\ndisable re:ET BAN\ndisable re:ET SCAN", "3:alert 4:pass 5:drop" },
    { "modify 1 sid:1 sid:9\ndisable 9\nenable 1", "3:alert 4:pass 5:drop" },
    { "modify 1 \"^alert\" \"drop\"", "1:drop 3:alert 4:pass 5:drop" },
    { "modify 1 \"^alert\" \"# alert\"", "3:alert 4:pass 5:drop" },
    { "modify 2 \"^# \" \"\"", "1:alert 2:alert 3:alert 4:pass 5:drop" },
    { "modify 2 alert drop\nenable 2", "1:alert 2:drop 3:alert 4:pass 5:drop" },
};

START_TEST(lines_match_and_change_rules)
{
    load(cases[_i].policy);
    ck_assert_msg(strcmp(loaded(), cases[_i].loaded) == 0, "\"%s\": %s, expected %s", cases[_i].policy, loaded(),
                  cases[_i].loaded);
    ck_assert_uint_eq(diag_errors(diag), 0);
}
END_TEST

/* The message of rule 1, after FROM was replaced by TO; the rules of Python's re.sub(). */
static const struct {
    const char *from, *to, *message;
} substitutions[] = {
    { "ET SCAN one", "x", "x" },
    { "\"(ET) (SCAN) one\"", "\"\\\\2 \\1\"", "SCAN ET" },
    { "\"(ET) SCAN one\"", "'${1}'", "ET" },
    { "\"(?P<a>ET) SCAN one\"", "'\\g<a>\\g<1>'", "ETET" },
    { "\"et scan one\"", "x", "ET SCAN one" }, /* case-sensitive, unlike the expression of a matcher */
    { "\"ET SCAN\"", "'$1 \\$HOME \\\\\\\\'", "$1 $HOME \\ one" },
    { "\"(x)?ET\"", "'\\1y'", "y SCAN one" }, /* a group without a match is empty */
    { "E(?=T)|(?<=T) S", "-", "-T-CAN one" },
    { "\"(?<=ET )\"", "new", "ET newSCAN one" },
};

START_TEST(groups_are_replaced)
{
    char policy[256];

    snprintf(policy, sizeof(policy), "modify 1 %s %s", substitutions[_i].from, substitutions[_i].to);
    if (substitutions[_i].from[0] != '"')
        snprintf(policy, sizeof(policy), "modify 1 '%s' %s", substitutions[_i].from, substitutions[_i].to);
    load(policy);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ck_assert_str_eq(rule_list_find(list, 1, 1)->message, substitutions[_i].message);
}
END_TEST

START_TEST(disabled_rules_are_known)
{
    const struct rule_disabled *disabled;

    load("disable 1\nenable 5\n");
    disabled = rule_list_find_disabled(list, 1, 1);
    ck_assert_ptr_nonnull(disabled);
    ck_assert(!disabled->commented);
    ck_assert_uint_eq(disabled->line, 1);
    ck_assert_str_eq(disabled->file, "/etc/rules/emerging-x.rules");
    ck_assert_str_eq(disabled->changes->text, "disable 1");
    ck_assert_uint_eq(disabled->changes->at.line, 1);
    disabled = rule_list_find_disabled(list, 1, 2);
    ck_assert(disabled && disabled->commented && !disabled->changes && disabled->line == 2);
    ck_assert_ptr_null(rule_list_find_disabled(list, 1, 3));
    ck_assert_ptr_null(rule_list_find_disabled(list, 1, 5));
    ck_assert_uint_eq(rule_list_policy_counts(list)->disabled, 1);
    ck_assert_uint_eq(rule_list_policy_counts(list)->enabled, 0); /* the rule was enabled already */
}
END_TEST

static bool has_message(const char *part)
{
    for (size_t i = 0; i < diag_count(diag); i++) {
        if (strstr(diag_get(diag, i)->message, part))
            return true;
    }
    return false;
}

START_TEST(rules_are_counted_by_their_final_state)
{
    const struct rule_policy_counts *counts;
    struct text text;

    load("drop 1\nalert 1\ndisable 5\nenable 5\nenable 2\nmodify * nothing x\nmodify 1 SCAN BAN\nmodify 2 \"^alert\" "
         "drop\n");
    counts = rule_list_policy_counts(list);
    text_init(&text);
    rule_policy_counts_print(counts, &text);
    ck_assert_str_eq(text.bytes, "1 enabled, 1 changed to drop, 2 modified");
    text_clear(&text);
}
END_TEST

/* An expression that reaches the match limit is reported; the other lines are applied. */
START_TEST(match_limit_is_reported)
{
    load("disable re:(.|..)*(?!)\ndrop 1\n");
    ck_assert_str_eq(loaded(), "1:drop 3:alert 4:pass 5:drop");
    ck_assert(has_message("exceeded the match limit"));
}
END_TEST

/* Text that doubles with each line is limited. */
START_TEST(growth_is_bounded)
{
    static char policy[64 * 64];

    for (size_t i = 0; i < 60; i++)
        strcat(policy, "modify 1 \"(.*)\" \"\\1\\1\\1\\1\"\n");
    load(policy);
    ck_assert_str_eq(loaded(), "3:alert 4:pass 5:drop");
    ck_assert_uint_eq(rule_list_rejected(list), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rule_policy");
    TCase *tcase = tcase_create("rule_policy");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, lines_match_and_change_rules, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_loop_test(tcase, groups_are_replaced, 0, sizeof(substitutions) / sizeof(substitutions[0]));
    tcase_add_test(tcase, disabled_rules_are_known);
    tcase_add_test(tcase, rules_are_counted_by_their_final_state);
    tcase_add_test(tcase, match_limit_is_reported);
    tcase_add_test(tcase, growth_is_bounded);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
