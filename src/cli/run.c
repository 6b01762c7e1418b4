/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice run`: runs the daemon in the foreground (daemon.c). */
#include "cli_priv.h"

#include <unistd.h>

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    CLI_ROW_RULES,
    CLI_DAEMON_ROW_LOG_DIR,
    { .letter = 'q',
      .name = "queue",
      .argument = "NUMBERS",
      .setting = "queue.numbers",
      .help = "read these queues: 0, 0-3 or 0-3,8 (queue.numbers; default 0)" },
    { .letter = 'a',
      .name = "attach",
      .argument = "MODE",
      .setting = "nft.attach",
      .help =
          "install the sluice table, whose rules feed the queues: after, before, repeat, chain or route; with none, "
          "the default, your own firewall rules feed them (nft.attach)" },
    { .name = "verdict",
      .argument = "VERDICT",
      .setting = "queue.verdict",
      .help = "return this verdict for packets that are not dropped: accept (the default), repeat or route "
              "(queue.verdict)" },
    { .name = "mark",
      .argument = "MARK/MASK",
      .setting = "queue.mark",
      .help =
          "set this mark on packets that are not dropped, such as 0x1/0x1; repeat needs it (queue.mark; no default)" },
    { .name = "route-to",
      .argument = "QUEUE",
      .setting = "queue.route-to",
      .help = "with route: pass packets on to this queue, 0 to 65535 (queue.route-to; no default)" },
    { .name = "route-bypass",
      .setting = "queue.route-bypass",
      .value = "yes",
      .help = "let routed packets pass when no program listens on that queue; by default the kernel drops them "
              "(queue.route-bypass)" },
    { .name = "fail-open",
      .setting = "queue.fail-open",
      .value = "yes",
      .help = "let the kernel accept packets uninspected when the queue is full; by default it drops them "
              "(queue.fail-open)" },
    { .name = "pidfile",
      .argument = "FILE",
      .setting = "pid-file",
      .help = "write the process id of the daemon to this file; a name without / lies in /run/sluice (pid-file; no "
              "default)" },
    { .name = "strict",
      .setting = "engine.init-failure-fatal",
      .value = "yes",
      .help = "refuse to start, and to reload, when a rule or a rule file cannot be loaded; by default it is left out "
              "(engine.init-failure-fatal)" },
    CLI_ROW_SET,
    CLI_DAEMON_ROW_CONSOLE,
    CLI_DAEMON_ROW_NO_CONSOLE,
    { .id = CLI_DAEMON_CHECK,
      .name = "check",
      .help = "check whether the daemon would start with these options and this configuration, then exit; rules are "
              "not checked" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    return cli_daemon_handle_option(user, option, value);
}

static int run_daemon(int argc, char **argv)
{
    struct cli_daemon daemon = { .console = isatty(STDOUT_FILENO) };
    int first, code;

    if (cli_input_init(&daemon.input, &command_run, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_run, argc, argv, handle_option, &daemon, &daemon.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_run, "unexpected argument '%s'; rules are given by --rules FILE", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = cli_daemon_run(&daemon);
    cli_input_clear(&daemon.input);
    return code;
}

const struct command command_run = {
    .name = "run",
    .usage = "[OPTION]...",
    .summary = "Run the daemon in the foreground, until SIGTERM or SIGINT",
    .help = "Reads packets from the queues, inspects them and returns a verdict for each. Options override the "
            "configuration.\n"
            "SIGUSR2 reloads rules and settings, SIGHUP reopens the event files after a rotation, SIGUSR1 writes a "
            "stats event.\n"
            "A child process inspects the packets; it is replaced when it dies. Needs CAP_NET_ADMIN.",
    .options = options,
    .run = run_daemon,
};
