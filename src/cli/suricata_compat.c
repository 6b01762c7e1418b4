/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice suricata-compat`: answers the command lines with which tools call the program `suricata`. The program is
 * installed under the name sluice-suricata-compat, too, because suricata-update (--suricata) and scripts name one
 * program without arguments; cli_main() runs this command for that name.
 *
 *     -V                           "This is Suricata version 8.0.7 ..."
 *     --build-info                 version, features and folders
 *     -c FILE --dump-config        the configuration as lines NAME = VALUE
 *     -T [-c FILE] [-S FILE] ...   tests configuration and rules, as `sluice check` does
 *
 * A test succeeds although single rules have mistakes or are not supported: Sluice leaves them out, and they must not
 * prevent the update of all other rules.
 */
#include "cli_priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "rule_test.h"
#include "sluice/daemon.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/setup.h"

enum {
    OPTION_VERSION = CLI_OPTION_OWN,
    OPTION_BUILD_INFO,
    OPTION_DUMP,
    OPTION_TEST,
    OPTION_ONLY,
    OPTION_FATAL,
    OPTION_IGNORED,
};

enum { MAX_DIAGNOSTICS = 100 };

struct arguments {
    struct cli_input input;
    int action; /* OPTION_VERSION, OPTION_BUILD_INFO, OPTION_DUMP or OPTION_TEST; 0: none */
    bool only, fatal;
};

static const struct cli_option options[] = {
    { .id = OPTION_VERSION,
      .letter = 'V',
      .name = "version",
      .help = "print the version of Suricata that it stands for" },
    { .id = OPTION_BUILD_INFO, .name = "build-info", .help = "print version, features and folders" },
    { .id = OPTION_DUMP, .name = "dump-config", .help = "print the configuration as lines NAME = VALUE" },
    { .id = OPTION_TEST, .letter = 'T', .name = "test", .help = "test the configuration and the rules" },
    CLI_ROW_CONFIG,
    { .id = OPTION_ONLY,
      .letter = 'S',
      .name = "only-rules",
      .argument = "FILE",
      .help = "test the rules of this file only, not those of rule-files; may be given again" },
    { .id = CLI_OPTION_RULES,
      .letter = 's',
      .name = "rules",
      .argument = "FILE",
      .help = "test the rules of this file, too; may be given again" },
    { .id = CLI_OPTION_SET, .name = "set", .argument = "NAME=VALUE", .help = "override a setting" },
    { .id = OPTION_FATAL, .name = "init-errors-fatal", .help = "fail the test if a rule has a mistake" },
    { .id = OPTION_IGNORED,
      .letter = 'l',
      .name = "log-dir",
      .argument = "DIR",
      .help = "ignored: a test writes no log" },
    { .id = OPTION_IGNORED, .letter = 'v', .name = "verbose", .help = "ignored" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_ONLY:
        arguments->only = true;
        arguments->input.rules.at[arguments->input.rules.count++] = value;
        break;
    case OPTION_FATAL:
        arguments->fatal = true;
        break;
    case OPTION_IGNORED:
        break;
    case OPTION_VERSION:
    case OPTION_BUILD_INFO:
    case OPTION_DUMP:
    case OPTION_TEST:
        if (arguments->action && arguments->action != option->id) {
            cli_error(&command_suricata_compat, "only one of -V, --build-info, --dump-config and -T can be given");
            return EXIT_USAGE;
        }
        arguments->action = option->id;
        break;
    default:
        return cli_input_handle_option(&arguments->input, option, value);
    }
    return 0;
}

static int print_build_info(void)
{
    /* features that suricata-update and rule sets query; Sluice has the feature if it has the keyword */
    static const struct {
        const char *feature, *keyword;
    } features[] = {
        { "HAVE_LUA", "lua" },
        { "HAVE_NSS", "ja3.hash" },
        { "HAVE_JA3", "ja3.hash" },
        { "HAVE_JA4", "ja4.hash" },
    };
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);

    if (!keywords) {
        cli_error(&command_suricata_compat, "out of memory");
        return EXIT_FAILED;
    }
    puts("This is Suricata version " RULE_SURICATA_VERSION " (Sluice " SLUICE_VERSION ")");
    fputs("Features: NFQ LIBCAP_NG PCRE_JIT MAGIC", stdout);
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
        if (keyword_table_find(keywords, span_of(features[i].keyword)))
            printf(" %s", features[i].feature);
    puts("\n\nGeneric build parameters:\n"
         "  --prefix                                 " SLUICE_PREFIX "\n"
         "  --sysconfdir                             " SLUICE_SYSCONFDIR_PARENT "\n"
         "  --localstatedir                          /var\n"
         "  --datarootdir                            " SLUICE_DATADIR);
    keyword_table_free(keywords);
    return EXIT_OK;
}

static int dump_config(const struct arguments *arguments)
{
    struct config *config;
    struct text out;
    int code =
        cli_load_sound_config(&arguments->input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG,
                              "correct them, or name another file with -c (suricata-update: --suricata-conf)", &config);

    if (code)
        return code;
    text_init(&out);
    config_print_flat(config, &out);
    config_free(config);
    return cli_write(&out);
}

static int test(const struct arguments *arguments)
{
    const struct cli_strings *files = &arguments->input.rules;
    static const char no_files[] = "rule-files: []";
    struct rule_test result;
    struct config *config;
    struct diag *diag;
    size_t shown = 0;
    int code, err;

    if (!cli_files_readable(&command_suricata_compat, files->at, files->count))
        return EXIT_FAILED;
    code =
        cli_load_sound_config(&arguments->input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG,
                              "correct them, or name another file with -c (suricata-update: --suricata-conf)", &config);
    if (code)
        return code;
    diag = diag_new();
    err = diag ? 0 : -ENOMEM;
    if (!err && arguments->only)
        err = config_parse(config, "-S", no_files, strlen(no_files), CONFIG_STRICT, diag);
    if (!err)
        err = rule_test_run(&result, config, files->at, files->count, true, diag);
    for (size_t i = 0; diag && i < diag_count(diag); i++) {
        const struct diag_entry *entry = diag_get(diag, i);

        if (entry->severity == DIAG_ERROR && shown++ < MAX_DIAGNOSTICS)
            diag_print_entry(entry, stderr, isatty(STDERR_FILENO));
    }
    if (shown > MAX_DIAGNOSTICS)
        fprintf(stderr, "... and %zu more mistakes (`sluice check --rules FILE` shows all)\n", shown - MAX_DIAGNOSTICS);
    if (err) {
        cli_error(&command_suricata_compat, "the rules could not be loaded: %s",
                  err == -ENOMEM ? "out of memory" : "see the errors above");
        code = EXIT_FAILED;
    } else {
        bool none = result.loaded == 0 && (result.read > 0 || diag_errors(diag) > 0);

        fprintf(stderr, "%zu rules loaded, %zu failed, %zu skipped\n", result.loaded, result.failed, result.skipped);
        if (none)
            cli_error(&command_suricata_compat, "none of the %zu rules can be loaded", result.read);
        else if (arguments->fatal && result.failed > 0)
            cli_error(&command_suricata_compat, "%zu rules have mistakes (--init-errors-fatal)", result.failed);
        else
            fputs("Configuration provided was successfully loaded. Exiting.\n", stderr);
        code = none || (arguments->fatal && result.failed > 0) ? EXIT_FAILED : EXIT_OK;
        rule_test_clear(&result);
    }
    config_free(config);
    diag_free(diag);
    return code;
}

static int run_suricata_compat(int argc, char **argv)
{
    struct arguments arguments = { .action = 0 };
    int code;

    if (cli_input_init(&arguments.input, &command_suricata_compat, argc))
        return EXIT_FAILED;
    arguments.input.skip_consistency_check = true;
    code = cli_parse_without_arguments(&command_suricata_compat, argc, argv, handle_option, &arguments,
                                       &arguments.input.settings);
    if (code < 0) {
        switch (arguments.action) {
        case OPTION_VERSION:
            puts("This is Suricata version " RULE_SURICATA_VERSION " (Sluice " SLUICE_VERSION ")");
            code = EXIT_OK;
            break;
        case OPTION_BUILD_INFO:
            code = print_build_info();
            break;
        case OPTION_DUMP:
            code = dump_config(&arguments);
            break;
        case OPTION_TEST:
            code = test(&arguments);
            break;
        default:
            cli_error(&command_suricata_compat, "one of -V, --build-info, --dump-config and -T is needed; to inspect "
                                                "packets use `sluice run` or `sluice replay`");
            code = EXIT_USAGE;
        }
    }
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_suricata_compat = {
    .name = "suricata-compat",
    .usage = "-V | --build-info | --dump-config | -T [OPTION]...",
    .summary = "Answer the command lines of tools that call suricata",
    .help = "Tools that manage rules call the program suricata to learn its version and to test rules. This command "
            "answers them\n"
            "for Sluice; it is installed as sluice-suricata-compat, too. For suricata-update:\n"
            "    suricata-update --suricata=$(command -v sluice-suricata-compat)\n"
            "-T succeeds if the configuration has no mistake and at least one rule can be loaded. Rules with mistakes "
            "are printed\n"
            "with file and line; like unsupported rules, they are left out by the daemon and do not fail the test "
            "(except with\n"
            "--init-errors-fatal).",
    .options = options,
    .run = run_suricata_compat,
};
