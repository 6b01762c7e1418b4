/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POP3 (RFC 1939, RFC 2449, RFC 2595, RFC 5034): a transaction is a command with its response.
 */
#ifndef SLUICE_APP_POP3_PRIV_H
#define SLUICE_APP_POP3_PRIV_H

#include "app/smtp/mail.h"
#include "sluice/app.h"

enum {
    POP3_LINE_MAX = 4096,     /* longer lines are truncated, the rest is skipped; except in messages */
    POP3_DATA_MAX = 16 << 10, /* bytes of the lines of a response that are kept for events; further ones are not */
    POP3_COMMAND_LIMIT = 255, /* bytes of a command with its line end (RFC 2449, 4) */
    POP3_HEADER_LIMIT = 512,  /* bytes of the first line of a response with its line end (RFC 2449, 4) */
};

enum pop3_command {
    POP3_NONE, /* a response without a command, such as the greeting */
    POP3_UNKNOWN,
    POP3_QUIT,
    POP3_STAT,
    POP3_LIST,
    POP3_RETR,
    POP3_DELE,
    POP3_NOOP,
    POP3_RSET,
    POP3_TOP,
    POP3_UIDL,
    POP3_USER,
    POP3_PASS,
    POP3_APOP,
    POP3_CAPA,
    POP3_STLS,
    POP3_AUTH,
    POP3_SASL,
    POP3_UTF8,
    POP3_LANG,
    POP3_COMMANDS,
};

enum pop3_event {
    POP3_TOO_MANY_TRANSACTIONS,
    POP3_REQUEST_TOO_LONG,
    POP3_INCORRECT_ARGUMENT_COUNT,
    POP3_UNKNOWN_COMMAND,
    POP3_RESPONSE_TOO_LONG,
    POP3_EVENTS,
};

enum { POP3_COMPLETE = 1 };

struct pop3_tx {
    struct app_tx tx;
    uint8_t command;        /* enum pop3_command */
    uint8_t argument_count; /* words after the keyword, at most 255 */
    bool has_response, success;
    struct buffer request; /* the command line */
    struct buffer header;  /* the text of the first line of the response, after the status */
    struct buffer data;    /* further lines of the response, each followed by LF */
    struct mail mail;      /* RETR and TOP: the message */
};

struct pop3_settings {
    uint32_t tx_max;
    bool passwords;
};

/* Returns the next word at or after offset `*at` of a command line and its length; NULL: none. Advances *at. */
const uint8_t *pop3_next_word(const struct buffer *line, uint32_t *at, uint32_t *length);

void pop3_log(const struct app_tx *tx, const void *settings, struct fields *out);
void pop3_log_email(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
