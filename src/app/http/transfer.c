/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of HTTP/1 to another process: the exact position in the current messages, so that the next one is found; and
 * the transactions that are incomplete or not inspected, with the lines received so far. The reader parses these lines
 * again, without events, so that a version with other code or other settings interprets them in its own way. Of a body
 * the end is transferred, so that rules find contents across the border, and short bodies are complete; the body
 * continues as after a gap, which a compressed body or a form cannot.
 *
 * Trailers are not transferred: data after the end of a body is not worth the cost.
 */
#include "sluice/transfer.h"

#include <string.h>

#include "http_priv.h"

enum { PART_TRANSACTION, PART_PARSERS };
enum { BODY_KEPT = 32 << 10 }; /* bytes from the end of a body */

/* --- A message ------------------------------------------------------------------------------------ */

struct carried {
    const uint8_t *head, *body; /* body: its last bytes */
    uint32_t length, kept;
    uint8_t progress;
    uint8_t step; /* enum http_step of the direction if the message is the current one; otherwise HTTP_IDLE */
    bool begun;
    uint64_t wire_length, body_length;
};

/* Returns the length of the lines up to the body. */
static uint32_t head_length(const struct http_message *message, enum flow_direction direction, uint8_t progress)
{
    uint32_t end = message->headers_end;

    if (progress < HTTP_HEADERS || end >= message->head.length)
        return message->head.length;
    return end + http_line_length(message->head.bytes + end, message->head.length - end, 0, direction == FLOW_TO_CLIENT,
                                  true);
}

static void transfer_carried(struct transfer *t, struct carried *carried)
{
    transfer_bool(t, &carried->begun);
    transfer_u8(t, &carried->progress);
    transfer_u8(t, &carried->step);
    transfer_u64(t, &carried->wire_length);
    transfer_u64(t, &carried->body_length);
    transfer_u32(t, &carried->length);
    transfer_require(t, carried->length <= HTTP_HEAD_LIMIT && carried->progress <= HTTP_COMPLETE);
    transfer_require(t, carried->step < HTTP_STEPS && carried->wire_length < UINT64_MAX / 4 &&
                            carried->body_length < UINT64_MAX / 4);
    transfer_u32(t, &carried->kept);
    transfer_require(t, carried->kept <= BODY_KEPT && carried->kept <= carried->body_length);
    if (!t->reading) {
        transfer_bytes(t, (void *)carried->head, carried->length);
        transfer_bytes(t, (void *)carried->body, carried->kept);
    } else if (!t->error) {
        carried->head = transfer_lend(t, carried->length);
        carried->body = transfer_lend(t, carried->kept);
    }
}

/* Returns the kept bytes of a decoded body, if they are contiguous up to its end. */
static const struct buffer *kept_body(const struct http_tx *tx, enum flow_direction direction)
{
    const struct http_message *message = &tx->message[direction];
    const struct file_list *files = &tx->base.files[direction];

    if (message->decoder || message->form)
        return NULL;
    if (!message->file_is_body)
        return files->count == 0 ? &message->body : NULL;
    return files->count == 1 && file_received(files->first) == files->first->data_offset + files->first->data.length
               ? &files->first->data
               : NULL;
}

static void write_message(struct transfer *t, const struct http_state *state, struct http_tx *tx,
                          enum flow_direction direction)
{
    struct http_message *message = &tx->message[direction];
    const struct http_parser *parser = &state->parser[direction];
    uint8_t progress = tx->base.progress[direction];
    struct carried carried = {
        .head = message->head.bytes,
        .length = head_length(message, direction, progress),
        .progress = progress,
        .step = parser->tx == tx ? (uint8_t)parser->step : (uint8_t)HTTP_IDLE,
        .begun = progress > 0 || parser->tx == tx,
        .wire_length = message->wire_length,
        .body_length = message->body_length,
    };
    const struct buffer *body = kept_body(tx, direction);

    if (body && body->length <= message->body_length) {
        carried.kept = body->length < BODY_KEPT ? body->length : BODY_KEPT;
        carried.body = body->length > 0 ? body->bytes + (body->length - carried.kept) : NULL;
    }
    transfer_carried(t, &carried);
}

/* --- Parsing of transferred messages ------------------------------------------------------------- */

static bool read_lines(struct http_feed *f, const struct carried *carried)
{
    enum http_turn turn = HTTP_GO;

    f->bytes = carried->head;
    f->at = 0;
    f->length = carried->length;
    f->end = carried->progress >= HTTP_HEADERS;
    while (turn == HTTP_GO && f->at < f->length && !f->failed)
        turn = f->direction == FLOW_TO_SERVER ? http_request_step(f) : http_response_step(f);
    return turn != HTTP_FAIL && turn != HTTP_LEAVE && !f->failed;
}

static void read_body(struct http_feed *f, struct http_tx *tx, const struct carried *carried)
{
    const struct http_message *message = &tx->message[f->direction];

    if (message->decoder || message->form || carried->kept == 0) {
        if (carried->wire_length > 0)
            http_body_gap(f, tx, carried->wire_length);
        return;
    }
    if (carried->body_length > carried->kept)
        http_body_gap(f, tx, carried->body_length - carried->kept);
    http_body_data(f, tx, carried->body, carried->kept);
}

/* Restores the part of the body that was received. */
static void pass_body(struct http_feed *f, struct http_tx *tx, const struct carried *carried)
{
    struct http_message *message = &tx->message[f->direction];

    if (carried->progress >= HTTP_HEADERS && !message->body_ended)
        read_body(f, tx, carried);
    message->wire_length = carried->wire_length;
    message->body_length = carried->body_length;
    if (carried->progress >= HTTP_BODY && !message->body_ended) {
        http_body_end(f, tx, f->direction, true);
        if (tx->base.progress[f->direction] < HTTP_BODY)
            app_tx_advance(&tx->base, f->direction, HTTP_BODY);
    }
}

static void set_direction(struct http_feed *f, enum flow_direction direction)
{
    f->direction = direction;
    f->parser = &f->state->parser[direction];
    *f->parser = (struct http_parser){ .step = HTTP_IDLE };
}

static struct http_tx *read_request(struct http_feed *f, const struct carried *carried)
{
    struct http_tx *tx;

    set_direction(f, FLOW_TO_SERVER);
    if (!read_lines(f, carried))
        return NULL;
    tx = (struct http_tx *)app_tx_last(f->context);
    if (!tx || tx->base.moved)
        return NULL;
    pass_body(f, tx, carried);
    if (carried->progress == HTTP_COMPLETE && tx->base.progress[FLOW_TO_SERVER] < HTTP_COMPLETE) {
        f->parser->left = 0;
        http_request_complete(f, tx);
    }
    return tx;
}

static struct http_tx *read_response(struct http_feed *f, const struct carried *carried)
{
    struct http_tx *tx;

    set_direction(f, FLOW_TO_CLIENT);
    tx = http_response_again(f, carried->length == 0 && carried->step == HTTP_UNTIL_CLOSE);
    if (!tx || !read_lines(f, carried))
        return NULL;
    pass_body(f, tx, carried);
    if (carried->progress == HTTP_COMPLETE && tx->base.progress[FLOW_TO_CLIENT] < HTTP_COMPLETE) {
        f->parser->left = 0;
        http_response_complete(f, tx);
    }
    return tx;
}

/* --- Transactions --------------------------------------------------------------------------------- */

static void write_transaction(struct app_context *context, struct transfer *t, const struct http_state *state,
                              struct http_tx *tx)
{
    size_t start = transfer_part_start(t, PART_TRANSACTION);

    transfer_bool(t, &tx->not_seen);
    transfer_bool(t, &tx->seen_100);
    write_message(t, state, tx, FLOW_TO_SERVER);
    write_message(t, state, tx, FLOW_TO_CLIENT);
    app_transfer_tx(context, t, &tx->base);
    transfer_part_end(t, start);
}

/* Returns false if the transaction cannot be restored. */
static bool read_transaction(struct transfer *t, struct http_feed *f)
{
    struct carried request = { .head = NULL }, response = { .head = NULL };
    bool not_seen = false, seen_100 = false;
    struct http_tx *tx = NULL;

    transfer_bool(t, &not_seen);
    transfer_bool(t, &seen_100);
    transfer_carried(t, &request);
    transfer_carried(t, &response);
    if (t->error || (not_seen && f->state->answer_next))
        return false;
    if (!not_seen && !(tx = read_request(f, &request)))
        return false;
    if (response.begun && (not_seen || f->state->answer_next == tx))
        tx = read_response(f, &response);
    if (!tx)
        return false;
    tx->seen_100 |= seen_100;
    app_transfer_tx(f->context, t, &tx->base);
    return true;
}

/* --- Parsers -------------------------------------------------------------------------------------- */

static bool needs_tx(enum http_step step)
{
    return step != HTTP_IDLE && step != HTTP_WAITING && step != HTTP_TUNNEL;
}

/* parser->tx has been set by parsing the lines again. */
static void transfer_parser(struct transfer *t, struct http_parser *parser)
{
    uint8_t step = (uint8_t)parser->step;

    transfer_u8(t, &step);
    transfer_u64(t, &parser->left);
    transfer_u64(t, &parser->total);
    transfer_u32(t, &parser->lines);
    transfer_u32(t, &parser->field_length);
    transfer_u32(t, &parser->messages);
    transfer_u32(t, &parser->blanks);
    transfer_u32(t, &parser->scanned);
    transfer_u32(t, &parser->chunk_blanks);
    transfer_bool(t, &parser->bare_lf);
    transfer_bool(t, &parser->ended);
    transfer_require(t, step < HTTP_STEPS && (parser->tx || !needs_tx((enum http_step)step)));
    transfer_require(t, parser->lines <= HTTP_HEAD_LIMIT);
    if (!t->error)
        parser->step = (enum http_step)step;
    if (t->reading && parser->step == HTTP_AT_TRAILER)
        parser->lines = 0; /* earlier ones were not transferred */
    if (t->reading && parser->step == HTTP_IDLE)
        parser->tx = NULL;
}

static void write_all(struct app_context *context, struct http_state *state, struct transfer *t)
{
    size_t start;

    for (struct app_tx *tx = app_tx_first(context); tx; tx = tx->next) {
        if (app_tx_is_pending(tx) && ((struct http_tx *)tx)->reading == 0)
            write_transaction(context, t, state, (struct http_tx *)tx);
    }
    start = transfer_part_start(t, PART_PARSERS);
    transfer_parser(t, &state->parser[FLOW_TO_SERVER]);
    transfer_parser(t, &state->parser[FLOW_TO_CLIENT]);
    transfer_part_end(t, start);
}

/* After a failure the position is lost, and the following bytes cannot be parsed. */
static bool read_part(struct http_feed *f, struct transfer *t, uint16_t kind)
{
    if (kind == PART_TRANSACTION)
        return read_transaction(t, f);
    if (kind == PART_PARSERS) {
        transfer_parser(t, &f->state->parser[FLOW_TO_SERVER]);
        transfer_parser(t, &f->state->parser[FLOW_TO_CLIENT]);
        if (f->state->parser[FLOW_TO_CLIENT].ended)
            f->state->answer_next = NULL;
    }
    return true;
}

void http_transfer(struct app_context *context, void *state, struct transfer *t)
{
    struct http_feed f = {
        .context = context,
        .state = state,
        .settings = http_settings_of(context),
        .parser = &((struct http_state *)state)->parser[FLOW_TO_SERVER],
        .quiet = true,
        .transferred = true,
    };
    struct transfer part;
    bool understood = true;
    uint16_t kind;

    if (!t->reading) {
        write_all(context, state, t);
        return;
    }
    while (understood && !t->error && transfer_next_part(t, &kind, &part)) {
        understood = read_part(&f, &part, kind);
        t->error = part.error;
    }
    if (!understood)
        app_no_more(context, false);
}
