/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that commands share: the configuration and the rule files that the command line names, and output. */
#ifndef SLUICE_CLI_PRIV_H
#define SLUICE_CLI_PRIV_H

#include <stdio.h>

#include "sluice/cli.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/text.h"

/* Strings of argv, which are not owned; cli_input_init() reserves room for all of argv. */
struct cli_strings {
    const char **at;
    size_t count;
};

/* "key=value", and the option that set it, for messages. */
struct cli_setting {
    char *assignment;
    const struct cli_option *option;
};

struct cli_settings {
    struct cli_setting *at;
    size_t count;
};

/* The input of run, replay, check, and of commands that read the configuration. */
struct cli_input {
    const struct command *command;
    const char *config_file; /* NULL: the default file */
    struct cli_strings rules;
    struct cli_settings settings;
    bool skip_consistency_check; /* do not check that settings fit together: the command returns no verdicts */
};

/* Option rows of commands that have a struct cli_input. A command's own ids begin with CLI_OPTION_OWN. */
enum { CLI_OPTION_CONFIG = 1, CLI_OPTION_RULES, CLI_OPTION_SET, CLI_OPTION_OWN };

#define CLI_ROW_CONFIG                                                                                                 \
    {                                                                                                                  \
        .id = CLI_OPTION_CONFIG, .letter = 'c', .name = "config", .argument = "FILE",                                  \
        .help = "read this configuration file (default: " CLI_DEFAULT_CONFIG " if it exists)"                          \
    }
#define CLI_ROW_RULES                                                                                                  \
    {                                                                                                                  \
        .id = CLI_OPTION_RULES, .letter = 'r', .name = "rules", .argument = "FILE",                                    \
        .help = "load this rule file in addition to rule-files; may be given again"                                    \
    }
#define CLI_ROW_SET                                                                                                    \
    {                                                                                                                  \
        .id = CLI_OPTION_SET, .letter = 's', .name = "set", .argument = "NAME=VALUE",                                  \
        .help = "override a setting of the configuration; may be given again"                                          \
    }

/* Handles the option rows above; a command's handler passes on options that are not its own. 0 or an exit code. */
int cli_input_handle_option(struct cli_input *input, const struct cli_option *option, const char *value);

/* 0, or -ENOMEM after a message. Free with cli_input_clear(). */
int cli_input_init(struct cli_input *input, const struct command *command, int argc);
void cli_input_clear(struct cli_input *input);

/* Adds "key=value"; if `key` is NULL, `value` is the whole assignment. 0 or -ENOMEM. */
int cli_settings_add(struct cli_settings *settings, const struct cli_option *option, const char *key,
                     const char *value);

/* The configuration file without --config. */
#define CLI_DEFAULT_CONFIG SLUICE_SYSCONFDIR "/sluice.yaml"

/*
 * Loads the configuration: the defaults, then the file, then the settings of the command line; then checks that
 * settings fit together. Returns 0 with *out, which config_free() frees, or an exit code. Mistakes in the file are
 * added to `diag` and are no failure; mistakes of the command line are printed.
 */
int cli_load_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                    struct config **out, struct diag *diag);

/* The same, but prints all mistakes, and fails if the file has one: "the configuration has mistakes: CONSEQUENCE". */
int cli_load_sound_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                          const char *consequence, struct config **out);

/* Prints all errors and the first 5 warnings to stderr; `sluice check` prints all warnings. */
void cli_print_brief(const struct diag *diag);

/* Whether all files can be read; prints a line for each that cannot. */
bool cli_files_readable(const struct command *command, const char *const *files, size_t count);

/* The actions of a command, in the order of an enum. */
struct cli_actions {
    const char *const *names;
    size_t count;
};
/* EXIT_OK with *found, the index of `name`; EXIT_USAGE after a message. `name` is NULL without an argument. */
int cli_find_action(const struct command *command, const struct cli_actions *actions, const char *name, size_t *found);

/* Writes a text to stdout, adds a missing line feed, and frees the text. An exit code. */
int cli_write(struct text *text);

#endif
