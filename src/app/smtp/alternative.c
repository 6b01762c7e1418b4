/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser instances for ambiguous client data.
 *
 * A client may send a message without waiting for the reply to DATA. If the server refuses DATA, it interprets these
 * bytes as commands, and they may contain another message. A server without CHUNKING also interprets the bytes after
 * BDAT as commands. The reply, which arrives after these bytes have been inspected, decides which interpretation is
 * correct. Therefore two parser instances, each with its own transactions, parse the bytes, one as a message and one as
 * commands; rules inspect the transactions of both. The reply ends the instance whose interpretation was wrong.
 *
 * A message ends with a line that contains only a dot. If a bare LF precedes or follows the dot, the message ends there
 * for servers that accept a bare LF as line end, and continues for servers that require CRLF. Therefore an alternative
 * instance continues the message until the server replies to the message.
 *
 * The number of instances is limited. When a client exceeds it, parsing ends with an error (app-layer.error-policy).
 */
#include <errno.h>
#include <string.h>

#include "smtp_priv.h"

/* Returns the context for feeding an alternative instance of `f`. */
static struct smtp_feed alternative_context(const struct smtp_feed *f, struct smtp_state *alternative)
{
    struct smtp_feed out = { .context = f->context, .state = alternative, .settings = f->settings };

    out.current = smtp_find_tx(&out, alternative->current);
    return out;
}

/* Creates an alternative parser instance in *out. Returns 0, -ENOMEM, or -EINVAL when there are SMTP_ALTERNATIVES_MAX,
 * or SMTP_ALTERNATIVE_DEPTH_MAX nested ones. */
static int new_alternative(struct smtp_feed *f, struct smtp_state **out)
{
    struct smtp_state *state = f->state, *alternative;
    struct heap *heap = app_heap(f->context);

    if (state->alternative_count == SMTP_ALTERNATIVES_MAX || state->depth == SMTP_ALTERNATIVE_DEPTH_MAX)
        return -EINVAL;
    alternative = heap_alloc(heap, sizeof(*alternative));
    if (!alternative)
        return -ENOMEM;
    memset(alternative, 0, sizeof(*alternative));
    alternative->depth = state->depth + 1;
    alternative->has_helo = state->has_helo;
    alternative->tx_count = state->tx_count;
    alternative->pipelining = state->pipelining;
    alternative->chunking = state->chunking;
    alternative->greeted = state->greeted;
    state->alternatives[state->alternative_count++] = alternative;
    *out = alternative;
    if (buffer_append(heap, &alternative->helo, state->helo.bytes, state->helo.length, SMTP_LINE_MAX) <
        state->helo.length)
        return -ENOMEM;
    return 0;
}

int smtp_add_alternative(struct smtp_feed *f)
{
    struct smtp_state *state = f->state, *alternative;
    struct smtp_pending_reply *pending = &state->queue[state->queue_first + state->queue_count - 1];
    int err;

    state->is_ambiguous = false;
    if (pending->command == SMTP_DATA_COMMAND) {
        state->mode = SMTP_IN_DATA;
        smtp_event(f, f->current, SMTP_INVALID_PIPELINED_SEQUENCE);
    }
    const unsigned count = state->alternative_count;

    err = new_alternative(f, &alternative);
    pending->has_alternative = state->alternative_count > count;
    return err;
}

int smtp_add_strict_alternative(struct smtp_feed *f, const struct smtp_tx *tx)
{
    struct smtp_state *state = f->state, *alternative;
    struct smtp_tx *copy;
    int err;

    err = new_alternative(f, &alternative);
    if (err)
        return err;
    alternative->strict = true;
    alternative->mode = SMTP_IN_DATA;
    alternative->after_lf = state->after_lf;
    struct smtp_feed context = alternative_context(f, alternative);

    copy = smtp_new_tx(&context);
    return copy ? smtp_copy_message(&context, copy, tx) : -ENOMEM;
}

int smtp_feed_unread(struct smtp_feed *f, const uint8_t *bytes, uint32_t length)
{
    /* Limit of the bytes in `unread`: an incomplete line, plus the bytes that the main instance consumes in one
     * step. */
    enum { UNREAD_MAX = 3 * SMTP_LINE_MAX };
    struct buffer *unread = &f->state->unread;

    for (uint32_t done = 0; done < length;) {
        uint32_t size = buffer_append(app_heap(f->context), unread, bytes + done, length - done, UNREAD_MAX);
        uint32_t used = 0, consumed;
        int err = 0;

        if (size == 0)
            return -ENOMEM;
        done += size;
        while (used < unread->length) {
            consumed = smtp_consume(f, FLOW_TO_SERVER, unread->bytes + used, unread->length - used, 0, &err);
            if (!err && consumed > 0)
                err = smtp_feed_alternatives(f, unread->bytes + used, consumed);
            if (err)
                return err;
            if (consumed == 0)
                break;
            used += consumed;
        }
        buffer_consume(unread, used);
    }
    return 0;
}

int smtp_feed_alternatives(struct smtp_feed *f, const uint8_t *bytes, uint32_t length)
{
    int err = 0;

    for (unsigned i = 0; i < f->state->alternative_count && !err; i++) {
        struct smtp_feed alternative = alternative_context(f, f->state->alternatives[i]);

        err = smtp_feed_unread(&alternative, bytes, length);
    }
    return err;
}

/* Ends an alternative parser instance, its transactions, and the instances nested in it. */
static void end_alternative(struct smtp_feed *f, struct smtp_state *alternative)
{
    struct smtp_feed ended = alternative_context(f, alternative);
    struct heap *heap = app_heap(f->context);

    smtp_end_alternatives(&ended);
    for (struct app_tx *base = app_tx_first(f->context); base; base = base->next) {
        struct smtp_tx *tx = (struct smtp_tx *)base;

        if (tx->alternative != alternative)
            continue;
        smtp_abort_message(&ended, tx);
        smtp_complete_tx(&ended, tx);
    }
    smtp_clear_state(heap, alternative);
    heap_release(heap, alternative);
}

void smtp_end_alternatives(struct smtp_feed *f)
{
    struct smtp_state *state = f->state;

    while (state->alternative_count > 0)
        end_alternative(f, state->alternatives[--state->alternative_count]);
    for (uint32_t i = 0; i < state->queue_count; i++)
        state->queue[state->queue_first + i].has_alternative = false;
}

/* Replaces the parser instance of `f`, whose interpretation was wrong, by an alternative one, and completes the
 * transactions of the replaced instance. The skip state of replies is kept, because alternative instances do not parse
 * replies. */
static void replace_by_alternative(struct smtp_feed *f, struct smtp_state *alternative)
{
    struct smtp_state *state = f->state;
    bool skip_replies = state->skip[FLOW_TO_CLIENT];

    smtp_end_alternatives(f);
    if (f->current)
        smtp_abort_message(f, f->current);
    for (uint32_t i = 0; i < state->queue_count; i++) {
        struct smtp_tx *tx = smtp_find_tx(f, state->queue[state->queue_first + i].tx);

        if (tx)
            smtp_complete_tx(f, tx);
    }
    if (f->current)
        smtp_complete_tx(f, f->current);
    for (struct app_tx *base = app_tx_first(f->context); base; base = base->next) {
        struct smtp_tx *tx = (struct smtp_tx *)base;

        if (tx->alternative == alternative) {
            tx->alternative = NULL;
            tx->tx.log_never = false;
        }
    }
    smtp_clear_state(app_heap(f->context), state);
    *state = *alternative;
    heap_release(app_heap(f->context), alternative);
    state->depth = 0;
    state->skip[FLOW_TO_CLIENT] = skip_replies;
    f->current = smtp_find_tx(f, state->current);
}

void smtp_resolve_alternative(struct smtp_feed *f, bool accepted)
{
    struct smtp_state *state = f->state, *alternative;

    if (state->alternative_count == 0)
        return;
    alternative = state->alternatives[0];
    state->alternative_count--;
    memmove(state->alternatives, state->alternatives + 1, state->alternative_count * sizeof(state->alternatives[0]));
    if (accepted)
        end_alternative(f, alternative);
    else
        replace_by_alternative(f, alternative);
}
