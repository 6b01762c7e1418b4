/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice lend`: opens sockets that need root, for the service, which does not run as root. */
#include "cli_priv.h"

#include "sluice/supervisor.h"

static const struct cli_option options[] = {
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    (void)user;
    (void)option;
    (void)value;
    return 0;
}

static int run_lend(int argc, char **argv)
{
    char error[ENGINE_ERROR_SIZE];
    int code = cli_parse_without_arguments(&command_lend, argc, argv, handle_option, NULL, NULL);

    if (code >= 0)
        return code;
    if (supervisor_preopen_sockets(error)) {
        cli_error(&command_lend, "%s", error);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

const struct command command_lend = {
    .name = "lend",
    .usage = "",
    .summary = "Open sockets as root for the service (used by sluice.service)",
    .help = "For ExecStartPre=+ of sluice.service: opens the raw sockets for reject and stores them with systemd, "
            "which passes them\n"
            "to the daemon. So the daemon does not need CAP_NET_RAW.",
    .options = options,
    .run = run_lend,
};
