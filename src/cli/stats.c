/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice stats`: all counters of the daemon, by their names in EVE's stats event. */
#include "ask.h"

#include <inttypes.h>
#include <string.h>

enum { OPTION_ALL = ASK_OPTION_OWN, NAME_SIZE = 256, NAME_COLUMN = 48, MAX_DEPTH = 8, ANSWER_SECONDS = 10 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    { .id = OPTION_ALL, .letter = 'a', .name = "all", .help = "also the counters that are 0" },
    ASK_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct ask ask;
    bool all;
    char **names; /* the beginnings that are wanted; NULL-terminated */
};

/* The name so far of what is printed. */
struct printer {
    const struct arguments *arguments;
    char name[NAME_SIZE];
    unsigned depth;
};

static bool is_wanted(const struct arguments *arguments, const char *name)
{
    if (!arguments->names[0])
        return true;
    for (char **wanted = arguments->names; *wanted; wanted++) {
        size_t length = strlen(*wanted);

        if (strncmp(name, *wanted, length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return false;
}

static void print_member(const char *key, const struct control_value *value, void *user)
{
    struct printer *printer = user;
    size_t length = strlen(printer->name);
    int64_t number;

    snprintf(printer->name + length, sizeof(printer->name) - length, "%s%s", length > 0 ? "." : "", key);
    if (control_value_is_array(value))
        value = control_value_item(value, 0);
    if (control_value_is_object(value) && printer->depth < MAX_DEPTH) {
        printer->depth++;
        control_value_each(value, print_member, printer);
        printer->depth--;
    } else if (control_value_number(value, &number) && (number != 0 || printer->arguments->all) &&
               is_wanted(printer->arguments, printer->name)) {
        printf("%-*s %" PRId64 "\n", NAME_COLUMN, printer->name, number);
    }
    printer->name[length] = '\0';
}

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_ALL)
        return ask_take_option(&arguments->ask, option, value);
    arguments->all = true;
    return 0;
}

static int ask_and_print(struct arguments *arguments)
{
    struct control_reply reply;
    int code;

    ask_begin(&arguments->ask, "stats");
    code = ask_send(&arguments->ask, ANSWER_SECONDS, &reply);
    if (code)
        return code;
    if (arguments->ask.json) {
        code = ask_print_json(&reply);
    } else {
        struct printer printer = { .arguments = arguments };

        control_value_each(reply.message, print_member, &printer);
    }
    ask_free_reply(&reply);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .all = false };
    int first, code = ask_init(&arguments.ask, &command_stats, argc);

    if (code)
        return code;
    code = cli_parse(&command_stats, argc, argv, take_option, &arguments, &arguments.ask.input.settings, &first);
    if (code < 0) {
        arguments.names = argv + first;
        code = ask_and_print(&arguments);
    }
    ask_clear(&arguments.ask);
    return code;
}

const struct command command_stats = {
    .name = "stats",
    .usage = "[OPTION]... [NAME]...",
    .summary = "Asks the running daemon for its counters",
    .help = "Names are those of EVE's stats event; a name stands for all below it: `sluice stats ips queue.0`.",
    .options = options,
    .run = run,
};
