/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threshold.config. The contract: every line is either applied or reported; a rule has at most one threshold; and the
 * lists of suppressions have an end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "memory_file.h"
#include "rule/threshold_config.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rules[] =
    "alert tcp any any -> any any (sid:1;)\n"
    "alert tcp any any -> any any (sid:2; gid:2;)\n"
    "alert tcp any any -> any any (sid:3; threshold:type limit, track by_src, count 1, seconds 1;)\n";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t count_statements(const struct source *source, struct arena *arena)
{
    struct scanner scanner;
    struct statement statement;
    size_t count = 0;

    scanner_init(&scanner, source);
    while (scanner_next(&scanner, arena, &statement) > 0)
        count++;
    return count;
}

/* A line for all rules is attached once per rule, or kept in a list of its gid, so the number of entries is bounded. */
static void check_thresholds(const struct rule_list *list, const struct threshold *threshold, bool only_suppress)
{
    size_t others = 0, length = 0;

    for (; threshold; threshold = threshold->next) {
        others += threshold->kind != THRESHOLD_SUPPRESS;
        require(threshold->index < rule_list_threshold_count(list));
        require(threshold->kind != THRESHOLD_SUPPRESS || threshold->has_track == (threshold->addresses != NULL));
        require(++length <= rule_list_threshold_count(list));
    }
    require(others <= (only_suppress ? 0 : 1));
}

/* The lines of the same file as the list has read. */
static void check_lines(struct rule_list *list, const uint8_t *data, size_t size)
{
    struct arena *arena = rule_list_arena(list);
    struct threshold_lines lines = { 0 };
    struct diag *diag = diag_new();
    const struct source *source, *again;
    size_t statements;

    require(diag && source_copy(arena, "fuzz", (const char *)data, size, &source) == 0);
    require(source_copy(arena, "fuzz", (const char *)data, size, &again) == 0);
    require(threshold_config_parse(list, source, &lines, diag) == 0);
    statements = count_statements(again, arena);
    require(lines.count + diag_errors(diag) >= statements && lines.count <= statements);
    free(lines.line);
    diag_free(diag);
}

static void check_rules(struct rule_list *list, struct diag *diag)
{
    size_t errors = diag_errors(diag);

    require(rule_list_parse(list, "rules", rules, sizeof(rules) - 1, diag) == 0);
    require(rule_list_finish(list, diag) == 0);
    require(rule_list_count(list) == 3 && diag_errors(diag) == errors);
    for (size_t i = 0; i < 3; i++)
        check_thresholds(list, rule_list_get(list, i)->thresholds, false);
    for (uint32_t gid = 0; gid < 4; gid++)
        check_thresholds(list, rule_list_global_thresholds(list, gid), true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct keyword_table *keywords;
    struct rule_variables *variables = rule_variables_new();
    struct diag *diag = diag_new();
    struct rule_list_options options = { .variables = variables };
    struct rule_list *list;
    char path[MEMORY_FILE_PATH];
    int fd = memory_file_open(data, size, path);

    if (!keywords)
        keywords = keyword_table_new(keyword_list, keyword_list_count);
    require(variables && diag && keywords);
    rule_variables_set_address(variables, "A", "[10.0.0.1,10.0.0.2]");
    options.keywords = keywords;
    options.threshold_file = path;
    require(rule_list_new(&list, &options, diag) == 0);
    check_lines(list, data, size);
    check_rules(list, diag);
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    close(fd);
    return 0;
}
