/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * classification.config (first byte even) or reference.config (odd); the rest is the file. The contract: every line is
 * either loaded or reported; the first line of a name counts; rules can be read afterwards.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rule/rule_priv.h"
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

static void check_rules(struct rule_list *list, struct diag *diag)
{
    size_t errors = diag_errors(diag);

    require(rule_list_parse(list, "rules", rules, sizeof(rules) - 1, diag) == 0);
    require(rule_list_finish(list, diag) == 0);
    require(rule_list_count(list) == 2 && diag_errors(diag) == errors);
    for (size_t i = 0; i < 2; i++)
        require(rule_list_get(list, i)->priority > 0 && rule_list_get(list, i)->references);
    check_class("a", map_get(&list->classes, span_of("a")));
    require(map_get(&list->references, span_of("url")) != NULL);
}

static void run(struct rule_list *list, struct diag *diag, const uint8_t *data, size_t size)
{
    bool classes = data[0] % 2 == 0;
    struct arena *arena = rule_list_arena(list);
    const struct source *source, *again;

    require(source_copy(arena, "fuzz", (const char *)data + 1, size - 1, &source) == 0);
    require(source_copy(arena, "fuzz", (const char *)data + 1, size - 1, &again) == 0);
    require((classes ? class_config_parse : reference_config_parse)(list, source, diag) == 0);

    size_t known = classes ? list->classes.count : list->references.count;

    require(known + diag_errors(diag) + diag_warnings(diag) >= count_statements(again, arena));
    check_rules(list, diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct keyword_table *keywords;
    struct rule_variables *variables = rule_variables_new();
    struct diag *diag = diag_new();
    struct rule_list_options options = { .variables = variables };
    struct rule_list *list;

    if (!keywords)
        keywords = keyword_table_new(keyword_list, keyword_list_count);
    require(variables && diag && keywords);
    options.keywords = keywords;
    require(rule_list_new(&list, &options, diag) == 0);
    if (size > 0)
        run(list, diag, data, size);
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    return 0;
}
