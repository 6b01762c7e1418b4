/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice conf get`: shows values of settings of the running daemon. */
#include "query.h"

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static int get(struct query *query, int count, char **arguments)
{
    (void)count;
    query_begin(query, "conf-get");
    json_string(&query->request, "variable", arguments[0]);
    return query_send_and_print(query, QUERY_SECONDS, query_print_text);
}

static const char *const words[] = { "get", NULL };
static const struct query_action actions[] = { { "get", "NAME", 1, 1, get } };

static int run_conf(int argc, char **argv)
{
    struct query query;

    return query_run_action(&command_conf, actions, &query, argc, argv, NULL, NULL);
}

const struct command command_conf = {
    .name = "conf",
    .usage = "get NAME [OPTION]...",
    .summary = "Show the value of a setting in the running daemon",
    .help =
        "The value is that of the start: the configured one, or the default. Sizes are in bytes. An item of a list\n"
        "has its index as name, such as rule-files.0.",
    .options = options,
    .argument = CLI_ARGUMENT_WORDS,
    .words = words,
    .run = run_conf,
};
