/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice replay`: inspects capture files with the code of the daemon. */
#include "query.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/replay.h"
#include "sluice/rule.h"

enum {
    OPTION_LOG_DIR = CLI_OPTION_OWN,
    OPTION_IPS,
    OPTION_CONSOLE,
    OPTION_NO_CONSOLE,
    OPTION_WORKERS,
    OPTION_SOCKET,
    OPTION_COSTS,
    OPTION_RECURSIVE,
    OPTION_CONTINUOUS,
    OPTION_DELAY,
    OPTION_DONE_MARKER,
    OPTION_DELETE,
};

enum { MAX_DELAY = 86400, DEFAULT_DELAY = 30 };

struct arguments {
    struct cli_input input;
    const char *const *captures;
    size_t capture_count;
    const char *log_dir;
    const char *socket; /* the argument of --unix-socket; NULL: none */
    unsigned long workers;
    bool recursive, continuous, deletes, has_delay;
    unsigned long delay;       /* seconds, if has_delay */
    const char *done_marker;   /* NULL: none */
    const char *folder_option; /* the last option of these, for messages; NULL: none */
    bool inline_mode, console;
    enum { COSTS_NONE, COSTS_TABLE, COSTS_JSON } costs;
};

static const struct cli_option options[] = {
    CLI_ROW_RULES,
    { .id = CLI_OPTION_CONFIG,
      .letter = 'c',
      .name = "config",
      .argument = "FILE",
      .help = "read this configuration file (default: none)" },
    { .id = OPTION_LOG_DIR,
      .letter = 'l',
      .name = "log-dir",
      .argument = "DIR",
      .help = "write the event files to this folder (default: log-dir of the configuration if it is set, else the "
              "current folder)" },
    { .id = OPTION_IPS, .name = "ips", .help = "inspect as inline: drops take effect; by default as passive" },
    { .id = OPTION_WORKERS,
      .letter = 'w',
      .name = "workers",
      .argument = "NUMBER",
      .help = "inspect with this number of threads, 1 to 64 (default 1); the events do not depend on it" },
    CLI_ROW_SET,
    { .id = OPTION_RECURSIVE, .name = "recursive", .help = "also inspect the files in the subfolders of a folder" },
    { .id = OPTION_CONTINUOUS,
      .name = "continuous",
      .help = "wait for further files in the folders, until SIGINT or SIGTERM" },
    { .id = OPTION_DELAY,
      .name = "delay",
      .group = "ready",
      .argument = "SECONDS",
      .help = "inspect a file of a folder when it has not changed for this time, 0 to 86400 (default: 30 with "
              "--continuous, else 0)" },
    { .id = OPTION_DONE_MARKER,
      .name = "done-marker",
      .group = "ready",
      .argument = "SUFFIX",
      .help = "inspect a file of a folder when there is a file with its name and this suffix, such as `.done`" },
    { .id = OPTION_DELETE,
      .name = "delete",
      .help = "delete each file, with its marker, when all of its packets were inspected" },
    { .id = OPTION_CONSOLE,
      .name = "console",
      .group = "console",
      .help = "print events as readable lines to stdout; the default on a terminal" },
    { .id = OPTION_NO_CONSOLE, .name = "no-console", .group = "console", .help = "do not print events to stdout" },
    { .id = OPTION_COSTS,
      .name = "costs",
      .group = "costs",
      .argument = "FORMAT",
      .help = "measure the rules, and at the end print what `sluice costs` prints, as `table` or `json`" },
    { .id = OPTION_SOCKET,
      .letter = 'S',
      .name = "unix-socket",
      .group = "costs",
      .argument = "PATH",
      .help =
          "wait for capture files that clients such as suricatasc add on this socket (pcap-file), until `shutdown`" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id >= OPTION_RECURSIVE)
        arguments->folder_option = option->name;
    switch (option->id) {
    case OPTION_RECURSIVE:
        arguments->recursive = true;
        break;
    case OPTION_CONTINUOUS:
        arguments->continuous = true;
        break;
    case OPTION_DELETE:
        arguments->deletes = true;
        break;
    case OPTION_DELAY:
        arguments->has_delay = true;
        return cli_number(&command_replay, option, value, 0, MAX_DELAY, &arguments->delay);
    case OPTION_DONE_MARKER:
        if (strchr(value, '/')) {
            cli_error(&command_replay, "--done-marker needs the end of a file name such as .done, not '%s'", value);
            return EXIT_USAGE;
        }
        arguments->done_marker = value;
        break;
    case OPTION_LOG_DIR:
        arguments->log_dir = value;
        break;
    case OPTION_IPS:
        arguments->inline_mode = true;
        break;
    case OPTION_SOCKET:
        arguments->socket = value;
        break;
    case OPTION_WORKERS:
        return cli_number(&command_replay, option, value, 1, REPLAY_MAX_WORKERS, &arguments->workers);
    case OPTION_COSTS:
        if (strcmp(value, "table") != 0 && strcmp(value, "json") != 0) {
            cli_error(&command_replay, "--costs needs table or json, not '%s'", value);
            return EXIT_USAGE;
        }
        arguments->costs = *value == 't' ? COSTS_TABLE : COSTS_JSON;
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

static int print_costs(const struct arguments *arguments, const struct text *costs)
{
    const char *cause;
    struct control_value *value;

    if (costs->failed || !(value = control_value_parse(costs->bytes, costs->length, &cause))) {
        cli_error(&command_replay, "out of memory");
        return EXIT_FAILED;
    }
    if (arguments->costs == COSTS_JSON)
        puts(costs->bytes);
    else
        costs_print(value);
    control_value_free(value);
    return EXIT_OK;
}

static int replay(const struct arguments *arguments, const struct config *config)
{
    struct text costs;
    const struct cli_input *input = &arguments->input;
    struct replay_options replay = {
        .config = config,
        .rule_files = input->rules.at,
        .rule_file_count = input->rules.count,
        .captures = arguments->captures,
        .capture_count = arguments->capture_count,
        .recursive = arguments->recursive,
        .continuous = arguments->continuous,
        .deletes = arguments->deletes,
        .delay_seconds = arguments->has_delay    ? (unsigned)arguments->delay
                         : arguments->continuous ? DEFAULT_DELAY
                                                 : 0,
        .done_marker = arguments->done_marker,
        .log_dir = arguments->log_dir,
        .workers = (unsigned)arguments->workers,
        .inline_mode = arguments->inline_mode,
        .console = arguments->console,
    };
    char error[ENGINE_ERROR_SIZE] = "";
    int code = EXIT_OK;

    text_init(&costs);
    if (arguments->costs != COSTS_NONE) {
        replay.costs = &costs;
        replay.names = rule_names_new(); /* without memory, the costs of rules are missing */
    }
    if (!replay.log_dir && !config_is_set(config, "log-dir"))
        replay.log_dir = ".";
    if (arguments->socket ? replay_serve(&replay, arguments->socket, error) : replay_run(&replay, error)) {
        cli_error(&command_replay, "%s", error);
        code = EXIT_FAILED;
    }
    if (!code && arguments->costs != COSTS_NONE)
        code = print_costs(arguments, &costs);
    text_clear(&costs);
    rule_names_free(replay.names);
    return code;
}

static int load_and_replay(const struct arguments *arguments)
{
    const struct cli_input *input = &arguments->input;
    struct config *config = NULL;
    int code = cli_load_sound_config(input, CONFIG_LENIENT, NULL, "nothing replayed", &config);
    bool rejected, reads_stdin = false;

    if (!code && !cli_files_readable(&command_replay, input->rules.at, input->rules.count))
        code = EXIT_FAILED;
    rejected = code != 0;
    for (size_t i = 0; i < arguments->capture_count && !rejected; i++) {
        const char *path = arguments->captures[i];
        bool is_stdin = strcmp(path, "-") == 0, is_folder;
        struct stat status;

        is_folder = !is_stdin && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
        if (is_stdin && reads_stdin) {
            cli_error(&command_replay, "standard input (-) can be given only once");
            code = EXIT_USAGE;
        } else if (is_folder && access(path, R_OK | X_OK)) {
            cli_error(&command_replay, "cannot read '%s': %s", path, strerror(errno));
            code = EXIT_FAILED;
        } else if (!is_folder && !is_stdin && !cli_files_readable(&command_replay, &path, 1)) {
            code = EXIT_FAILED;
        } else if (!is_folder && arguments->continuous) {
            cli_error(&command_replay, "--continuous needs folders, and '%s' is none", path);
            code = EXIT_USAGE;
        }
        reads_stdin |= is_stdin;
    }
    if (!code)
        code = replay(arguments, config);
    config_free(config);
    return code;
}

static int run_replay(int argc, char **argv)
{
    struct arguments arguments = { .console = isatty(STDOUT_FILENO) };
    int first, code;

    if (cli_input_init(&arguments.input, &command_replay, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_replay, argc, argv, handle_option, &arguments, &arguments.input.settings, &first);
    if (code < 0 && arguments.socket && first < argc) {
        cli_error(&command_replay, "unexpected argument '%s': clients of --unix-socket name the capture files",
                  argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0 && arguments.socket && arguments.folder_option) {
        cli_error(&command_replay,
                  "--%s and --unix-socket cannot be combined: the commands of its clients have arguments for folders",
                  arguments.folder_option);
        code = EXIT_USAGE;
    }
    if (code < 0 && !arguments.socket && first >= argc) {
        cli_error(&command_replay, "no capture file given: sluice replay --rules FILE CAPTURE...");
        code = EXIT_USAGE;
    }
    if (code < 0) {
        arguments.captures = (const char *const *)argv + first;
        arguments.capture_count = (size_t)(argc - first);
        code = load_and_replay(&arguments);
    }
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_replay = {
    .name = "replay",
    .usage = "[OPTION]... CAPTURE...|--unix-socket PATH",
    .summary = "Inspect capture files (pcap or pcapng) in place of a queue",
    .help =
        "Reads the files in the given order as one stream of packets and writes the events. An unknown setting is "
        "ignored with\n"
        "a warning, so that a configuration for another version can be used.\n"
        "If a folder is given, all capture files in it are read in the order of their first packets; other files are "
        "skipped,\n"
        "each with a log line.\n"
        "A file may be compressed with gzip, zstd or LZ4. `-` is standard input, for example from `tcpdump -w -`; "
        "packets of a\n"
        "pipe are inspected when they arrive, and SIGINT and SIGTERM end the replay like the end of the pipe.",
    .options = options,
    .argument = CLI_ARGUMENT_FILES,
    .run = run_replay,
};
