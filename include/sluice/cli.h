/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands. Each has a file in src/cli/, and commands.c lists them for `sluice --help`.
 *
 * A command has a table of options, which is used for getopt_long() and for the text of `--help`. An option that names
 * a setting overrides that setting of the configuration.
 */
#ifndef SLUICE_CLI_H
#define SLUICE_CLI_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli_option {
    int id;               /* identifies the option for the command's handler; 0 if `setting` is not NULL */
    char letter;          /* 0: none */
    const char *name;     /* without dashes */
    const char *argument; /* "FILE"; NULL: the option takes no value */
    const char *setting;  /* the setting that the option sets, or NULL */
    const char *value;    /* what the option sets `setting` to if it takes no value */
    const char *group;    /* options of one group exclude each other; NULL: none */
    const char *help;
};

/* The arguments of a command, for the completion of shells. */
enum cli_argument {
    CLI_ARGUMENT_NONE,    /* none, or nothing that can be listed */
    CLI_ARGUMENT_WORDS,   /* command.words */
    CLI_ARGUMENT_FILES,   /* names of files */
    CLI_ARGUMENT_SETTING, /* names of settings */
    CLI_ARGUMENT_KEYWORD, /* names of keywords */
};

struct command {
    const char *name;
    const char *usage;                /* the arguments, one line */
    const char *summary;              /* one line */
    const char *help;                 /* description for `sluice NAME --help` and the manual page, or NULL */
    const struct cli_option *options; /* ends with a row without a name */
    enum cli_argument argument;
    const char *const *words;          /* CLI_ARGUMENT_WORDS: NULL-terminated; otherwise NULL */
    int (*run)(int argc, char **argv); /* argv[0] is the name of the command; returns an exit code */
};

extern const struct command command_run, command_sensor, command_replay, command_check, command_status, command_stats,
    command_queues, command_flows, command_top, command_alerts, command_explain, command_analyse, command_costs,
    command_mode, command_rules, command_reload, command_update, command_upgrade, command_shutdown, command_nft,
    command_blocklist, command_dataset, command_hostbit, command_memcap, command_conf, command_keywords,
    command_settings, command_import, command_metrics, command_completion, command_lend, command_leave,
    command_suricata_compat;

/* All commands in the order of `sluice --help`; ends with NULL. */
extern const struct command *const cli_commands[];

/* Runs the command that argv[1] names. Returns its exit code. */
int cli_main(int argc, char **argv);

/* Prints one line to stderr: "sluice COMMAND: MESSAGE"; `command` may be NULL. */
void cli_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Parses the options of argv by command->options. Options that name a setting are added to `settings` (unless NULL);
 * for all other options it calls `handle`, which returns 0 or an exit code. Options may stand between arguments.
 * An empty value is an error, and so are two options that exclude each other or set one setting to different values.
 * Returns -1 with the index of the first argument in *first, or an exit code after printing an error or the help.
 */
struct cli_settings;
int cli_parse(const struct command *command, int argc, char **argv,
              int (*handle)(void *user, const struct cli_option *option, const char *value), void *user,
              struct cli_settings *settings, int *first);

/* Parses the options of a command without arguments, like cli_parse(); an argument is an error. Returns -1, or an exit
 * code after printing an error or the help. */
int cli_parse_without_arguments(const struct command *command, int argc, char **argv,
                                int (*handle)(void *user, const struct cli_option *option, const char *value),
                                void *user, struct cli_settings *settings);

/* Prints `sluice NAME --help`. */
void cli_print_help(const struct command *command);

/* Reads the value of an option as a number from `low` to `high`. Returns 0, or EXIT_USAGE after printing an error. */
int cli_number(const struct command *command, const struct cli_option *option, const char *value, unsigned long low,
               unsigned long high, unsigned long *out);

#endif
