/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice dataset`: shows and changes the datasets of the running daemon. */
#include "query.h"

#include <inttypes.h>
#include <string.h>

#include "sluice/base64.h"

enum { OPTION_TEXT = QUERY_OPTION_OWN, TYPE_SIZE = 16, DUMP_SECONDS = 60 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_TEXT, .letter = 't', .name = "text", .help = "values of type string are plain text, not Base64" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query; /* the first member: actions get a pointer to it */
    bool text;
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_TEXT)
        return query_handle_option(&arguments->query, option, value);
    arguments->text = true;
    return 0;
}

static void print_list(const struct control_value *message)
{
    static const struct query_column columns[] = {
        { "name", NULL, true },
        { "type", NULL, true },
        { "values", NULL, false },
    };

    (void)query_print_table(message, columns, sizeof(columns) / sizeof(columns[0]));
}

static int list(struct query *query, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    query_begin(query, "datasets");
    return query_send_and_print(query, QUERY_SECONDS, print_list);
}

static int dump(struct query *query, int count, char **arguments)
{
    (void)count;
    (void)arguments;
    query_begin(query, "dataset-dump");
    return query_send_and_print(query, DUMP_SECONDS, query_print_text);
}

/* Gets the type of a dataset, which the requests about values require, from the daemon. Returns an exit code. */
static int get_type(struct query *query, const char *name, char type[TYPE_SIZE])
{
    struct control_reply reply;
    int code;

    query_begin(query, "datasets");
    code = query_send(query, QUERY_SECONDS, &reply);
    if (code)
        return code;
    type[0] = '\0';
    for (size_t i = 0; i < control_value_count(reply.message); i++) {
        const struct control_value *set = control_value_item(reply.message, i);

        if (strcmp(query_string(set, "name"), name) == 0)
            snprintf(type, TYPE_SIZE, "%s", query_string(set, "type"));
    }
    query_free_reply(&reply);
    if (type[0])
        return EXIT_OK;
    cli_error(query->input.command,
              "unknown dataset '%s': no loaded rule or setting defines it (`sluice dataset list`)", name);
    return EXIT_FAILED;
}

static int send_value(struct query *query, const char *command, const char *name, const char *type, const char *value)
{
    struct text encoded;
    int code = EXIT_FAILED;

    text_init(&encoded);
    if (((const struct arguments *)query)->text && strcmp(type, "string") == 0) {
        char *at = text_reserve(&encoded, base64_encoded_size(strlen(value)) + 1);

        if (at) {
            base64_encode((const uint8_t *)value, strlen(value), at);
            text_commit(&encoded, base64_encoded_size(strlen(value)));
        }
    } else {
        text_puts(&encoded, value);
    }
    query_begin(query, command);
    json_string(&query->request, "setname", name);
    json_string(&query->request, "settype", type);
    json_stringn(&query->request, "datavalue", encoded.bytes ? encoded.bytes : "", encoded.length);
    if (encoded.failed)
        cli_error(query->input.command, "out of memory");
    else
        code = query_send_and_print(query, QUERY_SECONDS, query_print_text);
    text_clear(&encoded);
    return code;
}

/* Sends one request for each value, and stops at the first that is refused. */
static int send_values(struct query *query, const char *command, int count, char **arguments)
{
    char type[TYPE_SIZE];
    int code = get_type(query, arguments[0], type);

    for (int i = 1; i < count && code == EXIT_OK; i++)
        code = send_value(query, command, arguments[0], type, arguments[i]);
    return code;
}

static int add(struct query *query, int count, char **arguments)
{
    return send_values(query, "dataset-add", count, arguments);
}

static int remove_values(struct query *query, int count, char **arguments)
{
    return send_values(query, "dataset-remove", count, arguments);
}

static int look_up(struct query *query, int count, char **arguments)
{
    return send_values(query, "dataset-lookup", count, arguments);
}

static int clear(struct query *query, int count, char **arguments)
{
    char type[TYPE_SIZE];
    int code = get_type(query, arguments[0], type);

    (void)count;
    if (code)
        return code;
    query_begin(query, "dataset-clear");
    json_string(&query->request, "setname", arguments[0]);
    json_string(&query->request, "settype", type);
    return query_send_and_print(query, QUERY_SECONDS, query_print_text);
}

enum { MAX_VALUES = 1 << 16 };

static const char *const words[] = { "list", "add", "remove", "lookup", "clear", "dump", NULL };
static const struct query_action actions[] = {
    { "list", "", 0, 0, list },
    { "add", "NAME VALUE...", 2, MAX_VALUES, add },
    { "remove", "NAME VALUE...", 2, MAX_VALUES, remove_values },
    { "lookup", "NAME VALUE...", 2, MAX_VALUES, look_up },
    { "clear", "NAME", 1, 1, clear },
    { "dump", "", 0, 0, dump },
};

static int run_dataset(int argc, char **argv)
{
    struct arguments arguments = { .text = false };

    return query_run_action(&command_dataset, actions, &arguments.query, argc, argv, handle_option, &arguments);
}

const struct command command_dataset = {
    .name = "dataset",
    .usage = "list|add|remove|lookup|clear|dump [NAME] [VALUE]... [OPTION]...",
    .summary = "Show and change the datasets of the running daemon",
    .help =
        "list    show the datasets, the type of each, and the number of its values\n"
        "add     add values\n"
        "remove  remove values\n"
        "lookup  look values up\n"
        "clear   remove all values\n"
        "dump    write the datasets with `save` or `state` to their files\n"
        "\n"
        "A value has the form of a line of a dataset file: Base64 for type string (--text: plain text), hexadecimal\n"
        "for md5 and sha256, an address for ipv4 and ip; \",NUMBER\" after it sets its reputation (datarep). The\n"
        "commands stop at the first value that is refused.",
    .options = options,
    .argument = CLI_ARGUMENT_WORDS,
    .words = words,
    .run = run_dataset,
};
