/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands: one file each under src/cli/, in the table of commands.c that `sluice --help` prints.
 *
 * A command's options are a table too: getopt_long's arrays and the text of `--help` are made from it, so they can't
 * differ. An option that names a setting is that setting, given on the command line.
 */
#ifndef SLUICE_CLI_H
#define SLUICE_CLI_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli_option {
    int id;               /* what the command's handler switches on; 0 for options that are settings */
    char letter;          /* 0: none */
    const char *name;     /* without the dashes */
    const char *argument; /* "FILE"; NULL: takes none */
    const char *setting;  /* the setting that it sets, or NULL */
    const char *value;    /* what an option without argument sets it to */
    const char *help;
};

struct command {
    const char *name;
    const char *usage;   /* the arguments, one line */
    const char *summary; /* one line */
    const char *help;    /* explanation, printed by `sluice NAME --help` and into the manual page; or NULL */
    const struct cli_option *options; /* ends with a row without a name; NULL: the command reads its arguments itself */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit code */
};

extern const struct command command_run, command_replay, command_check, command_nft, command_blocklist,
    command_keywords, command_settings, command_status, command_stats, command_queues, command_flows, command_explain,
    command_costs, command_mode, command_reload, command_rules, command_upgrade, command_lend, command_leave;

/* All commands, ends with NULL. */
extern const struct command *const cli_commands[];

/* The whole program. */
int cli_main(int argc, char **argv);

/* One line on stderr: "sluice run: ...". */
void cli_error(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Reads the options of argv by command->options and calls `handle` for each that is no setting; settings are collected
 * as "key=value" in `settings` if that is not NULL. --help is answered here. Returns -1 to go on, with *first the index
 * of the first argument that is no option (getopt's order: options may stand anywhere), or an exit code.
 */
struct cli_settings;
int cli_parse(const struct command *command, int argc, char **argv,
              int (*handle)(void *user, const struct cli_option *option, const char *value), void *user,
              struct cli_settings *settings, int *first);

void cli_print_help(const struct command *command);

/* The number of an option's value within bounds: 0 or EXIT_USAGE after a message. */
int cli_number(const struct command *command, const struct cli_option *option, const char *value, unsigned long low,
               unsigned long high, unsigned long *out);

#endif
