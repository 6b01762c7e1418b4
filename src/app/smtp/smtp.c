/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMTP (RFC 5321): commands and replies in lines, pipelined or not, and messages after DATA or in chunks (BDAT, RFC
 * 3030). A transaction is one message with its envelope, up to the server's reply to it; what was abandoned (RSET, or
 * EHLO anew) is one, too.
 *
 * Commands wait in a queue for their replies, which come in the same order. A client that knows the server to take
 * pipelined commands may send the message at once; otherwise it begins with the reply to DATA, so that whatever follows
 * a refused DATA is a command again.
 *
 * The state knows transactions by their numbers: they may be gone at the next call.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "smtp_priv.h"

/* --- Transactions --------------------------------------------------------------------------------- */

struct smtp_tx *smtp_find(const struct smtp_feed *f, uint64_t number)
{
    struct app_tx *tx;

    if (number == 0)
        return NULL;
    if (f->current && f->current->tx.id + 1 == number)
        return f->current;
    for (tx = app_tx_first(f->context); tx && tx->id + 1 <= number; tx = tx->next)
        if (tx->id + 1 == number)
            return (struct smtp_tx *)tx;
    return NULL;
}

struct smtp_tx *smtp_new(struct smtp_feed *f)
{
    struct smtp_tx *tx = (struct smtp_tx *)app_tx_new(f->context);
    const struct buffer *helo = &f->state->helo;

    if (!tx)
        return NULL;
    tx->has_helo = f->state->has_helo;
    tx->reading = f->state->depth > 0 ? f->state : NULL;
    tx->tx.log_never = tx->reading != NULL; /* unless this reading turns out to be the server's */
    if (buffer_append(app_heap(f->context), &tx->helo, helo->bytes, helo->length, SMTP_LINE_MAX) < helo->length)
        tx->has_helo = false;
    f->current = tx;
    f->state->current = tx->tx.id + 1;
    f->state->begun++;
    return tx;
}

void smtp_complete(struct smtp_feed *f, struct smtp_tx *tx)
{
    tx->request_over = true;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, SMTP_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, SMTP_REPLIES_COMPLETE);
    if (tx != f->current)
        return;
    f->current = NULL;
    f->state->current = 0;
    f->state->mode = SMTP_COMMANDS;
}

void smtp_event(const struct smtp_feed *f, struct smtp_tx *tx, enum smtp_event event)
{
    if (tx)
        app_event(f->context, &tx->tx, event);
}

static void free_tx(struct app_context *context, struct app_tx *base)
{
    struct smtp_tx *tx = (struct smtp_tx *)base;
    struct heap *heap = app_heap(context);

    buffer_clear(heap, &tx->helo);
    buffer_clear(heap, &tx->other_helos);
    buffer_clear(heap, &tx->other_senders);
    buffer_clear(heap, &tx->mail_from);
    buffer_clear(heap, &tx->recipient_text);
    heap_give(heap, tx->recipients);
    if (tx->mime)
        mime_clear(heap, tx->mime);
    heap_give(heap, tx->mime);
}

void smtp_clear_state(struct heap *heap, struct smtp_state *state)
{
    for (unsigned i = 0; i < state->refused_count; i++) {
        smtp_clear_state(heap, state->refused[i]);
        heap_give(heap, state->refused[i]);
    }
    state->refused_count = 0;
    buffer_clear(heap, &state->unread);
    buffer_clear(heap, &state->helo);
    buffer_clear(heap, &state->partial);
    heap_give(heap, state->queue);
    state->queue = NULL;
}

static void stop(struct app_context *context, void *data)
{
    smtp_clear_state(app_heap(context), data);
}

/* --- Lines ---------------------------------------------------------------------------------------- */

/* The rest of a line that was cut, or began in a gap; how many bytes were skipped. */
static uint32_t skip_rest(bool *skip, const uint8_t *bytes, uint32_t length)
{
    const uint8_t *end = memchr(bytes, '\n', length);

    *skip = !end;
    return end ? (uint32_t)(end + 1 - bytes) : length;
}

/* A line of commands or replies; how many bytes were taken, 0: it has no end yet. */
static uint32_t take_line(struct smtp_feed *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                          uint32_t seen, int *err)
{
    bool to_server = direction == FLOW_TO_SERVER;
    const uint8_t *end = length > seen ? memchr(bytes + seen, '\n', length - seen) : NULL;
    uint32_t size = end ? (uint32_t)(end - bytes) : length, taken = size + 1;
    bool cut = size >= SMTP_LINE_MAX;

    if (!end && !cut)
        return 0;
    if (cut) {
        taken = size = SMTP_LINE_MAX;
        f->state->skip[direction] = true;
    }
    uint32_t line = size - (size > 0 && bytes[size - 1] == '\r');

    if (to_server)
        *err = smtp_take_command(f, bytes, line);
    else if (!cut || smtp_is_reply(bytes, line))
        *err = smtp_take_reply(f, bytes, line, taken - line);
    if (cut) {
        smtp_event(f, f->current, SMTP_TRUNCATED_LINE);
        smtp_event(f, f->current, to_server ? SMTP_COMMAND_LINE_TOO_LONG : SMTP_REPLY_LINE_TOO_LONG);
    }
    return taken;
}

uint32_t smtp_take(struct smtp_feed *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                   uint32_t seen, int *err)
{
    struct smtp_state *state = f->state;

    if (state->skip[direction])
        return skip_rest(&state->skip[direction], bytes, length);
    if (direction == FLOW_TO_SERVER && state->in_doubt && (*err = smtp_add_reading(f)))
        return 0;
    if (direction == FLOW_TO_SERVER && state->mode == SMTP_IN_DATA)
        return smtp_take_data(f, bytes, length, seen, err);
    if (direction == FLOW_TO_SERVER && state->mode == SMTP_IN_CHUNK)
        return smtp_take_chunk(f, bytes, length, err);
    return take_line(f, direction, bytes, length, seen, err);
}

/* --- Gaps ----------------------------------------------------------------------------------------- */

/* In a chunk, whose end is known. True: nothing else is lost. */
static bool skip_in_chunk(struct smtp_feed *f, uint64_t gap)
{
    struct smtp_state *state = f->state;
    bool within = gap <= state->chunk_left;

    state->chunk_left -= within ? gap : state->chunk_left;
    state->cut[FLOW_TO_SERVER] = true;
    if (state->chunk_left == 0)
        smtp_end_chunk(f);
    state->after_chunk = false;
    return within;
}

static void take_gap(struct smtp_feed *f, const struct app_input *in)
{
    struct smtp_state *state = f->state;

    if (in->direction == FLOW_TO_CLIENT) {
        smtp_forget_replies(f);
        state->skip[FLOW_TO_CLIENT] = true;
        return;
    }
    if (state->mode != SMTP_COMMANDS)
        smtp_message_gap(f, in->gap);
    if (state->mode == SMTP_IN_CHUNK && skip_in_chunk(f, in->gap))
        return;
    state->skip[FLOW_TO_SERVER] = true;
    state->cut[FLOW_TO_SERVER] = false;
    if (state->mode == SMTP_COMMANDS)
        smtp_forget_replies(f);
}

/* --- Feeding -------------------------------------------------------------------------------------- */

/* TLS was announced, and did not come. */
static void come_back(struct smtp_feed *f)
{
    f->state->changing = false;
    if (!f->current)
        smtp_new(f);
    smtp_event(f, f->current, SMTP_FAILED_CHANGE);
}

static struct app_result smtp_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct smtp_feed f = { .context = context, .state = data, .settings = app_settings(context) };
    struct app_result result = { .status = APP_OK };
    uint32_t seen = in->seen, size;
    int err = 0;

    f.current = smtp_find(&f, f.state->current);
    if (f.state->changing)
        come_back(&f);
    if (in->gap) {
        smtp_end_readings(&f);
        take_gap(&f, in);
    }
    if (in->direction == FLOW_TO_SERVER && f.state->unread.length > 0 && in->length > 0) {
        /* A reading took the place of another one, which had used these bytes. */
        result.consumed = in->length;
        if (smtp_feed_unread(&f, in->bytes, in->length))
            result.status = APP_ERROR;
    }
    while (result.consumed < in->length && !f.state->changing) {
        size = smtp_take(&f, in->direction, in->bytes + result.consumed, in->length - result.consumed, seen, &err);
        if (!err && in->direction == FLOW_TO_SERVER && size > 0)
            err = smtp_feed_readings(&f, in->bytes + result.consumed, size);
        if (err)
            return (struct app_result){ .status = APP_ERROR };
        if (size == 0)
            break;
        result.consumed += size;
        seen = 0;
    }
    if (in->end && in->direction == FLOW_TO_SERVER && f.current)
        smtp_break_message(&f, f.current);
    return result;
}

/* --- Finding it ----------------------------------------------------------------------------------- */

enum { PROBE_MAX = 512, FTP_PORT = 21 };

static bool has_smtp(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i + 4 <= length; i++)
        if (mime_equal_nocase(bytes + i, 4, "smtp"))
            return true;
    return false;
}

static const struct app_pattern patterns[] = {
    { .bytes = "EHLO", .length = 4, .nocase = true, .direction = FLOW_TO_SERVER },
    { .bytes = "HELO", .length = 4, .nocase = true, .direction = FLOW_TO_SERVER },
    { .bytes = "QUIT", .length = 4, .nocase = true, .direction = FLOW_TO_SERVER },
};

/* Less than a pattern is there. */
static enum app_guess probe_client(const struct app_probe *in)
{
    for (unsigned i = 0; in->length < 4 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
        if (strncasecmp((const char *)in->bytes, patterns[i].bytes, in->length) == 0)
            return APP_UNSURE;
    return APP_NO;
}

/* The server's greeting, which says what it is unless its port does. */
static enum app_guess probe_server(const struct app_probe *in)
{
    const uint8_t *end = memchr(in->bytes, '\n', in->length);

    if (memcmp(in->bytes, "220", in->length < 3 ? in->length : 3) != 0)
        return APP_NO;
    if (in->length < 5)
        return APP_UNSURE;
    if ((in->bytes[3] != ' ' && in->bytes[3] != '-') || in->server_port == FTP_PORT)
        return APP_NO;
    if (in->port_hint)
        return APP_YES;
    if (!end)
        return in->length < PROBE_MAX ? APP_UNSURE : APP_NO;
    return has_smtp(in->bytes, (size_t)(end - in->bytes)) ? APP_YES : APP_NO;
}

static enum app_guess probe(const struct app_probe *in)
{
    if (in->length == 0)
        return APP_UNSURE;
    return in->direction == FLOW_TO_SERVER ? probe_client(in) : probe_server(in);
}

/* --- Names ---------------------------------------------------------------------------------------- */

/* Capital letters are EVE's; rules may have them either way. */
static const struct app_event events[SMTP_EVENTS] = {
    [SMTP_INVALID_REPLY] = { "INVALID_REPLY", "a reply without a code that there is, or another greeting than 220" },
    [SMTP_UNABLE_TO_MATCH_REPLY] = { "UNABLE_TO_MATCH_REPLY_WITH_REQUEST", "kept for rules, and never set" },
    [SMTP_COMMAND_LINE_TOO_LONG] = { "MAX_COMMAND_LINE_LEN_EXCEEDED", "a command of 4096 bytes or more" },
    [SMTP_REPLY_LINE_TOO_LONG] = { "MAX_REPLY_LINE_LEN_EXCEEDED", "a line of a reply of 4096 bytes or more" },
    [SMTP_INVALID_PIPELINED_SEQUENCE] = { "INVALID_PIPELINED_SEQUENCE",
                                          "something follows DATA or STARTTLS before the server has answered" },
    [SMTP_BDAT_CHUNK_TOO_LONG] = { "BDAT_CHUNK_LEN_EXCEEDED", "what follows a chunk of BDAT is no command" },
    [SMTP_NO_WELCOME] = { "NO_SERVER_WELCOME_MESSAGE", "a command before the server has greeted" },
    [SMTP_TLS_REJECTED] = { "TLS_REJECTED", "the server refuses STARTTLS" },
    [SMTP_DATA_REJECTED] = { "DATA_COMMAND_REJECTED", "the server refuses DATA" },
    [SMTP_FAILED_CHANGE] = { "FAILED_PROTOCOL_CHANGE", "no TLS follows STARTTLS" },
    [SMTP_MIME_PARSE_FAILED] = { "MIME_PARSE_FAILED",
                                 "a message has more headers or files than the limits, or there is no memory" },
    [SMTP_MIME_MALFORMED] = { "MIME_MALFORMED_MSG", "a message has parts within parts, deeper than the limit" },
    [SMTP_MIME_INVALID_BASE64] = { "MIME_INVALID_BASE64", "a file's base64 has other bytes" },
    [SMTP_MIME_INVALID_QUOTED] = { "MIME_INVALID_QP", "a file's quoted-printable has a broken escape" },
    [SMTP_MIME_LONG_LINE] = { "MIME_LONG_LINE", "a line of a message is longer than 998 bytes" },
    [SMTP_MIME_LONG_ENCODED_LINE] = { "MIME_LONG_ENC_LINE", "a line of encoded content is longer than 76 bytes" },
    [SMTP_MIME_LONG_HEADER_NAME] = { "MIME_LONG_HEADER_NAME", "a header's name is longer than 75 bytes" },
    [SMTP_MIME_LONG_HEADER_VALUE] = { "MIME_LONG_HEADER_VALUE", "a header's value is longer than header-value-depth" },
    [SMTP_MIME_LONG_BOUNDARY] = { "MIME_LONG_BOUNDARY", "a boundary is longer than 254 bytes" },
    [SMTP_MIME_LONG_FILE_NAME] = { "MIME_LONG_FILENAME", "a file's name is longer than 255 bytes, and cut" },
    [SMTP_DUPLICATE_FIELDS] = { "DUPLICATE_FIELDS", "a second HELO of a session, or MAIL FROM of a transaction" },
    [SMTP_UNPARSABLE_CONTENT] = { "UNPARSABLE_CONTENT",
                                  "a second message begins, and the first one's end was not seen" },
    [SMTP_TRUNCATED_LINE] = { "TRUNCATED_LINE", "a line of a command or reply is cut at 4096 bytes" },
    [SMTP_INVALID_BDAT] = { "INVALID_BDAT", "BDAT without a length, or with more than LAST behind it" },
};

static const char *const request_steps[] = { "request_started", "request_data", "request_headers", "request_complete",
                                             NULL };
static const char *const response_steps[] = { "response_started", "response_data", "response_complete", NULL };

const struct app_proto app_smtp = {
    .name = "smtp",
    .help = "SMTP, with the messages that it carries",
    .transports = APP_TCP,
    .tcp_ports = "25,587,2525",
    .survives_junk = true,
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = probe,
    .probe_any_port = true,
    .state_size = sizeof(struct smtp_state),
    .stop = stop,
    .feed = smtp_feed,
    .transfer = smtp_transfer,
    .accepts_gaps = true,
    .tx_size = sizeof(struct smtp_tx),
    .tx_free = free_tx,
    .complete = { SMTP_COMPLETE, SMTP_REPLIES_COMPLETE },
    .tx_max = SMTP_TX_MAX,
    .steps = { request_steps, response_steps },
    .events = events,
    .event_count = SMTP_EVENTS,
    .buffers = smtp_buffers,
    .buffer_count = SMTP_BUFFERS,
    .log_type = "smtp",
    .log_key = "smtp",
    .log = smtp_log,
    .log_more = smtp_log_email,
    .settings = smtp_setting_rows,
    .configure = smtp_configure,
    .unconfigure = smtp_unconfigure,
};
