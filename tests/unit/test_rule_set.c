/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets of addresses and ports: members, sharing of equal sets, and limits.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/ranges.h"
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
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
}

/* Parses a text with one rule. */
static const struct rule *parse_one(const char *text)
{
    parse(text);
    if (diag_count(diag) > 0)
        diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_count(list), 1);
    return rule_list_get(list, 0);
}

static const struct rule *parse_header(const char *source, const char *port)
{
    char text[1024];

    snprintf(text, sizeof(text), "alert tcp %s %s -> any any (sid:1;)", source, port);
    return parse_one(text);
}

/* --- Sets ----------------------------------------------------------------------------------------- */

static const struct {
    const char *set, *address;
    bool has;
} address_rows[] = {
    { "any", "10.0.0.1", true },
    { "any", "2001:db8::1", true },
    { "10.0.0.1", "10.0.0.1", true },
    { "10.0.0.1", "10.0.0.2", false },
    { "10.0.0.1", "::", false },
    { "10.0.0.0/8", "10.0.0.0", true },
    { "10.0.0.0/8", "10.255.255.255", true },
    { "10.0.0.0/8", "9.255.255.255", false },
    { "10.0.0.0/8", "11.0.0.0", false },
    { "10.1.2.3/0", "255.255.255.255", true },
    { "10.1.2.3/0", "::1", false },
    { "10.1.2.3/32", "10.1.2.3", true },
    { "10.1.2.3/255.255.255.0", "10.1.2.255", true },
    { "10.1.2.3/255.255.255.0", "10.1.3.0", false },
    { "10.0.0.5-10.0.0.7", "10.0.0.6", true },
    { "10.0.0.5-10.0.0.7", "10.0.0.8", false },
    { "[10.0.0.9,10.0.0.1,10.0.0.5]", "10.0.0.5", true },
    { "[10.0.0.9,10.0.0.1,10.0.0.5]", "10.0.0.4", false },
    { "![10.0.0.0/8,192.168.0.0/16]", "192.168.7.7", false },
    { "![10.0.0.0/8,192.168.0.0/16]", "8.8.8.8", true },
    { "![10.0.0.0/8,192.168.0.0/16]", "2001:db8::1", false },
    { "[any,!10.0.0.0/8]", "2001:db8::1", true },
    { "[10.0.0.0/8,!10.1.0.0/16]", "10.1.9.9", false },
    { "[10.0.0.0/8,!10.1.0.0/16]", "10.2.0.0", true },
    { "[10.0.0.0/8,![10.1.0.0/16,!10.1.1.0/24]]", "10.1.2.1", false },
    { "[0.0.0.0-0.0.0.5,!0.0.0.0]", "0.0.0.0", false },
    { "[255.255.255.0/24,!255.255.255.255]", "255.255.255.255", false },
    { "[255.255.255.0/24,!255.255.255.255]", "255.255.255.254", true },
    { "2001:db8::/32", "2001:db8:ffff::1", true },
    { "2001:db8::/32", "2001:db9::", false },
    { "2001:db8::/32", "32.1.13.184", false },
    { "::/0", "::1", true },
    { "::/0", "1.2.3.4", false },
    { "!2001:db8::/32", "2001:db8::1", false },
    { "!2001:db8::/32", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
    { "2001:db8::5-2001:db8::7", "2001:db8::6", true },
    { "[::/1,8000::/1,0.0.0.0/1,128.0.0.0/1]", "200.0.0.1", true },
};

START_TEST(address_sets_have_what_they_say)
{
    const struct rule *rule = parse_header(address_rows[_i].set, "any");
    const char *text = address_rows[_i].address;
    struct address address;
    int version = address_parse(text, strlen(text), &address);

    ck_assert_int_gt(version, 0);
    ck_assert_int_eq(address_set_has(rule->source, version, &address), address_rows[_i].has);
}
END_TEST

START_TEST(halves_of_both_families_are_any)
{
    const struct rule *rule = parse_header("[::/1,8000::/1,0.0.0.0/1,128.0.0.0/1]", "[0:79,80:65535]");

    ck_assert(rule->source->any);
    ck_assert(rule->source_port->any);
    ck_assert(address_set_has(rule->source, 0, NULL));
}
END_TEST

static const struct {
    const char *set;
    uint16_t port;
    bool has;
} port_rows[] = {
    { "any", 0, true },
    { "80", 80, true },
    { "80", 81, false },
    { "!80", 80, false },
    { "!80", 0, true },
    { "!80", 65535, true },
    { "1024:", 1023, false },
    { "1024:", 65535, true },
    { ":1023", 0, true },
    { ":1023", 1024, false },
    { "[80,443,1000:2000]", 443, true },
    { "[80,443,1000:2000]", 1500, true },
    { "[80,443,1000:2000]", 999, false },
    { "![80,443]", 443, false },
    { "![80,443]", 442, true },
    { "[1:100,!50]", 50, false },
    { "[1:100,!50]", 49, true },
    { "[1:100,!50]", 101, false },
    { "![!80]", 80, false }, /* as in Suricata, a second ! has no effect for ports */
};

START_TEST(port_sets_have_what_they_say)
{
    const struct rule *rule = parse_header("any", port_rows[_i].set);

    ck_assert_int_eq(port_set_has(rule->source_port, port_rows[_i].port), port_rows[_i].has);
}
END_TEST

/* Compared with a bit set. */
START_TEST(ranges_subtract_like_bit_sets)
{
    static bool in[256];
    uint32_t random_state = 12345u + (uint32_t)_i;
    struct range_list list_a = { 0 }, list_b = { 0 };

    memset(in, 0, sizeof(in));
    for (int i = 0; i < 24; i++) {
        random_state = random_state * 1664525u + 1013904223u;
        unsigned low = random_state >> 24, high = low + (random_state >> 16 & 15);

        high = high > 255 ? 255 : high;
        ck_assert_int_eq(range_list_add(i < 12 ? &list_a : &list_b, low, high), 0);
        for (unsigned n = low; n <= high; n++)
            in[n] = i < 12;
    }
    range_list_normalise(&list_a);
    range_list_normalise(&list_b);
    ck_assert_int_eq(range_list_subtract(&list_a, &list_b), 0);
    for (unsigned n = 0; n < 256; n++) {
        bool found = false;

        for (size_t i = 0; i < list_a.count; i++)
            found |= list_a.range[i].low <= n && n <= list_a.range[i].high;
        ck_assert_int_eq(found, in[n]);
    }
    range_list_clear(&list_a);
    range_list_clear(&list_b);
}
END_TEST

START_TEST(equal_texts_share_a_set)
{
    const struct rule *a, *b, *c;

    rule_variables_set_address(variables, "NET", "[10.0.0.0/8, 192.0.2.0/24]");
    rule_variables_set_port(variables, "$WEB", "80");
    parse("alert tcp $NET $WEB -> any any (sid:1;)\n"
          "alert tcp any any -> [10.0.0.0/8,192.0.2.0/24] 80 (sid:2;)\n"
          "alert tcp $NET 81 -> [10.0.0.0/8,  192.0.2.0/24] $WEB (sid:3;)\n");
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_count(list), 3);
    a = rule_list_get(list, 0);
    b = rule_list_get(list, 1);
    c = rule_list_get(list, 2);
    ck_assert_ptr_eq(a->source, b->destination);
    ck_assert_ptr_eq(a->source, c->source);
    ck_assert_ptr_eq(a->source, c->destination);
    ck_assert_ptr_eq(a->destination, b->source);
    ck_assert_ptr_eq(a->source_port, b->destination_port);
    ck_assert_ptr_eq(a->source_port, c->destination_port);
    ck_assert_ptr_ne(a->source_port, c->source_port);
    ck_assert_str_eq(a->source->text, "[10.0.0.0/8,192.0.2.0/24]");
}
END_TEST

/* A negated variable without brackets is not the same as its text after a `!`. */
START_TEST(negated_variables_negate_all_of_their_value)
{
    const struct rule *rule;
    struct address second = { .bytes = { 10, 0, 0, 2 } };

    rule_variables_set_address(variables, "TWO", "10.0.0.1,10.0.0.2");
    parse("alert tcp !10.0.0.1,10.0.0.2 any -> !$TWO any (sid:1;)");
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    rule = rule_list_get(list, 0);
    ck_assert(address_set_has(rule->source, 4, &second));
    ck_assert(!address_set_has(rule->destination, 4, &second));
}
END_TEST

START_TEST(later_values_of_variables_win)
{
    rule_variables_set_port(variables, "P", "80");
    rule_variables_set_port(variables, "P", "443");
    ck_assert_int_eq(rule_variables_set_port(variables, "$", "1"), -EINVAL);
    ck_assert(port_set_has(parse_header("any", "$P")->source_port, 443));
}
END_TEST

/* --- Limits --------------------------------------------------------------------------------------- */

START_TEST(variables_that_double_are_stopped)
{
    char name[16], value[64];

    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof(name), "V%d", i);
        snprintf(value, sizeof(value), "[$V%d,$V%d]", i + 1, i + 1);
        rule_variables_set_address(variables, name, value);
    }
    rule_variables_set_address(variables, "V60", "10.0.0.1");
    parse("alert tcp $V0 any -> any any (sid:1;)");
    ck_assert_uint_eq(rule_list_rejected(list), 1);
    ck_assert_uint_eq(diag_errors(diag), 1);
}
END_TEST

START_TEST(deep_groups_are_stopped)
{
    char text[4096] = "alert tcp ";

    memset(text + strlen(text), '[', 500);
    strcat(text, "10.0.0.1");
    memset(text + strlen(text), ']', 500);
    strcat(text, " any -> any any (sid:1;)");
    parse(text);
    ck_assert_uint_eq(rule_list_rejected(list), 1);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "too deeply"));
}
END_TEST

#define ROWS(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("rule_set");
    TCase *tcase = tcase_create("rule_set");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, address_sets_have_what_they_say, 0, ROWS(address_rows));
    tcase_add_loop_test(tcase, port_sets_have_what_they_say, 0, ROWS(port_rows));
    tcase_add_loop_test(tcase, ranges_subtract_like_bit_sets, 0, 50);
    tcase_add_test(tcase, halves_of_both_families_are_any);
    tcase_add_test(tcase, equal_texts_share_a_set);
    tcase_add_test(tcase, negated_variables_negate_all_of_their_value);
    tcase_add_test(tcase, later_values_of_variables_win);
    tcase_add_test(tcase, variables_that_double_are_stopped);
    tcase_add_test(tcase, deep_groups_are_stopped);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
