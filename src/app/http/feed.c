/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of bytes to the steps of the parser, lines, gaps, and the steps that both directions share. The steps of one
 * direction are in request.c and response.c. A step consumes a complete unit (a line, the available bytes of a body) or
 * nothing, so that the result does not depend on segmentation.
 *
 * Gaps: within a body of known length, or one that ends with the connection, the body continues after the gap.
 * Elsewhere the bytes after the gap are parsed as the next line. Usually that line is invalid and the parser fails,
 * unless the gap is between two messages.
 */
#include "http_priv.h"

#include <string.h>
#include "sluice/hex.h"

uint32_t http_trim_line_end(const uint8_t *line, uint32_t length)
{
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    return length;
}

/* Returns the first CR between `at` and `stop` that ends a line alone: the next byte is neither CR nor LF. Returns NULL
 * if there is none. `end`: end of the available bytes. */
static const uint8_t *find_bare_cr(const uint8_t *at, const uint8_t *stop, const uint8_t *end)
{
    const uint8_t *cr = memchr(at, '\r', (size_t)(stop - at));

    while (cr && (cr + 1 == end || cr[1] == '\n' || cr[1] == '\r'))
        cr = memchr(cr + 1, '\r', (size_t)(stop - (cr + 1)));
    return cr;
}

/* Returns the length of a line that ends with LF or with a CR alone; 0 if the line is incomplete. Searches for LF
 * and CR in pieces of 128 bytes: with two searches through all bytes per line, many short lines would take quadratic
 * time. */
static uint32_t cr_or_lf_line_length(const uint8_t *bytes, uint32_t length, uint32_t from)
{
    enum { PIECE = 128 };
    const uint8_t *at = bytes + from, *end = bytes + length;

    while (at < end) {
        size_t size = end - at < PIECE ? (size_t)(end - at) : PIECE;
        const uint8_t *lf = memchr(at, '\n', size);
        const uint8_t *cr = find_bare_cr(at, lf ? lf : at + size, end);

        if (cr || lf)
            return (uint32_t)((cr ? cr : lf) - bytes) + 1;
        at += size;
    }
    return 0;
}

uint32_t http_line_length(const uint8_t *bytes, uint32_t length, uint32_t from, bool cr_ends, bool is_end)
{
    uint32_t found = 0;

    if (cr_ends) {
        found = cr_or_lf_line_length(bytes, length, from);
    } else if (from < length) {
        const uint8_t *end = memchr(bytes + from, '\n', length - from);

        found = end ? (uint32_t)(end - bytes) + 1 : 0;
    }
    return found == 0 && is_end ? length : found;
}

bool http_is_too_long(struct http_feed *f, uint32_t length)
{
    bool is_request = f->direction == FLOW_TO_SERVER;

    if (length <= f->settings->field_limit)
        return false;
    http_event(f, f->parser->tx, is_request ? HTTP_EVENT_REQUEST_FIELD_TOO_LONG : HTTP_EVENT_RESPONSE_FIELD_TOO_LONG);
    return is_request || length > HTTP_RESPONSE_FIELD_MAX; /* clients accept responses with such lines */
}

/* Returns the line length as in PHP: CR, LF or CR LF ends the line, so the byte after a CR is needed to decide. */
static uint32_t either_line_length(const uint8_t *bytes, uint32_t length, uint32_t from, bool is_end)
{
    for (uint32_t at = from; at < length; at++) {
        if (bytes[at] == '\n')
            return at + 1;
        if (bytes[at] == '\r' && at + 1 < length)
            return at + 1 + (bytes[at + 1] == '\n');
    }
    return is_end ? length : 0;
}

static uint32_t request_line_length(const struct http_feed *f, const uint8_t *bytes, uint32_t length, uint32_t from)
{
    if (f->reading && http_is_dialect(f, HTTP_DIALECT_CRLF)) {
        const uint8_t *crlf = from < length ? memmem(bytes + from, length - from, "\r\n", 2) : NULL;

        return crlf ? (uint32_t)(crlf - bytes) + 2 : f->end ? length : 0;
    }
    if (f->reading && f->parser->step == HTTP_AT_HEADERS && http_is_dialect(f, HTTP_DIALECT_LAST_LENGTH))
        return either_line_length(bytes, length, from, f->end);
    return http_line_length(bytes, length, from, false, f->end);
}

uint32_t http_response_line_length(uint16_t flags, const uint8_t *bytes, uint32_t length, uint32_t from, bool is_end)
{
    return flags & HTTP_READ_CR ? either_line_length(bytes, length, from, is_end)
                                : http_line_length(bytes, length, from, !(flags & HTTP_READ_LF), is_end);
}

enum http_step_result http_read_line(struct http_feed *f, const uint8_t **line, uint32_t *length)
{
    uint32_t left = f->length - f->at;
    uint32_t from = f->parser->scanned > 0 ? f->parser->scanned - 1 : 0; /* the last scanned byte may be a CR */
    uint32_t found = f->direction == FLOW_TO_SERVER
                         ? request_line_length(f, f->bytes + f->at, left, from)
                         : http_response_line_length(f->parser->flags, f->bytes + f->at, left, from, f->end);

    if (http_is_too_long(f, found == 0 ? left : found))
        return HTTP_STEP_FAILED;
    f->parser->scanned = found == 0 ? left : 0;
    if (found == 0)
        return HTTP_STEP_NEEDS_DATA;
    f->parser->chunk_blanks = 0;
    *line = f->bytes + f->at;
    *length = found;
    f->at += found;
    return HTTP_STEP_DONE;
}

/* Returns the length of the word at the start of the bytes, or 0 if they do not start with it. NUL bytes are ignored,
 * as by some servers and browsers. */
static uint32_t match_word(const uint8_t *bytes, uint32_t length, const char *word)
{
    uint32_t at = 0;

    for (; at < length && *word; at++) {
        if (bytes[at] == 0)
            continue;
        if (http_lower(bytes[at]) != http_lower((uint8_t)*word))
            return 0;
        word++;
    }
    return *word ? 0 : at;
}

bool http_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word)
{
    uint32_t at = match_word(bytes, length, word);

    while (at > 0 && at < length && bytes[at] == 0)
        at++;
    return at > 0 && at == length;
}

bool http_has_version(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t at = 0; at + 5 < length; at++) {
        const uint8_t *word = bytes + at + 1;

        if (!http_is_separator(bytes[at]))
            continue;
        if (http_equal_nocase(word, 5, "http/"))
            return true;
        /* PHP accepts any four bytes in place of "TTP/". */
        if (at + 7 < length && word[0] == 'H' && http_is_digit(word[5]) && (word[6] == '.' || http_is_digit(word[6])))
            return true;
    }
    return false;
}

const uint8_t *http_find_nocase(const uint8_t *bytes, uint32_t length, const char *word)
{
    for (uint32_t at = 0; at < length; at++) {
        /* A match does not start at a NUL byte: otherwise a run of NUL bytes would be scanned again from each of them.
         */
        if (bytes[at] != 0 && match_word(bytes + at, length - at, word) > 0)
            return bytes + at;
    }
    return NULL;
}

bool http_chunk_is_impossible(const struct http_feed *f)
{
    uint32_t at = f->at + f->parser->chunk_blanks;

    while (at < f->length && f->bytes[at] != '\n' && http_is_space(f->bytes[at]))
        at++;
    f->parser->chunk_blanks = at - f->at;
    return at < f->length && f->bytes[at] != '\n' && hex_digit(f->bytes[at]) < 0;
}

/* --- Steps of both directions -------------------------------------------------------------------- */

static uint32_t available_body(const struct http_feed *f)
{
    uint32_t left = f->length - f->at;

    return f->parser->left < left ? (uint32_t)f->parser->left : left;
}

static void read_body(struct http_feed *f, uint32_t length)
{
    http_body_data(f, f->parser->tx, f->bytes + f->at, length);
    f->at += length;
    f->parser->left -= length;
}

/* Returns HTTP_STEP_DONE at the end of the body; the caller then sets the next step. */
enum http_step_result http_read_identity(struct http_feed *f)
{
    read_body(f, available_body(f));
    return f->parser->left > 0 ? HTTP_STEP_NEEDS_DATA : HTTP_STEP_DONE;
}

enum http_step_result http_read_chunk_data(struct http_feed *f)
{
    read_body(f, available_body(f));
    if (f->parser->left > 0)
        return HTTP_STEP_NEEDS_DATA;
    f->parser->step = HTTP_CHUNK_END;
    return HTTP_STEP_DONE;
}

/* Skips the line end after chunk data, and bytes before it. */
enum http_step_result http_skip_chunk_end(struct http_feed *f)
{
    const uint8_t *end = f->at < f->length ? memchr(f->bytes + f->at, '\n', f->length - f->at) : NULL;

    uint32_t next = end ? (uint32_t)(end - f->bytes) + 1 : f->length;

    /* PHP stops decoding at bytes before this line end, and delivers the rest of the connection as the body. */
    if (f->direction == FLOW_TO_CLIENT && f->at < f->length && f->bytes[f->at] != '\r' && f->bytes[f->at] != '\n')
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_RAW);
    f->parser->tx->message[f->direction].wire_length += next - f->at;
    f->at = next;
    if (!end)
        return HTTP_STEP_NEEDS_DATA;
    f->parser->step = HTTP_CHUNK_LENGTH;
    return HTTP_STEP_DONE;
}

enum http_step_result http_read_until_close(struct http_feed *f)
{
    http_body_data(f, f->parser->tx, f->bytes + f->at, f->length - f->at);
    f->at = f->length;
    return HTTP_STEP_NEEDS_DATA;
}

bool http_parse_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension)
{
    uint32_t at = 0, digits = 0;
    uint64_t number = 0;

    while (at < length && http_is_space(line[at]))
        at++;
    for (; at < length && hex_digit(line[at]) >= 0; at++, digits++) {
        number = number << 4 | (unsigned)hex_digit(line[at]);
        if (number > HTTP_CHUNK_LENGTH_MAX)
            return false;
    }
    *extension = at < length && memchr(line + at, ';', length - at);
    *out = number;
    return digits > 0;
}

/* --- Gaps ----------------------------------------------------------------------------------------- */

void http_handle_gap(struct http_feed *f, uint64_t length)
{
    struct http_parser *parser = f->parser;
    uint64_t in_body = 0;

    parser->scanned = parser->chunk_blanks = 0;
    if (parser->step == HTTP_IDENTITY || parser->step == HTTP_CHUNK_DATA)
        in_body = length < parser->left ? length : parser->left;
    else if (parser->step == HTTP_UNTIL_CLOSE)
        in_body = length;
    if (in_body == 0)
        return;
    http_body_gap(f, parser->tx, in_body);
    if (parser->step != HTTP_UNTIL_CLOSE)
        parser->left -= in_body;
}

/* --- Feeding -------------------------------------------------------------------------------------- */

/* Announces the frame of the message that begins at the stream offset `begin`, or, with `ends`, ends it there. Frames
 * are announced for the main reading only. */
static void announce_message(struct http_feed *f, uint64_t begin, bool ends)
{
    const struct app_input in = { .direction = f->direction, .transport = APP_TCP, .offset = begin };
    unsigned type = f->direction == FLOW_TO_SERVER ? HTTP_FRAME_REQUEST : HTTP_FRAME_RESPONSE;

    if (f->reading || f->alternative || f->is_repeat || f->transferred || !app_wants_frame(f->context, type))
        return;
    if (ends)
        app_frame_end(f->context, &in, 0, type);
    else
        app_frame(f->context, &in, 0, APP_FRAME_UNKNOWN, type, &f->parser->tx->base);
}

enum http_step_result http_execute_steps(struct http_feed *f)
{
    enum http_step_result result = HTTP_STEP_DONE;
    unsigned idle_steps = 0, readings = f->state->reading_count;

    while (result == HTTP_STEP_DONE && !f->failed) {
        const struct http_tx *message = f->parser->tx;
        uint32_t before = f->at;

        result = f->direction == FLOW_TO_SERVER ? http_request_step(f) : http_response_step(f);
        if (!message && f->parser->tx)
            announce_message(f, f->direction == FLOW_TO_SERVER ? f->parser->tx->begin : f->offset + before, false);
        else if (message && !f->parser->tx)
            announce_message(f, f->offset + f->at, true);
        if (result == HTTP_STEP_DONE && f->state->reading_count > readings)
            return f->failed ? HTTP_STEP_FAILED : HTTP_STEP_DONE;
        idle_steps = f->at == before ? idle_steps + 1 : 0;
        if (idle_steps > HTTP_STEPS) /* internal error: a cycle of steps that consume nothing */
            return HTTP_STEP_FAILED;
    }
    return f->failed ? HTTP_STEP_FAILED : result;
}

/* Feeds the server's bytes to all readings. */
static enum http_step_result feed_response(struct http_feed *f, const struct app_input *in)
{
    struct http_state *state = f->state;
    const struct http_tx *tx = f->parser->tx;
    uint32_t seen = in->gap == 0 && in->seen <= f->length ? in->seen : 0;

    f->response_from = HTTP_BEFORE_INPUT;
    f->head_before = tx ? tx->message[FLOW_TO_CLIENT].head.length : 0;
    enum http_step_result result = http_execute_steps(f);

    if (result == HTTP_STEP_ENDS_HTTP || f->failed)
        return result;
    if (state->alternative_count > 0)
        http_feed_alternatives(f, f->bytes + seen, f->length - seen, in->gap > 0);
    if (f->requested_kinds != 0)
        http_add_alternatives(f);
    if (result == HTTP_STEP_FAILED && state->alternative_count > 0) {
        /* The main reading skips all following bytes; the alternative readings continue. */
        state->skips_responses = true;
        http_response_end(f);
        f->parser->step = HTTP_WAITING;
        f->at = f->length;
        return HTTP_STEP_NEEDS_DATA;
    }
    return state->skips_responses && state->alternative_count == 0 && !in->end ? HTTP_STEP_FAILED : result;
}

struct app_result http_feed(struct app_context *context, void *state, const struct app_input *in)
{
    static const uint8_t nothing[1];
    struct http_state *s = state;
    struct http_feed f = {
        .context = context,
        .state = s,
        .settings = app_get_settings(context),
        .parser = &s->parser[in->direction],
        .direction = in->direction,
        .bytes = in->bytes ? in->bytes : nothing,
        .length = in->length,
        .offset = in->offset,
        .end = in->end,
    };
    enum http_step_result result;

    if (f.parser->ended)
        return (struct app_result){ .status = APP_OK, .consumed = in->length };
    f.parser->ended = in->end;
    if (in->gap > 0)
        http_handle_gap(&f, in->gap);
    result = in->direction == FLOW_TO_SERVER ? http_feed_readings(&f, in->seen) : feed_response(&f, in);
    if (result != HTTP_STEP_FAILED && result != HTTP_STEP_ENDS_HTTP && in->end) {
        if (in->direction == FLOW_TO_SERVER)
            http_request_end(&f);
        else
            http_response_end(&f);
        f.at = f.length;
        announce_message(&f, in->offset + in->length, true);
    }
    return (struct app_result){
        .status = result == HTTP_STEP_FAILED ? APP_ERROR : APP_OK,
        .consumed = f.at,
    };
}
