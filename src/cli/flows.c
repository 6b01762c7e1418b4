/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice flows`: the flows of the daemon. They are requested page by page. */
#include "ask.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPTION_LIMIT = ASK_OPTION_OWN,
    PAGE = 1024,
    DEFAULT_LIMIT = 1000,
    PLACE_SIZE = 64,
    ANSWER_SECONDS = 30,
    MAX_PAGES = 1 << 20
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    { .id = OPTION_LIMIT,
      .letter = 'n',
      .name = "limit",
      .argument = "NUMBER",
      .help = "show at most NUMBER flows (default 1000)" },
    ASK_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct ask ask;
    unsigned long limit;
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_LIMIT)
        return ask_take_option(&arguments->ask, option, value);
    return cli_number(&command_flows, option, value, 1, 1UL << 30, &arguments->limit);
}

static void print_end(const struct control_value *flow, const char *address, const char *port, char *out, size_t size)
{
    const char *text = ask_string(flow, address);
    bool brackets = strchr(text, ':') != NULL;

    if (control_value_member(flow, port))
        snprintf(out, size, "%s%s%s:%" PRId64, brackets ? "[" : "", text, brackets ? "]" : "", ask_number(flow, port));
    else
        snprintf(out, size, "%s", text);
}

static void print_flow(const struct control_value *flow)
{
    const struct control_value *counts = control_value_member(flow, "flow");
    char client[80], server[80];

    print_end(flow, "src_ip", "src_port", client, sizeof(client));
    print_end(flow, "dest_ip", "dest_port", server, sizeof(server));
    printf("%-5s %21s -> %-21s %-9s %-11s %-11s %11" PRId64 " %11" PRId64 "\n", ask_string(flow, "proto"), client,
           server, ask_string(flow, "app_proto"), ask_string(counts, "state"), ask_string(flow, "verdict"),
           ask_number(counts, "pkts_toserver"), ask_number(counts, "pkts_toclient"));
}

static void print_header(void)
{
    printf("%-5s %21s    %-21s %-9s %-11s %-11s %11s %11s\n", "PROTO", "CLIENT", "SERVER", "APP", "STATE", "VERDICT",
           "PKTS-TO-SRV", "PKTS-TO-CLI");
}

/* Returns the number of flows that were printed. */
static size_t print_page(const struct arguments *arguments, const struct control_reply *reply, size_t room)
{
    const struct control_value *flows = control_value_member(reply->message, "flows");
    size_t count = control_value_count(flows) < room ? control_value_count(flows) : room;

    for (size_t i = 0; i < count; i++) {
        const struct control_reply line = { .message = control_value_item(flows, i) };

        if (arguments->ask.json)
            ask_print_json(&line);
        else
            print_flow(line.message);
    }
    return count;
}

static int list(struct arguments *arguments)
{
    char from[PLACE_SIZE] = "";
    size_t told = 0;

    for (unsigned page = 0; page < MAX_PAGES && told < arguments->limit; page++) {
        size_t room = arguments->limit - told;
        struct control_reply reply;
        int code;

        ask_begin(&arguments->ask, "flows");
        json_uint(&arguments->ask.request, "limit", room < PAGE ? room : PAGE);
        if (from[0])
            json_string(&arguments->ask.request, "from", from);
        code = ask_send(&arguments->ask, ANSWER_SECONDS, &reply);
        if (code)
            return code;
        if (page == 0 && !arguments->ask.json)
            print_header();
        told += print_page(arguments, &reply, room);
        snprintf(from, sizeof(from), "%s", ask_string(reply.message, "next"));
        ask_free_reply(&reply);
        if (!from[0])
            return EXIT_OK;
    }
    return EXIT_OK;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .limit = DEFAULT_LIMIT };
    int first, code = ask_init(&arguments.ask, &command_flows, argc);

    if (code)
        return code;
    code = cli_parse(&command_flows, argc, argv, take_option, &arguments, &arguments.ask.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(&command_flows, "unexpected argument '%s'", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = list(&arguments);
    ask_clear(&arguments.ask);
    return code;
}

const struct command command_flows = {
    .name = "flows",
    .usage = "[OPTION]...",
    .summary = "List the flows of the running daemon",
    .help = "One line per flow: protocol, client, server, application protocol, state, verdict, packets to the server\n"
            "and to the client. With --json one JSON object per line.",
    .options = options,
    .run = run,
};
