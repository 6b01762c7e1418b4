/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of the rule policy. The first byte selects the file of which the rest is the text. The contract: every line is
 * either kept or reported; applying the lines to rules terminates, each rule is loaded, disabled or rejected, and a
 * rule that the policy did not change is loaded as it is written.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory_file.h"
#include "rule/policy_file.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rules[] =
    "alert tcp any any -> any 80 (msg:\"ET one\"; content:\"a\"; classtype:trojan-activity; sid:1; rev:2;)\n"
    "# alert tcp any any -> any 80 (msg:\"two\"; content:\"a\"; sid:2;)\n"
    "alert tcp any any -> any 80 (msg:\"three\"; content:\"a\"; flowbits:set,x; flowbits:noalert; gid:3; sid:3;)\n"
    "pass tcp any any -> any 80 \\\n  (msg:\"four\"; content:\"a\"; metadata:deployment perimeter, x y; sid:4;)\n"
    "drop tcp any any -> any 80 (msg:\"five\"; content:\"a\"; metadata:deployment perimeter; sid:5;)\n";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t count_statements(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_new(0);
    const struct source *source;
    struct scanner scanner;
    struct statement statement;
    size_t count = 0;

    require(arena && source_copy(arena, "fuzz", (const char *)data, size, &source) == 0);
    scanner_init(&scanner, source);
    while (scanner_next(&scanner, arena, &statement) > 0)
        count++;
    arena_free(arena);
    return count;
}

static void check_rule(const struct rule *rule)
{
    size_t changes = 0;

    require(strlen(rule->text) <= 64 * 1024);
    for (const struct rule_change *change = rule->changes; change; change = change->next) {
        require(change->at.line > 0 && change->text[0] != '\0');
        changes++;
    }
    require(changes > 0 || (!rule->alert_only && strstr(rules, rule->text)) || rule->sid == 4);
}

static void check_lines(struct rule_list *list, const struct rule_policy_files *files, size_t statements)
{
    struct policy_lines lines = { 0 };
    struct diag *diag = diag_new();

    require(diag && policy_files_read(list, files, &lines, diag) == 0);
    require(lines.count <= statements && lines.count + diag_errors(diag) >= statements);
    policy_lines_clear(&lines);
    diag_free(diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct keyword_table *keywords;
    struct rule_list_options options = { 0 };
    const char **const files[] = { &options.policy.disable, &options.policy.enable, &options.policy.drop,
                                   &options.policy.modify, &options.policy.decisions };
    struct diag *diag = diag_new();
    struct rule_list *list;
    char path[MEMORY_FILE_PATH];
    int fd;

    if (!keywords)
        keywords = keyword_table_new(keyword_list, keyword_list_count);
    require(diag && keywords);
    options.keywords = keywords;
    if (size == 0 || size > 4096) {
        diag_free(diag);
        return 0;
    }
    fd = memory_file_open(data + 1, size - 1, path);
    *files[(uint8_t)(data[0] - '0') % 5] = path;
    require(rule_list_new(&list, &options, diag) == 0);
    check_lines(list, &options.policy, count_statements(data + 1, size - 1));
    require(rule_list_parse(list, "rules/x.rules", rules, sizeof(rules) - 1, diag) == 0);
    require(rule_list_finish(list, diag) == 0);
    require(rule_list_count(list) + rule_list_rejected(list) + rule_list_replaced(list) == rule_list_read(list));
    for (size_t i = 0; i < rule_list_count(list); i++)
        check_rule(rule_list_get(list, i));
    rule_list_free(list);
    diag_free(diag);
    close(fd);
    return 0;
}
