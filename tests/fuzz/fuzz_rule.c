/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule parser with all keywords of the build; each input is parsed as rules and as firewall rules. The contract:
 * every rule is either loaded or reported; a report has a line; a loaded rule is complete.
 */
#include <stdint.h>
#include <stdlib.h>

#include "default_options.h"
#include "sluice/app.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Conditions are of the build's keywords: the placeholders of unsupported ones are in no rule. */
static void check_conditions(const struct keyword_table *keywords, const struct condition *condition, bool in_buffer)
{
    for (; condition; condition = condition->next) {
        require(condition->keyword);
        if (condition->keyword == &flow_start_condition)
            continue;
        require(keyword_table_find(keywords, span_of(condition->keyword->name)) == condition->keyword);
        require((condition->keyword->kind == KEYWORD_PACKET) == !in_buffer);
        require(condition->next || !condition->next_relative);
    }
}

static void check_rule(const struct keyword_table *keywords, const struct rule_list *list, const struct rule *rule)
{
    require(rule->sid > 0 && rule->message && rule->text && rule->line > 0 && rule->priority > 0);
    require(rule->source && rule->destination && rule->source_port && rule->destination_port && rule->protocol.name);
    require(rule_list_find(list, rule->gid, rule->sid) == rule);
    check_conditions(keywords, rule->packet_conditions, false);
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        require((buffer->conditions || buffer->absence != BUFFER_PRESENT) && buffer->keyword != &unsupported_buffer);
        for (const struct condition *t = buffer->transforms; t; t = t->next)
            require(t->keyword->kind == KEYWORD_TRANSFORM && t->keyword->transform.apply);
        check_conditions(keywords, buffer->conditions, true);
    }
}

static void check_diag(const struct diag *diag)
{
    for (size_t i = 0; i < diag_count(diag); i++) {
        const struct diag_entry *entry = diag_get(diag, i);

        require(entry->message[0]);
        if (entry->line > 0) /* 0: a message about a file that a rule names */
            require(entry->column > 0 && entry->line_text);
    }
}

static void run(const struct keyword_table *keywords, struct rule_list *list, struct diag *diag, const uint8_t *data,
                size_t size, bool firewall)
{
    require((firewall ? rule_list_parse_firewall : rule_list_parse)(list, "fuzz", (const char *)data, size, diag) == 0);
    require(rule_list_firewall_count(list) == 0);
    require(rule_list_count(list) + rule_list_rejected(list) == rule_list_read(list));
    require((rule_list_rejected(list) > rule_list_unmet(list)) == (diag_errors(diag) + diag_unsupported(diag) > 0));
    require(diag_errors(diag) >= rule_list_failed(list));
    require(diag_unsupported(diag) >= rule_list_skipped(list) - rule_list_unmet(list));
    require(rule_list_finish(list, diag) == 0);
    require(rule_list_count(list) + rule_list_rejected(list) + rule_list_replaced(list) == rule_list_read(list));
    for (size_t i = 0; i < rule_list_count(list); i++) {
        require(rule_list_get(list, i)->index == i && rule_list_get(list, i)->firewall == firewall);
        check_rule(keywords, list, rule_list_get(list, i));
    }
    require(rule_list_failure_count(list) ==
            (rule_list_rejected(list) < RULE_MAX_FAILURES ? rule_list_rejected(list) : RULE_MAX_FAILURES));
    for (size_t i = 0; i < rule_list_failure_count(list); i++)
        require(rule_list_failure(list, i)->reason[0] && rule_list_failure(list, i)->line > 0);
    check_diag(diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct keyword_table *keywords;
    static const char *const applications[] = { "http", NULL };
    struct rule_variables *variables = rule_variables_new();
    struct rule_list_options options = {
        .variables = variables,
        .owns_datasets = true,
        .applications = applications,
        .hooks = &app_hook_names,
    };
    struct rule_list *list;

    if (!keywords)
        keywords = keyword_table_new(keyword_list, keyword_list_count);
    require(variables && keywords);
    rule_variables_set_address(variables, "HOME", "[10.0.0.0/8,!$A]");
    rule_variables_set_address(variables, "A", "10.0.0.1-10.0.0.9,fd00::/8");
    rule_variables_set_address(variables, "LOOP", "[$LOOP]");
    rule_variables_set_port(variables, "P", "[1:10,!5]");
    options.keywords = keywords;
    for (int firewall = 0; firewall < 2; firewall++) {
        struct diag *diag = diag_new();

        require(diag);
        options.datasets = datasets_new_default(NULL);
        require(rule_list_new(&list, &options, diag) == 0);
        run(keywords, list, diag, data, size, firewall);
        require(rule_list_firewall_count(list) == (firewall ? rule_list_count(list) : 0));
        rule_list_free(list);
        diag_free(diag);
    }
    rule_variables_free(variables);
    return 0;
}
