/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the daemon over its control socket: the socket's path is taken from --socket, otherwise from the
 * configuration. */
#include "query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/daemon.h"
#include "table.h"

int query_init(struct query *query, const struct command *command, int argc)
{
    *query = (struct query){ .json = false };
    text_init(&query->request);
    if (cli_input_init(&query->input, command, argc))
        return EXIT_FAILED;
    query->input.skip_consistency_check = true;
    return 0;
}

void query_clear(struct query *query)
{
    cli_input_clear(&query->input);
    text_clear(&query->request);
}

int query_handle_option(struct query *query, const struct cli_option *option, const char *value)
{
    if (option->id != QUERY_OPTION_JSON)
        return cli_input_handle_option(&query->input, option, value);
    query->json = true;
    return 0;
}

void query_begin(struct query *query, const char *command)
{
    text_reset(&query->request);
    query->request.need_comma = false;
    json_object_open(&query->request, NULL);
    json_string(&query->request, "command", command);
    json_object_open(&query->request, "arguments");
}

int query_socket_path(const struct query *query, char path[QUERY_PATH_SIZE])
{
    struct diag *diag = diag_new();
    struct config *config = NULL;
    int code = diag ? cli_load_config(&query->input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag) : EXIT_FAILED;

    /* Mistakes in the configuration are not printed: the daemon has reported them at its start. But a file that was
     * named and cannot be read (an error of the whole file, line 0) does not name the socket. */
    for (size_t i = 0; !code && query->input.config_file && i < diag_count(diag); i++) {
        const struct diag_entry *entry = diag_get(diag, i);

        if (entry->severity == DIAG_ERROR && entry->line == 0) {
            diag_print_entry(entry, stderr, isatty(STDERR_FILENO));
            code = EXIT_FAILED;
        }
    }

    if (!code) {
        struct daemon_options options;

        config_fill(config, daemon_settings, NULL, &options);
        const char *name = options.control_name;

        snprintf(path, QUERY_PATH_SIZE, "%s%s", strchr(name, '/') ? "" : SLUICE_RUNDIR "/", name);
    }
    config_free(config);
    diag_free(diag);
    return code;
}

int query_send(struct query *query, unsigned seconds, struct control_reply *reply)
{
    char path[QUERY_PATH_SIZE], error[CONTROL_ERROR_SIZE];
    int code = query_socket_path(query, path);

    if (code)
        return code;
    json_object_close(&query->request);
    json_object_close(&query->request);
    if (control_send_request(path, &query->request, seconds, reply, error) == 0)
        return 0;
    cli_error(query->input.command, "%s", error);
    return EXIT_FAILED;
}

void query_free_reply(struct control_reply *reply)
{
    control_value_free(reply->whole);
}

int query_print_json(const struct control_reply *reply)
{
    return puts(control_reply_text(reply)) < 0 ? EXIT_FAILED : EXIT_OK;
}

int query_send_and_print(struct query *query, unsigned seconds, void (*print)(const struct control_value *message))
{
    struct control_reply reply;
    int code = query_send(query, seconds, &reply);

    if (code)
        return code;
    if (query->json)
        code = query_print_json(&reply);
    else
        print(reply.message);
    query_free_reply(&reply);
    return code;
}

int64_t query_number(const struct control_value *value, const char *name)
{
    int64_t number = 0;

    control_value_number(control_value_member(value, name), &number);
    return number;
}

const char *query_string(const struct control_value *value, const char *name)
{
    const char *string = control_value_string(control_value_member(value, name));

    return string ? string : "";
}

int query_print_table(const struct control_value *list, const struct query_column *columns, size_t count)
{
    struct cli_table_column *titles = calloc(count, sizeof(*titles));
    struct cli_table *table = NULL;
    int code;

    for (size_t i = 0; titles && i < count; i++)
        titles[i] = (struct cli_table_column){ columns[i].title ? columns[i].title : columns[i].key,
                                               columns[i].is_text ? TABLE_TRIM : TABLE_RIGHT };
    if (titles)
        table = cli_table_new(titles, count);
    for (size_t row = 0; row < control_value_count(list); row++) {
        const struct control_value *object = control_value_item(list, row);

        cli_table_add_row(table);
        for (size_t i = 0; i < count; i++) {
            if (columns[i].is_text)
                cli_table_set(table, i, "%s", query_string(object, columns[i].key));
            else
                cli_table_set(table, i, "%" PRId64, query_number(object, columns[i].key));
        }
    }
    code = cli_table_print(table);
    cli_table_free(table);
    free(titles);
    return code;
}

void query_print_text(const struct control_value *message)
{
    const struct control_reply reply = { .message = message };
    const char *text = control_value_string(message);

    puts(text ? text : control_reply_text(&reply));
}

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    return query_handle_option(user, option, value);
}

int query_simple(const struct command *command, unsigned seconds, int argc, char **argv,
                 void (*print)(const struct control_value *message))
{
    struct query query;
    int code = query_init(&query, command, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(command, argc, argv, handle_option, &query, &query.input.settings);
    if (code < 0) {
        query_begin(&query, command->name);
        code = query_send_and_print(&query, seconds, print);
    }
    query_clear(&query);
    return code;
}

int query_run_action(const struct command *command, const struct query_action *actions, struct query *query, int argc,
                     char **argv, int (*handle)(void *user, const struct cli_option *option, const char *value),
                     void *user)
{
    struct cli_actions known = { .names = command->words };
    const struct query_action *action;
    size_t found;
    int first, count, code = query_init(query, command, argc);

    if (code)
        return code;
    code = cli_parse(command, argc, argv, handle ? handle : handle_option, handle ? user : query,
                     &query->input.settings, &first);
    if (code < 0) {
        while (known.names[known.count])
            known.count++;
        code = cli_find_action(command, &known, first < argc ? argv[first] : NULL, &found);
        if (code == EXIT_OK) {
            action = &actions[found];
            count = argc - first - 1;
            if (count >= action->low && count <= action->high) {
                code = action->run(query, count, argv + first + 1);
            } else {
                cli_error(command, count > action->high ? "unexpected argument '%s': %s %s" : "'%s' needs more: %s %s",
                          count > action->high ? argv[first + 1 + action->high] : action->name, action->name,
                          action->arguments);
                code = EXIT_USAGE;
            }
        }
    }
    query_clear(query);
    return code;
}
