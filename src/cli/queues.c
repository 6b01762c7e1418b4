/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice queues`: prints one line of counters per queue. */
#include "query.h"

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static void print(const struct control_value *message)
{
    static const struct query_column columns[] = {
        { "queue", NULL, 5 },       { "packets", NULL, 14 },       { "accepted", NULL, 14 },
        { "dropped", NULL, 13 },    { "repeated", NULL, 13 },      { "routed", NULL, 13 },
        { "waiting", NULL, 13 },    { "queue_dropped", NULL, 13 }, { "user_dropped", NULL, 13 },
        { "age_p50_us", NULL, 13 }, { "age_p99_us", NULL, 13 },    { "age_max_us", NULL, 13 },
    };

    query_print_table(message, columns, sizeof(columns) / sizeof(columns[0]));
}

static int run_queues(int argc, char **argv)
{
    return query_simple(&command_queues, QUERY_SECONDS, argc, argv, print);
}

const struct command command_queues = {
    .name = "queues",
    .usage = "[OPTION]...",
    .summary = "Show the counters of the queues",
    .help = "queue_dropped counts packets that the kernel dropped because the queue was full, user_dropped those that "
            "did not fit into\n"
            "the buffer of the socket. The ages are the times that packets waited for their verdicts, in microseconds.",
    .options = options,
    .run = run_queues,
};
