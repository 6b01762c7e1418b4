/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The exit codes of all commands, for `sluice COMMAND --help` and the manual page. */
#include "cli_priv.h"

#include <string.h>

struct exit_code {
    const char *command; /* NULL: all commands that have no row for this code */
    int code;
    const char *meaning;
};

#define NO_ANSWER "no daemon answers, or it refused the request"

static const struct exit_code exit_codes[] = {
    { NULL, 0, "success" },
    { NULL, 1, NO_ANSWER },
    { NULL, 2, "the command line is wrong; nothing was changed" },

    { "run", 0, "the daemon was stopped by SIGTERM or SIGINT; with --check: it would start" },
    { "run", 1,
      "the daemon cannot start (the configuration has mistakes, or a queue cannot be used), or it had to "
      "stop; with --check: it would not start" },
    { "sensor", 0, "the sensor was stopped by SIGTERM or SIGINT; with --check: it would start" },
    { "sensor", 1,
      "the sensor cannot start (the configuration has mistakes, or an interface cannot be captured from), or it had to "
      "stop; with --check: it would not start" },
    { "replay", 0, "all captures were inspected" },
    { "replay", 1,
      "the configuration has mistakes, a file cannot be read, or the events or datasets cannot be "
      "written" },
    { "check", 0, "no mistake" },
    { "check", 1,
      "the configuration or a rule has a mistake, or a file cannot be read; with --strict also warnings "
      "and unsupported rules" },
    { "check", 3,
      "the only problem is rules that use a keyword, protocol, action or value of Suricata or Snort that "
      "Sluice lacks" },
    { "stats", 1, NO_ANSWER ", or there is no counter of that name" },
    { "top", 1, "stdin or stdout is no terminal; with --batch: no daemon answers" },
    { "alerts", 1, "the event file cannot be read; with --live: no daemon answers" },
    { "explain", 1, NO_ANSWER ", or it does not know the flow or the rule" },
    { "analyse", 1, "neither the daemon nor a rule file has the rule, or the rules cannot be loaded" },
    { "reload", 1, NO_ANSWER ", or the reload failed; the previous rules and settings stay in use" },
    { "update", 0, "the newest rules are in use" },
    { "update", 1, "failure; the previous rules stay in use" },
    { "update", 3, "the rules are in use, but a source had a problem, and its previous rules are used" },
    { "upgrade", 1, NO_ANSWER ", or the new engine cannot start; the old engine continues" },
    { "shutdown", 1, "the daemon does not run, or the signal cannot be sent" },
    { "nft", 0, "success; doctor: no problem (notes at most)" },
    { "nft", 1, "failure; doctor: warnings" },
    { "nft", 2,
      "the command line is wrong, or its options contradict each other; doctor: packets are not inspected as "
      "configured" },
    { "nft", 3, "doctor: the ruleset cannot be read" },
    { "blocklist", 1,
      "the configuration has mistakes, a file cannot be read, an address must not be blocked, or the "
      "kernel refused the change" },
    { "dataset", 1, NO_ANSWER ", or the dataset lacks a value that was looked up" },
    { "keywords", 1, "the list cannot be written" },
    { "settings", 1, "the list cannot be written" },
    { "completion", 1, "the script cannot be written" },
    { "import", 0, "the configuration was written" },
    { "import", 1,
      "the input cannot be read or is no YAML, or the output exists or cannot be written; nothing was "
      "changed" },
    { "metrics", 0, "stopped by SIGTERM or SIGINT; with --once: the metrics were printed, also without a daemon" },
    { "metrics", 1, "the configuration has mistakes, the address cannot be used, or the HTTP process has died" },
    { "lend", 1, "a socket cannot be opened, or systemd does not take it" },
    { "leave", 1, "the table cannot be removed" },
    { "suricata-compat", 1, "the test failed, or the configuration cannot be read" },
};

enum { EXIT_CODES = sizeof(exit_codes) / sizeof(exit_codes[0]) };

const char *cli_exit_code(const struct command *command, int code)
{
    const char *meaning = NULL;

    for (size_t i = 0; i < EXIT_CODES; i++) {
        const struct exit_code *row = &exit_codes[i];

        if (row->code == code && (!row->command || strcmp(row->command, command->name) == 0))
            meaning = row->meaning; /* rows of all commands come first */
    }
    return meaning;
}
