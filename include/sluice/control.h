/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control: the control socket of a running daemon. Requests and answers are one line of JSON each. The protocol is that
 * of Suricata's command socket, so that its clients work:
 *
 *     {"command": "stats", "arguments": {"all": true}}
 *     {"return": "OK", "message": {...}}            {"return": "NOK", "message": "what is wrong"}
 *
 * The answer to {"version": "..."} is OK. Mode and group of the socket determine who may send requests. The server
 * limits the number of clients, the length of a request, the size of an answer, and the time until a client has sent a
 * request or read an answer. It reads the next request of a client when the client has read the answer.
 *
 * Threads:   a server belongs to one thread, which waits for control_server_fd() with its other descriptors. No
 *            function of the server blocks.
 * Ownership: a request is valid during the call of its command; the server owns the texts.
 */
#ifndef SLUICE_CONTROL_H
#define SLUICE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/text.h"

enum {
    CONTROL_ERROR_SIZE = 512,
    CONTROL_MAX_LINE = 16 << 10, /* maximum length of a request in bytes */
    CONTROL_MAX_ANSWER =
        16 << 20, /* maximum length of an answer in bytes; instead of a longer one the client receives an error */
    CONTROL_SLOW_SECONDS = 10,     /* a client with an incomplete request or unread answer is closed after this time */
    CONTROL_IDLE_SECONDS = 600,    /* a client without a request is closed after this time */
    CONTROL_MAX_CONNECTIONS = 128, /* maximum number of clients; a further one replaces a client that was served or has
                                      sent no complete request */
};

/* --- Requests ------------------------------------------------------------------------------------- */

struct control_request;

struct control_command {
    const char *name;
    const char *alias; /* Suricata's name of the command; or NULL */
    const char *help;
    /* Runs the command: it calls control_answer() or control_fail(), or control_defer() to answer later. */
    void (*run)(void *user, struct control_request *request);
};

/* Return an argument; NULL, false or the default if it is missing or has another type. */
const char *control_string(const struct control_request *request, const char *name);
int64_t control_number(const struct control_request *request, const char *name, int64_t otherwise);
bool control_bool(const struct control_request *request, const char *name);

/* Returns the text to which the command writes its message: one JSON value with a NULL key. The server sends it when
 * the command returns. */
struct text *control_answer(struct control_request *request);
/* Answers with a text. */
void control_print(struct control_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));
void control_fail(struct control_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Defers the answer and returns a ticket for control_answer_later(). The client may close its connection before the
 * answer. */
uint64_t control_defer(struct control_request *request);

/* Answers with the names of all commands, as Suricata's command-list; `describe`: also with their help. */
void control_list_commands(struct control_request *request, const struct control_command *commands, bool describe);

/* Parses one line and runs the command; writes the answer line to `out`. For tests and the fuzz target. */
void control_handle_line(const struct control_command *commands, void *user, const char *line, size_t length,
                         struct text *out);

/* --- Server --------------------------------------------------------------------------------------- */

struct control_options {
    const char *path;
    unsigned mode;                          /* permissions of the socket */
    const char *group;                      /* group of the socket; NULL: unchanged */
    unsigned max_clients;                   /* maximum number of requests that are answered at the same time */
    const struct control_command *commands; /* ends with a row without a name; must outlive the server */
    void *user;
    bool inherits; /* use listen_fd, a socket of control_listen(); another process removes its path */
    int listen_fd;
};

struct control_server;

/* Opens the socket; replaces one on which no process listens. Returns its descriptor, -EADDRINUSE if another process
 * listens on it, or -errno, with a line in `error`. The caller removes the path. */
int control_listen(const struct control_options *options, char error[CONTROL_ERROR_SIZE]);

/* Creates a server, which opens the socket, or uses the inherited one. The inherited socket belongs to the server, and
 * is closed after an error, too. Returns 0, or -errno as control_listen() with a line in `error`. */
int control_server_new(struct control_server **out, const struct control_options *options,
                       char error[CONTROL_ERROR_SIZE]);
void control_server_free(
    struct control_server *server); /* removes the socket's path unless `inherits`; NULL is allowed */

int control_server_fd(const struct control_server *server); /* readable when control_server_run() has work */
/* Handles events and requests. Call it regularly without events, too: it enforces the time limits of clients. */
void control_server_run(struct control_server *server);

/* Returns the text of a deferred answer; NULL if the client has disconnected. control_finish_later() sends it. */
struct text *control_answer_later(struct control_server *server, uint64_t ticket, bool ok);
void control_finish_later(struct control_server *server, uint64_t ticket);

/* --- Client --------------------------------------------------------------------------------------- */

/* A JSON value of an answer. NULL is a missing value: it has no members, and is neither a string nor a number. A member
 * is owned by the value that contains it. */
struct control_value;
void control_value_free(struct control_value *value);
/* Parses one value in strict JSON, at most 16 levels deep; the caller frees it. Returns NULL on an error, with the
 * reason in *cause. */
struct control_value *control_value_parse(const char *bytes, size_t length, const char **cause);
const struct control_value *control_value_member(const struct control_value *value, const char *name);
const struct control_value *control_value_item(const struct control_value *value, size_t index);
size_t control_value_count(const struct control_value *value);       /* number of items of an array */
const char *control_value_string(const struct control_value *value); /* NULL for another type */
bool control_value_number(const struct control_value *value, int64_t *out);
bool control_value_real(const struct control_value *value, double *out);
bool control_value_bool(const struct control_value *value);
bool control_value_is_object(const struct control_value *value);
bool control_value_is_array(const struct control_value *value);
void control_value_each(const struct control_value *value,
                        void (*each)(const char *key, const struct control_value *member, void *user), void *user);

/* Sends the request (one JSON value) and waits up to `seconds` for the answer. Returns 0, -EREMOTEIO if the daemon
 * answered with an error, or another -errno, with a line in `error`. Connects again, within the same time, if the
 * server closed the connection before it read the request. */
struct control_reply {
    struct control_value *whole;         /* the answer; after success the caller frees it */
    const struct control_value *message; /* the member "message" of the answer; owned by `whole` */
};
int control_send_request(const char *path, const struct text *request, unsigned seconds, struct control_reply *out,
                         char error[CONTROL_ERROR_SIZE]);
/* Returns the message as JSON text, valid until the reply is freed. */
const char *control_reply_text(const struct control_reply *reply);

#endif
