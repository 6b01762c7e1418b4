/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames. Data and header blocks are consumed as they arrive; other frames are parsed when they are complete.
 *
 * A header block extends over HEADERS or PUSH_PROMISE and any number of CONTINUATION frames, up to
 * max-reassembly-size bytes. All blocks of a direction change the same table (hpack.c), so they are decoded even if
 * their stream is closed; parsing ends with a block that cannot be received as a whole.
 *
 * Frames that a receiver must reject are skipped with an event; the receiver then closes the connection.
 */
#include <string.h>

#include "http2_priv.h"

const char http2_magic[HTTP2_MAGIC + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* Result of a step. */
enum step_result { STEP_DONE, STEP_NEEDS_DATA, STEP_FAILED };

/* --- Frames that are parsed as a whole ------------------------------------------------------------ */

/* Returns the transaction for a frame: the open stream, or a new one. */
static struct http2_tx *record_frame(struct http2_feed *f)
{
    struct http2_tx *tx = http2_find_stream(f, f->parser->stream_id);

    if (!tx)
        return http2_add_loose_frame(f, f->parser->stream_id, f->direction, f->parser->type);
    http2_record_frame(f, tx, f->direction, f->parser->type);
    return tx;
}

void http2_parse_settings(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, struct cursor *cur)
{
    uint16_t id;
    uint32_t value;

    while (tx && cursor_be16(cur, &id) && cursor_be32(cur, &value))
        http2_record_value(f, tx, direction, HTTP2_RECORD_SETTING, id, value);
}

/* Counts streams that the client resets. Servers start work for each of them, although few are open at a time. */
static void count_reset(struct http2_feed *f, struct http2_tx *tx)
{
    struct http2_state *state = f->state;
    uint64_t now_ns = app_packet_time_ns(f->context);

    if (f->direction == FLOW_TO_CLIENT || tx->http.base.progress[FLOW_TO_CLIENT] > 0)
        return;
    if (now_ns - state->reset_from_ns >= UINT64_C(1000000000)) {
        state->reset_from_ns = now_ns;
        state->resets = 0;
    }
    if (state->resets++ == HTTP2_RESETS_MAX)
        http2_event(f, tx, HTTP2_RAPID_RESET);
}

/* Returns whether the length and the stream id are those of a frame of this type. */
static bool check_frame(struct http2_feed *f, struct http2_tx *tx)
{
    static const struct {
        uint32_t length; /* 0: any */
        enum { ON_STREAM, ON_CONNECTION, ON_BOTH } place;
    } rules[] = {
        [HTTP2_DATA] = { 0, ON_STREAM },         [HTTP2_HEADERS] = { 0, ON_STREAM },
        [HTTP2_PRIORITY] = { 5, ON_STREAM },     [HTTP2_RST_STREAM] = { 4, ON_STREAM },
        [HTTP2_SETTINGS] = { 0, ON_CONNECTION }, [HTTP2_PUSH_PROMISE] = { 0, ON_STREAM },
        [HTTP2_PING] = { 8, ON_CONNECTION },     [HTTP2_GOAWAY] = { 0, ON_CONNECTION },
        [HTTP2_WINDOW_UPDATE] = { 4, ON_BOTH },  [HTTP2_CONTINUATION] = { 0, ON_STREAM },
    };
    const struct http2_parser *parser = f->parser;
    bool valid = true;

    if (parser->type >= sizeof(rules) / sizeof(rules[0]))
        return true;
    if (rules[parser->type].place != ON_BOTH &&
        (rules[parser->type].place == ON_CONNECTION) != (parser->stream_id == 0)) {
        http2_event(f, tx, HTTP2_INVALID_FRAME_HEADER);
        valid = false;
    }
    if ((rules[parser->type].length > 0 && rules[parser->type].length != parser->length) ||
        (parser->type == HTTP2_SETTINGS &&
         (parser->length % 6 != 0 || (parser->flags & HTTP2_ACK && parser->length > 0))) ||
        (parser->type == HTTP2_GOAWAY && parser->length < 8)) {
        http2_event(f, tx, HTTP2_INVALID_FRAME_LENGTH);
        valid = false;
    }
    return valid;
}

/* Parses SETTINGS, PRIORITY, RST_STREAM, WINDOW_UPDATE, PING, GOAWAY, or a frame of unknown type. `payload` has at
 * most its first HTTP2_CONTROL_MAX bytes. */
static void parse_control(struct http2_feed *f, struct cursor payload)
{
    struct http2_parser *parser = f->parser;
    struct http2_tx *tx = record_frame(f);
    uint32_t value = 0, last;
    uint8_t weight = 0;
    bool valid;

    valid = check_frame(f, tx);
    switch (valid ? parser->type : HTTP2_PING) {
    case HTTP2_SETTINGS:
        http2_parse_settings(f, tx, f->direction, &payload);
        break;
    case HTTP2_PRIORITY:
        if (tx && cursor_skip(&payload, 4) && cursor_u8(&payload, &weight))
            http2_record_value(f, tx, f->direction, HTTP2_RECORD_PRIORITY, 0, weight);
        break;
    case HTTP2_WINDOW_UPDATE:
        if (tx && cursor_be32(&payload, &value))
            http2_record_window(f, tx, f->direction, value & HTTP2_STREAM_MASK);
        break;
    case HTTP2_GOAWAY:
        if (tx && cursor_be32(&payload, &last) && cursor_be32(&payload, &value))
            http2_record_value(f, tx, f->direction, HTTP2_RECORD_ERROR_CODE, 0, value);
        break;
    case HTTP2_RST_STREAM:
        if (!tx || !cursor_be32(&payload, &value))
            break;
        http2_record_value(f, tx, f->direction, HTTP2_RECORD_ERROR_CODE, 0, value);
        if (tx->is_stream) {
            count_reset(f, tx);
            http2_reset_stream(f, tx);
            tx = NULL;
        }
        break;
    default:
        break;
    }
    http2_complete_loose_frame(tx);
}

/* --- Header blocks -------------------------------------------------------------------------------- */

/* Returns the stream of a header block, and opens it if the block starts one. Returns NULL for a closed stream. */
static struct http2_tx *find_block_stream(struct http2_feed *f, uint32_t id)
{
    struct http2_parser *parser = f->parser;
    struct http2_tx *tx = http2_find_stream(f, id);
    enum flow_direction opener = id & 1 ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    bool used = id <= f->state->last_stream[opener];

    if (tx || id == 0)
        return tx;
    /* Responses to a stream that the client has reset may still arrive. */
    if (used && f->direction == FLOW_TO_CLIENT && parser->promised == 0)
        return NULL;
    tx = http2_open_stream(f, id);
    if (!tx)
        return NULL;
    if (used)
        http2_event(f, tx, HTTP2_STREAM_ID_REUSE);
    else
        f->state->last_stream[opener] = id;
    return tx;
}

static void end_block(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;
    uint32_t id = parser->promised > 0 ? parser->promised : parser->block_stream;
    enum flow_direction direction = parser->promised > 0 ? FLOW_TO_SERVER : f->direction;
    struct http2_tx *tx = find_block_stream(f, id);

    if (tx) {
        http2_record_frame(f, tx, f->direction, parser->promised > 0 ? HTTP2_PUSH_PROMISE : HTTP2_HEADERS);
        if (parser->block_frames > 1)
            http2_record_frame(f, tx, f->direction, HTTP2_CONTINUATION);
        if (parser->has_priority)
            http2_record_value(f, tx, f->direction, HTTP2_RECORD_PRIORITY, 0, parser->priority);
        if (app_tx_is_complete(&tx->http.base, direction)) {
            http2_event(f, tx, HTTP2_STREAM_ID_REUSE);
            tx = NULL;
        }
    }
    if (!f->failed)
        http2_decode_block(f, tx, direction, &parser->block);
    buffer_clear(app_heap(f->context), &parser->block);
    if (tx && !f->failed && (parser->block_ends_stream || parser->promised > 0))
        http2_end_direction(f, tx, direction, true);
    parser->block_stream = parser->promised = parser->block_frames = 0;
    parser->block_ends_stream = parser->has_priority = false;
}

/* Adds bytes to the header block. */
static void add_to_block(struct http2_feed *f, const uint8_t *bytes, uint32_t length)
{
    struct buffer *block = &f->parser->block;
    uint32_t limit = (uint32_t)f->settings->max_reassembly_size;

    if (buffer_append(app_heap(f->context), block, bytes, length, limit) == length)
        return;
    if (block->length >= limit)
        http2_event(f, http2_find_stream(f, f->parser->block_stream), HTTP2_REASSEMBLY_LIMIT_REACHED);
    f->failed = true;
}

/* --- Payload -------------------------------------------------------------------------------------- */

/* Returns the number of bytes in front of the data or header block of a frame. */
static uint32_t prefix_length(const struct http2_parser *parser)
{
    uint32_t length = 0;

    if (parser->type != HTTP2_CONTINUATION && parser->flags & HTTP2_PADDED)
        length++;
    if (parser->type == HTTP2_HEADERS && parser->flags & HTTP2_HAS_PRIORITY)
        length += 5;
    if (parser->type == HTTP2_PUSH_PROMISE)
        length += 4;
    return length;
}

static bool has_payload_stream(uint8_t type)
{
    return type == HTTP2_DATA || type == HTTP2_HEADERS || type == HTTP2_PUSH_PROMISE || type == HTTP2_CONTINUATION;
}

static void skip_payload(struct http2_parser *parser, uint32_t length)
{
    parser->step = length > 0 ? HTTP2_IN_PADDING : HTTP2_AT_FRAME;
    parser->padding = length;
}

/* Begins a header block. Returns false if the frame is not allowed here. */
static bool begin_block(struct http2_feed *f, uint32_t promised)
{
    struct http2_parser *parser = f->parser;

    if (parser->type == HTTP2_CONTINUATION)
        return true; /* checked with the frame header */
    parser->block_stream = parser->stream_id;
    parser->promised = promised;
    parser->block_ends_stream = parser->type == HTTP2_HEADERS && parser->flags & HTTP2_END_STREAM;
    parser->block_frames = 0;
    return parser->type != HTTP2_PUSH_PROMISE || (promised > 0 && f->direction == FLOW_TO_CLIENT);
}

/* Parses the fields in front of data or of a header block. */
static enum step_result read_prefix(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;
    uint32_t size = prefix_length(parser), promised = 0;
    struct http2_tx *tx = http2_find_stream(f, parser->stream_id);
    uint8_t padding = 0, weight = 0;
    bool has_weight = false;

    if (size > parser->length) {
        http2_event(f, tx, HTTP2_INVALID_FRAME_DATA);
        skip_payload(parser, parser->length);
        return STEP_DONE;
    }
    if (cursor_remaining(&f->cur) < size)
        return STEP_NEEDS_DATA;
    if (parser->type != HTTP2_CONTINUATION && parser->flags & HTTP2_PADDED)
        cursor_u8(&f->cur, &padding);
    if (parser->type == HTTP2_HEADERS && parser->flags & HTTP2_HAS_PRIORITY)
        has_weight = cursor_skip(&f->cur, 4) && cursor_u8(&f->cur, &weight);
    if (parser->type == HTTP2_PUSH_PROMISE)
        cursor_be32(&f->cur, &promised);
    if (padding > parser->length - size) {
        http2_event(f, tx, HTTP2_INVALID_FRAME_DATA);
        skip_payload(parser, parser->length - size);
        return STEP_DONE;
    }
    parser->left = parser->length - size - padding;
    parser->padding = padding;
    parser->step = HTTP2_IN_PAYLOAD;
    if (parser->type == HTTP2_DATA) {
        if (tx && app_tx_is_complete(&tx->http.base, f->direction))
            tx = NULL;
        if (tx)
            http2_record_frame(f, tx, f->direction, HTTP2_DATA);
        return STEP_DONE;
    }
    if (!begin_block(f, promised & HTTP2_STREAM_MASK)) {
        http2_event(f, tx, HTTP2_INVALID_FRAME_DATA);
        f->failed = true; /* without the block the following ones cannot be decoded */
        return STEP_FAILED;
    }
    if (has_weight) {
        parser->has_priority = true;
        parser->priority = weight;
    }
    parser->block_frames++;
    return STEP_DONE;
}

static void end_frame(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;

    skip_payload(parser, parser->padding);
    if (parser->type == HTTP2_DATA) {
        struct http2_tx *tx = http2_find_stream(f, parser->stream_id);

        if (tx && parser->flags & HTTP2_END_STREAM && !app_tx_is_complete(&tx->http.base, f->direction))
            http2_end_direction(f, tx, f->direction, true);
        return;
    }
    if (parser->flags & HTTP2_END_HEADERS)
        end_block(f);
}

/* Consumes data, or a part of a header block. */
static enum step_result read_payload(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;
    size_t available = cursor_remaining(&f->cur);
    uint32_t length = available < parser->left ? (uint32_t)available : parser->left;
    const uint8_t *bytes = cursor_read(&f->cur, length);

    if (length > 0 && parser->type == HTTP2_DATA) {
        struct http2_tx *tx = http2_find_stream(f, parser->stream_id);

        if (tx && !app_tx_is_complete(&tx->http.base, f->direction))
            http2_body_data(f, tx, bytes, length);
    } else if (length > 0) {
        add_to_block(f, bytes, length);
    }
    parser->left -= length;
    if (f->failed)
        return STEP_FAILED;
    if (parser->left > 0)
        return STEP_NEEDS_DATA;
    end_frame(f);
    return f->failed ? STEP_FAILED : STEP_DONE;
}

/* --- Steps ---------------------------------------------------------------------------------------- */

/* Whether the frame may follow: between the frames of a header block there are no other ones. */
static bool is_allowed_here(const struct http2_parser *parser)
{
    if (parser->block_stream == 0)
        return parser->type != HTTP2_CONTINUATION;
    return parser->type == HTTP2_CONTINUATION && parser->stream_id == parser->block_stream;
}

static enum step_result read_frame_header(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;
    uint32_t at = f->in->length - (uint32_t)cursor_remaining(&f->cur);
    const uint8_t *header = cursor_read(&f->cur, HTTP2_FRAME_HEADER);
    struct http2_tx *tx;

    if (!header)
        return STEP_NEEDS_DATA;
    parser->length = (uint32_t)header[0] << 16 | load_be16(header + 1);
    parser->type = header[3];
    parser->flags = header[4];
    parser->stream_id = load_be32(header + 5) & HTTP2_STREAM_MASK;
    parser->step = HTTP2_AT_PREFIX;
    parser->padding = 0;
    tx = http2_find_stream(f, parser->stream_id);
    app_frame(f->context, f->in, at, HTTP2_FRAME_HEADER, HTTP2_FRAME_TYPE_HDR, tx ? &tx->http.base : NULL);
    app_frame(f->context, f->in, at, (uint64_t)HTTP2_FRAME_HEADER + parser->length, HTTP2_FRAME_TYPE_PDU,
              tx ? &tx->http.base : NULL);
    if (parser->length > 0)
        app_frame(f->context, f->in, at + HTTP2_FRAME_HEADER, parser->length, HTTP2_FRAME_TYPE_DATA,
                  tx ? &tx->http.base : NULL);
    if (parser->length > HTTP2_LONG_FRAME)
        http2_event(f, tx, HTTP2_LONG_FRAME_DATA);
    if (!is_allowed_here(parser)) {
        http2_event(f, tx, HTTP2_INVALID_FRAME_HEADER);
        f->failed = true;
        return STEP_FAILED;
    }
    if (!has_payload_stream(parser->type))
        return STEP_DONE;
    if (parser->stream_id == 0) {
        http2_event(f, NULL, parser->type == HTTP2_DATA ? HTTP2_DATA_STREAM_ZERO : HTTP2_INVALID_FRAME_HEADER);
        if (parser->type != HTTP2_DATA) {
            f->failed = true;
            return STEP_FAILED;
        }
    }
    return STEP_DONE;
}

static enum step_result read_control(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;
    uint32_t size = parser->length < HTTP2_CONTROL_MAX ? parser->length : HTTP2_CONTROL_MAX;
    const uint8_t *payload;

    if (parser->type > HTTP2_CONTINUATION || parser->type == HTTP2_PING)
        size = 0; /* the payload is skipped */
    payload = cursor_read(&f->cur, size);
    if (!payload)
        return STEP_NEEDS_DATA;
    parse_control(f, cursor_of(payload, size));
    skip_payload(parser, parser->length - size);
    return f->failed ? STEP_FAILED : STEP_DONE;
}

static enum step_result read_magic(struct http2_feed *f)
{
    size_t length = cursor_remaining(&f->cur) < HTTP2_MAGIC ? cursor_remaining(&f->cur) : HTTP2_MAGIC;
    const uint8_t *bytes = cursor_peek(&f->cur, length);

    if (!bytes || memcmp(bytes, http2_magic, length) != 0) {
        http2_event(f, NULL, HTTP2_INVALID_CLIENT_MAGIC);
        f->failed = true;
        return STEP_FAILED;
    }
    if (length < HTTP2_MAGIC)
        return STEP_NEEDS_DATA;
    cursor_skip(&f->cur, HTTP2_MAGIC);
    f->parser->step = HTTP2_AT_FRAME;
    return STEP_DONE;
}

static enum step_result skip_padding(struct http2_feed *f)
{
    struct http2_parser *parser = f->parser;
    size_t available = cursor_remaining(&f->cur);
    uint32_t length = available < parser->padding ? (uint32_t)available : parser->padding;

    cursor_skip(&f->cur, length);
    skip_payload(parser, parser->padding - length);
    return parser->padding > 0 ? STEP_NEEDS_DATA : STEP_DONE;
}

static enum step_result execute_step(struct http2_feed *f)
{
    switch ((enum http2_step)f->parser->step) {
    case HTTP2_AT_MAGIC:
        return read_magic(f);
    case HTTP2_AT_FRAME:
        return read_frame_header(f);
    case HTTP2_AT_PREFIX:
        return has_payload_stream(f->parser->type) ? read_prefix(f) : read_control(f);
    case HTTP2_IN_PAYLOAD:
        return read_payload(f);
    case HTTP2_IN_PADDING:
        return skip_padding(f);
    case HTTP2_STEPS:
        break;
    }
    return STEP_FAILED;
}

struct app_result http2_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct http2_state *state = data;
    struct http2_feed f = {
        .context = context,
        .state = state,
        .settings = app_get_settings_of(context, &app_http2),
        .http_settings = app_get_settings_of(context, &app_http),
        .parser = &state->parser[in->direction],
        .direction = in->direction,
        .in = in,
        .cur = cursor_of(in->bytes, in->length),
    };
    enum step_result result = STEP_DONE;

    http2_check_streams(&f);
    if (!state->started)
        http2_begin_after_upgrade(&f);
    state->started = true;
    while (result == STEP_DONE && !f.failed)
        result = execute_step(&f);
    if (in->end && !f.failed)
        http2_end_all(&f, in->direction);
    return (struct app_result){
        .status = f.failed || result == STEP_FAILED ? APP_ERROR : APP_OK,
        .consumed = in->length - (uint32_t)cursor_remaining(&f.cur),
    };
}
