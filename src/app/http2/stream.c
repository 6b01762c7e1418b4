/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams. A hash table (open addressing, linear probing) has the open ones, so that the cost of a frame does not
 * depend on their number. The framework completes transactions on its own at the stream depth and after errors, and may
 * free them afterwards; the table is built again when its size differs from the number of open transactions.
 */
#include "http2_priv.h"

#include <string.h>

enum { SLOTS_MIN = 16 };

static uint32_t slot_of(const struct http2_state *state, uint32_t id)
{
    /* Ids of a side are consecutive odd or even numbers. */
    return (id >> 1 ^ (id & 1) << 3) & (state->slot_count - 1);
}

static struct http2_stream_slot *find_slot(const struct http2_state *state, uint32_t id)
{
    uint32_t at = slot_of(state, id);

    while (state->slots[at].id != 0 && state->slots[at].id != id)
        at = (at + 1) & (state->slot_count - 1);
    return &state->slots[at];
}

struct http2_tx *http2_find_stream(const struct http2_feed *f, uint32_t id)
{
    return f->state->slot_count > 0 && id != 0 ? find_slot(f->state, id)->tx : NULL;
}

/* Makes room for one more stream. Returns false without memory. */
static bool grow_table(struct http2_feed *f)
{
    struct http2_state *state = f->state;
    struct http2_stream_slot *old = state->slots;
    uint32_t count = state->slot_count, next = count > 0 ? 2 * count : SLOTS_MIN;

    if (state->stream_count < count / 2)
        return true;
    state->slots = heap_alloc(app_heap(f->context), next * sizeof(*old));
    if (!state->slots) {
        state->slots = old;
        return false;
    }
    state->slot_count = next;
    for (uint32_t i = 0; i < count; i++)
        if (old[i].id != 0)
            *find_slot(state, old[i].id) = old[i];
    heap_release(app_heap(f->context), old);
    return true;
}

static bool add_to_table(struct http2_feed *f, struct http2_tx *tx)
{
    struct http2_stream_slot *slot;

    if (!grow_table(f))
        return false;
    slot = find_slot(f->state, tx->stream_id);
    if (slot->id == 0)
        f->state->stream_count++;
    *slot = (struct http2_stream_slot){ tx->stream_id, tx };
    return true;
}

static void remove_from_table(struct http2_state *state, uint32_t id)
{
    uint32_t mask = state->slot_count - 1, hole, at;

    if (state->slot_count == 0)
        return;
    hole = at = (uint32_t)(find_slot(state, id) - state->slots);
    if (state->slots[at].id == 0)
        return;
    state->stream_count--;
    /* Move entries to the hole that lookups would no longer find behind it. */
    for (at = (at + 1) & mask; state->slots[at].id != 0; at = (at + 1) & mask) {
        uint32_t wanted = slot_of(state, state->slots[at].id);

        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            state->slots[hole] = state->slots[at];
            hole = at;
        }
    }
    state->slots[hole] = (struct http2_stream_slot){ 0 };
}

void http2_check_streams(struct http2_feed *f)
{
    struct http2_state *state = f->state;

    if (app_tx_open_count(f->context) == state->stream_count)
        return;
    if (state->slot_count > 0)
        memset(state->slots, 0, state->slot_count * sizeof(*state->slots));
    state->stream_count = 0;
    for (struct app_tx *tx = app_tx_first_open(f->context); tx; tx = app_tx_next_open(tx)) {
        if (((struct http2_tx *)tx)->is_stream && !add_to_table(f, (struct http2_tx *)tx)) {
            f->failed = true;
            return;
        }
    }
}

void http2_free_streams(struct app_context *context, struct http2_state *state)
{
    heap_release(app_heap(context), state->slots);
    state->slots = NULL;
    state->slot_count = state->stream_count = 0;
}

/* --- Transactions --------------------------------------------------------------------------------- */

void http2_tx_init(struct http2_tx *tx, uint32_t id)
{
    http_message_init(&tx->http.message[FLOW_TO_SERVER]);
    http_message_init(&tx->http.message[FLOW_TO_CLIENT]);
    tx->http.port = -1;
    tx->stream_id = id;
    tx->http.base.sub_state = HTTP2_SUB_GLOBAL;
}

void http2_tx_free(struct app_context *context, struct app_tx *base)
{
    struct http2_tx *tx = (struct http2_tx *)base;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        buffer_clear(app_heap(context), &tx->side[direction].records);
        buffer_clear(app_heap(context), &tx->side[direction].windows);
        buffer_clear(app_heap(context), &tx->side[direction].fields);
    }
    http2_dns_free(context, tx);
    http_tx_free(context, base);
}

static bool is_open(const struct http2_tx *tx)
{
    return !app_tx_is_complete(&tx->http.base, FLOW_TO_SERVER) || !app_tx_is_complete(&tx->http.base, FLOW_TO_CLIENT);
}

struct http2_tx *http2_open_stream(struct http2_feed *f, uint32_t id)
{
    struct http2_tx *tx = NULL;

    if (f->state->stream_count >= f->settings->max_streams)
        http2_event(f, NULL, HTTP2_TOO_MANY_STREAMS);
    else
        tx = (struct http2_tx *)app_tx_new(f->context);
    if (!tx) {
        f->failed = true;
        return NULL;
    }
    http2_tx_init(tx, id);
    tx->is_stream = true;
    tx->http.base.sub_state = HTTP2_SUB_STREAM;
    /* Beyond the stream depth the framework has completed a direction, or both: such a stream is not open. */
    if (is_open(tx) && !add_to_table(f, tx))
        f->failed = true;
    return tx;
}

struct http2_tx *http2_add_loose_frame(struct http2_feed *f, uint32_t id, enum flow_direction direction, uint8_t type)
{
    struct http2_tx *tx = (struct http2_tx *)app_tx_new(f->context);

    if (!tx) {
        f->failed = true;
        return NULL;
    }
    http2_tx_init(tx, id);
    tx->http.base.directions = (uint8_t)(1u << direction);
    http2_record_frame(f, tx, direction, type);
    return tx;
}

void http2_complete_loose_frame(struct http2_tx *tx)
{
    if (!tx || tx->is_stream)
        return;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        app_tx_advance(&tx->http.base, direction, HTTP_COMPLETE);
}

void http2_end_direction(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, bool complete)
{
    http2_body_end(f, tx, direction, complete);
    app_tx_advance(&tx->http.base, direction, HTTP_COMPLETE);
    if (!is_open(tx))
        remove_from_table(f->state, tx->stream_id);
}

static void close_stream(struct http2_feed *f, struct http2_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (!app_tx_is_complete(&tx->http.base, direction))
            http2_end_direction(f, tx, direction, false);
    }
}

void http2_reset_stream(struct http2_feed *f, struct http2_tx *tx)
{
    struct http2_state *state = f->state;
    struct http2_tx *oldest = http2_find_stream(f, state->reset_streams[state->next_reset]);

    if (f->direction == FLOW_TO_CLIENT || tx->is_reset || app_tx_is_complete(&tx->http.base, FLOW_TO_CLIENT)) {
        close_stream(f, tx);
        return;
    }
    tx->is_reset = true;
    if (!app_tx_is_complete(&tx->http.base, FLOW_TO_SERVER))
        http2_end_direction(f, tx, FLOW_TO_SERVER, false);
    state->reset_streams[state->next_reset] = tx->stream_id;
    state->next_reset = (uint8_t)((state->next_reset + 1) % HTTP2_RESET_STREAMS);
    if (oldest && oldest->is_reset && oldest != tx)
        close_stream(f, oldest);
}

void http2_end_all(struct http2_feed *f, enum flow_direction direction)
{
    struct app_tx *next;

    for (struct app_tx *tx = app_tx_first_open(f->context); tx; tx = next) {
        next = app_tx_next_open(tx);
        if (((struct http2_tx *)tx)->is_stream && !app_tx_is_complete(tx, direction))
            http2_end_direction(f, (struct http2_tx *)tx, direction, false);
    }
}

void http2_event(struct http2_feed *f, struct http2_tx *tx, enum http2_event event)
{
    const struct http2_parser *parser = f->parser;

    /* Not on the newest transaction, as with app_event(): it may have been freed. */
    struct http2_tx *own = tx ? NULL : http2_add_loose_frame(f, parser->stream_id, f->direction, parser->type);

    if (tx || own)
        app_event(f->context, tx ? &tx->http.base : &own->http.base, event);
    http2_complete_loose_frame(own);
}

/* --- Records of frames ---------------------------------------------------------------------------- */

void http2_record_frame(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint8_t type)
{
    struct http2_side *side = &tx->side[direction];

    if (++side->frames == f->settings->max_frames)
        http2_event(f, tx, HTTP2_TOO_MANY_FRAMES);
    if (side->types[type / 32] >> (type % 32) & 1)
        return;
    side->types[type / 32] |= UINT32_C(1) << (type % 32);
    app_tx_mark_changed(&tx->http.base, direction);
}

void http2_record_value(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction,
                        enum http2_record_kind kind, uint16_t id, uint32_t value)
{
    struct http2_side *side = &tx->side[direction];
    struct http2_record record;

    memset(&record, 0, sizeof(record)); /* with its padding, for transfers */
    record.kind = (uint8_t)kind;
    record.id = id;
    record.value = value;
    if (http2_record_count(side) >= HTTP2_RECORDS_MAX) {
        http2_event(f, tx, HTTP2_TOO_MANY_FRAMES);
        return;
    }
    if (buffer_append(app_heap(f->context), &side->records, &record, sizeof(record), UINT32_MAX) < sizeof(record))
        f->failed = true;
    app_tx_mark_changed(&tx->http.base, direction);
}

void http2_record_window(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint32_t increment)
{
    struct buffer *windows = &tx->side[direction].windows;

    if (!app_tx_needs_inspection(&tx->http.base, direction))
        windows->length = 0;
    buffer_append(app_heap(f->context), windows, &increment, sizeof(increment), HTTP2_RECORDS_MAX * sizeof(increment));
    app_tx_mark_changed(&tx->http.base, direction);
}
