/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of run, replay, check, and of commands that read the configuration: a configuration file, settings that
 * override it, and rule files. */
#include "cli_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/setup.h"

enum { MAX_WARNINGS = 5 };

int cli_input_init(struct cli_input *input, const struct command *command, int argc)
{
    size_t room = (size_t)argc + 1;

    *input = (struct cli_input){ .command = command };
    input->rules.at = calloc(room, sizeof(*input->rules.at));
    input->settings.at = calloc(room, sizeof(*input->settings.at));
    if (input->rules.at && input->settings.at)
        return 0;
    cli_input_clear(input);
    cli_error(command, "out of memory");
    return -ENOMEM;
}

void cli_input_clear(struct cli_input *input)
{
    for (size_t i = 0; input->settings.at && i < input->settings.count; i++)
        free(input->settings.at[i].assignment);
    free(input->settings.at);
    free(input->rules.at);
    *input = (struct cli_input){ .command = NULL };
}

int cli_settings_add(struct cli_settings *settings, const struct cli_option *option, const char *key, const char *value)
{
    char *assignment;

    if (asprintf(&assignment, "%s%s%s", key ? key : "", key ? "=" : "", value) < 0)
        return -ENOMEM;
    settings->at[settings->count++] = (struct cli_setting){ assignment, option };
    return 0;
}

int cli_input_handle_option(struct cli_input *input, const struct cli_option *option, const char *value)
{
    if (option->id == CLI_OPTION_SET)
        return cli_settings_add(&input->settings, option, NULL, value) ? EXIT_FAILED : 0;
    if (option->id == CLI_OPTION_RULES)
        input->rules.at[input->rules.count++] = value;
    else
        input->config_file = value;
    return 0;
}

/* --- Configuration -------------------------------------------------------------------------------- */

static int apply_settings(const struct cli_input *input, struct config *config)
{
    int code = 0;

    for (size_t i = 0; i < input->settings.count; i++) {
        const struct cli_setting *setting = &input->settings.at[i];
        struct diag *diag = diag_new();
        int err = diag ? config_set(config, setting->assignment, diag) : -ENOMEM;

        for (size_t k = 0; diag && k < diag_count(diag); k++)
            cli_error(input->command, "option '--%s': %s", setting->option->name, diag_get(diag, k)->message);
        diag_free(diag);
        if (err == -ENOMEM)
            cli_error(input->command, "out of memory");
        if (err)
            code = EXIT_USAGE;
    }
    return code;
}

/* Unless queue.verdict is set, sets it to repeat or route if nft.attach is repeat or route: these attach modes need the
 * verdict of the same name. */
static void derive_verdict(struct config *config, struct diag *diag)
{
    struct firewall_settings firewall;

    if (config_is_set(config, "queue.verdict"))
        return;
    firewall_settings_read(config, &firewall);
    if (firewall.options.mode == ATTACH_REPEAT)
        config_set(config, "queue.verdict=repeat", diag);
    else if (firewall.options.mode == ATTACH_ROUTE)
        config_set(config, "queue.verdict=route", diag);
}

int cli_load_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                    struct config **out, struct diag *diag)
{
    const char *file = input->config_file;
    struct config *config;
    int code;

    if (!file && default_file && access(default_file, F_OK) == 0)
        file = default_file;
    if (daemon_new_config(&config)) {
        cli_error(input->command, "out of memory");
        return EXIT_FAILED;
    }
    if (file && config_load(config, file, strictness, diag) == -ENOMEM) {
        cli_error(input->command, "out of memory");
        code = EXIT_FAILED;
        goto free_config;
    }
    code = apply_settings(input, config);
    if (code)
        goto free_config;
    if (!input->skip_consistency_check) {
        derive_verdict(config, diag);
        setup_check_conflicts(config, diag);
    }
    *out = config;
    return 0;

free_config:
    config_free(config);
    return code;
}

void cli_print_brief(const struct diag *diag)
{
    size_t warnings = 0;

    for (size_t i = 0; i < diag_count(diag); i++) {
        const struct diag_entry *entry = diag_get(diag, i);

        if (entry->severity == DIAG_ERROR || warnings++ < MAX_WARNINGS)
            diag_print_entry(entry, stderr, isatty(STDERR_FILENO));
    }
    if (warnings > MAX_WARNINGS)
        fprintf(stderr, "... and %zu more warnings (`sluice check` prints all)\n", warnings - MAX_WARNINGS);
}

int cli_load_sound_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                          const char *consequence, struct config **out)
{
    struct diag *diag = diag_new();
    struct config *config = NULL;
    int code = diag ? cli_load_config(input, strictness, default_file, &config, diag) : EXIT_FAILED;

    if (diag)
        cli_print_brief(diag);
    if (!code && diag_errors(diag) > 0) {
        /* If the only mistake is an error about the whole file (line 0), such as a missing file, it has been printed
         * and needs no summary. */
        if (diag_count(diag) != 1 || diag_get(diag, 0)->line != 0)
            cli_error(input->command, "the configuration has mistakes: %s", consequence);
        config_free(config);
        code = EXIT_FAILED;
    }
    if (!code)
        *out = config;
    diag_free(diag);
    return code;
}

/* --- Files ---------------------------------------------------------------------------------------- */

bool cli_files_readable(const struct command *command, const char *const *files, size_t count)
{
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        struct stat st;
        int err = stat(files[i], &st) || access(files[i], R_OK) ? errno : S_ISDIR(st.st_mode) ? EISDIR : 0;

        if (err)
            cli_error(command, "cannot read '%s': %s", files[i], strerror(err));
        good = good && !err;
    }
    return good;
}

int cli_write(struct text *text)
{
    bool failed = text->failed || !text->bytes || fwrite(text->bytes, 1, text->length, stdout) != text->length;

    if (!failed && text->bytes[text->length - 1] != '\n')
        putchar('\n');
    text_clear(text);
    return failed ? EXIT_FAILED : EXIT_OK;
}
