/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads rule files into a ruleset: reads variables, parses the rule list, and compiles it into a ruleset. Mistakes are
 * reported in `diag`.
 *
 * If a rule or a file cannot be loaded, the rest is loaded, and the rule list stores the reason. The log gives the
 * number of rules that were not loaded; engine events and `sluice rules --failed` list them.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "setup_priv.h"

#include "sluice/app.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/dataset.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/keyword.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/text.h"

/* maximum number of engine events about rules that were not loaded; they fit into the ring of engine events */
enum { MAX_EVENTS = 1000 };

size_t setup_select_diagnostics(const struct diag *diag, const struct diag_entry *out[SELECTED_DIAGNOSTICS])
{
    static const enum diag_severity order[SELECTED_SEVERITIES] = { DIAG_ERROR, DIAG_WARNING, DIAG_UNSUPPORTED };
    size_t picked = 0;

    for (size_t k = 0; k < SELECTED_SEVERITIES; k++) {
        size_t end = picked + SELECTED_EACH;
        /* true if the last entry that is not a note was selected, so that its notes are selected, too */
        bool follows = false;

        for (size_t i = 0; i < diag_count(diag) && picked < end; i++) {
            const struct diag_entry *entry = diag_get(diag, i);

            follows = entry->severity == DIAG_NOTE ? follows : entry->severity == order[k];
            if (follows)
                out[picked++] = entry;
        }
    }
    return picked;
}

void setup_print_diagnostics(const struct diag *diag)
{
    const struct diag_entry *entries[SELECTED_DIAGNOSTICS];
    size_t picked = setup_select_diagnostics(diag, entries);

    for (size_t i = 0; i < picked; i++)
        diag_print_entry(entries[i], stderr, isatty(STDERR_FILENO));
    if (diag_count(diag) > picked)
        log_warning("%zu more diagnostics: run `sluice check` to see all of them", diag_count(diag) - picked);
}

bool setup_is_pattern(const char *path)
{
    return path[strcspn(path, "*?[")] != '\0' && access(path, F_OK) != 0;
}

int setup_rule_variables(struct rule_variables **out, const struct config *config)
{
    struct rule_variables *variables = rule_variables_new();
    struct config_variable variable;
    int err = variables ? 0 : -ENOMEM;

    for (size_t i = 0; !err && config_variable(config, CONFIG_ADDRESS_VARIABLE, i, &variable); i++)
        err = rule_variables_set_address(variables, variable.name, variable.value);
    for (size_t i = 0; !err && config_variable(config, CONFIG_PORT_VARIABLE, i, &variable); i++)
        err = rule_variables_set_port(variables, variable.name, variable.value);
    if (err)
        rule_variables_free(variables);
    else
        *out = variables;
    return err;
}

/* Loads a file. Returns 0 or -ENOMEM. A file that cannot be read is reported, and the result is still 0. */
static int load_file(struct rule_list *list, const char *path, struct diag *diag)
{
    size_t read_before = rule_list_read(list);
    int err = rule_list_load(list, path, diag);

    if (!err && rule_list_read(list) == read_before)
        diag_warning(diag, (struct position){ .file = path }, "this file has no rules");
    return err == -ENOMEM ? err : 0;
}

/* Loads the files that match a name with `*`, `?` or `[`, in the order of their names. */
static int load_matching_files(struct rule_list *list, const char *pattern, struct diag *diag)
{
    glob_t found;
    int err = 0, result = glob(pattern, 0, NULL, &found);

    if (result == GLOB_NOSPACE)
        return -ENOMEM;
    if (result)
        diag_warning(diag, (struct position){ .file = pattern }, "no rule file has such a name (rule-files)");
    for (size_t i = 0; !result && !err && i < found.gl_pathc; i++)
        err = load_file(list, found.gl_pathv[i], diag);
    globfree(&found);
    return err;
}

static int load_files(struct rule_list *list, const char *const *configured, const char *const *files, size_t count,
                      struct diag *diag)
{
    int err = 0;

    for (; *configured && !err; configured++) {
        if (setup_is_pattern(*configured))
            err = load_matching_files(list, *configured, diag);
        else
            err = load_file(list, *configured, diag);
    }
    for (size_t i = 0; i < count && !err; i++)
        err = load_file(list, files[i], diag);
    return err ? err : rule_list_finish(list, diag);
}

/* Loads the files of firewall rules, if these are enabled. */
static int load_firewall_files(struct rule_list *list, const struct config *config, struct diag *diag)
{
    struct firewall_rules_options options = { .enabled = false };
    char path[PATH_MAX];
    int err = 0;

    config_fill(config, firewall_rules_settings, NULL, &options);
    for (size_t i = 0; options.enabled && !err && setup_firewall_file(config, i, path); i++) {
        err = rule_list_load_firewall(list, path, diag);
        if (err != -ENOMEM)
            err = 0; /* the file is reported; what its rules would accept is dropped */
    }
    return err;
}

static int load_rule_list(struct rule_list **out, const struct rule_load_options *load, struct diag *diag)
{
    const struct config *config = load->config;
    const char *protocols[2 * APP_MAX_PROTOCOLS];
    struct rules_options rules = { .cache = false };
    struct firewall_settings firewall;
    struct rule_list *list = NULL;
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = NULL;
    int err = keywords ? setup_rule_variables(&variables, config) : -ENOMEM;

    config_fill(config, rules_settings, NULL, &rules);
    firewall_settings_read(config, &firewall);
    app_list_names(protocols, sizeof(protocols) / sizeof(protocols[0]));
    rules.list.applications = protocols;
    rules.list.hooks = &app_hook_names;
    rules.list.scripts.libraries = app_script_libraries;
    rules.list.keywords = keywords;
    rules.list.variables = variables;
    rules.list.names = load->names;
    rules.list.block_priority = firewall.block_priority;
    rules.list.block_classtypes = firewall.block_classtypes;
    rules.list.block_seconds = firewall.block_seconds;
    rules.list.owns_datasets = true;
    if (!err)
        err = setup_open_datasets(&rules.list.datasets, config, load->before, diag);
    if (!err) {
        err = rule_list_new(&list, &rules.list, diag);
        if (err)
            datasets_free(rules.list.datasets);
    }
    if (!err)
        err = load_firewall_files(list, config, diag);
    if (!err)
        err = load_files(list, rules.files, load->rule_files, load->rule_file_count, diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    if (err)
        rule_list_free(list);
    else
        *out = list;
    return err;
}

int setup_parse_rules(struct rule_list **out, const struct config *config, const char *const *rule_files, size_t count,
                      struct diag *diag)
{
    const struct rule_load_options load = { .config = config, .rule_files = rule_files, .rule_file_count = count };

    return load_rule_list(out, &load, diag);
}

static int compile(struct ruleset **out, struct rule_list *list, const struct rule_load_options *load,
                   struct diag *diag)
{
    const struct config *config = load->config;
    char error[ENGINE_ERROR_SIZE];
    struct ruleset_options options = { .generation = 1, .no_databases = load->no_databases };
    struct firewall_rules_options firewall = { .enabled = false };
    struct filter_policies policies = { .app = NULL };
    struct rules_options rules;
    int err;

    config_fill(config, rules_settings, NULL, &rules);
    if (load->before) {
        options.before = load->before;
        options.generation = ruleset_generation(load->before) + 1;
    }
    err = setup_action_order(config, options.action_order, error);
    if (err) {
        diag_error(diag, config_position(config, "action-order"), "%s", error);
        return err;
    }
    if (rules.cache) {
        options.cache_path = rules.cache_path;
        options.cache_max_age_seconds = rules.cache_max_age_seconds;
        options.cache_max_bytes = rules.cache_max_bytes;
    }
    config_fill(config, firewall_rules_settings, NULL, &firewall);
    if (firewall.enabled) {
        err = setup_firewall_policies(&policies, config, diag);
        options.firewall = &policies;
    }
    if (!err)
        err = ruleset_new(out, list, &options, diag);
    free(policies.app);
    return err;
}

int setup_compile_rules(struct ruleset **out, struct rule_list *list, const struct config *config, struct diag *diag)
{
    const struct rule_load_options load = { .config = config };

    return compile(out, list, &load, diag);
}

int setup_group_rules(struct ruleset **out, struct rule_list *list, const struct config *config, struct diag *diag)
{
    const struct rule_load_options load = { .config = config, .no_databases = true };

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

/* Writes what was not loaded: "3 rules with mistakes, 5 unsupported rules, 1 rule file that cannot be read". */
static void describe_left_out(const struct rule_list *list, char *out, size_t size)
{
    const struct {
        size_t count;
        const char *one, *more;
    } parts[] = {
        { rule_list_failed(list), "rule with mistakes", "rules with mistakes" },
        { rule_list_skipped(list) - rule_list_unmet(list), "unsupported rule", "unsupported rules" },
        { rule_list_unreadable_files(list), "rule file that cannot be read", "rule files that cannot be read" },
    };
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && used < size; i++) {
        if (parts[i].count > 0)
            used += (size_t)snprintf(out + used, size - used, "%s%zu %s", used > 0 ? ", " : "", parts[i].count,
                                     parts[i].count == 1 ? parts[i].one : parts[i].more);
    }
}

static int check_left_out(const struct rule_list *list, const struct rule_load_options *load,
                          char error[ENGINE_ERROR_SIZE])
{
    char left_out[ENGINE_ERROR_SIZE / 2];
    struct rules_options rules;

    describe_left_out(list, left_out, sizeof(left_out));
    if (!left_out[0])
        return 0;
    config_fill(load->config, rules_settings, NULL, &rules);
    if (rules.mistakes_are_fatal && !load->after_death)
        snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded: %s (engine.init-failure-fatal)", left_out);
    else if (load->needs_rules && rule_list_count(list) == 0)
        snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded: all of them are left out (%s)", left_out);
    else
        return 0;
    return -EINVAL;
}

int setup_load_ruleset(struct ruleset **out, const struct rule_load_options *load, struct diag *diag,
                       char error[ENGINE_ERROR_SIZE])
{
    struct rule_list *list;
    int err = load_rule_list(&list, load, diag);

    snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded: %s", strerror(-err));
    if (err)
        return err;
    err = check_left_out(list, load, error);
    if (!err) {
        err = compile(out, list, load, diag);
        snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be compiled: %s", strerror(-err));
    }
    if (err) {
        rule_list_free(list);
        return err;
    }
    log_policy(list);
    rule_list_page_out(list);
    return 0;
}

int setup_load_rules(struct ruleset **out, const struct rule_load_options *load, struct diag *diag)
{
    struct rule_list *list;
    int err = load_rule_list(&list, load, diag);

    if (err)
        return err;
    err = rule_list_unreadable_files(list) > 0 ? -ENOENT : setup_compile_rules(out, list, load->config, diag);
    if (err)
        rule_list_free(list);
    return err;
}

void setup_log_skipped_rules(const struct rule_list *rules)
{
    char left_out[ENGINE_ERROR_SIZE / 2];

    describe_left_out(rules, left_out, sizeof(left_out));
    if (!left_out[0])
        return;
    if (rule_list_count(rules) == 0)
        log_error("NO RULE IS LOADED, every packet is accepted; left out: %s (`sluice rules --failed` lists them)",
                  left_out);
    else
        log_warning("left out: %s (`sluice rules --failed` lists them)", left_out);
}

void setup_report_skipped_rules(const struct rule_list *rules, struct output *output)
{
    struct output_engine event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_ENGINE_RULES_LEFT_OUT,
        .rules_loaded = rule_list_count(rules),
        .rules_failed = rule_list_failed(rules),
        .rules_skipped = rule_list_skipped(rules),
        .rule_files_failed = rule_list_unreadable_files(rules),
    };

    /* As in Suricata, a rule for another version (`requires`) is counted, but no reason for an event. */
    if (event.rules_failed + event.rules_skipped - rule_list_unmet(rules) + event.rule_files_failed == 0)
        return;
    output_engine(output, &event);
    event.action = OUTPUT_ENGINE_RULE_LEFT_OUT;
    for (size_t i = 0; i < rule_list_failure_count(rules) && i < MAX_EVENTS; i++) {
        const struct rule_failure *failure = rule_list_failure(rules, i);

        if (failure->kind == RULE_FAILURE_UNMET)
            continue;
        event.kind = rule_failure_kind_name(failure->kind);
        event.line = failure->line;
        event.gid = failure->gid;
        event.sid = failure->sid;
        snprintf(event.path, sizeof(event.path), "%s", failure->file);
        snprintf(event.reason, sizeof(event.reason), "%s", failure->reason);
        output_engine(output, &event);
    }
}
