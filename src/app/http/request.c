/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's direction: a request line, headers, a body, and the next request.
 *
 * Bytes that follow a request but do not look like a request are added to the body of the previous request, because a
 * server that ignores the length of that body reads them as a part of it. Whether a tunnel follows a CONNECT is known
 * only from its response. If servers differ on the end of a request, there are several readings (reading.c), and the
 * same steps are executed for each of them.
 */
#include "http_priv.h"

#include <string.h>

struct http_tx *http_tx_new(struct http_feed *f)
{
    struct http_tx *tx = (struct http_tx *)(f->alternative ? app_tx_new_alternative(f->context, f->alternative->tx)
                                                           : app_tx_new(f->context));

    if (!tx)
        return NULL;
    http_message_init(&tx->message[FLOW_TO_SERVER]);
    http_message_init(&tx->message[FLOW_TO_CLIENT]);
    tx->port = -1;
    if (f->reading) { /* responses belong to the main reading */
        tx->reading = f->reading->id;
        tx->base.directions = APP_TO_SERVER;
        tx->base.log_never = true;
        tx->base.tentative = true; /* confirmed when the headers are complete: servers ignore incomplete headers */
        return tx;
    }
    if (f->alternative) {
        tx->reading = HTTP_RESPONSE_READING;
        tx->base.directions = APP_TO_CLIENT;
    }
    if (!f->state->next_unanswered && !f->state->parser[FLOW_TO_CLIENT].ended)
        f->state->next_unanswered = tx;
    return tx;
}

void http_tx_free(struct app_context *context, struct app_tx *base)
{
    struct http_tx *tx = (struct http_tx *)base;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        http_body_clear(context, &tx->message[direction]);
        http_message_clear(context, &tx->message[direction]);
    }
}

bool http_owns_transaction(const struct http_feed *f, const struct app_tx *tx)
{
    const struct app_tx *any = app_tx_last(f->context);

    return any && tx->flow == any->flow && tx->proto == any->proto;
}

static struct http_message *get_request(struct http_tx *tx)
{
    return &tx->message[FLOW_TO_SERVER];
}

void http_request_complete(struct http_feed *f, struct http_tx *tx)
{
    struct http_parser *parser = f->reading ? f->parser : &f->state->parser[FLOW_TO_SERVER];

    http_body_end(f, tx, FLOW_TO_SERVER, parser->left == 0);
    app_tx_advance(&tx->base, FLOW_TO_SERVER, HTTP_COMPLETE);
    parser->tx = NULL;
    parser->left = 0;
    parser->step = HTTP_IDLE;
}

/* --- Request line -------------------------------------------------------------------------------- */

/* A request line; bytes from `at` to `end` are still to be parsed. */
struct line {
    const uint8_t *bytes;
    uint32_t at, end;
};

static struct http_text make_text(uint32_t at, uint32_t end)
{
    return (struct http_text){ .at = at, .length = end - at, .is_set = true };
}

static struct http_text trimmed_text(const struct line *line, uint32_t at, uint32_t end)
{
    while (at < end && http_is_space(line->bytes[at]))
        at++;
    while (end > at && http_is_space(line->bytes[end - 1]))
        end--;
    return make_text(at, end);
}

/* Returns the number of separators skipped. *only_blanks: all of them are spaces. */
static uint32_t skip_spaces(struct line *line, bool *only_blanks)
{
    uint32_t from = line->at;

    *only_blanks = true;
    for (; line->at < line->end && http_is_separator(line->bytes[line->at]); line->at++)
        *only_blanks &= line->bytes[line->at] == ' ';
    return line->at - from;
}

static void parse_method(struct http_feed *f, struct http_tx *tx, struct line *line)
{
    bool only_blanks;
    uint32_t from;

    if (skip_spaces(line, &only_blanks) > 0)
        http_event(f, tx, HTTP_EVENT_REQUEST_LINE_LEADING_WHITESPACE);
    for (from = line->at; line->at < line->end && !http_is_separator(line->bytes[line->at]);)
        line->at++;
    tx->method_text = make_text(from, line->at);
    tx->method = (uint8_t)http_parse_method(line->bytes + from, line->at - from);
    skip_spaces(line, &only_blanks);
    if (!only_blanks)
        http_event(f, tx, HTTP_EVENT_METHOD_DELIM_NON_COMPLIANT);
}

/* Returns the position of the separator before the last "HTTP/", or the end of the line if there is none. */
static uint32_t find_blank_before_version(const struct line *line)
{
    for (uint32_t at = line->end; at > line->at; at--) {
        if (http_is_separator(line->bytes[at - 1]) && http_has_version(line->bytes + at - 1, line->end - (at - 1)))
            return at - 1;
    }
    return line->end;
}

/* Returns the position of the last space, or the end of the line if there is none. The last space separates URI and
 * protocol, because servers accept URIs with spaces. `any`: any white space counts. */
static uint32_t find_last_blank(const struct line *line, bool any)
{
    uint32_t at = line->end;

    while (at > line->at && !(any ? http_is_space(line->bytes[at - 1]) : line->bytes[at - 1] == ' '))
        at--;
    return at > line->at ? at - 1 : line->end;
}

static void split_uri_and_protocol(struct http_feed *f, struct http_tx *tx, struct line *line)
{
    uint32_t blank;
    bool has_other_space = false;

    while (line->end > line->at && http_is_space(line->bytes[line->end - 1]))
        line->end--;
    blank = find_last_blank(line, false);
    for (uint32_t at = line->at; at < blank; at++)
        has_other_space |= line->bytes[at] >= '\t' && line->bytes[at] <= '\r';
    if (has_other_space) {
        http_event(f, tx, HTTP_EVENT_URI_DELIM_NON_COMPLIANT);
        if (blank == line->end)
            blank = find_last_blank(line, true);
    }
    if (blank == line->end)
        blank = find_blank_before_version(line);
    tx->uri_raw = trimmed_text(line, line->at, blank);
    if (blank < line->end)
        tx->protocol = trimmed_text(line, blank + 1, line->end);
}

static void parse_protocol(struct http_feed *f, struct http_tx *tx, const struct line *line)
{
    struct http_message *message = get_request(tx);

    if (!tx->protocol.is_set) {
        tx->is_0_9 = true;
        message->version = HTTP_VERSION_0_9;
        if (tx->method == HTTP_METHOD_UNKNOWN)
            http_event(f, tx,
                       tx->uri_raw.is_set ? HTTP_EVENT_REQUEST_LINE_UNKNOWN_METHOD_NO_PROTOCOL
                                          : HTTP_EVENT_REQUEST_LINE_UNKNOWN_METHOD);
        return;
    }
    message->version = (uint8_t)http_parse_version(line->bytes + tx->protocol.at, tx->protocol.length);
    if (message->version == HTTP_VERSION_INVALID && tx->method == HTTP_METHOD_UNKNOWN) {
        http_event(f, tx, HTTP_EVENT_REQUEST_LINE_UNKNOWN_METHOD_INVALID_PROTOCOL);
        http_event(f, tx, HTTP_EVENT_REQUEST_LINE_INVALID);
    }
}

static enum http_step_result read_request_line(struct http_feed *f, const uint8_t *bytes, uint32_t length)
{
    struct http_parser *parser = f->parser;
    uint64_t begin = f->offset + f->at - length;
    struct http_tx *tx = f->reading && !f->is_repeat && http_merge_reading(f, begin) ? NULL : http_tx_new(f);
    uint32_t size = http_trim_line_end(bytes, length);
    struct line line = { .end = size };

    if (!tx)
        return HTTP_STEP_FAILED;
    tx->begin = begin;
    struct http_message *message = get_request(tx);

    parser->tx = tx;
    parser->messages++;
    parser->lines = parser->blanks = 0;
    parser->split_at_cr = false;
    if (!http_store_line(f, message, bytes, length))
        return HTTP_STEP_FAILED;
    line.bytes = message->head.bytes;
    const uint8_t *nul = memchr(line.bytes, 0, size);

    if (nul)
        http_event(f, tx, HTTP_EVENT_REQUEST_LINE_NUL);
    if (nul && f->settings->personality.request_line_nul_ends)
        line.end = (uint32_t)(nul - line.bytes);
    parse_method(f, tx, &line);
    if (line.at < line.end)
        split_uri_and_protocol(f, tx, &line);
    else
        http_event(f, tx, HTTP_EVENT_REQUEST_LINE_INCOMPLETE);
    parse_protocol(f, tx, &line);
    http_parse_uri(f, tx);
    app_tx_advance(&tx->base, FLOW_TO_SERVER, HTTP_LINE);
    parser->step = tx->is_0_9 ? HTTP_AFTER_0_9 : HTTP_AT_HEADERS;
    if (tx->is_0_9)
        app_tx_confirm(&tx->base);
    return HTTP_STEP_DONE;
}

/* --- Between requests ----------------------------------------------------------------------------- */

enum { METHOD_MAX = 64 }; /* bytes of an unknown method; a longer first word is not a method */

static bool looks_like_request(const uint8_t *line, uint32_t length)
{
    uint32_t at = 0, from;

    while (at < length && http_is_separator(line[at]))
        at++;
    for (from = at; at < length && !http_is_separator(line[at]);)
        at++;
    if (http_parse_method(line + from, at - from) != HTTP_METHOD_UNKNOWN || http_has_version(line + at, length - at))
        return true;
    return at - from <= METHOD_MAX && at > from && length - at > 1 && line[at + 1] == '/';
}

/* Adds unexpected bytes after a request to the body of that request. */
static void add_unexpected_bytes(struct http_feed *f, const uint8_t *bytes, uint32_t length)
{
    struct app_tx *base = f->reading ? NULL : app_tx_last(f->context);
    struct http_tx *last;

    while (base && (!http_owns_transaction(f, base) || ((struct http_tx *)base)->reading > 0))
        base = base->previous;
    last = (struct http_tx *)base;
    /* Nothing is added to a complete transaction, even if it has not been freed yet, so that the result does not depend
     * on when it is freed. */
    if (!last || last->base.progress[FLOW_TO_CLIENT] == HTTP_COMPLETE)
        return;
    http_event(f, last, HTTP_EVENT_REQUEST_BODY_UNEXPECTED);
    http_body_add_surplus(f, last, bytes, length);
}

/* Skips a line between requests that is too long and has no second word, and therefore is not a request line. Returns
 * false if there is no such line. */
static bool skip_long_line(struct http_feed *f)
{
    struct http_parser *parser = f->parser;
    uint32_t left = f->length - f->at, limit = f->settings->field_limit;
    const uint8_t *line = f->bytes + f->at, *end;

    if (!parser->skips_line) {
        if (parser->messages == 0 || left <= limit || memchr(line, '\n', limit))
            return false;
        for (uint32_t at = 0; at < limit; at++)
            if (http_is_separator(line[at]))
                return false;
        parser->skips_line = true;
    }
    end = memchr(line, '\n', left);
    parser->skips_line = !end;
    parser->scanned = 0;
    left = end ? (uint32_t)(end - line) + 1 : left;
    f->at += left;
    add_unexpected_bytes(f, line, left);
    return true;
}

static enum http_step_result find_request(struct http_feed *f)
{
    const uint8_t *line;
    uint32_t length;

    if (f->at < f->length && skip_long_line(f))
        return HTTP_STEP_DONE;
    enum http_step_result result = f->at < f->length ? http_read_line(f, &line, &length) : HTTP_STEP_NEEDS_DATA;

    if (result != HTTP_STEP_DONE || http_trim_line_end(line, length) == 0)
        return result;
    if (f->parser->messages > 0 && !looks_like_request(line, http_trim_line_end(line, length))) {
        add_unexpected_bytes(f, line, length);
        return HTTP_STEP_DONE;
    }
    return read_request_line(f, line, length);
}

/* Checks the bytes after a request line without protocol. After an HTTP/0.9 request only blanks follow, at most
 * HTTP_JUNK_AFTER_0_9; any other byte starts a header. */
static enum http_step_result check_after_0_9(struct http_feed *f)
{
    struct http_parser *parser = f->parser;

    for (; f->at < f->length && http_is_space(f->bytes[f->at]) && parser->blanks <= HTTP_JUNK_AFTER_0_9; f->at++)
        parser->blanks++;
    if (f->at == f->length && parser->blanks <= HTTP_JUNK_AFTER_0_9)
        return HTTP_STEP_NEEDS_DATA;
    parser->tx->is_0_9 = false;
    http_event(f, parser->tx, HTTP_EVENT_REQUEST_LINE_MISSING_PROTOCOL);
    parser->step = HTTP_AT_HEADERS;
    return HTTP_STEP_DONE;
}

/* --- Evaluation of headers ----------------------------------------------------------------------- */

/* Returns the host in lower case. Usually the host in the header is in lower case, and the result refers to the header;
 * otherwise it refers to a copy in `extra`. `value`: value of the Host header. */
static struct http_text store_host(struct http_feed *f, struct http_message *message, const struct http_authority *from,
                                   const uint8_t *value)
{
    const struct http_header *header = &message->headers[message->known[HTTP_HOST]];
    uint8_t lower[HTTP_FIELD_LIMIT];
    uint32_t size = from->host_length < sizeof(lower) ? from->host_length : (uint32_t)sizeof(lower), at = 0;
    bool is_lower_case = size > 0;

    while (is_lower_case && at < size) {
        is_lower_case = http_lower(from->host[at]) == from->host[at];
        at++;
    }
    if (is_lower_case)
        return (struct http_text){
            .at = header->at + header->name_length + 2u + (uint32_t)(from->host - value),
            .length = size,
            .is_set = true,
            .extra = header->extra,
        };
    for (uint32_t i = 0; i < size; i++)
        lower[i] = http_lower(from->host[i]);
    return http_store_text(f, message, lower, size);
}

static void parse_host(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_request(tx);
    struct http_authority authority;
    const uint8_t *value;
    uint32_t length;

    if (!http_header_value(message, HTTP_HOST, &value, &length)) {
        if (message->version == HTTP_VERSION_1_1)
            http_event(f, tx, HTTP_EVENT_MISSING_HOST_HEADER);
        return;
    }
    if (!http_parse_authority(value, length, &authority)) {
        http_event(f, tx, tx->host.is_set ? HTTP_EVENT_HOST_HEADER_AMBIGUOUS : HTTP_EVENT_REQUEST_HEADER_HOST_INVALID);
        return;
    }
    if (!authority.valid)
        http_event(f, tx, HTTP_EVENT_REQUEST_HEADER_HOST_INVALID);
    if (tx->host.is_set) {
        const uint8_t *host = http_text_bytes(message, &tx->host);
        bool same = tx->host.length == authority.host_length;

        for (uint32_t i = 0; same && i < authority.host_length; i++)
            same = host[i] == http_lower(authority.host[i]);
        if (!same || (tx->port >= 0 && authority.port >= 0 && tx->port != authority.port))
            http_event(f, tx, HTTP_EVENT_HOST_HEADER_AMBIGUOUS);
        return;
    }
    tx->port = authority.port;
    tx->host = store_host(f, message, &authority, value);
}

static void check_authorization(struct http_feed *f, struct http_tx *tx)
{
    static const char *const schemes[] = { "basic", "digest", "bearer" };
    const uint8_t *value;
    uint32_t length;

    if (!http_header_value(get_request(tx), HTTP_AUTHORIZATION, &value, &length))
        return;
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (length >= strlen(schemes[i]) && http_equal_nocase(value, (uint32_t)strlen(schemes[i]), schemes[i]))
            return;
    }
    http_event(f, tx, HTTP_EVENT_REQUEST_AUTH_UNRECOGNIZED);
}

/* Sets events for unusual headers that define the body length. */
static void check_framing(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_request(tx);
    const uint8_t *value;
    uint32_t length;
    uint64_t number;

    if (http_header_value(message, HTTP_TRANSFER_ENCODING, &value, &length)) {
        bool chunked = http_find_nocase(value, length, "chunked");

        if (!chunked || message->version < HTTP_VERSION_1_1)
            http_event(f, tx, HTTP_EVENT_INVALID_TRANSFER_ENCODING_VALUE_IN_REQUEST);
        if (chunked)
            return;
    }
    if (!http_header_value(message, HTTP_CONTENT_LENGTH, &value, &length))
        return;
    if (!http_parse_length(value, length, &number)) {
        http_event(f, tx, HTTP_EVENT_INVALID_CONTENT_LENGTH_FIELD_IN_REQUEST);
        return;
    }
    if (length > 0 && !http_is_digit(value[0]))
        http_event(f, tx, HTTP_EVENT_CONTENT_LENGTH_EXTRA_DATA_START);
    if (length > 0 && !http_is_digit(value[length - 1]))
        http_event(f, tx, HTTP_EVENT_CONTENT_LENGTH_EXTRA_DATA_END);
}

/* Determines the body that follows the headers. Returns HTTP_STEP_NEEDS_DATA if there is one, HTTP_STEP_DONE if not,
 * HTTP_STEP_FAILED if a reading cannot be added. */
static enum http_step_result determine_body(struct http_feed *f, struct http_tx *tx)
{
    struct http_parser *parser = f->parser;
    struct http_framing framing;

    check_framing(f, tx);
    if (!http_determine_framing(f, tx, &framing))
        return HTTP_STEP_FAILED;
    parser->left = parser->total = framing.length;
    parser->step = framing.chunked ? HTTP_CHUNK_LENGTH : HTTP_IDENTITY;
    return framing.chunked || framing.length > 0 ? HTTP_STEP_NEEDS_DATA : HTTP_STEP_DONE;
}

/*
 * Adds readings if servers differ on the line ends of the headers. For Python, CR alone ends a header (for PHP see
 * head.c). For gunicorn, LF alone does not end a line, so its headers continue after an empty line without CR. Returns
 * false if a reading cannot be added.
 */
static bool add_readings_for_line_ends(struct http_feed *f, struct http_tx *tx)
{
    const struct buffer *head = &get_request(tx)->head;
    const uint8_t *at = head->bytes + get_request(tx)->headers_at, *end = head->bytes + head->length;

    if (get_request(tx)->plain && get_request(tx)->line_ends_regularly)
        return true;
    if (head->length >= 4 && memcmp(end - 4, "\r\n\r\n", 4) != 0 && !http_add_reading(f, HTTP_DIALECT_CRLF, false))
        return false;
    while ((at = memchr(at, '\r', (size_t)(end - at))) && at + 1 < end && at[1] == '\n')
        at += 2;
    return !at || at + 1 >= end || http_add_reading(f, HTTP_DIALECT_LENGTH, true);
}

static void evaluate_headers(struct http_feed *f, struct http_tx *tx)
{
    parse_host(f, tx);
    check_authorization(f, tx);
    app_tx_advance(&tx->base, FLOW_TO_SERVER, HTTP_HEADERS);
}

static enum http_step_result read_headers(struct http_feed *f)
{
    struct http_tx *tx = f->parser->tx;
    enum http_step_result result = http_read_headers(f, get_request(tx));

    if (result != HTTP_STEP_DONE)
        return result;
    evaluate_headers(f, tx);
    app_tx_confirm(&tx->base);
    if (!add_readings_for_line_ends(f, tx))
        return HTTP_STEP_FAILED;
    /* The reading of HTTP_DIALECT_CRLF gets here if the headers ended at an earlier line for all other dialects. */
    if (f->reading && !f->is_repeat && f->parser->messages == 1 && http_is_dialect(f, HTTP_DIALECT_CRLF))
        http_report_ambiguous(f, tx);
    result = determine_body(f, tx);
    if (tx->method == HTTP_METHOD_CONNECT && !f->reading && result != HTTP_STEP_FAILED) {
        /* In the main reading a CONNECT request has no body. http_determine_framing() has added readings for servers
         * that do not implement CONNECT: they read a body and requests after it. */
        f->parser->left = f->parser->total = 0;
        f->parser->step = HTTP_WAITING;
        return HTTP_STEP_DONE;
    }
    if (result == HTTP_STEP_NEEDS_DATA)
        http_body_begin(f, tx);
    else if (result == HTTP_STEP_DONE)
        http_request_complete(f, tx);
    return result == HTTP_STEP_FAILED ? HTTP_STEP_FAILED : HTTP_STEP_DONE;
}

/* --- Bodies --------------------------------------------------------------------------------------- */

static enum http_step_result reject_chunk(struct http_feed *f)
{
    http_event(f, f->parser->tx, HTTP_EVENT_INVALID_REQUEST_CHUNK_LEN);
    return HTTP_STEP_FAILED;
}

/* Adds readings at a chunk size line: for servers without chunked coding if the line is also a request line, and for
 * gunicorn if it ends with LF alone. Returns false if a reading cannot be added. */
static bool add_readings_for_chunk(struct http_feed *f, const uint8_t *line, uint32_t length)
{
    struct http_message *message = get_request(f->parser->tx);
    bool ends_with_lf = length < 2 || line[length - 2] != '\r';
    unsigned readings = f->state->reading_count;
    bool has_memory = true;

    if (f->reading && http_is_dialect(f, HTTP_DIALECT_CRLF))
        return true;
    f->unit_end = f->at;
    f->at -= length; /* a reading that is added starts with the chunk size line */
    if (message->wire_length == 0 && memchr(line, '/', length) && http_has_version(line, length))
        has_memory = http_add_reading(f, HTTP_DIALECT_LENGTH, true);
    readings = f->state->reading_count;
    if (has_memory && ends_with_lf && http_trim_line_end(line, length) > 0)
        has_memory =
            http_add_reading(f, HTTP_DIALECT_CRLF, true) && http_copy_body_to_reading(f, readings, HTTP_CHUNK_LENGTH);
    f->at += length;
    f->unit_end = 0;
    return has_memory;
}

static enum http_step_result read_chunk_length(struct http_feed *f)
{
    struct http_parser *parser = f->parser;
    const uint8_t *line;
    uint32_t length;
    bool extension = false;
    enum http_step_result result;

    if (http_chunk_is_impossible(f) && f->bytes[f->at + parser->chunk_blanks] != '+')
        return reject_chunk(f);
    result = f->at < f->length ? http_read_line(f, &line, &length) : HTTP_STEP_NEEDS_DATA;
    if (result == HTTP_STEP_DONE && !add_readings_for_chunk(f, line, length))
        return HTTP_STEP_FAILED;
    if (result == HTTP_STEP_DONE)
        parser->tx->message[f->direction].wire_length += length;
    if (result != HTTP_STEP_DONE || http_trim_line_end(line, length) == 0)
        return result;
    if (!http_parse_request_chunk_size(line, http_trim_line_end(line, length), &parser->left, &extension))
        return reject_chunk(f);
    if (extension)
        http_event(f, parser->tx, HTTP_EVENT_REQUEST_CHUNK_EXTENSION);
    parser->lines = 0;
    parser->step = parser->left > 0 ? HTTP_CHUNK_DATA : HTTP_AT_TRAILER;
    if (parser->step == HTTP_AT_TRAILER) {
        http_body_end(f, parser->tx, FLOW_TO_SERVER, true);
        app_tx_advance(&parser->tx->base, FLOW_TO_SERVER, HTTP_BODY);
    }
    return HTTP_STEP_DONE;
}

static enum http_step_result read_identity(struct http_feed *f)
{
    enum http_step_result result = http_read_identity(f);

    if (result == HTTP_STEP_DONE)
        http_request_complete(f, f->parser->tx);
    return result;
}

static enum http_step_result read_trailer(struct http_feed *f)
{
    enum http_step_result result = http_read_headers(f, get_request(f->parser->tx));

    if (result == HTTP_STEP_DONE)
        http_request_complete(f, f->parser->tx);
    return result;
}

/* --- Steps ---------------------------------------------------------------------------------------- */

/*
 * Waits for the response to a CONNECT. Parsing stops if the server has closed its direction. CR and LF before the first
 * byte of the tunnel are skipped.
 *
 * If the server refuses the tunnel, it reads the client's next bytes as another request. Therefore a line that looks
 * like a request is parsed as one even before the response arrives. Rules on the stream inspect these bytes in any
 * case.
 */
static enum http_step_result wait_for_response(struct http_feed *f)
{
    uint32_t length;

    if (f->state->parser[FLOW_TO_CLIENT].ended) {
        app_stop_parsing(f->context, false);
        return HTTP_STEP_ENDS_HTTP;
    }
    while (f->at < f->length && (f->bytes[f->at] == '\r' || f->bytes[f->at] == '\n'))
        f->at++;
    length = f->length - f->at < f->settings->field_limit ? f->length - f->at : f->settings->field_limit;
    length = http_line_length(f->bytes + f->at, length, 0, false, f->end);
    if (length == 0 || !looks_like_request(f->bytes + f->at, length))
        return HTTP_STEP_NEEDS_DATA;
    http_request_complete(f, f->parser->tx);
    return HTTP_STEP_DONE;
}

static enum http_step_result skip_bytes(struct http_feed *f)
{
    f->at = f->length;
    return HTTP_STEP_NEEDS_DATA;
}

enum http_step_result http_request_step(struct http_feed *f)
{
    static enum http_step_result (*const steps[HTTP_STEPS])(struct http_feed *) = {
        [HTTP_IDLE] = find_request,
        [HTTP_AT_LINE] = find_request,
        [HTTP_AFTER_0_9] = check_after_0_9,
        [HTTP_AT_HEADERS] = read_headers,
        [HTTP_IDENTITY] = read_identity,
        [HTTP_CHUNK_LENGTH] = read_chunk_length,
        [HTTP_CHUNK_DATA] = http_read_chunk_data,
        [HTTP_CHUNK_END] = http_skip_chunk_end,
        [HTTP_UNTIL_CLOSE] = http_read_until_close,
        [HTTP_AT_TRAILER] = read_trailer,
        [HTTP_WAITING] = wait_for_response,
        [HTTP_TUNNEL] = skip_bytes,
    };

    return steps[f->parser->step](f);
}

void http_request_end(struct http_feed *f)
{
    struct http_tx *tx = f->parser->tx;

    if (!tx)
        return;
    if (f->parser->step == HTTP_AT_HEADERS || f->parser->step == HTTP_AT_TRAILER) {
        get_request(tx)->headers_end = get_request(tx)->head.length;
        http_finish_headers(f, get_request(tx));
    }
    if (tx->base.progress[FLOW_TO_SERVER] < HTTP_HEADERS)
        evaluate_headers(f, tx);
    http_request_complete(f, tx);
}
