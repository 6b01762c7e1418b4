/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that commands share: loading the configuration and rule files that the command line names, and output. */
#ifndef SLUICE_CLI_PRIV_H
#define SLUICE_CLI_PRIV_H

#include <stdio.h>

#include "sluice/cli.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"
#include "sluice/text.h"

/* A list of pointers into argv. cli_input_init() allocates `at` for as many entries as argv has; the strings are not
 * owned. */
struct cli_strings {
    const char **at;
    size_t count;
};

/* A setting from the command line: "key=value" (allocated), and the option that set it, for messages. */
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
    const char *config_file; /* the argument of --config; NULL: the default file */
    struct cli_strings rules;
    struct cli_settings settings;
    /* true: do not check that settings fit together, because the command does not serve queues; false: check it */
    bool skip_consistency_check;
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

/* Handles the option rows CLI_ROW_*. The handler of a command calls it for options that are not the command's own.
 * Returns 0, or an exit code after a message. */
int cli_input_handle_option(struct cli_input *input, const struct cli_option *option, const char *value);

/* Allocates the input of a command, which cli_input_clear() frees. Returns 0, or -ENOMEM after a message. */
int cli_input_init(struct cli_input *input, const struct command *command, int argc);
void cli_input_clear(struct cli_input *input);

/* Adds the setting "KEY=VALUE"; if `key` is NULL, `value` is the whole assignment. Returns 0 or -ENOMEM. */
int cli_settings_add(struct cli_settings *settings, const struct cli_option *option, const char *key,
                     const char *value);

/* The input of `sluice run` and `sluice sensor`. */
struct cli_daemon {
    struct cli_input input;
    const char *log_dir; /* NULL: as configured */
    bool console, check; /* check: only check whether the daemon would start */
};
/* Option rows of `run` and `sensor`. A command's own ids begin with CLI_DAEMON_OWN. */
enum {
    CLI_DAEMON_LOG_DIR = CLI_OPTION_OWN,
    CLI_DAEMON_CONSOLE,
    CLI_DAEMON_NO_CONSOLE,
    CLI_DAEMON_CHECK,
    CLI_DAEMON_OWN
};

#define CLI_DAEMON_ROW_LOG_DIR                                                                                         \
    {                                                                                                                  \
        .id = CLI_DAEMON_LOG_DIR, .letter = 'l', .name = "log-dir", .argument = "DIR",                                 \
        .help = "write the event files to this folder, which is created if it is missing (log-dir; "                   \
                "default /var/log/sluice)"                                                                             \
    }
#define CLI_DAEMON_ROW_CONSOLE                                                                                         \
    {                                                                                                                  \
        .id = CLI_DAEMON_CONSOLE, .name = "console", .group = "console",                                               \
        .help = "print events as readable lines to stdout; the default on a terminal"                                  \
    }
#define CLI_DAEMON_ROW_NO_CONSOLE                                                                                      \
    {                                                                                                                  \
        .id = CLI_DAEMON_NO_CONSOLE, .name = "no-console", .group = "console", .help = "do not print events to stdout" \
    }

/* As cli_input_handle_option(), for these rows and CLI_ROW_*. */
int cli_daemon_handle_option(struct cli_daemon *daemon, const struct cli_option *option, const char *value);
/* Loads the configuration, and runs the daemon until SIGTERM or SIGINT, or checks it. Returns an exit code. */
int cli_daemon_run(struct cli_daemon *daemon);
/* Checks the settings of a sensor, its filter included; the interfaces may be missing. 0, or -errno with a line in
 * `error`. */
int cli_check_rings(const struct config *config, char error[ENGINE_ERROR_SIZE]);

/* The configuration file that is read if --config is not given. */
#define CLI_DEFAULT_CONFIG SLUICE_SYSCONFDIR "/sluice.yaml"

/*
 * Loads the configuration: the defaults, then the file, then the settings of the command line; then checks that
 * settings fit together. Returns EXIT_OK and sets *out, which the caller frees by config_free(), or returns an exit
 * code. Mistakes in the file are added to `diag` and do not cause a failure. Mistakes on the command line are
 * printed and cause a failure.
 */
int cli_load_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                    struct config **out, struct diag *diag);

/* Loads the configuration like cli_load_config(), but prints all mistakes, and fails if the file has one, with the
 * message "the configuration has mistakes: CONSEQUENCE". */
int cli_load_sound_config(const struct cli_input *input, enum config_strictness strictness, const char *default_file,
                          const char *consequence, struct config **out);

/* Prints all errors and the first 5 warnings to stderr; `sluice check` prints all warnings. */
void cli_print_brief(const struct diag *diag);

/* Returns whether all files can be read; prints a message for each that cannot. */
bool cli_files_readable(const struct command *command, const char *const *files, size_t count);

/* The actions of a command, in the order of an enum. */
struct cli_actions {
    const char *const *names;
    size_t count;
};
/* Sets *found to the index of the action `name`, which is NULL if the command line has no argument. Returns EXIT_OK, or
 * EXIT_USAGE after a message. */
int cli_find_action(const struct command *command, const struct cli_actions *actions, const char *name, size_t *found);

/* The highest exit code of any command. */
enum { CLI_MAX_EXIT_CODE = 3 };
/* The meaning of an exit code of a command, NULL: the command does not have this code. */
const char *cli_exit_code(const struct command *command, int code);

/* Writes a text to stdout, adds a line feed if the last line has none, and frees the text. Returns an exit code. */
int cli_write(struct text *text);

#endif
