/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of QUIC flows to the next engine: connections with the CRYPTO data received so far, and the transactions
 * that wait for a hello. Keys are derived again from the connection ID.
 */
#include "sluice/transfer.h"

#include <errno.h>

#include "quic_priv.h"

static void transfer_id(struct transfer *t, struct quic_id *id)
{
    transfer_u8(t, &id->length);
    transfer_require(t, id->length <= QUIC_ID_MAX);
    if (!t->error)
        transfer_bytes(t, id->bytes, id->length);
}

static void transfer_stream(struct app_context *context, struct transfer *t, struct quic_stream *stream)
{
    uint32_t capacity = stream->bytes.length;

    transfer_u32(t, &capacity);
    transfer_u32(t, &stream->end);
    transfer_u32(t, &stream->parsed);
    transfer_u8(t, &stream->hellos);
    transfer_bool(t, &stream->finished);
    transfer_require(t, capacity <= QUIC_CRYPTO_MAX + 1);
    if (t->error)
        return;
    if (t->reading && capacity > 0 && !quic_reserve_stream(app_heap(context), stream, capacity)) {
        t->error = -ENOMEM;
        return;
    }
    transfer_require(t, stream->bytes.length == capacity && stream->parsed <= stream->end);
    /* The memory of a finished stream is freed. */
    transfer_require(t, stream->end <= capacity || (stream->finished && capacity == 0));
    transfer_require(t, !stream->finished || capacity == 0 || stream->hellos > 0);
    if (t->error || capacity == 0)
        return;
    transfer_bytes(t, stream->bytes.bytes, capacity);
    transfer_bytes(t, stream->present.bytes, stream->present.length);
}

static void transfer_connection(struct app_context *context, struct transfer *t, struct quic_connection *connection)
{
    transfer_u32(t, &connection->number);
    transfer_u32(t, &connection->version);
    transfer_u8(t, &connection->client);
    transfer_id(t, &connection->original);
    transfer_id(t, &connection->source);
    transfer_id(t, &connection->server);
    transfer_id(t, &connection->retry);
    transfer_bool(t, &connection->has_server);
    transfer_bool(t, &connection->has_retry);
    transfer_require(t, connection->client < FLOW_DIRECTIONS && quic_version_find(connection->version));
    for (unsigned i = 0; i < FLOW_DIRECTIONS && !t->error; i++) {
        transfer_u64(t, &connection->next_number[i]);
        transfer_stream(context, t, &connection->stream[i]);
    }
    if (t->reading && !t->error)
        quic_derive_keys(quic_version_find(connection->version), &connection->original, connection->keys);
}

static void transfer_transaction(struct quic_parser *parser, struct transfer *t, struct quic_tx *tx)
{
    uint32_t connection = tx ? tx->connection : 0, version = tx ? tx->version : 0;
    uint8_t side = tx ? tx->side : 0, directions = tx ? tx->tls.tx.directions : 0;

    transfer_u32(t, &connection);
    transfer_u32(t, &version);
    transfer_u8(t, &side);
    transfer_u8(t, &directions);
    transfer_require(t, side < FLOW_DIRECTIONS && (directions == APP_BOTH || directions == 1u << side));
    if (t->error)
        return;
    if (!tx) {
        parser->direction = (enum flow_direction)(directions == APP_BOTH ? !side : side);
        tx = quic_new_transaction(parser, version, side);
        if (!tx)
            return;
        tx->has_connection = true;
        tx->connection = connection;
    }
    app_transfer_tx(parser->context, t, &tx->tls.tx);
}

void quic_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct quic_state *state = data;
    struct quic_parser parser = { .context = context, .state = state };
    struct quic_tx *tx = t->reading ? NULL : (struct quic_tx *)app_tx_first_open(context);
    uint8_t connections = 0, transactions = 0;

    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        transfer_u32(t, &state->noted[i]);
        transfer_bool(t, &state->has_noted[i]);
    }
    transfer_u8(t, &state->event_transactions);
    transfer_u16(t, &state->keys_left);
    transfer_u64(t, &state->keys_ns);
    transfer_u32(t, &state->next_connection);
    while (!t->reading && connections < QUIC_CONNECTIONS && state->connection[connections])
        connections++;
    transfer_u8(t, &connections);
    transfer_require(t, connections <= QUIC_CONNECTIONS && state->keys_left <= QUIC_KEYS_BURST);
    for (unsigned i = 0; i < connections && !t->error; i++) {
        if (t->reading)
            state->connection[i] = heap_alloc(app_heap(context), sizeof(*state->connection[i]));
        if (!state->connection[i]) {
            t->error = -ENOMEM;
            return;
        }
        transfer_connection(context, t, state->connection[i]);
    }
    for (struct quic_tx *each = tx; each; each = (struct quic_tx *)app_tx_next_open(&each->tls.tx))
        transactions += each->has_connection;
    transfer_u8(t, &transactions);
    transfer_require(t, transactions <= 2 * QUIC_CONNECTIONS);
    for (unsigned i = 0; i < transactions && !t->error; i++) {
        while (tx && !tx->has_connection)
            tx = (struct quic_tx *)app_tx_next_open(&tx->tls.tx);
        transfer_transaction(&parser, t, tx);
        tx = tx ? (struct quic_tx *)app_tx_next_open(&tx->tls.tx) : NULL;
    }
}
