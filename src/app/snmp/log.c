/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SNMP in EVE events, and the names of its numbers. */
#include <stdio.h>
#include <string.h>

#include "snmp_priv.h"
#include "sluice/address.h"

const struct number_name snmp_pdu_names[] = {
    { "get_request", 0 },          { "get_next_request", 1 },
    { "response", SNMP_RESPONSE }, { "set_request", 3 },
    { "trap_v1", SNMP_TRAP_V1 },   { "get_bulk_request", SNMP_GET_BULK_REQUEST },
    { "inform_request", 6 },       { "trap_v2", 7 },
    { "report", SNMP_REPORT },     { NULL, 0 },
};

/* The spelling of EVE; rules compare names without case. */
const struct number_name snmp_trap_names[] = {
    { "coldStart", 0 },
    { "warmStart", 1 },
    { "linkDown", 2 },
    { "linkUp", 3 },
    { "authenticationFailure", 4 },
    { "egpNeighborLoss", 5 },
    { "enterpriseSpecific", 6 },
    { NULL, 0 },
};

/* error-status of RFC 3416 */
static const struct number_name error_names[] = {
    { "tooBig", 1 },
    { "noSuchName", 2 },
    { "badValue", 3 },
    { "readOnly", 4 },
    { "genErr", 5 },
    { "noAccess", 6 },
    { "wrongType", 7 },
    { "wrongLength", 8 },
    { "wrongEncoding", 9 },
    { "wrongValue", 10 },
    { "noCreation", 11 },
    { "inconsistentValue", 12 },
    { "resourceUnavailable", 13 },
    { "commitFailed", 14 },
    { "undoFailed", 15 },
    { "authorizationError", 16 },
    { "notWritable", 17 },
    { "inconsistentName", 18 },
    { NULL, 0 },
};

static void log_number(const char *key, const struct number_name *names, int32_t number, struct fields *out)
{
    char text[sizeof("-2147483648")];

    while (names->name && (number < 0 || names->value != (uint64_t)number))
        names++;
    if (!names->name)
        snprintf(text, sizeof(text), "%d", (int)number);
    fields_string(out, key, names->name ? names->name : text);
}

static void log_text(const char *key, const struct snmp_tx *tx, const struct snmp_text *text, struct fields *out)
{
    if (text->is_present)
        fields_bytes(out, key, text->length > 0 ? tx->text.bytes + text->at : (const uint8_t *)"", text->length);
}

static void log_variables(const struct snmp_tx *tx, struct fields *out)
{
    struct cursor variables, oid;
    char text[DER_OID_TEXT_MAX];

    if (!tx->variables.is_present || tx->variables.length == 0)
        return;
    variables = cursor_of(tx->text.bytes + tx->variables.at, tx->variables.length);
    fields_array_open(out, "vars");
    while (snmp_next_variable(&variables, &oid))
        fields_bytes(out, NULL, text, der_oid_text(oid, text));
    fields_array_close(out);
}

void snmp_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)tx;

    (void)settings;
    if (!snmp->parsed)
        return;
    fields_uint(out, "version", snmp->version);
    if (snmp->encrypted)
        fields_string(out, "pdu_type", "encrypted");
    else
        log_number("pdu_type", snmp_pdu_names, snmp->pdu_type, out);
    if (snmp->has_trap) {
        struct address address = { .bytes = { 0 } };

        memcpy(&address, snmp->trap_address, SNMP_ADDRESS);
        log_number("trap_type", snmp_trap_names, snmp->trap_type, out);
        log_text("trap_oid", snmp, &snmp->trap_oid, out);
        fields_address(out, "trap_address", 4, &address);
    }
    log_variables(snmp, out);
    log_text("community", snmp, &snmp->community, out);
    log_text("usm", snmp, &snmp->usm, out);
}

/* The schema of events has no member for the error of a response. */
void snmp_log_own(const struct app_tx *tx, struct fields *out)
{
    const struct snmp_tx *snmp = (const struct snmp_tx *)tx;

    if (!snmp->parsed || snmp->error == 0)
        return;
    fields_object_open(out, "snmp");
    log_number("error", error_names, snmp->error, out);
    fields_object_close(out);
}
