/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A request: parses its line, runs its command, and writes the answer. */
#include "control_priv.h"
#include "value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COMMANDS = 128, MAX_NAME_SHOWN = 40, MESSAGE_SIZE = 512 };

/* --- Answers -------------------------------------------------------------------------------------- */

void answer_begin(struct text *out, bool ok)
{
    out->need_comma = false;
    json_object_open(out, NULL);
    json_string(out, "return", ok ? "OK" : "NOK");
    json_key(out, "message", strlen("message"));
}

void answer_end(struct text *out)
{
    json_object_close(out);
    out->need_comma = false;
    text_puts(out, "\n");
}

struct text *control_answer(struct control_request *request)
{
    if (!request->answered)
        answer_begin(request->out, true);
    request->answered = true;
    return request->out;
}

static void fail(struct control_request *request, const char *message)
{
    request->out->length = request->begun_at; /* discards the incomplete answer */
    request->out->failed = false;
    answer_begin(request->out, false);
    json_string(request->out, NULL, message);
    request->answered = request->failed = true;
}

void control_fail(struct control_request *request, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fail(request, message);
}

void control_print(struct control_request *request, const char *format, ...)
{
    char message[MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    json_string(control_answer(request), NULL, message);
}

uint64_t control_defer(struct control_request *request)
{
    request->deferred = true;
    return request->ticket;
}

/* --- Arguments ------------------------------------------------------------------------------------ */

const char *control_string(const struct control_request *request, const char *name)
{
    return control_value_string(control_value_member(request->arguments, name));
}

int64_t control_number(const struct control_request *request, const char *name, int64_t otherwise)
{
    int64_t number;

    return control_value_number(control_value_member(request->arguments, name), &number) ? number : otherwise;
}

bool control_bool(const struct control_request *request, const char *name)
{
    return control_value_bool(control_value_member(request->arguments, name));
}

/* --- Lists of commands ---------------------------------------------------------------------------- */

void control_list_commands(struct control_request *request, const struct control_command *commands, bool describe)
{
    struct text *out = control_answer(request);
    size_t count = 0;

    for (const struct control_command *command = commands; command->name; command++)
        count += command->alias ? 2 : 1;
    json_object_open(out, NULL);
    json_uint(out, "count", count);
    json_array_open(out, "commands");
    for (const struct control_command *command = commands; command->name; command++) {
        json_string(out, NULL, command->name);
        if (command->alias)
            json_string(out, NULL, command->alias);
    }
    json_array_close(out);
    if (describe) {
        json_object_open(out, "descriptions");
        for (const struct control_command *command = commands; command->name; command++)
            json_string(out, command->name, command->help);
        json_object_close(out);
    }
    json_object_close(out);
}

/* --- Commands ------------------------------------------------------------------------------------- */

static void run_command(struct control_request *request, const struct control_command *commands, void *user,
                        const struct control_value *line)
{
    const char *name = control_value_string(control_value_member(line, "command"));
    const struct control_value *arguments = control_value_member(line, "arguments");
    const struct control_command *command = commands;
    const char *names[MAX_COMMANDS], *near;
    size_t count = 0;

    if (!name && control_value_string(control_value_member(line, "version"))) {
        json_string(control_answer(request), NULL, SLUICE_VERSION); /* Suricata's clients send their version first */
        return;
    }
    if (!name) {
        control_fail(request, "a request must be an object with \"command\"");
        return;
    }
    for (; command->name; command++) {
        if (strcmp(command->name, name) == 0 || (command->alias && strcmp(command->alias, name) == 0))
            break;
        if (count < MAX_COMMANDS)
            names[count++] = command->name;
        if (count < MAX_COMMANDS && command->alias)
            names[count++] = command->alias;
    }
    if (!command->name) {
        near = text_nearest(name, names, count);
        control_fail(request, "unknown command '%.*s'%s%s%s", MAX_NAME_SHOWN, name, near ? ", did you mean '" : "",
                     near ? near : "", near ? "'?" : "");
    } else if (arguments && !control_value_is_object(arguments)) {
        control_fail(request, "\"arguments\" must be an object");
    } else {
        request->arguments = arguments;
        command->run(user, request);
    }
}

bool request_is_greeting(const char *bytes, size_t length)
{
    const char *cause;
    struct control_value *value;
    bool found;

    if (length == 0 || length > GREETING_SIZE || bytes[length - 1] != '}' || memchr(bytes, '\n', length))
        return false;
    value = value_parse(bytes, length, &cause);
    found = control_value_string(control_value_member(value, "version"));
    control_value_free(value);
    return found;
}

bool request_run(const struct control_command *commands, void *user, const char *line, size_t length, uint64_t ticket,
                 struct text *out)
{
    struct control_request request = { .out = out, .ticket = ticket, .begun_at = out->length };
    const char *cause;
    struct control_value *value = value_parse(line, length, &cause);

    if (value)
        run_command(&request, commands, user, value);
    else
        control_fail(&request, "the request is not valid JSON: %s", cause);
    control_value_free(value);
    if (request.deferred)
        return true;
    if (!request.answered)
        json_null(control_answer(&request), NULL);
    if (out->failed || out->length - request.begun_at > CONTROL_MAX_ANSWER)
        fail(&request, "the answer is too long");
    answer_end(out);
    return false;
}

void control_handle_line(const struct control_command *commands, void *user, const char *line, size_t length,
                         struct text *out)
{
    request_run(commands, user, line, length, 0, out);
}
