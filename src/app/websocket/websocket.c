/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * WebSocket (RFC 6455), which follows HTTP after 101 Switching Protocols: see app_change_protocol().
 *
 * Each frame is a transaction. Its payload is unmasked, decompressed if its message is compressed, and inspected as it
 * arrives. Frames that are not the last one of their message are inspected on their own; their payload is also kept in
 * websocket_side.message. The last frame begins with that, so its buffer is the payload of the whole message. Control
 * frames may arrive between the frames of a message and do not belong to it.
 *
 * Bounds: max-payload-size limits the payload of a frame, and that of a message; the bytes beyond it are skipped.
 *
 * A gap ends parsing, because there is no way to find the start of the next frame.
 */
#include <errno.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/transfer.h"
#include "websocket_priv.h"

enum {
    HEADER_MIN = 2,
    HEADER_MAX = 14, /* with a length of 8 bytes and a masking key */
    MASKED = 0x80,   /* bit of the second byte */
    LENGTH_16 = 126, /* values of the length field: the length follows in 2 or 8 bytes */
    LENGTH_64 = 127,
    PIECE = 2048, /* bytes that are unmasked at a time */
    PAYLOAD_MAX = 1 << 20,
};

/* State of a direction. The transaction of an incomplete frame is the direction's only open transaction. */
struct websocket_side {
    bool in_frame;   /* the payload of the current frame is incomplete */
    bool is_control; /* the current frame is a control frame */
    bool is_final;   /* FIN of the current frame */
    uint64_t left;   /* remaining bytes of the current frame */
    uint8_t mask[4];
    uint8_t mask_at;    /* index of the next byte in `mask` */
    bool in_message;    /* frames of a message have arrived, or the current frame is its first one */
    bool is_compressed; /* the message is compressed */
    bool is_too_long;   /* the message is longer than max-payload-size: its further frames are inspected on their own */
    struct buffer message; /* payload of the complete frames of the message */
    struct websocket_inflate stream;
};

struct websocket_state {
    struct websocket_side side[FLOW_DIRECTIONS];
};

/* Context of a call of the parser. */
struct websocket_feed {
    struct app_context *context;
    struct websocket_side *side;
    enum flow_direction direction;
    struct websocket_tx *tx; /* the current frame; NULL: its transaction has been completed at the stream depth */
    uint32_t limit;          /* max-payload-size */
};

static const struct app_event events[WEBSOCKET_EVENTS] = {
    [WEBSOCKET_SKIP_END_OF_PAYLOAD] = { "skip_end_of_payload",
                                        "a frame is longer than max-payload-size; its end is not inspected" },
    [WEBSOCKET_REASSEMBLY_LIMIT_REACHED] = { "reassembly_limit_reached",
                                             "a fragmented message is longer than max-payload-size; the rest of its "
                                             "frames is inspected one by one" },
    [WEBSOCKET_INVALID_COMPRESSED_DATA] = { "invalid_compressed_data",
                                            "a message is marked as compressed, but cannot be decompressed" },
};

/* --- Payload ----------------------------------------------------------------------------------------- */

/* Returns false without memory; otherwise sets the events for the result of an append: WEBSOCKET_CUT,
 * WEBSOCKET_INVALID. */
static bool handle_result(struct websocket_feed *f, int result)
{
    if (result < 0)
        return false;
    if (result & WEBSOCKET_CUT)
        app_event(f->context, &f->tx->tx, WEBSOCKET_SKIP_END_OF_PAYLOAD);
    if (result & WEBSOCKET_INVALID)
        app_event(f->context, &f->tx->tx, WEBSOCKET_INVALID_COMPRESSED_DATA);
    return true;
}

/* Adds bytes of the current frame to its payload. Returns false without memory. */
static bool feed_payload(struct websocket_feed *f, const uint8_t *bytes, uint32_t length)
{
    struct websocket_side *side = f->side;
    struct heap *heap = app_heap(f->context);
    uint8_t piece[PIECE];

    for (uint32_t at = 0, taken; at < length; at += taken) {
        taken = length - at < sizeof(piece) ? length - at : (uint32_t)sizeof(piece);
        for (uint32_t i = 0; i < taken; i++)
            piece[i] = bytes[at + i] ^ side->mask[(side->mask_at + i) & 3];
        side->mask_at = (side->mask_at + taken) & 3;

        int result = side->is_compressed && !side->is_control
                         ? websocket_inflate_feed(heap, &side->stream, piece, taken, &f->tx->payload, f->limit)
                         : websocket_append(heap, &f->tx->payload, piece, taken, f->limit);

        if (!handle_result(f, result))
            return false;
    }
    app_tx_mark_changed(&f->tx->tx, f->direction);
    return true;
}

/* Handles the end of the current frame. Returns false without memory. */
static bool end_frame(struct websocket_feed *f)
{
    struct websocket_side *side = f->side;
    struct heap *heap = app_heap(f->context);

    side->in_frame = false;
    if (!f->tx)
        return true;
    if (!side->is_control && side->is_final) {
        side->in_message = false;
        if (side->is_compressed &&
            !handle_result(f, websocket_inflate_end(heap, &side->stream, &f->tx->payload, f->limit)))
            return false;
    } else if (!side->is_control && !side->is_too_long) {
        int result = websocket_append(heap, &side->message, f->tx->payload.bytes, f->tx->payload.length, f->limit);

        if (result < 0)
            return false;
        side->is_too_long = result == WEBSOCKET_CUT;
        if (side->is_too_long)
            app_event(f->context, &f->tx->tx, WEBSOCKET_REASSEMBLY_LIMIT_REACHED);
    }
    app_tx_advance(&f->tx->tx, f->direction, WEBSOCKET_COMPLETE);
    return true;
}

/* --- Header ------------------------------------------------------------------------------------------ */

/* Assigns a data frame to a message: its first frame begins one, whatever became of the previous message. The last
 * frame begins with the payload of the previous ones. Returns false without memory. */
static bool begin_data_frame(struct websocket_feed *f)
{
    struct websocket_side *side = f->side;
    struct heap *heap = app_heap(f->context);

    if (!side->in_message || f->tx->opcode != WEBSOCKET_CONTINUATION) {
        if (side->in_message && side->is_compressed)
            side->stream.has_lost = true; /* the previous message has no end */
        buffer_clear(heap, &side->message);
        side->in_message = true;
        side->is_too_long = false;
        side->is_compressed = f->tx->flags & WEBSOCKET_RSV1;
        if (side->is_compressed && websocket_inflate_start(heap, &side->stream))
            return false;
    }
    if (!side->is_final)
        return true;
    if (!side->is_too_long && !side->is_compressed && side->message.length > 0 &&
        side->left > f->limit - side->message.length) {
        side->is_too_long = true;
        app_event(f->context, &f->tx->tx, WEBSOCKET_REASSEMBLY_LIMIT_REACHED);
    }
    if (side->is_too_long) {
        buffer_clear(heap, &side->message);
    } else {
        f->tx->payload = side->message;
        side->message = (struct buffer){ 0 };
    }
    return true;
}

/* Parses the header of a frame and creates its transaction. Returns APP_OK with result.consumed 0 if bytes are
 * missing. */
static struct app_result begin_frame(struct websocket_feed *f, struct cursor cur)
{
    struct websocket_side *side = f->side;
    struct app_result incomplete = { .status = APP_OK, .needed = HEADER_MIN }, failed = { .status = APP_ERROR };
    const uint8_t *start = cur.at, *head = cursor_read(&cur, HEADER_MIN);

    if (!head)
        return incomplete;
    unsigned field = head[1] & ~(unsigned)MASKED & 0xff;
    unsigned length_size = field == LENGTH_16 ? 2 : field == LENGTH_64 ? 8 : 0;
    unsigned mask_size = head[1] & MASKED ? sizeof(side->mask) : 0;
    const uint8_t *length = cursor_read(&cur, length_size), *mask = cursor_read(&cur, mask_size);

    incomplete.needed += length_size + mask_size;
    if (!length || !mask)
        return incomplete;
    side->left = field == LENGTH_16 ? load_be16(length) : field == LENGTH_64 ? load_be64(length) : field;
    memset(side->mask, 0, sizeof(side->mask));
    memcpy(side->mask, mask, mask_size);
    side->mask_at = 0;
    f->tx = (struct websocket_tx *)app_tx_new(f->context);
    if (!f->tx)
        return failed;
    f->tx->tx.directions = (uint8_t)(1u << f->direction);
    f->tx->flags = head[0] & 0xf0;
    f->tx->opcode = head[0] & 0x0f;
    f->tx->has_mask = mask_size > 0;
    f->tx->mask = load_be32(side->mask);
    side->in_frame = true;
    side->is_control = f->tx->opcode >= WEBSOCKET_CONTROL;
    side->is_final = f->tx->flags & WEBSOCKET_FIN;
    if (!side->is_control && !begin_data_frame(f))
        return failed;
    app_tx_advance(&f->tx->tx, f->direction, WEBSOCKET_HEADER);
    return (struct app_result){ .status = APP_OK, .consumed = (uint32_t)(cur.at - start) };
}

enum { FRAME_HEADER, FRAME_PDU, FRAME_DATA };
static const char *const frames[] = { [FRAME_HEADER] = "header", [FRAME_PDU] = "pdu", [FRAME_DATA] = "data", NULL };

/* Returns the transaction of the incomplete frame of the direction. */
static struct websocket_tx *find_open_tx(const struct app_context *context, enum flow_direction direction)
{
    for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx)) {
        if (tx->directions == 1u << direction)
            return (struct websocket_tx *)tx;
    }
    return NULL;
}

static struct app_result websocket_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct websocket_state *state = data;
    const struct websocket_settings *settings = app_get_settings(context);
    struct websocket_feed f = {
        .context = context,
        .side = &state->side[in->direction],
        .direction = in->direction,
        .limit = settings->max_payload_size,
    };
    struct cursor cur = cursor_of(in->bytes, in->length);
    struct app_result result = { .status = APP_OK };

    if (f.side->in_frame)
        f.tx = find_open_tx(context, in->direction);
    while (cursor_remaining(&cur) > 0 || (f.side->in_frame && f.side->left == 0)) {
        if (!f.side->in_frame) {
            struct app_result header = begin_frame(&f, cur);

            if (header.status == APP_ERROR || header.consumed == 0) {
                result.status = header.status;
                result.needed = header.needed;
                break;
            }
            uint32_t at = in->length - (uint32_t)cursor_remaining(&cur);
            uint64_t payload =
                f.side->left < UINT64_MAX - header.consumed ? f.side->left : APP_FRAME_UNKNOWN - HEADER_MAX - 1;

            app_frame(context, in, at, header.consumed, FRAME_HEADER, &f.tx->tx);
            app_frame(context, in, at, header.consumed + payload, FRAME_PDU, &f.tx->tx);
            if (payload > 0)
                app_frame(context, in, at + header.consumed, payload, FRAME_DATA, &f.tx->tx);
            cursor_skip(&cur, header.consumed);
        }
        size_t left = cursor_remaining(&cur);
        uint32_t taken = (uint32_t)(f.side->left < left ? f.side->left : left);
        const uint8_t *bytes = cursor_read(&cur, taken);

        f.side->left -= taken;
        if ((f.tx && taken > 0 && !feed_payload(&f, bytes, taken)) || (f.side->left == 0 && !end_frame(&f))) {
            result.status = APP_ERROR;
            break;
        }
    }
    result.consumed = in->length - (uint32_t)cursor_remaining(&cur);
    return result;
}

/* --- State ------------------------------------------------------------------------------------------- */

static void websocket_stop(struct app_context *context, void *data)
{
    struct websocket_state *state = data;

    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        buffer_clear(app_heap(context), &state->side[i].message);
        websocket_inflate_clear(app_heap(context), &state->side[i].stream);
    }
}

static void websocket_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct websocket_tx *)tx)->payload);
}

static void transfer_tx(struct app_context *context, struct transfer *t, enum flow_direction direction)
{
    struct websocket_tx *tx = NULL;
    bool exists;

    if (!t->reading)
        tx = find_open_tx(context, direction);
    exists = tx != NULL;
    transfer_bool(t, &exists);
    if (!exists || t->error)
        return;
    if (t->reading)
        tx = (struct websocket_tx *)app_tx_new(context);
    if (!tx)
        return;
    tx->tx.directions = (uint8_t)(1u << direction);
    transfer_u8(t, &tx->flags);
    transfer_u8(t, &tx->opcode);
    transfer_bool(t, &tx->has_mask);
    transfer_u32(t, &tx->mask);
    app_transfer_buffer(context, t, &tx->payload);
    if (t->reading && !t->error)
        app_tx_advance(&tx->tx, direction, WEBSOCKET_HEADER);
    if (!t->error)
        app_transfer_tx(context, t, &tx->tx);
}

static void websocket_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct websocket_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !t->error; direction++) {
        struct websocket_side *side = &state->side[direction];

        transfer_bool(t, &side->in_frame);
        transfer_bool(t, &side->is_control);
        transfer_bool(t, &side->is_final);
        transfer_u64(t, &side->left);
        transfer_bytes(t, side->mask, sizeof(side->mask));
        transfer_u8(t, &side->mask_at);
        transfer_bool(t, &side->in_message);
        transfer_bool(t, &side->is_compressed);
        transfer_bool(t, &side->is_too_long);
        transfer_require(t, side->mask_at < sizeof(side->mask));
        app_transfer_buffer(context, t, &side->message);
        websocket_inflate_transfer(context, t, &side->stream, side->in_message && side->is_compressed);
        if (side->in_frame)
            transfer_tx(context, t, direction);
    }
}

/* --- Detection and settings -------------------------------------------------------------------------- */

/* Called only after HTTP has announced WebSocket. RSV2 and RSV3 have no use. */
static enum app_probe_result websocket_probe(const struct app_probe *in)
{
    if (in->length == 0)
        return APP_UNSURE;
    return in->bytes[0] & (WEBSOCKET_RSV2 | WEBSOCKET_RSV3) ? APP_NO : APP_YES;
}

static bool websocket_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.websocket",
      .type = SETTING_SECTION,
      .help = "Event type websocket: a frame of a WebSocket connection" },
    { .name = "eve.types.alert.websocket-payload",
      SETTING_FIELD(websocket_settings, alert_payload),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the first 16 KiB of the payload of WebSocket frames in Base64" },
    { .name = "eve.types.alert.websocket-payload-printable",
      SETTING_FIELD(websocket_settings, alert_payload_printable),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the first 16 KiB of the payload of WebSocket frames as text" },
    { .name = "app-layer.protocols.websocket.max-payload-size",
      SETTING_FIELD(websocket_settings, max_payload_size),
      .type = SETTING_SIZE,
      .default_value = "65535",
      .low = 1,
      .high = PAYLOAD_MAX,
      .help = "Maximum number of bytes of a frame's payload, and of a fragmented message, that are inspected" },
    { .name = NULL },
};

const struct app_proto app_websocket = {
    .name = "websocket",
    .help = "WebSocket: frames after an HTTP upgrade",
    .transports = APP_TCP,
    .probe = websocket_probe,
    .state_size = sizeof(struct websocket_state),
    .stop = websocket_stop,
    .feed = websocket_feed,
    .transfer = websocket_transfer,
    .pending_max = HEADER_MAX,
    .tx_size = sizeof(struct websocket_tx),
    .tx_free = websocket_tx_free,
    .complete = { WEBSOCKET_COMPLETE, WEBSOCKET_COMPLETE },
    .tx_max = 8192, /* more than the number of frames of minimum size that can arrive at once */
    .frames = frames,
    .events = events,
    .event_count = WEBSOCKET_EVENTS,
    .buffers = websocket_buffers,
    .buffer_count = WEBSOCKET_BUFFERS,
    .conditions = websocket_conditions,
    .condition_count = WEBSOCKET_CONDITIONS,
    .log_type = "websocket",
    .log_key = "websocket",
    .log = websocket_log,
    .describe_alert = websocket_describe_alert,
    .logs_from_server = websocket_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct websocket_settings),
};
