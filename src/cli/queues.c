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
        { .key = "queue" },        { .key = "packets" },    { .key = "accepted" },   { .key = "dropped" },
        { .key = "repeated" },     { .key = "routed" },     { .key = "waiting" },    { .key = "queue_dropped" },
        { .key = "user_dropped" }, { .key = "age_p50_us" }, { .key = "age_p99_us" }, { .key = "age_max_us" },
    };

    (void)query_print_table(message, columns, sizeof(columns) / sizeof(columns[0]));
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
