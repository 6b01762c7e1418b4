/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SNMP versions 1 (RFC 1157), 2c (RFC 1901, 3416) and 3 (RFC 3412, 3414): each datagram is one message and one
 * transaction. */
#ifndef SLUICE_APP_SNMP_PRIV_H
#define SLUICE_APP_SNMP_PRIV_H

#include "sluice/app.h"
#include "sluice/der.h"
#include "sluice/number_range.h"

enum { SNMP_PORT = 161, SNMP_TRAP_PORT = 162 };
enum { SNMP_COMPLETE = 1 };
enum { SNMP_ADDRESS = 4 }; /* bytes of the agent address in a trap of version 1 */

/* Tags of the PDUs: the number of the context-specific tag. */
enum snmp_pdu_type {
    SNMP_RESPONSE = 2,
    SNMP_TRAP_V1 = 4,
    SNMP_GET_BULK_REQUEST = 5,
    SNMP_REPORT = 8,
};

enum snmp_event { SNMP_MALFORMED_DATA, SNMP_UNKNOWN_SECURITY_MODEL, SNMP_VERSION_MISMATCH, SNMP_EVENTS };

/* A part of snmp_tx.text. */
struct snmp_text {
    bool is_present;
    uint32_t at, length;
};

struct snmp_tx {
    struct app_tx tx;
    bool parsed;     /* the message is valid; false: the transaction only has events */
    uint8_t version; /* 1, 2 (2c) or 3 */
    bool encrypted;  /* version 3: the PDU is encrypted */
    bool has_pdu, has_trap, unknown_security_model;
    uint8_t pdu_type;  /* if has_pdu */
    int32_t error;     /* error-status of the PDU; 0: none */
    int32_t trap_type; /* if has_trap: generic-trap */
    uint8_t trap_address[SNMP_ADDRESS];
    struct snmp_text community, usm;      /* community string; user name of the User-based Security Model */
    struct snmp_text trap_oid, variables; /* trap_oid: as text. variables: the encoded list of variable bindings */
    struct buffer text;
};

/* Parses the start of a message: the SEQUENCE and the version, 1 to 3. */
enum app_probe_result snmp_read_version(struct cursor *message, uint8_t *version);
/* Parses a message into a transaction. Returns 0, -EINVAL if the message is malformed, or -ENOMEM. */
int snmp_parse(struct heap *heap, struct snmp_tx *tx, const uint8_t *bytes, uint32_t length);
/* Consumes the next variable binding and returns its OID; false at the end of the list. */
bool snmp_next_variable(struct cursor *variables, struct cursor *oid);

extern const struct number_name snmp_pdu_names[], snmp_trap_names[];

enum { SNMP_BUFFERS = 4, SNMP_CONDITIONS = 3 };
extern const struct app_buffer snmp_buffers[SNMP_BUFFERS];
extern const struct app_condition snmp_conditions[SNMP_CONDITIONS];
extern const struct keyword keyword_snmp_pdu_type, keyword_snmp_trap_type;

void snmp_log(const struct app_tx *tx, const void *settings, struct fields *out);
void snmp_log_own(const struct app_tx *tx, struct fields *out);

#endif
