/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SNMP message parser. The values of variable bindings are not parsed; their OIDs are read from the encoded list when
 * an event is written.
 */
#include <errno.h>
#include <string.h>

#include "snmp_priv.h"

enum { ADDRESS_TAG = 0x40, PRIVACY_FLAG = 0x02, USM = 3, INTEGER_MAX = 5 };

struct parser {
    struct heap *heap;
    struct snmp_tx *tx;
    uint32_t limit; /* maximum bytes of snmp_tx.text */
    bool no_memory;
};

static bool store_text(struct parser *parser, const void *bytes, size_t length, struct snmp_text *out)
{
    struct buffer *text = &parser->tx->text;

    *out = (struct snmp_text){ .is_present = true, .at = text->length, .length = (uint32_t)length };
    if (buffer_append(parser->heap, text, bytes, (uint32_t)length, parser->limit) == length)
        return true;
    parser->no_memory = true;
    return false;
}

/* Reads an INTEGER of up to 32 bits. A leading zero octet is allowed, because unsigned numbers of 32 bits have it. */
static bool read_integer(struct cursor *cur, int32_t *out)
{
    struct cursor body;
    uint64_t value = 0;
    uint8_t byte;

    if (!der_read(cur, DER_INTEGER, &body) || cursor_remaining(&body) == 0 || cursor_remaining(&body) > INTEGER_MAX)
        return false;
    if (*body.at & 0x80)
        value = UINT64_MAX;
    while (cursor_u8(&body, &byte))
        value = value << 8 | byte;
    *out = (int32_t)value;
    return true;
}

enum app_probe_result snmp_read_version(struct cursor *message, uint8_t *version)
{
    struct der_header header;
    enum der_result result = der_read_header(message, DER_DEFINITE, &header);
    int32_t number;

    if (result != DER_OK)
        return result == DER_TRUNCATED ? APP_UNSURE : APP_NO;
    if (header.identifier != DER_SEQUENCE || !read_integer(message, &number))
        return APP_NO;
    if (number != 0 && number != 1 && number != 3)
        return APP_NO;
    *version = (uint8_t)(number == 3 ? 3 : number + 1);
    return APP_YES;
}

bool snmp_next_variable(struct cursor *variables, struct cursor *oid)
{
    struct cursor binding;

    return der_read(variables, DER_SEQUENCE, &binding) && der_read(&binding, DER_OID, oid);
}

static bool read_variables(struct parser *parser, struct cursor *pdu)
{
    struct cursor variables, rest, oid;

    if (!der_read(pdu, DER_SEQUENCE, &variables))
        return false;
    rest = variables;
    while (cursor_remaining(&rest) > 0)
        if (!snmp_next_variable(&rest, &oid))
            return false;
    return store_text(parser, variables.at, cursor_remaining(&variables), &parser->tx->variables);
}

/* Parses a Trap-PDU of version 1: enterprise, agent-addr, generic-trap, specific-trap, time-stamp, variable bindings.
 */
static bool read_trap(struct parser *parser, struct cursor *pdu)
{
    struct snmp_tx *tx = parser->tx;
    struct cursor enterprise, address;
    struct der_value time;
    int32_t specific;
    char text[DER_OID_TEXT_MAX];

    if (!der_read(pdu, DER_OID, &enterprise) || !der_read(pdu, ADDRESS_TAG, &address) ||
        cursor_remaining(&address) != SNMP_ADDRESS || !read_integer(pdu, &tx->trap_type) ||
        !read_integer(pdu, &specific) || !der_next(pdu, &time))
        return false;
    memcpy(tx->trap_address, address.at, SNMP_ADDRESS);
    tx->has_trap = true;
    return store_text(parser, text, der_oid_text(enterprise, text), &tx->trap_oid) && read_variables(parser, pdu);
}

static bool read_pdu(struct parser *parser, struct cursor *cur)
{
    struct snmp_tx *tx = parser->tx;
    struct der_value pdu;
    int32_t request, status, index;

    if (!der_next(cur, &pdu) || (pdu.tag & ~0x1f) != DER_CONTEXT_CONSTRUCTED)
        return false;
    tx->pdu_type = pdu.tag & 0x1f;
    if (tx->pdu_type > (tx->version == 1 ? SNMP_TRAP_V1 : SNMP_REPORT))
        return false;
    tx->has_pdu = true;
    if (tx->pdu_type == SNMP_TRAP_V1)
        return read_trap(parser, &pdu.body);
    if (!read_integer(&pdu.body, &request) || !read_integer(&pdu.body, &status) || !read_integer(&pdu.body, &index))
        return false;
    if (tx->pdu_type != SNMP_GET_BULK_REQUEST) /* which has non-repeaters there */
        tx->error = status;
    return read_variables(parser, &pdu.body);
}

/* Parses the security parameters of the User-based Security Model, of which only the user name is used. */
static bool read_usm(struct parser *parser, struct cursor parameters)
{
    struct cursor usm, engine, user;
    int32_t boots, time;

    return der_read(&parameters, DER_SEQUENCE, &usm) && der_read(&usm, DER_OCTET_STRING, &engine) &&
           read_integer(&usm, &boots) && read_integer(&usm, &time) && der_read(&usm, DER_OCTET_STRING, &user) &&
           store_text(parser, user.at, cursor_remaining(&user), &parser->tx->usm);
}

static bool read_v3(struct parser *parser, struct cursor *message)
{
    struct snmp_tx *tx = parser->tx;
    struct cursor header, flags, parameters, scoped, encrypted, engine, name;
    int32_t id, size, model;

    if (!der_read(message, DER_SEQUENCE, &header) || !read_integer(&header, &id) || !read_integer(&header, &size) ||
        !der_read(&header, DER_OCTET_STRING, &flags) || cursor_remaining(&flags) != 1 || !read_integer(&header, &model))
        return false;
    tx->encrypted = *flags.at & PRIVACY_FLAG;
    if (!der_read(message, DER_OCTET_STRING, &parameters))
        return false;
    tx->unknown_security_model = model != USM;
    if (!tx->unknown_security_model && !read_usm(parser, parameters))
        return false;
    if (tx->encrypted)
        return der_read(message, DER_OCTET_STRING, &encrypted);
    return der_read(message, DER_SEQUENCE, &scoped) && der_read(&scoped, DER_OCTET_STRING, &engine) &&
           der_read(&scoped, DER_OCTET_STRING, &name) && read_pdu(parser, &scoped);
}

int snmp_parse(struct heap *heap, struct snmp_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct parser parser = { .heap = heap, .tx = tx, .limit = length + DER_OID_TEXT_MAX };
    struct cursor cur = cursor_of(bytes, length), message, community;
    struct der_value whole;
    bool ok;

    message = cur;
    if (snmp_read_version(&message, &tx->version) != APP_YES || !der_next(&cur, &whole))
        return -EINVAL;
    message = whole.body;
    der_skip_optional(&message, DER_INTEGER);
    if (tx->version == 3)
        ok = read_v3(&parser, &message);
    else
        ok = der_read(&message, DER_OCTET_STRING, &community) &&
             store_text(&parser, community.at, cursor_remaining(&community), &tx->community) &&
             read_pdu(&parser, &message);
    if (parser.no_memory)
        return -ENOMEM;
    return ok ? 0 : -EINVAL;
}
