/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keywords on lists: dataset, datarep, iprep, geoip. Rules are parsed by the real parser, and evaluated on packets with
 * given addresses. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "default_options.h"
#include "../lib/country_database.h"
#include "detect/inspect.h"
#include "sluice/dataset.h"
#include "sluice/geoip.h"
#include "sluice/keyword.h"

static char folder[64], database[128], categories[128], reputations[128];
static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct rule_list *list;
static struct diag *diag;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void write_files(void)
{
    struct country_database *countries = country_database_new();

    snprintf(database, sizeof(database), "%s/countries.mmdb", folder);
    country_database_add(countries, "10.1.0.0", 16, "DE", true);
    country_database_add(countries, "10.2.0.0", 16, "FR", true);
    country_database_add(countries, "10.3.0.0", 16, "DE", false);
    country_database_add(countries, "fd00::", 16, "AT", true);
    country_database_write(countries, database);
    snprintf(categories, sizeof(categories), "%s/categories.txt", folder);
    write_file(categories, "1,bad,bad hosts\n2,dull,dull hosts\n");
    snprintf(reputations, sizeof(reputations), "%s/hosts.list", folder);
    write_file(reputations, "10.1.0.1,1,100\n10.2.0.0/16,1,20\n10.1.0.1,2,0\n");
}

static void set_up(void)
{
    snprintf(folder, sizeof(folder), "/tmp/sluice-lists-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    write_files();
    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    diag = diag_new();
    ck_assert(keywords && variables && diag);
    list = NULL;
}

static void tear_down(void)
{
    char command[128];

    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Parses rules; their sids begin at 1. */
static void open_rules(const char *const *options, size_t count, bool with_files)
{
    const char *files[] = { reputations, NULL };
    const struct rule_list_options list_options = {
        .keywords = keywords,
        .variables = variables,
        .datasets = datasets_new_default(folder),
        .owns_datasets = true,
        .reputation_categories = with_files ? categories : NULL,
        .reputation_files = with_files ? files : NULL,
        .geoip_database = with_files ? database : NULL,
    };
    char name[128];

    snprintf(name, sizeof(name), "%s/test.rules", folder);
    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    for (size_t i = 0; i < count && options[i]; i++) {
        char text[512];
        int length = snprintf(text, sizeof(text), "alert ip any any -> any any (%s sid:%zu;)\n", options[i], i + 1);

        ck_assert_int_eq(rule_list_parse(list, name, text, (size_t)length, diag), 0);
    }
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
}

static bool run(uint32_t sid, const char *from, const char *to)
{
    const struct rule *rule = rule_list_find(list, 1, sid);
    struct packet pkt = { 0 };
    struct match_input in = { .packet = &pkt };
    struct inspection inspection = { .input = &in };

    ck_assert_ptr_nonnull(rule);
    pkt.ip_version = (uint8_t)address_parse(from, strlen(from), &pkt.source_address);
    ck_assert_int_eq(address_parse(to, strlen(to), &pkt.destination_address), pkt.ip_version);
    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        if (c->keyword->packet.match(&in, c->data) == c->negated)
            return false;
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        inspection.steps_left = 1000;
        inspection.data = buffer->keyword->buffer.get(&in, &inspection.length);
        if (!inspection.data || !inspect_buffer(&inspection, buffer->conditions))
            return false;
    }
    return true;
}

struct step {
    uint32_t sid;
    const char *from, *to;
    bool matches;
};

/* clang-format off */
static const struct {
    const char *rules[4];
    struct step steps[10];
} scenes[] = {
    /* Rules add and remove values; a rule that changes nothing does not match. */
    { { "ip.src; dataset:set,seen,type ip;", "ip.dst; dataset:isset,seen;", "ip.src; dataset:isnotset, seen, type ip;",
        "ip.src; dataset:unset,seen;" },
      { { 2, "10.0.0.1", "10.0.0.2", false }, { 1, "10.0.0.1", "10.0.0.2", true }, { 1, "10.0.0.1", "10.0.0.2", false },
        { 2, "10.0.0.2", "10.0.0.1", true }, { 3, "10.0.0.2", "10.0.0.1", true }, { 1, "fd00::1", "fd00::2", true },
        { 2, "fd00::2", "fd00::1", true }, { 4, "10.0.0.1", "10.0.0.2", true },
        { 4, "10.0.0.1", "10.0.0.2", false } } },
    { { "ip.dst; dataset:isset,list,type ipv4,load hosts.txt,memcap 64kb,hashsize 64;",
        "ip.src; datarep:list,>,4;", "ip.src; datarep:list,<,5;",
        "ip.src; datarep:list,==,5,type ipv4,load hosts.txt;" },
      { { 1, "10.0.0.9", "10.0.0.1", true }, { 1, "10.0.0.1", "10.0.0.9", false }, { 2, "10.0.0.1", "10.0.0.9", true },
        { 3, "10.0.0.1", "10.0.0.9", false }, { 4, "10.0.0.1", "10.0.0.9", true }, { 3, "10.0.0.2", "10.0.0.9", true },
        { 3, "10.0.0.9", "10.0.0.9", false }, { 1, "fd00::1", "fd00::1", false } } },
    { { "iprep:src,bad,>,50;", "iprep:any,bad,<=,20;", "iprep:both,bad,!=,1;", "iprep:dst,dull,=,0;" },
      { { 1, "10.1.0.1", "10.9.9.9", true }, { 1, "10.9.9.9", "10.1.0.1", false }, { 2, "10.9.9.9", "10.2.9.9", true },
        { 2, "10.1.0.1", "10.9.9.9", false }, { 3, "10.1.0.1", "10.9.9.9", false }, { 3, "10.1.0.1", "10.2.0.1", true },
        { 4, "10.9.9.9", "10.1.0.1", true }, { 4, "10.9.9.9", "10.2.0.1", false },
        { 2, "fd00::1", "fd00::2", false } } },
    { { "geoip:src,DE,FR;", "geoip:!DE;", "geoip:both,DE;", "geoip:AT;" },
      { { 1, "10.1.0.1", "10.9.9.9", true }, { 1, "10.9.9.9", "10.1.0.1", false }, { 1, "10.3.0.1", "10.9.9.9", false },
        { 2, "10.1.0.1", "10.9.9.9", false }, { 2, "10.1.0.1", "10.2.0.1", true }, { 3, "10.1.0.1", "10.1.9.9", true },
        { 3, "10.1.0.1", "10.2.0.1", false }, { 4, "fd00::1", "fe80::1", true }, { 4, "fe80::1", "fe80::2", false } } },
    { { "geoip:any,DE;", "geoip:dst,!FR,DE;" },
      { { 1, "10.9.9.9", "10.1.0.1", true }, { 2, "10.9.9.9", "10.1.0.1", false }, { 2, "10.9.9.9", "10.2.0.1", false },
        { 2, "10.1.0.1", "10.9.9.9", false } } },
};
/* clang-format on */

START_TEST(lists_are_asked)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/hosts.txt", folder);
    write_file(path, "10.0.0.1,5\n10.0.0.2\n");
    open_rules(scenes[_i].rules, 4, true);
    ck_assert_msg(diag_count(diag) == 0, "%s", diag_count(diag) ? diag_get(diag, 0)->message : "");
    for (const struct step *step = scenes[_i].steps; step->sid; step++)
        ck_assert_msg(run(step->sid, step->from, step->to) == step->matches, "step %zu",
                      (size_t)(step - scenes[_i].steps));
}
END_TEST

static const struct {
    const char *options, *message;
    bool with_files;
} bad[] = {
    { "dataset:isset,x,type ip;", "a buffer must be selected", true },
    { "ip.src; dataset:has,x,type ip;", "unknown command 'has'", true },
    { "ip.src; dataset:isset;", "name of the dataset is missing", true },
    { "ip.src; dataset:isset,a b,type ip;", "can't have spaces", true },
    { "ip.src; dataset:isset,x;", "specify its type", true },
    { "ip.src; dataset:isset,x,type text;", "a dataset's type is", true },
    { "ip.src; dataset:isset,x,type ip,load none.lst;", "No such file", true },
    { "ip.src; dataset:isset,x,type ip,state a,save b;", "given before", true },
    { "ip.src; dataset:isset,x,type ip,memcap big;", "'memcap' must be a size", true },
    { "ip.src; dataset:isset,x,type ip,memcap 17gb;", "'memcap' must be a size", true },
    { "ip.src; dataset:isset,x,type ip,format json;", "needs 'context_key'", true },
    { "ip.src; dataset:isset,x,type ip,format json,context_key c;", "needs 'load'", true },
    { "ip.src; dataset:isset,x,type ip,format json,context_key c,value_key;", "value_key", true },
    { "ip.src; dataset:isset,x,type ip,load y,format json,context_key c;", "needs 'value_key'", true },
    { "ip.src; dataset:isset,x,type ip,load y,format yaml;", "csv, json or ndjson", true },
    { "ip.src; dataset:isset,x,type ip,load y,context_key c;", "keys need 'format json'", true },
    { "ip.src; dataset:isset,x,type ip,load y,format ndjson,context_key c,value_key v,array_key a;",
      "'array_key' needs", true },
    { "ip.src; datarep:x,<,5,type ip,load y,format json;", "the format for 'datarep' is csv", true },
    { "ip.src; dataset:set,x,type ip,state ../x;", "allow-absolute-filenames", true },
    { "ip.src; datarep:x;", "must follow the name", true },
    { "ip.src; datarep:x,>;", "a number must follow", true },
    { "ip.src; datarep:x,>,65536,type ip;", "from 0 to 65535", true },
    { "ip.src; datarep:x,>,1,type ip,save y;", "can only 'load'", true },
    { "iprep:src,bad,>;", "four parts", true },
    { "iprep:source,bad,>,1;", "the first part", true },
    { "iprep:src,good,>,1;", "no category 'good'", true },
    { "iprep:src,bad,~,1;", "the third part", true },
    { "iprep:src,bad,>,128;", "from 0 to 127", true },
    { "iprep:src,bad,>,1;", "set reputation.categories", false },
    { "geoip:germany;", "two upper-case letters", true },
    { "geoip:src;", "two upper-case letters", true },
    { "geoip:DE;", "set geoip-database", false },
};

START_TEST(mistakes_are_told)
{
    open_rules(&bad[_i].options, 1, bad[_i].with_files);
    ck_assert_uint_eq(rule_list_count(list), 0);
    ck_assert_uint_ge(diag_errors(diag) + diag_unsupported(diag), 1);
    ck_assert_msg(strstr(diag_get(diag, 0)->message, bad[_i].message) != NULL, "%s", diag_get(diag, 0)->message);
}
END_TEST

START_TEST(a_broken_database_is_told)
{
    static const char *const options[] = { "geoip:DE;", "geoip:FR;" };

    write_file(database, "this is no database");
    open_rules(options, 2, true);
    ck_assert_uint_eq(diag_errors(diag), 2);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "as a country database"));
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 1)->message, "see above"));
    ck_assert_int_eq(unlink(database), 0);
    struct geoip *geoip = NULL;
    char error[256];

    ck_assert_int_lt(geoip_open(&geoip, database, error, sizeof(error)), 0);
    ck_assert_ptr_null(geoip);
    ck_assert_ptr_nonnull(strstr(error, database));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keyword_lists");
    TCase *tcase = tcase_create("keyword_lists");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, lists_are_asked, 0, sizeof(scenes) / sizeof(scenes[0]));
    tcase_add_loop_test(tcase, mistakes_are_told, 0, sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tcase, a_broken_database_is_told);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
