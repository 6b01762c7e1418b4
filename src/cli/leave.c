/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice leave`: the service is told when its stop is the first half of a restart. */
#include "cli_priv.h"

#include <stdlib.h>

#include "sluice/keeper.h"

static const struct cli_option options[] = {
    { .name = NULL },
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    (void)user;
    (void)option;
    (void)value;
    return 0;
}

static int run(int argc, char **argv)
{
    const char *pid = getenv("MAINPID");
    char error[ENGINE_ERROR_SIZE];
    int first, code = cli_parse(&command_leave, argc, argv, take_option, NULL, NULL, &first);

    if (code >= 0)
        return code;
    if (first < argc) {
        cli_error(&command_leave, "unexpected argument '%s'", argv[first]);
        return EXIT_USAGE;
    }
    if (!pid || atoi(pid) <= 1) /* it has ended by itself */
        return EXIT_OK;
    if (keeper_leave((pid_t)atoi(pid), error)) {
        cli_error(&command_leave, "%s", error);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

const struct command command_leave = {
    .name = "leave",
    .usage = "",
    .summary = "Tells the service that its stop is the first half of a restart",
    .help =
        "For ExecStop=+ of sluice.service, as root: asks systemd which job there is, and when it is a restart, tells "
        "the daemon (MAINPID),\nwhich then leaves queues, table and flows to the next one.",
    .options = options,
    .run = run,
};
