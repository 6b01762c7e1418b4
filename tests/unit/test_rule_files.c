/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of rules, threshold.config, missing files, and real rulesets.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    fclose(file);
}

/* --- Memory --------------------------------------------------------------------------------------- */

enum { TYPICAL_RULES = 200, TYPICAL_RULE_BYTES = 1024 };

/* Uses rules as in large rulesets, with metadata and a pcre. The limit does not include the text of the rules. */
START_TEST(rules_use_little_memory)
{
    char rule[1024];
    size_t before = arena_used(rule_list_arena(list)), used;

    for (int i = 1; i <= TYPICAL_RULES; i++) {
        snprintf(rule, sizeof(rule),
                 "alert tcp any any -> any any (msg:\"ET EXPLOIT Example %d\"; flow:established,to_server; "
                 "content:\"/index.php?page=%d\"; fast_pattern; content:\"Agent\"; "
                 "pcre:\"/^[a-z0-9]+\\x3d%d/R\"; reference:url,example.org/%d; classtype:trojan-activity; sid:%d; "
                 "rev:1; metadata:affected_product Web_Server_Applications, attack_target Server, created_at "
                 "2020_01_01, deployment Perimeter, signature_severity Major, tag Exploit, updated_at 2022_02_02;)",
                 i, i, i, i, i);
        parse(rule);
    }
    used = arena_used(rule_list_arena(list)) - before;
    ck_assert_uint_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_count(list), TYPICAL_RULES);
    ck_assert_uint_lt(used, TYPICAL_RULES * TYPICAL_RULE_BYTES);
}
END_TEST

/* --- Thresholds ----------------------------------------------------------------------------------- */

/* Replaces the list by one with this threshold.config. */
static void use_thresholds(const char *text)
{
    char path[] = "/tmp/sluice-thresholds-XXXXXX";
    const struct rule_list_options options = { .keywords = table, .variables = variables, .threshold_file = path };
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    close(fd);
    write_text(path, text);
    rule_list_free(list);
    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    unlink(path);
}

START_TEST(thresholds_reach_their_rules)
{
    const struct threshold *threshold;

    use_thresholds("suppress gen_id 1, sig_id 0, track by_src, ip 10.0.0.1\n"
                   "suppress gen_id 0, sig_id 0, track by_src, ip 10.0.0.2\n"
                   "suppress gen_id 9, sig_id 0\n"
                   "event_filter gen_id 1, sig_id 2, type both, track by_dst, count 1, seconds 2\n"
                   "event_filter gen_id 0, sig_id 0, type limit, track by_src, count 3, seconds 4\n");
    parse("alert tcp any any -> any any (sid:1;)\nalert tcp any any -> any any (sid:2;)");
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(diag_count(diag), 0);

    ck_assert_int_eq(rule_list_find(list, 1, 1)->thresholds->kind, THRESHOLD_LIMIT);
    ck_assert_int_eq(rule_list_find(list, 1, 2)->thresholds->kind, THRESHOLD_BOTH);
    ck_assert_ptr_null(rule_list_find(list, 1, 2)->thresholds->next);

    threshold = rule_list_global_thresholds(list, 1);
    ck_assert_ptr_nonnull(threshold);
    ck_assert_str_eq(threshold->addresses->text, "10.0.0.1");
    ck_assert_str_eq(threshold->next->addresses->text, "10.0.0.2");
    ck_assert_ptr_null(threshold->next->next);
    ck_assert_ptr_eq(rule_list_global_thresholds(list, 2), threshold->next);
    ck_assert(!rule_list_global_thresholds(list, 9)->has_track);
    ck_assert_ptr_eq(rule_list_global_thresholds(list, 9)->next, threshold->next);
}
END_TEST

START_TEST(thresholds_have_indices_of_their_own)
{
    static const char text[] = "suppress gen_id 0, sig_id 0, track by_src, ip 10.0.0.2\n"
                               "event_filter gen_id 0, sig_id 0, type limit, track by_src, count 3, seconds 4\n";
    uint32_t a, b, c;

    use_thresholds(text);
    parse("alert tcp any any -> any any (sid:1;)\nalert tcp any any -> any any (sid:2;)");
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    a = rule_list_find(list, 1, 1)->thresholds->index;
    b = rule_list_find(list, 1, 2)->thresholds->index;
    c = rule_list_global_thresholds(list, 1)->index;
    ck_assert(a != b && b != c && a != c);
    ck_assert_uint_eq(rule_list_threshold_count(list), 3);
}
END_TEST

START_TEST(files_that_are_not_there_are_told)
{
    struct rule_list_options options = {
        .keywords = table,
        .classification_file = "/nowhere/classes",
        .reference_file = "/nowhere/references",
        .threshold_file = "/nowhere/thresholds",
    };
    struct rule_list *other;

    ck_assert_int_eq(rule_list_new(&other, &options, diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 3);
    ck_assert_int_eq(rule_list_load(other, "/nowhere/rules", diag), -ENOENT);
    ck_assert_int_eq(rule_list_load(other, "/", diag), -EISDIR);
    ck_assert_uint_eq(diag_errors(diag), 5);
    rule_list_free(other);
}
END_TEST

START_TEST(file_is_loaded_once)
{
    char folder[] = "/tmp/sluice_rules_XXXXXX", path[64], link[64], copy[64];
    static const char rules[] = "alert tcp any any -> any any (msg:\"a\"; sid:1;)\n"
                                "alert tcp any any -> any any (msg:\"b\"; sid:2;)\n";

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/a.rules", folder);
    snprintf(link, sizeof(link), "%s/link.rules", folder);
    snprintf(copy, sizeof(copy), "%s/copy.rules", folder);
    write_text(path, rules);
    write_text(copy, rules);
    ck_assert_int_eq(symlink("a.rules", link), 0);

    ck_assert_int_eq(rule_list_load(list, path, diag), 0);
    ck_assert_int_eq(rule_list_load(list, link, diag), 0);
    ck_assert_uint_eq(rule_list_files(list), 1);
    ck_assert_uint_eq(rule_list_read(list), 2);
    ck_assert_uint_eq(diag_count(diag), 1);
    ck_assert_int_eq(diag_get(diag, 0)->severity, DIAG_NOTE);
    ck_assert_str_eq(diag_get(diag, 0)->file, link);

    ck_assert_int_eq(rule_list_load(list, copy, diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_uint_eq(rule_list_files(list), 2);
    ck_assert_uint_eq(rule_list_count(list), 2);
    ck_assert_uint_eq(rule_list_rejected(list), 0);
    ck_assert_uint_eq(rule_list_replaced(list), 2);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ck_assert_uint_eq(diag_warnings(diag), 1);
    ck_assert_str_eq(diag_get(diag, 1)->file, copy);
    unlink(path);
    unlink(link);
    unlink(copy);
    rmdir(folder);
}
END_TEST

/* --- Real rulesets -------------------------------------------------------------------------------- */

struct shared_files {
    struct keyword_table *keywords;
    size_t files, rules;
};

/* Returns the number of lines with errors. Errors of a rule are adjacent. */
static size_t count_lines_with_errors(const struct diag *entries)
{
    size_t lines = 0;
    uint32_t last = 0;

    for (size_t i = 0; i < diag_count(entries); i++) {
        const struct diag_entry *entry = diag_get(entries, i);

        if (entry->severity < DIAG_UNSUPPORTED)
            continue;
        ck_assert_uint_gt(entry->line, 0);
        ck_assert_uint_gt(entry->column, 0);
        lines += entry->line != last;
        last = entry->line;
    }
    return lines;
}

static bool has_continued_lines(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    bool found = false;

    ck_assert_ptr_nonnull(file);
    while (!found && getline(&line, &size, file) > 0)
        found = strstr(line, "\\\n") || strstr(line, "\\\r\n");
    free(line);
    fclose(file);
    return found;
}

static void load_shared_file(struct shared_files *shared, const char *path)
{
    struct diag *entries = diag_new();
    struct rule_list_options options = { .keywords = shared->keywords, .variables = variables };
    struct rule_list *rules;
    size_t rejected;

    ck_assert_int_eq(rule_list_new(&rules, &options, entries), 0);
    ck_assert_int_eq(rule_list_load(rules, path, entries), 0);
    rejected = rule_list_rejected(rules);
    ck_assert_uint_eq(rule_list_count(rules) + rejected, rule_list_read(rules));
    /* Every rejected rule has an error at its line. A rule that continues on further lines may have errors on several
     * lines. */
    if (has_continued_lines(path))
        ck_assert_uint_ge(count_lines_with_errors(entries), rejected);
    else
        ck_assert_uint_eq(count_lines_with_errors(entries), rejected);
    ck_assert_int_eq(rule_list_finish(rules, entries), 0);
    ck_assert_uint_eq(rule_list_count(rules) + rule_list_rejected(rules) + rule_list_replaced(rules),
                      rule_list_read(rules));
    shared->rules += rule_list_read(rules);
    printf("%s: %zu rules, %zu rejected\n", path, rule_list_read(rules), rule_list_rejected(rules));
    rule_list_free(rules);
    diag_free(entries);
    shared->files++;
}

static void load_shared_folder(struct shared_files *shared, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t length = strlen(name);
        char path[4096];
        struct stat st;

        snprintf(path, sizeof(path), "%s/%s", folder, name);
        if (name[0] != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                load_shared_folder(shared, path);
            else if (length > 6 && strcmp(name + length - 6, ".rules") == 0)
                load_shared_file(shared, path);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static void set_usual_variables(void)
{
    static const char *const networks[] = { "HTTP_SERVERS",   "SMTP_SERVERS", "SQL_SERVERS", "DNS_SERVERS",
                                            "TELNET_SERVERS", "DC_SERVERS",   "DNP3_SERVER", "DNP3_CLIENT",
                                            "SIP_SERVERS",    "SSH_SERVERS",  "FTP_SERVERS", "MODBUS_CLIENT",
                                            "MODBUS_SERVER",  "ENIP_CLIENT",  "ENIP_SERVER" };
    static const char *const ports[][2] = { { "HTTP_PORTS", "80" },
                                            { "SHELLCODE_PORTS", "!80" },
                                            { "ORACLE_PORTS", "1521" },
                                            { "SSH_PORTS", "22" },
                                            { "FTP_PORTS", "21" },
                                            { "SIP_PORTS", "5060" },
                                            { "FILE_DATA_PORTS", "[$HTTP_PORTS,110,143]" } };

    rule_variables_set_address(variables, "HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]");
    rule_variables_set_address(variables, "EXTERNAL_NET", "!$HOME_NET");
    rule_variables_set_address(variables, "AIM_SERVERS", "$EXTERNAL_NET");
    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        rule_variables_set_address(variables, networks[i], "$HOME_NET");
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        rule_variables_set_port(variables, ports[i][0], ports[i][1]);
}

START_TEST(real_rulesets_load_or_are_told)
{
    const char *root = getenv("SLUICE_SHARED");
    struct shared_files shared = { 0 };
    char folder[4096];
    struct stat st;

    snprintf(folder, sizeof(folder), "%s/rules", root ? root : "");
    if (!root || stat(folder, &st)) {
        printf("SLUICE_SHARED has no rulesets: not run\n");
        return;
    }
    set_usual_variables();
    shared.keywords = keyword_table_new(keyword_list, keyword_list_count);
    ck_assert_ptr_nonnull(shared.keywords);
    load_shared_folder(&shared, folder);
    keyword_table_free(shared.keywords);
    ck_assert_uint_gt(shared.files, 0);
    ck_assert_uint_gt(shared.rules, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rule_files");
    TCase *tcase = tcase_create("rule_files");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rules_use_little_memory);
    tcase_set_timeout(tcase, 100);
    tcase_add_test(tcase, thresholds_reach_their_rules);
    tcase_add_test(tcase, thresholds_have_indices_of_their_own);
    tcase_add_test(tcase, files_that_are_not_there_are_told);
    tcase_add_test(tcase, file_is_loaded_once);
    tcase_add_test(tcase, real_rulesets_load_or_are_told);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
