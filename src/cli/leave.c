/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice leave`: tells the daemon whether systemd stops it as the first half of a restart. */
#include "cli_priv.h"

#include <stdlib.h>

#include "sluice/supervisor.h"

enum { OPTION_AFTER = CLI_OPTION_OWN };

struct arguments {
    struct cli_input input;
    bool after;
};

static const struct cli_option options[] = {
    { .id = OPTION_AFTER,
      .name = "after",
      .help =
          "remove the table that the daemon left for a restart, if it is a stop after all; for ExecStopPost=+, after "
          "the daemon has exited" },
    CLI_ROW_CONFIG,
    CLI_ROW_SET,
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_AFTER)
        return cli_input_handle_option(&arguments->input, option, value);
    arguments->after = true;
    return 0;
}

static int exit_code(int err, const char *error)
{
    if (err)
        cli_error(&command_leave, "%s", error);
    return err ? EXIT_FAILED : EXIT_OK;
}

/* Mistakes in the configuration are not printed: the daemon reports them at its start. */
static int remove_table(const struct cli_input *input)
{
    struct config *config = NULL;
    struct diag *diag = diag_new();
    char error[ENGINE_ERROR_SIZE];
    int code = diag ? cli_load_config(input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag) : EXIT_FAILED;

    if (code == EXIT_OK)
        code = exit_code(supervisor_remove_left_table(config, error), error);
    config_free(config);
    diag_free(diag);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .after = false };
    const char *pid = getenv("MAINPID");
    char error[ENGINE_ERROR_SIZE];
    int code;

    if (cli_input_init(&arguments.input, &command_leave, argc))
        return EXIT_FAILED;
    code =
        cli_parse_without_arguments(&command_leave, argc, argv, handle_option, &arguments, &arguments.input.settings);
    if (code < 0 && arguments.after)
        code = remove_table(&arguments.input);
    else if (code < 0 && pid && atoi(pid) > 1)
        code = exit_code(supervisor_announce_restart((pid_t)atoi(pid), error), error);
    else if (code < 0)
        code = EXIT_OK; /* the daemon has exited by itself */
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_leave = {
    .name = "leave",
    .usage = "[OPTION]...",
    .summary = "Prepare the hand-over of a restart of the service (used by sluice.service)",
    .help = "For ExecStop=+ of sluice.service, as root: asks systemd for the current job. If it is a restart, the "
            "daemon (MAINPID)\n"
            "leaves its queues, table and flows to the next one.",
    .options = options,
    .run = run,
};
