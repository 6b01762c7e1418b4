/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNP3 over TCP. Link frames carry transport segments, which are reassembled to application messages. The header and
 * each 16 bytes of a frame have a CRC; a frame with a wrong one is discarded, as in the devices.
 */
#include "dnp3_priv.h"
#include "sluice/bytes.h"
#include "sluice/transfer.h"

enum {
    LINK_HEADER = 10,
    LINK_LENGTH_MIN = 5, /* control, destination and source are part of the length */
    BLOCK = 16,
    CRC = 2,
    LINK_PRIMARY = 0x40,
    LINK_CONFIRMED_DATA = 3,
    LINK_UNCONFIRMED_DATA = 4,
    TRANSPORT_FINAL = 0x80,
    TRANSPORT_FIRST = 0x40,
    TRANSPORT_SEQUENCE = 0x3f,
    REQUEST_HEADER = 2,
    RESPONSE_HEADER = 4,
};

struct dnp3_side {
    bool is_reassembling;
    uint8_t sequence;      /* of the last segment */
    struct dnp3_link link; /* of the first frame */
    struct buffer data;    /* segments of the message so far */
};

struct dnp3_state {
    struct dnp3_side side[FLOW_DIRECTIONS];
    uint32_t unreplied; /* requests since the last response */
};

/* Names are in upper case because EVE events contain them in upper case. Rules may use any case. */
static const struct app_event events[DNP3_EVENTS] = {
    [DNP3_FLOODED] = { "FLOODED", "more than 32 requests have no response" },
    [DNP3_LEN_TOO_SMALL] = { "LEN_TOO_SMALL", "the length of a link frame is too small" },
    [DNP3_BAD_LINK_CRC] = { "BAD_LINK_CRC", "the CRC of a link header is wrong" },
    [DNP3_BAD_TRANSPORT_CRC] = { "BAD_TRANSPORT_CRC", "the CRC of data in a link frame is wrong" },
    [DNP3_UNKNOWN_OBJECT] = { "UNKNOWN_OBJECT", "a message has an object of an unknown group or variation" },
    [DNP3_TOO_MANY_POINTS] = { "TOO_MANY_POINTS", "a message has more points than max-points" },
    [DNP3_TOO_MANY_OBJECTS] = { "TOO_MANY_OBJECTS", "a message has more objects than max-objects" },
    [DNP3_TOO_LONG_REASSEMBLY] = { "TOO_LONG_REASSEMBLY", "a message has more than 16065 bytes" },
};

/* CRC of the link layer: polynomial 0x3d65, reflected, inverted. */
static bool is_crc_valid(const uint8_t *bytes, size_t length)
{
    uint16_t crc = 0;

    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 1 ? crc >> 1 ^ 0xa6bc : crc >> 1);
    }
    crc = (uint16_t)~crc;
    return crc == load_le16(bytes + length);
}

static struct dnp3_tx *new_tx(struct app_context *context, enum flow_direction direction)
{
    struct dnp3_tx *tx = (struct dnp3_tx *)app_tx_new(context);

    if (!tx)
        return NULL;
    tx->tx.directions = (uint8_t)(1u << direction);
    return tx;
}

/* Reports an event that belongs to no message. Returns false if there is no memory. */
static bool report(struct app_context *context, enum flow_direction direction, enum dnp3_event event)
{
    struct dnp3_tx *tx = new_tx(context, direction);

    if (!tx)
        return false;
    tx->tx.only_events = true;
    tx->tx.log_never = true;
    app_event(context, &tx->tx, event);
    app_tx_advance(&tx->tx, direction, DNP3_COMPLETE);
    return true;
}

/* Handles a reassembled message. Returns false if there is no memory. */
static bool handle_message(struct app_context *context, struct dnp3_state *state, enum flow_direction direction)
{
    struct dnp3_side *side = &state->side[direction];
    uint32_t length = side->data.length, header = REQUEST_HEADER;
    const uint8_t *bytes = side->data.bytes;
    struct dnp3_tx *tx;
    enum dnp3_event event;
    bool failed = false;

    if (length < REQUEST_HEADER || (dnp3_is_response(bytes[1]) && length < RESPONSE_HEADER))
        return report(context, direction, DNP3_LEN_TOO_SMALL);
    tx = new_tx(context, direction);
    if (!tx || buffer_append(app_heap(context), &tx->data, bytes, length, length) != length)
        return false;
    tx->has_message = true;
    tx->link = side->link;
    tx->control = bytes[0];
    tx->function = bytes[1];
    tx->tx.log_never = tx->function == DNP3_CONFIRM; /* as in Suricata */
    if (dnp3_is_response(tx->function)) {
        tx->indications = load_be16(bytes + 2);
        header = RESPONSE_HEADER;
        state->unreplied = 0;
    } else if (tx->function != DNP3_CONFIRM && ++state->unreplied == DNP3_UNREPLIED_MAX + 1) {
        app_event(context, &tx->tx, DNP3_FLOODED);
    }
    event = dnp3_parse_objects(app_heap(context), tx, header, app_get_settings(context), &failed);
    if (event != DNP3_EVENTS)
        app_event(context, &tx->tx, event);
    app_tx_advance(&tx->tx, direction, DNP3_COMPLETE);
    return !failed;
}

/* Handles the data of a link frame, a transport segment. `frame` is the whole frame. Returns false if there is no
 * memory. */
static bool handle_segment(struct app_context *context, struct dnp3_state *state, enum flow_direction direction,
                           const uint8_t *frame, uint32_t length)
{
    struct dnp3_side *side = &state->side[direction];
    struct cursor cur = cursor_of(frame + LINK_HEADER, length);
    struct heap *heap = app_heap(context);
    uint8_t transport = frame[LINK_HEADER];
    bool first = transport & TRANSPORT_FIRST, is_header = true;

    if (!first &&
        (!side->is_reassembling || (transport & TRANSPORT_SEQUENCE) != ((side->sequence + 1) & TRANSPORT_SEQUENCE))) {
        side->is_reassembling = false;
        return true;
    }
    if (first) {
        side->data.length = 0;
        side->link = (struct dnp3_link){ frame[3], load_le16(frame + 4), load_le16(frame + 6) };
    }
    side->is_reassembling = true;
    side->sequence = transport & TRANSPORT_SEQUENCE;
    while (cursor_remaining(&cur) > CRC) {
        uint32_t block = cursor_remaining(&cur) < BLOCK + CRC ? (uint32_t)cursor_remaining(&cur) - CRC : BLOCK;
        const uint8_t *bytes = cursor_read(&cur, block + CRC);

        if (!is_crc_valid(bytes, block)) {
            side->is_reassembling = false;
            return report(context, direction, DNP3_BAD_TRANSPORT_CRC);
        }
        bytes += is_header; /* the transport header is the first byte */
        block -= is_header;
        is_header = false;
        if (side->data.length + block > DNP3_REASSEMBLY_MAX) {
            side->is_reassembling = false;
            return report(context, direction, DNP3_TOO_LONG_REASSEMBLY);
        }
        if (buffer_append(heap, &side->data, bytes, block, DNP3_REASSEMBLY_MAX) != block)
            return false;
    }
    if (!(transport & TRANSPORT_FINAL))
        return true;
    side->is_reassembling = false;
    return handle_message(context, state, direction);
}

static struct app_result dnp3_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct dnp3_state *state = data;

    while (in->length - result.consumed >= LINK_HEADER && result.status == APP_OK) {
        const uint8_t *at = in->bytes + result.consumed, *start;
        uint32_t left = in->length - result.consumed, size, blocks;
        uint8_t function = at[3] & 0x0f;
        bool ok = true;

        if (at[0] != 0x05 || at[1] != 0x64) { /* resume at the next frame */
            start = memchr(at + 1, 0x05, left - 1);
            result.consumed += start ? (uint32_t)(start - at) : left;
            continue;
        }
        if (at[2] < LINK_LENGTH_MIN || !is_crc_valid(at, LINK_HEADER - CRC)) {
            ok = report(context, in->direction, at[2] < LINK_LENGTH_MIN ? DNP3_LEN_TOO_SMALL : DNP3_BAD_LINK_CRC);
            result.consumed += CRC;
        } else {
            size = at[2] - LINK_LENGTH_MIN;
            blocks = (size + BLOCK - 1) / BLOCK;
            if (left < LINK_HEADER + size + CRC * blocks) {
                result.needed = LINK_HEADER + size + CRC * blocks;
                return result;
            }
            if (at[3] & LINK_PRIMARY && (function == LINK_CONFIRMED_DATA || function == LINK_UNCONFIRMED_DATA))
                ok = size > 0 ? handle_segment(context, state, in->direction, at, size + CRC * blocks)
                              : report(context, in->direction, DNP3_LEN_TOO_SMALL);
            result.consumed += LINK_HEADER + size + CRC * blocks;
        }
        if (!ok)
            result.status = APP_ERROR;
    }
    result.needed = in->length > result.consumed ? LINK_HEADER : 0;
    return result;
}

static void dnp3_stop(struct app_context *context, void *data)
{
    struct dnp3_state *state = data;

    buffer_clear(app_heap(context), &state->side[FLOW_TO_SERVER].data);
    buffer_clear(app_heap(context), &state->side[FLOW_TO_CLIENT].data);
}

static void dnp3_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct dnp3_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct dnp3_side *side = &state->side[direction];

        transfer_bool(t, &side->is_reassembling);
        transfer_u8(t, &side->sequence);
        transfer_u8(t, &side->link.control);
        transfer_u16(t, &side->link.destination);
        transfer_u16(t, &side->link.source);
        app_transfer_buffer(context, t, &side->data);
        transfer_require(t, side->data.length <= DNP3_REASSEMBLY_MAX);
    }
    transfer_u32(t, &state->unreplied);
}

static void dnp3_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct dnp3_tx *dnp3 = (struct dnp3_tx *)tx;

    buffer_clear(app_heap(context), &dnp3->data);
    buffer_clear(app_heap(context), &dnp3->objects);
}

/* The start and the CRC of a link header are strict enough for any port. */
static enum app_probe_result dnp3_probe(const struct app_probe *in)
{
    if (in->length < 2)
        return in->length == 0 || in->bytes[0] == 0x05 ? APP_UNSURE : APP_NO;
    if (in->bytes[0] != 0x05 || in->bytes[1] != 0x64)
        return APP_NO;
    if (in->length < LINK_HEADER)
        return APP_UNSURE;
    if (in->port_hint)
        return APP_YES;
    return in->bytes[2] >= LINK_LENGTH_MIN && is_crc_valid(in->bytes, LINK_HEADER - CRC) ? APP_YES : APP_NO;
}

static const struct setting setting_rows[] = {
    { .name = "app-layer.protocols.dnp3.max-points",
      SETTING_FIELD(dnp3_settings, max_points),
      .type = SETTING_NUMBER,
      .default_value = "16384",
      .low = 1,
      .high = 1000000,
      .help = "Maximum number of points in a message; more set the event too_many_points" },
    { .name = "app-layer.protocols.dnp3.max-objects",
      SETTING_FIELD(dnp3_settings, max_objects),
      .type = SETTING_NUMBER,
      .default_value = "2048",
      .low = 1,
      .high = 100000,
      .help = "Maximum number of objects in a message; more set the event too_many_objects" },
    { .name = "eve.types.dnp3",
      .type = SETTING_SECTION,
      .help = "Event type dnp3: a DNP3 request, response or unsolicited response" },
    { .name = NULL },
};

const struct app_proto app_dnp3 = {
    .name = "dnp3",
    .help = "DNP3 over TCP",
    .transports = APP_TCP,
    .tcp_ports = "20000",
    .probe = dnp3_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct dnp3_state),
    .stop = dnp3_stop,
    .feed = dnp3_feed,
    .transfer = dnp3_transfer,
    .tx_size = sizeof(struct dnp3_tx),
    .tx_free = dnp3_tx_free,
    .complete = { DNP3_COMPLETE, DNP3_COMPLETE },
    .tx_max = 32768, /* more than the number of frames that can arrive at once */
    .events = events,
    .event_count = DNP3_EVENTS,
    .buffers = dnp3_buffers,
    .buffer_count = DNP3_BUFFERS,
    .conditions = dnp3_conditions,
    .condition_count = DNP3_CONDITIONS,
    .log_type = "dnp3",
    .log_key = "dnp3",
    .log = dnp3_log,
    .settings = setting_rows,
    .settings_size = sizeof(struct dnp3_settings),
};
