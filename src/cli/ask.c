/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking the daemon. Where its socket is says --socket, or the configuration. */
#include "ask.h"

#include <inttypes.h>
#include <string.h>

enum { PATH_SIZE = 512, ANSWER_SECONDS = 10 };

int ask_init(struct ask *ask, const struct command *command, int argc)
{
    *ask = (struct ask){ .json = false };
    text_init(&ask->request);
    if (cli_input_init(&ask->input, command, argc))
        return EXIT_FAILED;
    ask->input.no_contradictions = true;
    return 0;
}

void ask_clear(struct ask *ask)
{
    cli_input_clear(&ask->input);
    text_clear(&ask->request);
}

int ask_take_option(struct ask *ask, const struct cli_option *option, const char *value)
{
    if (option->id != ASK_OPTION_JSON)
        return cli_input_take(&ask->input, option, value);
    ask->json = true;
    return 0;
}

void ask_begin(struct ask *ask, const char *command)
{
    text_reset(&ask->request);
    ask->request.need_comma = false;
    json_object_open(&ask->request, NULL);
    json_string(&ask->request, "command", command);
    json_object_open(&ask->request, "arguments");
}

/* Mistakes in the configuration are not this command's business. */
static int socket_path(const struct ask *ask, char path[PATH_SIZE])
{
    struct diag *diag = diag_new();
    struct config *config = NULL;
    const char *name;
    int code = diag ? cli_load_config(&ask->input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag) : EXIT_FAILED;

    if (!code) {
        name = config_string(config, "unix-command.filename");
        snprintf(path, PATH_SIZE, "%s%s", strchr(name, '/') ? "" : SLUICE_RUNDIR "/", name);
    }
    config_free(config);
    diag_free(diag);
    return code;
}

int ask_send(struct ask *ask, unsigned seconds, struct control_reply *reply)
{
    char path[PATH_SIZE], error[CONTROL_ERROR_SIZE];
    int code = socket_path(ask, path);

    if (code)
        return code;
    json_object_close(&ask->request);
    json_object_close(&ask->request);
    if (!control_ask(path, &ask->request, seconds, reply, error))
        return 0;
    cli_error(ask->input.command, "%s", error);
    return EXIT_FAILED;
}

void ask_free_reply(struct control_reply *reply)
{
    control_value_free(reply->whole);
}

int ask_print_json(const struct control_reply *reply)
{
    return puts(control_reply_text(reply)) < 0 ? EXIT_FAILED : EXIT_OK;
}

int64_t ask_number(const struct control_value *value, const char *name)
{
    int64_t number = 0;

    control_value_number(control_value_member(value, name), &number);
    return number;
}

const char *ask_string(const struct control_value *value, const char *name)
{
    const char *string = control_value_string(control_value_member(value, name));

    return string ? string : "";
}

void ask_print_table(const struct control_value *list, const struct ask_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s%*s", i ? " " : "", columns[i].width, columns[i].title ? columns[i].title : columns[i].key);
    putchar('\n');
    for (size_t row = 0; row < control_value_count(list); row++) {
        for (size_t i = 0; i < count; i++)
            printf("%s%*" PRId64, i ? " " : "", columns[i].width,
                   ask_number(control_value_item(list, row), columns[i].key));
        putchar('\n');
    }
}

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    return ask_take_option(user, option, value);
}

static int send_and_print(struct ask *ask, const char *name, void (*print)(const struct control_value *message))
{
    struct control_reply reply;
    int code;

    ask_begin(ask, name);
    code = ask_send(ask, ANSWER_SECONDS, &reply);
    if (code)
        return code;
    if (ask->json)
        code = ask_print_json(&reply);
    else
        print(reply.message);
    ask_free_reply(&reply);
    return code;
}

int ask_simple(const struct command *command, const char *name, int argc, char **argv,
               void (*print)(const struct control_value *message))
{
    struct ask ask;
    int first, code = ask_init(&ask, command, argc);

    if (code)
        return code;
    code = cli_parse(command, argc, argv, take_option, &ask, &ask.input.settings, &first);
    if (code < 0 && first < argc) {
        cli_error(command, "unexpected argument '%s'", argv[first]);
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = send_and_print(&ask, name, print);
    ask_clear(&ask);
    return code;
}
