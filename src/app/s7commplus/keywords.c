/* SPDX-License-Identifier: GPL-2.0-or-later */
/* S7comm-plus keywords, with the names and values of Snort 3. */
#include <errno.h>

#include "s7commplus_priv.h"
#include "sluice/arena.h"
#include "sluice/text.h"

static const char *const applications[] = { "s7commplus", NULL };

/* Adds a condition on the value with this name or number. */
static int parse_value(struct rule_parser *parser, struct span value, const struct s7commplus_name *names,
                       uint16_t limit, const char *message)
{
    uint16_t *stored = arena_alloc(rule_parser_arena(parser), sizeof(*stored));
    struct span text = span_trim(value);
    int64_t number = 0;

    if (!stored)
        return -ENOMEM;
    while (names->name && !span_equal_nocase(text, names->name))
        names++;
    if (names->name)
        number = names->value;
    else if (!span_to_int(text, 0, limit, &number))
        return rule_parser_error(parser, text, "%s", message);
    *stored = (uint16_t)number;
    return rule_parser_add_transaction_condition(parser, stored, false);
}

static bool opcode_match(const struct match_input *in, const void *data)
{
    const struct s7commplus_tx *message = (const struct s7commplus_tx *)in->transaction;

    return message->has_function && message->opcode == *(const uint16_t *)data;
}

static int opcode_parse(struct rule_parser *parser, struct span value)
{
    return parse_value(parser, value, s7commplus_opcodes, UINT8_MAX,
                       "expected request, response, notification, response2 or a number");
}

const struct keyword keyword_s7commplus_opcode = {
    .name = "s7commplus_opcode",
    .value = "NAME|NUMBER",
    .help = "opcode of an S7comm-plus message: request, response, notification, response2 or a number",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = opcode_parse,
    .transaction = { .match = opcode_match },
};

static bool function_match(const struct match_input *in, const void *data)
{
    const struct s7commplus_tx *message = (const struct s7commplus_tx *)in->transaction;

    return message->has_function && message->function == *(const uint16_t *)data;
}

static int function_parse(struct rule_parser *parser, struct span value)
{
    return parse_value(parser, value, s7commplus_functions, UINT16_MAX,
                       "expected the name or number of a function of S7comm-plus: explore");
}

const struct keyword keyword_s7commplus_func = {
    .name = "s7commplus_func",
    .value = "NAME|NUMBER",
    .help =
        "function of an S7comm-plus message: explore, createobject, deleteobject, setvariable, getlink, setmultivar, "
        "getmultivar, beginsequence, endsequence, invoke, getvarsubstr or a number",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = function_parse,
    .transaction = { .match = function_match },
};

static bool get_content(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    static const uint8_t nothing[1];
    const struct s7commplus_tx *message = (const struct s7commplus_tx *)tx;

    (void)which;
    *out = (struct app_bytes){ .bytes = message->content.bytes ? message->content.bytes : nothing,
                               .length = message->content.length };
    return message->is_parsed;
}

const struct keyword keyword_s7commplus_content = {
    .name = "s7commplus_content",
    .help = "selects an S7comm-plus message after its header of four bytes",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer s7commplus_buffers[S7COMMPLUS_BUFFERS] = {
    { &keyword_s7commplus_content, APP_BOTH, S7COMMPLUS_COMPLETE, .get = get_content },
};

const struct app_condition s7commplus_conditions[S7COMMPLUS_CONDITIONS] = {
    { &keyword_s7commplus_opcode, APP_BOTH, S7COMMPLUS_COMPLETE },
    { &keyword_s7commplus_func, APP_BOTH, S7COMMPLUS_COMPLETE },
};
