/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice leave`: the service is told when its stop is the first half of a restart. */
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
      .help = "remove the table that was left for a restart, if it was a stop after all; for ExecStopPost=+, after the "
              "daemon has exited" },
    CLI_ROW_CONFIG,
    CLI_ROW_SET,
    { .name = NULL },
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_AFTER)
        return cli_input_take(&arguments->input, option, value);
    arguments->after = true;
    return 0;
}

static int done(int err, const char *error)
{
    if (err)
        cli_error(&command_leave, "%s", error);
    return err ? EXIT_FAILED : EXIT_OK;
}

static int before(void)
{
    const char *pid = getenv("MAINPID");
    char error[ENGINE_ERROR_SIZE];

    if (!pid || atoi(pid) <= 1) /* it has ended by itself */
        return EXIT_OK;
    return done(supervisor_announce_restart((pid_t)atoi(pid), error), error);
}

/* Mistakes in the configuration are told by who starts with it. */
static int after(const struct cli_input *input)
{
    struct config *config = NULL;
    struct diag *diag = diag_new();
    char error[ENGINE_ERROR_SIZE];
    int code = diag ? cli_load_config(input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag) : EXIT_FAILED;

    if (code == EXIT_OK)
        code = done(supervisor_remove_left_table(config, error), error);
    config_free(config);
    diag_free(diag);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .after = false };
    int first, code;

    if (cli_input_init(&arguments.input, &command_leave, argc)) {
        cli_error(&command_leave, "out of memory");
        return EXIT_FAILED;
    }
    code = cli_parse(&command_leave, argc, argv, take_option, &arguments, &arguments.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_leave, "unexpected argument '%s'", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = arguments.after ? after(&arguments.input) : before();
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
