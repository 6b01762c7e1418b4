/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State transfer of HTTP/1 to another process: the position in the current messages, so that the next message is found,
 * and the transactions that are incomplete or not inspected, with the lines received so far. The next process parses
 * these lines again, without events, so that its code and settings apply. Of a body at most the last BODY_TAIL_MAX
 * bytes are transferred; the bytes before them become a gap. A compressed body or a form is not transferred, because
 * its parser cannot continue after a gap.
 *
 * Trailers are not transferred.
 */
#include "sluice/transfer.h"

#include <string.h>

#include "http_priv.h"

enum { PART_TRANSACTION, PART_PARSERS };
enum { BODY_TAIL_MAX = 32 << 10 }; /* bytes transferred from the end of a body */

/* --- A message ------------------------------------------------------------------------------------ */

struct transferred_message {
    const uint8_t *head, *tail; /* the lines before the body, and the last bytes of the body */
    uint32_t head_length, tail_length;
    uint8_t progress;
    uint8_t step; /* enum http_step of the direction if the message is the current one; otherwise HTTP_IDLE */
    bool begun;   /* the message has started */
    uint64_t wire_length, body_length;
};

/* Returns the length of the lines before the body. */
static uint32_t get_head_length(const struct http_message *message, enum flow_direction direction, uint8_t progress)
{
    uint32_t end = message->headers_end;

    if (progress < HTTP_HEADERS || end >= message->head.length)
        return message->head.length;
    return end + http_line_length(message->head.bytes + end, message->head.length - end, 0, direction == FLOW_TO_CLIENT,
                                  true);
}

static void transfer_message(struct transfer *t, struct transferred_message *transferred)
{
    transfer_bool(t, &transferred->begun);
    transfer_u8(t, &transferred->progress);
    transfer_u8(t, &transferred->step);
    transfer_u64(t, &transferred->wire_length);
    transfer_u64(t, &transferred->body_length);
    transfer_u32(t, &transferred->head_length);
    transfer_require(t, transferred->head_length <= HTTP_HEAD_LIMIT && transferred->progress <= HTTP_COMPLETE);
    transfer_require(t, transferred->step < HTTP_STEPS && transferred->wire_length < UINT64_MAX / 4 &&
                            transferred->body_length < UINT64_MAX / 4);
    transfer_u32(t, &transferred->tail_length);
    transfer_require(t,
                     transferred->tail_length <= BODY_TAIL_MAX && transferred->tail_length <= transferred->body_length);
    if (!t->reading) {
        transfer_bytes(t, (void *)transferred->head, transferred->head_length);
        transfer_bytes(t, (void *)transferred->tail, transferred->tail_length);
    } else if (!t->error) {
        transferred->head = transfer_lend(t, transferred->head_length);
        transferred->tail = transfer_lend(t, transferred->tail_length);
    }
}

const struct buffer *http_find_kept_body(const struct http_tx *tx, enum flow_direction direction)
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
    struct transferred_message transferred = {
        .head = message->head.bytes,
        .head_length = get_head_length(message, direction, progress),
        .progress = progress,
        .step = parser->tx == tx ? (uint8_t)parser->step : (uint8_t)HTTP_IDLE,
        .begun = progress > 0 || parser->tx == tx,
        .wire_length = message->wire_length,
        .body_length = message->body_length,
    };
    const struct buffer *body = http_find_kept_body(tx, direction);

    if (body && body->length <= message->body_length) {
        transferred.tail_length = body->length < BODY_TAIL_MAX ? body->length : BODY_TAIL_MAX;
        transferred.tail = body->length > 0 ? body->bytes + (body->length - transferred.tail_length) : NULL;
    }
    transfer_message(t, &transferred);
}

/* --- Parsing of transferred messages ------------------------------------------------------------- */

static bool parse_lines(struct http_feed *f, const struct transferred_message *transferred)
{
    enum http_step_result result = HTTP_STEP_DONE;

    f->bytes = transferred->head;
    f->at = 0;
    f->length = transferred->head_length;
    f->end = transferred->progress >= HTTP_HEADERS;
    while (result == HTTP_STEP_DONE && f->at < f->length && !f->failed)
        result = f->direction == FLOW_TO_SERVER ? http_request_step(f) : http_response_step(f);
    return result != HTTP_STEP_FAILED && result != HTTP_STEP_ENDS_HTTP && !f->failed;
}

/* Restores the part of the body that was received. */
static void restore_body(struct http_feed *f, struct http_tx *tx, const struct transferred_message *transferred)
{
    struct http_message *message = &tx->message[f->direction];
    bool has_tail = !message->decoder && !message->form && transferred->tail_length > 0;
    uint64_t gap = has_tail ? transferred->body_length - transferred->tail_length : transferred->wire_length;

    if (transferred->progress >= HTTP_HEADERS && !message->body_ended) {
        if (gap > 0)
            http_body_gap(f, tx, gap);
        if (has_tail)
            http_body_data(f, tx, transferred->tail, transferred->tail_length);
    }
    message->wire_length = transferred->wire_length;
    message->body_length = transferred->body_length;
    if (transferred->progress >= HTTP_BODY && !message->body_ended) {
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

static struct http_tx *read_request(struct http_feed *f, const struct transferred_message *transferred)
{
    struct http_tx *tx;

    set_direction(f, FLOW_TO_SERVER);
    if (!parse_lines(f, transferred))
        return NULL;
    tx = (struct http_tx *)app_tx_last(f->context);
    if (!tx || tx->base.moved)
        return NULL;
    restore_body(f, tx, transferred);
    if (transferred->progress == HTTP_COMPLETE && tx->base.progress[FLOW_TO_SERVER] < HTTP_COMPLETE) {
        f->parser->left = 0;
        http_request_complete(f, tx);
    }
    return tx;
}

static struct http_tx *read_response(struct http_feed *f, const struct transferred_message *transferred)
{
    struct http_tx *tx;

    set_direction(f, FLOW_TO_CLIENT);
    tx = http_response_restore(f, transferred->head_length == 0 && transferred->step == HTTP_UNTIL_CLOSE);
    if (!tx || !parse_lines(f, transferred))
        return NULL;
    restore_body(f, tx, transferred);
    if (transferred->progress == HTTP_COMPLETE && tx->base.progress[FLOW_TO_CLIENT] < HTTP_COMPLETE) {
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

    transfer_bool(t, &tx->request_unseen);
    transfer_bool(t, &tx->seen_100);
    write_message(t, state, tx, FLOW_TO_SERVER);
    write_message(t, state, tx, FLOW_TO_CLIENT);
    app_transfer_tx(context, t, &tx->base);
    transfer_part_end(t, start);
}

/* Returns false if the transaction cannot be restored. */
static bool read_transaction(struct transfer *t, struct http_feed *f)
{
    struct transferred_message request = { .head = NULL }, response = { .head = NULL };
    bool request_unseen = false, seen_100 = false;
    struct http_tx *tx = NULL;

    transfer_bool(t, &request_unseen);
    transfer_bool(t, &seen_100);
    transfer_message(t, &request);
    transfer_message(t, &response);
    if (t->error || (request_unseen && f->state->next_unanswered))
        return false;
    if (!request_unseen && !(tx = read_request(f, &request)))
        return false;
    if (response.begun && (request_unseen || f->state->next_unanswered == tx))
        tx = read_response(f, &response);
    if (!tx)
        return false;
    tx->seen_100 |= seen_100;
    app_transfer_tx(f->context, t, &tx->base);
    return true;
}

/* --- Parsers -------------------------------------------------------------------------------------- */

/* Transfers the position in the current message. When reading, parser->tx has already been set by parse_lines(). */
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
    transfer_require(t, step < HTTP_STEPS &&
                            (parser->tx || step == HTTP_IDLE || step == HTTP_WAITING || step == HTTP_TUNNEL));
    transfer_require(t, parser->lines <= HTTP_HEAD_LIMIT);
    if (!t->error)
        parser->step = (enum http_step)step;
    if (t->reading && parser->step == HTTP_AT_TRAILER)
        parser->lines = 0; /* the trailers received so far were not transferred */
    if (t->reading && parser->step == HTTP_IDLE)
        parser->tx = NULL;
}

/* Returns false if the position in the stream is lost, so that the following bytes cannot be parsed. */
static bool read_part(struct http_feed *f, struct transfer *t, uint16_t kind)
{
    if (kind == PART_TRANSACTION)
        return read_transaction(t, f);
    if (kind == PART_PARSERS) {
        transfer_parser(t, &f->state->parser[FLOW_TO_SERVER]);
        transfer_parser(t, &f->state->parser[FLOW_TO_CLIENT]);
        if (f->state->parser[FLOW_TO_CLIENT].ended)
            f->state->next_unanswered = NULL;
    }
    return true;
}

void http_transfer(struct app_context *context, void *state, struct transfer *t)
{
    struct http_feed f = {
        .context = context,
        .state = state,
        .settings = app_get_settings(context),
        .parser = &((struct http_state *)state)->parser[FLOW_TO_SERVER],
        .quiet = true,
        .transferred = true,
    };
    struct transfer part;
    bool restored = true;
    uint16_t kind;

    if (!t->reading) {
        const struct app_tx *first = app_tx_first(context);

        for (struct app_tx *tx = app_tx_first(context); tx; tx = tx->next) {
            /* The list has the transactions of the flow's other readings, too. */
            if (tx->flow == first->flow && tx->proto == first->proto && app_tx_is_pending(tx) &&
                ((struct http_tx *)tx)->reading == 0)
                write_transaction(context, t, state, (struct http_tx *)tx);
        }
        size_t start = transfer_part_start(t, PART_PARSERS);

        transfer_parser(t, &f.state->parser[FLOW_TO_SERVER]);
        transfer_parser(t, &f.state->parser[FLOW_TO_CLIENT]);
        transfer_part_end(t, start);
        return;
    }
    while (restored && !t->error && transfer_next_part(t, &kind, &part)) {
        restored = read_part(&f, &part, kind);
        t->error = part.error;
    }
    if (!restored)
        app_stop_parsing(context, false);
}
