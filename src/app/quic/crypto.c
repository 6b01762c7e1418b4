/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Initial packets (RFC 9000 §12.4, §19), and the CRYPTO data in them: the handshake messages of TLS, in order
 * of their offsets. Clients send a ClientHello in any number of frames, in any order and over several packets.
 *
 * The first data of an offset is valid, as for the endpoints. Data that differs from earlier data of the same offset is
 * an error of the flow (app-layer.error-policy), because the endpoint may not have received the earlier packet. For
 * that reason the data is kept until the ServerHello.
 */
#include <errno.h>

#include "quic_priv.h"

enum frame_type {
    FRAME_PADDING = 0x00,
    FRAME_PING = 0x01,
    FRAME_ACK = 0x02,
    FRAME_ACK_ECN = 0x03,
    FRAME_CRYPTO = 0x06,
    FRAME_CONNECTION_CLOSE = 0x1c,
};
enum { MESSAGE_HEADER = 4, CLIENT_HELLO = 1, SERVER_HELLO = 2, CAPACITY_MIN = 2048 };

/* --- CRYPTO data ---------------------------------------------------------------------------------- */

void quic_free_stream(struct heap *heap, struct quic_stream *stream)
{
    buffer_clear(heap, &stream->bytes);
    buffer_clear(heap, &stream->present);
}

bool quic_reserve_stream(struct heap *heap, struct quic_stream *stream, uint32_t length)
{
    uint32_t capacity = CAPACITY_MIN, bits;

    if (length <= stream->bytes.length)
        return true;
    while (capacity < length) /* powers of two, so that the bytes are copied a few times only */
        capacity *= 2;
    if (!buffer_require(heap, &stream->bytes, capacity) || !buffer_require(heap, &stream->present, capacity / 8))
        return false;
    bits = capacity / 8;
    memset(stream->present.bytes + stream->present.length, 0, bits - stream->present.length);
    stream->present.length = bits;
    stream->bytes.length = capacity;
    return true;
}

/* Adds data at an offset. Returns 0, -EMSGSIZE, -ENOMEM, or -EBADMSG if it differs from earlier data. */
static int add_data(struct heap *heap, struct quic_stream *stream, uint64_t offset, struct cursor data)
{
    size_t length = cursor_remaining(&data);
    int err = 0;

    if (offset > QUIC_CRYPTO_MAX || length > QUIC_CRYPTO_MAX - offset)
        return -EMSGSIZE;
    if (!quic_reserve_stream(heap, stream, (uint32_t)(offset + length)))
        return -ENOMEM;
    for (size_t i = 0; i < length; i++) {
        size_t at = (size_t)offset + i;
        uint8_t *bits = stream->present.bytes + at / 8, bit = (uint8_t)(1u << at % 8);

        if (!(*bits & bit))
            stream->bytes.bytes[at] = data.at[i];
        else if (stream->bytes.bytes[at] != data.at[i])
            err = -EBADMSG;
        *bits |= bit;
    }
    while (stream->end < stream->bytes.length && stream->present.bytes[stream->end / 8] >> stream->end % 8 & 1)
        stream->end++;
    return err;
}

/* --- Hellos --------------------------------------------------------------------------------------- */

/* Returns the transaction of the connection that waits for a hello of this side; creates it. NULL without memory. */
static struct quic_tx *hello_transaction(struct quic_parser *parser, const struct quic_connection *connection,
                                         uint8_t side)
{
    struct quic_tx *tx = (struct quic_tx *)app_tx_first_open(parser->context);

    for (; tx; tx = (struct quic_tx *)app_tx_next_open(&tx->tls.tx))
        if (tx->has_connection && tx->connection == connection->number && tx->side == side)
            return tx;
    tx = quic_new_transaction(parser, connection->version, side);
    if (!tx)
        return NULL;
    tx->has_connection = true;
    tx->connection = connection->number;
    return tx;
}

static bool is_retry_request(struct cursor body)
{
    /* The random of a HelloRetryRequest (RFC 8446 §4.1.3). */
    static const uint8_t random[TLS_RANDOM_LENGTH] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
                                                       0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
                                                       0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c };
    const uint8_t *begin = cursor_peek(&body, 2 + sizeof(random));

    return begin && memcmp(begin + 2, random, sizeof(random)) == 0;
}

static void finish_stream(struct quic_parser *parser, struct quic_stream *stream)
{
    stream->finished = true;
    quic_free_stream(app_heap(parser->context), stream);
}

/* Ends the parsing of one side because of an error. Rules could not inspect a client's hello. */
static void fail_stream(struct quic_parser *parser, struct quic_connection *connection, uint8_t side,
                        enum quic_event event)
{
    struct quic_tx *tx = hello_transaction(parser, connection, side);

    if (tx) {
        quic_set_event(parser, tx, event, connection->version);
        quic_complete(parser, tx);
    }
    parser->failed |= side == FLOW_TO_SERVER || !tx;
    finish_stream(parser, &connection->stream[side]);
}

static void read_hello(struct quic_parser *parser, struct quic_connection *connection, uint8_t side, struct cursor body)
{
    struct quic_stream *stream = &connection->stream[side];
    struct quic_tx *tx = hello_transaction(parser, connection, side);
    struct tls_parser tls = {
        .context = parser->context,
        .tx = &tx->tls,
        .direction = (enum flow_direction)side,
        .error_event = QUIC_ERROR_ON_DATA,
    };

    if (!tx || tls_parse_hello(&tls, body)) {
        parser->failed = true;
        finish_stream(parser, stream);
    }
    if (!tx)
        return;
    quic_complete(parser, tx);
    if (++stream->hellos >= QUIC_HELLOS_MAX && !stream->finished)
        finish_stream(parser, stream);
}

/* Parses the messages that are complete. */
static void read_messages(struct quic_parser *parser, struct quic_connection *connection, uint8_t side)
{
    struct quic_stream *stream = &connection->stream[side];

    while (!stream->finished && stream->end > stream->parsed) {
        struct cursor data = cursor_of(stream->bytes.bytes + stream->parsed, stream->end - stream->parsed);
        const uint8_t *header = cursor_read(&data, MESSAGE_HEADER);
        uint32_t length = header ? load_be32(header) & 0xffffff : 0;

        if (!header)
            return;
        if (header[0] != (side == FLOW_TO_SERVER ? CLIENT_HELLO : SERVER_HELLO)) {
            fail_stream(parser, connection, side, QUIC_ERROR_ON_DATA);
            return;
        }
        if (length > QUIC_CRYPTO_MAX - MESSAGE_HEADER - stream->parsed) {
            fail_stream(parser, connection, side, QUIC_CRYPTO_FRAG_TOO_LONG);
            return;
        }
        const uint8_t *body = cursor_read(&data, length);
        struct cursor hello = cursor_of(body, length);

        if (!body)
            return;
        bool is_last = side == FLOW_TO_CLIENT && !is_retry_request(hello);

        read_hello(parser, connection, side, hello);
        stream->parsed += MESSAGE_HEADER + length;
        if (!is_last)
            continue;
        /* The server has accepted a ClientHello: no further hello of this connection follows. */
        for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
            finish_stream(parser, &connection->stream[i]);
    }
}

/* --- Frames --------------------------------------------------------------------------------------- */

static bool skip_ack(struct cursor *cur, bool has_ecn)
{
    uint64_t value, ranges = 0;

    for (unsigned i = 0; i < 4; i++) /* largest acknowledged, delay, number of ranges, first range */
        if (!quic_read_integer(cur, i == 2 ? &ranges : &value))
            return false;
    if (ranges > cursor_remaining(cur) / 2)
        return false;
    for (ranges = 2 * ranges + (has_ecn ? 3 : 0); ranges > 0; ranges--)
        if (!quic_read_integer(cur, &value))
            return false;
    return true;
}

static bool read_crypto(struct cursor *cur, uint64_t *offset, struct cursor *data)
{
    uint64_t length;

    if (!quic_read_integer(cur, offset) || !quic_read_integer(cur, &length) || length > cursor_remaining(cur))
        return false;
    *data = cursor_of(cursor_read(cur, (size_t)length), (size_t)length);
    return true;
}

void quic_read_frames(struct quic_parser *parser, struct quic_connection *connection, uint8_t side,
                      struct cursor frames)
{
    struct quic_stream *stream = &connection->stream[side];
    struct cursor data;
    uint64_t offset;
    bool is_valid = true;
    uint8_t type;

    if (stream->finished)
        return;
    if (stream->hellos == 0 && !hello_transaction(parser, connection, side)) {
        parser->failed = true;
        return;
    }
    while (is_valid && !stream->finished && cursor_u8(&frames, &type)) {
        int err = 0;

        switch (type) {
        case FRAME_PADDING:
        case FRAME_PING:
            break;
        case FRAME_ACK:
        case FRAME_ACK_ECN:
            is_valid = skip_ack(&frames, type == FRAME_ACK_ECN);
            break;
        case FRAME_CRYPTO:
            is_valid = read_crypto(&frames, &offset, &data);
            if (is_valid)
                err = add_data(app_heap(parser->context), stream, offset, data);
            break;
        case FRAME_CONNECTION_CLOSE: /* nothing after it is of interest */
            frames.at = frames.end;
            break;
        default:
            is_valid = false;
        }
        if (err == -ENOMEM) {
            parser->failed = true;
            finish_stream(parser, stream);
        } else if (err) {
            fail_stream(parser, connection, side, err == -EMSGSIZE ? QUIC_CRYPTO_FRAG_TOO_LONG : QUIC_ERROR_ON_DATA);
        }
    }
    if (!is_valid)
        fail_stream(parser, connection, side, QUIC_ERROR_ON_DATA);
    else
        read_messages(parser, connection, side);
}
