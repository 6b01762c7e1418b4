/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kerberos 5 (RFC 4120): requests to a KDC, replies and errors. Each message is a separate transaction in its own
 * direction. */
#ifndef SLUICE_APP_KRB5_PRIV_H
#define SLUICE_APP_KRB5_PRIV_H

#include "sluice/app.h"
#include "sluice/number_range.h"

enum {
    KRB5_COMPONENTS = 16,      /* stored components of a name */
    KRB5_RECORD_FIRST = 16384, /* maximum length of the first record on TCP; a longer one is another protocol */
    KRB5_RECORD_MAX = 100000,
};
enum { KRB5_COMPLETE = 1 };

enum krb5_type {
    KRB5_AS_REQ = 10,
    KRB5_AS_REP = 11,
    KRB5_TGS_REQ = 12,
    KRB5_TGS_REP = 13,
    KRB5_AP_REQ = 14,
    KRB5_AP_REP = 15,
    KRB5_ERROR = 30,
};

enum krb5_event { KRB5_MALFORMED_DATA, KRB5_WEAK_ENCRYPTION, KRB5_EVENTS };

struct krb5_text {
    uint32_t at, length; /* location in krb5_tx.text */
};

/* Principal name. whole: its components joined by '/'. */
struct krb5_name {
    bool is_present;
    uint8_t components;
    struct krb5_text whole, component[KRB5_COMPONENTS];
};

struct krb5_tx {
    struct app_tx tx;
    /* parsed: the message is valid; otherwise the transaction only has events. has_...: the member is set. */
    bool parsed, has_realm, has_encryption, has_ticket_encryption, has_error;
    uint8_t type;    /* enum krb5_type */
    uint8_t request; /* if the message is an error: type of the preceding request; 0: unknown */
    int32_t encryption, ticket_encryption, error;
    struct krb5_text realm;
    struct krb5_name client, server;
    struct buffer text; /* realm and names */
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Parses a message of type tx->type with the content `bytes`. Returns 0, -EINVAL if it is malformed, or -ENOMEM. */
int krb5_parse(struct heap *heap, struct krb5_tx *tx, const uint8_t *bytes, uint32_t length);

/* --- names.c ----------------------------------------------------------------------------------------- */

struct krb5_number_name {
    const char *name; /* NULL ends the table */
    int32_t number;
};
extern const struct krb5_number_name krb5_encryption_names[], krb5_error_names[];
extern const struct number_name krb5_type_names[]; /* names of message types in rules */
bool krb5_is_weak(int32_t encryption);
enum { KRB5_NAME_TEXT = 64 };
/* Returns a name from the table, or "KIND(N / 0xN)" in `text`. */
const char *krb5_number_name(const struct krb5_number_name *names, const char *kind, int32_t number,
                             char text[KRB5_NAME_TEXT]);
const char *krb5_type_name(uint8_t type); /* KRB_AS_REQ and so on, or "UNKNOWN" */

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { KRB5_BUFFERS = 2, KRB5_CONDITIONS = 3 };
extern const struct app_buffer krb5_buffers[KRB5_BUFFERS];
extern const struct app_condition krb5_conditions[KRB5_CONDITIONS];

void krb5_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
