/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State transfer of HTTP/2 to another process: both parsers with their tables, which cannot be built again, and the
 * transactions that are incomplete or not inspected. The next process evaluates the fields of a message again. Of a
 * body it gets the last bytes, as in HTTP/1.
 */
#include "sluice/transfer.h"

#include <string.h>

#include "http2_priv.h"

enum { PART_TRANSACTION, PART_CONNECTION, PART_DNS };
enum { BODY_TAIL_MAX = 32 << 10, FRAME_MAX = (1 << 24) - 1 };

/* --- A direction of a transaction ----------------------------------------------------------------- */

struct transferred_side {
    uint8_t progress;
    bool has_headers;
    uint32_t first_header, end_of_headers, tail_length;
    uint64_t wire_length, body_length;
    const uint8_t *tail; /* the last bytes of the body */
};

/* Transfers what both processes have in the same form: the text of the fields, the fields, and the frames. */
static void transfer_frames(struct app_context *context, struct transfer *t, struct http2_tx *tx,
                            enum flow_direction direction)
{
    struct http2_side *side = &tx->side[direction];
    struct buffer *text = &tx->http.message[direction].head;

    for (unsigned i = 0; i < HTTP2_TYPES / 32; i++)
        transfer_u32(t, &side->types[i]);
    transfer_u32(t, &side->frames);
    app_transfer_buffer(context, t, &side->records);
    app_transfer_buffer(context, t, &side->windows);
    app_transfer_buffer(context, t, &side->fields);
    app_transfer_buffer(context, t, text);
    transfer_require(t, text->length <= HTTP_HEAD_LIMIT && side->fields.length % sizeof(struct http_field) == 0);
    transfer_require(t, side->records.length % sizeof(struct http2_record) == 0 &&
                            side->windows.length % sizeof(uint32_t) == 0);
    for (uint32_t i = 0; i < http2_field_count(side) && !t->error; i++) {
        const struct http_field *field = http2_get_field(side, i);

        transfer_require(t, field->name_length <= HPACK_NAME_MAX && field->value_length <= HTTP_HEAD_LIMIT &&
                                field->at <= text->length &&
                                field->name_length + field->value_length + 4 <= text->length - field->at);
    }
}

static void transfer_side(struct transfer *t, const struct http2_tx *tx, enum flow_direction direction,
                          struct transferred_side *out)
{
    transfer_u8(t, &out->progress);
    transfer_bool(t, &out->has_headers);
    transfer_u32(t, &out->first_header);
    transfer_u32(t, &out->end_of_headers);
    transfer_u64(t, &out->wire_length);
    transfer_u64(t, &out->body_length);
    transfer_u32(t, &out->tail_length);
    transfer_require(t, out->progress <= HTTP_COMPLETE && out->first_header <= out->end_of_headers &&
                            out->end_of_headers <= http2_field_count(&tx->side[direction]));
    transfer_require(t, out->wire_length < UINT64_MAX / 4 && out->body_length < UINT64_MAX / 4 &&
                            out->tail_length <= BODY_TAIL_MAX && out->tail_length <= out->body_length);
    if (!t->reading)
        transfer_bytes(t, (void *)out->tail, out->tail_length);
    else if (!t->error)
        out->tail = transfer_lend(t, out->tail_length);
}

static void write_side(struct app_context *context, struct transfer *t, struct http2_tx *tx,
                       enum flow_direction direction)
{
    const struct http_message *message = &tx->http.message[direction];
    const struct buffer *body = http_find_kept_body(&tx->http, direction);
    struct transferred_side side = {
        .progress = tx->http.base.progress[direction],
        .has_headers = tx->side[direction].has_headers,
        .first_header = tx->side[direction].first_header,
        .end_of_headers = tx->side[direction].end_of_headers,
        .wire_length = message->wire_length,
        .body_length = message->body_length,
    };

    if (body && body->length > 0 && body->length <= message->body_length) {
        side.tail_length = body->length < BODY_TAIL_MAX ? body->length : BODY_TAIL_MAX;
        side.tail = body->bytes + (body->length - side.tail_length);
    }
    transfer_frames(context, t, tx, direction);
    transfer_side(t, tx, direction, &side);
}

static void restore_side(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction,
                         const struct transferred_side *side)
{
    struct http_message *message = &tx->http.message[direction];

    f->direction = direction;
    f->parser = &f->state->parser[direction];
    if (side->has_headers)
        http2_finish_headers(f, tx, direction, side->first_header, side->end_of_headers);
    if (f->failed)
        return;
    http2_restore_body(f, tx, side->wire_length, side->body_length, side->tail, side->tail_length);
    message->wire_length = side->wire_length;
    message->body_length = side->body_length;
    if (side->progress == HTTP_COMPLETE)
        http2_end_direction(f, tx, direction, true);
    else if (side->has_headers)
        app_tx_advance(&tx->http.base, direction, side->progress);
}

/* --- DNS messages --------------------------------------------------------------------------------- */

/* Transfers the DNS messages of the last transaction: the incomplete body, or the message. */
static void transfer_dns(struct http2_feed *f, struct transfer *t, struct http2_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !t->error; direction++) {
        struct http2_dns *dns = tx->dns;
        struct buffer message = { .bytes = dns->message[direction].text.bytes, .length = dns->length[direction] };
        struct buffer read = { .bytes = NULL };
        bool parsed = dns->message[direction].parsed;

        transfer_bool(t, &parsed);
        transfer_bool(t, &dns->is_body[direction]);
        app_transfer_buffer(f->context, t, !t->reading ? &message : &read);
        if (!t->reading) {
            app_transfer_buffer(f->context, t, &dns->body[direction]);
            continue;
        }
        if (parsed && !t->error && read.length > 0)
            http2_dns_parse(f, tx, direction, read.bytes, read.length);
        buffer_clear(app_heap(f->context), &read);
        buffer_clear(app_heap(f->context), &dns->body[direction]);
        app_transfer_buffer(f->context, t, &dns->body[direction]);
        transfer_require(t, dns->body[direction].length <= HTTP2_DNS_MESSAGE_MAX);
    }
}

/* --- Transactions --------------------------------------------------------------------------------- */

static void write_transaction(struct app_context *context, struct transfer *t, struct http2_tx *tx)
{
    size_t start = transfer_part_start(t, PART_TRANSACTION);

    transfer_u32(t, &tx->stream_id);
    transfer_bool(t, &tx->is_stream);
    transfer_u8(t, &tx->http.base.directions);
    transfer_bool(t, &tx->http.seen_100);
    write_side(context, t, tx, FLOW_TO_SERVER);
    write_side(context, t, tx, FLOW_TO_CLIENT);
    app_transfer_tx(context, t, &tx->http.base);
    transfer_part_end(t, start);
    if (!tx->dns)
        return;
    start = transfer_part_start(t, PART_DNS);
    transfer_dns(&(struct http2_feed){ .context = context }, t, tx);
    transfer_part_end(t, start);
}

/* Returns the new transaction; NULL if the values are invalid, or without memory. */
static struct http2_tx *read_head(struct http2_feed *f, struct transfer *t)
{
    uint32_t id = 0;
    bool is_stream = false, seen_100 = false;
    uint8_t directions = 0;
    struct http2_tx *tx;

    transfer_u32(t, &id);
    transfer_bool(t, &is_stream);
    transfer_u8(t, &directions);
    transfer_bool(t, &seen_100);
    transfer_require(t, id <= HTTP2_STREAM_MASK && directions > 0 && directions <= APP_BOTH);
    transfer_require(t, !is_stream || (directions == APP_BOTH && id > 0 && !http2_find_stream(f, id)));
    if (t->error)
        return NULL;
    if (is_stream) {
        tx = http2_open_stream(f, id);
    } else {
        tx = (struct http2_tx *)app_tx_new(f->context);
        if (tx)
            http2_tx_init(tx, id);
        f->failed |= !tx;
    }
    if (!tx)
        return NULL;
    tx->http.base.directions = directions;
    tx->http.seen_100 = seen_100;
    return tx;
}

static void read_transaction(struct http2_feed *f, struct transfer *t)
{
    struct transferred_side sides[FLOW_DIRECTIONS];
    struct http2_tx *tx = read_head(f, t);

    memset(sides, 0, sizeof(sides));
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && tx && !t->error; direction++) {
        transfer_frames(f->context, t, tx, direction);
        transfer_side(t, tx, direction, &sides[direction]);
    }
    if (!tx || t->error)
        return;
    if (tx->is_stream) {
        restore_side(f, tx, FLOW_TO_SERVER, &sides[FLOW_TO_SERVER]);
        if (!f->failed && !app_tx_is_complete(&tx->http.base, FLOW_TO_CLIENT))
            restore_side(f, tx, FLOW_TO_CLIENT, &sides[FLOW_TO_CLIENT]);
    }
    http2_complete_loose_frame(tx);
    app_transfer_tx(f->context, t, &tx->http.base);
}

/* --- Connection ----------------------------------------------------------------------------------- */

static void transfer_parser(struct app_context *context, struct transfer *t, struct http2_parser *parser)
{
    transfer_u8(t, &parser->step);
    transfer_u8(t, &parser->type);
    transfer_u8(t, &parser->flags);
    transfer_u32(t, &parser->stream_id);
    transfer_u32(t, &parser->length);
    transfer_u32(t, &parser->left);
    transfer_u32(t, &parser->padding);
    transfer_u32(t, &parser->block_stream);
    transfer_u32(t, &parser->promised);
    transfer_bool(t, &parser->block_ends_stream);
    transfer_bool(t, &parser->has_priority);
    transfer_u8(t, &parser->priority);
    transfer_u32(t, &parser->block_frames);
    transfer_require(t, parser->step < HTTP2_STEPS && parser->length <= FRAME_MAX && parser->left <= FRAME_MAX &&
                            parser->padding <= FRAME_MAX);
    transfer_require(t, parser->stream_id <= HTTP2_STREAM_MASK && parser->block_stream <= HTTP2_STREAM_MASK &&
                            parser->promised <= HTTP2_STREAM_MASK);
    app_transfer_buffer(context, t, &parser->block);
    app_transfer_buffer(context, t, &parser->hpack.text);
    app_transfer_buffer(context, t, &parser->hpack.entries);
    hpack_transfer(t, &parser->hpack);
}

static void transfer_connection(struct app_context *context, struct transfer *t, struct http2_state *state)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_parser(context, t, &state->parser[direction]);
        transfer_u32(t, &state->last_stream[direction]);
    }
    transfer_u64(t, &state->reset_from_ns);
    transfer_u32(t, &state->resets);
    transfer_bool(t, &state->started);
}

void http2_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct http2_feed f = {
        .context = context,
        .state = data,
        .settings = app_get_settings_of(context, &app_http2),
        .http_settings = app_get_settings_of(context, &app_http),
        .parser = &((struct http2_state *)data)->parser[FLOW_TO_SERVER],
        .transferred = true,
    };
    struct transfer part;
    uint16_t kind;

    if (!t->reading) {
        for (struct app_tx *tx = app_tx_first(context); tx; tx = tx->next) {
            if (app_tx_is_pending(tx) && tx->proto->feed == http2_feed)
                write_transaction(context, t, (struct http2_tx *)tx);
        }
        size_t start = transfer_part_start(t, PART_CONNECTION);

        transfer_connection(context, t, data);
        transfer_part_end(t, start);
        return;
    }
    while (!f.failed && !t->error && transfer_next_part(t, &kind, &part)) {
        if (kind == PART_TRANSACTION)
            read_transaction(&f, &part);
        else if (kind == PART_CONNECTION)
            transfer_connection(context, &part, data);
        else if (kind == PART_DNS && app_tx_last(context) && ((struct http2_tx *)app_tx_last(context))->dns)
            transfer_dns(&f, &part, (struct http2_tx *)app_tx_last(context));
        t->error = part.error;
    }
    if (f.failed)
        app_stop_parsing(context, false);
}
