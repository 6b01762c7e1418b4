/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that query the running daemon: they share the options of the control socket, the request and its reply. */
#ifndef SLUICE_CLI_QUERY_H
#define SLUICE_CLI_QUERY_H

#include "cli_priv.h"
#include "sluice/control.h"

enum { QUERY_OPTION_JSON = CLI_OPTION_OWN, QUERY_OPTION_OWN };

/* Option rows that all commands with a struct query have. */
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

/* Initialises the query of a command, which query_clear() frees. Returns 0, or an exit code after a message. */
int query_init(struct query *query, const struct command *command, int argc);
void query_clear(struct query *query);
/* Handles the option rows QUERY_ROW_* and those of struct cli_input. The handler of a command calls it for options that
 * are not the command's own. Returns 0, or an exit code after a message. */
int query_handle_option(struct query *query, const struct cli_option *option, const char *value);

/* Starts a request with the name `command` in query->request; the caller then adds its arguments there as JSON members.
 */
void query_begin(struct query *query, const char *command);
/* Writes the path of the daemon's control socket, from --socket or the configuration. Returns 0, or an exit code after
 * a message. */
enum { QUERY_PATH_SIZE = 512 };
int query_socket_path(const struct query *query, char path[QUERY_PATH_SIZE]);
/* Sends the request and waits up to `seconds` for the reply. Returns 0 and fills *reply, which query_free_reply()
 * frees, or returns an exit code after a message. */
int query_send(struct query *query, unsigned seconds, struct control_reply *reply);
void query_free_reply(struct control_reply *reply);
/* Sends the request like query_send() and prints the message of the reply: as JSON if --json is given, otherwise by
 * `print`. Returns an exit code. */
int query_send_and_print(struct query *query, unsigned seconds, void (*print)(const struct control_value *message));

/* Prints the message of a reply as JSON. Returns an exit code. */
int query_print_json(const struct control_reply *reply);

/* Prints the answer to `costs`; shared by `sluice costs` and `sluice replay --costs`. */
void costs_print(const struct control_value *message);

/* Prints the mode; shared by `sluice mode` and `sluice status`. */
void mode_print(const struct control_value *message);

/* Prints the id and message of a rule, and where it is loaded from or why it is not loaded; shared by `sluice explain`
 * and `sluice analyse`. */
void rule_print_state(const struct control_value *rule);

/* Return the member `name` of an object; 0 or "" if the object has no such member. */
int64_t query_number(const struct control_value *value, const char *name);
const char *query_string(const struct control_value *value, const char *name);

/* A column of query_print_table(), which prints a list of objects as a table, with one line per object and one column
 * per member; numbers are aligned to the right. */
struct query_column {
    const char *key;   /* name of the member */
    const char *title; /* heading of the column; NULL: the key */
    bool is_text;
};
int query_print_table(const struct control_value *list, const struct query_column *columns, size_t count);

/* An action of a command, which is its first argument, such as `add` in `sluice dataset add`. */
struct query_action {
    const char *name;
    const char *arguments;                                        /* for messages: "NAME VALUE..." */
    int low, high;                                                /* number of arguments after the action */
    int (*run)(struct query *query, int count, char **arguments); /* returns an exit code */
};

/* Runs the action that argv names, of a command that has the option rows QUERY_ROW_*, and CLI_ROW_CONFIG. `actions` has
 * the order of command->words. `handle`: handles the command's own options; NULL: it has none. */
int query_run_action(const struct command *command, const struct query_action *actions, struct query *query, int argc,
                     char **argv, int (*handle)(void *user, const struct cli_option *option, const char *value),
                     void *user);
/* Prints a message that is a text, or anything else as JSON. */
void query_print_text(const struct control_value *message);

/* Runs a command that takes no arguments and whose request has the command's name. Returns an exit code. */
int query_simple(const struct command *command, unsigned seconds, int argc, char **argv,
                 void (*print)(const struct control_value *message));

#endif
