/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice queues`: a line for each queue of the daemon. */
#include "ask.h"

#include <inttypes.h>

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    ASK_ROW_JSON,
    { .name = NULL },
};

static void print(const struct control_value *message)
{
    static const char *const columns[] = { "queue",        "packets",    "accepted",   "dropped",
                                           "repeated",     "routed",     "waiting",    "queue_dropped",
                                           "user_dropped", "age_p50_us", "age_p99_us", "age_max_us" };
    const size_t count = sizeof(columns) / sizeof(columns[0]);

    for (size_t i = 0; i < count; i++)
        printf("%14s%s", columns[i], i + 1 < count ? "" : "\n");
    for (size_t row = 0; row < control_value_count(message); row++) {
        for (size_t i = 0; i < count; i++)
            printf("%14" PRId64 "%s", ask_number(control_value_item(message, row), columns[i]),
                   i + 1 < count ? "" : "\n");
    }
}

static int run(int argc, char **argv)
{
    return ask_simple(&command_queues, "queues", argc, argv, print);
}

const struct command command_queues = {
    .name = "queues",
    .usage = "[OPTION]...",
    .summary = "Asks the running daemon for the counters of its queues",
    .help = "queue_dropped are packets that found the queue full, user_dropped those that the socket had no room for. "
            "The ages are how long packets waited for their verdicts, in microseconds.",
    .options = options,
    .run = run,
};
