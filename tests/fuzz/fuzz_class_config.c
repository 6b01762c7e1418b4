/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classification.config (first byte even) or reference.config (odd); the rest is the file. The contract: every line is
 * either loaded or reported; the first line of a name counts; rules can be read afterwards.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "memory_file.h"
#include "rule/class_config.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rules[] = "alert tcp any any -> any any (classtype:a; reference:a,b; sid:1;)\n"
                            "alert tcp any any -> any any (classtype:misc-activity; reference:url,x; sid:2;)\n";

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

static void check_class(const char *name, const struct rule_class *class)
{
    require(strcasecmp(class->name, name) == 0 && class->description && class->priority > 0);
}

static void check_names(struct rule_list *list, bool classes, const uint8_t *data, size_t size)
{
    struct arena *arena = rule_list_arena(list);
    struct diag *diag = diag_new();
    const struct source *source, *again;
    struct map names;

    map_init(&names, true);
    require(diag && source_copy(arena, "fuzz", (const char *)data, size, &source) == 0);
    require(source_copy(arena, "fuzz", (const char *)data, size, &again) == 0);
    require((classes ? class_config_parse : reference_config_parse)(list, source, &names, diag) == 0);
    require(names.count + diag_errors(diag) + diag_warnings(diag) >= count_statements(again, arena));
    if (classes && map_get(&names, span_of("a")))
        check_class("a", map_get(&names, span_of("a")));
    map_clear(&names);
    diag_free(diag);
}

static void check_rules(struct rule_list *list, struct diag *diag)
{
    size_t errors = diag_errors(diag);

    require(rule_list_parse(list, "rules", rules, sizeof(rules) - 1, diag) == 0);
    require(rule_list_finish(list, diag) == 0);
    require(rule_list_count(list) == 2 && diag_errors(diag) == errors);
    for (size_t i = 0; i < 2; i++) {
        const struct rule *rule = rule_list_get(list, i);

        require(rule->priority > 0 && rule->class_name && rule->class_description && rule->references);
    }
    require(strcasecmp(rule_list_get(list, 0)->class_name, "a") == 0);
    require(strcasecmp(rule_list_get(list, 1)->references->system, "url") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct keyword_table *keywords;
    struct rule_variables *variables = rule_variables_new();
    struct diag *diag = diag_new();
    struct rule_list_options options = { .variables = variables };
    struct rule_list *list;
    char path[MEMORY_FILE_PATH];
    bool classes = size > 0 && data[0] % 2 == 0;
    int fd = memory_file_open(data + (size > 0), size - (size > 0), path);

    if (!keywords)
        keywords = keyword_table_new(keyword_list, keyword_list_count);
    require(variables && diag && keywords);
    options.keywords = keywords;
    *(classes ? &options.classification_file : &options.reference_file) = path;
    require(rule_list_new(&list, &options, diag) == 0);
    if (size > 0)
        check_names(list, classes, data + 1, size - 1);
    check_rules(list, diag);
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    close(fd);
    return 0;
}
