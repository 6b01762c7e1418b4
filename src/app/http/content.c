/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The buffers for rules. Most buffers are parts of the message. The concatenations (http.header, http.header_names,
 * http.start) are parts of the message too, if the sender wrote the headers in the same form. Otherwise memory is
 * reserved for them when the headers are parsed, and filled when a rule first uses them: for most messages not all of
 * them are needed.
 */
#include "http_priv.h"

#include <string.h>

static const uint8_t nothing[1];

static const struct http_tx *tx_of(const struct app_tx *tx)
{
    return (const struct http_tx *)tx;
}

static const struct http_message *message_of(const struct app_tx *tx, enum flow_direction direction)
{
    return &tx_of(tx)->message[direction];
}

static bool give(const struct http_message *message, const struct http_text *text, struct app_bytes *out)
{
    if (!text->there)
        return false;
    *out = (struct app_bytes){
        .bytes = text->length > 0 ? http_bytes(message, text) : nothing,
        .length = text->length,
    };
    return true;
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static bool give_request(const struct app_tx *tx, const struct http_text *text, unsigned index, struct app_bytes *out)
{
    return index == 0 && give(message_of(tx, FLOW_TO_SERVER), text, out);
}

static bool give_response(const struct app_tx *tx, const struct http_text *text, unsigned index, struct app_bytes *out)
{
    return index == 0 && give(message_of(tx, FLOW_TO_CLIENT), text, out);
}

bool http_get_method(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    (void)direction;
    return give_request(tx, &tx_of(tx)->method_text, index, out);
}

bool http_get_uri(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    (void)direction;
    return give_request(tx, &tx_of(tx)->uri, index, out);
}

bool http_get_uri_raw(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    (void)direction;
    return give_request(tx, &tx_of(tx)->uri_raw, index, out);
}

bool http_get_host(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    (void)direction;
    return give_request(tx, &tx_of(tx)->host, index, out);
}

/* The host in the URI has priority. */
bool http_get_host_raw(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    if (index > 0)
        return false;
    if (tx_of(tx)->uri_host.there)
        return give_request(tx, &tx_of(tx)->uri_host, 0, out);
    return http_get_known(tx, direction, HTTP_HOST, out);
}

bool http_get_protocol(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    if (direction == FLOW_TO_SERVER)
        return give_request(tx, &tx_of(tx)->protocol, index, out);
    return give_response(tx, &tx_of(tx)->response_protocol, index, out);
}

bool http_get_line(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    const struct http_message *message = message_of(tx, direction);

    return index == 0 && give(message, &message->line, out);
}

bool http_get_status(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    (void)direction;
    return give_response(tx, &tx_of(tx)->status_text, index, out);
}

bool http_get_status_message(const struct app_tx *tx, enum flow_direction direction, unsigned index,
                             struct app_bytes *out)
{
    (void)direction;
    return give_response(tx, &tx_of(tx)->status_message, index, out);
}

/* --- Headers -------------------------------------------------------------------------------------- */

bool http_get_known(const struct app_tx *tx, enum flow_direction direction, enum http_known known,
                    struct app_bytes *out)
{
    const uint8_t *value;
    uint32_t length;

    if (!http_value(message_of(tx, direction), known, &value, &length))
        return false;
    *out = (struct app_bytes){ .bytes = value, .length = length };
    return true;
}

bool http_get_each_header(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    const struct http_message *message = message_of(tx, direction);

    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        if (index-- > 0)
            continue;
        *out = (struct app_bytes){ .bytes = http_header_text(message, header), .length = header->length };
        return true;
    }
    return false;
}

bool http_get_named(const struct app_tx *tx, const char *name, struct app_bytes *out)
{
    const struct http_message *message = message_of(tx, FLOW_TO_SERVER);

    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];
        const uint8_t *text = http_header_text(message, header);
        uint32_t skipped = header->name_length + 2u;

        if (header->joined || !http_equal_nocase(text, header->name_length, name))
            continue;
        *out = (struct app_bytes){ .bytes = text + skipped, .length = header->length - skipped };
        return true;
    }
    return false;
}

/* The headers as sent, with the empty line and the trailers. */
bool http_get_header_raw(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    const struct http_message *message = message_of(tx, direction);

    if (index > 0 || message->head.length <= message->headers_at)
        return false;
    *out = (struct app_bytes){
        .bytes = message->head.bytes + message->headers_at,
        .length = message->head.length - message->headers_at,
    };
    return true;
}

/* --- Concatenations ------------------------------------------------------------------------------- */

/* http.header does not include cookies. */
static enum http_known cookie_of(const struct http_message *message, const struct http_tx *tx)
{
    return message == &tx->message[FLOW_TO_SERVER] ? HTTP_COOKIE : HTTP_SET_COOKIE;
}

/* http.header is a part of `head`, unless a cookie separates the headers. */
static bool place_headers(struct http_message *message, uint16_t cookie)
{
    struct http_joining *joining = &message->joining[HTTP_JOINED_HEADER];
    uint32_t at = message->headers_at, end = message->headers_end;

    if (!message->canonical)
        return false;
    if (cookie != HTTP_NONE) {
        const struct http_header *header = &message->headers[cookie];

        if (header->at == at)
            at += header->length + 2;
        else if (header->at + header->length + 2 == end)
            end = header->at;
        else
            return false;
    }
    *joining = (struct http_joining){ .at = at, .length = end - at, .there = end > at, .in_head = true };
    return true;
}

static bool place_start(struct http_message *message)
{
    struct http_joining *joining = &message->joining[HTTP_JOINED_START];
    uint32_t end = message->headers_end + 2;

    if (!message->canonical || !message->line_ends_regularly || message->head.length != end ||
        message->head.bytes[end - 2] != '\r')
        return false;
    *joining = (struct http_joining){ .length = end, .there = true, .in_head = true };
    return true;
}

void http_prepare_joined(struct http_feed *f, struct http_message *message)
{
    uint16_t cookie = message->known[cookie_of(message, f->parser->tx)];
    uint32_t all = 0, names = 4, size = 0;
    bool header_is_placed = place_headers(message, cookie), start_is_placed = place_start(message);

    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        all += header->length + 2;
        names += header->name_length + 2u;
    }
    heap_give(app_heap(f->context), message->joined);
    message->joining[HTTP_JOINED_NAMES] = (struct http_joining){ .length = names, .there = all > 0 };
    size = names;
    if (!header_is_placed) {
        uint32_t without = cookie != HTTP_NONE ? message->headers[cookie].length + 2 : 0;

        message->joining[HTTP_JOINED_HEADER] =
            (struct http_joining){ .at = size, .length = all - without, .there = all > without };
        size += all - without;
    }
    if (!start_is_placed) {
        message->joining[HTTP_JOINED_START] =
            (struct http_joining){ .at = size, .length = message->line.length + 2 + all + 2, .there = all > 0 };
        size += message->joining[HTTP_JOINED_START].length;
    }
    message->joined = heap_take_raw(app_heap(f->context), size);
    f->failed |= !message->joined;
}

static uint8_t *put(uint8_t *to, const void *bytes, uint32_t length)
{
    memcpy(to, bytes, length);
    return to + length;
}

static void make_headers(const struct http_message *message, uint16_t without, uint8_t *to)
{
    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined || i == without)
            continue;
        to = put(to, http_header_text(message, header), header->length);
        to = put(to, "\r\n", 2);
    }
}

static void make_names(const struct http_message *message, uint8_t *to)
{
    to = put(to, "\r\n", 2);
    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        to = put(to, http_header_text(message, header), header->name_length);
        to = put(to, "\r\n", 2);
    }
    put(to, "\r\n", 2);
}

static void make_start(const struct http_message *message, uint32_t length, uint8_t *to)
{
    uint8_t *end = to + length;

    to = put(to, message->head.bytes + message->line.at, message->line.length);
    to = put(to, "\r\n", 2);
    make_headers(message, HTTP_NONE, to);
    put(end - 2, "\r\n", 2);
}

static bool give_joined(const struct app_tx *tx, enum flow_direction direction, enum http_joined which, unsigned index,
                        struct app_bytes *out)
{
    /* The memory was reserved for this buffer, and only this worker accesses it. */
    struct http_message *message = (struct http_message *)message_of(tx, direction);
    struct http_joining *joining = &message->joining[which];

    if (index > 0 || !joining->there || (!joining->in_head && !message->joined))
        return false;
    if (!joining->in_head && !joining->made) {
        uint8_t *to = message->joined + joining->at;

        if (which == HTTP_JOINED_HEADER)
            make_headers(message, message->known[cookie_of(message, tx_of(tx))], to);
        else if (which == HTTP_JOINED_NAMES)
            make_names(message, to);
        else
            make_start(message, joining->length, to);
        joining->made = true;
    }
    *out = (struct app_bytes){
        .bytes = (joining->in_head ? message->head.bytes : message->joined) + joining->at,
        .length = joining->length,
    };
    return true;
}

bool http_get_header(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    return give_joined(tx, direction, HTTP_JOINED_HEADER, index, out);
}

bool http_get_header_names(const struct app_tx *tx, enum flow_direction direction, unsigned index,
                           struct app_bytes *out)
{
    return give_joined(tx, direction, HTTP_JOINED_NAMES, index, out);
}

bool http_get_start(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    return give_joined(tx, direction, HTTP_JOINED_START, index, out);
}

/* --- Bodies --------------------------------------------------------------------------------------- */

bool http_get_body(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out)
{
    const struct http_message *message = message_of(tx, direction);

    if (index > 0)
        return false;
    if (message->file_is_body)
        return app_file_data(tx, direction, 0, out);
    if (message->body.length == 0)
        return false;
    *out = (struct app_bytes){
        .bytes = message->body.bytes,
        .length = message->body.length,
        .offset = message->body_offset,
        .partial = !message->body_ended && !message->body_cut,
    };
    return true;
}
