/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice run`: runs the daemon in the foreground. */
#include "cli_priv.h"

#include <errno.h>
#include <unistd.h>

#include "sluice/setup.h"
#include "sluice/supervisor.h"

enum { OPTION_LOG_DIR = CLI_OPTION_OWN, OPTION_CONSOLE, OPTION_NO_CONSOLE, OPTION_CHECK };

struct arguments {
    struct cli_input input;
    const char *log_dir;
    bool console, check;
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    CLI_ROW_RULES,
    { .id = OPTION_LOG_DIR,
      .letter = 'l',
      .name = "log-dir",
      .argument = "DIR",
      .help = "write the event files to this folder, which is created if it is missing (log-dir; "
              "default /var/log/sluice)" },
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
    { .id = OPTION_CONSOLE,
      .name = "console",
      .group = "console",
      .help = "print events as readable lines to stdout; the default on a terminal" },
    { .id = OPTION_NO_CONSOLE, .name = "no-console", .group = "console", .help = "do not print events to stdout" },
    { .id = OPTION_CHECK,
      .name = "check",
      .help = "check whether the daemon would start with these options and this configuration, then exit; rules are "
              "not checked" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_LOG_DIR:
        arguments->log_dir = value;
        break;
    case OPTION_CHECK:
        arguments->check = true;
        break;
    case OPTION_CONSOLE:
    case OPTION_NO_CONSOLE:
        arguments->console = option->id == OPTION_CONSOLE;
        break;
    default:
        return cli_input_handle_option(&arguments->input, option, value);
    }
    return 0;
}

/* Loads the configuration again for a reload. The daemon calls it in the reload thread. Returns 0 or -EINVAL. */
static int load_config(void *user, struct config **out, struct diag *diag)
{
    const struct cli_input *input = user;

    return cli_load_config(input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, out, diag) ? -EINVAL : 0;
}

static int start_daemon(struct arguments *arguments, const struct config *config)
{
    const struct cli_input *input = &arguments->input;
    struct run_options run = {
        .config = config,
        .rule_files = input->rules.at,
        .rule_file_count = input->rules.count,
        .log_dir = arguments->log_dir,
        .console = arguments->console,
        .load_config = load_config,
        .load_config_user = &arguments->input,
    };
    char error[ENGINE_ERROR_SIZE] = "";

    if (supervisor_run(&run, error)) {
        cli_error(&command_run, "%s", error);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

/* Checks at once what the engine would check only at its start, and prints problems. Returns an exit code. */
static int check_configuration(const struct arguments *arguments, const struct config *config)
{
    char error[ENGINE_ERROR_SIZE] = "";

    if (confinement_check_user(config, error) || setup_check_log_folder(config, arguments->log_dir, error) ||
        pid_file_check(config, error)) {
        cli_error(&command_run, "%s", error);
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static int load_and_start(struct arguments *arguments)
{
    struct config *config = NULL;
    int code = cli_load_sound_config(&arguments->input, CONFIG_STRICT, CLI_DEFAULT_CONFIG,
                                     "not started (`sluice check` shows them all)", &config);

    /* Rule files that the configuration names may be missing; those that the command line names may not. */
    if (!code && !cli_files_readable(&command_run, arguments->input.rules.at, arguments->input.rules.count))
        code = EXIT_FAILED;
    if (!code)
        code = arguments->check ? check_configuration(arguments, config) : start_daemon(arguments, config);
    config_free(config);
    return code;
}

static int run_daemon(int argc, char **argv)
{
    struct arguments arguments = { .console = isatty(STDOUT_FILENO) };
    int first, code;

    if (cli_input_init(&arguments.input, &command_run, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_run, argc, argv, handle_option, &arguments, &arguments.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_run, "unexpected argument '%s'; rules are given by --rules FILE", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = load_and_start(&arguments);
    cli_input_clear(&arguments.input);
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
