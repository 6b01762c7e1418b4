/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From rule files to a ruleset: variables, the list, and the compiled snapshot. Mistakes are left in `diag`. */
#include "engine_priv.h"

#include <errno.h>

#include "sluice/keyword.h"
#include "sluice/rule.h"

static int set_variables(struct rule_variables *variables, const struct config *config)
{
    struct config_variable variable;
    int err = 0;

    for (size_t i = 0; !err && config_variable(config, CONFIG_ADDRESS_VARIABLE, i, &variable); i++)
        err = rule_variables_set_address(variables, variable.name, variable.value);
    for (size_t i = 0; !err && config_variable(config, CONFIG_PORT_VARIABLE, i, &variable); i++)
        err = rule_variables_set_port(variables, variable.name, variable.value);
    return err;
}

static int load_files(struct rule_list *list, const struct config *config, const char *const *files, size_t count,
                      struct diag *diag)
{
    int err = 0;

    for (size_t i = 0; i < config_list_count(config, "rule-files") && !err; i++)
        err = rule_list_load(list, config_list_get(config, "rule-files", i), diag);
    for (size_t i = 0; i < count && !err; i++)
        err = rule_list_load(list, files[i], diag);
    return err ? err : rule_list_finish(list, diag);
}

int engine_load_rules(struct ruleset **out, const struct config *config, const char *const *rule_files, size_t count,
                      struct diag *diag)
{
    char error[ENGINE_ERROR_SIZE];
    struct ruleset_options options;
    struct rule_list *list = NULL;
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = rule_variables_new();
    int err = keywords && variables ? set_variables(variables, config) : -ENOMEM;

    if (err)
        goto out;
    const struct rule_list_options list_options = {
        .keywords = keywords,
        .variables = variables,
        .classification_file = config_string(config, "classification-file"),
        .reference_file = config_string(config, "reference-config-file"),
        .threshold_file = config_string(config, "threshold-file"),
    };

    err = rule_list_new(&list, &list_options, diag);
    if (err)
        goto out;
    err = load_files(list, config, rule_files, count, diag);
    if (err)
        goto out;
    ruleset_options_default(&options);
    err = engine_action_order(config, options.action_order, error);
    if (err) {
        diag_error(diag, config_position(config, "action-order"), "%s", error);
        goto out;
    }
    err = ruleset_new(out, list, &options, diag);
    if (!err)
        list = NULL;
out:
    rule_list_free(list);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    return err;
}
