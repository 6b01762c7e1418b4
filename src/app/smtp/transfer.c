/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State transfer of SMTP flows: the session, the queue of pending replies, and the envelopes of incomplete
 * transactions. For incomplete messages see transfer_mime.c.
 */
#include "sluice/transfer.h"

#include <errno.h>
#include <string.h>

#include "smtp_priv.h"

enum { PENDING_SIZE = 9, TEXT_SIZE = 8 }; /* bytes in the transferred state */

/* --- Session -------------------------------------------------------------------------------------- */

static void transfer_queue(struct app_context *context, struct transfer *t, struct smtp_state *state)
{
    uint32_t count = state->queue_count;
    bool is_ambiguous = state->is_ambiguous;

    transfer_bool(t, &is_ambiguous);
    transfer_u32(t, &count);
    transfer_require(t, count <= SMTP_QUEUE_MAX && transfer_has_room(t, count, PENDING_SIZE));
    if (t->error)
        return;
    if (t->reading && count > 0) {
        state->queue = heap_alloc(app_heap(context), count * sizeof(*state->queue));
        if (!state->queue) {
            t->error = -ENOMEM;
            return;
        }
        state->queue_room = state->queue_count = count;
    }
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct smtp_pending_reply *pending = &state->queue[state->queue_first + i];
        uint8_t command = (uint8_t)pending->command;

        transfer_u8(t, &command);
        transfer_u64(t, &pending->tx);
        transfer_require(t, command <= SMTP_QUIT);
        pending->command = (enum smtp_command)command;
        state->data_pending += t->reading && state->queue[i].command == SMTP_DATA_COMMAND;
    }
    /* Alternative instances are not transferred: a new one begins if the reply to DATA is still pending. */
    if (t->reading && !t->error && count > 0)
        state->is_ambiguous =
            is_ambiguous || (state->mode == SMTP_COMMANDS && state->queue[count - 1].command == SMTP_DATA_COMMAND);
}

static void transfer_session(struct app_context *context, struct transfer *t, struct smtp_state *state)
{
    uint8_t mode = (uint8_t)state->mode;

    app_transfer_buffer(context, t, &state->helo);
    transfer_bool(t, &state->has_helo);
    transfer_u64(t, &state->current);
    transfer_u64(t, &state->tx_count);
    transfer_u8(t, &mode);
    transfer_bool(t, &state->pipelining);
    transfer_bool(t, &state->chunking);
    transfer_bool(t, &state->greeted);
    transfer_bool(t, &state->replies_lost);
    transfer_bool(t, &state->in_auth);
    transfer_bool(t, &state->after_chunk);
    transfer_bool(t, &state->awaits_tls);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_bool(t, &state->skip[direction]);
        transfer_bool(t, &state->mid_line[direction]);
    }
    transfer_u64(t, &state->chunk_left);
    transfer_bool(t, &state->chunk_is_last);
    app_transfer_buffer(context, t, &state->partial);
    transfer_bool(t, &state->partial_begins);
    transfer_require(t, mode <= SMTP_IN_CHUNK && state->helo.length <= SMTP_LINE_MAX &&
                            state->partial.length < MIME_PIECE_MAX);
    state->mode = (enum smtp_mode)mode;
    if (!t->error)
        transfer_queue(context, t, state);
}

/* --- Transactions --------------------------------------------------------------------------------- */

static void transfer_recipients(struct app_context *context, struct transfer *t, struct smtp_tx *tx)
{
    uint32_t count = tx->recipient_count;

    app_transfer_buffer(context, t, &tx->recipient_text);
    transfer_u32(t, &count);
    transfer_require(t, count <= SMTP_RECIPIENTS_MAX && transfer_has_room(t, count, TEXT_SIZE));
    if (t->error)
        return;
    if (t->reading && count > 0) {
        tx->recipients = heap_alloc(app_heap(context), count * sizeof(*tx->recipients));
        if (!tx->recipients) {
            t->error = -ENOMEM;
            return;
        }
        tx->recipient_room = tx->recipient_count = count;
    }
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct smtp_text *text = &tx->recipients[i];

        transfer_u32(t, &text->at);
        transfer_u32(t, &text->length);
        transfer_require(t,
                         text->at <= tx->recipient_text.length && text->length <= tx->recipient_text.length - text->at);
    }
    if (t->error && t->reading)
        tx->recipient_count = 0;
}

static void transfer_tx(struct smtp_feed *f, struct transfer *t, struct smtp_tx *tx)
{
    uint8_t progress[FLOW_DIRECTIONS] = { tx->tx.progress[0], tx->tx.progress[1] };
    bool has_message = tx->has_data && !tx->request_complete && (tx->raw || tx->mime); /* an incomplete message */

    transfer_u64(t, &tx->tx.id);
    transfer_bool(t, &has_message);
    app_transfer_buffer(f->context, t, &tx->helo);
    app_transfer_buffer(f->context, t, &tx->other_helos);
    app_transfer_buffer(f->context, t, &tx->other_senders);
    app_transfer_buffer(f->context, t, &tx->mail_from);
    transfer_bool(t, &tx->has_helo);
    transfer_bool(t, &tx->has_mail_from);
    transfer_bool(t, &tx->has_data);
    transfer_bool(t, &tx->request_complete);
    transfer_recipients(f->context, t, tx);
    transfer_u8(t, &progress[FLOW_TO_SERVER]);
    transfer_u8(t, &progress[FLOW_TO_CLIENT]);
    transfer_require(t, progress[FLOW_TO_SERVER] <= SMTP_COMPLETE && progress[FLOW_TO_CLIENT] <= SMTP_REPLIES_COMPLETE);
    if (has_message && !t->error)
        smtp_transfer_message(f, t, tx);
    if (t->error)
        return;
    if (t->reading) {
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            if (tx->tx.progress[direction] < progress[direction])
                app_tx_advance(&tx->tx, direction, progress[direction]);
        }
    }
    app_transfer_tx(f->context, t, &tx->tx);
}

void smtp_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct smtp_feed f = { .context = context, .state = data, .settings = app_get_settings(context) };
    struct smtp_state *state = data;
    uint32_t count;

    transfer_session(context, t, state);
    if (t->error)
        return;
    count = t->reading ? 0 : app_tx_open_count(context);
    transfer_u32(t, &count);
    if (!t->reading) {
        for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx))
            transfer_tx(&f, t, (struct smtp_tx *)tx);
        return;
    }
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct smtp_tx *tx = (struct smtp_tx *)app_tx_new(context);

        if (!tx)
            return;
        transfer_tx(&f, t, tx);
    }
}
