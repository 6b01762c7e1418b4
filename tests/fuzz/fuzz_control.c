/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests on the control socket. The contract: the response to any request is one line of JSON with OK or NOK, and a
 * command gets only arguments of the request. A greeting is an object in one line.
 */
#include <stdlib.h>
#include <string.h>

#include "control/control_priv.h"
#include "control/value.h"
#include "sluice/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void echo(void *user, struct control_request *request)
{
    const char *text = control_string(request, "text");
    int64_t number = control_number(request, "number", 1);
    struct text *out = control_answer(request);

    (void)user;
    json_object_open(out, NULL);
    json_string(out, "text", text);
    json_int(out, "number", number);
    json_bool(out, "bool", control_bool(request, "bool"));
    json_object_close(out);
    if (number == 0)
        control_fail(request, "none of %s", text ? text : "nothing");
}

static void list(void *user, struct control_request *request);

static const struct control_command commands[] = {
    { "echo", "e", "says it again", echo },
    { "command-list", "help", "lists the commands", list },
    { NULL, NULL, NULL, NULL },
};

static void list(void *user, struct control_request *request)
{
    (void)user;
    control_list_commands(request, commands, control_bool(request, "describe"));
}

static void check_answer(const struct text *out)
{
    const char *cause, *word;
    struct control_value *answer;

    require(!out->failed && out->length > 0 && memchr(out->bytes, '\n', out->length) == out->bytes + out->length - 1);
    answer = value_parse(out->bytes, out->length, &cause);
    require(answer);
    word = control_value_string(control_value_member(answer, "return"));
    require(word && (strcmp(word, "OK") == 0 || strcmp(word, "NOK") == 0));
    control_value_free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span rest = { (const char *)data, size }, line;
    struct text out;

    if (request_is_greeting((const char *)data, size))
        require(size <= GREETING_SIZE && data[size - 1] == '}' && !memchr(data, '\n', size));
    while (span_next(&rest, '\n', &line)) {
        text_init(&out);
        control_handle_line(commands, NULL, line.at, line.length, &out);
        check_answer(&out);
        text_clear(&out);
    }
    return 0;
}
