/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IKE over UDP. Port 4500 is shared with ESP: there, messages begin with four zero bytes (the non-ESP marker). After
 * the first message with a marker, datagrams without it are ESP and are ignored. A malformed message sets its event,
 * and the following messages are still parsed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ike_priv.h"
#include "sluice/hex.h"
#include "sluice/transfer.h"

/* Names in the rules of Suricata 9. */
static const char *const event_aliases[] = { "weak_crypto_no_dh", "weak_crypto_nodh", "weak_crypto_no_auth",
                                             "weak_crypto_noauth", NULL };
static const struct app_event events[IKE_EVENTS] = {
    [IKE_MALFORMED_DATA] = { "malformed_data", "a message or a payload is truncated or malformed" },
    [IKE_NO_ENCRYPTION] = { "no_encryption", "version 2: AH, which does not encrypt, is proposed or chosen" },
    [IKE_WEAK_CRYPTO_ENC] = { "weak_crypto_enc", "version 2: a weak encryption algorithm is proposed or chosen" },
    [IKE_WEAK_CRYPTO_PRF] = { "weak_crypto_prf", "version 2: a weak pseudorandom function is proposed or chosen" },
    [IKE_WEAK_CRYPTO_DH] = { "weak_crypto_dh", "version 2: a weak Diffie-Hellman group is proposed or chosen" },
    [IKE_WEAK_CRYPTO_AUTH] = { "weak_crypto_auth", "version 2: a weak integrity algorithm is proposed or chosen" },
    [IKE_WEAK_CRYPTO_NODH] = { "weak_crypto_nodh", "version 2: a proposal has no Diffie-Hellman group" },
    [IKE_WEAK_CRYPTO_NOAUTH] = { "weak_crypto_noauth", "version 2: a proposal has no integrity algorithm" },
    [IKE_INVALID_PROPOSAL] = { "invalid_proposal", "version 2: a mandatory transform is proposed as NONE" },
    [IKE_UNKNOWN_PROPOSAL] = { "unknown_proposal", "version 2: a transform has an unknown type" },
    [IKE_PAYLOAD_EXTRA_DATA] = { "payload_extra_data", "there are bytes after the last payload" },
    [IKE_MULTIPLE_SERVER_PROPOSAL] = { "multiple_server_proposal",
                                       "version 1: the server chose more than one transform" },
};

bool ike_payload_read(struct cursor *cur, uint8_t *type, struct ike_payload *out)
{
    struct cursor at = *cur;
    uint8_t next, reserved;
    uint16_t length;

    if (!cursor_u8(&at, &next) || !cursor_u8(&at, &reserved) || !cursor_be16(&at, &length) || length < 4)
        return false;
    const uint8_t *bytes = cursor_read(&at, length - 4u);

    if (!bytes)
        return false;
    *out = (struct ike_payload){ .type = *type, .body = cursor_of(bytes, length - 4u) };
    *type = next;
    *cur = at;
    return true;
}

void ike_set_event(struct ike_parse *parse, enum ike_event event)
{
    parse->events |= 1u << event;
}

void ike_store(struct ike_parse *parse, struct buffer *buffer, const void *bytes, size_t length)
{
    buffer->length = 0;
    if (length > 0 && buffer_append(parse->heap, buffer, bytes, (uint32_t)length, (uint32_t)length) != length)
        parse->no_memory = true;
}

static void clear_party(struct heap *heap, struct ike_party *party)
{
    buffer_clear(heap, &party->key_exchange);
    buffer_clear(heap, &party->nonce);
}

/* --- Messages ---------------------------------------------------------------------------------------- */

struct header {
    const uint8_t *initiator, *responder;
    uint8_t next, major, minor, exchange, flags;
    uint32_t message_id, length;
};

static bool read_header(struct cursor *cur, struct header *out)
{
    const uint8_t *bytes = cursor_read(cur, IKE_HEADER);

    if (!bytes)
        return false;
    *out = (struct header){
        .initiator = bytes,
        .responder = bytes + 8,
        .next = bytes[16],
        .major = bytes[17] >> 4,
        .minor = bytes[17] & 15,
        .exchange = bytes[18],
        .flags = bytes[19],
        .message_id = load_be32(bytes + 20),
        .length = load_be32(bytes + 24),
    };
    return out->major == 1 || out->major == 2;
}

/* Copies the state of the flow to the transaction, so that the event contains the chosen attributes, and the key
 * exchange and nonce of the last unencrypted message of each side. */
static void copy_state_to_tx(struct ike_parse *parse)
{
    const struct ike_state *state = parse->state;
    struct ike_tx *tx = parse->tx;

    tx->has_doi = state->has_doi;
    tx->doi = state->doi;
    ike_store(parse, &tx->chosen.list, state->chosen.list.bytes, state->chosen.list.length);
    for (unsigned i = 0; !tx->encrypted && i < FLOW_DIRECTIONS; i++) {
        const struct ike_party *party = &state->party[i];

        ike_store(parse, &tx->party[i].key_exchange, party->key_exchange.bytes, party->key_exchange.length);
        ike_store(parse, &tx->party[i].nonce, party->nonce.bytes, party->nonce.length);
    }
}

static void read_message(struct ike_parse *parse, struct cursor cur)
{
    struct ike_tx *tx = parse->tx;
    struct header header;

    tx->parsed = read_header(&cur, &header);
    if (!tx->parsed) {
        tx->tx.log_never = true;
        ike_set_event(parse, IKE_MALFORMED_DATA);
        return;
    }
    tx->major = header.major;
    tx->minor = header.minor;
    tx->exchange = header.exchange;
    tx->flags = header.flags;
    tx->message_id = header.message_id;
    hex_write(tx->initiator, header.initiator, IKE_SPI_TEXT / 2);
    hex_write(tx->responder, header.responder, IKE_SPI_TEXT / 2);
    if (header.length < IKE_HEADER || header.length - IKE_HEADER > cursor_remaining(&cur))
        ike_set_event(parse, IKE_MALFORMED_DATA);
    if (header.major == 1)
        ike_read_v1(parse, cur, header.next);
    else
        ike_read_v2(parse, cur, header.next);
    if (header.major == 1)
        copy_state_to_tx(parse);
}

/* Returns whether the datagram begins with the non-ESP marker, four zero bytes, and not with an initiator SPI whose
 * first half is zero. A valid IKE header must follow the marker. If the datagram is also valid without a marker, the
 * length in the header after the marker must be that of the rest. */
static bool has_marker(struct cursor cur)
{
    struct cursor behind = cur;
    struct header header, other;
    uint32_t zeros;

    if (!cursor_be32(&behind, &zeros) || zeros != 0)
        return false;
    uint32_t length = (uint32_t)cursor_remaining(&behind);

    return read_header(&behind, &header) && (header.length == length || !read_header(&cur, &other));
}

/* Removes the non-ESP marker if there is one. Returns false if there is none, but earlier datagrams had it: the
 * datagram is then not an IKE message, but ESP. */
static bool strip_marker(struct ike_state *state, struct cursor *cur)
{
    if (has_marker(*cur)) {
        state->has_marker = true;
        return cursor_skip(cur, 4);
    }
    return !state->has_marker;
}

/* Whether the message contradicts the direction of the flow. In the first message of an exchange the responder's SPI is
 * zero, and in version 2 a flag marks the messages of the initiator. */
static bool contradicts_direction(const struct ike_tx *tx, enum flow_direction direction)
{
    static const char zeros[] = "0000000000000000";
    enum { FLAG_INITIATOR = 0x08 };

    if (!tx->parsed)
        return false;
    if (tx->major == 2)
        return ((tx->flags & FLAG_INITIATOR) != 0) != (direction == FLOW_TO_SERVER);
    return direction == FLOW_TO_CLIENT && memcmp(tx->responder, zeros, IKE_SPI_TEXT) == 0;
}

static struct app_result ike_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct cursor cur = cursor_of(in->bytes, in->length);
    struct ike_parse parse = { .heap = app_heap(context), .state = data, .direction = in->direction };

    if (in->length == 0 || !strip_marker(data, &cur))
        return result;
    parse.tx = (struct ike_tx *)app_tx_new(context);
    if (parse.tx) {
        parse.tx->tx.directions = (uint8_t)(1u << in->direction);
        app_tx_advance(&parse.tx->tx, in->direction, IKE_COMPLETE);
        read_message(&parse, cur);
        if (contradicts_direction(parse.tx, in->direction)) {
            parse.tx->tx.directions = APP_BOTH;
            app_tx_advance(&parse.tx->tx, !in->direction, IKE_COMPLETE);
            app_report_ambiguous_direction(context);
        }
        for (unsigned event = 0; event < IKE_EVENTS; event++)
            if (parse.events >> event & 1)
                app_event(context, &parse.tx->tx, event);
    }
    if (!parse.tx || parse.no_memory)
        result.status = APP_ERROR;
    return result;
}

static void ike_stop(struct app_context *context, void *data)
{
    struct ike_state *state = data;

    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        clear_party(app_heap(context), &state->party[i]);
    buffer_clear(app_heap(context), &state->chosen.list);
}

static void ike_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct ike_tx *ike = (struct ike_tx *)tx;
    struct heap *heap = app_heap(context);

    clear_party(heap, &ike->in_message);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        clear_party(heap, &ike->party[i]);
    buffer_clear(heap, &ike->chosen.list);
    buffer_clear(heap, &ike->attributes.list);
    buffer_clear(heap, &ike->text);
}

/* --- Detection, on the IKE ports only ---------------------------------------------------------------- */

enum { FIRST_EXCHANGE = 34, LAST_EXCHANGE = 43 }; /* version 2 */

static enum app_probe_result ike_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    struct ike_state state = { 0 };
    struct header header;

    strip_marker(&state, &cur);
    uint32_t length = (uint32_t)cursor_remaining(&cur);

    if (!read_header(&cur, &header) || header.length < IKE_HEADER)
        return APP_NO;
    if (header.major == 2 && (header.minor != 0 || header.exchange < FIRST_EXCHANGE ||
                              header.exchange > LAST_EXCHANGE || header.length != length))
        return APP_NO;
    if (in->direction == FLOW_TO_CLIENT && load_be64(header.responder) == 0)
        return APP_REVERSED;
    return APP_YES;
}

static bool ike_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const char *const aliases[] = { "ikev2", NULL };

static const struct setting setting_rows[] = {
    { .name = "eve.types.ike", .type = SETTING_SECTION, .help = "Event type ike: an IKE message, version 1 or 2" },
    { .name = "eve.types.ike.extended",
      SETTING_FIELD(ike_settings, extended),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Log the name of the exchange type of version 1 messages (exchange_type_verbose)" },
    { .name = NULL },
};

/* Key exchanges, nonces and negotiated attributes are not transferred: the next exchange has new ones. */
static void ike_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct ike_state *state = data;

    (void)context;
    transfer_bool(t, &state->has_marker);
    transfer_bool(t, &state->has_doi);
    transfer_u32(t, &state->doi);
    transfer_u32(t, &state->server_transforms);
}

const struct app_proto app_ike = {
    .name = "ike",
    .words = aliases,
    .help = "IKE, version 1 and 2",
    .transports = APP_UDP,
    .udp_ports = "500,4500",
    .probe = ike_probe,
    .state_size = sizeof(struct ike_state),
    .stop = ike_stop,
    .feed = ike_feed,
    .transfer = ike_transfer,
    .tx_size = sizeof(struct ike_tx),
    .tx_free = ike_tx_free,
    .complete = { IKE_COMPLETE, IKE_COMPLETE },
    .events = events,
    .event_count = IKE_EVENTS,
    .event_aliases = event_aliases,
    .buffers = ike_buffers,
    .buffer_count = IKE_BUFFERS,
    .conditions = ike_conditions,
    .condition_count = IKE_CONDITIONS,
    .log_type = "ike",
    .log_key = "ike",
    .log = ike_log,
    .logs_from_server = ike_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct ike_settings),
};
