/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LDAP operations. The content of an operation is stored as it is; names that rules inspect are found once, when the
 * message arrives, and stored as spans of it.
 */
#include <errno.h>

#include "ldap_priv.h"
#include "sluice/der.h"

enum { SPANS_MAX = 1 << 18 };

struct parser {
    struct heap *heap;
    const uint8_t *start; /* of the operation's content */
    uint32_t offset;      /* of the operation's content in the stored bytes */
    bool no_memory;
};

bool ldap_read_number(struct cursor *cur, uint8_t tag, uint32_t *out)
{
    struct cursor body;
    uint32_t value = 0;
    uint8_t byte;

    if (!der_read(cur, tag, &body) || cursor_remaining(&body) == 0 || cursor_remaining(&body) > 5)
        return false;
    if ((body.at[0] & 0x80) != 0 || (cursor_remaining(&body) == 5 && body.at[0] != 0))
        return false;
    while (cursor_u8(&body, &byte))
        value = value << 8 | byte;
    *out = value;
    return true;
}

bool ldap_read_result(struct cursor *cur, struct ldap_result *out)
{
    return ldap_read_number(cur, LDAP_ENUMERATED, &out->code) && der_read(cur, DER_OCTET_STRING, &out->dn) &&
           der_read(cur, DER_OCTET_STRING, &out->message);
}

bool ldap_has_result(uint8_t operation)
{
    return operation != LDAP_SEARCH_RESULT_ENTRY && operation != LDAP_SEARCH_RESULT_REFERENCE &&
           operation != LDAP_INTERMEDIATE_RESPONSE;
}

static struct ldap_span locate(const struct parser *parser, const struct cursor *text)
{
    return (struct ldap_span){ .at = parser->offset + (uint32_t)(text->at - parser->start),
                               .length = (uint32_t)cursor_remaining(text) };
}

static void add_span(struct parser *parser, struct ldap_spans *spans, const struct cursor *text)
{
    struct ldap_span span = locate(parser, text);

    if (buffer_append(parser->heap, &spans->buffer, &span, sizeof(span), SPANS_MAX * sizeof(span)) == sizeof(span))
        spans->count++;
    else
        parser->no_memory = true;
}

/* Adds the types of a list of attributes; each is a sequence that begins with the type. */
static bool add_attributes(struct parser *parser, struct cursor *cur, struct ldap_spans *spans)
{
    struct cursor list, attribute, type;

    if (!der_read(cur, DER_SEQUENCE, &list))
        return false;
    while (cursor_remaining(&list) > 0) {
        if (!der_read(&list, DER_SEQUENCE, &attribute) || !der_read(&attribute, DER_OCTET_STRING, &type))
            return false;
        add_span(parser, spans, &type);
    }
    return true;
}

/* Adds the types of a ModifyRequest: each change is an operation and an attribute. */
static bool add_changes(struct parser *parser, struct cursor *cur, struct ldap_spans *spans)
{
    struct cursor list, change, attribute, type;
    uint32_t operation;

    if (!der_read(cur, DER_SEQUENCE, &list))
        return false;
    while (cursor_remaining(&list) > 0) {
        if (!der_read(&list, DER_SEQUENCE, &change) || !ldap_read_number(&change, LDAP_ENUMERATED, &operation) ||
            !der_read(&change, DER_SEQUENCE, &attribute) || !der_read(&attribute, DER_OCTET_STRING, &type))
            return false;
        add_span(parser, spans, &type);
    }
    return true;
}

/* Adds the attributes that a SearchRequest selects. */
static bool add_selection(struct parser *parser, struct cursor *cur, struct ldap_spans *spans)
{
    struct cursor unused, list, type;
    struct der_value filter;
    uint32_t number;

    if (!ldap_read_number(cur, LDAP_ENUMERATED, &number) || !ldap_read_number(cur, LDAP_ENUMERATED, &number) ||
        !ldap_read_number(cur, DER_INTEGER, &number) || !ldap_read_number(cur, DER_INTEGER, &number) ||
        !der_read(cur, LDAP_BOOLEAN, &unused) || !der_next(cur, &filter) || !der_read(cur, DER_SEQUENCE, &list))
        return false;
    while (cursor_remaining(&list) > 0) {
        if (!der_read(&list, DER_OCTET_STRING, &type))
            return false;
        add_span(parser, spans, &type);
    }
    return true;
}

static bool parse_request(struct parser *parser, struct ldap_tx *tx, struct cursor cur)
{
    struct ldap_spans *attributes = &tx->request_attributes;
    struct cursor name = cur, assertion;
    uint32_t version;

    switch (tx->operation) {
    case LDAP_UNBIND_REQUEST:
    case LDAP_ABANDON_REQUEST:
    case LDAP_EXTENDED_REQUEST:
        return true;
    case LDAP_DEL_REQUEST:
        cur.at = cur.end;
        break;
    case LDAP_BIND_REQUEST:
        if (!ldap_read_number(&cur, DER_INTEGER, &version))
            return false;
        __attribute__((fallthrough));
    default:
        if (!der_read(&cur, DER_OCTET_STRING, &name))
            return false;
    }
    tx->has_dn = true;
    tx->dn = locate(parser, &name);
    switch (tx->operation) {
    case LDAP_SEARCH_REQUEST:
        return add_selection(parser, &cur, attributes);
    case LDAP_MODIFY_REQUEST:
        return add_changes(parser, &cur, attributes);
    case LDAP_ADD_REQUEST:
        return add_attributes(parser, &cur, attributes);
    case LDAP_COMPARE_REQUEST:
        if (!der_read(&cur, DER_SEQUENCE, &assertion) || !der_read(&assertion, DER_OCTET_STRING, &name))
            return false;
        add_span(parser, attributes, &name);
        return true;
    default:
        return true;
    }
}

int ldap_store_request(struct heap *heap, struct ldap_tx *tx, struct cursor body)
{
    static const char start_tls[] = "1.3.6.1.4.1.1466.20037";
    struct parser parser = { .heap = heap, .start = body.at };
    uint32_t length = (uint32_t)cursor_remaining(&body);
    struct cursor cur = body, name;

    if (buffer_append(heap, &tx->request, body.at, length, LDAP_MESSAGE_MAX) != length)
        return -ENOMEM;
    if (tx->operation == LDAP_EXTENDED_REQUEST) {
        if (!der_read(&cur, DER_CONTEXT | 0, &name))
            return -EINVAL;
        tx->starts_tls =
            cursor_remaining(&name) == sizeof(start_tls) - 1 && memcmp(name.at, start_tls, sizeof(start_tls) - 1) == 0;
        return 0;
    }
    if (!parse_request(&parser, tx, body))
        return -EINVAL;
    return parser.no_memory ? -ENOMEM : 0;
}

static bool parse_response(struct parser *parser, struct ldap_tx *tx, uint8_t operation, struct cursor cur)
{
    struct ldap_result result;
    struct cursor name;

    if (operation == LDAP_SEARCH_RESULT_ENTRY) {
        if (!der_read(&cur, DER_OCTET_STRING, &name))
            return false;
        add_span(parser, &tx->dns, &name);
        return add_attributes(parser, &cur, &tx->response_attributes);
    }
    if (!ldap_has_result(operation))
        return true;
    if (!ldap_read_result(&cur, &result))
        return false;
    add_span(parser, &tx->dns, &result.dn);
    add_span(parser, &tx->messages, &result.message);
    if (buffer_append(parser->heap, &tx->results, &result.code, sizeof(result.code), SPANS_MAX) == sizeof(result.code))
        tx->result_count++;
    else
        parser->no_memory = true;
    return true;
}

int ldap_store_response(struct heap *heap, struct ldap_tx *tx, struct ldap_response *response, struct cursor body)
{
    struct parser parser = { .heap = heap, .start = body.at, .offset = tx->responses.length };
    uint32_t length = (uint32_t)cursor_remaining(&body), size = sizeof(*response);
    bool ok;

    response->body = (struct ldap_span){ .at = parser.offset, .length = length };
    if (buffer_append(heap, &tx->responses, body.at, length, UINT32_MAX) != length ||
        buffer_append(heap, &tx->response_list, response, size, UINT32_MAX) != size)
        return -ENOMEM;
    tx->response_count++;
    ok = parse_response(&parser, tx, response->operation, body);
    if (parser.no_memory)
        return -ENOMEM;
    return ok ? 0 : -EINVAL;
}
