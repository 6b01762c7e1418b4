/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PostgreSQL frontend/backend protocol, version 3. A transaction is a request with its responses. */
#ifndef SLUICE_APP_PGSQL_PRIV_H
#define SLUICE_APP_PGSQL_PRIV_H

#include "sluice/app.h"

enum {
    PGSQL_MESSAGE_MAX = 1 << 20,   /* bytes of a message that are parsed; the rest is skipped */
    PGSQL_RESPONSE_MAX = 64 << 10, /* bytes of responses that are stored in a transaction */
    PGSQL_STARTUP_MAX = 10000,     /* maximum length of a startup packet, as in PostgreSQL */
    PGSQL_OPEN_MAX = 1024,         /* open transactions; older ones are completed without their responses */
};
enum { PGSQL_COMPLETE = 1 };

enum pgsql_event {
    PGSQL_TOO_MANY_TRANSACTIONS,
    PGSQL_MALFORMED_REQUEST,
    PGSQL_MALFORMED_RESPONSE,
    PGSQL_INVALID_LENGTH,
    PGSQL_EVENTS,
};

enum pgsql_request {
    PGSQL_NO_REQUEST, /* the request was not seen, or it is malformed */
    PGSQL_SSL_REQUEST,
    PGSQL_GSSENC_REQUEST,
    PGSQL_STARTUP,
    PGSQL_CANCEL,
    PGSQL_PASSWORD,
    PGSQL_SASL_INITIAL,
    PGSQL_SASL_RESPONSE,
    PGSQL_QUERY,
    PGSQL_EXTENDED, /* messages of the extended query protocol up to Sync, or up to the next Parse */
    PGSQL_COPY,     /* CopyData messages, then CopyDone or CopyFail */
    PGSQL_TERMINATE,
};

struct pgsql_text {
    uint32_t at, length; /* location in pgsql_tx.request_text or .response_text */
    bool is_present;
};

struct pgsql_tx {
    struct app_tx tx;
    uint64_t sequence;     /* tx_id in EVE: counts from 1, without extended queries, as in Suricata; 0: none */
    uint8_t request;       /* enum pgsql_request */
    bool synced;           /* PGSQL_EXTENDED: Sync has been sent */
    bool copy_failed;      /* PGSQL_COPY: ended by CopyFail */
    uint16_t major, minor; /* protocol version of a startup packet */
    uint32_t process_id, secret_key;    /* of a cancel request */
    uint32_t copied_in, copied_in_size; /* messages and bytes of CopyData from the client */
    struct pgsql_text text;             /* query, password, data of SASL */
    struct pgsql_text mechanism;        /* of SASL */
    /* Startup parameters: names and values, each with a terminating zero. */
    struct buffer request_text;

    const char *authentication; /* name of the last authentication message; NULL for none */
    bool ssl_answered, ssl_accepted, has_key, has_field_count, has_copy_in, has_copy_out;
    uint16_t field_count, copy_in_columns, copy_out_columns;
    uint32_t backend_process_id, backend_secret_key;
    uint64_t rows, rows_size, copied_out, copied_out_size;
    struct pgsql_text salt, sasl_final, command; /* in response_text */
    struct buffer response_text;
    struct buffer parameters; /* parameter status: names and values, each with a terminating zero */
    struct buffer error;      /* fields of errors and notices: letter, text, terminating zero */
};

enum { PGSQL_BUFFERS = 1 };
extern const struct app_buffer pgsql_buffers[PGSQL_BUFFERS];

struct pgsql_settings {
    bool passwords;
};
void pgsql_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
