/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice rules`: lists the rules that the daemon has loaded or could not load. A reply contains one page of rules, so
 * several requests may be needed. */
#include "query.h"
#include "table.h"

#include <inttypes.h>

enum {
    OPTION_FAILED = QUERY_OPTION_OWN,
    OPTION_LIMIT,
    PAGE = 1024,
    PAGE_SECONDS = 30,
    PLACE_SIZE = 512,
    ID_SIZE = 32,
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_FAILED,
      .letter = 'f',
      .name = "failed",
      .help = "list the rules and rule files that were left out, each with the reason" },
    { .id = OPTION_LIMIT,
      .letter = 'n',
      .name = "limit",
      .argument = "NUMBER",
      .help = "list at most NUMBER rules (1 to 1073741824; default: all)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    unsigned long limit;
    bool failed;
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id == OPTION_LIMIT)
        return cli_number(&command_rules, option, value, 1, 1UL << 30, &arguments->limit);
    if (option->id != OPTION_FAILED)
        return query_handle_option(&arguments->query, option, value);
    arguments->failed = true;
    return 0;
}

static const struct cli_table_column loaded_columns[] = {
    { "RULE", 0 },
    { "ACTION", 0 },
    { "PLACE", 0 },
    { "MESSAGE", TABLE_TRIM },
};
static const struct cli_table_column failed_columns[] = {
    { "KIND", 0 },
    { "RULE", 0 },
    { "PLACE", 0 },
    { "REASON", TABLE_TRIM },
};

static struct cli_table *new_table(bool failed)
{
    return cli_table_new(failed ? failed_columns : loaded_columns, sizeof(loaded_columns) / sizeof(loaded_columns[0]));
}

static void add_rule(struct cli_table *table, const struct control_value *rule, bool failed)
{
    char place[PLACE_SIZE], id[ID_SIZE] = "-";

    if (control_value_member(rule, "line"))
        snprintf(place, sizeof(place), "%s:%" PRId64, query_string(rule, "file"), query_number(rule, "line"));
    else
        snprintf(place, sizeof(place), "%s", query_string(rule, "file"));
    if (control_value_member(rule, "signature_id"))
        snprintf(id, sizeof(id), "%" PRId64 ":%" PRId64, query_number(rule, "gid"), query_number(rule, "signature_id"));
    cli_table_add_row(table);
    cli_table_set(table, 0, "%s", failed ? query_string(rule, "kind") : id);
    cli_table_set(table, 1, "%s", failed ? id : query_string(rule, "action"));
    cli_table_set(table, 2, "%s", place);
    cli_table_set(table, 3, "%s", query_string(rule, failed ? "reason" : "signature"));
}

static void print_head(const struct arguments *arguments, const struct control_value *message)
{
    if (arguments->failed)
        printf("{\"failed\":%" PRId64 ",\"skipped\":%" PRId64 ",\"files_failed\":%" PRId64 ",\"rules\":[",
               query_number(message, "failed"), query_number(message, "skipped"),
               query_number(message, "files_failed"));
    else
        printf("{\"loaded\":%" PRId64 ",\"rules\":[", query_number(message, "loaded"));
}

static void print_tail(const struct arguments *arguments, const struct control_value *message, size_t listed)
{
    int64_t failed = query_number(message, "failed"), skipped = query_number(message, "skipped"),
            files = query_number(message, "files_failed");

    if (arguments->query.json) {
        puts("]}");
        return;
    }
    if (!arguments->failed)
        return;
    printf("%" PRId64 " rules with mistakes, %" PRId64 " skipped, %" PRId64 " unread files\n", failed, skipped, files);
    if ((uint64_t)(failed + skipped + files) > listed)
        printf("%" PRId64 " of them are not listed\n", failed + skipped + files - (int64_t)listed);
}

static int list(struct arguments *arguments)
{
    struct cli_table *table = arguments->query.json ? NULL : new_table(arguments->failed);
    size_t listed = 0;
    bool more = true;
    int code = EXIT_OK;

    while (more) {
        size_t room = arguments->limit - listed;
        struct control_reply reply;

        query_begin(&arguments->query, arguments->failed ? "failed-rules" : "rules");
        json_uint(&arguments->query.request, "from", listed);
        json_uint(&arguments->query.request, "limit", room < PAGE ? room : PAGE);
        code = query_send(&arguments->query, PAGE_SECONDS, &reply);
        if (code)
            break;

        const struct control_value *rules = control_value_member(reply.message, "rules");
        size_t count = control_value_count(rules);

        if (listed == 0 && arguments->query.json)
            print_head(arguments, reply.message);
        for (size_t i = 0; i < count; i++, listed++) {
            const struct control_reply rule = { .message = control_value_item(rules, i) };

            if (arguments->query.json)
                printf("%s%s", listed > 0 ? ",\n" : "", control_reply_text(&rule));
            else
                add_rule(table, rule.message, arguments->failed);
        }
        more = count > 0 && listed < arguments->limit && control_value_member(reply.message, "next");
        if (!more && !arguments->query.json)
            code = cli_table_print(table);
        if (!more)
            print_tail(arguments, reply.message, listed);
        query_free_reply(&reply);
    }
    cli_table_free(table);
    return code;
}

static int run_rules(int argc, char **argv)
{
    struct arguments arguments = { .limit = 1UL << 30 };
    struct query *query = &arguments.query;
    int code = query_init(query, &command_rules, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_rules, argc, argv, handle_option, &arguments, &query->input.settings);
    if (code < 0)
        code = list(&arguments);
    query_clear(query);
    return code;
}

const struct command command_rules = {
    .name = "rules",
    .usage = "[OPTION]...",
    .summary = "List the rules that the daemon has loaded, or left out",
    .help = "Prints a table of the loaded rules: gid:sid, action, file:line, message. With --failed it prints one "
            "line for each\n"
            "rule that was left out when the rules were last loaded: whether it is a mistake (the rule must be "
            "corrected) or\n"
            "unsupported (Suricata or Snort has the feature, Sluice lacks it) or for another version (requires), "
            "gid:sid,\n"
            "file:line, reason; and one line for each rule file that could not be read. The daemon keeps the reasons "
            "of the first 16,384 and counts the others.",
    .options = options,
    .run = run_rules,
};
