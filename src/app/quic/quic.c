/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QUIC: protocol detection, datagrams, and the connections of a flow. quic_priv.h lists the source files.
 *
 * The keys of Initial packets derive from the destination connection ID of the client's first packet. So the first
 * Initial packet that decrypts with the client's keys also proves which end is the client. Packets of a known
 * connection are found by their connection IDs. A client may have several connections on the same ports, and may send a
 * first Initial packet that the server ignores, so an Initial packet that belongs to no connection always starts a new
 * one; a budget limits the work of a flow.
 */
#include <errno.h>
#include <string.h>

#include "quic_priv.h"

enum { FORM_LONG = 0x80, FIXED_BIT = 0x40, SECOND_NS = 1000000000 };

static const struct app_event events[QUIC_EVENTS] = {
    [QUIC_FAILED_DECRYPT] = { "failed_decrypt", "an Initial packet cannot be decrypted" },
    [QUIC_ERROR_ON_DATA] = { "error_on_data",
                             "invalid frames or hello in an Initial packet, or CRYPTO data that was sent twice and "
                             "differs" },
    [QUIC_ERROR_ON_HEADER] = { "error_on_header", "malformed long header" },
    [QUIC_CRYPTO_FRAG_TOO_LONG] = { "crypto_frag_too_long", "more than 65,535 bytes of CRYPTO data" },
};

/* --- Transactions --------------------------------------------------------------------------------- */

struct quic_tx *quic_new_transaction(struct quic_parser *parser, uint32_t version, uint8_t side)
{
    struct quic_tx *tx = (struct quic_tx *)app_tx_new(parser->context);

    if (!tx)
        return NULL;
    tx->tls.heap = app_heap(parser->context);
    tx->tls.over_quic = true;
    tx->version = version;
    tx->side = side;
    for (unsigned i = 0; i < sizeof(tx->version_bytes); i++)
        tx->version_bytes[i] = (uint8_t)(version >> (24 - 8 * i));
    /* If the sides have other directions than those of the flow, rules of both are evaluated. */
    tx->tls.tx.directions = side == parser->direction ? (uint8_t)(1u << side) : APP_BOTH;
    if (side != parser->direction)
        app_report_ambiguous_direction(parser->context);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        if (tx->tls.tx.directions >> i & 1)
            app_tx_advance(&tx->tls.tx, (enum flow_direction)i, QUIC_VERSION);
    return tx;
}

void quic_complete(struct quic_parser *parser, struct quic_tx *tx)
{
    if (tx->tls.tx.directions == APP_BOTH)
        app_report_ambiguous_direction(parser->context);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        if (tx->tls.tx.directions >> i & 1)
            app_tx_advance(&tx->tls.tx, (enum flow_direction)i, QUIC_HELLO);
}

void quic_set_event(struct quic_parser *parser, struct quic_tx *tx, enum quic_event event, uint32_t version)
{
    if (tx) {
        app_event(parser->context, &tx->tls.tx, event);
        return;
    }
    if (parser->state->event_transactions >= QUIC_EVENTS_MAX)
        return;
    parser->state->event_transactions++;
    tx = quic_new_transaction(parser, version, (uint8_t)parser->direction);
    if (!tx) {
        parser->failed = true;
        return;
    }
    tx->tls.tx.only_events = true;
    app_event(parser->context, &tx->tls.tx, event);
    quic_complete(parser, tx);
}

void quic_mark_version(struct quic_parser *parser, uint32_t version)
{
    parser->state->has_noted[parser->direction] = true;
    parser->state->noted[parser->direction] = version;
}

void quic_note_version(struct quic_parser *parser, uint32_t version)
{
    struct quic_state *state = parser->state;
    struct quic_tx *tx;

    if (state->has_noted[parser->direction] && state->noted[parser->direction] == version)
        return;
    quic_mark_version(parser, version);
    tx = quic_new_transaction(parser, version, (uint8_t)parser->direction);
    if (tx)
        quic_complete(parser, tx);
    else
        parser->failed = true;
}

/* --- Connections ---------------------------------------------------------------------------------- */

static void free_connection(struct heap *heap, struct quic_connection *connection)
{
    if (!connection)
        return;
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        quic_free_stream(heap, &connection->stream[i]);
    heap_release(heap, connection);
}

/* Completes the transactions that wait for a hello of the connection, and frees it. */
static void end_connection(struct quic_parser *parser, struct quic_connection *connection)
{
    struct quic_tx *tx = (struct quic_tx *)app_tx_first_open(parser->context), *next;

    for (; connection && tx; tx = next) {
        next = (struct quic_tx *)app_tx_next_open(&tx->tls.tx);
        if (tx->has_connection && tx->connection == connection->number)
            quic_complete(parser, tx);
    }
    free_connection(app_heap(parser->context), connection);
}

/* Adds a connection; the oldest one of the flow ends if there are too many. Returns NULL without memory. */
static struct quic_connection *add_connection(struct quic_parser *parser, const struct quic_packet *packet)
{
    struct quic_state *state = parser->state;
    struct quic_connection *connection = heap_alloc(app_heap(parser->context), sizeof(*connection));

    if (!connection)
        return NULL;
    end_connection(parser, state->connection[QUIC_CONNECTIONS - 1]);
    memmove(&state->connection[1], &state->connection[0], sizeof(state->connection) - sizeof(state->connection[0]));
    state->connection[0] = connection;
    connection->number = state->next_connection++;
    connection->version = packet->version;
    connection->client = (uint8_t)parser->direction;
    connection->original = packet->destination;
    connection->source = packet->source;
    return connection;
}

/* Takes one derivation of keys from the budget of the flow. */
static bool may_derive(struct quic_parser *parser)
{
    struct quic_state *state = parser->state;
    uint64_t now = app_packet_time_ns(parser->context), earned;

    if (state->keys_ns == 0) {
        state->keys_left = QUIC_KEYS_BURST;
        state->keys_ns = now > 0 ? now : 1;
    }
    earned = now > state->keys_ns ? (now - state->keys_ns) / (SECOND_NS / QUIC_KEYS_PER_SECOND) : 0;
    if (earned > 0) {
        state->keys_left =
            (uint16_t)(state->keys_left + earned < QUIC_KEYS_BURST ? state->keys_left + earned : QUIC_KEYS_BURST);
        state->keys_ns = now;
    }
    if (state->keys_left == 0)
        return false;
    state->keys_left--;
    return true;
}

/* Result of an attempt to decrypt a packet. */
enum attempt { ATTEMPT_FAILED, ATTEMPT_DECRYPTED, ATTEMPT_REFUSED /* the budget of the datagram is exhausted */ };

static enum attempt try_keys(struct quic_parser *parser, const struct quic_keys *keys, const struct quic_packet *packet,
                             uint64_t *next_number, uint8_t *scratch, struct cursor *frames)
{
    if (parser->attempts++ >= QUIC_DATAGRAM_ATTEMPTS)
        return ATTEMPT_REFUSED;
    return quic_decrypt(keys, packet, next_number, scratch, frames) ? ATTEMPT_DECRYPTED : ATTEMPT_FAILED;
}

/* Whether the packet may belong to the connection, by its direction and its connection IDs. */
static bool belongs_to(const struct quic_connection *connection, const struct quic_packet *packet,
                       enum flow_direction direction)
{
    if (direction != connection->client)
        return quic_id_is_equal(&packet->destination, &connection->source);
    return quic_id_is_equal(&packet->source, &connection->source) &&
           (quic_id_is_equal(&packet->destination, &connection->original) ||
            (connection->has_server && quic_id_is_equal(&packet->destination, &connection->server)) ||
            (connection->has_retry && quic_id_is_equal(&packet->destination, &connection->retry)));
}

/* Decrypts an Initial packet with the keys of the connection. They change after a Retry packet, and if the server
 * chooses another version (RFC 9368). */
static enum attempt try_connection(struct quic_parser *parser, struct quic_connection *connection,
                                   const struct quic_packet *packet, uint8_t *scratch, struct cursor *frames)
{
    uint8_t side = parser->direction == connection->client ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    bool is_retried =
        side == FLOW_TO_SERVER && connection->has_retry && quic_id_is_equal(&packet->destination, &connection->retry);
    const struct quic_id *id = is_retried ? &connection->retry : &connection->original;
    uint64_t next_number = connection->next_number[side];
    struct quic_keys keys[FLOW_DIRECTIONS];
    enum attempt result;

    if (packet->version == connection->version && !is_retried)
        return try_keys(parser, &connection->keys[side], packet, &connection->next_number[side], scratch, frames);
    if (!may_derive(parser))
        return ATTEMPT_REFUSED;
    quic_derive_keys(quic_version_find(packet->version), id, keys);
    result = try_keys(parser, &keys[side], packet, &next_number, scratch, frames);
    if (result != ATTEMPT_DECRYPTED)
        return result;
    memcpy(connection->keys, keys, sizeof(keys));
    connection->next_number[side] = next_number;
    connection->version = packet->version;
    connection->original = *id;
    if (is_retried) { /* the server has discarded the first hello; clients may send another one */
        connection->has_retry = false;
        quic_free_stream(app_heap(parser->context), &connection->stream[side]);
        connection->stream[side] = (struct quic_stream){ 0 };
    }
    return ATTEMPT_DECRYPTED;
}

/* Starts a connection if the packet decrypts with the keys that derive from its destination ID. */
static enum attempt try_new_connection(struct quic_parser *parser, const struct quic_packet *packet, uint8_t *scratch,
                                       struct cursor *frames)
{
    struct quic_keys keys[FLOW_DIRECTIONS];
    struct quic_connection *connection;
    uint64_t next_number = 0;
    enum attempt result;

    if (!may_derive(parser))
        return ATTEMPT_REFUSED;
    quic_derive_keys(quic_version_find(packet->version), &packet->destination, keys);
    result = try_keys(parser, &keys[FLOW_TO_SERVER], packet, &next_number, scratch, frames);
    if (result != ATTEMPT_DECRYPTED)
        return result;
    connection = add_connection(parser, packet);
    if (!connection) {
        parser->failed = true;
        return ATTEMPT_REFUSED;
    }
    memcpy(connection->keys, keys, sizeof(keys));
    connection->next_number[FLOW_TO_SERVER] = next_number;
    return ATTEMPT_DECRYPTED;
}

static void read_initial(struct quic_parser *parser, const struct quic_packet *packet)
{
    struct quic_state *state = parser->state;
    struct quic_connection *connection = NULL;
    enum attempt result = ATTEMPT_FAILED;
    struct cursor frames;
    uint8_t *scratch;

    for (unsigned i = 0; i < QUIC_CONNECTIONS && state->connection[i]; i++) {
        struct quic_connection *known = state->connection[i];

        /* After the ServerHello only acknowledgements follow. */
        if (belongs_to(known, packet, parser->direction) && known->version == packet->version &&
            (known->source.length > 0 || parser->direction == known->client) &&
            known->stream[FLOW_TO_SERVER].finished && known->stream[FLOW_TO_CLIENT].finished)
            return;
    }
    scratch = heap_alloc_uncleared(app_heap(parser->context), packet->length);
    if (!scratch) {
        parser->failed = true;
        return;
    }
    for (unsigned i = 0; i < QUIC_CONNECTIONS && state->connection[i] && result == ATTEMPT_FAILED; i++) {
        if (!belongs_to(state->connection[i], packet, parser->direction))
            continue;
        connection = state->connection[i];
        result = try_connection(parser, connection, packet, scratch, &frames);
    }
    if (result == ATTEMPT_FAILED) {
        result = try_new_connection(parser, packet, scratch, &frames);
        connection = state->connection[0];
    }
    if (result == ATTEMPT_DECRYPTED) {
        uint8_t side = parser->direction == connection->client ? FLOW_TO_SERVER : FLOW_TO_CLIENT;

        if (side == FLOW_TO_CLIENT) {
            connection->server = packet->source;
            connection->has_server = true;
        }
        quic_read_frames(parser, connection, side, frames);
    } else {
        parser->failed |= result == ATTEMPT_REFUSED;
        quic_set_event(parser, NULL, QUIC_FAILED_DECRYPT, packet->version);
    }
    heap_release(app_heap(parser->context), scratch);
}

static void read_retry(struct quic_parser *parser, const struct quic_packet *packet)
{
    const struct quic_version *version = quic_version_find(packet->version);
    uint8_t *scratch = heap_alloc_uncleared(app_heap(parser->context), packet->length + QUIC_ID_MAX + 1);

    if (!scratch) {
        parser->failed = true;
        return;
    }
    for (unsigned i = 0; i < QUIC_CONNECTIONS && parser->state->connection[i]; i++) {
        struct quic_connection *connection = parser->state->connection[i];

        if (parser->direction == connection->client || packet->version != connection->version ||
            connection->has_retry || connection->has_server || !belongs_to(connection, packet, parser->direction) ||
            parser->attempts++ >= QUIC_DATAGRAM_ATTEMPTS ||
            !quic_retry_is_valid(version, packet, &connection->original, scratch))
            continue;
        connection->retry = packet->source;
        connection->has_retry = true;
    }
    heap_release(app_heap(parser->context), scratch);
}

/* --- Datagrams ------------------------------------------------------------------------------------ */

static bool is_established(const struct quic_state *state)
{
    const struct quic_connection *latest = state->connection[0];

    return latest && latest->stream[FLOW_TO_CLIENT].finished && latest->stream[FLOW_TO_CLIENT].hellos > 0;
}

/* Handles a packet with a short header, which is encrypted with secret keys. */
static void read_short_packet(struct quic_parser *parser)
{
    const struct quic_settings *settings = app_get_settings(parser->context);

    if (settings->encryption != QUIC_BYPASS || !is_established(parser->state))
        return;
    app_stop_parsing(parser->context, true);
    app_allow_bypass(parser->context);
}

static void read_long_packet(struct quic_parser *parser, const struct quic_packet *packet)
{
    if (quic_version_find(packet->version)) {
        if (packet->type == QUIC_INITIAL) {
            read_initial(parser, packet);
            return;
        }
        if (packet->type == QUIC_RETRY)
            read_retry(parser, packet);
        /* The version of other packets is that of the Initial packets, if they were seen. */
        if (packet->type == QUIC_RETRY || !parser->state->connection[0])
            quic_note_version(parser, packet->version);
    } else if (quic_google_version(packet->version) && packet->type == QUIC_INITIAL &&
               parser->direction == FLOW_TO_SERVER) {
        quic_read_google_packet(parser, packet);
    } else {
        quic_note_version(parser, packet->version);
    }
}

static struct app_result quic_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct quic_parser parser = { .context = context, .state = data, .direction = in->direction };
    struct cursor cur = cursor_of(in->bytes, in->length);
    struct quic_packet packet, first;
    uint32_t version;

    if (in->length == 0)
        return result;
    if (!(in->bytes[0] & FORM_LONG)) {
        if (in->direction == FLOW_TO_SERVER && quic_is_public_header(in->bytes, in->length, &version))
            quic_read_public_packet(&parser, cur);
        else
            read_short_packet(&parser);
    } else if (!quic_read_packet(&cur, &first)) {
        quic_set_event(&parser, NULL, QUIC_ERROR_ON_HEADER, in->length >= 5 ? load_be32(in->bytes + 1) : 0);
        result.status = APP_ERROR;
    } else {
        read_long_packet(&parser, &first);
        /* Coalesced packets (RFC 9000 §12.2) have the same destination ID; receivers ignore others. The rest of the
         * datagram may be padding. */
        while (quic_version_find(first.version) && cursor_remaining(&cur) > 0 && *cur.at & FORM_LONG &&
               quic_read_packet(&cur, &packet))
            if (quic_version_find(packet.version) && quic_id_is_equal(&packet.destination, &first.destination))
                read_long_packet(&parser, &packet);
    }
    if (parser.failed)
        result.status = APP_ERROR;
    return result;
}

/* --- Detection ------------------------------------------------------------------------------------ */

/* Versions that clients and servers reserve to test version negotiation (RFC 9000 §15). */
static bool is_reserved_version(uint32_t version)
{
    return (version & 0x0f0f0f0f) == 0x0a0a0a0a;
}

/* On other ports than those of QUIC: versions 1 and 2 only, as in `heads`. */
static enum app_probe_result quic_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    struct quic_packet packet;
    uint32_t version;

    if (in->length < 8)
        return APP_NO;
    if (!(in->bytes[0] & FORM_LONG))
        return in->port_hint && quic_is_public_header(in->bytes, in->length, &version) ? APP_YES : APP_NO;
    if (!quic_read_packet(&cur, &packet))
        return APP_NO;
    if (packet.version == 1 || packet.version == 0x6b3343cf)
        return in->port_hint || in->bytes[0] & FIXED_BIT ? APP_YES : APP_NO;
    if (!in->port_hint)
        return APP_NO;
    if (packet.version == 0) /* sent by servers: the rest is a list of versions */
        return (packet.length - packet.number_at) % 4 == 0 && packet.length > packet.number_at ? APP_YES : APP_NO;
    return quic_version_find(packet.version) || quic_google_version(packet.version) >= 39 ||
                   is_reserved_version(packet.version)
               ? APP_YES
               : APP_NO;
}

static const struct app_message_start heads[] = {
    { .mask = UINT64_C(0xc0ffffffff000000), .value = UINT64_C(0xc000000001000000) },
    { .mask = UINT64_C(0xc0ffffffff000000), .value = UINT64_C(0xc06b3343cf000000) },
};

/* --- Memory --------------------------------------------------------------------------------------- */

static void quic_stop(struct app_context *context, void *data)
{
    struct quic_state *state = data;

    for (unsigned i = 0; i < QUIC_CONNECTIONS; i++)
        free_connection(app_heap(context), state->connection[i]);
}

static void quic_tx_free(struct app_context *context, struct app_tx *base)
{
    struct quic_tx *tx = (struct quic_tx *)base;
    struct heap *heap = app_heap(context);

    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        tls_free_hello(heap, &tx->tls.side[i].hello);
        tls_free_fingerprints(heap, tx->tls.side[i].fingerprints);
    }
    buffer_clear(heap, &tx->message);
    buffer_clear(heap, &tx->cyu);
}

/* --- Table ---------------------------------------------------------------------------------------- */

static const char *const encryption_choices[] = { "track-only", "bypass", NULL };

static const struct setting setting_rows[] = {
    { .name = "eve.types.quic", .type = SETTING_SECTION, .help = "Event type quic: a hello of a QUIC connection" },
    { .name = "app-layer.protocols.quic.encryption-handling",
      SETTING_FIELD(quic_settings, encryption),
      .type = SETTING_ENUM,
      .default_value = "track-only",
      .choices = encryption_choices,
      .help = "Treatment of a connection after the handshake: track-only (encrypted packets are inspected as raw "
              "datagrams only), bypass (the flow is bypassed)" },
    { .name = NULL },
};

const struct app_proto app_quic = {
    .name = "quic",
    .help = "QUIC version 1 and 2, drafts 23 to 34, and Google's QUIC: Initial packets",
    .transports = APP_UDP,
    .udp_ports = "443,80",
    .probe = quic_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .state_size = sizeof(struct quic_state),
    .stop = quic_stop,
    .feed = quic_feed,
    .transfer = quic_transfer,
    .tx_size = sizeof(struct quic_tx),
    .tx_free = quic_tx_free,
    .complete = { QUIC_HELLO, QUIC_HELLO },
    .events = events,
    .event_count = QUIC_EVENTS,
    .buffers = quic_buffers,
    .buffer_count = QUIC_BUFFERS,
    .log_type = "quic",
    .log_key = "quic",
    .log = quic_log,
    .logs_from_server = quic_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct quic_settings),
};
