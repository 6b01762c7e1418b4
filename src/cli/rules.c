/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules for `sluice check`: parsed with every diagnostic, not compiled. */
#include "cli_priv.h"

#include <errno.h>

static int set_variables(struct rule_variables *variables, const struct config *config)
{
    struct config_variable row;
    int err = 0;

    for (size_t i = 0; !err && config_variable(config, CONFIG_ADDRESS_VARIABLE, i, &row); i++)
        err = rule_variables_set_address(variables, row.name, row.value);
    for (size_t i = 0; !err && config_variable(config, CONFIG_PORT_VARIABLE, i, &row); i++)
        err = rule_variables_set_port(variables, row.name, row.value);
    return err;
}

/* A file that can't be read is reported; the others are looked at all the same. */
static int load_files(struct cli_rules *rules, const struct cli_input *input, const struct config *config,
                      struct diag *diag)
{
    size_t configured = config_list_count(config, "rule-files");

    for (size_t i = 0; i < configured + input->rules.count; i++) {
        const char *path = i < configured ? config_list_get(config, "rule-files", i) : input->rules.at[i - configured];

        if (rule_list_load(rules->list, path, diag) == -ENOMEM)
            return -ENOMEM;
        rules->files++;
    }
    return rule_list_finish(rules->list, diag);
}

int cli_rules_load(struct cli_rules *rules, const struct cli_input *input, const struct config *config,
                   struct diag *diag)
{
    struct rule_list_options options = {
        .classification_file = config_string(config, "classification-file"),
        .reference_file = config_string(config, "reference-config-file"),
        .threshold_file = config_string(config, "threshold-file"),
    };
    int err = -ENOMEM;

    *rules = (struct cli_rules){ .keywords = keyword_table_new(keyword_list, keyword_list_count) };
    rules->variables = rule_variables_new();
    if (!rules->keywords || !rules->variables)
        goto clear;
    err = set_variables(rules->variables, config);
    if (err)
        goto clear;
    options.keywords = rules->keywords;
    options.variables = rules->variables;
    err = rule_list_new(&rules->list, &options, diag);
    if (err)
        goto clear;
    err = load_files(rules, input, config, diag);
    if (err)
        goto clear;
    return 0;

clear:
    cli_rules_clear(rules);
    return err;
}

void cli_rules_clear(struct cli_rules *rules)
{
    rule_list_free(rules->list);
    rule_variables_free(rules->variables);
    keyword_table_free(rules->keywords);
    *rules = (struct cli_rules){ .files = 0 };
}
