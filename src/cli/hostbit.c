/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice hostbit`: shows and changes the bits that rules set on hosts. */
#include "query.h"

#include <string.h>

enum { OPTION_FOR = QUERY_OPTION_OWN, DEFAULT_SECONDS = 300 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_FOR,
      .letter = 'f',
      .name = "for",
      .argument = "TIME",
      .help = "with add: clear the bit after TIME, 1s to 4294967295s, such as 90s, 10m or 1d (default 300s)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query; /* the first member: actions get a pointer to it */
    uint64_t seconds;   /* 0: --for is not given */
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_FOR)
        return query_handle_option(&arguments->query, option, value);
    if (config_duration(value, &arguments->seconds) && arguments->seconds > 0 && arguments->seconds <= UINT32_MAX)
        return 0;
    cli_error(&command_hostbit, "--for: '%s' is not a time from 1s to 4294967295s (90s, 10m, 1d)", value);
    return EXIT_USAGE;
}

static void print_list(const struct control_value *message)
{
    static const struct query_column columns[] = {
        { "name", NULL, true },
        { "expire", "seconds", false },
    };

    (void)query_print_table(control_value_member(message, "hostbits"), columns, sizeof(columns) / sizeof(columns[0]));
}

/* Returns false, with an error, if an option is given that only `add` has. */
static bool check_options(const struct query *query, const char *word)
{
    if (((const struct arguments *)query)->seconds == 0)
        return true;
    cli_error(&command_hostbit, "--for applies to add, not to %s", word);
    return false;
}

static int list(struct query *query, int count, char **arguments)
{
    (void)count;
    if (!check_options(query, "list"))
        return EXIT_USAGE;
    query_begin(query, "list-hostbit");
    json_string(&query->request, "ipaddress", arguments[0]);
    return query_send_and_print(query, QUERY_SECONDS, print_list);
}

static int add(struct query *query, int count, char **arguments)
{
    const uint64_t seconds = ((const struct arguments *)query)->seconds;

    (void)count;
    query_begin(query, "add-hostbit");
    json_string(&query->request, "ipaddress", arguments[0]);
    json_string(&query->request, "hostbit", arguments[1]);
    json_uint(&query->request, "expire", seconds > 0 ? seconds : DEFAULT_SECONDS);
    return query_send_and_print(query, QUERY_SECONDS, query_print_text);
}

static int remove_bit(struct query *query, int count, char **arguments)
{
    (void)count;
    if (!check_options(query, "remove"))
        return EXIT_USAGE;
    query_begin(query, "remove-hostbit");
    json_string(&query->request, "ipaddress", arguments[0]);
    json_string(&query->request, "hostbit", arguments[1]);
    return query_send_and_print(query, QUERY_SECONDS, query_print_text);
}

static const char *const words[] = { "list", "add", "remove", NULL };
static const struct query_action actions[] = {
    { "list", "ADDRESS", 1, 1, list },
    { "add", "ADDRESS NAME", 2, 2, add },
    { "remove", "ADDRESS NAME", 2, 2, remove_bit },
};

static int run_hostbit(int argc, char **argv)
{
    struct arguments arguments = { .seconds = 0 };

    return query_run_action(&command_hostbit, actions, &arguments.query, argc, argv, handle_option, &arguments);
}

const struct command command_hostbit = {
    .name = "hostbit",
    .usage = "list|add|remove ADDRESS [NAME] [OPTION]...",
    .summary = "Show and change the bits that rules set on hosts",
    .help = "list    show the bits of a host, and the seconds until each is cleared\n"
            "add     set a bit on a host\n"
            "remove  clear a bit of a host\n"
            "\n"
            "The bits are those of the keyword hostbits, and of xbits with track ip_src or ip_dst. A loaded rule must\n"
            "have the name.",
    .options = options,
    .argument = CLI_ARGUMENT_WORDS,
    .words = words,
    .run = run_hostbit,
};
