/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buffers for rules. Most are parts of the message. http.header, http.header_names and http.start are concatenations of
 * parts. If the message contains the concatenation as such, the buffer is a part of the message, too. Otherwise memory
 * for it is reserved when the headers are parsed, and written when a rule first uses the buffer, because few messages
 * need all of the buffers.
 */
#include "http_priv.h"

#include <string.h>

static const uint8_t nothing[1];

static const struct http_tx *to_http_tx(const struct app_tx *tx)
{
    return (const struct http_tx *)tx;
}

static const struct http_message *get_message(const struct app_tx *tx, enum flow_direction direction)
{
    return &to_http_tx(tx)->message[direction];
}

static bool get_text(const struct http_message *message, const struct http_text *text, struct app_bytes *out)
{
    if (!text->is_set)
        return false;
    *out = (struct app_bytes){
        .bytes = text->length > 0 ? http_text_bytes(message, text) : nothing,
        .length = text->length,
    };
    return true;
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static bool get_request_text(const struct app_tx *tx, const struct http_text *text, unsigned index,
                             struct app_bytes *out)
{
    return index == 0 && get_text(get_message(tx, FLOW_TO_SERVER), text, out);
}

static bool get_response_text(const struct app_tx *tx, const struct http_text *text, unsigned index,
                              struct app_bytes *out)
{
    return index == 0 && get_text(get_message(tx, FLOW_TO_CLIENT), text, out);
}

bool http_get_method(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_request_text(tx, &to_http_tx(tx)->method_text, which.index, out);
}

bool http_get_uri(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_request_text(tx, &to_http_tx(tx)->uri, which.index, out);
}

bool http_get_uri_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_request_text(tx, &to_http_tx(tx)->uri_raw, which.index, out);
}

bool http_get_host(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_request_text(tx, &to_http_tx(tx)->host, which.index, out);
}

/* The host in the URI, or, without one, the value of the Host header. */
bool http_get_host_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    if (which.index > 0)
        return false;
    if (to_http_tx(tx)->uri_host.is_set)
        return get_request_text(tx, &to_http_tx(tx)->uri_host, 0, out);
    return http_get_known(tx, which.direction, HTTP_HOST, out);
}

bool http_get_protocol(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    if (which.direction == FLOW_TO_SERVER)
        return get_request_text(tx, &to_http_tx(tx)->protocol, which.index, out);
    return get_response_text(tx, &to_http_tx(tx)->response_protocol, which.index, out);
}

bool http_get_line(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct http_message *message = get_message(tx, which.direction);

    return which.index == 0 && get_text(message, &message->line, out);
}

bool http_get_status(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_response_text(tx, &to_http_tx(tx)->status_text, which.index, out);
}

bool http_get_status_message(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    return get_response_text(tx, &to_http_tx(tx)->status_message, which.index, out);
}

/* --- Headers -------------------------------------------------------------------------------------- */

bool http_get_known(const struct app_tx *tx, enum flow_direction direction, enum http_known known,
                    struct app_bytes *out)
{
    const uint8_t *value;
    uint32_t length;

    if (!http_header_value(get_message(tx, direction), known, &value, &length))
        return false;
    *out = (struct app_bytes){ .bytes = value, .length = length };
    return true;
}

bool http_get_each_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct http_message *message = get_message(tx, which.direction);

    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        if (which.index-- > 0)
            continue;
        *out = (struct app_bytes){ .bytes = http_header_text(message, header), .length = header->length };
        return true;
    }
    return false;
}

bool http_get_named(const struct app_tx *tx, const char *name, struct app_bytes *out)
{
    const struct http_message *message = get_message(tx, FLOW_TO_SERVER);

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
bool http_get_header_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct http_message *message = get_message(tx, which.direction);

    if (which.index > 0 || message->head.length <= message->headers_at)
        return false;
    *out = (struct app_bytes){
        .bytes = message->head.bytes + message->headers_at,
        .length = message->head.length - message->headers_at,
    };
    return true;
}

/* --- Concatenations ------------------------------------------------------------------------------- */

/* Returns the header that http.header does not include: Cookie in requests, Set-Cookie in responses. */
static enum http_known cookie_header(const struct http_message *message, const struct http_tx *tx)
{
    return message == &tx->message[FLOW_TO_SERVER] ? HTTP_COOKIE : HTTP_SET_COOKIE;
}

/* Sets http.header to a part of `head`. Returns false if that is impossible: a cookie is between other headers, or the
 * headers were not sent as "Name: value" CRLF. */
static bool locate_headers(struct http_message *message, uint16_t cookie)
{
    struct http_concatenation *concatenation = &message->concatenations[HTTP_CONCATENATION_HEADER];
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
    *concatenation = (struct http_concatenation){ .at = at, .length = end - at, .is_set = end > at, .in_head = true };
    return true;
}

/* Sets http.start to `head`. Returns false if that is impossible: the first line does not end with CR LF, or the
 * headers were not sent as "Name: value" CRLF. */
static bool locate_start(struct http_message *message)
{
    struct http_concatenation *concatenation = &message->concatenations[HTTP_CONCATENATION_START];
    uint32_t end = message->headers_end + 2;

    if (!message->canonical || !message->line_ends_regularly || message->head.length != end ||
        message->head.bytes[end - 2] != '\r')
        return false;
    *concatenation = (struct http_concatenation){ .length = end, .is_set = true, .in_head = true };
    return true;
}

void http_reserve_concatenations(struct http_feed *f, struct http_message *message)
{
    uint16_t cookie = message->known[cookie_header(message, f->parser->tx)];
    uint32_t all = 0, names = 4, size = 0;
    bool header_is_placed = locate_headers(message, cookie), start_is_placed = locate_start(message);

    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        all += header->length + 2;
        names += header->name_length + 2u;
    }
    heap_release(app_heap(f->context), message->joined);
    message->concatenations[HTTP_CONCATENATION_NAMES] =
        (struct http_concatenation){ .length = names, .is_set = all > 0 };
    size = names;
    if (!header_is_placed) {
        uint32_t without = cookie != HTTP_NONE ? message->headers[cookie].length + 2 : 0;

        message->concatenations[HTTP_CONCATENATION_HEADER] =
            (struct http_concatenation){ .at = size, .length = all - without, .is_set = all > without };
        size += all - without;
    }
    if (!start_is_placed) {
        message->concatenations[HTTP_CONCATENATION_START] =
            (struct http_concatenation){ .at = size, .length = message->line.length + 2 + all + 2, .is_set = all > 0 };
        size += message->concatenations[HTTP_CONCATENATION_START].length;
    }
    message->joined = heap_alloc_uncleared(app_heap(f->context), size);
    f->failed |= !message->joined;
}

static uint8_t *append_bytes(uint8_t *to, const void *bytes, uint32_t length)
{
    memcpy(to, bytes, length);
    return to + length;
}

static void write_headers(const struct http_message *message, uint16_t without, uint8_t *to)
{
    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined || i == without)
            continue;
        to = append_bytes(to, http_header_text(message, header), header->length);
        to = append_bytes(to, "\r\n", 2);
    }
}

static void write_names(const struct http_message *message, uint8_t *to)
{
    to = append_bytes(to, "\r\n", 2);
    for (uint16_t i = 0; i < message->header_count; i++) {
        const struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        to = append_bytes(to, http_header_text(message, header), header->name_length);
        to = append_bytes(to, "\r\n", 2);
    }
    append_bytes(to, "\r\n", 2);
}

bool http_get_concatenation(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    /* Writing is safe although `tx` is const: the memory is reserved for this buffer, and only this worker uses it. */
    struct http_message *message = (struct http_message *)get_message(tx, which.direction);
    struct http_concatenation *concatenation = &message->concatenations[which.part];

    if (which.index > 0 || !concatenation->is_set || (!concatenation->in_head && !message->joined))
        return false;
    if (!concatenation->in_head && !concatenation->is_written) {
        uint8_t *to = message->joined + concatenation->at;

        if (which.part == HTTP_CONCATENATION_HEADER) {
            write_headers(message, message->known[cookie_header(message, to_http_tx(tx))], to);
        } else if (which.part == HTTP_CONCATENATION_NAMES) {
            write_names(message, to);
        } else {
            append_bytes(to + concatenation->length - 2, "\r\n", 2);
            to = append_bytes(to, message->head.bytes + message->line.at, message->line.length);
            write_headers(message, HTTP_NONE, append_bytes(to, "\r\n", 2));
        }
        concatenation->is_written = true;
    }
    *out = (struct app_bytes){
        .bytes = (concatenation->in_head ? message->head.bytes : message->joined) + concatenation->at,
        .length = concatenation->length,
    };
    return true;
}

/* --- Bodies --------------------------------------------------------------------------------------- */

bool http_get_body(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct http_message *message = get_message(tx, which.direction);

    if (which.index > 0)
        return false;
    if (message->file_is_body)
        return app_file_data(tx, which, out);
    if (message->body.length == 0)
        return false;
    *out = (struct app_bytes){
        .bytes = message->body.bytes,
        .length = message->body.length,
        .offset = message->body_offset,
        .partial = !message->body_ended && !message->body_truncated,
    };
    return true;
}
