/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kerberos message parser. It parses only the fields that rules and events use; the fields after them are ignored, and
 * optional fields may be absent.
 */
#include <errno.h>

#include "ber.h"
#include "krb5_priv.h"

struct parse {
    struct heap *heap;
    struct krb5_tx *tx;
    uint32_t limit; /* bytes of text; enough for all names of a message */
    bool no_memory;
};

static bool keep(struct parse *parse, const void *bytes, size_t length, struct krb5_text *out)
{
    struct buffer *text = &parse->tx->text;

    out->at = text->length;
    out->length = (uint32_t)length;
    if (buffer_append(parse->heap, text, bytes, (uint32_t)length, parse->limit) == length)
        return true;
    parse->no_memory = true;
    return false;
}

/* PrincipalName: a type, and the parts of the name. */
static bool read_name(struct parse *parse, struct cursor *cur, uint8_t number, struct krb5_name *out)
{
    struct cursor name, strings, part;
    struct krb5_text slash;
    int32_t type;

    if (!ber_sequence(cur, number, &name) || !ber_integer(&name, 0, &type) || !ber_sequence(&name, 1, &strings))
        return false;
    out->whole.at = parse->tx->text.length;
    while (cursor_left(&strings)) {
        if (out->parts == KRB5_PARTS || !ber_take(&strings, BER_GENERAL_STRING, &part))
            return false;
        if (out->parts > 0 && !keep(parse, "/", 1, &slash))
            return false;
        if (!keep(parse, part.at, cursor_left(&part), &out->part[out->parts]))
            return false;
        out->parts++;
    }
    out->whole.length = parse->tx->text.length - out->whole.at;
    out->is_there = true;
    return true;
}

static bool is_next(const struct cursor *cur, uint8_t number)
{
    const uint8_t *tag = cursor_peek(cur, 1);

    return tag && *tag == (BER_CONTEXT | number);
}

static bool read_optional_name(struct parse *parse, struct cursor *cur, uint8_t number, struct krb5_name *out)
{
    return !is_next(cur, number) || read_name(parse, cur, number, out);
}

static bool read_realm(struct parse *parse, struct cursor *cur, uint8_t number)
{
    struct cursor realm;

    parse->tx->has_realm =
        ber_string(cur, number, &realm) && keep(parse, realm.at, cursor_left(&realm), &parse->tx->realm);
    return parse->tx->has_realm;
}

/* Parses version and type, whose field numbers depend on the kind of message. */
static bool read_start(struct cursor *cur, uint8_t number, uint8_t type)
{
    int32_t version, have;

    return ber_integer(cur, number, &version) && version == 5 && ber_integer(cur, (uint8_t)(number + 1), &have) &&
           have == type;
}

/* KDC-REQ */
static bool read_request(struct parse *parse, struct cursor *cur)
{
    struct krb5_tx *tx = parse->tx;
    struct cursor body;

    if (!read_start(cur, 1, tx->type))
        return false;
    ber_skip(cur, 3); /* padata */
    if (!ber_sequence(cur, 4, &body) || !is_next(&body, 0))
        return false;
    ber_skip(&body, 0); /* options */
    return read_optional_name(parse, &body, 1, &tx->client) && read_realm(parse, &body, 2) &&
           read_optional_name(parse, &body, 3, &tx->server);
}

static bool read_ticket(struct parse *parse, struct cursor *cur)
{
    struct krb5_tx *tx = parse->tx;
    struct cursor field, ticket, body, encrypted;
    int32_t version;

    if (!ber_take(cur, BER_CONTEXT | 5, &field) || !ber_take(&field, BER_APPLICATION | 1, &ticket) ||
        !ber_take(&ticket, BER_SEQUENCE, &body))
        return false;
    if (!ber_integer(&body, 0, &version))
        return false;
    ber_skip(&body, 1); /* realm */
    tx->has_ticket_encryption = read_name(parse, &body, 2, &tx->server) && ber_sequence(&body, 3, &encrypted) &&
                                ber_integer(&encrypted, 0, &tx->ticket_encryption);
    return tx->has_ticket_encryption;
}

/* KDC-REP */
static bool read_reply(struct parse *parse, struct cursor *cur)
{
    struct krb5_tx *tx = parse->tx;
    struct cursor encrypted;

    if (!read_start(cur, 0, tx->type))
        return false;
    ber_skip(cur, 2); /* padata */
    if (!read_realm(parse, cur, 3) || !read_name(parse, cur, 4, &tx->client) || !read_ticket(parse, cur))
        return false;
    tx->has_encryption = ber_sequence(cur, 6, &encrypted) && ber_integer(&encrypted, 0, &tx->encryption);
    return tx->has_encryption;
}

/* KRB-ERROR: the realm is that of the client, as in Suricata. */
static bool read_error(struct parse *parse, struct cursor *cur)
{
    struct krb5_tx *tx = parse->tx;

    if (!read_start(cur, 0, tx->type))
        return false;
    for (uint8_t times = 2; times <= 5; times++)
        ber_skip(cur, times);
    tx->has_error = ber_integer(cur, 6, &tx->error);
    if (!tx->has_error || (is_next(cur, 7) && !read_realm(parse, cur, 7)))
        return false;
    if (!read_optional_name(parse, cur, 8, &tx->client))
        return false;
    ber_skip(cur, 9); /* the server's realm */
    return read_name(parse, cur, 10, &tx->server);
}

int krb5_parse(struct heap *heap, struct krb5_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct parse parse = { .heap = heap, .tx = tx, .limit = 2 * length };
    struct cursor cur = cursor_of(bytes, length), body;
    bool fine = ber_take(&cur, BER_SEQUENCE, &body);

    if (fine && tx->type == KRB5_ERROR)
        fine = read_error(&parse, &body);
    else if (fine && (tx->type == KRB5_AS_REQ || tx->type == KRB5_TGS_REQ))
        fine = read_request(&parse, &body);
    else if (fine)
        fine = read_reply(&parse, &body);
    if (parse.no_memory)
        return -ENOMEM;
    return fine ? 0 : -EINVAL;
}
