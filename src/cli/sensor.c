/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice sensor`: runs the daemon as a passive sensor on interfaces (daemon.c). */
#include "cli_priv.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

enum { OPTION_INTERFACE = CLI_DAEMON_OWN };

static const struct cli_option options[] = {
    { .id = OPTION_INTERFACE,
      .letter = 'i',
      .name = "interface",
      .argument = "NAMES",
      .help = "capture from these interfaces: eth1 or eth1,eth2 (af-packet.interfaces; no default)" },
    { .letter = 'w',
      .name = "workers",
      .argument = "NUMBER",
      .setting = "af-packet.workers",
      .help = "use this number of rings and workers for each interface, 1 to 256 (af-packet.workers; default 1)" },
    { .letter = 'f',
      .name = "filter",
      .argument = "EXPRESSION",
      .setting = "af-packet.bpf-filter",
      .help =
          "capture only packets that match this filter, such as 'not port 22' (af-packet.bpf-filter; default all)" },
    CLI_ROW_CONFIG,
    CLI_ROW_RULES,
    CLI_DAEMON_ROW_LOG_DIR,
    CLI_ROW_SET,
    CLI_DAEMON_ROW_CONSOLE,
    CLI_DAEMON_ROW_NO_CONSOLE,
    { .id = CLI_DAEMON_CHECK,
      .name = "check",
      .help = "check whether the daemon would start with these options and this configuration, then exit; rules and "
              "interfaces are not checked" },
    { .name = NULL },
};

struct arguments {
    struct cli_daemon daemon;
    const char *interfaces; /* the argument of --interface; NULL: as configured */
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_INTERFACE)
        return cli_daemon_handle_option(&arguments->daemon, option, value);
    arguments->interfaces = value;
    return 0;
}

/* Writes the names of --interface as a list: "eth1,eth2" becomes "[\"eth1\",\"eth2\"]". Returns 0, -EINVAL if a part
 * cannot be the name of an interface, or -ENOMEM. */
static int list_interfaces(const char *names, struct text *out)
{
    struct span rest = span_of(names), name;

    text_puts(out, "[");
    while (span_next(&rest, ',', &name)) {
        for (size_t i = 0; i < name.length; i++) {
            if (name.at[i] <= ' ' || strchr("/\"\\", name.at[i]))
                return -EINVAL;
        }
        if (name.length == 0 || name.length >= IF_NAMESIZE)
            return -EINVAL;
        text_printf(out, "%s\"%.*s\"", out->length > 1 ? "," : "", (int)name.length, name.at);
    }
    text_puts(out, "]");
    return out->failed ? -ENOMEM : names[0] == '\0' || names[strlen(names) - 1] == ',' ? -EINVAL : 0;
}

/* Adds the settings of the command and of --interface. Returns -1, or an exit code after a message. */
static int add_settings(struct arguments *arguments)
{
    static const struct cli_option command = { .name = "interface" };
    struct cli_settings *settings = &arguments->daemon.input.settings;
    struct text list = { 0 };
    int err = cli_settings_add(settings, &command, "capture.method", "af-packet");

    if (!err && arguments->interfaces)
        err = list_interfaces(arguments->interfaces, &list);
    if (!err && arguments->interfaces)
        err = cli_settings_add(settings, &command, "af-packet.interfaces", list.bytes);
    text_clear(&list);
    if (err == -EINVAL)
        cli_error(&command_sensor, "option '--interface' needs names of interfaces such as eth1,eth2, got '%s'",
                  arguments->interfaces);
    else if (err)
        cli_error(&command_sensor, "out of memory");
    return err == -EINVAL ? EXIT_USAGE : err ? EXIT_FAILED : -1;
}

static int run_sensor(int argc, char **argv)
{
    struct arguments arguments = { .daemon.console = isatty(STDOUT_FILENO) };
    struct cli_input *input = &arguments.daemon.input;
    int first, code;

    if (cli_input_init(input, &command_sensor, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_sensor, argc, argv, handle_option, &arguments, &input->settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_sensor, "unexpected argument '%s'; interfaces are given by --interface NAMES", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = add_settings(&arguments);
    if (code < 0)
        code = cli_daemon_run(&arguments.daemon);
    cli_input_clear(input);
    return code;
}

const struct command command_sensor = {
    .name = "sensor",
    .usage = "--interface NAMES [OPTION]...",
    .summary = "Run the daemon as a passive sensor on interfaces, such as a mirror port",
    .help =
        "Inspects a copy of the packets of interfaces, and writes events. No packet is dropped, rejected or changed.\n"
        "Options override the configuration. The daemon is the same as that of `sluice run`: signals, reload and the\n"
        "commands for the running daemon are the same. Needs CAP_NET_RAW.",
    .options = options,
    .run = run_sensor,
};
