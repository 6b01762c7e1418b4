/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of commands, and the arguments that replace a command: --help, --version, help. */
#include "sluice/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sluice/text.h"

enum { MAX_COMMANDS = 64 };

const struct command *const cli_commands[] = {
    &command_run,
    &command_sensor,
    &command_replay,
    &command_check,
    &command_status,
    &command_stats,
    &command_queues,
    &command_flows,
    &command_top,
    &command_alerts,
    &command_explain,
    &command_analyse,
    &command_costs,
    &command_mode,
    &command_rules,
    &command_reload,
    &command_update,
    &command_upgrade,
    &command_shutdown,
    &command_nft,
    &command_blocklist,
    &command_dataset,
    &command_hostbit,
    &command_memcap,
    &command_conf,
    &command_keywords,
    &command_settings,
    &command_import,
    &command_metrics,
    &command_completion,
    &command_lend,
    &command_leave,
    &command_suricata_compat,
    NULL,
};

void cli_error(const struct command *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "sluice%s%s: ", command ? " " : "", command ? command->name : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static void print_usage(FILE *to)
{
    fputs("Usage: sluice COMMAND [OPTION]...\n"
          "Inspect packets from Netfilter queues with Suricata rules, and accept or drop them.\n\n"
          "Commands:\n",
          to);
    for (const struct command *const *command = cli_commands; *command; command++)
        fprintf(to, "  %-15s %s\n", (*command)->name, (*command)->summary);
    fputs("\n`sluice COMMAND --help` shows the options of a command, `sluice --version` the version.\n"
          "Exit codes: 0 success, 1 failure, 2 wrong command line; the help of a command lists its exit codes.\n",
          to);
}

static const struct command *find_command(const char *name)
{
    for (const struct command *const *command = cli_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static int unknown_command(const char *name)
{
    static const char *const others[] = { "help", "--help", "--version" };
    const char *names[MAX_COMMANDS];
    size_t count = 0;

    for (const struct command *const *command = cli_commands; *command && count < MAX_COMMANDS - 3; command++)
        names[count++] = (*command)->name;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        names[count++] = others[i];

    const char *near = text_nearest(name, names, count);

    if (near)
        cli_error(NULL, "unknown command '%s', did you mean '%s'?", name, near);
    else
        cli_error(NULL, "unknown command '%s' (`sluice --help` lists all)", name);
    return EXIT_USAGE;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command;

    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("sluice " SLUICE_VERSION);
        return EXIT_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return EXIT_OK;
    }
    if (strcmp(name, "help") == 0) {
        command = find_command(argv[2]);
        if (!command)
            return unknown_command(argv[2]);
        cli_print_help(command);
        return EXIT_OK;
    }
    command = find_command(name);
    return command ? command->run(argc - 1, argv + 1) : unknown_command(name);
}

int cli_main(int argc, char **argv)
{
    const char *name = argc > 0 ? argv[0] : "", *slash = strrchr(name, '/');
    bool compat = strcmp(slash ? slash + 1 : name, "sluice-suricata-compat") == 0;
    int code = compat ? command_suricata_compat.run(argc, argv) : dispatch(argc, argv);

    if (fflush(stdout) == EOF && code == EXIT_OK) {
        cli_error(NULL, "cannot write to stdout: %s", strerror(errno));
        return EXIT_FAILED;
    }
    return code;
}
