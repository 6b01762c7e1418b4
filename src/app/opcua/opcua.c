/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OPC UA over TCP. The header of a chunk has the message type, the chunk type (final, intermediate or abort) and the
 * size. HEL, ACK, ERR, RHE and OPN are single chunks, which are parsed when they are complete. A chunk of MSG or CLO
 * has the ids of the secure channel, its token and the request, and a part of the body. The bodies of the chunks with
 * the same request id are reassembled in a transaction, which is complete with the last chunk. Bytes of a body beyond
 * the setting max-body are skipped.
 *
 * Chunks of several messages may be interleaved, so several transactions may be open. A chunk with an invalid header
 * ends parsing, because the position of the next chunk is unknown.
 */
#include <errno.h>

#include "opcua_priv.h"
#include "sluice/transfer.h"

enum {
    HEAD = 8,                           /* message type, chunk type, size */
    SEQUENCE = 8,                       /* sequence number, request id */
    MESSAGE_HEAD = HEAD + 8 + SEQUENCE, /* channel and token before the sequence */
    WHOLE_MAX = 65535,                  /* size of a chunk that is parsed when it is complete */
    CHUNK_MIN = 8192,                   /* minimum size of an endpoint's buffer (OPC 10000-6, 7.1.2.3) */
    SIGNATURE_SHA1 = 20,                /* bytes at the end of a chunk */
    SIGNATURE_SHA256 = 32,
    FINAL = 'F',
    INTERMEDIATE = 'C',
    ABORT = 'A',
};

struct opcua_side {
    uint32_t stored, skipped; /* missing bytes of the current chunk: of the body, and of the signature */
    bool is_final;            /* the current chunk is the last one of its message */
    uint32_t chunk_max;       /* size of the receiver's buffer; 0: not known */
    /* The transaction of the current chunk, while stored or skipped is not 0. NULL: it was completed early, because too
     * many messages were open. */
    struct opcua_tx *current;
};

struct opcua_state {
    struct opcua_side side[FLOW_DIRECTIONS];
    uint8_t security, signature; /* enum opcua_security; size of the signature of a chunk */
};

static const struct app_event events[OPCUA_EVENTS] = {
    [OPCUA_INVALID_SIZE] = { "invalid_size", "the size of a chunk is too small or too large for its type" },
    [OPCUA_INVALID_TYPE] = { "invalid_type", "the type of a message is unknown" },
    [OPCUA_INVALID_CHUNK_TYPE] = { "invalid_chunk_type", "the chunk type is unknown, or invalid in this message" },
    [OPCUA_CHUNK_TOO_LARGE] = { "chunk_too_large", "a chunk is larger than the buffer that its receiver announced" },
    [OPCUA_BODY_TOO_LARGE] = { "body_too_large", "the body of a message is larger than max-body" },
    [OPCUA_TOO_MANY_MESSAGES] = { "too_many_messages", "more than eight messages wait for further chunks" },
    [OPCUA_INVALID_TYPE_ID] = { "invalid_type_id", "a message does not start with the type id of a service" },
    [OPCUA_NONZERO_NAMESPACE_INDEX] = { "nonzero_namespace_index", "the type id of a message is not in namespace 0" },
    [OPCUA_ABNORMAL_VERSION] = { "abnormal_version", "the protocol version is not 0" },
    [OPCUA_INVALID_STRING] = { "invalid_string", "a string is longer than its message, or than the protocol allows" },
    [OPCUA_INVALID_BODY] = { "invalid_body", "the parameters of a service are invalid or incomplete" },
};

static const struct {
    char name[3];
    uint32_t size_min;
} types[OPCUA_TYPES] = {
    [OPCUA_HELLO] = { "HEL", 32 },
    [OPCUA_ACKNOWLEDGE] = { "ACK", 28 },
    [OPCUA_ERROR] = { "ERR", 16 },
    [OPCUA_REVERSE_HELLO] = { "RHE", 16 },
    [OPCUA_OPEN] = { "OPN", 32 },
    [OPCUA_MESSAGE] = { "MSG", MESSAGE_HEAD },
    [OPCUA_CLOSE] = { "CLO", MESSAGE_HEAD },
};

/* Returns the first type whose name begins with these bytes, of which only the first three count; OPCUA_NO_TYPE if
 * there is none. */
static enum opcua_type find_type(const uint8_t *head, uint32_t length)
{
    for (enum opcua_type type = OPCUA_NO_TYPE + 1; type < OPCUA_TYPES; type++)
        if (memcmp(types[type].name, head, length < 3 ? length : 3) == 0)
            return type;
    return OPCUA_NO_TYPE;
}

/* --- Transactions ------------------------------------------------------------------------------------ */

static struct opcua_tx *new_tx(struct app_context *context, enum flow_direction direction, enum opcua_type type)
{
    struct opcua_tx *tx = (struct opcua_tx *)app_tx_new(context);

    if (!tx)
        return NULL;
    tx->tx.directions = (uint8_t)(1u << direction);
    tx->tx.log_never = type == OPCUA_NO_TYPE;
    tx->type = type;
    return tx;
}

static bool is_in_direction(const struct opcua_tx *tx, enum flow_direction direction)
{
    return tx->tx.directions >> direction & 1;
}

/* Parses the body and completes the transaction. `has_end`: the body is complete. Returns false if there is no memory.
 */
static bool finish_message(struct app_context *context, struct opcua_tx *tx, enum flow_direction direction,
                           bool has_end)
{
    bool failed = false;
    enum opcua_event event = opcua_parse_body(app_heap(context), tx, &failed);

    if (event != OPCUA_EVENTS && has_end)
        app_event(context, &tx->tx, event);
    if (tx->is_opaque)
        buffer_clear(app_heap(context), &tx->body);
    app_tx_advance(&tx->tx, direction, OPCUA_COMPLETE);
    return !failed;
}

/* Returns the open transaction of the chunk's message, or a new one. When too many are open, the oldest one is
 * completed without the missing chunks. Returns NULL if there is no memory. */
static struct opcua_tx *get_message(struct app_context *context, struct opcua_state *state,
                                    enum flow_direction direction, enum opcua_type type, const uint8_t *head)
{
    uint32_t channel = load_le32(head + HEAD), request_id = load_le32(head + MESSAGE_HEAD - 4);
    struct app_tx *first = app_tx_first_open(context);
    struct opcua_tx *tx = (struct opcua_tx *)first;
    bool is_flood = app_tx_open_count(context) >= OPCUA_OPEN_MAX;

    while (tx && (tx->request_id != request_id || tx->channel != channel || tx->type != type ||
                  !is_in_direction(tx, direction)))
        tx = (struct opcua_tx *)app_tx_next_open(&tx->tx);
    if (tx)
        return tx;
    if (is_flood) {
        struct opcua_tx *oldest = (struct opcua_tx *)first;
        enum flow_direction side = is_in_direction(oldest, FLOW_TO_SERVER) ? FLOW_TO_SERVER : FLOW_TO_CLIENT;

        if (state->side[side].current == oldest)
            state->side[side].current = NULL;
        if (!finish_message(context, oldest, side, false))
            return NULL;
    }
    tx = new_tx(context, direction, type);
    if (!tx)
        return NULL;
    if (is_flood)
        app_event(context, &tx->tx, OPCUA_TOO_MANY_MESSAGES);
    tx->security = state->security;
    tx->channel = channel;
    tx->request_id = request_id;
    return tx;
}

static void count_chunk(struct app_context *context, const struct opcua_side *side, struct opcua_tx *tx, uint32_t size)
{
    tx->chunks++;
    if (side->chunk_max > 0 && size > side->chunk_max)
        app_event(context, &tx->tx, OPCUA_CHUNK_TOO_LARGE);
}

/* --- Chunks that are parsed when they are complete --------------------------------------------------- */

/* Reads a string of at most `limit` bytes and stores it. Returns the event to set, or OPCUA_EVENTS if there is none;
 * *failed: no memory. */
static enum opcua_event store_string(struct app_context *context, struct cursor *cur, uint32_t limit,
                                     struct buffer *out, bool *failed)
{
    struct cursor string;

    if (!opcua_read_string(cur, &string))
        return OPCUA_INVALID_STRING;
    uint32_t length = (uint32_t)cursor_remaining(&string);

    if (length > limit)
        return OPCUA_INVALID_STRING;
    *failed = length > 0 && buffer_append(app_heap(context), out, string.at, length, limit) < length;
    return OPCUA_EVENTS;
}

/* Parses HEL and ACK: the version, and the sizes of the sender's receive and send buffers. */
static enum opcua_event parse_hello(struct app_context *context, struct opcua_state *state, struct opcua_tx *tx,
                                    struct cursor cur, bool *failed)
{
    enum flow_direction peer = is_in_direction(tx, FLOW_TO_SERVER) ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    enum opcua_event event = OPCUA_EVENTS;

    opcua_read_u32(&cur, &tx->version);
    opcua_read_u32(&cur, &state->side[peer].chunk_max);
    if (state->side[peer].chunk_max < CHUNK_MIN)
        state->side[peer].chunk_max = CHUNK_MIN;
    cursor_skip(&cur, 4 + 4 + 4); /* send buffer, maximum message size, maximum number of chunks */
    if (tx->type == OPCUA_HELLO)
        event = store_string(context, &cur, OPCUA_TEXT_MAX, &tx->text, failed);
    return tx->version != 0 ? OPCUA_ABNORMAL_VERSION : event;
}

static enum opcua_event parse_error(struct app_context *context, struct opcua_state *state, struct opcua_tx *tx,
                                    struct cursor cur, bool *failed)
{
    (void)state;
    tx->has_status = opcua_read_u32(&cur, &tx->status);
    return store_string(context, &cur, OPCUA_TEXT_MAX, &tx->text, failed);
}

static enum opcua_event parse_reverse_hello(struct app_context *context, struct opcua_state *state, struct opcua_tx *tx,
                                            struct cursor cur, bool *failed)
{
    enum opcua_event event = store_string(context, &cur, OPCUA_TEXT_MAX, &tx->server_uri, failed);

    (void)state;
    return event == OPCUA_EVENTS && !*failed ? store_string(context, &cur, OPCUA_TEXT_MAX, &tx->text, failed) : event;
}

/* Returns the size of the signature that the security policy adds to each chunk. */
static uint8_t find_signature(const struct buffer *policy)
{
    static const char *const names[] = { "Basic128Rsa15", "Basic256" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i]);

        if (policy->length > length && policy->bytes[policy->length - length - 1] == '#' &&
            memcmp(policy->bytes + policy->length - length, names[i], length) == 0)
            return SIGNATURE_SHA1;
    }
    return SIGNATURE_SHA256;
}

/* Parses OPN, which is encrypted unless the security policy is None. */
static enum opcua_event parse_open(struct app_context *context, struct opcua_state *state, struct opcua_tx *tx,
                                   struct cursor cur, bool *failed)
{
    enum { POLICY_MAX = 255 };
    static const char none[] = "http://opcfoundation.org/UA/SecurityPolicy#None";
    struct cursor certificate, thumbprint;

    opcua_read_u32(&cur, &tx->channel);
    enum opcua_event event = store_string(context, &cur, POLICY_MAX, &tx->text, failed);

    if (event != OPCUA_EVENTS || *failed)
        return event;
    if (!opcua_read_string(&cur, &certificate) || !opcua_read_string(&cur, &thumbprint) ||
        cursor_remaining(&cur) < SEQUENCE)
        return OPCUA_INVALID_STRING;
    bool is_none = tx->text.length == 0 ||
                   (tx->text.length == sizeof(none) - 1 && memcmp(tx->text.bytes, none, sizeof(none) - 1) == 0);

    state->security = is_none ? OPCUA_SECURITY_NONE : OPCUA_SECURITY_SIGNED;
    state->signature = is_none ? 0 : find_signature(&tx->text);
    tx->security = state->security;
    if (!is_none) {
        tx->is_opaque = true;
        return OPCUA_EVENTS;
    }
    cursor_skip(&cur, 4); /* sequence number */
    opcua_read_u32(&cur, &tx->request_id);
    uint32_t length = (uint32_t)cursor_remaining(&cur);

    tx->length = length;
    *failed = length > 0 && buffer_append(app_heap(context), &tx->body, cur.at, length, WHOLE_MAX) < length;
    return *failed ? OPCUA_EVENTS : opcua_parse_body(app_heap(context), tx, failed);
}

static enum opcua_event (*const parsers[OPCUA_TYPES])(struct app_context *context, struct opcua_state *state,
                                                      struct opcua_tx *tx, struct cursor cur, bool *failed) = {
    [OPCUA_HELLO] = parse_hello, [OPCUA_ACKNOWLEDGE] = parse_hello,           [OPCUA_ERROR] = parse_error,
    [OPCUA_OPEN] = parse_open,   [OPCUA_REVERSE_HELLO] = parse_reverse_hello,
};

/* Handles a complete chunk: an abort chunk, or a chunk of types other than MSG and CLO. Returns false if there is no
 * memory. */
static bool handle_whole(struct app_context *context, struct opcua_state *state, enum flow_direction direction,
                         enum opcua_type type, const uint8_t *bytes, uint32_t size)
{
    uint32_t head = parsers[type] ? HEAD : MESSAGE_HEAD;
    struct opcua_tx *tx =
        parsers[type] ? new_tx(context, direction, type) : get_message(context, state, direction, type, bytes);
    enum opcua_event event = OPCUA_EVENTS;
    bool failed = false;

    if (!tx)
        return false;
    count_chunk(context, &state->side[direction], tx, size);
    tx->is_aborted = !parsers[type];
    if (tx->is_aborted && tx->security != OPCUA_SECURITY_NONE)
        tx->is_opaque = true; /* the reason may be encrypted */
    else
        event = (parsers[type] ? parsers[type] : parse_error)(context, state, tx, cursor_of(bytes + head, size - head),
                                                              &failed);
    if (event != OPCUA_EVENTS)
        app_event(context, &tx->tx, event);
    if (parsers[type] && bytes[3] != FINAL)
        app_event(context, &tx->tx, OPCUA_INVALID_CHUNK_TYPE);
    app_tx_advance(&tx->tx, direction, OPCUA_COMPLETE);
    return !failed;
}

/* --- Chunks of MSG and CLO --------------------------------------------------------------------------- */

/* Starts a chunk of MSG or CLO with its header. Returns false if there is no memory. */
static bool start_chunk(struct app_context *context, struct opcua_state *state, enum flow_direction direction,
                        enum opcua_type type, const uint8_t *head)
{
    struct opcua_side *side = &state->side[direction];
    uint32_t size = load_le32(head + 4), length = size - MESSAGE_HEAD;
    uint32_t signature = length < state->signature ? length : state->signature;

    side->current = get_message(context, state, direction, type, head);
    if (!side->current)
        return false;
    count_chunk(context, side, side->current, size);
    side->is_final = head[3] == FINAL;
    side->stored = length - signature;
    side->skipped = signature;
    return true;
}

/* Adds bytes to the current chunk. Returns how many of the bytes belong to it, or UINT32_MAX if there is no memory. */
static uint32_t add_to_chunk(struct app_context *context, struct opcua_state *state, enum flow_direction direction,
                             const uint8_t *bytes, uint32_t length)
{
    const struct opcua_settings *settings = app_get_settings(context);
    struct opcua_side *side = &state->side[direction];
    struct opcua_tx *tx = side->current;
    uint32_t stored = side->stored < length ? side->stored : length;
    uint32_t skipped = side->skipped < length - stored ? side->skipped : length - stored;

    if (tx && stored > 0) {
        uint32_t limit = (uint32_t)settings->max_body, room = limit > tx->body.length ? limit - tx->body.length : 0;

        if (buffer_append(app_heap(context), &tx->body, bytes, stored, limit) < (stored < room ? stored : room))
            return UINT32_MAX;
        if (tx->length <= limit && tx->length + stored > limit)
            app_event(context, &tx->tx, OPCUA_BODY_TOO_LARGE);
        tx->length += stored;
    }
    side->stored -= stored;
    side->skipped -= skipped;
    if (side->stored == 0 && side->skipped == 0) {
        side->current = NULL;
        if (tx && side->is_final && !finish_message(context, tx, direction, true))
            return UINT32_MAX;
    }
    return stored + skipped;
}

/* Checks the header of a chunk. Returns the event of an invalid header, which ends parsing, or OPCUA_EVENTS. */
static enum opcua_event check_head(enum opcua_type type, const uint8_t *head, bool *is_whole)
{
    uint32_t size = load_le32(head + 4);

    *is_whole = parsers[type] || head[3] == ABORT;
    if (type == OPCUA_NO_TYPE)
        return OPCUA_INVALID_TYPE;
    if (!parsers[type] && head[3] != FINAL && head[3] != INTERMEDIATE && head[3] != ABORT)
        return OPCUA_INVALID_CHUNK_TYPE;
    if (size < types[type].size_min || (*is_whole && size > WHOLE_MAX))
        return OPCUA_INVALID_SIZE;
    return OPCUA_EVENTS;
}

static struct app_result opcua_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct opcua_state *state = data;
    struct opcua_side *side = &state->side[in->direction];

    while (result.consumed < in->length && result.status == APP_OK) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed, size;
        bool is_whole, ok;

        if (side->stored > 0 || side->skipped > 0) {
            size = add_to_chunk(context, state, in->direction, at, left);
            if (size == UINT32_MAX)
                result.status = APP_ERROR;
            else
                result.consumed += size;
            continue;
        }
        if (left < HEAD) {
            result.needed = HEAD;
            break;
        }
        enum opcua_type type = find_type(at, left);
        enum opcua_event event = check_head(type, at, &is_whole);

        size = load_le32(at + 4);
        if (event != OPCUA_EVENTS) {
            struct opcua_tx *tx = new_tx(context, in->direction, OPCUA_NO_TYPE);

            if (tx) {
                app_event(context, &tx->tx, event);
                app_tx_advance(&tx->tx, in->direction, OPCUA_COMPLETE);
            }
            result.status = APP_ERROR;
            break;
        }
        if (left < (is_whole ? size : MESSAGE_HEAD)) {
            result.needed = is_whole ? size : MESSAGE_HEAD;
            break;
        }
        ok = is_whole ? handle_whole(context, state, in->direction, type, at, size)
                      : start_chunk(context, state, in->direction, type, at);
        result.consumed += is_whole ? size : MESSAGE_HEAD;
        /* A chunk without a body is complete. */
        if (!ok || (!is_whole && size == MESSAGE_HEAD && add_to_chunk(context, state, in->direction, at, 0) > 0))
            result.status = APP_ERROR;
    }
    return result;
}

static void opcua_tx_free(struct app_context *context, struct app_tx *base)
{
    struct opcua_tx *tx = (struct opcua_tx *)base;

    buffer_clear(app_heap(context), &tx->body);
    buffer_clear(app_heap(context), &tx->text);
    buffer_clear(app_heap(context), &tx->server_uri);
    buffer_clear(app_heap(context), &tx->items);
    buffer_clear(app_heap(context), &tx->item_ends);
}

/* --- Transfer ---------------------------------------------------------------------------------------- */

/* Transfers a message that waits for further bytes. */
static void transfer_message(struct app_context *context, struct transfer *t, struct opcua_state *state,
                             struct opcua_tx *tx)
{
    uint8_t direction = tx && is_in_direction(tx, FLOW_TO_CLIENT) ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    bool is_current = tx && state->side[direction].current == tx;
    uint8_t type = tx ? tx->type : 0;

    transfer_u8(t, &direction);
    transfer_u8(t, &type);
    transfer_bool(t, &is_current);
    transfer_require(t, direction < FLOW_DIRECTIONS && (type == OPCUA_MESSAGE || type == OPCUA_CLOSE));
    if (t->error)
        return;
    if (!tx) {
        tx = new_tx(context, (enum flow_direction)direction, (enum opcua_type)type);
        if (!tx)
            return;
        if (is_current)
            state->side[direction].current = tx;
    }
    uint32_t *const words[] = { &tx->channel, &tx->request_id, &tx->chunks };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        transfer_u32(t, words[i]);
    transfer_u8(t, &tx->security);
    transfer_u64(t, &tx->length);
    app_transfer_buffer(context, t, &tx->body);
    transfer_require(t, tx->security < OPCUA_SECURITY_VALUES && tx->body.length <= tx->length);
    if (!t->error)
        app_transfer_tx(context, t, &tx->tx);
}

static void opcua_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct opcua_state *state = data;
    struct app_tx *tx = t->reading ? NULL : app_tx_first_open(context);
    uint32_t count = t->reading ? 0 : app_tx_open_count(context);

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct opcua_side *side = &state->side[direction];

        transfer_u32(t, &side->stored);
        transfer_u32(t, &side->skipped);
        transfer_bool(t, &side->is_final);
        transfer_u32(t, &side->chunk_max);
    }
    transfer_u8(t, &state->security);
    transfer_u8(t, &state->signature);
    transfer_u32(t, &count);
    transfer_require(t, state->security < OPCUA_SECURITY_VALUES && count <= OPCUA_OPEN_MAX);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        transfer_message(context, t, state, (struct opcua_tx *)tx);
        tx = tx ? app_tx_next_open(tx) : NULL;
    }
}

/* --- Detection and settings -------------------------------------------------------------------------- */

/* A connection starts with HEL, which the server answers with ACK, or with RHE, which the client answers with HEL.
 * Their type, size and text length are distinctive enough for any port. On the ports of the protocol any valid header
 * is accepted. */
static enum app_probe_result opcua_probe(const struct app_probe *in)
{
    enum opcua_type type = find_type(in->bytes, in->length);
    uint32_t size, text;
    bool is_whole;

    if (type == OPCUA_NO_TYPE)
        return APP_NO;
    if (in->length < HEAD)
        return APP_UNSURE;
    if (check_head(type, in->bytes, &is_whole) != OPCUA_EVENTS)
        return APP_NO;
    if (in->port_hint)
        return APP_YES;
    size = load_le32(in->bytes + 4);
    if (in->bytes[3] != FINAL)
        return APP_NO;
    if (type == OPCUA_ACKNOWLEDGE)
        return size == types[type].size_min ? APP_YES : APP_NO;
    if (type != OPCUA_HELLO && type != OPCUA_REVERSE_HELLO)
        return APP_NO;
    if (in->length < types[type].size_min)
        return APP_UNSURE;
    text = load_le32(in->bytes + (type == OPCUA_HELLO ? types[type].size_min - 4 : HEAD));
    return text == UINT32_MAX || text <= size - types[type].size_min ? APP_YES : APP_NO;
}

static bool opcua_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "app-layer.protocols.opcua.max-body",
      SETTING_FIELD(opcua_settings, max_body),
      .type = SETTING_SIZE,
      .low = 1024,
      .high = OPCUA_BODY_LIMIT,
      .default_value = "64k",
      .help = "Bytes of a message body that are stored for parsing and for rules; further bytes are skipped" },
    { .name = "eve.types.opcua", .type = SETTING_SECTION, .help = "Event type opcua: a message of OPC UA" },
    { .name = NULL },
};

const struct app_proto app_opcua = {
    .name = "opcua",
    .help = "OPC UA over TCP, binary encoding",
    .transports = APP_TCP,
    .tcp_ports = "4840",
    .probe = opcua_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct opcua_state),
    .feed = opcua_feed,
    .transfer = opcua_transfer,
    .pending_max = WHOLE_MAX,
    .tx_size = sizeof(struct opcua_tx),
    .tx_free = opcua_tx_free,
    .complete = { OPCUA_COMPLETE, OPCUA_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = OPCUA_EVENTS,
    .buffers = opcua_buffers,
    .buffer_count = OPCUA_BUFFERS,
    .conditions = opcua_conditions,
    .condition_count = OPCUA_CONDITIONS,
    .log_type = "opcua",
    .log_own = opcua_log_own,
    .logs_from_server = opcua_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct opcua_settings),
};
