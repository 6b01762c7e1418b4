/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice check`: checks the configuration and all rules, and prints all diagnostics and a summary.
 *
 * Diagnostics go to stderr; the summary, the configuration or JSON goes to stdout. The engine leaves out rules with
 * mistakes and unsupported rules and loads the others, so the summary counts what would be loaded. Mistakes and
 * unsupported rules have different exit codes, because the author of an unsupported rule cannot correct it.
 */
#include "cli_priv.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "sluice/block_lists.h"
#include "sluice/clock.h"
#include "sluice/detect.h"
#include "sluice/daemon.h"
#include "sluice/geoip.h"
#include "sluice/load_progress.h"
#include "sluice/setup.h"

enum {
    OPTION_STRICT = CLI_OPTION_OWN,
    OPTION_MAX,
    OPTION_COMPILE,
    OPTION_NO_COMPILE,
    OPTION_PRINT,
    OPTION_QUIET,
    OPTION_JSON
};

enum { EXIT_UNSUPPORTED = 3 };

enum compile_when { COMPILE_WHEN_CLEAN, COMPILE_ALWAYS, COMPILE_NEVER };

struct arguments {
    struct cli_input input;
    enum compile_when compile;
    unsigned long max_diagnostics;
    bool strict, quiet, print_config, json;
};

/* The results of the check. */
struct result {
    struct diag *diag;
    struct config *config;
    struct rule_list *rules; /* NULL if compile() has consumed the list */
    size_t files, loaded, failed, skipped, unmet;
    struct rule_policy_counts policy_counts;
    struct text policy; /* policy_counts as text */
    double parse_seconds, compile_seconds;
    struct ruleset_databases databases;
    struct text acknowledgment_rules; /* JSON: elements of an array */
    bool compiled;
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    CLI_ROW_RULES,
    CLI_ROW_SET,
    { .id = OPTION_STRICT, .name = "strict", .help = "exit with 1 for warnings and unsupported rules, too" },
    { .id = OPTION_MAX,
      .name = "max-diagnostics",
      .argument = "N",
      .help = "print at most N diagnostics (0 to 100000; default 100); the summary counts all" },
    { .id = OPTION_COMPILE,
      .name = "compile",
      .group = "compile",
      .help = "compile the rules that were loaded, even if others have mistakes" },
    { .id = OPTION_NO_COMPILE,
      .name = "no-compile",
      .group = "compile",
      .help = "do not compile the rules; by default they are compiled if there is no mistake" },
    { .id = OPTION_PRINT, .name = "print-config", .help = "print the effective configuration as YAML" },
    { .id = OPTION_QUIET, .name = "quiet", .help = "print the diagnostics only, no summary" },
    { .id = OPTION_JSON, .name = "json", .help = "print the result as JSON" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_MAX:
        return cli_number(&command_check, option, value, 0, DIAG_MAX_ENTRIES, &arguments->max_diagnostics);
    case OPTION_STRICT:
        arguments->strict = true;
        break;
    case OPTION_COMPILE:
    case OPTION_NO_COMPILE:
        arguments->compile = option->id == OPTION_COMPILE ? COMPILE_ALWAYS : COMPILE_NEVER;
        break;
    case OPTION_QUIET:
        arguments->quiet = true;
        break;
    case OPTION_PRINT:
        arguments->print_config = true;
        break;
    case OPTION_JSON:
        arguments->json = true;
        break;
    default:
        return cli_input_handle_option(&arguments->input, option, value);
    }
    return 0;
}

/* --- Diagnostics ---------------------------------------------------------------------------------- */

static void print_diagnostics(const struct diag *diag, size_t max)
{
    size_t count = diag_count(diag), shown = count < max ? count : max;
    size_t all = diag_errors(diag) + diag_unsupported(diag) + diag_warnings(diag);

    for (size_t i = 0; i < shown; i++)
        diag_print_entry(diag_get(diag, i), stderr, isatty(STDERR_FILENO));
    if (shown < count || all > count)
        fprintf(stderr, "... and %zu more (--max-diagnostics N shows them)\n", (all > count ? all : count) - shown);
}

/* --- Summary -------------------------------------------------------------------------------------- */

static void print_tag(const char *tag, size_t count, void *user)
{
    fprintf(user, "%8zu  %s\n", count, tag);
}

static void count_tag(const char *tag, size_t count, void *user)
{
    size_t *tags = user;

    (void)tag;
    (void)count;
    (*tags)++;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

static void print_tags(const struct diag *diag, enum diag_severity severity, const char *title, FILE *to)
{
    size_t tags = 0;

    diag_each_tag(diag, severity, count_tag, &tags);
    if (tags > 0)
        fprintf(to, "%s:\n", title);
    diag_each_tag(diag, severity, print_tag, to);
}

static void print_summary(const struct result *result, FILE *to)
{
    size_t errors = diag_errors(result->diag), warnings = diag_warnings(result->diag);

    print_tags(result->diag, DIAG_UNSUPPORTED, "unsupported features", to);
    print_tags(result->diag, DIAG_ERROR, "unknown keywords", to);
    fprintf(to, "%zu error%s, %zu unsupported, %zu warning%s\n", errors, plural(errors), diag_unsupported(result->diag),
            warnings, plural(warnings));
    fprintf(to, "%zu rule%s loaded, %zu failed, %zu skipped, from %zu file%s in %.2f s\n", result->loaded,
            plural(result->loaded), result->failed, result->skipped, result->files, plural(result->files),
            result->parse_seconds);
    if (result->unmet > 0)
        fprintf(to, "%zu of the skipped rules %s for other versions (requires)\n", result->unmet,
                result->unmet == 1 ? "is" : "are");
    if (result->policy.length > 0)
        fprintf(to, "rule policy: %s\n", result->policy.bytes);
    if (!result->compiled)
        return;
    fprintf(to, "compiled in %.2f s", result->compile_seconds);
    if (result->databases.cached > 0)
        fprintf(to, ", %u of %u databases from the cache", result->databases.cached, result->databases.count);
    fputc('\n', to);
}

static void json_tag(const char *tag, size_t count, void *user)
{
    struct text *out = user;

    json_object_open(out, NULL);
    json_string(out, "keyword", tag);
    json_uint(out, "count", count);
    json_object_close(out);
}

static int print_json(const struct arguments *arguments, const struct result *result)
{
    size_t count = diag_count(result->diag);
    const struct rule_policy_counts *policy = &result->policy_counts;
    struct text out, yaml;

    text_init(&out);
    json_object_open(&out, NULL);
    json_uint(&out, "errors", diag_errors(result->diag));
    json_uint(&out, "unsupported_features", diag_unsupported(result->diag));
    json_uint(&out, "warnings", diag_warnings(result->diag));
    json_uint(&out, "rules_loaded", result->loaded);
    json_uint(&out, "rules_failed", result->failed);
    json_uint(&out, "rules_skipped", result->skipped);
    json_uint(&out, "rules_unmet", result->unmet);
    json_uint(&out, "rule_files", result->files);
    json_object_open(&out, "policy");
    json_uint(&out, "enabled", policy->enabled);
    json_uint(&out, "disabled", policy->disabled);
    for (enum rule_action action = 0; action < ACTION_COUNT; action++)
        json_uint(&out, rule_action_name(action), policy->actions[action]);
    json_uint(&out, "alert_only", policy->alert_only);
    json_uint(&out, "modified", policy->modified);
    json_object_close(&out);
    json_double(&out, "parse_seconds", result->parse_seconds);
    if (result->compiled) {
        json_double(&out, "compile_seconds", result->compile_seconds);
        json_uint(&out, "databases", result->databases.count);
        json_uint(&out, "databases_cached", result->databases.cached);
        json_array_open(&out, "acknowledgment_rules");
        if (result->acknowledgment_rules.length > 0) {
            text_append(&out, result->acknowledgment_rules.bytes, result->acknowledgment_rules.length);
            out.need_comma = true;
        }
        out.failed |= result->acknowledgment_rules.failed;
        json_array_close(&out);
    }
    json_array_open(&out, "unsupported");
    diag_each_tag(result->diag, DIAG_UNSUPPORTED, json_tag, &out);
    json_array_close(&out);
    json_array_open(&out, "unknown_keywords");
    diag_each_tag(result->diag, DIAG_ERROR, json_tag, &out);
    json_array_close(&out);
    json_array_open(&out, "diagnostics");
    for (size_t i = 0; i < count && i < arguments->max_diagnostics; i++) {
        const struct diag_entry *entry = diag_get(result->diag, i);

        json_object_open(&out, NULL);
        json_string(&out, "severity", diag_severity_name(entry->severity));
        json_string(&out, "file", entry->file);
        if (entry->line > 0) {
            json_uint(&out, "line", entry->line);
            json_uint(&out, "column", entry->column);
        }
        json_string(&out, "message", entry->message);
        json_string(&out, "keyword", entry->tag);
        json_object_close(&out);
    }
    json_array_close(&out);
    if (arguments->print_config) {
        text_init(&yaml);
        config_print(result->config, &yaml);
        json_string(&out, "configuration", yaml.failed ? NULL : yaml.bytes);
        text_clear(&yaml);
    }
    json_object_close(&out);
    return cli_write(&out);
}

static int print_result(const struct arguments *arguments, const struct result *result)
{
    struct text yaml;

    if (arguments->json)
        return print_json(arguments, result);
    print_diagnostics(result->diag, arguments->max_diagnostics);
    if (!arguments->quiet)
        print_summary(result, arguments->print_config ? stderr : stdout);
    if (!arguments->print_config)
        return EXIT_OK;
    text_init(&yaml);
    config_print(result->config, &yaml);
    return cli_write(&yaml);
}

/* --- The check ------------------------------------------------------------------------------------ */

static double seconds_since(uint64_t start_ns)
{
    return (double)(clock_monotonic_ns() - start_ns) / (double)NS_PER_SECOND;
}

static int load_rules(const struct arguments *arguments, struct result *result)
{
    uint64_t start = clock_monotonic_ns();
    const struct cli_strings *files = &arguments->input.rules;
    int err = setup_parse_rules(&result->rules, result->config, files->at, files->count, result->diag);

    if (err) {
        cli_error(&command_check, "cannot load the rules: %s", strerror(-err));
        return EXIT_FAILED;
    }
    result->parse_seconds = seconds_since(start);
    result->files = rule_list_files(result->rules);
    result->loaded = rule_list_count(result->rules);
    result->failed = rule_list_failed(result->rules);
    result->skipped = rule_list_skipped(result->rules);
    result->unmet = rule_list_unmet(result->rules);
    result->policy_counts = *rule_list_policy_counts(result->rules);
    rule_policy_counts_print(&result->policy_counts, &result->policy);
    return 0;
}

static void check_sensor(struct result *result)
{
    char error[ENGINE_ERROR_SIZE];

    if (setup_is_sensor(result->config) && cli_check_rings(result->config, error))
        diag_error(result->diag, config_position(result->config, "capture.method"), "%s", error);
}

/* Checks the files that no rule needs, and which the daemon reads after its start. */
static void check_other_files(const struct result *result)
{
    struct block_lists_options lists;
    struct geoip *geoip = NULL;
    char folder[PATH_MAX], error[512] = "";

    setup_block_lists(&lists, result->config, folder);
    for (const char *const *file = lists.files; file && *file; file++) {
        struct block_entries entries = { .count = 0 };

        block_file_read(&entries, *file, result->diag);
        block_entries_clear(&entries);
    }
    if (lists.geoip_database && geoip_open(&geoip, lists.geoip_database, error, sizeof(error)))
        diag_error(result->diag, config_position(result->config, "geoip-database"), "%s", error);
    geoip_close(geoip);
}

/* Compiles result->rules, depending on arguments->compile, and reports mistakes that only the compilation finds. On
 * success it has consumed the list, and result->rules is NULL. */
static void compile(const struct arguments *arguments, struct result *result)
{
    struct ruleset *ruleset;
    uint64_t start = clock_monotonic_ns();

    if (arguments->compile == COMPILE_NEVER || result->loaded == 0)
        return;
    if (arguments->compile == COMPILE_WHEN_CLEAN && diag_errors(result->diag) > 0)
        return;
    confinement_create_cache_folder(result->config);
    if (setup_compile_rules(&ruleset, result->rules, result->config, result->diag)) {
        if (diag_errors(result->diag) == 0)
            diag_error(result->diag, (struct position){ .line = 0 }, "the rules cannot be compiled");
        return;
    }
    result->rules = NULL;
    result->compile_seconds = seconds_since(start);
    result->compiled = true;
    result->databases = ruleset_databases(ruleset);
    for (size_t i = 0; i < ruleset_acknowledgment_count(ruleset); i++) {
        const struct rule *rule = ruleset_acknowledgment_rule(ruleset, i);

        json_object_open(&result->acknowledgment_rules, NULL);
        json_uint(&result->acknowledgment_rules, "gid", rule->gid);
        json_uint(&result->acknowledgment_rules, "sid", rule->sid);
        json_object_close(&result->acknowledgment_rules);
    }
    ruleset_free(ruleset);
}

static int check_configuration(const struct arguments *arguments)
{
    struct result result = { .diag = diag_new() };
    struct load_progress progress;
    int code;

    if (!result.diag)
        return EXIT_FAILED;
    code = cli_load_config(&arguments->input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, &result.config, result.diag);
    if (code)
        goto free_diag;
    load_progress_start(&progress, result.diag);
    code = load_rules(arguments, &result);
    if (!code) {
        check_other_files(&result);
        check_sensor(&result);
        compile(arguments, &result);
    }
    load_progress_stop(&progress);
    if (code)
        goto free_config;
    code = print_result(arguments, &result);
    if (!code && (diag_errors(result.diag) > 0 ||
                  (arguments->strict && diag_unsupported(result.diag) + diag_warnings(result.diag) > 0)))
        code = EXIT_FAILED;
    else if (!code && diag_unsupported(result.diag) > 0)
        code = EXIT_UNSUPPORTED;
    rule_list_free(result.rules);
    text_clear(&result.policy);
    text_clear(&result.acknowledgment_rules);

free_config:
    config_free(result.config);
free_diag:
    diag_free(result.diag);
    return code;
}

static int run_check(int argc, char **argv)
{
    struct arguments arguments = { .max_diagnostics = 100 };
    int first, code;

    if (cli_input_init(&arguments.input, &command_check, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_check, argc, argv, handle_option, &arguments, &arguments.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_check, "unexpected argument '%s'; rules are given by --rules FILE", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = check_configuration(&arguments);
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_check = {
    .name = "check",
    .usage = "[OPTION]...",
    .summary = "Check the configuration and the rules; print every mistake with its place",
    .help = "`sluice run` leaves out rules with mistakes and unsupported rules, loads the others and starts; only "
            "mistakes\n"
            "in the configuration stop it.",
    .options = options,
    .run = run_check,
};
