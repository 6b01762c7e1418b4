/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From rule files to a ruleset: variables, the list, and the compiled snapshot. Mistakes are left in `diag`. */
#include "engine_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sluice/dataset.h"
#include "sluice/keyword.h"
#include "sluice/log.h"
#include "sluice/rule.h"

enum { MAX_PRINTED_MISTAKES = 20 };

void engine_print_mistakes(const struct diag *diag)
{
    size_t count = diag_count(diag);

    for (size_t i = 0; i < count && i < MAX_PRINTED_MISTAKES; i++)
        diag_print_entry(diag_get(diag, i), stderr, isatty(STDERR_FILENO));
    if (count > MAX_PRINTED_MISTAKES)
        log_warning("%zu more mistakes in rules: `sluice check` shows all of them", count - MAX_PRINTED_MISTAKES);
}

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

int engine_rule_variables(struct rule_variables **out, const struct config *config)
{
    struct rule_variables *variables = rule_variables_new();
    int err = variables ? set_variables(variables, config) : -ENOMEM;

    if (err)
        rule_variables_free(variables);
    else
        *out = variables;
    return err;
}

/* A file that can't be read is reported and counted; the others are loaded all the same. */
static int load_files(struct rule_list *list, const struct config *config, const char *const *files, size_t count,
                      size_t *unread, struct diag *diag)
{
    size_t configured = config_list_count(config, "rule-files");

    *unread = 0;
    for (size_t i = 0; i < configured + count; i++) {
        const char *path = i < configured ? config_list_get(config, "rule-files", i) : files[i - configured];
        size_t read_before = rule_list_read(list);
        int err = rule_list_load(list, path, diag);

        if (err == -ENOMEM)
            return err;
        if (!err && rule_list_read(list) == read_before)
            diag_warning(diag, (struct position){ .file = path }, "this file has no rules");
        *unread += err != 0;
    }
    return rule_list_finish(list, diag);
}

/* The strings of a list with NULL at the end, to be freed; NULL when out of memory. */
static const char **list_of(const struct config *config, const char *name)
{
    size_t count = config_list_count(config, name);
    const char **list = calloc(count + 1, sizeof(*list));

    for (size_t i = 0; list && i < count; i++)
        list[i] = config_list_get(config, name, i);
    return list;
}

static int parse(struct rule_list **out, const struct load_options *load, size_t *unread, struct diag *diag)
{
    const struct config *config = load->config;
    struct rule_list *list = NULL;
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = NULL;
    struct datasets *datasets = NULL;
    const char **reputations = list_of(config, "reputation.files");
    const char **classtypes = list_of(config, "nft.blocklist.classtypes");
    int err = keywords && reputations && classtypes ? engine_rule_variables(&variables, config) : -ENOMEM;

    if (!err)
        err = engine_open_datasets(&datasets, config, load->before, diag);
    const char *words[2 * APP_MAX_PROTOCOLS];

    app_words(words, sizeof(words) / sizeof(words[0]));
    const struct rule_list_options options = {
        .applications = words,
        .keywords = keywords,
        .variables = variables,
        .names = load->names,
        .classification_file = config_string(config, "classification-file"),
        .reference_file = config_string(config, "reference-config-file"),
        .threshold_file = config_string(config, "threshold-file"),
        .policy = {
            .disable = config_string(config, "rule-policy.disable-file"),
            .enable = config_string(config, "rule-policy.enable-file"),
            .drop = config_string(config, "rule-policy.drop-file"),
            .modify = config_string(config, "rule-policy.modify-file"),
            .decisions = config_string(config, "rule-policy.file"),
        },
        .datasets = datasets,
        .takes_datasets = true,
        .reputation_categories = config_string(config, "reputation.categories"),
        .reputation_files = reputations,
        .geoip_database = config_string(config, "geoip-database"),
        .block_priority = (uint8_t)config_number(config, "nft.blocklist.priority"),
        .block_classtypes = classtypes,
        .block_seconds = (uint32_t)config_number(config, "nft.blocklist.timeout"),
    };

    if (!err) {
        err = rule_list_new(&list, &options, diag);
        if (err)
            datasets_free(datasets);
    }
    if (!err)
        err = load_files(list, config, load->rule_files, load->rule_file_count, unread, diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    free(reputations);
    free(classtypes);
    if (err)
        rule_list_free(list);
    else
        *out = list;
    return err;
}

int engine_parse_rules(struct rule_list **out, const struct config *config, const char *const *rule_files, size_t count,
                       size_t *unread, struct diag *diag)
{
    const struct load_options load = { .config = config, .rule_files = rule_files, .rule_file_count = count };

    return parse(out, &load, unread, diag);
}

static void set_cache(struct ruleset_options *options, const struct config *config)
{
    if (!config_bool(config, "detect.sgh-mpm-caching"))
        return;
    options->cache_path = config_string(config, "detect.sgh-mpm-caching-path");
    config_duration(config_string(config, "detect.sgh-mpm-caching-max-age"), &options->cache_max_age_seconds);
    options->cache_max_bytes = (uint64_t)config_number(config, "detect.sgh-mpm-caching-max-size");
}

static int compile(struct ruleset **out, struct rule_list *list, const struct load_options *load, struct diag *diag)
{
    const struct config *config = load->config;
    char error[ENGINE_ERROR_SIZE];
    struct ruleset_options options;
    int err;

    ruleset_options_default(&options);
    if (load->before) {
        options.before = load->before;
        options.generation = ruleset_generation(load->before) + 1;
    }
    err = engine_action_order(config, options.action_order, error);
    if (err) {
        diag_error(diag, config_position(config, "action-order"), "%s", error);
        return err;
    }
    set_cache(&options, config);
    return ruleset_new(out, list, &options, diag);
}

int engine_compile_rules(struct ruleset **out, struct rule_list *list, const struct config *config, struct diag *diag)
{
    const struct load_options load = { .config = config };

    return compile(out, list, &load, diag);
}

static void log_policy(const struct rule_list *rules)
{
    struct text counts;

    text_init(&counts);
    rule_policy_counts_print(rule_list_policy_counts(rules), &counts);
    if (counts.length > 0)
        log_info("rules changed by the rule policy: %s", counts.bytes);
    text_clear(&counts);
}

int engine_load(struct ruleset **out, const struct load_options *load, struct diag *diag)
{
    struct rule_list *list;
    size_t unread;
    int err = parse(&list, load, &unread, diag);

    if (err)
        return err;
    err = unread > 0 ? -ENOENT : compile(out, list, load, diag);
    if (err)
        rule_list_free(list);
    else
        log_policy(list);
    return err;
}

int engine_load_rules(struct ruleset **out, const struct config *config, const char *const *rule_files, size_t count,
                      struct diag *diag)
{
    const struct load_options load = { .config = config, .rule_files = rule_files, .rule_file_count = count };

    return engine_load(out, &load, diag);
}
