/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Handshake messages. Records contain consecutive messages; any message, including its 4-byte header, may span records
 * (RFC 8446 §5.1). A message within one record is parsed in place, others are reassembled first. Message types that
 * are not parsed are skipped without storing them.
 */
#include <errno.h>

#include "tls_priv.h"

enum { MESSAGE_HEADER = 4 };

enum message_type {
    HELLO_REQUEST = 0,
    CLIENT_HELLO = 1,
    SERVER_HELLO = 2,
    NEW_SESSION_TICKET = 4,
    CERTIFICATE = 11,
    SERVER_KEY_EXCHANGE = 12,
    CERTIFICATE_REQUEST = 13,
    SERVER_HELLO_DONE = 14,
    CERTIFICATE_VERIFY = 15,
    CLIENT_KEY_EXCHANGE = 16,
    FINISHED = 20,
    CERTIFICATE_URL = 21,
    CERTIFICATE_STATUS = 22,
};

static bool is_known_type(uint8_t type)
{
    const uint32_t known = 1u << HELLO_REQUEST | 1u << CLIENT_HELLO | 1u << SERVER_HELLO | 1u << NEW_SESSION_TICKET |
                           1u << CERTIFICATE | 1u << SERVER_KEY_EXCHANGE | 1u << CERTIFICATE_REQUEST |
                           1u << SERVER_HELLO_DONE | 1u << CERTIFICATE_VERIFY | 1u << CLIENT_KEY_EXCHANGE |
                           1u << FINISHED | 1u << CERTIFICATE_URL | 1u << CERTIFICATE_STATUS;

    return type < 32 && (known >> type & 1);
}

static bool is_parsed_type(uint8_t type)
{
    return type == CLIENT_HELLO || type == SERVER_HELLO || type == CERTIFICATE;
}

/* --- Message types -------------------------------------------------------------------------------- */

static int handle_certificate(const struct tls_parser *parser, struct cursor body)
{
    bool from_client = parser->direction == FLOW_TO_SERVER;
    int err = tls_parse_certificates(parser, body);

    if (err)
        return err;
    if (from_client)
        parser->tx->flags |= TLS_SAW_CLIENT_CERTIFICATE;
    tls_advance(parser, parser->direction, from_client ? TLS_CLIENT_CERT_DONE : TLS_SERVER_CERT_DONE);
    if (from_client && (parser->tx->flags & TLS_WANTS_CLIENT_CERTIFICATE) && tls_side_of(parser)->certificates.decoded)
        tls_handshake_done(parser);
    return 0;
}

/* Starts a new transaction for a second ClientHello, which follows a HelloRetryRequest (RFC 8446 §4.1.4) or comes from
 * a client that does not wait for the ServerHello. The server may use either of the two, so rules inspect both. Only
 * the last transaction is logged. */
static int start_transaction(struct tls_parser *parser)
{
    struct tls_tx *before = parser->tx, *tx = tls_new_transaction(parser->context);

    if (!tx)
        return -ENOMEM;
    before->tx.log_never = true;
    tls_advance(parser, FLOW_TO_SERVER, TLS_CLIENT_FINISHED);
    tls_advance(parser, FLOW_TO_CLIENT, TLS_SERVER_FINISHED);
    tx->flags = before->flags & (TLS_SAW_CLIENT_HELLO | TLS_HAS_SUPPORTED_VERSIONS);
    parser->tx = tx;
    return 0;
}

/* Handles a ClientHello or ServerHello; a hello in the wrong direction only sets an event. Returns 0 or -errno. */
static int handle_hello(struct tls_parser *parser, uint8_t type, struct cursor body)
{
    bool from_client = type == CLIENT_HELLO;
    int err;

    if (from_client != (parser->direction == FLOW_TO_SERVER)) {
        tls_event(parser, TLS_INVALID_HANDSHAKE_MESSAGE);
        return 0;
    }
    if (from_client && (parser->tx->flags & TLS_SAW_CLIENT_HELLO) &&
        !tls_hello_is_equal(&tls_side_of(parser)->hello, body)) {
        err = start_transaction(parser);
        if (err)
            return err;
    }
    err = tls_parse_hello(parser, body);
    if (err)
        return err;
    parser->tx->flags |= from_client ? TLS_SAW_CLIENT_HELLO : TLS_SAW_SERVER_HELLO;
    tls_advance(parser, parser->direction, from_client ? TLS_CLIENT_HELLO_DONE : TLS_SERVER_HELLO);
    return 0;
}

/* Sets a flag that the keyword ssl_state uses. The progress of the transaction does not change with the flag, so the
 * transaction is marked for inspection. */
static void set_flag(struct tls_tx *tx, unsigned flag)
{
    tx->flags |= flag;
    app_tx_mark_changed(&tx->tx, FLOW_TO_SERVER);
    app_tx_mark_changed(&tx->tx, FLOW_TO_CLIENT);
}

static int handle_message(struct tls_parser *parser, uint8_t type, struct cursor body)
{
    struct tls_tx *tx = parser->tx;
    bool from_client = parser->direction == FLOW_TO_SERVER;

    switch (type) {
    case CLIENT_HELLO:
    case SERVER_HELLO:
        return handle_hello(parser, type, body);
    case CERTIFICATE:
        return handle_certificate(parser, body);
    case SERVER_KEY_EXCHANGE:
        set_flag(tx, TLS_SAW_SERVER_KEY);
        return 0;
    case CLIENT_KEY_EXCHANGE:
        set_flag(tx, TLS_SAW_CLIENT_KEY);
        return 0;
    case CERTIFICATE_REQUEST:
        tx->flags |= from_client ? 0 : TLS_WANTS_CLIENT_CERTIFICATE;
        return 0;
    case SERVER_HELLO_DONE:
        if (from_client)
            return 0;
        tls_advance(parser, FLOW_TO_CLIENT, TLS_SERVER_HELLO_DONE);
        /* After the server's certificate, ServerHelloDone completes the visible handshake, unless the server has
         * requested a client certificate. */
        if (!(tx->flags & TLS_WANTS_CLIENT_CERTIFICATE) && tx->side[FLOW_TO_CLIENT].certificates.decoded)
            tls_handshake_done(parser);
        return 0;
    default:
        return 0;
    }
}

/* --- Message reassembly --------------------------------------------------------------------------- */

static void reset_message(const struct tls_parser *parser)
{
    struct tls_reader *reader = tls_reader_of(parser);

    buffer_clear(parser->tx->heap, &reader->message);
    reader->header_length = 0;
    reader->message_length = reader->message_skipped = 0;
    reader->message_skips = false;
}

/* Parses a complete message header, and decides whether the message is reassembled or skipped. Returns 0 or
 * -EMSGSIZE. */
static int start_message(const struct tls_parser *parser)
{
    struct tls_reader *reader = tls_reader_of(parser);
    uint8_t type = reader->header[0];

    reader->message_length = load_be32(reader->header) & 0xffffff;
    reader->message_skips = !is_parsed_type(type);
    if (!is_known_type(type))
        tls_event(parser, TLS_INVALID_HANDSHAKE_MESSAGE);
    if (!reader->message_skips && reader->message_length > TLS_MESSAGE_MAX) {
        tls_event(parser, TLS_HANDSHAKE_INVALID_LENGTH);
        if (type == CLIENT_HELLO)
            return -EMSGSIZE; /* parser error (app-layer.error-policy): rules cannot inspect this hello */
        reader->message_skips = true;
    }
    return 0;
}

static int skip_message(struct tls_parser *parser, struct cursor *bytes)
{
    struct tls_reader *reader = tls_reader_of(parser);
    uint32_t left = reader->message_length - reader->message_skipped;
    uint32_t count = cursor_remaining(bytes) < left ? (uint32_t)cursor_remaining(bytes) : left;

    cursor_skip(bytes, count);
    reader->message_skipped += count;
    if (count < left)
        return 0;
    uint8_t type = reader->header[0];
    bool is_too_long = is_parsed_type(type);

    reset_message(parser);
    return is_too_long ? 0 : handle_message(parser, type, cursor_of("", 0));
}

static int read_message(struct tls_parser *parser, struct cursor *bytes)
{
    struct tls_reader *reader = tls_reader_of(parser);
    uint32_t left = reader->message_length - reader->message.length;
    uint32_t count = cursor_remaining(bytes) < left ? (uint32_t)cursor_remaining(bytes) : left;
    const uint8_t *part = cursor_read(bytes, count);
    struct cursor body = cursor_of(part, count);

    if (count < reader->message_length) {
        if (buffer_append(parser->tx->heap, &reader->message, part, count, TLS_MESSAGE_MAX) < count)
            return -ENOMEM;
        if (count < left)
            return 0;
        body = cursor_of(reader->message.bytes, reader->message.length);
    }
    int err = handle_message(parser, reader->header[0], body);

    reset_message(parser);
    return err;
}

int tls_handshake_bytes(struct tls_parser *parser, struct cursor bytes)
{
    struct tls_reader *reader = tls_reader_of(parser);
    int err = 0;

    while (err == 0 && cursor_remaining(&bytes) > 0 && !parser->state->finished) {
        if (reader->header_length < MESSAGE_HEADER) {
            while (reader->header_length < MESSAGE_HEADER && cursor_u8(&bytes, &reader->header[reader->header_length]))
                reader->header_length++;
            if (reader->header_length < MESSAGE_HEADER)
                return 0;
            err = start_message(parser);
            if (err)
                return err;
        }
        err = reader->message_skips ? skip_message(parser, &bytes) : read_message(parser, &bytes);
    }
    return err;
}
