/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control: a socket by which a running daemon is asked. One line of JSON is a request, one line is the answer, as on
 * the field's command socket, so that its clients work:
 *
 *     {"command": "stats", "arguments": {"all": true}}
 *     {"return": "OK", "message": {...}}            {"return": "NOK", "message": "what is wrong"}
 *
 * {"version": "..."} is answered OK. Who may ask is who may write to the socket: its mode and group. Everything is
 * bounded: clients, the length of a line, what waits for a client that does not read (nothing of it is asked
 * meanwhile), and how long it may take.
 *
 * Threads:   a server belongs to one thread, which waits for control_server_fd() with its other descriptors; nothing
 * here blocks. Ownership: a request is lent for the call; text is the server's.
 */
#ifndef SLUICE_CONTROL_H
#define SLUICE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/text.h"

enum {
    CONTROL_ERROR_SIZE = 512,
    CONTROL_MAX_LINE = 16 << 10,   /* of a request */
    CONTROL_MAX_ANSWER = 16 << 20, /* past it the answer is a failure */
    CONTROL_PATIENCE_SECONDS = 10, /* for a client that has begun a line, or does not read its answer */
    CONTROL_IDLE_SECONDS = 600,    /* for one that asks nothing */
    CONTROL_MAX_CONNECTIONS = 128, /* beyond it a new one replaces one that has sent no whole request */
};

/* --- Requests ------------------------------------------------------------------------------------- */

struct control_request;

struct control_command {
    const char *name;
    const char *alias; /* the field's name for it; NULL */
    const char *help;
    /* Answers: by control_answer(), control_fail(), or later after control_defer(). */
    void (*run)(void *user, struct control_request *request);
};

/* Arguments; NULL and the default when there is none of that name, or it is of another type. */
const char *control_string(const struct control_request *request, const char *name);
int64_t control_number(const struct control_request *request, const char *name, int64_t otherwise);
bool control_bool(const struct control_request *request, const char *name);

/* The text to write the message to, one JSON value with a NULL key; the answer goes when the command returns. */
struct text *control_answer(struct control_request *request);
void control_fail(struct control_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The answer comes later; a ticket for control_answer_later(). The client waits, and may go. */
uint64_t control_defer(struct control_request *request);

/* Parses one line and runs the command; writes the answer line to `out`. For tests and the fuzz target. */
void control_handle_line(const struct control_command *commands, void *user, const char *line, size_t length,
                         struct text *out);

/* --- Server --------------------------------------------------------------------------------------- */

struct control_options {
    const char *path;
    unsigned mode;                          /* of the socket */
    const char *group;                      /* NULL: as it is */
    unsigned max_clients;                   /* whose requests are being answered at a time */
    const struct control_command *commands; /* ends with a row without a name; lent for good */
    void *user;
    bool inherits; /* listen_fd is a socket that control_listen() made: it is served, and its path stays the maker's */
    int listen_fd;
};

struct control_server;

/* Opens the socket, in the place of one that nobody listens on any more. Its descriptor, -EADDRINUSE when somebody
 * does, or -errno; with a line in `error`. Whoever made it removes it from its path. */
int control_listen(const struct control_options *options, char error[CONTROL_ERROR_SIZE]);

/* Opens the socket, or takes the one that was inherited (and closes it with the server, or when this fails). 0 or as
 * control_listen().
 */
int control_server_new(struct control_server **out, const struct control_options *options,
                       char error[CONTROL_ERROR_SIZE]);
void control_server_free(struct control_server *server); /* removes the socket; NULL is allowed */

int control_server_fd(const struct control_server *server); /* readable when there is something to do */
/* Does it; also now and then when there is nothing, for the clients' time limits. */
void control_server_run(struct control_server *server);

/* The answer to a deferred request; NULL when its client has gone. control_finish_later() sends it. */
struct text *control_answer_later(struct control_server *server, uint64_t ticket, bool ok);
void control_finish_later(struct control_server *server, uint64_t ticket);

/* --- Client --------------------------------------------------------------------------------------- */

/* What an answer says. NULL is a value that is not there: it has no members, is no text and no number. Values that are
 * asked for are lent by the one that they are in. */
struct control_value;
void control_value_free(struct control_value *value);
const struct control_value *control_value_member(const struct control_value *value, const char *name);
const struct control_value *control_value_item(const struct control_value *value, size_t index);
size_t control_value_count(const struct control_value *value);       /* of an array */
const char *control_value_string(const struct control_value *value); /* NULL when it is none */
bool control_value_number(const struct control_value *value, int64_t *out);
bool control_value_real(const struct control_value *value, double *out);
bool control_value_bool(const struct control_value *value);
bool control_value_is_object(const struct control_value *value);
bool control_value_is_array(const struct control_value *value);
void control_value_each(const struct control_value *value,
                        void (*each)(const char *key, const struct control_value *member, void *user), void *user);

/* Sends the request (one JSON value) and waits for the answer. 0; -EREMOTEIO when the daemon said no,
 * or another -errno; with a line in `error`. */
struct control_reply {
    struct control_value *whole;         /* the answer's line, to be freed */
    const struct control_value *message; /* in it */
};
int control_ask(const char *path, const struct text *request, unsigned seconds, struct control_reply *out,
                char error[CONTROL_ERROR_SIZE]);
/* The message as JSON text, lent until the reply is freed. */
const char *control_reply_text(const struct control_reply *reply);

#endif
