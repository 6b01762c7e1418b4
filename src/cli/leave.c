/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice leave --after`: removes the sluice table that a daemon left installed for a restart, if the service was
 * stopped instead. */
#include "cli_priv.h"

#include "sluice/supervisor.h"

enum { OPTION_AFTER = CLI_OPTION_OWN };

struct arguments {
    struct cli_input input;
    bool after;
};

static const struct cli_option options[] = {
    { .id = OPTION_AFTER,
      .name = "after",
      .help = "remove the table that the daemon left for a restart, if systemd stops the service; required" },
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

static int remove_table(const struct cli_input *input)
{
    struct config *config = NULL;
    struct diag *diag = diag_new();
    char error[ENGINE_ERROR_SIZE];
    /* Mistakes in the configuration are not printed, because `sluice run` has reported them. */
    int code = diag ? cli_load_config(input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag) : EXIT_FAILED;

    if (code == EXIT_OK && supervisor_remove_left_table(config, error)) {
        cli_error(&command_leave, "%s", error);
        code = EXIT_FAILED;
    }
    config_free(config);
    diag_free(diag);
    return code;
}

static int run_leave(int argc, char **argv)
{
    struct arguments arguments = { .after = false };
    int code;

    if (cli_input_init(&arguments.input, &command_leave, argc))
        return EXIT_FAILED;
    code =
        cli_parse_without_arguments(&command_leave, argc, argv, handle_option, &arguments, &arguments.input.settings);
    if (code < 0 && !arguments.after) {
        cli_error(&command_leave, "--after is missing: a daemon that runs queries systemd itself at its stop");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = remove_table(&arguments.input);
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_leave = {
    .name = "leave",
    .usage = "--after [OPTION]...",
    .summary = "Remove the table of a restart that became a stop (used by sluice.service)",
    .help = "For ExecStopPost=+ of sluice.service, as root: queries the job of the unit on D-Bus. If the service is "
            "stopped and not\n"
            "restarted, removes the sluice table that the daemon left for the next one.",
    .options = options,
    .run = run_leave,
};
