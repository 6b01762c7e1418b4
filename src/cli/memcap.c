/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice memcap`: shows and changes the memcaps of the running daemon. */
#include "query.h"

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static void print_list(const struct control_value *message)
{
    static const struct query_column columns[] = {
        { "name", NULL, true },
        { "value", NULL, true },
        { "setting", NULL, true },
    };

    (void)query_print_table(message, columns, sizeof(columns) / sizeof(columns[0]));
}

static int list(struct query *query, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    query_begin(query, "memcap-list");
    return query_send_and_print(query, QUERY_SECONDS, print_list);
}

static int set(struct query *query, int count, char **arguments)
{
    (void)count;
    query_begin(query, "memcap-set");
    json_string(&query->request, "config", arguments[0]);
    json_string(&query->request, "memcap", arguments[1]);
    return query_send_and_print(query, QUERY_SECONDS, query_print_text);
}

static const char *const words[] = { "list", "set", NULL };
static const struct query_action actions[] = {
    { "list", "", 0, 0, list },
    { "set", "NAME SIZE", 2, 2, set },
};

static int run_memcap(int argc, char **argv)
{
    struct query query;

    return query_run_action(&command_memcap, actions, &query, argc, argv, NULL, NULL);
}

const struct command command_memcap = {
    .name = "memcap",
    .usage = "list|set [NAME SIZE] [OPTION]...",
    .summary = "Show and change memory limits of the running daemon",
    .help =
        "list  show the memcaps, by the names of Suricata, and the setting of each\n"
        "set   change a memcap, by its name or setting, to a size such as 64mb or 1gb, until the next start\n"
        "\n"
        "A size below the memory in use is refused, and one above four times the configured size. `sluice upgrade`\n"
        "keeps the change, unless the setting has changed in the configuration. The next start, and an engine that\n"
        "replaces a crashed one, read the configuration.",
    .options = options,
    .argument = CLI_ARGUMENT_WORDS,
    .words = words,
    .run = run_memcap,
};
