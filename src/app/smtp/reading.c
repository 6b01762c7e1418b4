/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser instances for ambiguous client data.
 *
 * A client may send a message without waiting for the reply to DATA. If the server refuses DATA, it interprets these
 * bytes as commands, and they may contain another message; the same applies to BDAT and a server without CHUNKING. The
 * correct interpretation is known from the reply only, after the bytes have passed. So two parser instances, each with
 * its own transactions, parse both interpretations, and rules inspect all transactions. The reply ends one instance.
 *
 * A message ends with a line that contains only a dot. Servers that accept a bare LF as line end find it earlier than
 * those that require CRLF and treat what follows as part of the message. So after such an end a separate parser
 * instance continues the message up to the server's reply to it.
 *
 * The number of instances is limited. When a client exceeds it, parsing ends with an error (app-layer.error-policy).
 */
#include <errno.h>
#include <string.h>

#include "smtp_priv.h"

static struct smtp_feed feed_of(const struct smtp_feed *f, struct smtp_state *reading)
{
    struct smtp_feed out = { .context = f->context, .state = reading, .settings = f->settings };

    out.current = smtp_find(&out, reading->current);
    return out;
}

/* Creates an alternative parser instance. 0, -ENOMEM, or -EINVAL when there are too many. */
static int new_reading(struct smtp_feed *f, struct smtp_state **out)
{
    struct smtp_state *state = f->state, *reading;
    struct heap *heap = app_heap(f->context);

    if (state->refused_count == SMTP_READINGS_MAX || state->depth == SMTP_READING_DEPTH_MAX)
        return -EINVAL;
    reading = heap_take(heap, sizeof(*reading));
    if (!reading)
        return -ENOMEM;
    memset(reading, 0, sizeof(*reading));
    reading->depth = state->depth + 1;
    reading->has_helo = state->has_helo;
    reading->begun = state->begun;
    reading->pipelining = state->pipelining;
    reading->chunking = state->chunking;
    reading->greeted = state->greeted;
    state->refused[state->refused_count++] = reading;
    *out = reading;
    if (buffer_append(heap, &reading->helo, state->helo.bytes, state->helo.length, SMTP_LINE_MAX) < state->helo.length)
        return -ENOMEM;
    return 0;
}

int smtp_add_reading(struct smtp_feed *f)
{
    struct smtp_state *state = f->state, *reading;
    struct smtp_waiting *waiting = &state->queue[state->queue_first + state->queue_count - 1];
    int err;

    state->in_doubt = false;
    if (waiting->command == SMTP_DATA_COMMAND) {
        state->mode = SMTP_IN_DATA;
        smtp_event(f, f->current, SMTP_INVALID_PIPELINED_SEQUENCE);
    }
    const unsigned count = state->refused_count;

    err = new_reading(f, &reading);
    waiting->has_reading = state->refused_count > count;
    return err;
}

int smtp_add_strict_reading(struct smtp_feed *f, const struct smtp_tx *tx)
{
    struct smtp_state *state = f->state, *reading;
    struct smtp_tx *copy;
    int err;

    err = new_reading(f, &reading);
    if (err)
        return err;
    reading->strict = true;
    reading->mode = SMTP_IN_DATA;
    reading->after_lf = state->after_lf;
    struct smtp_feed within = feed_of(f, reading);

    copy = smtp_new(&within);
    return copy ? smtp_copy_message(&within, copy, tx) : -ENOMEM;
}

int smtp_feed_unread(struct smtp_feed *f, const uint8_t *bytes, uint32_t length)
{
    enum {
        UNREAD_MAX = 3 * SMTP_LINE_MAX
    }; /* an incomplete line, plus the bytes consumed by the main instance in one step */
    struct buffer *unread = &f->state->unread;

    for (uint32_t done = 0; done < length;) {
        uint32_t size = buffer_append(app_heap(f->context), unread, bytes + done, length - done, UNREAD_MAX);
        uint32_t used = 0, taken;
        int err = 0;

        if (size == 0)
            return -ENOMEM;
        done += size;
        while (used < unread->length) {
            taken = smtp_take(f, FLOW_TO_SERVER, unread->bytes + used, unread->length - used, 0, &err);
            if (!err && taken > 0)
                err = smtp_feed_readings(f, unread->bytes + used, taken);
            if (err)
                return err;
            if (taken == 0)
                break;
            used += taken;
        }
        buffer_consume(unread, used);
    }
    return 0;
}

int smtp_feed_readings(struct smtp_feed *f, const uint8_t *bytes, uint32_t length)
{
    int err = 0;

    for (unsigned i = 0; i < f->state->refused_count && !err; i++) {
        struct smtp_feed reading = feed_of(f, f->state->refused[i]);

        err = smtp_feed_unread(&reading, bytes, length);
    }
    return err;
}

/* Ends an alternative parser instance, its transactions, and the instances nested in it. */
static void end_reading(struct smtp_feed *f, struct smtp_state *reading)
{
    struct smtp_feed ended = feed_of(f, reading);
    struct heap *heap = app_heap(f->context);

    smtp_end_readings(&ended);
    for (struct app_tx *base = app_tx_first(f->context); base; base = base->next) {
        struct smtp_tx *tx = (struct smtp_tx *)base;

        if (tx->reading != reading)
            continue;
        smtp_break_message(&ended, tx);
        smtp_complete(&ended, tx);
    }
    smtp_clear_state(heap, reading);
    heap_give(heap, reading);
}

void smtp_end_readings(struct smtp_feed *f)
{
    struct smtp_state *state = f->state;

    while (state->refused_count > 0)
        end_reading(f, state->refused[--state->refused_count]);
    for (uint32_t i = 0; i < state->queue_count; i++)
        state->queue[state->queue_first + i].has_reading = false;
}

/* Replaces the main parser instance: the server refused the command, so the following bytes were commands. The skip
 * state of replies is kept, because only the main instance parses replies. */
static void replace_reading(struct smtp_feed *f, struct smtp_state *reading)
{
    struct smtp_state *state = f->state;
    bool skip_replies = state->skip[FLOW_TO_CLIENT];

    smtp_end_readings(f);
    if (f->current)
        smtp_break_message(f, f->current);
    for (uint32_t i = 0; i < state->queue_count; i++) {
        struct smtp_tx *tx = smtp_find(f, state->queue[state->queue_first + i].tx);

        if (tx)
            smtp_complete(f, tx);
    }
    if (f->current)
        smtp_complete(f, f->current);
    for (struct app_tx *base = app_tx_first(f->context); base; base = base->next) {
        struct smtp_tx *tx = (struct smtp_tx *)base;

        if (tx->reading == reading) {
            tx->reading = NULL;
            tx->tx.log_never = false;
        }
    }
    smtp_clear_state(app_heap(f->context), state);
    *state = *reading;
    heap_give(app_heap(f->context), reading);
    state->depth = 0;
    state->skip[FLOW_TO_CLIENT] = skip_replies;
    f->current = smtp_find(f, state->current);
}

void smtp_resolve_reading(struct smtp_feed *f, bool accepted)
{
    struct smtp_state *state = f->state, *reading;

    if (state->refused_count == 0)
        return;
    reading = state->refused[0];
    state->refused_count--;
    memmove(state->refused, state->refused + 1, state->refused_count * sizeof(state->refused[0]));
    if (accepted)
        end_reading(f, reading);
    else
        replace_reading(f, reading);
}
