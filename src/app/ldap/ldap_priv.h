/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LDAP (RFC 4511). A transaction is a request with all its responses, which have its message id. */
#ifndef SLUICE_APP_LDAP_PRIV_H
#define SLUICE_APP_LDAP_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"
#include "sluice/number_range.h"

enum {
    LDAP_MESSAGE_MAX = 1 << 20,    /* of longer messages only the operation and the message id are parsed */
    LDAP_RESPONSES_SIZE = 1 << 20, /* bytes of responses that are stored in a transaction */
    LDAP_RESPONSES_MAX = 500,      /* responses that are stored in a transaction */
    LDAP_OPEN_MAX = 256, /* open transactions; older ones are completed without their responses, as in Suricata */
};
enum { LDAP_RESPONDED = 1, LDAP_COMPLETE = 2 };

enum ldap_event {
    LDAP_TOO_MANY_TRANSACTIONS,
    LDAP_INVALID_DATA,
    LDAP_REQUEST_NOT_FOUND,
    LDAP_TOO_MANY_RESPONSES,
    LDAP_EVENTS,
};

enum ldap_operation {
    LDAP_BIND_REQUEST = 0,
    LDAP_BIND_RESPONSE = 1,
    LDAP_UNBIND_REQUEST = 2,
    LDAP_SEARCH_REQUEST = 3,
    LDAP_SEARCH_RESULT_ENTRY = 4,
    LDAP_SEARCH_RESULT_DONE = 5,
    LDAP_MODIFY_REQUEST = 6,
    LDAP_MODIFY_RESPONSE = 7,
    LDAP_ADD_REQUEST = 8,
    LDAP_ADD_RESPONSE = 9,
    LDAP_DEL_REQUEST = 10,
    LDAP_DEL_RESPONSE = 11,
    LDAP_MOD_DN_REQUEST = 12,
    LDAP_MOD_DN_RESPONSE = 13,
    LDAP_COMPARE_REQUEST = 14,
    LDAP_COMPARE_RESPONSE = 15,
    LDAP_ABANDON_REQUEST = 16,
    LDAP_SEARCH_RESULT_REFERENCE = 19,
    LDAP_EXTENDED_REQUEST = 23,
    LDAP_EXTENDED_RESPONSE = 24,
    LDAP_INTERMEDIATE_RESPONSE = 25,
};

struct ldap_span {
    uint32_t at, length; /* location in ldap_tx.request or .responses */
};

/* Growing array of spans. */
struct ldap_spans {
    struct buffer buffer;
    uint32_t count;
};

struct ldap_response {
    uint8_t operation; /* enum ldap_operation */
    uint32_t message_id;
    struct ldap_span body; /* content of the operation; empty if it is not stored */
};

struct ldap_tx {
    struct app_tx tx;
    bool has_request, has_dn, starts_tls, has_too_many;
    uint8_t operation; /* enum ldap_operation of the request */
    uint32_t message_id;
    struct ldap_span dn;                  /* in `request` */
    struct buffer request;                /* content of the request's operation; empty if it is not stored */
    struct ldap_spans request_attributes; /* in `request` */

    uint32_t response_count;         /* stored responses */
    struct buffer response_list;     /* struct ldap_response */
    struct buffer responses;         /* contents of their operations */
    uint32_t result_count;           /* responses with a result */
    struct buffer results;           /* their result codes, uint32_t */
    struct ldap_spans dns, messages; /* in `responses` */
    struct ldap_spans response_attributes;
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Stores the operation of a request or response. `body` is its content. Returns 0, -EINVAL if it is malformed, or
 * -ENOMEM. */
int ldap_store_request(struct heap *heap, struct ldap_tx *tx, struct cursor body);
int ldap_store_response(struct heap *heap, struct ldap_tx *tx, struct ldap_response *response, struct cursor body);
/* Consumes an INTEGER or ENUMERATED of up to 32 bits that is not negative. */
bool ldap_read_number(struct cursor *cur, uint8_t tag, uint32_t *out);
struct ldap_result {
    uint32_t code;
    struct cursor dn, message;
};
bool ldap_read_result(struct cursor *cur, struct ldap_result *out);
/* Whether a response of this type has a result; SEARCH_RESULT_ENTRY, for example, has none. */
bool ldap_has_result(uint8_t operation);

enum { LDAP_ENUMERATED = 0x0a, LDAP_BOOLEAN = 0x01 };

/* --- names.c ----------------------------------------------------------------------------------------- */

extern const struct number_name ldap_operation_names[], ldap_result_names[];
const char *ldap_find_name(const struct number_name *names, uint32_t number); /* NULL: unknown */

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { LDAP_BUFFERS = 5, LDAP_CONDITIONS = 4 };
extern const struct app_buffer ldap_buffers[LDAP_BUFFERS];
extern const struct app_condition ldap_conditions[LDAP_CONDITIONS];

/* Return response or result number `index`, which exists. */
const struct ldap_response *ldap_get_response(const struct ldap_tx *tx, uint32_t index);

void ldap_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
