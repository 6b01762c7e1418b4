/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reputations: categories, addresses and networks, compared with a linear search; and errors in lines. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/reputation.h"

static struct reputation *reputation;
static struct diag *diag;

static void set_up(void)
{
    ck_assert_int_eq(reputation_new(&reputation), 0);
    diag = diag_new();
    ck_assert_ptr_nonnull(diag);
}

static void tear_down(void)
{
    reputation_free(reputation);
    diag_free(diag);
}

static int value_of(unsigned category, const char *text)
{
    struct address address;
    int version = address_parse(text, strlen(text), &address);

    ck_assert_int_gt(version, 0);
    return reputation_value(reputation, category, version, &address);
}

static void parse(const char *text)
{
    ck_assert_int_eq(reputation_parse(reputation, "test.list", text, strlen(text), diag), 0);
}

static void parse_categories(const char *text)
{
    ck_assert_int_eq(reputation_parse_categories(reputation, "test.txt", text, strlen(text), diag), 0);
}

START_TEST(categories_have_names)
{
    parse_categories("# categories\n1,BadHosts,Known bad hosts\r\n\n0,Zero,x\n59 , Last , of, them\n");
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_int_eq(reputation_category(reputation, span_of("BadHosts")), 1);
    ck_assert_int_eq(reputation_category(reputation, span_of("Zero")), 0);
    ck_assert_int_eq(reputation_category(reputation, span_of("Last")), 59);
    ck_assert_int_eq(reputation_category(reputation, span_of("badhosts")), -1);
    ck_assert_int_eq(reputation_category(reputation, span_of("")), -1);
}
END_TEST

START_TEST(the_smallest_network_counts)
{
    parse("ip,category,score\n10.0.0.0/8,1,8\n10.1.0.0/16,1,16\n10.1.2.3,1,0\n10.1.2.3,2,50\n0.0.0.0/0,3,1\n"
          "fd00::/8,1,60\nfd00::1,1,61\n10.1.2.4,1,5\n10.1.2.4,1,6\n10.77.3.9/16,4,44\n");
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_int_eq(value_of(1, "10.9.9.9"), 8);
    ck_assert_int_eq(value_of(1, "10.1.9.9"), 16);
    ck_assert_int_eq(value_of(1, "10.1.2.3"), 0); /* listed, with value 0 */
    ck_assert_int_eq(value_of(2, "10.1.2.3"), 50);
    ck_assert_int_eq(value_of(2, "10.1.2.4"), -1);
    ck_assert_int_eq(value_of(1, "11.0.0.1"), -1);
    ck_assert_int_eq(value_of(3, "11.0.0.1"), 1);
    ck_assert_int_eq(value_of(3, "::1"), -1);
    ck_assert_int_eq(value_of(1, "fd00::1"), 61);
    ck_assert_int_eq(value_of(1, "fd00::2"), 60);
    ck_assert_int_eq(value_of(1, "a00::"), -1); /* not 10.0.0.0 */
    ck_assert_int_eq(value_of(1, "10.1.2.4"), 6);
    ck_assert_int_eq(value_of(4, "10.77.1.1"), 44);
    ck_assert_int_eq(value_of(REPUTATION_CATEGORIES, "10.1.2.3"), -1);
}
END_TEST

static const struct {
    const char *line;
    uint32_t column;
    bool category;
} bad[] = {
    { "10.0.0.1,1", 1, false },
    { "10.0.0,1,1", 1, false },
    { "10.0.0.0/33,1,1", 1, false },
    { "::/129,1,1", 1, false },
    { "10.0.0.0/,1,1", 1, false },
    { "10.0.0.1,60,1", 10, false },
    { "10.0.0.1,1,128", 12, false },
    { "10.0.0.1,1,-1", 12, false },
    { ",1,1", 1, false },
    { "x,Name,Text", 1, true },
    { "60,Name,Text", 1, true },
    { "1", 1, true },
    { "1,", 1, true },
    { "1,a-name-of-thirty-two-characters.,x", 3, true },
};

START_TEST(mistakes_are_told)
{
    if (bad[_i].category)
        parse_categories(bad[_i].line);
    else
        parse(bad[_i].line);
    ck_assert_uint_eq(diag_errors(diag), 1);
    ck_assert_uint_eq(diag_get(diag, 0)->column, bad[_i].column);
    ck_assert_uint_eq(reputation_count(reputation), 0);
}
END_TEST

START_TEST(a_file_of_mistakes_is_bounded)
{
    char *text = malloc(100001);

    ck_assert_ptr_nonnull(text);
    for (int i = 0; i < 50000; i++)
        memcpy(text + 2 * i, "x\n", 2);
    text[100000] = '\0';
    parse(text);
    free(text);
    ck_assert_uint_le(diag_errors(diag), 101);
}
END_TEST

START_TEST(files_must_be_there)
{
    ck_assert_int_eq(reputation_load(reputation, "/nonexistent/x.list", diag), -ENOENT);
    ck_assert_int_eq(reputation_load_categories(reputation, "/nonexistent/x.txt", diag), -ENOENT);
    ck_assert_uint_eq(diag_errors(diag), 2);
}
END_TEST

/* --- Comparison with a linear search -------------------------------------------------------------- */

enum { NETWORKS = 3000, ASKED = 20000 };

struct network {
    uint32_t address, mask;
    unsigned prefix, category, value;
};

static int search(const struct network *networks, unsigned category, uint32_t address)
{
    int best = -1;

    for (int i = 0; i < NETWORKS; i++)
        if (networks[i].category == category && (address & networks[i].mask) == networks[i].address &&
            (best < 0 || networks[i].prefix >= networks[best].prefix))
            best = i;
    return best < 0 ? -1 : (int)networks[best].value;
}

START_TEST(random_networks_match_a_search)
{
    struct network *networks = calloc(NETWORKS, sizeof(*networks));

    ck_assert_ptr_nonnull(networks);
    srand(11);
    for (int i = 0; i < NETWORKS; i++) {
        struct network *n = &networks[i];
        char line[64];

        n->prefix = 20 + (unsigned)rand() % 13;
        n->mask = ~UINT32_C(0) << (32 - n->prefix);
        n->address = (0x0a000000 | ((uint32_t)rand() & 0x3fff)) & n->mask;
        n->category = (unsigned)rand() % 3;
        n->value = (unsigned)rand() % 128;
        snprintf(line, sizeof(line), "%u.%u.%u.%u/%u,%u,%u", n->address >> 24, n->address >> 16 & 255,
                 n->address >> 8 & 255, n->address & 255, n->prefix, n->category, n->value);
        parse(line);
    }
    for (int i = 0; i < ASKED; i++) {
        uint32_t asked = 0x0a000000 | ((uint32_t)rand() & 0x7fff);
        struct address address = { { 10, (uint8_t)(asked >> 16), (uint8_t)(asked >> 8), (uint8_t)asked } };
        unsigned category = (unsigned)rand() % 3;

        ck_assert_int_eq(reputation_value(reputation, category, 4, &address), search(networks, category, asked));
    }
    free(networks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reputation");
    TCase *tcase = tcase_create("reputation");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, categories_have_names);
    tcase_add_test(tcase, the_smallest_network_counts);
    tcase_add_loop_test(tcase, mistakes_are_told, 0, sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tcase, a_file_of_mistakes_is_bounded);
    tcase_add_test(tcase, files_must_be_there);
    tcase_add_test(tcase, random_networks_match_a_search);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
