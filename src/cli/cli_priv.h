/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What commands share: the configuration and the rules that the command line names. */
#ifndef SLUICE_CLI_PRIV_H
#define SLUICE_CLI_PRIV_H

#include <stdio.h>

#include "sluice/cli.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/text.h"

/* Strings of argv; room for as many as there are arguments. */
struct cli_strings {
    const char **at;
    size_t count;
};

/* "key=value" with the option that it came from. */
struct cli_setting {
    char *assignment;
    const struct cli_option *option;
};

struct cli_settings {
    struct cli_setting *at;
    size_t count;
};

/* What run, replay and check have in common. */
struct cli_input {
    const struct command *command;
    const char *config_file; /* NULL: not named */
    struct cli_strings rules;
    struct cli_settings settings;
    bool no_contradictions; /* those between settings are not looked for: they are about verdicts */
};

/* Rows for the option tables of commands that have a struct cli_input, and who takes them: the last resort of
 * take_option(). A command's own ids begin with CLI_OPTION_OWN. */
enum { CLI_OPTION_CONFIG = 1, CLI_OPTION_RULES, CLI_OPTION_SET, CLI_OPTION_OWN };

#define CLI_ROW_CONFIG                                                                                                 \
    {                                                                                                                  \
        .id = CLI_OPTION_CONFIG, .letter = 'c', .name = "config", .argument = "FILE",                                  \
        .help = "configuration file (default: " CLI_DEFAULT_CONFIG " if it exists)"                                    \
    }
#define CLI_ROW_RULES                                                                                                  \
    {                                                                                                                  \
        .id = CLI_OPTION_RULES, .letter = 'r', .name = "rules", .argument = "FILE",                                    \
        .help = "additional rule file; may be given again"                                                             \
    }
#define CLI_ROW_SET                                                                                                    \
    {                                                                                                                  \
        .id = CLI_OPTION_SET, .letter = 's', .name = "set", .argument = "NAME=VALUE",                                  \
        .help = "override a setting of the configuration; may be given again"                                          \
    }

/* 0 or an exit code. */
int cli_input_take(struct cli_input *input, const struct cli_option *option, const char *value);

/* 0 or -ENOMEM; room for `argc` of everything. */
int cli_input_init(struct cli_input *input, const struct command *command, int argc);
void cli_input_clear(struct cli_input *input);

/* One more "key=value". 0 or -ENOMEM. */
int cli_settings_add(struct cli_settings *settings, const struct cli_option *option, const char *key,
                     const char *value);

/* Where `run` and `check` look for the configuration when none is named. */
#define CLI_DEFAULT_CONFIG SLUICE_SYSCONFDIR "/sluice.yaml"

/*
 * The configuration: the tables' defaults, the file, then the settings of the command line; contradictions are
 * reported. Returns 0 with *out, or an exit code. Mistakes in the file are in `diag` and are not a failure here;
 * mistakes of the command line are printed.
 */
int cli_load_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                    struct config **out, struct diag *diag);

/* The same, and mistakes are printed; those in the file are a failure: "the configuration has mistakes: CONSEQUENCE".
 */
int cli_load_sound_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                          const char *consequence, struct config **out);

/* Mistakes on stderr, all errors but only a few of the warnings; `sluice check` prints all. */
void cli_print_brief(const struct diag *diag);

/* Whether all files can be read; prints a line for each that can't. */
bool cli_files_readable(const struct command *command, const char *const *files, size_t count);

/* What a command can do, by the names of its first argument. */
struct cli_actions {
    const char *const *names;
    size_t count;
};
/* EXIT_OK with *found, an index in the names; EXIT_USAGE after a message. `name`: NULL when there was no argument. */
int cli_find_action(const struct command *command, const struct cli_actions *actions, const char *name, size_t *found);

/* Writes a text to stdout with a line feed and frees it. An exit code. */
int cli_write(struct text *text);

#endif
