/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that query the running daemon: they share the options of the control socket, the request and its reply. */
#ifndef SLUICE_CLI_QUERY_H
#define SLUICE_CLI_QUERY_H

#include "cli_priv.h"
#include "sluice/control.h"

enum { QUERY_OPTION_JSON = CLI_OPTION_OWN, QUERY_OPTION_OWN };

/* Option rows of all these commands. */
#define QUERY_ROW_SOCKET                                                                                               \
    {                                                                                                                  \
        .letter = 'S', .name = "socket", .argument = "PATH", .setting = "unix-command.filename",                       \
        .help =                                                                                                        \
            "use this control socket of the daemon (unix-command.filename; default " SLUICE_RUNDIR "/control.socket)"  \
    }
#define QUERY_ROW_JSON                                                                                                 \
    {                                                                                                                  \
        .id = QUERY_OPTION_JSON, .letter = 'j', .name = "json", .help = "print JSON"                                   \
    }

/* Seconds to wait for a reply that the daemon can send at once. */
enum { QUERY_SECONDS = 10 };

struct query {
    struct cli_input input;
    bool json;
    struct text request;
};

/* 0, or an exit code after a message. */
int query_init(struct query *query, const struct command *command, int argc);
void query_clear(struct query *query);
/* Handles the options above and those of struct cli_input; a command's handler passes on what is not its own. 0 or an
 * exit code. */
int query_handle_option(struct query *query, const struct cli_option *option, const char *value);

/* Starts the request `command`. Its arguments are written to query->request as JSON members. */
void query_begin(struct query *query, const char *command);
/* Sends the request and waits up to `seconds` for the reply. 0 with the reply, which query_free_reply() frees, or an
 * exit code after a message. */
int query_send(struct query *query, unsigned seconds, struct control_reply *reply);
void query_free_reply(struct control_reply *reply);
/* The same, and prints the message of the reply: as JSON with --json, else by `print`. An exit code. */
int query_send_and_print(struct query *query, unsigned seconds, void (*print)(const struct control_value *message));

/* Prints the message of a reply as JSON. An exit code. */
int query_print_json(const struct control_reply *reply);

/* Prints the mode; shared by `sluice mode` and `sluice status`. */
void mode_print(const struct control_value *message);

/* The member `name` of an object; 0 and "" if it is missing. */
int64_t query_number(const struct control_value *value, const char *name);
const char *query_string(const struct control_value *value, const char *name);

/* Prints a list of objects as a table of numbers: one line per object, one column per member. */
struct query_column {
    const char *key;   /* the member */
    const char *title; /* NULL: the key */
    int width;
};
void query_print_table(const struct control_value *list, const struct query_column *columns, size_t count);

/* Runs a command that takes no arguments and whose request has its name. An exit code. */
int query_simple(const struct command *command, unsigned seconds, int argc, char **argv,
                 void (*print)(const struct control_value *message));

#endif
