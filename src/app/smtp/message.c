/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Message data. After DATA the message consists of lines and ends with a line that contains only a dot; a leading dot
 * of other lines is removed (dot-stuffing). With BDAT it consists of chunks of known length, which may end within a
 * line: an incomplete line at the end of a chunk is stored until the next chunk.
 *
 * A line longer than MIME_PIECE_MAX is passed to the MIME parser in pieces of that size.
 */
#include <errno.h>
#include <string.h>

#include "smtp_priv.h"

static uint32_t next_file_id(void *user)
{
    return app_next_file_id(user);
}

static struct mime_target message_target(const struct smtp_feed *f, struct smtp_tx *tx)
{
    return (struct mime_target){
        .heap = app_heap(f->context),
        .files = app_files(f->context),
        .list = &tx->tx.files[FLOW_TO_SERVER],
        .next_id = next_file_id,
        .user = f->context,
    };
}

/* Reports new results of the MIME parser: anomalies as events, new content and complete headers to the framework. */
static void report_results(struct smtp_feed *f, struct smtp_tx *tx, const struct mime_target *target)
{
    static const struct {
        enum mime_anomaly anomaly;
        enum smtp_event event;
    } events[] = {
        { MIME_PARSE_FAILED, SMTP_MIME_PARSE_FAILED },
        { MIME_MALFORMED, SMTP_MIME_MALFORMED },
        { MIME_INVALID_BASE64, SMTP_MIME_INVALID_BASE64 },
        { MIME_INVALID_QUOTED, SMTP_MIME_INVALID_QUOTED },
        { MIME_LONG_LINE, SMTP_MIME_LONG_LINE },
        { MIME_LONG_ENCODED_LINE, SMTP_MIME_LONG_ENCODED_LINE },
        { MIME_LONG_HEADER_NAME, SMTP_MIME_LONG_HEADER_NAME },
        { MIME_LONG_HEADER_VALUE, SMTP_MIME_LONG_HEADER_VALUE },
        { MIME_LONG_BOUNDARY, SMTP_MIME_LONG_BOUNDARY },
        { MIME_LONG_FILE_NAME, SMTP_MIME_LONG_FILE_NAME },
    };
    unsigned new_anomalies = tx->mime->anomalies & ~tx->reported_anomalies;

    for (unsigned i = 0; new_anomalies && i < sizeof(events) / sizeof(events[0]); i++)
        if (new_anomalies & events[i].anomaly)
            app_event(f->context, &tx->tx, events[i].event);
    tx->reported_anomalies = tx->mime->anomalies;
    if (target->grown || tx->mime->urls.count > tx->reported_urls)
        app_tx_mark_changed(&tx->tx, FLOW_TO_SERVER);
    tx->reported_urls = tx->mime->urls.count;
    if (tx->mime->main_complete && tx->tx.progress[FLOW_TO_SERVER] < SMTP_HEADERS)
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, SMTP_HEADERS);
}

int smtp_start_message(struct smtp_feed *f, struct smtp_tx *tx)
{
    tx->has_data = true;
    if (tx->tx.progress[FLOW_TO_SERVER] < SMTP_DATA)
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, SMTP_DATA);
    if (f->settings->raw && !tx->raw) {
        tx->raw =
            file_open(app_files(f->context), &tx->tx.files[FLOW_TO_SERVER], app_next_file_id(f->context), "rawmsg", 6);
        app_tx_mark_changed(&tx->tx, FLOW_TO_SERVER);
    } else if (f->settings->decode && !tx->mime) {
        tx->mime = heap_alloc(app_heap(f->context), sizeof(*tx->mime));
        if (!tx->mime)
            return -ENOMEM;
        bool needs_md5 = f->settings->body_md5 == SMTP_MD5_AUTO
                             ? f->settings->log_body_md5 || app_get_needs(f->context) & RULE_MESSAGE_MD5
                             : f->settings->body_md5 == SMTP_MD5_ALWAYS;

        mime_init(tx->mime, &f->settings->mime, needs_md5);
    }
    return 0;
}

int smtp_copy_message(struct smtp_feed *f, struct smtp_tx *tx, const struct smtp_tx *other)
{
    int err = smtp_start_message(f, tx);

    if (err || !tx->mime || !other->mime)
        return err;
    struct mime_target target = message_target(f, tx);

    return mime_continue(tx->mime, &target, other->mime) ? 0 : -ENOMEM;
}

void smtp_drop_message(struct smtp_feed *f, struct smtp_tx *tx)
{
    smtp_abort_message(f, tx);
    if (f->state->mode == SMTP_IN_DATA)
        f->state->mode = SMTP_COMMANDS;
    f->state->mid_line[FLOW_TO_SERVER] = false;
    if (!tx->mime || tx->mime->main.count > 0 || tx->mime->main_complete)
        return;
    mime_clear(app_heap(f->context), tx->mime);
    heap_release(app_heap(f->context), tx->mime);
    tx->mime = NULL;
}

static void end_message(struct smtp_feed *f, struct smtp_tx *tx, bool complete)
{
    struct mime_target target = message_target(f, tx);

    if (tx->raw) {
        file_close(app_files(f->context), tx->raw, complete ? FILE_CLOSED : FILE_TRUNCATED);
        tx->raw = NULL;
        app_tx_mark_changed(&tx->tx, FLOW_TO_SERVER);
    }
    if (!tx->mime)
        return;
    mime_end(tx->mime, &target, complete);
    report_results(f, tx, &target);
}

void smtp_abort_message(struct smtp_feed *f, struct smtp_tx *tx)
{
    bool has_headers = tx->mime && (tx->mime->main.count > 0 || tx->mime->main_complete);

    if (tx->raw || has_headers)
        end_message(f, tx, false);
}

static void complete_message(struct smtp_feed *f, struct smtp_tx *tx)
{
    end_message(f, tx, true);
    tx->request_complete = true;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, SMTP_COMPLETE);
}

static void parse_line(struct smtp_feed *f, struct smtp_tx *tx, const struct mime_line *line)
{
    struct mime_target target = message_target(f, tx);

    if (tx->raw) {
        file_append(app_files(f->context), tx->raw, line->bytes, line->length + line->end_length);
        app_tx_mark_changed(&tx->tx, FLOW_TO_SERVER);
    }
    if (!tx->mime)
        return;
    mime_line(tx->mime, &target, line);
    report_results(f, tx, &target);
}

uint32_t mime_next_piece(const uint8_t *bytes, uint32_t length, uint32_t seen, struct mime_line *out)
{
    const uint8_t *end = length > seen ? memchr(bytes + seen, '\n', length - seen) : NULL;
    uint32_t size = end ? (uint32_t)(end - bytes) : length;

    out->bytes = bytes;
    out->end_length = 0;
    if (size >= MIME_PIECE_MAX) {
        out->length = MIME_PIECE_MAX - (bytes[MIME_PIECE_MAX - 1] == '\r');
        return out->length;
    }
    if (!end)
        return 0;
    out->length = size - (size > 0 && bytes[size - 1] == '\r');
    out->end_length = (uint8_t)(size + 1 - out->length);
    return size + 1;
}

/* --- DATA ----------------------------------------------------------------------------------------- */

uint32_t smtp_consume_data(struct smtp_feed *f, const uint8_t *bytes, uint32_t length, uint32_t seen, int *err)
{
    struct smtp_tx *tx = f->current;
    bool *mid_line = &f->state->mid_line[FLOW_TO_SERVER];
    struct mime_line line = { .begins = !*mid_line };
    uint32_t size = mime_next_piece(bytes, length, seen, &line);

    if (size == 0)
        return 0;
    /* Servers differ in whether a bare LF ends a line, and with it a message: both interpretations are inspected. */
    const bool after_lf = f->state->after_lf, ambiguous = line.end_length == 1 || after_lf;

    *mid_line = line.end_length == 0;
    f->state->after_lf = line.end_length == 1;
    if (line.begins && line.length == 1 && line.bytes[0] == '.' && line.end_length > 0 &&
        !(ambiguous && f->state->strict)) {
        bool adds_alternative = ambiguous && tx;

        f->state->after_lf = after_lf;
        if (adds_alternative && (*err = smtp_add_strict_alternative(f, tx)))
            return 0;
        f->state->after_lf = false;
        f->state->mode = SMTP_COMMANDS;
        *err = smtp_queue_command(f, SMTP_MESSAGE, tx);
        if (!*err && adds_alternative)
            f->state->queue[f->state->queue_first + f->state->queue_count - 1].has_alternative = true;
        if (tx)
            complete_message(f, tx);
        return size;
    }
    if (!tx)
        return size;
    if (line.begins && line.length > 0 && line.bytes[0] == '.' && !(after_lf && f->state->strict)) {
        line.bytes++;
        line.length--;
    }
    parse_line(f, tx, &line);
    return size;
}

/* --- BDAT ----------------------------------------------------------------------------------------- */

/* Parses the stored bytes; `all`: including an incomplete line. */
static void flush_partial(struct smtp_feed *f, struct smtp_tx *tx, bool all)
{
    struct buffer *partial = &f->state->partial;

    while (partial->length > 0) {
        struct mime_line line = { .begins = !f->state->mid_line[FLOW_TO_SERVER] };
        uint32_t size = mime_next_piece(partial->bytes, partial->length, 0, &line);

        if (size == 0 && !all)
            return;
        if (size == 0)
            line.length = size = partial->length;
        f->state->mid_line[FLOW_TO_SERVER] = line.end_length == 0;
        parse_line(f, tx, &line);
        buffer_consume(partial, size);
    }
}

void smtp_end_chunk(struct smtp_feed *f)
{
    struct smtp_tx *tx = f->current;

    f->state->mode = SMTP_COMMANDS;
    f->state->after_chunk = true;
    if (!f->state->chunk_is_last)
        return;
    if (tx) {
        flush_partial(f, tx, true);
        complete_message(f, tx);
    }
    buffer_clear(app_heap(f->context), &f->state->partial);
    f->state->mid_line[FLOW_TO_SERVER] = false;
}

uint32_t smtp_consume_chunk(struct smtp_feed *f, const uint8_t *bytes, uint32_t length, int *err)
{
    struct smtp_state *state = f->state;
    struct smtp_tx *tx = f->current;
    uint32_t size = length < state->chunk_left ? length : (uint32_t)state->chunk_left, done;

    if (tx) {
        struct mime_line line = { .begins = !state->mid_line[FLOW_TO_SERVER] };

        /* A complete line is parsed without being copied to `partial`. */
        done = state->partial.length == 0 ? mime_next_piece(bytes, size, 0, &line) : 0;
        if (done > 0) {
            state->mid_line[FLOW_TO_SERVER] = line.end_length == 0;
            parse_line(f, tx, &line);
        } else {
            const uint8_t *end = memchr(bytes, '\n', size);
            uint32_t room = 2 * MIME_PIECE_MAX - state->partial.length;

            done = end ? (uint32_t)(end - bytes) + 1 : size;
            done = done < room ? done : room;
            if (buffer_append(app_heap(f->context), &state->partial, bytes, done, 2 * MIME_PIECE_MAX) < done)
                *err = -ENOMEM;
            flush_partial(f, tx, false);
        }
        size = done;
    }
    state->chunk_left -= size;
    if (state->chunk_left == 0)
        smtp_end_chunk(f);
    return size;
}

/* --- Gaps ----------------------------------------------------------------------------------------- */

void smtp_message_gap(struct smtp_feed *f, uint64_t length)
{
    struct smtp_tx *tx = f->current;

    f->state->partial.length = 0;
    if (!tx)
        return;
    struct mime_target target = message_target(f, tx);

    if (tx->raw)
        file_gap(app_files(f->context), tx->raw, length);
    if (!tx->mime)
        return;
    mime_gap(tx->mime, &target, length);
    report_results(f, tx, &target);
}
