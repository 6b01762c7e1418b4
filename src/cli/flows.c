/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice flows`: lists the flows of the daemon. A reply contains one page of flows, so several requests may be needed.
 */
#include "query.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPTION_LIMIT = QUERY_OPTION_OWN,
    PAGE = 1024,
    DEFAULT_LIMIT = 1000,
    CURSOR_SIZE = 64,
    PAGE_SECONDS = 30,
    MAX_PAGES = 1 << 20
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_LIMIT,
      .letter = 'n',
      .name = "limit",
      .argument = "NUMBER",
      .help = "show at most NUMBER flows (1 to 1073741824; default 1000)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    unsigned long limit;
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_LIMIT)
        return query_handle_option(&arguments->query, option, value);
    return cli_number(&command_flows, option, value, 1, 1UL << 30, &arguments->limit);
}

static void print_end(const struct control_value *flow, const char *address, const char *port, char *out, size_t size)
{
    const char *text = query_string(flow, address);
    bool brackets = strchr(text, ':') != NULL;

    if (control_value_member(flow, port))
        snprintf(out, size, "%s%s%s:%" PRId64, brackets ? "[" : "", text, brackets ? "]" : "",
                 query_number(flow, port));
    else
        snprintf(out, size, "%s", text);
}

static void print_flow(const struct control_value *flow)
{
    const struct control_value *counts = control_value_member(flow, "flow");
    char client[80], server[80];

    print_end(flow, "src_ip", "src_port", client, sizeof(client));
    print_end(flow, "dest_ip", "dest_port", server, sizeof(server));
    printf("%-5s %21s -> %-21s %-9s %-11s %-11s %11" PRId64 " %11" PRId64 "\n", query_string(flow, "proto"), client,
           server, query_string(flow, "app_proto"), query_string(counts, "state"), query_string(flow, "verdict"),
           query_number(counts, "pkts_toserver"), query_number(counts, "pkts_toclient"));
}

static int list(struct arguments *arguments)
{
    struct query *query = &arguments->query;
    /* cursor from the last reply, with which to request the next page; "": the first page */
    char next[CURSOR_SIZE] = "";
    size_t printed = 0;

    for (unsigned page = 0; page < MAX_PAGES && printed < arguments->limit; page++) {
        size_t room = arguments->limit - printed;
        struct control_reply reply;
        int code;

        query_begin(query, "flows");
        json_uint(&query->request, "limit", room < PAGE ? room : PAGE);
        if (next[0])
            json_string(&query->request, "from", next);
        code = query_send(query, PAGE_SECONDS, &reply);
        if (code)
            return code;
        if (page == 0 && !query->json)
            printf("%-5s %21s    %-21s %-9s %-11s %-11s %11s %11s\n", "PROTO", "CLIENT", "SERVER", "APP", "STATE",
                   "VERDICT", "PKTS-TO-SRV", "PKTS-TO-CLI");

        const struct control_value *flows = control_value_member(reply.message, "flows");
        size_t count = control_value_count(flows) < room ? control_value_count(flows) : room;

        for (size_t i = 0; i < count; i++) {
            const struct control_reply flow = { .message = control_value_item(flows, i) };

            if (query->json)
                query_print_json(&flow);
            else
                print_flow(flow.message);
        }
        printed += count;
        snprintf(next, sizeof(next), "%s", query_string(reply.message, "next"));
        query_free_reply(&reply);
        if (!next[0])
            break;
    }
    return EXIT_OK;
}

static int run_flows(int argc, char **argv)
{
    struct arguments arguments = { .limit = DEFAULT_LIMIT };
    struct query *query = &arguments.query;
    int code = query_init(query, &command_flows, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_flows, argc, argv, handle_option, &arguments, &query->input.settings);
    if (code < 0)
        code = list(&arguments);
    query_clear(query);
    return code;
}

const struct command command_flows = {
    .name = "flows",
    .usage = "[OPTION]...",
    .summary = "List the flows of the running daemon",
    .help = "One line per flow: protocol, client, server, application protocol, state, verdict, packets to the server\n"
            "and to the client. With --json one JSON object per line.",
    .options = options,
    .run = run_flows,
};
