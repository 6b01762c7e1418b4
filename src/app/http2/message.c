/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header blocks and bodies. The decoded fields of a block become the headers of a struct http_message, with the pseudo
 * header fields (:method, :path) as headers of these names; the functions of src/app/http then determine URI and host,
 * decode the body, and extract files.
 *
 * A message may have several blocks: interim responses (1xx), the headers, and trailers. Only the headers become
 * headers of the message; events have the fields of all blocks.
 */
#include <string.h>

#include "http2_priv.h"

enum {
    TEXT_RESERVE = 16 << 10, /* bytes of decoded text that a block may have besides those of its literals and of the
                                whole table */
    HUFFMAN_GROWTH = 2,      /* upper bound of decoded bytes for each byte of a literal */
};

static const uint8_t event_map[HTTP_EVENT_COUNT] = {
    [HTTP_EVENT_GZIP_DECOMPRESSION_FAILED] = HTTP2_FAILED_DECOMPRESSION + 1,
    [HTTP_EVENT_RANGE_INVALID] = HTTP2_INVALID_RANGE + 1,
    [HTTP_EVENT_COMPRESSION_BOMB] = HTTP2_COMPRESSION_BOMB + 1,
};

/* The context for functions of src/app/http. */
struct message_feed {
    struct http_feed http;
    struct http_parser parser;
};

static struct http_feed *init_feed(struct message_feed *out, struct http2_feed *f, struct http2_tx *tx,
                                   enum flow_direction direction)
{
    out->parser = (struct http_parser){ .tx = &tx->http };
    out->http = (struct http_feed){
        .context = f->context,
        .settings = f->http_settings,
        .parser = &out->parser,
        .direction = direction,
        .event_map = event_map,
        .body_bytes = tx->dns && !f->transferred ? http2_dns_body : NULL,
        .transferred = f->transferred,
    };
    return &out->http;
}

/* --- Headers -------------------------------------------------------------------------------------- */

static bool has_name(const struct http_message *message, const struct http_field *field, const char *name)
{
    return field->name_length == strlen(name) && memcmp(message->head.bytes + field->at, name, field->name_length) == 0;
}

static struct http_text value_of(const struct http_field *field)
{
    return (struct http_text){
        .at = field->at + field->name_length + 2,
        .length = field->value_length,
        .is_set = true,
    };
}

/* Sets *out to the value of the first field of this name, if there is one. */
static void find_value(const struct http2_tx *tx, enum flow_direction direction, uint32_t from, uint32_t end,
                       const char *name, struct http_text *out)
{
    const struct http2_side *side = &tx->side[direction];

    for (uint32_t i = from; i < end && !out->is_set; i++) {
        if (has_name(&tx->http.message[direction], http2_get_field(side, i), name))
            *out = value_of(http2_get_field(side, i));
    }
}

/* Stores the first line that the message would have in HTTP/1: three words of which the last one may be missing. */
static void store_line(struct http_feed *http, struct http_message *message, const struct http_text *const words[2],
                       bool is_request)
{
    struct heap *heap = app_heap(http->context);
    uint32_t at = message->extra.length, length = 0;
    static const char protocol[] = "HTTP/2", end[] = "\r\n";

    for (unsigned i = 0; i < 2; i++)
        length += words[i]->is_set ? words[i]->length + 1 : 0;
    length += sizeof(protocol) - 1 + sizeof(end) - 1;
    if (length > HTTP_EXTRA_LIMIT - at || !buffer_require(heap, &message->extra, at + length)) {
        http->failed = true;
        return;
    }
    if (!is_request)
        buffer_append(heap, &message->extra, protocol, sizeof(protocol) - 1, HTTP_EXTRA_LIMIT);
    for (unsigned i = 0; i < 2; i++) {
        if (!words[i]->is_set)
            continue;
        if (!is_request)
            buffer_append(heap, &message->extra, " ", 1, HTTP_EXTRA_LIMIT);
        buffer_append(heap, &message->extra, http_text_bytes(message, words[i]), words[i]->length, HTTP_EXTRA_LIMIT);
        if (is_request)
            buffer_append(heap, &message->extra, " ", 1, HTTP_EXTRA_LIMIT);
    }
    if (is_request)
        buffer_append(heap, &message->extra, protocol, sizeof(protocol) - 1, HTTP_EXTRA_LIMIT);
    buffer_append(heap, &message->extra, end, sizeof(end) - 1, HTTP_EXTRA_LIMIT);
    message->line = (struct http_text){ .at = at, .length = length, .is_set = true, .extra = true };
}

/* Compares :authority with Host, of which servers may use either one. */
static void check_authority(struct http2_feed *f, struct http2_tx *tx)
{
    const struct http_message *message = &tx->http.message[FLOW_TO_SERVER];
    const uint8_t *host, *authority = http_text_bytes(message, &tx->authority);
    uint32_t length;

    if (memchr(authority, '@', tx->authority.length))
        http2_event(f, tx, HTTP2_USERINFO_IN_URI);
    if (http_header_value(message, HTTP_HOST, &host, &length) &&
        (length != tx->authority.length || !http_name_equal(host, authority, length)))
        http2_event(f, tx, HTTP2_AUTHORITY_HOST_MISMATCH);
}

static void finish_request(struct http2_feed *f, struct http2_tx *tx, struct http_feed *http, uint32_t from,
                           uint32_t end)
{
    struct http_message *message = &tx->http.message[FLOW_TO_SERVER];
    const struct http_text no_text = { .is_set = false };
    const uint8_t *host = NULL;
    uint32_t length = 0;

    find_value(tx, FLOW_TO_SERVER, from, end, ":method", &tx->http.method_text);
    find_value(tx, FLOW_TO_SERVER, from, end, ":path", &tx->http.uri_raw);
    find_value(tx, FLOW_TO_SERVER, from, end, ":authority", &tx->authority);
    store_line(http, message,
               (const struct http_text *const[]){ &tx->http.method_text,
                                                  tx->http.uri_raw.is_set ? &tx->http.uri_raw : &no_text },
               true);
    if (tx->http.method_text.is_set)
        tx->http.method =
            http_parse_method(http_text_bytes(message, &tx->http.method_text), tx->http.method_text.length);
    if (!tx->http.uri_raw.is_set && tx->http.method == HTTP_METHOD_CONNECT)
        tx->http.uri_raw = tx->authority;
    if (tx->http.uri_raw.length <= HTTP_FIELD_LIMIT)
        http_parse_uri(http, &tx->http);
    else
        tx->http.uri = tx->http.path = tx->http.uri_raw;
    if (tx->authority.is_set)
        check_authority(f, tx);
    if (!tx->authority.is_set)
        http_header_value(message, HTTP_HOST, &host, &length);
    else if ((length = tx->authority.length) > 0)
        host = http_text_bytes(message, &tx->authority);
    if (host && length <= HTTP_FIELD_LIMIT)
        http_set_authority(http, &tx->http, host, length, HTTP_EVENT_INVALID_AUTHORITY_PORT);
}

/* Returns false for an interim response, which another one follows. */
static bool finish_response(struct http2_tx *tx, struct http_feed *http, uint32_t from, uint32_t end)
{
    struct http_message *message = &tx->http.message[FLOW_TO_CLIENT];
    struct http_text status = { .is_set = false };
    const struct http_text no_text = { .is_set = false };
    const uint8_t *digits;

    find_value(tx, FLOW_TO_CLIENT, from, end, ":status", &status);
    digits = http_text_bytes(message, &status);
    if (status.length == 3 && digits[0] == '1' && memcmp(digits, "101", 3) != 0) {
        tx->http.seen_100 = true;
        return false;
    }
    tx->http.status_text = status;
    if (status.length == 3 && digits[0] >= '1' && digits[0] <= '9' && http_is_digit(digits[1]) &&
        http_is_digit(digits[2]))
        tx->http.status = (uint16_t)((digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0'));
    store_line(http, message, (const struct http_text *const[]){ &status, &no_text }, false);
    return true;
}

void http2_finish_headers(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint32_t from,
                          uint32_t end)
{
    struct http2_side *side = &tx->side[direction];
    struct http_message *message = &tx->http.message[direction];
    uint32_t count = end - from;
    struct message_feed feed;
    struct http_feed *http = init_feed(&feed, f, tx, direction);
    const struct http_field *last = count > 0 ? http2_get_field(side, end - 1) : NULL;

    message->headers_at = count > 0 ? http2_get_field(side, from)->at : message->head.length;
    message->headers_end = last ? last->at + last->name_length + last->value_length + 4 : message->head.length;
    if (direction == FLOW_TO_CLIENT && !finish_response(tx, http, from, end))
        return;
    if (count > 0 && !http_add_fields(http, message, http2_get_field(side, from), count)) {
        http2_event(f, tx, HTTP2_INVALID_HEADER);
        f->failed = true;
        return;
    }
    if (direction == FLOW_TO_SERVER)
        finish_request(f, tx, http, from, end);
    side->has_headers = true;
    side->first_header = from;
    side->end_of_headers = end;
    http_body_begin(http, &tx->http);
    f->failed |= http->failed;
    http2_dns_begin(f, tx, direction);
    app_tx_advance(&tx->http.base, direction, HTTP_HEADERS);
}

void http2_finish_block(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint32_t from)
{
    app_tx_mark_changed(&tx->http.base, direction);
    if (!tx->side[direction].has_headers) /* otherwise trailers */
        http2_finish_headers(f, tx, direction, from, http2_field_count(&tx->side[direction]));
}

/* Returns the event for a result that is no field; HTTP2_EVENTS: none. */
static enum http2_event event_of(enum hpack_result result)
{
    switch (result) {
    case HPACK_INVALID_INDEX:
    case HPACK_INVALID_STRING:
    case HPACK_SIZE_EXCESSIVE:
        return HTTP2_INVALID_HEADER;
    case HPACK_INTEGER_OVERFLOW:
        return HTTP2_HEADER_INTEGER_OVERFLOW;
    case HPACK_TRUNCATED:
        return HTTP2_EXTRA_HEADER_DATA;
    case HPACK_TEXT_LIMIT:
        return HTTP2_COMPRESSION_BOMB;
    default:
        return HTTP2_EVENTS;
    }
}

/* Decodes the fields. Returns the events to be set, as bits 1 << enum http2_event. */
static uint32_t decode_fields(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction,
                              struct cursor *cur, struct buffer *text, uint32_t limit)
{
    struct heap *heap = app_heap(f->context);
    struct buffer *fields = tx ? &tx->side[direction].fields : NULL;
    uint32_t events = 0, value = 0;
    enum http2_event event;
    struct http_field field;

    while (!f->failed) {
        enum hpack_result result = hpack_next(&f->parser->hpack, heap, cur, text, limit, &field, &value);

        if (result == HPACK_END)
            break;
        if (result == HPACK_FIELD && tx)
            f->failed |= buffer_append(heap, fields, &field, sizeof(field), UINT32_MAX) < sizeof(field);
        else if (result == HPACK_SIZE_UPDATE && tx)
            http2_record_value(f, tx, direction, HTTP2_RECORD_SIZE_UPDATE,
                               (uint16_t)http2_field_count(&tx->side[direction]), value);
        event = event_of(result);
        if (event < HTTP2_EVENTS)
            events |= UINT32_C(1) << event;
        if (result >= HPACK_SIZE_EXCESSIVE) /* the following blocks cannot be decoded */
            f->failed = true;
        else if (result >= HPACK_INTEGER_OVERFLOW)
            break;
    }
    return events;
}

void http2_decode_block(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction,
                        const struct buffer *block)
{
    struct buffer scratch = { 0 }, *text = tx ? &tx->http.message[direction].head : &scratch;
    uint32_t from = tx ? http2_field_count(&tx->side[direction]) : 0, events, limit;
    static const uint8_t nothing[1];
    struct cursor cur = cursor_of(block->length > 0 ? block->bytes : nothing, block->length);

    limit = text->length + TEXT_RESERVE + f->parser->hpack.limit + HUFFMAN_GROWTH * block->length;
    events = decode_fields(f, tx, direction, &cur, text, limit < HTTP_HEAD_LIMIT ? limit : HTTP_HEAD_LIMIT);
    for (enum http2_event event = 0; event < HTTP2_EVENTS; event++) {
        if (events >> event & 1)
            http2_event(f, tx, event);
    }
    buffer_clear(app_heap(f->context), &scratch);
    if (tx && !f->failed)
        http2_finish_block(f, tx, direction, from);
}

/* --- Bodies --------------------------------------------------------------------------------------- */

void http2_body_data(struct http2_feed *f, struct http2_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct message_feed feed;
    struct http_feed *http = init_feed(&feed, f, tx, f->direction);

    if (tx->http.base.progress[f->direction] == HTTP_HEADERS)
        app_tx_advance(&tx->http.base, f->direction, HTTP_BODY);
    http_body_data(http, &tx->http, bytes, length);
    f->failed |= http->failed;
}

void http2_body_end(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, bool complete)
{
    struct message_feed feed;
    struct http_feed *http = init_feed(&feed, f, tx, direction);

    http_body_end(http, &tx->http, direction, complete);
    f->failed |= http->failed;
    if (tx->dns)
        http2_dns_end(f, tx, direction, complete);
}

void http2_restore_body(struct http2_feed *f, struct http2_tx *tx, uint64_t wire_length, uint64_t body_length,
                        const uint8_t *tail, uint32_t tail_length)
{
    struct http_message *message = &tx->http.message[f->direction];
    struct message_feed feed;
    struct http_feed *http = init_feed(&feed, f, tx, f->direction);
    bool has_tail = !message->decoder && !message->form && tail_length > 0;
    uint64_t gap = has_tail ? body_length - tail_length : wire_length;

    if (gap > 0)
        http_body_gap(http, &tx->http, gap);
    if (has_tail)
        http_body_data(http, &tx->http, tail, tail_length);
    f->failed |= http->failed;
}
