/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands: one file each under src/cli/, in the table of main.c that `sluice --help` prints. */
#ifndef SLUICE_CLI_H
#define SLUICE_CLI_H

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
    const char *name;
    const char *usage;   /* the arguments, one line */
    const char *summary; /* one line */
    const char *help;    /* options and explanation, printed by `sluice NAME --help` and into the manual page */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit code */
};

extern const struct command command_run, command_replay, command_check, command_nft, command_keywords, command_settings;

/* All commands, ends with NULL. */
extern const struct command *const cli_commands[];

#endif
