/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to control: request.c parses requests and runs commands, server.c manages the socket and its clients,
 * client.c sends requests. */
#ifndef SLUICE_CONTROL_PRIV_H
#define SLUICE_CONTROL_PRIV_H

#include "sluice/control.h"

struct control_request {
    const struct control_value *arguments; /* NULL: none */
    struct text *out;
    uint64_t ticket; /* identifies the request for control_answer_later() */
    size_t begun_at; /* offset at which the answer begins in `out`, to discard an incomplete one */
    bool answered, failed, deferred;
};

/* Write the beginning and the end of an answer line; `ok`: the command succeeded. */
void answer_begin(struct text *out, bool ok);
void answer_end(struct text *out);

/* Returns whether the bytes are a complete object with "version" and without a newline, at most GREETING_SIZE bytes. */
enum { GREETING_SIZE = 128 };
bool request_is_greeting(const char *bytes, size_t length);

/* Parses a request line and runs its command. The answer is written to `out`. Returns true if the answer is
 * deferred. */
bool request_run(const struct control_command *commands, void *user, const char *line, size_t length, uint64_t ticket,
                 struct text *out);

#endif
