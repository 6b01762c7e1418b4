/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands have in common that ask the running daemon: its socket, the request, the answer. */
#ifndef SLUICE_CLI_ASK_H
#define SLUICE_CLI_ASK_H

#include "cli_priv.h"
#include "sluice/control.h"

enum { ASK_OPTION_JSON = CLI_OPTION_OWN, ASK_OPTION_OWN };

/* Rows that each of them has. */
#define ASK_ROW_SOCKET                                                                                                 \
    {                                                                                                                  \
        .letter = 'S', .name = "socket", .argument = "PATH", .setting = "unix-command.filename",                       \
        .help = "control socket of the daemon (unix-command.filename)"                                                 \
    }
#define ASK_ROW_JSON                                                                                                   \
    {                                                                                                                  \
        .id = ASK_OPTION_JSON, .letter = 'j', .name = "json", .help = "print JSON"                                     \
    }

struct ask {
    struct cli_input input;
    bool json;
    struct text request;
};

/* 0 or an exit code, after a message. */
int ask_init(struct ask *ask, const struct command *command, int argc);
void ask_clear(struct ask *ask);
/* The last resort of a handler of options. */
int ask_take_option(struct ask *ask, const struct cli_option *option, const char *value);

/* The request: its beginning, to which arguments are written as members, and the question itself. An exit code; 0 with
 * the reply. */
void ask_begin(struct ask *ask, const char *command);
int ask_send(struct ask *ask, unsigned seconds, struct control_reply *reply);
void ask_free_reply(struct control_reply *reply);

/* Prints the reply's message as it is. An exit code. */
int ask_print_json(const struct control_reply *reply);

/* The mode, as `sluice mode` and `sluice status` show it. */
void mode_print(const struct control_value *message);

/* Members of values, for printing: 0 and "" when they are not there. */
int64_t ask_number(const struct control_value *value, const char *name);
const char *ask_string(const struct control_value *value, const char *name);

/* A list of objects as a table of numbers, a column each. */
struct ask_column {
    const char *key;   /* the member */
    const char *title; /* NULL: the same */
    int width;
};
void ask_print_table(const struct control_value *list, const struct ask_column *columns, size_t count);

/* A whole command without arguments of its own: options, question, and `print` unless JSON is asked for. */
int ask_simple(const struct command *command, const char *name, int argc, char **argv,
               void (*print)(const struct control_value *message));

#endif
