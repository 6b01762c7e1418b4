/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the daemon in the foreground, for `sluice run` and `sluice sensor`. */
#include "cli_priv.h"

#include <errno.h>
#include <stdio.h>

#include "sluice/capture.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/setup.h"
#include "sluice/supervisor.h"

/* Loads the configuration again for a reload. The daemon calls it in the reload thread. Returns 0 or -EINVAL. */
static int load_config(void *user, struct config **out, struct diag *diag)
{
    const struct cli_input *input = user;

    return cli_load_config(input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, out, diag) ? -EINVAL : 0;
}

int cli_daemon_handle_option(struct cli_daemon *daemon, const struct cli_option *option, const char *value)
{
    switch (option->id) {
    case CLI_DAEMON_LOG_DIR:
        daemon->log_dir = value;
        return 0;
    case CLI_DAEMON_CHECK:
        daemon->check = true;
        return 0;
    case CLI_DAEMON_CONSOLE:
    case CLI_DAEMON_NO_CONSOLE:
        daemon->console = option->id == CLI_DAEMON_CONSOLE;
        return 0;
    default:
        return cli_input_handle_option(&daemon->input, option, value);
    }
}

static int start_daemon(struct cli_daemon *daemon, const struct config *config)
{
    struct run_options run = {
        .config = config,
        .rule_files = daemon->input.rules.at,
        .rule_file_count = daemon->input.rules.count,
        .log_dir = daemon->log_dir,
        .console = daemon->console,
        .load_config = load_config,
        .load_config_user = &daemon->input,
    };
    char error[ENGINE_ERROR_SIZE] = "";

    if (supervisor_run(&run, error)) {
        cli_error(daemon->input.command, "%s", error);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

int cli_check_rings(const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    struct nfqueue_options rings[CAPTURE_MAX_QUEUES];
    struct af_packet_options options;
    struct firewall_options firewall;
    char cause[CAPTURE_ERROR_SIZE];
    size_t count;
    int err = setup_firewall_options(config, &firewall, error);

    if (!err)
        err = setup_plan_queues(config, &firewall, rings, &count, error);
    if (err)
        return err;
    af_packet_options_read(config, &options);
    for (unsigned i = 0; options.interfaces[i] && !err; i++) {
        struct af_packet_interface *interface = NULL;

        err = af_packet_interface_new(&interface, &options, i, true, cause);
        af_packet_interface_free(interface);
    }
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}

/* Checks at once what the engine would check only at its start, and prints problems. Returns an exit code. */
static int check_configuration(const struct cli_daemon *daemon, const struct config *config)
{
    char error[ENGINE_ERROR_SIZE] = "";
    int err = confinement_check_user(config, error);

    if (!err)
        err = setup_check_log_folder(config, daemon->log_dir, error);
    if (!err)
        err = pid_file_check(config, error);
    if (!err && setup_is_sensor(config))
        err = cli_check_rings(config, error);
    if (!err)
        return EXIT_OK;
    cli_error(daemon->input.command, "%s", error);
    return EXIT_FAILED;
}

int cli_daemon_run(struct cli_daemon *daemon)
{
    const struct cli_input *input = &daemon->input;
    struct config *config = NULL;
    int code = cli_load_sound_config(input, CONFIG_STRICT, CLI_DEFAULT_CONFIG,
                                     "not started (`sluice check` shows them all)", &config);

    /* Rule files that the configuration names may be missing; those that the command line names may not. */
    if (!code && !cli_files_readable(input->command, input->rules.at, input->rules.count))
        code = EXIT_FAILED;
    if (!code)
        code = daemon->check ? check_configuration(daemon, config) : start_daemon(daemon, config);
    config_free(config);
    return code;
}
