/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kerberos message parser. Only fields that rules and events use are parsed; fields after the last of them are ignored.
 */
#include <errno.h>

#include "krb5_priv.h"
#include "sluice/der.h"

struct parser {
    struct heap *heap;
    struct krb5_tx *tx;
    uint32_t limit; /* maximum bytes of krb5_tx.text; enough for all names of a message */
    bool no_memory;
};

static bool store_text(struct parser *parser, const void *bytes, size_t length, struct krb5_text *out)
{
    struct buffer *text = &parser->tx->text;

    out->at = text->length;
    out->length = (uint32_t)length;
    if (buffer_append(parser->heap, text, bytes, (uint32_t)length, parser->limit) == length)
        return true;
    parser->no_memory = true;
    return false;
}

/* Parses a PrincipalName: the name type, and the components of the name. */
static bool read_name(struct parser *parser, struct cursor *cur, uint8_t number, struct krb5_name *out)
{
    struct cursor name, strings, component;
    struct krb5_text slash;
    int32_t type;

    if (!der_read_explicit(cur, number, DER_SEQUENCE, &name) || !der_read_explicit_int32(&name, 0, &type) ||
        !der_read_explicit(&name, 1, DER_SEQUENCE, &strings))
        return false;
    out->whole.at = parser->tx->text.length;
    while (cursor_remaining(&strings)) {
        if (out->components == KRB5_COMPONENTS || !der_read(&strings, DER_GENERAL_STRING, &component))
            return false;
        if (out->components > 0 && !store_text(parser, "/", 1, &slash))
            return false;
        if (!store_text(parser, component.at, cursor_remaining(&component), &out->component[out->components]))
            return false;
        out->components++;
    }
    out->whole.length = parser->tx->text.length - out->whole.at;
    out->is_present = true;
    return true;
}

static bool is_next(const struct cursor *cur, uint8_t number)
{
    const uint8_t *tag = cursor_peek(cur, 1);

    return tag && *tag == (DER_CONTEXT_CONSTRUCTED | number);
}

static bool read_optional_name(struct parser *parser, struct cursor *cur, uint8_t number, struct krb5_name *out)
{
    return !is_next(cur, number) || read_name(parser, cur, number, out);
}

static bool read_realm(struct parser *parser, struct cursor *cur, uint8_t number)
{
    struct cursor realm;

    parser->tx->has_realm = der_read_explicit(cur, number, DER_GENERAL_STRING, &realm) &&
                            store_text(parser, realm.at, cursor_remaining(&realm), &parser->tx->realm);
    return parser->tx->has_realm;
}

/* Parses pvno and msg-type, which are the fields `number` and `number` + 1. */
static bool read_start(struct cursor *cur, uint8_t number, uint8_t type)
{
    int32_t version, actual;

    return der_read_explicit_int32(cur, number, &version) && version == 5 &&
           der_read_explicit_int32(cur, (uint8_t)(number + 1), &actual) && actual == type;
}

/* Parses a KDC-REQ. */
static bool read_request(struct parser *parser, struct cursor *cur)
{
    struct krb5_tx *tx = parser->tx;
    struct cursor body;

    if (!read_start(cur, 1, tx->type))
        return false;
    der_skip_optional(cur, DER_CONTEXT_CONSTRUCTED | 3); /* padata */
    if (!der_read_explicit(cur, 4, DER_SEQUENCE, &body) || !is_next(&body, 0))
        return false;
    der_skip_optional(&body, DER_CONTEXT_CONSTRUCTED | 0); /* options */
    return read_optional_name(parser, &body, 1, &tx->client) && read_realm(parser, &body, 2) &&
           read_optional_name(parser, &body, 3, &tx->server);
}

static bool read_ticket(struct parser *parser, struct cursor *cur)
{
    struct krb5_tx *tx = parser->tx;
    struct cursor field, ticket, body, encrypted;
    int32_t version;

    if (!der_read(cur, DER_CONTEXT_CONSTRUCTED | 5, &field) ||
        !der_read(&field, DER_APPLICATION_CONSTRUCTED | 1, &ticket) || !der_read(&ticket, DER_SEQUENCE, &body))
        return false;
    if (!der_read_explicit_int32(&body, 0, &version))
        return false;
    der_skip_optional(&body, DER_CONTEXT_CONSTRUCTED | 1); /* realm */
    tx->has_ticket_encryption = read_name(parser, &body, 2, &tx->server) &&
                                der_read_explicit(&body, 3, DER_SEQUENCE, &encrypted) &&
                                der_read_explicit_int32(&encrypted, 0, &tx->ticket_encryption);
    return tx->has_ticket_encryption;
}

/* Parses a KDC-REP. */
static bool read_reply(struct parser *parser, struct cursor *cur)
{
    struct krb5_tx *tx = parser->tx;
    struct cursor encrypted;

    if (!read_start(cur, 0, tx->type))
        return false;
    der_skip_optional(cur, DER_CONTEXT_CONSTRUCTED | 2); /* padata */
    if (!read_realm(parser, cur, 3) || !read_name(parser, cur, 4, &tx->client) || !read_ticket(parser, cur))
        return false;
    tx->has_encryption =
        der_read_explicit(cur, 6, DER_SEQUENCE, &encrypted) && der_read_explicit_int32(&encrypted, 0, &tx->encryption);
    return tx->has_encryption;
}

/* Parses a KRB-ERROR. As in Suricata, the realm is the client's (crealm). */
static bool read_error(struct parser *parser, struct cursor *cur)
{
    struct krb5_tx *tx = parser->tx;

    if (!read_start(cur, 0, tx->type))
        return false;
    for (uint8_t times = 2; times <= 5; times++)
        der_skip_optional(cur, DER_CONTEXT_CONSTRUCTED | times);
    tx->has_error = der_read_explicit_int32(cur, 6, &tx->error);
    if (!tx->has_error || (is_next(cur, 7) && !read_realm(parser, cur, 7)))
        return false;
    if (!read_optional_name(parser, cur, 8, &tx->client))
        return false;
    der_skip_optional(cur, DER_CONTEXT_CONSTRUCTED | 9); /* the server's realm */
    return read_name(parser, cur, 10, &tx->server);
}

int krb5_parse(struct heap *heap, struct krb5_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct parser parser = { .heap = heap, .tx = tx, .limit = 2 * length };
    struct cursor cur = cursor_of(bytes, length), body;
    bool ok = der_read(&cur, DER_SEQUENCE, &body);

    if (ok && tx->type == KRB5_ERROR)
        ok = read_error(&parser, &body);
    else if (ok && (tx->type == KRB5_AS_REQ || tx->type == KRB5_TGS_REQ))
        ok = read_request(&parser, &body);
    else if (ok)
        ok = read_reply(&parser, &body);
    if (parser.no_memory)
        return -ENOMEM;
    return ok ? 0 : -EINVAL;
}
