/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server's direction. A response belongs to the oldest request without response. If there is none, a transaction
 * with an unseen request is created for it.
 *
 * A first line that is not a status line makes all bytes a body, as in browsers (HTTP/0.9). Later lines of this kind
 * are surplus bytes after a response.
 */
#include "http_priv.h"

#include <string.h>
#include "sluice/hex.h"

static const char uri_not_seen[] = "/libhtp::request_uri_not_seen"; /* as in Suricata */

static struct http_message *get_response(struct http_tx *tx)
{
    return &tx->message[FLOW_TO_CLIENT];
}

/* Browsers compare "http" only. *unsure: there are too few bytes to decide. */
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

/* Browsers skip up to four bytes before the status line. */
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

static bool has_no_body(const struct http_tx *tx)
{
    return (tx->status >= 100 && tx->status < 200) || tx->status == 204 || tx->status == 304;
}

/* Adds the bytes right after the message, in the same input, that are not a response: browsers display them, regardless
 * of the announced length. They are not consumed here. */
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
    /* wget and Python reject some lengths that Sluice accepts; they then read and decode these bytes as the body, up to
     * the end of the connection. */
    if (get_response(tx)->wire_length == 0 && http_value(get_response(tx), HTTP_CONTENT_ENCODING, &value, &length))
        http_request_alternatives(f, 1 << HTTP_WAY_CLOSE);
    bool quiet = f->quiet;

    http_body_flush(f, tx);
    f->quiet = true;
    http_body_add_surplus(f, tx, f->bytes + from, at - from);
    http_body_flush(f, tx);
    f->quiet = quiet;
}

/* Returns the next request of the main reading. Transactions of other readings, also of other protocols, are in the
 * same list. */
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

/* Creates the transaction of a response without request. */
static struct http_tx *add_unseen_request(struct http_feed *f)
{
    struct http_tx *tx = http_tx_new(f);

    if (!tx)
        return NULL;
    http_event(f, tx, HTTP_EVENT_UNABLE_TO_MATCH_RESPONSE_TO_REQUEST);
    tx->request_unseen = true;
    tx->uri_raw = http_store_text(f, &tx->message[FLOW_TO_SERVER], uri_not_seen, sizeof(uri_not_seen) - 1);
    tx->uri = tx->path = tx->uri_raw;
    app_tx_advance(&tx->base, FLOW_TO_SERVER, HTTP_COMPLETE);
    return tx;
}

/* Assigns a new response to its transaction. */
static bool begin_response(struct http_feed *f)
{
    struct http_parser *parser = f->parser, *other = &f->state->parser[FLOW_TO_SERVER];
    struct http_tx *tx = f->state->next_unanswered;

    if (!tx)
        tx = add_unseen_request(f);
    if (!tx)
        return false;
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

/* Skips a line after a response that is not a status line. Clients that read it as a body do not wait for the end of
 * the line, so the first byte already adds the other reading. */
static enum http_step_result skip_unexpected(struct http_feed *f)
{
    const uint8_t *line;
    uint32_t length;

    if (f->bytes[f->at] != '\r' && f->bytes[f->at] != '\n')
        http_request_alternatives(f, 1 << HTTP_WAY_SURPLUS);

    enum http_step_result result = http_read_line(f, &line, &length);

    /* The previous transaction may have been freed, so the event is set on the next one, if there is one. */
    if (result == HTTP_STEP_DONE && http_trim_line_end(line, length) > 0 && f->state->next_unanswered)
        http_event(f, f->state->next_unanswered, HTTP_EVENT_RESPONSE_BODY_UNEXPECTED);
    return result;
}

static enum http_step_result between_responses(struct http_feed *f)
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
        http_request_alternatives(f, 1 << HTTP_WAY_NO_HEAD);
    skip_spaces(bytes, &at, end);
    tx->status_text = next_word(bytes, &at, end);
    tx->status = parse_status(bytes + tx->status_text.at, tx->status_text.length);
    if (tx->status == 0) {
        http_event(f, tx, HTTP_EVENT_RESPONSE_INVALID_STATUS);
        http_request_alternatives(f, 1 << HTTP_WAY_LINES);
    }
    if (f->parser->flags & HTTP_READ_ANY_LINE && tx->status_text.is_set && !http_is_digit(bytes[tx->status_text.at]))
        at = tx->status_text.at; /* there is no status; this is the reason phrase */
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

/* Handles the first line of the connection if it is not a status line. */
static enum http_step_result handle_invalid_line(struct http_feed *f, uint32_t length)
{
    if (http_trim_line_end(f->bytes + f->at - length, length) <= 2)
        return HTTP_STEP_DONE;           /* skipping it loses nothing */
    if (f->at == f->length && !f->end) { /* the next byte decides */
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
        http_request_alternatives(f, 1 << HTTP_WAY_NO_HEAD | 1 << HTTP_WAY_LINES);
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
    if (tx->status != 100 && !(is_interim(tx) && f->parser->flags & HTTP_READ_INTERIM)) /* the final response follows */
        app_tx_advance(&tx->base, FLOW_TO_CLIENT, HTTP_LINE);
    f->parser->lines = 0;
    f->parser->step = HTTP_AT_HEADERS;
    return HTTP_STEP_DONE;
}

/* --- Evaluation of headers ----------------------------------------------------------------------- */

/* Handles "100 Continue": the final response follows. */
static void skip_continue(struct http_feed *f, struct http_tx *tx)
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

/* Ends HTTP: another protocol follows in both directions. */
static enum http_step_result end_http(struct http_feed *f, struct http_tx *tx, const char *proto, bool known)
{
    struct http_parser *other = &f->state->parser[FLOW_TO_SERVER];

    if (other->tx == tx)
        http_request_complete(f, tx);
    while (f->at < f->length && (f->bytes[f->at] == '\r' || f->bytes[f->at] == '\n'))
        f->at++;
    f->parser->step = HTTP_TUNNEL;
    http_response_complete(f, tx);
    if (known)
        app_change_protocol(f->context, proto, false);
    else
        app_stop_parsing(f->context, false);
    f->parser->step = other->step = HTTP_TUNNEL;
    return HTTP_STEP_ENDS_HTTP;
}

/* Whether the request had an Upgrade header. The first response of a flow that was picked up midstream may answer a
 * request that was not seen: assume that this request had one. */
static bool upgrade_was_requested(const struct http_feed *f, const struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;

    return (tx->request_unseen && f->parser->messages <= 1) ||
           http_value(&tx->message[FLOW_TO_SERVER], HTTP_UPGRADE, &value, &length);
}

static enum http_step_result handle_upgrade(struct http_feed *f, struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;
    const char *proto = NULL;

    if (http_value(get_response(tx), HTTP_UPGRADE, &value, &length)) {
        if (http_find_nocase(value, length, "h2c"))
            proto = "http2";
        else if (http_find_nocase(value, length, "websocket"))
            proto = "websocket";
    }
    return end_http(f, tx, proto, !proto || app_id_by_name(proto) > 0);
}

/* The client waits for a 100 before it sends the body, but an error response arrived instead. */
static void end_expectation(struct http_feed *f, struct http_tx *tx)
{
    struct http_parser *other = &f->state->parser[FLOW_TO_SERVER];
    const uint8_t *value;
    uint32_t length;

    if (other->tx != tx || other->step != HTTP_IDENTITY || other->left < other->total || tx->status < 400 ||
        tx->status > 499)
        return;
    if (http_value(&tx->message[FLOW_TO_SERVER], HTTP_EXPECT, &value, &length) &&
        http_equal_nocase(value, length, "100-continue")) {
        other->left = 0;
        http_request_complete(f, tx);
    }
}

static void begin_chunks(struct http_feed *f, struct http_tx *tx, const uint8_t *value, uint32_t length)
{
    if (!http_equal_nocase(value, length, "chunked")) {
        http_event(f, tx, HTTP_EVENT_RESPONSE_ABNORMAL_TRANSFER_ENCODING);
        http_request_alternatives(f, 1 << HTTP_WAY_RAW);
    }
    if (get_response(tx)->version < HTTP_VERSION_1_1) {
        http_event(f, tx, HTTP_EVENT_RESPONSE_CHUNKED_OLD_PROTO);
        http_request_alternatives(f, 1 << HTTP_WAY_RAW);
    }
    f->parser->step = HTTP_CHUNK_LENGTH;
}

static void begin_length(struct http_feed *f, struct http_tx *tx, const uint8_t *value, uint32_t length)
{
    struct http_parser *parser = f->parser;

    parser->step = HTTP_UNTIL_CLOSE;
    /* With a negative length clients read until the connection ends, or nothing. */
    if (!http_parse_length(value, length, &parser->total) || value[0] == '-') {
        http_event(f, tx, HTTP_EVENT_INVALID_CONTENT_LENGTH_FIELD_IN_RESPONSE);
        parser->total = 0;
        return;
    }
    for (uint32_t at = 0; at < length; at++) {
        if (!http_is_digit(value[at])) {
            http_request_alternatives(f, 1 << HTTP_WAY_CLOSE);
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
    bool has_coding = http_value(message, HTTP_TRANSFER_ENCODING, &coding, &coding_length);
    bool has_size = http_value(message, HTTP_CONTENT_LENGTH, &size, &size_length);
    bool bodiless = has_no_body(tx);

    f->parser->step = HTTP_IDLE;
    f->parser->left = f->parser->total = 0;
    if (f->parser->flags & HTTP_READ_CLOSE) {
        f->parser->step = HTTP_UNTIL_CLOSE;
        return;
    }
    if (tx->method == HTTP_METHOD_HEAD || (bodiless && !has_coding && !has_size))
        return;
    if (bodiless) /* browsers accept a body nevertheless */
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
    if (http_value(message, HTTP_CONTENT_TYPE, &type, &type_length) &&
        http_find_nocase(type, type_length, "multipart/byteranges"))
        http_event(f, tx, HTTP_EVENT_RESPONSE_MULTIPART_BYTERANGES);
    f->parser->step = HTTP_UNTIL_CLOSE;
}

static bool has_length(const struct http_message *message)
{
    const uint8_t *value;
    uint32_t length;

    return http_value(message, HTTP_TRANSFER_ENCODING, &value, &length) ||
           http_value(message, HTTP_CONTENT_LENGTH, &value, &length);
}

/* Clients differ on the file name. */
static void report_name_ambiguity(struct http_feed *f, struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;
    struct http_names names;

    if (f->alternative || !http_value(get_response(tx), HTTP_CONTENT_DISPOSITION, &value, &length))
        return;
    http_find_other_names(value, length, &names);
    if (names.count > 0)
        http_request_alternatives(f, ((1u << names.count) - 1) << HTTP_WAY_NAME_1);
}

/* Clients differ on a 1xx: it may precede the response, or be the response. */
static void report_interim_ambiguity(struct http_feed *f, struct http_tx *tx)
{
    if (!is_interim(tx))
        return;
    if (has_length(get_response(tx)))
        http_request_alternatives(f, 1 << HTTP_WAY_FINAL | 1 << HTTP_WAY_INTERIM | 1 << HTTP_WAY_LINES);
    else if (tx->status > 103 || (tx->status == 101 && !upgrade_was_requested(f, tx)))
        http_request_alternatives(f, 1 << HTTP_WAY_FINAL | 1 << HTTP_WAY_INTERIM);
    else if (tx->status == 100 && tx->seen_100) /* PHP skips one 100; a second one is its final response */
        http_request_alternatives(f, 1 << HTTP_WAY_FINAL);
    else if (tx->status != 101 && get_response(tx)->header_count > 0)
        http_request_alternatives(f, 1 << HTTP_WAY_FINAL_100);
}

static bool is_continue(const struct http_feed *f, struct http_tx *tx)
{
    const uint8_t *value;
    uint32_t length;
    uint64_t number = 0;

    if (f->parser->flags & HTTP_READ_FINAL)
        return false;
    if (f->parser->flags & HTTP_READ_INTERIM && is_interim(tx))
        return true;
    if (tx->status != 100 || http_value(get_response(tx), HTTP_TRANSFER_ENCODING, &value, &length))
        return false;
    return !http_value(get_response(tx), HTTP_CONTENT_LENGTH, &value, &length) ||
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
    if (is_continue(f, tx)) {
        skip_continue(f, tx);
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
        return end_http(f, tx, NULL, true);
    if (other->step == HTTP_WAITING && other->tx == tx)
        http_request_complete(f, tx);
    if (tx->status == 101 && !has_length(get_response(tx)) && upgrade_was_requested(f, tx))
        return handle_upgrade(f, tx);
    if (tx->status == 101)
        http_event(f, tx, HTTP_EVENT_SWITCHING_PROTO_WITH_CONTENT_LENGTH);
    end_expectation(f, tx);
    determine_body(f, tx);
    if (f->parser->step == HTTP_IDLE)
        http_response_complete(f, tx);
    else
        http_body_begin(f, tx);
    return HTTP_STEP_DONE;
}

/* --- Bodies --------------------------------------------------------------------------------------- */

/* Browsers display the following bytes without decoding. */
static enum http_step_result stop_chunk_decoding(struct http_feed *f)
{
    http_event(f, f->parser->tx, HTTP_EVENT_INVALID_RESPONSE_CHUNK_LEN);
    f->parser->left = 0;
    f->parser->scanned = f->parser->chunk_blanks = 0;
    f->parser->step = HTTP_UNTIL_CLOSE;
    return HTTP_STEP_DONE;
}

/* wget and Python also accept a sign and "0x". Of the other clients, none reads more of the body than these. */
static uint32_t chunk_prefix(const uint8_t *line, uint32_t length)
{
    uint32_t at = 0;

    while (at < length && http_is_space(line[at]))
        at++;
    at += at < length && line[at] == '+';
    if (at + 2 < length && line[at] == '0' && (line[at + 1] | 0x20) == 'x' && hex_digit(line[at + 2]) >= 0)
        at += 2;
    return at;
}

static bool parse_chunk_length(struct http_feed *f, const uint8_t *line, uint32_t length, bool *extension)
{
    uint32_t prefix = chunk_prefix(line, length);

    return http_parse_chunk_size(line + prefix, length - prefix, &f->parser->left, extension);
}

/* PHP stops decoding chunks at a size that ends with CR without LF, and delivers the rest of the connection
 * undecoded. */
static bool size_ends_with_cr(const struct http_feed *f)
{
    uint32_t left = f->length - f->at, limit = left < f->settings->field_limit ? left : f->settings->field_limit;
    const uint8_t *line = f->bytes + f->at;
    uint32_t at = f->parser->scanned > 0 ? f->parser->scanned - 1 : 0; /* the last byte may have been a CR */

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
    if (f->at < f->length && !f->quiet && size_ends_with_cr(f))
        http_request_alternatives(f, 1 << HTTP_WAY_RAW);
    result = f->at < f->length ? http_read_line(f, &line, &length) : HTTP_STEP_NEEDS_DATA;
    if (result == HTTP_STEP_DONE)
        get_response(parser->tx)->wire_length += length;
    if (result != HTTP_STEP_DONE || http_trim_line_end(line, length) == 0)
        return result;
    if (!parse_chunk_length(f, line, http_trim_line_end(line, length), &extension)) {
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
        [HTTP_IDLE] = between_responses,
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
    f->state->next_unanswered = NULL; /* no more responses follow, and waiting transactions may soon be freed */
}
