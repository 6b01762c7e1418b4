/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice flows`: lists the flows of the daemon. A reply contains one page of flows, so several requests may be needed.
 */
#include "query.h"
#include "table.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPTION_LIMIT = QUERY_OPTION_OWN,
    PAGE = 1024,
    DEFAULT_LIMIT = 1000,
    CURSOR_SIZE = 64,
    PAGE_SECONDS = 30,
    MAX_PAGES = 1 << 20,
    TABLE_ROWS = 1 << 16
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

static const struct cli_table_column columns[] = {
    { "PROTO", 0 },
    { "CLIENT", 0 },
    { "", 0 },
    { "SERVER", 0 },
    { "APP", 0 },
    { "STATE", 0 },
    { "VERDICT", 0 },
    { "PKTS-TO-SRV", TABLE_RIGHT },
    { "PKTS-TO-CLI", TABLE_RIGHT },
};

static void add_flow(struct cli_table *table, const struct control_value *flow)
{
    const struct control_value *counts = control_value_member(flow, "flow");
    char client[80], server[80];

    print_end(flow, "src_ip", "src_port", client, sizeof(client));
    print_end(flow, "dest_ip", "dest_port", server, sizeof(server));
    cli_table_add_row(table);
    cli_table_set(table, 0, "%s", query_string(flow, "proto"));
    cli_table_set(table, 1, "%s", client);
    cli_table_set(table, 2, "->");
    cli_table_set(table, 3, "%s", server);
    cli_table_set(table, 4, "%s", query_string(flow, "app_proto"));
    cli_table_set(table, 5, "%s", query_string(counts, "state"));
    cli_table_set(table, 6, "%s", query_string(flow, "verdict"));
    cli_table_set(table, 7, "%" PRId64, query_number(counts, "pkts_toserver"));
    cli_table_set(table, 8, "%" PRId64, query_number(counts, "pkts_toclient"));
}

static int list(struct arguments *arguments)
{
    struct query *query = &arguments->query;
    /* cursor from the last reply, with which to request the next page; "": the first page */
    char next[CURSOR_SIZE] = "";
    struct cli_table *table = query->json ? NULL : cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
    size_t printed = 0;
    int code = EXIT_OK;

    for (unsigned page = 0; page < MAX_PAGES && printed < arguments->limit; page++) {
        size_t room = arguments->limit - printed;
        struct control_reply reply;

        query_begin(query, "flows");
        json_uint(&query->request, "limit", room < PAGE ? room : PAGE);
        if (next[0])
            json_string(&query->request, "from", next);
        code = query_send(query, PAGE_SECONDS, &reply);
        if (code)
            break;

        const struct control_value *flows = control_value_member(reply.message, "flows");
        size_t count = control_value_count(flows) < room ? control_value_count(flows) : room;

        for (size_t i = 0; i < count; i++) {
            const struct control_reply flow = { .message = control_value_item(flows, i) };

            if (query->json)
                query_print_json(&flow);
            else
                add_flow(table, flow.message);
        }
        printed += count;
        snprintf(next, sizeof(next), "%s", query_string(reply.message, "next"));
        query_free_reply(&reply);
        if (!next[0])
            break;
        /* To limit memory, the list is printed in parts, each with its own headings and column widths. */
        if (cli_table_count(table) >= TABLE_ROWS) {
            code = cli_table_print(table);
            cli_table_free(table);
            table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
        }
    }
    if (code == EXIT_OK && !query->json)
        code = cli_table_print(table);
    cli_table_free(table);
    return code;
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
