/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of TLS flows to the next engine: the position of each direction in its record and message, and the handshake
 * so far. Hellos and certificate chains are transferred as received, and the next engine parses them again. Once the
 * session is encrypted and its transaction freed, only the positions in the records are transferred.
 */
#include "sluice/transfer.h"

#include <string.h>

#include "tls_priv.h"

enum { CHAIN_LENGTH = 3 };

static void transfer_state(struct app_context *context, struct transfer *t, struct tls_state *state)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct tls_reader *reader = &state->reader[direction];

        transfer_u32(t, &reader->skip);
        transfer_bool(t, &reader->encrypted);
        transfer_bytes(t, reader->header, sizeof(reader->header));
        transfer_u8(t, &reader->header_length);
        transfer_u32(t, &reader->message_length);
        transfer_u32(t, &reader->message_skipped);
        transfer_bool(t, &reader->message_skips);
        app_transfer_buffer(context, t, &reader->message);
        transfer_require(t, reader->header_length <= sizeof(reader->header) &&
                                reader->message.length <= reader->message_length &&
                                reader->message_skipped <= reader->message_length);
        transfer_require(t, reader->message_skips || reader->message_length <= TLS_MESSAGE_MAX);
    }
    transfer_bool(t, &state->finished);
    transfer_bool(t, &state->has_transaction);
    transfer_bool(t, &state->heartbeat);
    transfer_u8(t, &state->heartbeat_from);
    transfer_u32(t, &state->heartbeat_length);
    transfer_require(t, state->heartbeat_from < FLOW_DIRECTIONS);
}

/* --- Handshake messages --------------------------------------------------------------------------- */

struct transferred_side {
    uint16_t version;
    uint8_t progress;
    uint32_t hello_length, chain_length;
    const uint8_t *hello, *chain; /* chain: with its 24-bit length, as in a Certificate message */
};

static void write_side(struct transfer *t, struct tls_tx *tx, enum flow_direction direction)
{
    struct tls_side *side = &tx->side[direction];
    struct buffer *hello = &side->hello.body, *chain = &side->certificates.chain;
    uint32_t chain_length = chain->length > 0 ? chain->length + CHAIN_LENGTH : 0;
    uint8_t length_bytes[CHAIN_LENGTH] = { (uint8_t)(chain->length >> 16), (uint8_t)(chain->length >> 8),
                                           (uint8_t)chain->length };

    transfer_u16(t, &side->version);
    transfer_u8(t, &tx->tx.progress[direction]);
    transfer_u32(t, &hello->length);
    transfer_bytes(t, hello->bytes, hello->length);
    transfer_u32(t, &chain_length);
    if (chain_length == 0)
        return;
    transfer_bytes(t, length_bytes, sizeof(length_bytes));
    transfer_bytes(t, chain->bytes, chain->length);
}

static void read_side(struct transfer *t, struct transferred_side *out)
{
    transfer_u16(t, &out->version);
    transfer_u8(t, &out->progress);
    transfer_u32(t, &out->hello_length);
    if (!t->error)
        out->hello = transfer_lend(t, out->hello_length);
    transfer_u32(t, &out->chain_length);
    if (!t->error)
        out->chain = transfer_lend(t, out->chain_length);
}

/* Parses hello and chain again. Errors are ignored, because the previous engine had the same ones and transfers their
 * events. */
static void parse_again(struct tls_parser *parser, enum flow_direction direction, const struct transferred_side *from)
{
    struct tls_side *side = &parser->tx->side[direction];

    parser->direction = direction;
    side->version = from->version;
    if (from->hello_length > 0)
        tls_parse_hello(parser, cursor_of(from->hello, from->hello_length));
    if (from->chain_length > 0)
        tls_parse_certificates(parser, cursor_of(from->chain, from->chain_length));
    side->version = from->version;
    tls_advance(parser, direction, from->progress);
}

static void transfer_flags(struct transfer *t, struct tls_tx *tx)
{
    uint32_t flags = tx->flags;

    transfer_u32(t, &flags);
    transfer_u8(t, &tx->from_proto);
    tx->flags = flags;
}

static void read_tx(struct app_context *context, struct transfer *t, struct tls_state *state)
{
    struct tls_parser parser = { .context = context, .state = state };
    struct transferred_side side[FLOW_DIRECTIONS] = { { .version = 0 } };
    int err = 0;

    read_side(t, &side[FLOW_TO_SERVER]);
    read_side(t, &side[FLOW_TO_CLIENT]);
    if (t->error || !(parser.tx = tls_transaction(context, state, &err)))
        return;
    parse_again(&parser, FLOW_TO_SERVER, &side[FLOW_TO_SERVER]);
    parse_again(&parser, FLOW_TO_CLIENT, &side[FLOW_TO_CLIENT]);
    transfer_flags(t, parser.tx);
    parser.tx->from_proto = (uint8_t)app_original_protocol(app_context_flow(context));
    app_transfer_tx(context, t, &parser.tx->tx);
}

void tls_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct tls_state *state = data;
    struct tls_tx *tx = t->reading ? NULL : (struct tls_tx *)app_tx_last(context);
    bool has_tx = tx != NULL;

    transfer_bool(t, &has_tx);
    if (tx) {
        write_side(t, tx, FLOW_TO_SERVER);
        write_side(t, tx, FLOW_TO_CLIENT);
        transfer_flags(t, tx);
        app_transfer_tx(context, t, &tx->tx);
    } else if (has_tx && !t->error) {
        read_tx(context, t, state);
    }
    if (!t->error)
        transfer_state(context, t, state);
}
