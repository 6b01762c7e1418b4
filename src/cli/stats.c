/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice stats`: prints the counters of the daemon, with their names in EVE's stats event. */
#include "query.h"

#include <inttypes.h>
#include <string.h>

#include "sluice/counter.h"
#include "sluice/metrics.h"

enum { OPTION_ALL = QUERY_OPTION_OWN, OPTION_DESCRIBE, NAME_SIZE = 256, NAME_COLUMN = 48, MAX_DEPTH = 8 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_ALL, .letter = 'a', .name = "all", .help = "show also the counters that are 0" },
    { .id = OPTION_DESCRIBE,
      .letter = 'd',
      .name = "describe",
      .help = "explain the counters, with unit and metric of Prometheus, instead of querying the daemon" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    bool all, describe;
    char **names; /* counters or groups of counters to print; NULL-terminated; an empty list selects all counters */
};

struct printer {
    const struct arguments *arguments;
    char name[NAME_SIZE]; /* full name of the current member */
    unsigned depth;
    size_t printed;
    struct text json;
};

static bool is_selected(const struct arguments *arguments, const char *name)
{
    if (!arguments->names[0])
        return true;
    for (char **selected = arguments->names; *selected; selected++) {
        size_t length = strlen(*selected);

        if (strncmp(name, *selected, length) == 0 && (name[length] == '\0' || name[length] == '.'))
            return true;
    }
    return false;
}

/* Returns whether the command line has the counter's full name; such a counter is printed even if it is 0. */
static bool is_named(const struct arguments *arguments, const char *name)
{
    for (char **selected = arguments->names; *selected; selected++) {
        if (strcmp(name, *selected) == 0)
            return true;
    }
    return false;
}

/* Appends the key of a member to printer->name. Returns the previous length of the name, to which pop_key() truncates
 * it again. */
static size_t push_key(struct printer *printer, const char *key)
{
    size_t length = strlen(printer->name);

    snprintf(printer->name + length, sizeof(printer->name) - length, "%s%s", length > 0 ? "." : "", key);
    return length;
}

static void pop_key(struct printer *printer, size_t length)
{
    printer->name[length] = '\0';
}

static void print_member(const char *key, const struct control_value *value, void *user)
{
    struct printer *printer = user;
    size_t length = push_key(printer, key);
    int64_t number;

    if (control_value_is_array(value))
        value = control_value_item(value, 0);
    if (control_value_is_object(value) && printer->depth < MAX_DEPTH) {
        printer->depth++;
        control_value_each(value, print_member, printer);
        printer->depth--;
    } else if (control_value_number(value, &number) && is_selected(printer->arguments, printer->name) &&
               (number != 0 || printer->arguments->all || is_named(printer->arguments, printer->name))) {
        printf("%-*s %" PRId64 "\n", NAME_COLUMN, printer->name, number);
        printer->printed++;
    }
    pop_key(printer, length);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

/* Returns whether one of the selected counters is below the object `name`. */
static bool is_above_selected(const struct arguments *arguments, const char *name)
{
    size_t length = strlen(name);

    for (char **selected = arguments->names; *selected; selected++) {
        if (strncmp(name, *selected, length) == 0 && (*selected)[length] == '.')
            return true;
    }
    return false;
}

static void write_member(const char *key, const struct control_value *value, void *user)
{
    struct printer *printer = user;
    size_t length = push_key(printer, key);

    if (control_value_is_array(value) && is_above_selected(printer->arguments, printer->name))
        value = control_value_item(value, 0);
    if (is_selected(printer->arguments, printer->name)) {
        const struct control_reply member = { .message = value };

        json_key(&printer->json, key, strlen(key));
        text_puts(&printer->json, control_reply_text(&member));
        printer->json.need_comma = true;
    } else if (is_above_selected(printer->arguments, printer->name) && printer->depth < MAX_DEPTH) {
        json_object_open(&printer->json, key);
        printer->depth++;
        control_value_each(value, write_member, printer);
        printer->depth--;
        json_object_close(&printer->json);
    }
    pop_key(printer, length);
}

/* --- Description ---------------------------------------------------------------------------------- */

/* Returns whether a name on the command line selects the row: its pattern, a counter that matches it, or a group. */
static bool selects_row(const char *name, const struct counter *row)
{
    const char *parts[COUNTER_LABELS];
    size_t lengths[COUNTER_LABELS], length = strlen(name);

    return (strncmp(row->name, name, length) == 0 && (row->name[length] == '\0' || row->name[length] == '.')) ||
           (counter_find(name) == row && counter_match(row->name, name, parts, lengths));
}

static int describe(const struct arguments *arguments)
{
    char metric[METRICS_NAME_SIZE];
    struct text json;

    for (char **name = arguments->names; *name; name++) {
        const struct counter *row = counter_table;

        while (row->name && !selects_row(*name, row))
            row++;
        if (!row->name) {
            cli_error(&command_stats, "unknown counter '%s' (`sluice stats --describe` lists all)", *name);
            return EXIT_FAILED;
        }
    }
    text_init(&json);
    json_array_open(&json, NULL);
    for (const struct counter *row = counter_table; row->name; row++) {
        bool selected = !arguments->names[0];

        for (char **name = arguments->names; *name && !selected; name++)
            selected = selects_row(*name, row);
        if (!selected)
            continue;
        metrics_sample_name(row, metric);
        if (!arguments->query.json) {
            printf("%s\n    %s%s%s%s; %s, %s%s%s%s\n", row->name, row->help, *row->unit ? " (" : "", row->unit,
                   *row->unit ? ")" : "", counter_kind_name(row->kind), metric, *row->labels ? " {" : "", row->labels,
                   *row->labels ? "}" : "");
            continue;
        }
        json_object_open(&json, NULL);
        json_string(&json, "name", row->name);
        json_string(&json, "unit", row->unit);
        json_string(&json, "kind", counter_kind_name(row->kind));
        json_string(&json, "metric", metric);
        json_string(&json, "labels", row->labels);
        json_string(&json, "help", row->help);
        json_object_close(&json);
    }
    json_array_close(&json);
    if (arguments->query.json)
        return cli_write(&json);
    text_clear(&json);
    return EXIT_OK;
}

/* --- The command ---------------------------------------------------------------------------------- */

/* Returns whether the message has a counter, or an object of counters, with this name. */
static bool has_counter(const struct control_value *message, const char *name)
{
    char key[NAME_SIZE];

    for (size_t length; *name; name += length + (name[length] == '.')) {
        length = strcspn(name, ".");
        snprintf(key, sizeof(key), "%.*s", (int)length, name);
        if (control_value_is_array(message))
            message = control_value_item(message, 0);
        message = control_value_member(message, key);
        if (!message)
            return false;
    }
    return true;
}

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_ALL:
        arguments->all = true;
        return 0;
    case OPTION_DESCRIBE:
        arguments->describe = true;
        return 0;
    default:
        return query_handle_option(&arguments->query, option, value);
    }
}

static int send_and_print(struct arguments *arguments)
{
    struct printer printer = { .arguments = arguments };
    struct control_reply reply;
    int code;

    query_begin(&arguments->query, "stats");
    code = query_send(&arguments->query, QUERY_SECONDS, &reply);
    if (code)
        return code;
    for (char **name = arguments->names; *name && !code; name++) {
        if (!has_counter(reply.message, *name)) {
            cli_error(&command_stats, "unknown counter '%s' (`sluice stats --all` lists all)", *name);
            code = EXIT_FAILED;
        }
    }
    if (!code && arguments->query.json) {
        text_init(&printer.json);
        json_object_open(&printer.json, NULL);
        control_value_each(reply.message, write_member, &printer);
        json_object_close(&printer.json);
        code = cli_write(&printer.json);
    } else if (!code) {
        control_value_each(reply.message, print_member, &printer);
        if (printer.printed == 0)
            printf("all of these counters are 0 (--all lists them)\n");
    }
    query_free_reply(&reply);
    return code;
}

static int run_stats(int argc, char **argv)
{
    struct arguments arguments = { .all = false };
    int first, code = query_init(&arguments.query, &command_stats, argc);

    if (code)
        return code;
    code = cli_parse(&command_stats, argc, argv, handle_option, &arguments, &arguments.query.input.settings, &first);
    if (code < 0) {
        arguments.names = argv + first;
        code = arguments.describe ? describe(&arguments) : send_and_print(&arguments);
    }
    query_clear(&arguments.query);
    return code;
}

const struct command command_stats = {
    .name = "stats",
    .usage = "[OPTION]... [NAME]...",
    .summary = "Show the counters of the running daemon",
    .help = "A NAME is that of a counter in EVE's stats event, or of a group of counters: `sluice stats ips queue.0`.\n"
            "--describe explains them: a `*` in a name stands for a part that varies, such as the number of a queue.",
    .options = options,
    .run = run_stats,
};
