/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server's direction. A response belongs to the oldest request without response. If there is none, it gets a
 * transaction whose request was not seen.
 *
 * If the first line of the connection is not a status line, and a request waits for its response, all bytes are a body
 * (HTTP/0.9), as in browsers (except a very short line, or one before a status line: handle_invalid_line()). Other
 * lines that are not a status line are skipped; after a response they are its surplus bytes.
 */
#include "http_priv.h"

#include <string.h>
#include "sluice/bytes.h"
#include "sluice/hex.h"

static const char uri_not_seen[] = "/libhtp::request_uri_not_seen"; /* as in Suricata */

static struct http_message *get_response(struct http_tx *tx)
{
    return &tx->message[FLOW_TO_CLIENT];
}

/* Whether the bytes start with "http", after blanks or NUL bytes: browsers test no more than that. If the bytes end
 * within "http", returns true and sets *unsure. */
static bool looks_like_response(const uint8_t *bytes, uint32_t length, bool *unsure)
{
    uint32_t at = 0;

    while (at < length && (http_is_space(bytes[at]) || bytes[at] == 0))
        at++;
    uint32_t size = length - at < 4 ? length - at : 4;

    *unsure = false;
    for (uint32_t i = 0; i < size; i++) {
        if (http_lower(bytes[at + i]) != (uint8_t) "http"[i])
            return false;
    }
    *unsure = size < 4;
    return true;
}

/* Whether up to four other bytes precede "http": browsers skip them. */
static bool has_junk_before_status_line(const uint8_t *bytes, uint32_t length)
{
    enum { JUNK_MAX = 4, PROTOCOL_LENGTH = 4 };

    for (uint32_t at = 1; at <= JUNK_MAX && at + PROTOCOL_LENGTH <= length; at++) {
        if (bytes[at - 1] == '\r' || bytes[at - 1] == '\n')
            return false;
        if (http_equal_nocase(bytes + at, PROTOCOL_LENGTH, "http"))
            return true;
    }
    return false;
}

/* Whether a response may start with the line. */
static bool is_response_line(const uint8_t *bytes, uint32_t length)
{
    bool unsure, has_end = bytes[length - 1] == '\n' || bytes[length - 1] == '\r';
    uint32_t at = 0;

    while (at < length && (http_is_space(bytes[at]) || bytes[at] == 0))
        at++;
    return at < length && looks_like_response(bytes, length, &unsure) && !(unsure && has_end);
}

/* Adds to the body the bytes that directly follow the message in the same input and are not a response. Browsers
 * display these bytes, regardless of Content-Length. They are not consumed here. */
static void add_surplus(struct http_feed *f, struct http_tx *tx)
{
    uint32_t at = f->at, from = at, length;
    const uint8_t *value;

    while (at < f->length) {
        uint32_t size = http_line_length(f->bytes + at, f->length - at, 0, true, true);

        if (is_response_line(f->bytes + at, size))
            break;
        at += size;
    }
    if (at == from)
        return;
    /* wget and Python ignore some Content-Length values that Sluice accepts; for these clients the body continues to
     * the end of the connection and is decoded. */
    if (get_response(tx)->wire_length == 0 &&
        http_header_value(get_response(tx), HTTP_CONTENT_ENCODING, &value, &length))
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_CLOSE);
    bool quiet = f->quiet;

    http_body_flush(f, tx);
    f->quiet = true;
    http_body_add_surplus(f, tx, f->bytes + from, at - from);
    http_body_flush(f, tx);
    f->quiet = quiet;
}

/* Returns the next request of the main reading; the list also contains transactions of other readings and of other
 * protocols. */
static struct http_tx *next_request(const struct http_feed *f, const struct http_tx *tx)
{
    struct app_tx *base = f->alternative ? NULL : tx->base.next;

    while (base && (!http_owns_transaction(f, base) || ((struct http_tx *)base)->reading > 0))
        base = base->next;
    return (struct http_tx *)base;
}

void http_response_complete(struct http_feed *f, struct http_tx *tx)
{
    struct http_parser *parser = &f->state->parser[FLOW_TO_CLIENT];

    if (f->at < f->length && f->parser == parser && parser->step != HTTP_TUNNEL)
        add_surplus(f, tx);

    http_body_end(f, tx, FLOW_TO_CLIENT, parser->left == 0);
    app_tx_advance(&tx->base, FLOW_TO_CLIENT, HTTP_COMPLETE);
    f->state->next_unanswered = next_request(f, tx);
    parser->tx = NULL;
    parser->left = 0;
    parser->step = HTTP_IDLE;
}

/* --- Start of a response ------------------------------------------------------------------------- */

/* Assigns a new response to its transaction. Returns false if memory is exhausted. */
static bool begin_response(struct http_feed *f)
{
    struct http_parser *parser = f->parser, *other = &f->state->parser[FLOW_TO_SERVER];
    struct http_tx *tx = f->state->next_unanswered;

    if (!tx) {
        tx = http_tx_new(f);
        if (!tx)
            return false;
        http_event(f, tx, HTTP_EVENT_UNABLE_TO_MATCH_RESPONSE_TO_REQUEST);
        tx->request_unseen = true;
        tx->uri_raw = http_store_text(f, &tx->message[FLOW_TO_SERVER], uri_not_seen, sizeof(uri_not_seen) - 1);
        tx->uri = tx->path = tx->uri_raw;
        app_tx_advance(&tx->base, FLOW_TO_SERVER, HTTP_COMPLETE);
    }
    parser->tx = tx;
    parser->messages++;
    parser->lines = 0;
    parser->left = 0;
    parser->step = HTTP_AT_LINE;
    f->response_from = f->at;
    f->head_before = 0;
    if (other->step == HTTP_AFTER_0_9 && other->tx == tx)
        http_request_complete(f, tx);
    return true;
}

static void begin_body_without_head(struct http_feed *f)
{
    struct http_tx *tx = f->parser->tx;

    app_tx_advance(&tx->base, FLOW_TO_CLIENT, HTTP_HEADERS);
    f->parser->step = HTTP_UNTIL_CLOSE;
    http_body_begin(f, tx);
}

struct http_tx *http_response_restore(struct http_feed *f, bool without_head)
{
    if (!begin_response(f))
        return NULL;
    if (without_head)
        begin_body_without_head(f);
    return f->parser->tx;
}

/* Skips a line that follows a response but is not a status line. Some clients read it as a body without headers, and do
 * so before the line is complete, so that alternative reading (HTTP_ALTERNATIVE_SURPLUS) is requested at the first byte
 * of the line. */
static enum http_step_result skip_unexpected(struct http_feed *f)
{
    const uint8_t *line;
    uint32_t length;

    if (f->bytes[f->at] != '\r' && f->bytes[f->at] != '\n')
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_SURPLUS);

    enum http_step_result result = http_read_line(f, &line, &length);

    /* The event belongs to the next transaction, if there is one: the previous one may have been freed. */
    if (result == HTTP_STEP_DONE && http_trim_line_end(line, length) > 0 && f->state->next_unanswered)
        http_event(f, f->state->next_unanswered, HTTP_EVENT_RESPONSE_BODY_UNEXPECTED);
    return result;
}

static enum http_step_result find_response(struct http_feed *f)
{
    const struct http_tx *waiting = f->state->next_unanswered;
    bool unsure, is_response;

    if (f->at == f->length)
        return HTTP_STEP_NEEDS_DATA;
    if ((waiting && waiting->is_0_9) || (f->parser->messages == 0 && f->parser->flags & HTTP_READ_NO_HEAD)) {
        if (!begin_response(f))
            return HTTP_STEP_FAILED;
        begin_body_without_head(f);
        return HTTP_STEP_DONE;
    }
    if (f->parser->messages == 0 && f->parser->flags & HTTP_READ_ANY_LINE)
        return begin_response(f) ? HTTP_STEP_DONE : HTTP_STEP_FAILED;
    is_response = looks_like_response(f->bytes + f->at, f->length - f->at, &unsure);
    if (!is_response && f->parser->messages > 0 && has_junk_before_status_line(f->bytes + f->at, f->length - f->at))
        return begin_response(f) ? HTTP_STEP_DONE : HTTP_STEP_FAILED;
    if (is_response && unsure)
        return f->end || f->length - f->at > f->settings->field_limit ? skip_unexpected(f) : HTTP_STEP_NEEDS_DATA;
    if (!is_response && (f->parser->messages > 0 || !waiting))
        return skip_unexpected(f);
    return begin_response(f) ? HTTP_STEP_DONE : HTTP_STEP_FAILED;
}

/* --- Status line --------------------------------------------------------------------------------- */

static struct http_text next_word(const uint8_t *bytes, uint32_t *at, uint32_t end)
{
    struct http_text text = { .at = *at };

    while (*at < end && !http_is_space(bytes[*at]))
        (*at)++;
    text.length = *at - text.at;
    text.is_set = text.length > 0;
    return text;
}

static void skip_spaces(const uint8_t *bytes, uint32_t *at, uint32_t end)
{
    while (*at < end && http_is_space(bytes[*at]))
        (*at)++;
}

static uint16_t parse_status(const uint8_t *bytes, uint32_t length)
{
    if (length != 3 || !http_is_digit(bytes[0]) || !http_is_digit(bytes[1]) || !http_is_digit(bytes[2]) ||
        bytes[0] == '0')
        return 0;
    return (uint16_t)((bytes[0] - '0') * 100 + (bytes[1] - '0') * 10 + (bytes[2] - '0'));
}

static void parse_status_line(struct http_feed *f, struct http_tx *tx, uint32_t end)
{
    struct http_message *message = get_response(tx);
    const uint8_t *bytes = message->head.bytes;
    uint32_t at = 0;

    while (at < end && (http_is_space(bytes[at]) || bytes[at] == 0))
        at++;
    tx->response_protocol = next_word(bytes, &at, end);
    message->version = (uint8_t)http_parse_version(bytes + tx->response_protocol.at, tx->response_protocol.length);
    if (message->version == HTTP_VERSION_INVALID)
        http_event(f, tx, HTTP_EVENT_RESPONSE_INVALID_PROTOCOL);
    if (message->version == HTTP_VERSION_INVALID || tx->response_protocol.at > 0)
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_NO_HEAD);
    skip_spaces(bytes, &at, end);
    tx->status_text = next_word(bytes, &at, end);
    tx->status = parse_status(bytes + tx->status_text.at, tx->status_text.length);
    if (tx->status == 0) {
        http_event(f, tx, HTTP_EVENT_RESPONSE_INVALID_STATUS);
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_LINES);
    }
    if (f->parser->flags & HTTP_READ_ANY_LINE && tx->status_text.is_set && !http_is_digit(bytes[tx->status_text.at]))
        at = tx->status_text.at; /* the second word is no status, so the reason phrase starts with it */
    tx->status_message = (struct http_text){ 0 };
    if (tx->status_text.is_set && at < end) {
        skip_spaces(bytes, &at, end);
        tx->status_message = (struct http_text){ .at = at, .length = end - at, .is_set = true };
    }
}

static bool is_interim(const struct http_tx *tx)
{
    return tx->status >= 100 && tx->status < 200;
}

/* Handles the first line of the connection if it is not a status line: it starts a body without headers, unless it is
 * very short or the next line may be a status line. */
static enum http_step_result handle_invalid_line(struct http_feed *f, uint32_t length)
{
    if (http_trim_line_end(f->bytes + f->at - length, length) <= 2)
        return HTTP_STEP_DONE;
    if (f->at == f->length && !f->end) { /* the first byte of the next line is needed */
        f->at -= length;
        return HTTP_STEP_NEEDS_DATA;
    }
    if (f->at < f->length && f->bytes[f->at] == 'H')
        return HTTP_STEP_DONE;
    f->at -= length;
    begin_body_without_head(f);
    return HTTP_STEP_DONE;
}

static enum http_step_result read_status_line(struct http_feed *f)
{
    struct http_tx *tx = f->parser->tx;
    struct http_message *message = get_response(tx);
    const uint8_t *line;
    uint32_t length, size;
    bool unsure, any = f->parser->flags & HTTP_READ_ANY_LINE;

    if (f->at < f->length && !any && !looks_like_response(f->bytes + f->at, f->length - f->at, &unsure)) {
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_NO_HEAD | 1 << HTTP_ALTERNATIVE_LINES);
        if (f->length - f->at > f->settings->field_limit) { /* a line of this length is not a status line */
            begin_body_without_head(f);
            return HTTP_STEP_DONE;
        }
    }
    enum http_step_result result = f->at < f->length ? http_read_line(f, &line, &length) : HTTP_STEP_NEEDS_DATA;

    if (result != HTTP_STEP_DONE || http_trim_line_end(line, length) == 0)
        return result;
    size = http_trim_line_end(line, length);
    if (!any && (!looks_like_response(line, size, &unsure) || unsure))
        return handle_invalid_line(f, length);
    unsigned ambiguities = http_line_ambiguities(line, length);

    if (ambiguities != 0)
        http_request_alternatives(f, ambiguities);
    if (!http_store_line(f, message, line, length))
        return HTTP_STEP_FAILED;
    parse_status_line(f, tx, size);
    /* The progress advances at the status line of the final response, not at that of an interim response. */
    if (tx->status != 100 && !(is_interim(tx) && f->parser->flags & HTTP_READ_INTERIM))
        app_tx_advance(&tx->base, FLOW_TO_CLIENT, HTTP_LINE);
    f->parser->lines = 0;
    f->parser->step = HTTP_AT_HEADERS;
    return HTTP_STEP_DONE;
}

/* --- Evaluation of headers ----------------------------------------------------------------------- */

/* Discards an interim response such as "100 Continue": the final response follows. */
static void discard_interim_response(struct http_feed *f, struct http_tx *tx)
{
    if (tx->seen_100)
        http_event(f, tx, HTTP_EVENT_100_CONTINUE_ALREADY_SEEN);
    tx->seen_100 = true;
    http_message_clear(f->context, get_response(tx));
    tx->response_protocol = tx->status_text = tx->status_message = (struct http_text){ 0 };
    tx->status = 0;
    f->parser->step = HTTP_AT_LINE;
    f->response_from = f->at;
    f->head_before = 0;
}

/* Ends HTTP in both directions. `proto`: the protocol that follows, NULL to detect it. `optional`: if this protocol is
 * not detected, the flow remains HTTP, and the HTTP parser skips the rest. */
static enum http_step_result end_http(struct http_feed *f, struct http_tx *tx, const char *proto, bool optional)
{
    struct http_parser *other = &f->state->parser[FLOW_TO_SERVER];

    if (other->tx == tx)
        http_request_complete(f, tx);
    while (f->at < f->length && (f->bytes[f->at] == '\r' || f->bytes[f->at] == '\n'))
        f->at++;
    f->parser->step = HTTP_TUNNEL;
    http_response_complete(f, tx);
    app_change_protocol(f->context, proto, optional);
    f->parser->step = other->step = HTTP_TUNNEL;
    return HTTP_STEP_ENDS_HTTP;
}

/* Whether the request had an Upgrade header. In a flow that was picked up midstream the request of the first response
 * may not have been seen. Such a request is assumed to have had the header. */
static bool upgrade_was_requested(const struct http_feed *f, const struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;

    return (tx->request_unseen && f->parser->messages <= 1) ||
           http_header_value(&tx->message[FLOW_TO_SERVER], HTTP_UPGRADE, &value, &length);
}

/* Appends a field to the request that HTTP/2 continues (app_set_tag()): lengths of name and value, name, value. */
static bool append_field(struct http_feed *f, struct buffer *tag, const void *name, uint32_t name_length,
                         const uint8_t *value, uint32_t value_length)
{
    struct heap *heap = app_heap(f->context);
    uint8_t lengths[4];

    store_be16(lengths, name_length);
    store_be16(lengths + 2, value_length);
    return name_length <= UINT16_MAX && value_length <= UINT16_MAX &&
           buffer_append(heap, tag, lengths, sizeof(lengths), APP_TAG_MAX) == sizeof(lengths) &&
           buffer_append(heap, tag, name, name_length, APP_TAG_MAX) == name_length &&
           buffer_append(heap, tag, value, value_length, APP_TAG_MAX) == value_length;
}

/* Passes the request to the parser of HTTP/2, in which its response is that of stream 1. As in Suricata, its further
 * headers are not passed: rules have inspected them with HTTP/1. A request that is too long for a tag is not passed;
 * the response then has no request. */
static void pass_request(struct http_feed *f, const struct http_tx *tx)
{
    static const char method[] = ":method", path[] = ":path", authority[] = ":authority", settings[] = "http2-settings";
    const struct http_message *request = &tx->message[FLOW_TO_SERVER];
    struct buffer tag = { 0 };
    const uint8_t *host;
    uint32_t length;
    struct app_bytes value;
    bool stored =
        tx->method_text.is_set && tx->uri_raw.is_set &&
        append_field(f, &tag, method, sizeof(method) - 1, http_text_bytes(request, &tx->method_text),
                     tx->method_text.length) &&
        append_field(f, &tag, path, sizeof(path) - 1, http_text_bytes(request, &tx->uri_raw), tx->uri_raw.length);

    if (stored && http_header_value(request, HTTP_HOST, &host, &length))
        stored = append_field(f, &tag, authority, sizeof(authority) - 1, host, length);
    if (stored && http_get_named(&tx->base, settings, &value))
        stored = append_field(f, &tag, settings, sizeof(settings) - 1, value.bytes, value.length);
    if (stored)
        app_set_tag(f->context, tag.bytes, tag.length);
    buffer_clear(app_heap(f->context), &tag);
}

static enum http_step_result handle_upgrade(struct http_feed *f, struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;
    const char *proto = NULL;

    if (http_header_value(get_response(tx), HTTP_UPGRADE, &value, &length)) {
        if (http_find_nocase(value, length, "h2c")) {
            proto = "http2";
            pass_request(f, tx);
        } else if (http_find_nocase(value, length, "websocket")) {
            proto = "websocket";
        }
    }
    return end_http(f, tx, proto, !proto);
}

/* If the client waits for 100 Continue (Expect), and the server sends a 4xx response before any byte of the body, the
 * request has no body. */
static void complete_expecting_request(struct http_feed *f, struct http_tx *tx)
{
    struct http_parser *other = &f->state->parser[FLOW_TO_SERVER];
    const uint8_t *value;
    uint32_t length;

    if (other->tx != tx || other->step != HTTP_IDENTITY || other->left < other->total || tx->status < 400 ||
        tx->status > 499)
        return;
    if (http_header_value(&tx->message[FLOW_TO_SERVER], HTTP_EXPECT, &value, &length) &&
        http_equal_nocase(value, length, "100-continue")) {
        other->left = 0;
        http_request_complete(f, tx);
    }
}

static void begin_chunks(struct http_feed *f, struct http_tx *tx, const uint8_t *value, uint32_t length)
{
    if (!http_equal_nocase(value, length, "chunked")) {
        http_event(f, tx, HTTP_EVENT_RESPONSE_ABNORMAL_TRANSFER_ENCODING);
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_RAW);
    }
    if (get_response(tx)->version < HTTP_VERSION_1_1) {
        http_event(f, tx, HTTP_EVENT_RESPONSE_CHUNKED_OLD_PROTO);
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_RAW);
    }
    f->parser->step = HTTP_CHUNK_LENGTH;
}

static void begin_length(struct http_feed *f, struct http_tx *tx, const uint8_t *value, uint32_t length)
{
    struct http_parser *parser = f->parser;

    parser->step = HTTP_UNTIL_CLOSE;
    /* If the length is negative, some clients read until the connection ends, and others read no body. */
    if (!http_parse_length(value, length, &parser->total) || value[0] == '-') {
        http_event(f, tx, HTTP_EVENT_INVALID_CONTENT_LENGTH_FIELD_IN_RESPONSE);
        parser->total = 0;
        return;
    }
    for (uint32_t at = 0; at < length; at++) {
        if (!http_is_digit(value[at])) {
            http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_CLOSE);
            break;
        }
    }
    if (!http_is_digit(value[0]))
        http_event(f, tx, HTTP_EVENT_CONTENT_LENGTH_EXTRA_DATA_START);
    if (!http_is_digit(value[length - 1]))
        http_event(f, tx, HTTP_EVENT_CONTENT_LENGTH_EXTRA_DATA_END);
    parser->left = parser->total;
    parser->step = HTTP_IDENTITY;
}

/* Determines the body length and sets the step that consumes the body; HTTP_IDLE if there is none. */
static void determine_body(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_response(tx);
    const uint8_t *coding, *size, *type;
    uint32_t coding_length, size_length, type_length;
    bool has_coding = http_header_value(message, HTTP_TRANSFER_ENCODING, &coding, &coding_length);
    bool has_size = http_header_value(message, HTTP_CONTENT_LENGTH, &size, &size_length);
    bool bodiless = is_interim(tx) || tx->status == 204 || tx->status == 304;

    f->parser->step = HTTP_IDLE;
    f->parser->left = f->parser->total = 0;
    if (f->parser->flags & HTTP_READ_CLOSE) {
        f->parser->step = HTTP_UNTIL_CLOSE;
        return;
    }
    if (tx->method == HTTP_METHOD_HEAD || (bodiless && !has_coding && !has_size))
        return;
    if (bodiless) /* browsers read a body in this case, too */
        http_event(f, tx, HTTP_EVENT_RESPONSE_BODY_UNEXPECTED);
    if (has_coding && http_find_nocase(coding, coding_length, "chunked")) {
        begin_chunks(f, tx, coding, coding_length);
        return;
    }
    if (has_coding)
        http_event(f, tx, HTTP_EVENT_INVALID_TRANSFER_ENCODING_VALUE_IN_RESPONSE);
    if (has_size) {
        begin_length(f, tx, size, size_length);
        if (f->parser->step == HTTP_IDENTITY && f->parser->left == 0)
            f->parser->step = HTTP_IDLE;
        return;
    }
    if (http_header_value(message, HTTP_CONTENT_TYPE, &type, &type_length) &&
        http_find_nocase(type, type_length, "multipart/byteranges"))
        http_event(f, tx, HTTP_EVENT_RESPONSE_MULTIPART_BYTERANGES);
    f->parser->step = HTTP_UNTIL_CLOSE;
}

static bool has_length(const struct http_message *message)
{
    const uint8_t *value;
    uint32_t length;

    return http_header_value(message, HTTP_TRANSFER_ENCODING, &value, &length) ||
           http_header_value(message, HTTP_CONTENT_LENGTH, &value, &length);
}

/* Requests a reading for each other name in Content-Disposition. */
static void report_name_ambiguity(struct http_feed *f, struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;
    struct http_names names;

    if (f->alternative || !http_header_value(get_response(tx), HTTP_CONTENT_DISPOSITION, &value, &length))
        return;
    http_find_other_names(value, length, &names);
    if (names.count > 0)
        http_request_alternatives(f, ((1u << names.count) - 1) << HTTP_ALTERNATIVE_NAME_1);
}

/* Requests readings if clients differ on a 1xx: it may be an interim response, or the response itself. */
static void report_interim_ambiguity(struct http_feed *f, struct http_tx *tx)
{
    if (!is_interim(tx))
        return;
    if (has_length(get_response(tx)))
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_FINAL | 1 << HTTP_ALTERNATIVE_INTERIM |
                                         1 << HTTP_ALTERNATIVE_LINES);
    else if (tx->status > 103 || (tx->status == 101 && !upgrade_was_requested(f, tx)))
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_FINAL | 1 << HTTP_ALTERNATIVE_INTERIM);
    else if (tx->status == 100 && tx->seen_100) /* PHP skips one 100; a second one is its final response */
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_FINAL);
    else if (tx->status != 101 && get_response(tx)->header_count > 0)
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_FINAL_100);
}

/* Whether the response is an interim one that another response follows. */
static bool is_interim_response(const struct http_feed *f, struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;
    uint64_t number = 0;

    if (f->parser->flags & HTTP_READ_FINAL)
        return false;
    if (f->parser->flags & HTTP_READ_INTERIM && is_interim(tx))
        return true;
    if (tx->status != 100 || http_header_value(get_response(tx), HTTP_TRANSFER_ENCODING, &value, &length))
        return false;
    return !http_header_value(get_response(tx), HTTP_CONTENT_LENGTH, &value, &length) ||
           !http_parse_length(value, length, &number) || number == 0;
}

static enum http_step_result read_headers(struct http_feed *f)
{
    struct http_tx *tx = f->parser->tx;
    struct http_parser *other = &f->state->parser[FLOW_TO_SERVER];
    enum http_step_result result = http_read_headers(f, get_response(tx));

    if (result != HTTP_STEP_DONE)
        return result;
    report_interim_ambiguity(f, tx);
    if (is_interim_response(f, tx)) {
        discard_interim_response(f, tx);
        return HTTP_STEP_DONE;
    }
    app_tx_advance(&tx->base, FLOW_TO_CLIENT, HTTP_HEADERS);
    report_name_ambiguity(f, tx);
    if (f->alternative) {
        determine_body(f, tx);
        if (f->parser->step == HTTP_IDLE)
            http_response_complete(f, tx);
        else
            http_body_begin(f, tx);
        return HTTP_STEP_DONE;
    }
    if (tx->method == HTTP_METHOD_CONNECT && tx->status >= 200 && tx->status < 300)
        return end_http(f, tx, NULL, false);
    if (other->step == HTTP_WAITING && other->tx == tx)
        http_request_complete(f, tx);
    if (tx->status == 101 && !has_length(get_response(tx)) && upgrade_was_requested(f, tx))
        return handle_upgrade(f, tx);
    if (tx->status == 101)
        http_event(f, tx, HTTP_EVENT_SWITCHING_PROTO_WITH_CONTENT_LENGTH);
    complete_expecting_request(f, tx);
    determine_body(f, tx);
    if (f->parser->step == HTTP_IDLE)
        http_response_complete(f, tx);
    else
        http_body_begin(f, tx);
    return HTTP_STEP_DONE;
}

/* --- Bodies --------------------------------------------------------------------------------------- */

/* Ends the chunked coding after an invalid chunk size: browsers display the following bytes as they are. */
static enum http_step_result stop_chunk_decoding(struct http_feed *f)
{
    http_event(f, f->parser->tx, HTTP_EVENT_INVALID_RESPONSE_CHUNK_LEN);
    f->parser->left = 0;
    f->parser->scanned = f->parser->chunk_blanks = 0;
    f->parser->step = HTTP_UNTIL_CLOSE;
    return HTTP_STEP_DONE;
}

/* Returns the length of white space, a sign and "0x" before a chunk size. wget and Python accept such a prefix, and
 * other clients read no more of the body than wget and Python do. */
static uint32_t chunk_prefix_length(const uint8_t *line, uint32_t length)
{
    uint32_t at = 0;

    while (at < length && http_is_space(line[at]))
        at++;
    at += at < length && line[at] == '+';
    if (at + 2 < length && line[at] == '0' && (line[at + 1] | 0x20) == 'x' && hex_digit(line[at + 2]) >= 0)
        at += 2;
    return at;
}

/* Whether the chunk size line contains CR without LF. PHP stops decoding there and delivers the rest of the connection
 * as the body. */
static bool chunk_size_ends_with_cr(const struct http_feed *f)
{
    uint32_t left = f->length - f->at, limit = left < f->settings->field_limit ? left : f->settings->field_limit;
    const uint8_t *line = f->bytes + f->at;
    uint32_t at = f->parser->scanned > 0 ? f->parser->scanned - 1 : 0; /* the last scanned byte may be a CR */

    while (at < limit && line[at] != '\r' && line[at] != '\n')
        at++;
    return at + 1 < left && at < limit && line[at] == '\r' && line[at + 1] != '\n';
}

static enum http_step_result read_chunk_length(struct http_feed *f)
{
    struct http_parser *parser = f->parser;
    const uint8_t *line;
    uint32_t length;
    bool extension = false;
    enum http_step_result result;

    if (http_chunk_is_impossible(f) && f->bytes[f->at + parser->chunk_blanks] != '+')
        return stop_chunk_decoding(f);
    if (f->at < f->length && !f->quiet && chunk_size_ends_with_cr(f))
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_RAW);
    result = f->at < f->length ? http_read_line(f, &line, &length) : HTTP_STEP_NEEDS_DATA;
    if (result == HTTP_STEP_DONE)
        get_response(parser->tx)->wire_length += length;
    if (result != HTTP_STEP_DONE || http_trim_line_end(line, length) == 0)
        return result;
    uint32_t size = http_trim_line_end(line, length), prefix = chunk_prefix_length(line, size);

    if (!http_parse_chunk_size(line + prefix, size - prefix, &parser->left, &extension)) {
        f->at -= length;
        get_response(parser->tx)->wire_length -= length;
        return stop_chunk_decoding(f);
    }
    if (extension)
        http_event(f, parser->tx, HTTP_EVENT_RESPONSE_CHUNK_EXTENSION);
    parser->lines = 0;
    parser->step = parser->left > 0 ? HTTP_CHUNK_DATA : HTTP_AT_TRAILER;
    if (parser->step == HTTP_AT_TRAILER) {
        http_body_end(f, parser->tx, FLOW_TO_CLIENT, true);
        app_tx_advance(&parser->tx->base, FLOW_TO_CLIENT, HTTP_BODY);
    }
    return HTTP_STEP_DONE;
}

static enum http_step_result read_identity(struct http_feed *f)
{
    enum http_step_result result = http_read_identity(f);

    if (result == HTTP_STEP_DONE)
        http_response_complete(f, f->parser->tx);
    return result;
}

static enum http_step_result read_trailer(struct http_feed *f)
{
    enum http_step_result result = http_read_headers(f, get_response(f->parser->tx));

    if (result == HTTP_STEP_DONE)
        http_response_complete(f, f->parser->tx);
    return result;
}

static enum http_step_result skip_bytes(struct http_feed *f)
{
    f->at = f->length;
    return HTTP_STEP_NEEDS_DATA;
}

enum http_step_result http_response_step(struct http_feed *f)
{
    static enum http_step_result (*const steps[HTTP_STEPS])(struct http_feed *) = {
        [HTTP_IDLE] = find_response,
        [HTTP_AT_LINE] = read_status_line,
        [HTTP_AFTER_0_9] = skip_bytes,
        [HTTP_AT_HEADERS] = read_headers,
        [HTTP_IDENTITY] = read_identity,
        [HTTP_CHUNK_LENGTH] = read_chunk_length,
        [HTTP_CHUNK_DATA] = http_read_chunk_data,
        [HTTP_CHUNK_END] = http_skip_chunk_end,
        [HTTP_UNTIL_CLOSE] = http_read_until_close,
        [HTTP_AT_TRAILER] = read_trailer,
        [HTTP_WAITING] = skip_bytes,
        [HTTP_TUNNEL] = skip_bytes,
    };

    return steps[f->parser->step](f);
}

void http_response_end(struct http_feed *f)
{
    struct http_tx *tx = f->parser->tx;

    if (tx && (f->parser->step == HTTP_AT_HEADERS || f->parser->step == HTTP_AT_TRAILER)) {
        get_response(tx)->headers_end = get_response(tx)->head.length;
        http_finish_headers(f, get_response(tx));
    }
    if (tx)
        http_response_complete(f, tx);
    f->state->next_unanswered = NULL; /* no response follows, and the framework may free the transaction */
}
