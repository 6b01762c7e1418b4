/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMTP (RFC 5321): commands and replies, with or without pipelining, and messages after DATA or in chunks (BDAT, RFC
 * 3030). A transaction is one message with its envelope, up to the server's reply to the message. RSET or a further
 * EHLO ends an unfinished transaction.
 *
 * Commands are queued until their replies arrive, in the same order. A message starts with the reply to DATA, because
 * the bytes after a refused DATA are commands. For bytes before that reply see alternative.c.
 *
 * The state refers to transactions by id, because they may be freed between two calls.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "smtp_priv.h"

/* --- Transactions --------------------------------------------------------------------------------- */

struct smtp_tx *smtp_find_tx(const struct smtp_feed *f, uint64_t number)
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

struct smtp_tx *smtp_new_tx(struct smtp_feed *f)
{
    struct smtp_tx *tx = (struct smtp_tx *)app_tx_new(f->context);
    const struct buffer *helo = &f->state->helo;

    if (!tx)
        return NULL;
    tx->has_helo = f->state->has_helo;
    tx->alternative = f->state->depth > 0 ? f->state : NULL;
    tx->tx.log_never = tx->alternative != NULL; /* replace_by_alternative() clears it */
    if (buffer_append(app_heap(f->context), &tx->helo, helo->bytes, helo->length, SMTP_LINE_MAX) < helo->length)
        tx->has_helo = false;
    f->current = tx;
    f->state->current = tx->tx.id + 1;
    f->state->tx_count++;
    return tx;
}

void smtp_complete_tx(struct smtp_feed *f, struct smtp_tx *tx)
{
    tx->request_complete = true;
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
    heap_release(heap, tx->recipients);
    if (tx->mime)
        mime_clear(heap, tx->mime);
    heap_release(heap, tx->mime);
}

void smtp_clear_state(struct heap *heap, struct smtp_state *state)
{
    for (unsigned i = 0; i < state->alternative_count; i++) {
        smtp_clear_state(heap, state->alternatives[i]);
        heap_release(heap, state->alternatives[i]);
    }
    state->alternative_count = 0;
    buffer_clear(heap, &state->unread);
    buffer_clear(heap, &state->helo);
    buffer_clear(heap, &state->partial);
    heap_release(heap, state->queue);
    state->queue = NULL;
}

static void free_state(struct app_context *context, void *data)
{
    smtp_clear_state(app_heap(context), data);
}

/* --- Lines ---------------------------------------------------------------------------------------- */

/* Parses a command line or a reply line. Parameters and result are those of smtp_consume(). A line longer than
 * SMTP_LINE_MAX is truncated, and the rest of it is skipped. */
static uint32_t consume_line(struct smtp_feed *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                             uint32_t seen, int *err)
{
    bool to_server = direction == FLOW_TO_SERVER;
    const uint8_t *end = length > seen ? memchr(bytes + seen, '\n', length - seen) : NULL;
    uint32_t size = end ? (uint32_t)(end - bytes) : length, taken = size + 1;
    bool truncated = size >= SMTP_LINE_MAX;

    if (!end && !truncated)
        return 0;
    if (truncated) {
        taken = size = SMTP_LINE_MAX;
        f->state->skip[direction] = true;
    }
    uint32_t line = size - (size > 0 && bytes[size - 1] == '\r');

    if (to_server)
        *err = smtp_parse_command(f, bytes, line);
    else if (!truncated || smtp_is_reply(bytes, line))
        *err = smtp_parse_reply(f, bytes, line, taken - line);
    if (truncated) {
        smtp_event(f, f->current, SMTP_TRUNCATED_LINE);
        smtp_event(f, f->current, to_server ? SMTP_COMMAND_LINE_TOO_LONG : SMTP_REPLY_LINE_TOO_LONG);
    }
    return taken;
}

uint32_t smtp_consume(struct smtp_feed *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                      uint32_t seen, int *err)
{
    struct smtp_state *state = f->state;

    if (state->skip[direction]) { /* the rest of a line that was truncated or started in a gap */
        const uint8_t *end = memchr(bytes, '\n', length);

        state->skip[direction] = !end;
        return end ? (uint32_t)(end + 1 - bytes) : length;
    }
    if (direction == FLOW_TO_SERVER && state->is_ambiguous && (*err = smtp_add_alternative(f)))
        return 0;
    if (direction == FLOW_TO_SERVER && state->mode == SMTP_IN_DATA)
        return smtp_consume_data(f, bytes, length, seen, err);
    if (direction == FLOW_TO_SERVER && state->mode == SMTP_IN_CHUNK)
        return smtp_consume_chunk(f, bytes, length, err);
    return consume_line(f, direction, bytes, length, seen, err);
}

/* --- Gaps ----------------------------------------------------------------------------------------- */

static void handle_gap(struct smtp_feed *f, const struct app_input *in)
{
    struct smtp_state *state = f->state;

    if (in->direction == FLOW_TO_CLIENT) {
        smtp_clear_queue(f);
        state->skip[FLOW_TO_CLIENT] = true;
        return;
    }
    if (state->mode != SMTP_COMMANDS)
        smtp_message_gap(f, in->gap);
    if (state->mode == SMTP_IN_CHUNK) { /* whether the chunk continues after the gap is known from its length */
        bool within = in->gap <= state->chunk_left;

        state->chunk_left -= within ? in->gap : state->chunk_left;
        state->mid_line[FLOW_TO_SERVER] = true;
        if (state->chunk_left == 0)
            smtp_end_chunk(f);
        state->after_chunk = false;
        if (within)
            return;
    }
    state->skip[FLOW_TO_SERVER] = true;
    state->mid_line[FLOW_TO_SERVER] = false;
    if (state->mode == SMTP_COMMANDS)
        smtp_clear_queue(f);
}

/* --- Frames --------------------------------------------------------------------------------------- */

enum { FRAME_COMMAND_LINE, FRAME_DATA, FRAME_RESPONSE_LINE };
static const char *const frames[] = {
    [FRAME_COMMAND_LINE] = "command_line", [FRAME_DATA] = "data", [FRAME_RESPONSE_LINE] = "response_line", NULL
};

/* Announces the frame of a line, or of a message, whose bytes [at, at + size) of the input have been consumed. `mode`:
 * mode of the parser before. The line with the dot at the end of a message does not belong to it. */
static void announce(struct smtp_feed *f, const struct app_input *in, uint32_t at, uint32_t size, enum smtp_mode mode,
                     const struct smtp_tx *current)
{
    const struct app_tx *tx = current ? &current->tx : NULL;
    struct smtp_state *state = f->state;

    if (in->direction == FLOW_TO_CLIENT) {
        app_frame(f->context, in, at, size, FRAME_RESPONSE_LINE, f->replied ? &f->replied->tx : NULL);
        return;
    }
    if (mode == SMTP_COMMANDS) {
        app_frame(f->context, in, at, size, FRAME_COMMAND_LINE, tx);
        return;
    }
    if (!state->in_data_frame)
        app_frame(f->context, in, at, APP_FRAME_UNKNOWN, FRAME_DATA, tx);
    state->in_data_frame = state->mode != SMTP_COMMANDS;
    if (!state->in_data_frame)
        app_frame_end(f->context, in, mode == SMTP_IN_DATA ? at : at + size, FRAME_DATA);
}

/* --- Parser entry --------------------------------------------------------------------------------- */

static struct app_result smtp_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct smtp_feed f = { .context = context, .state = data, .settings = app_get_settings(context) };
    struct app_result result = { .status = APP_OK };
    uint32_t seen = in->seen, size;
    int err = 0;

    f.current = smtp_find_tx(&f, f.state->current);
    if (f.state->awaits_tls) { /* STARTTLS was accepted, but the data that follows is not TLS: SMTP continues */
        f.state->awaits_tls = false;
        if (!f.current)
            smtp_new_tx(&f);
        smtp_event(&f, f.current, SMTP_FAILED_CHANGE);
    }
    if (in->gap) {
        smtp_end_alternatives(&f);
        handle_gap(&f, in);
    }
    if (in->direction == FLOW_TO_SERVER && f.state->unread.length > 0 && in->length > 0) {
        /* This instance has replaced the main one, which had consumed the bytes in `unread`. */
        result.consumed = in->length;
        if (smtp_feed_unread(&f, in->bytes, in->length))
            result.status = APP_ERROR;
    }
    while (result.consumed < in->length && !f.state->awaits_tls) {
        enum smtp_mode mode = f.state->mode;
        bool is_skipped = f.state->skip[in->direction];
        const struct smtp_tx *before = f.current;

        f.replied = NULL;
        size = smtp_consume(&f, in->direction, in->bytes + result.consumed, in->length - result.consumed, seen, &err);
        if (!err && in->direction == FLOW_TO_SERVER && size > 0)
            err = smtp_feed_alternatives(&f, in->bytes + result.consumed, size);
        if (err)
            return (struct app_result){ .status = APP_ERROR };
        if (size == 0)
            break;
        if (!is_skipped)
            announce(&f, in, result.consumed, size, mode, f.current ? f.current : before);
        result.consumed += size;
        seen = 0;
    }
    if (in->end && in->direction == FLOW_TO_SERVER && f.current)
        smtp_abort_message(&f, f.current);
    return result;
}

/* --- Protocol detection --------------------------------------------------------------------------- */

enum { PROBE_MAX = 512, FTP_PORT = 21 };

static const struct app_pattern patterns[] = {
    { .bytes = "EHLO", .length = 4, .nocase = true, .direction = FLOW_TO_SERVER },
    { .bytes = "HELO", .length = 4, .nocase = true, .direction = FLOW_TO_SERVER },
    { .bytes = "QUIT", .length = 4, .nocase = true, .direction = FLOW_TO_SERVER },
};

/* Waits for more bytes as long as the bytes may be the start of a pattern; the framework compares complete patterns. */
static enum app_probe_result probe_client(const struct app_probe *in)
{
    for (unsigned i = 0; in->length < 4 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
        if (strncasecmp((const char *)in->bytes, patterns[i].bytes, in->length) == 0)
            return APP_UNSURE;
    return APP_NO;
}

/* Accepts a greeting with code 220: on a port of SMTP any text, on other ports a text that contains "SMTP". */
static enum app_probe_result probe_server(const struct app_probe *in)
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
    return mime_contains(in->bytes, (uint32_t)(end - in->bytes), "smtp") ? APP_YES : APP_NO;
}

static enum app_probe_result probe(const struct app_probe *in)
{
    if (in->length == 0)
        return APP_UNSURE;
    return in->direction == FLOW_TO_SERVER ? probe_client(in) : probe_server(in);
}

/* --- Events and protocol table -------------------------------------------------------------------- */

/* Names are in upper case because EVE events contain them in upper case. Rules may use any case. */
static const struct app_event events[SMTP_EVENTS] = {
    [SMTP_INVALID_REPLY] = { "INVALID_REPLY", "reply without a known code, or greeting with a code other than 220" },
    [SMTP_UNABLE_TO_MATCH_REPLY] = { "UNABLE_TO_MATCH_REPLY_WITH_REQUEST",
                                     "never set; accepted for compatibility with existing rules" },
    [SMTP_COMMAND_LINE_TOO_LONG] = { "MAX_COMMAND_LINE_LEN_EXCEEDED", "command line of 4096 bytes or more" },
    [SMTP_REPLY_LINE_TOO_LONG] = { "MAX_REPLY_LINE_LEN_EXCEEDED", "reply line of 4096 bytes or more" },
    [SMTP_INVALID_PIPELINED_SEQUENCE] = { "INVALID_PIPELINED_SEQUENCE",
                                          "data sent after DATA or STARTTLS before the server's reply" },
    [SMTP_BDAT_CHUNK_TOO_LONG] = { "BDAT_CHUNK_LEN_EXCEEDED", "data after a BDAT chunk is not a command" },
    [SMTP_NO_WELCOME] = { "NO_SERVER_WELCOME_MESSAGE", "command sent before the server's greeting" },
    [SMTP_TLS_REJECTED] = { "TLS_REJECTED", "server refused STARTTLS" },
    [SMTP_DATA_REJECTED] = { "DATA_COMMAND_REJECTED", "server refused DATA" },
    [SMTP_FAILED_CHANGE] = { "FAILED_PROTOCOL_CHANGE", "no TLS after an accepted STARTTLS" },
    [SMTP_MIME_PARSE_FAILED] = { "MIME_PARSE_FAILED",
                                 "message exceeds the limit of headers, files or URLs, or memory is exhausted" },
    [SMTP_MIME_MALFORMED] = { "MIME_MALFORMED_MSG", "parts or messages nested deeper than the limit" },
    [SMTP_MIME_INVALID_BASE64] = { "MIME_INVALID_BASE64", "file with invalid bytes in base64" },
    [SMTP_MIME_INVALID_QUOTED] = { "MIME_INVALID_QP", "file with an invalid escape in quoted-printable" },
    [SMTP_MIME_LONG_LINE] = { "MIME_LONG_LINE", "message line longer than 998 bytes" },
    [SMTP_MIME_LONG_ENCODED_LINE] = { "MIME_LONG_ENC_LINE", "line of encoded content longer than 76 bytes" },
    [SMTP_MIME_LONG_HEADER_NAME] = { "MIME_LONG_HEADER_NAME", "header name longer than 75 bytes" },
    [SMTP_MIME_LONG_HEADER_VALUE] = { "MIME_LONG_HEADER_VALUE", "header value longer than mime.header-value-depth" },
    [SMTP_MIME_LONG_BOUNDARY] = { "MIME_LONG_BOUNDARY", "boundary longer than 254 bytes" },
    [SMTP_MIME_LONG_FILE_NAME] = { "MIME_LONG_FILENAME", "file name longer than 255 bytes (truncated)" },
    [SMTP_DUPLICATE_FIELDS] = { "DUPLICATE_FIELDS", "second HELO in a session, or second MAIL FROM in a transaction" },
    [SMTP_UNPARSABLE_CONTENT] = { "UNPARSABLE_CONTENT",
                                  "second message started although the end of the first was not seen" },
    [SMTP_TRUNCATED_LINE] = { "TRUNCATED_LINE", "command or reply line truncated to 4096 bytes" },
    [SMTP_INVALID_BDAT] = { "INVALID_BDAT", "BDAT without a length, or with an argument other than LAST after it" },
    [SMTP_TOO_MANY_RECIPIENTS] = { "TOO_MANY_RECIPIENTS",
                                   "transaction with more than 4096 recipients, or 256 KiB of them" },
};

static const char *const request_steps[] = { "request_started", "request_data", "", "request_complete", NULL };
static const char *const response_steps[] = { "response_started", "response_data", "response_complete", NULL };

const struct app_proto app_smtp = {
    .name = "smtp",
    .help = "SMTP, including its MIME messages",
    .transports = APP_TCP,
    .tcp_ports = "25,587,2525",
    .continues_after_errors = true,
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = probe,
    .probe_any_port = true,
    .state_size = sizeof(struct smtp_state),
    .stop = free_state,
    .feed = smtp_feed,
    .transfer = smtp_transfer,
    .accepts_gaps = true,
    .tx_size = sizeof(struct smtp_tx),
    .tx_free = free_tx,
    .complete = { SMTP_COMPLETE, SMTP_REPLIES_COMPLETE },
    .tx_max = SMTP_TX_MAX,
    .steps = { request_steps, response_steps },
    .frames = frames,
    .events = events,
    .event_count = SMTP_EVENTS,
    .buffers = smtp_buffers,
    .buffer_count = SMTP_BUFFERS,
    .script_value = smtp_script_value,
    .log_type = "smtp",
    .log_key = "smtp",
    .log = smtp_log,
    .log_top_level = smtp_log_email,
    .settings = smtp_setting_rows,
    .settings_size = sizeof(struct smtp_settings),
    .configure = smtp_configure,
    .unconfigure = smtp_unconfigure,
};
