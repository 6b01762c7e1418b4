/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RFB: the handshake up to ServerInit. The messages that follow (keys, pointer, framebuffer) are not parsed.
 *
 * The next message of a direction follows from what has been parsed so far: next_of_server() and next_of_client()
 * derive it from rfb_tx.seen. If the choice of the other side is missing, because its bytes were lost, the handshake
 * cannot be followed any further (confused_state). After a security type that is not implemented, its own messages
 * follow, which may be encrypted.
 */
#include <string.h>

#include "rfb_priv.h"
#include "sluice/transfer.h"

enum { VERSION_LENGTH = 12, SERVER_INIT = 24, REASON_HEAD = 4 };

struct rfb_state {
    struct rfb_tx *tx; /* NULL: not created yet, or freed */
    bool finished;     /* the handshake is complete, or cannot be parsed further */
};

static const struct app_event events[RFB_EVENTS] = {
    [RFB_MALFORMED_MESSAGE] = { "malformed_message",
                                "a protocol version is malformed, or a name or reason is longer than 4096 bytes" },
    [RFB_UNIMPLEMENTED_SECURITY_TYPE] = { "unimplemented_security_type",
                                          "the security type is neither None nor VNC Authentication" },
    [RFB_UNKNOWN_SECURITY_RESULT] = { "unknown_security_result", "the SecurityResult is not 0, 1 or 2" },
    [RFB_CONFUSED_STATE] = { "confused_state", "a message comes before the message of the other side that it answers" },
};

/* Ends the handshake: the transaction is complete. */
static void finish(struct rfb_state *state)
{
    state->finished = true;
    app_tx_advance(&state->tx->tx, FLOW_TO_SERVER, RFB_CLIENT_COMPLETE);
    app_tx_advance(&state->tx->tx, FLOW_TO_CLIENT, RFB_SERVER_COMPLETE);
}

/* --- Messages ---------------------------------------------------------------------------------------- */

/* A parser of one message. Returns the number of bytes of the message; 0 if more than `length` are needed, with their
 * number in *needed; or a negative number after an error. */
typedef int64_t parse_message(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                              uint32_t length, uint32_t *needed);

static int64_t parse_version(struct app_context *context, struct rfb_state *state, enum flow_direction direction,
                             const uint8_t *bytes, uint32_t length, uint32_t *needed)
{
    static const char form[] = "RFB 000.000\n";
    struct rfb_version *version = &state->tx->version[direction];

    for (uint32_t i = 0; i < length && i < VERSION_LENGTH; i++) {
        if (form[i] == '0' ? bytes[i] < '0' || bytes[i] > '9' : bytes[i] != form[i]) {
            app_event(context, &state->tx->tx, RFB_MALFORMED_MESSAGE);
            return -1;
        }
    }
    *needed = 0; /* the next byte may show that it is malformed */
    if (length < VERSION_LENGTH)
        return 0;
    memcpy(version->major, bytes + 4, RFB_VERSION_DIGITS);
    memcpy(version->minor, bytes + 8, RFB_VERSION_DIGITS);
    return VERSION_LENGTH;
}

static int64_t parse_server_version(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                                    uint32_t length, uint32_t *needed)
{
    int64_t used = parse_version(context, state, FLOW_TO_CLIENT, bytes, length, needed);

    if (used > 0) {
        state->tx->seen |= RFB_SEEN_SERVER_VERSION;
        app_tx_advance(&state->tx->tx, FLOW_TO_CLIENT, RFB_SERVER_VERSION);
    }
    return used;
}

static int64_t parse_client_version(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                                    uint32_t length, uint32_t *needed)
{
    int64_t used = parse_version(context, state, FLOW_TO_SERVER, bytes, length, needed);

    if (used > 0) {
        state->tx->seen |= RFB_SEEN_CLIENT_VERSION;
        app_tx_advance(&state->tx->tx, FLOW_TO_SERVER, RFB_CLIENT_VERSION);
    }
    return used;
}

/* Sets the security type, and ends the handshake if its messages are not known. */
static void set_type(struct app_context *context, struct rfb_state *state, uint32_t type)
{
    struct rfb_tx *tx = state->tx;

    tx->type = type;
    tx->seen |= RFB_SEEN_TYPE;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, RFB_SELECTED);
    if (type == RFB_SECURITY_NONE || type == RFB_SECURITY_VNC)
        return;
    app_event(context, &tx->tx, RFB_UNIMPLEMENTED_SECURITY_TYPE);
    finish(state);
}

/* Version 3.3: the server chooses the security type. */
static int64_t parse_chosen_type(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                                 uint32_t length, uint32_t *needed)
{
    *needed = 4;
    if (length < 4)
        return 0;
    state->tx->seen |= RFB_SEEN_TYPES;
    if (load_be32(bytes) == RFB_SECURITY_INVALID)
        state->tx->failed = true;
    else
        set_type(context, state, load_be32(bytes));
    return 4;
}

/* Version 3.7 and later: the server offers security types. */
static int64_t parse_offered_types(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                                   uint32_t length, uint32_t *needed)
{
    (void)context;
    *needed = length > 0 ? 1u + bytes[0] : 1;
    if (length < *needed)
        return 0;
    state->tx->seen |= RFB_SEEN_TYPES;
    state->tx->failed = bytes[0] == 0;
    return *needed;
}

static int64_t parse_selection(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                               uint32_t length, uint32_t *needed)
{
    *needed = 1;
    if (length < 1)
        return 0;
    set_type(context, state, bytes[0]);
    return 1;
}

static int64_t parse_challenge(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                               uint32_t length, uint32_t *needed)
{
    (void)context;
    *needed = RFB_CHALLENGE;
    if (length < RFB_CHALLENGE)
        return 0;
    memcpy(state->tx->challenge, bytes, RFB_CHALLENGE);
    state->tx->seen |= RFB_SEEN_CHALLENGE;
    return RFB_CHALLENGE;
}

static int64_t parse_response(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                              uint32_t length, uint32_t *needed)
{
    (void)context;
    *needed = RFB_CHALLENGE;
    if (length < RFB_CHALLENGE)
        return 0;
    memcpy(state->tx->response, bytes, RFB_CHALLENGE);
    state->tx->seen |= RFB_SEEN_RESPONSE;
    return RFB_CHALLENGE;
}

static int64_t parse_result(struct app_context *context, struct rfb_state *state, const uint8_t *bytes, uint32_t length,
                            uint32_t *needed)
{
    struct rfb_tx *tx = state->tx;

    *needed = 4;
    if (length < 4)
        return 0;
    tx->result = load_be32(bytes);
    tx->seen |= RFB_SEEN_RESULT;
    tx->failed = tx->result != RFB_OK;
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, RFB_RESULT);
    if (tx->result > RFB_TOO_MANY) {
        app_event(context, &tx->tx, RFB_UNKNOWN_SECURITY_RESULT);
        finish(state);
    }
    return 4;
}

/* Parses a text after its 32-bit length at bytes[head - 4]. Of a longer text the first RFB_TEXT_MAX bytes are stored;
 * nothing is parsed after it. */
static int64_t parse_text(struct app_context *context, struct rfb_state *state, const uint8_t *bytes, uint32_t length,
                          uint32_t head, struct buffer *out, uint32_t *needed)
{
    uint32_t size;

    *needed = head;
    if (length < head)
        return 0;
    size = load_be32(bytes + head - 4);
    if (size > RFB_TEXT_MAX) {
        app_event(context, &state->tx->tx, RFB_MALFORMED_MESSAGE);
        size = RFB_TEXT_MAX;
    }
    *needed = head + size;
    if (length < *needed)
        return 0;
    if (buffer_append(app_heap(context), out, bytes + head, size, RFB_TEXT_MAX) != size)
        return -1;
    return *needed;
}

static int64_t parse_reason(struct app_context *context, struct rfb_state *state, const uint8_t *bytes, uint32_t length,
                            uint32_t *needed)
{
    int64_t used = parse_text(context, state, bytes, length, REASON_HEAD, &state->tx->reason, needed);

    if (used > 0) {
        state->tx->seen |= RFB_SEEN_REASON;
        finish(state);
    }
    return used;
}

static int64_t parse_client_init(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                                 uint32_t length, uint32_t *needed)
{
    (void)context;
    *needed = 1;
    if (length < 1)
        return 0;
    state->tx->shared = bytes[0] != 0;
    state->tx->seen |= RFB_SEEN_CLIENT_INIT;
    app_tx_advance(&state->tx->tx, FLOW_TO_SERVER, RFB_CLIENT_COMPLETE);
    return 1;
}

/* ServerInit: size of the framebuffer, pixel format (16 bytes, of which the last 3 are padding), name. */
static int64_t parse_server_init(struct app_context *context, struct rfb_state *state, const uint8_t *bytes,
                                 uint32_t length, uint32_t *needed)
{
    struct rfb_tx *tx = state->tx;
    int64_t used = parse_text(context, state, bytes, length, SERVER_INIT, &tx->name, needed);

    if (used <= 0)
        return used;
    tx->width = load_be16(bytes);
    tx->height = load_be16(bytes + 2);
    tx->format = (struct rfb_pixel_format){
        .bits_per_pixel = bytes[4],
        .depth = bytes[5],
        .big_endian = bytes[6] != 0,
        .true_color = bytes[7] != 0,
        .red_max = load_be16(bytes + 8),
        .green_max = load_be16(bytes + 10),
        .blue_max = load_be16(bytes + 12),
        .red_shift = bytes[14],
        .green_shift = bytes[15],
        .blue_shift = bytes[16],
    };
    tx->seen |= RFB_SEEN_SERVER_INIT;
    finish(state);
    return used;
}

/* --- Order of the messages --------------------------------------------------------------------------- */

/* Whether the client's version is at least 3.`minor`. Versions that RFC 6143 does not know are treated as the one below
 * them. */
static bool has_version(const struct rfb_tx *tx, unsigned minor)
{
    const struct rfb_version *version = &tx->version[FLOW_TO_SERVER];
    unsigned number = 0;

    for (unsigned i = 0; i < RFB_VERSION_DIGITS; i++)
        number = number * 10 + (unsigned)(version->minor[i] - '0');
    return memcmp(version->major, "003", RFB_VERSION_DIGITS) > 0 ||
           (memcmp(version->major, "003", RFB_VERSION_DIGITS) == 0 && number >= minor);
}

/* Returns the parser of the server's next message; NULL if it depends on a message of the client that is missing. */
static parse_message *next_of_server(const struct rfb_tx *tx)
{
    if (!(tx->seen & RFB_SEEN_SERVER_VERSION))
        return parse_server_version;
    if (!(tx->seen & RFB_SEEN_CLIENT_VERSION))
        return NULL;
    if (!(tx->seen & RFB_SEEN_TYPES))
        return has_version(tx, 7) ? parse_offered_types : parse_chosen_type;
    if (tx->failed)
        return parse_reason;
    if (!(tx->seen & RFB_SEEN_TYPE))
        return NULL;
    if (tx->type == RFB_SECURITY_VNC && !(tx->seen & RFB_SEEN_CHALLENGE))
        return parse_challenge;
    if ((tx->type == RFB_SECURITY_VNC || has_version(tx, 8)) && !(tx->seen & RFB_SEEN_RESULT))
        return parse_result;
    return parse_server_init;
}

/* Returns the parser of the client's next message; NULL if it depends on a message of the server that is missing. */
static parse_message *next_of_client(const struct rfb_tx *tx)
{
    if (!(tx->seen & RFB_SEEN_CLIENT_VERSION))
        return parse_client_version;
    if (!(tx->seen & RFB_SEEN_TYPE))
        return has_version(tx, 7) ? parse_selection : NULL;
    if (tx->type == RFB_SECURITY_VNC && !(tx->seen & RFB_SEEN_RESPONSE))
        return parse_response;
    return parse_client_init;
}

enum { FRAME_PDU }; /* a message of the handshake */
static const char *const frames[] = { [FRAME_PDU] = "pdu", NULL };

static struct app_result rfb_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct rfb_state *state = data;
    struct app_result result = { .status = APP_OK };

    if (state->tx && app_tx_first(context) != &state->tx->tx) { /* it has been freed: both directions ended early */
        state->tx = NULL;
        state->finished = true;
    }
    if (!state->finished && !state->tx && in->length > 0) {
        state->tx = (struct rfb_tx *)app_tx_new(context);
        if (!state->tx)
            return (struct app_result){ .status = APP_ERROR };
    }
    while (!state->finished && result.consumed < in->length) {
        bool to_server = in->direction == FLOW_TO_SERVER;
        parse_message *parse;
        uint32_t needed = 0;
        int64_t used;

        if (to_server && state->tx->seen & RFB_SEEN_CLIENT_INIT)
            break; /* messages of the client before ServerInit are not parsed */
        parse = to_server ? next_of_client(state->tx) : next_of_server(state->tx);
        if (!parse) {
            app_event(context, &state->tx->tx, RFB_CONFUSED_STATE);
            finish(state);
            break;
        }
        app_frame(context, in, result.consumed, APP_FRAME_UNKNOWN, FRAME_PDU, &state->tx->tx);
        used = parse(context, state, in->bytes + result.consumed, in->length - result.consumed, &needed);
        if (used > 0)
            app_frame_end(context, in, result.consumed + (uint32_t)used, FRAME_PDU);
        if (used < 0) {
            finish(state);
            result.status = APP_ERROR;
            return result;
        }
        if (used == 0) {
            result.needed = needed;
            return result;
        }
        result.consumed += (uint32_t)used;
    }
    result.consumed = in->length;
    return result;
}

static void rfb_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct rfb_tx *rfb = (struct rfb_tx *)tx;

    buffer_clear(app_heap(context), &rfb->name);
    buffer_clear(app_heap(context), &rfb->reason);
}

/* --- Transfer to the next engine --------------------------------------------------------------------- */

static void transfer_tx(struct app_context *context, struct transfer *t, struct rfb_tx *tx)
{
    uint8_t progress[FLOW_DIRECTIONS] = { tx->tx.progress[0], tx->tx.progress[1] };

    transfer_u32(t, &tx->seen);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        transfer_bytes(t, tx->version[i].major, RFB_VERSION_DIGITS);
        transfer_bytes(t, tx->version[i].minor, RFB_VERSION_DIGITS);
        transfer_u8(t, &progress[i]);
        transfer_require(t, progress[i] <= RFB_CLIENT_COMPLETE);
    }
    transfer_u32(t, &tx->type);
    transfer_u32(t, &tx->result);
    transfer_bool(t, &tx->failed);
    transfer_bool(t, &tx->shared);
    transfer_bytes(t, tx->challenge, RFB_CHALLENGE);
    transfer_bytes(t, tx->response, RFB_CHALLENGE);
    transfer_u16(t, &tx->width);
    transfer_u16(t, &tx->height);
    transfer_u8(t, &tx->format.bits_per_pixel);
    transfer_u8(t, &tx->format.depth);
    transfer_bool(t, &tx->format.big_endian);
    transfer_bool(t, &tx->format.true_color);
    transfer_u16(t, &tx->format.red_max);
    transfer_u16(t, &tx->format.green_max);
    transfer_u16(t, &tx->format.blue_max);
    transfer_u8(t, &tx->format.red_shift);
    transfer_u8(t, &tx->format.green_shift);
    transfer_u8(t, &tx->format.blue_shift);
    app_transfer_buffer(context, t, &tx->name);
    app_transfer_buffer(context, t, &tx->reason);
    for (unsigned i = 0; t->reading && !t->error && i < FLOW_DIRECTIONS; i++)
        app_tx_advance(&tx->tx, i, progress[i]);
}

static void rfb_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct rfb_state *state = data;

    if (state->tx && app_tx_first(context) != &state->tx->tx)
        state->tx = NULL;
    bool has_tx = state->tx != NULL;

    transfer_bool(t, &state->finished);
    transfer_bool(t, &has_tx);
    if (!has_tx || t->error)
        return;
    if (t->reading)
        state->tx = (struct rfb_tx *)app_tx_new(context);
    if (!state->tx)
        return;
    transfer_tx(context, t, state->tx);
    if (!t->error)
        app_transfer_tx(context, t, &state->tx->tx);
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.rfb", .type = SETTING_SECTION, .help = "Event type rfb: the handshake of a VNC connection" },
    { .name = NULL },
};

static const struct app_pattern patterns[] = {
    { .bytes = "RFB ", .length = 4, .direction = FLOW_TO_SERVER },
    { .bytes = "RFB ", .length = 4, .direction = FLOW_TO_CLIENT },
};

const struct app_proto app_rfb = {
    .name = "rfb",
    .help = "RFB (VNC): the handshake",
    .transports = APP_TCP,
    .tcp_ports = "5900",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .state_size = sizeof(struct rfb_state),
    .feed = rfb_feed,
    .frames = frames,
    .transfer = rfb_transfer,
    .tx_size = sizeof(struct rfb_tx),
    .tx_free = rfb_tx_free,
    .complete = { RFB_CLIENT_COMPLETE, RFB_SERVER_COMPLETE },
    .tx_max = 1,
    .events = events,
    .event_count = RFB_EVENTS,
    .buffers = rfb_buffers,
    .buffer_count = RFB_BUFFERS,
    .conditions = rfb_conditions,
    .condition_count = RFB_CONDITIONS,
    .log_type = "rfb",
    .log_key = "rfb",
    .log = rfb_log,
    .settings = setting_rows,
};
