/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS over HTTP (RFC 8484) in HTTP/2. A body of the type application/dns-message is a DNS message, and so is the
 * parameter `dns` of the path, in base64url. The first such message refines the protocol of the flow to doh2
 * (src/app/doh2), whose transactions have the buffers and events of DNS, too. A request with this type does so with its
 * headers, before rules inspect the stream; a path does so only if its message is well-formed, because other services
 * have parameters of this name.
 *
 * A server reads the path of a GET request and the body of a POST request.
 */
#include <errno.h>
#include <string.h>

#include "http2_priv.h"
#include "sluice/base64.h"
#include "sluice/hex.h"

static bool has_dns_type(const struct http_message *message)
{
    static const char type[] = "application/dns-message";
    const uint8_t *value, *end;
    uint32_t length;

    if (!http_header_value(message, HTTP_CONTENT_TYPE, &value, &length))
        return false;
    end = length > 0 ? memchr(value, ';', length) : NULL;
    length = end ? (uint32_t)(end - value) : length;
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        length--;
    return length == sizeof(type) - 1 && http_name_equal(value, (const uint8_t *)type, length);
}

/* Makes the stream one of DNS over HTTP. Returns false if doh2 is disabled, or without memory. */
static bool begin_dns(struct http2_feed *f, struct http2_tx *tx)
{
    if (!tx->dns && app_refine_protocol(f->context, &app_doh2)) {
        tx->dns = heap_alloc(app_heap(f->context), sizeof(*tx->dns));
        f->failed |= !tx->dns;
    }
    return tx->dns;
}

void http2_dns_parse(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, const uint8_t *bytes,
                     uint32_t length)
{
    struct dns_tx *message = &tx->dns->message[direction];
    struct heap *heap = app_heap(f->context);
    struct dns_question question;
    struct dns_header header;
    unsigned events = 0;

    if (!dns_parse_header(bytes, length, length, &header) &&
        (length < DNS_HEADER_LENGTH || !dns_parse_first_question(bytes, length, &header, &question)))
        return;
    dns_tx_clear(heap, message);
    *message = (struct dns_tx){
        .tx = { .proto = &app_dns, .id = tx->http.base.id, .directions = (uint8_t)(1u << direction) },
        .response = direction == FLOW_TO_CLIENT,
    };
    const int err = dns_parse(heap, message, &header, bytes, length, &events);

    if (err == -ENOMEM) {
        dns_tx_clear(heap, message);
        f->failed = true;
        return;
    }
    message->parsed = true;
    message->tx.only_events = err != 0; /* malformed: rules inspect it, but it is not logged */
    tx->dns->length[direction] = length;
    if (err == 0)
        events |= dns_header_events(header.flags, direction, false);
    for (unsigned i = 0; i < DNS_EVENTS && !f->transferred; i++)
        if (events >> i & 1)
            app_event(f->context, &tx->http.base, HTTP2_EVENTS + i);
}

/* --- The path ------------------------------------------------------------------------------------- */

/* Decodes a value of the path: percent-encoding (in place), then base64url without padding. Returns the number of bytes
 * in `out`, which has room for base64_decoded_size(length). */
static uint32_t decode_value(uint8_t *value, uint32_t length, uint8_t *out)
{
    uint32_t size = 0;

    for (uint32_t at = 0; at < length; at++) {
        uint8_t byte = value[at];

        if (byte == '%' && length - at > 2 && hex_byte(value + at + 1, &byte))
            at += 2;
        value[size++] = byte == '-' ? '+' : byte == '_' ? '/' : byte;
    }
    return base64_decode(value, size, BASE64_RFC4648, out);
}

/* Whether the bytes are a DNS request, of which the queries and answers are well-formed. */
static bool is_request(const uint8_t *bytes, uint32_t length)
{
    struct dns_header header;

    return length <= HTTP2_DNS_MESSAGE_MAX && dns_parse_header(bytes, length, length, &header) &&
           !(header.flags & DNS_RESPONSE) && dns_is_well_formed(bytes, length, &header);
}

static void parse_path(struct http2_feed *f, struct http2_tx *tx)
{
    const struct http_message *message = &tx->http.message[FLOW_TO_SERVER];
    const uint8_t *path = http_text_bytes(message, &tx->http.uri_raw), *at, *end;
    struct heap *heap = app_heap(f->context);
    struct buffer scratch = { .bytes = NULL };
    uint32_t length = tx->http.uri_raw.length;
    bool found = false;

    at = length > 0 ? memchr(path, '?', length) : NULL;
    for (; at && !found; at = end) {
        const uint32_t rest = (uint32_t)(path + length - ++at);
        uint32_t size;
        uint8_t *decoded;

        end = rest > 0 ? memchr(at, '&', rest) : NULL;
        size = end ? (uint32_t)(end - at) : rest;
        if (size <= 4 || memcmp(at, "dns=", 4) != 0)
            continue;
        size -= 4;
        if (!buffer_require(heap, &scratch, size + base64_decoded_size(size))) {
            f->failed = true;
            break;
        }
        memcpy(scratch.bytes, at + 4, size);
        decoded = scratch.bytes + size;
        size = decode_value(scratch.bytes, size, decoded);
        found = is_request(decoded, size) && begin_dns(f, tx);
        if (found)
            http2_dns_parse(f, tx, FLOW_TO_SERVER, decoded, size);
    }
    buffer_clear(heap, &scratch);
}

/* --- Messages ------------------------------------------------------------------------------------- */

void http2_dns_begin(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction)
{
    const bool has_type = has_dns_type(&tx->http.message[direction]);

    if (direction == FLOW_TO_SERVER && tx->http.uri_raw.is_set &&
        !(has_type && tx->http.method != HTTP_METHOD_GET && tx->http.method != HTTP_METHOD_HEAD))
        parse_path(f, tx);
    if (has_type && !(tx->dns && tx->dns->message[direction].parsed) && begin_dns(f, tx))
        tx->dns->is_body[direction] = true;
}

void http2_dns_body(struct http_feed *f, struct http_tx *base, const uint8_t *bytes, uint32_t length)
{
    struct http2_dns *dns = ((struct http2_tx *)base)->dns;
    struct buffer *body = &dns->body[f->direction];

    if (!dns->is_body[f->direction])
        return;
    if (length > HTTP2_DNS_MESSAGE_MAX - body->length) {
        app_event(f->context, &base->base,
                  f->direction == FLOW_TO_SERVER ? HTTP2_DNS_REQUEST_TOO_LONG : HTTP2_DNS_RESPONSE_TOO_LONG);
        dns->is_body[f->direction] = false;
        buffer_clear(app_heap(f->context), body);
        return;
    }
    if (buffer_append(app_heap(f->context), body, bytes, length, HTTP2_DNS_MESSAGE_MAX) < length)
        f->failed = true;
}

void http2_dns_end(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, bool complete)
{
    struct buffer *body = &tx->dns->body[direction];

    if (tx->dns->is_body[direction] && complete && body->length > 0)
        http2_dns_parse(f, tx, direction, body->bytes, body->length);
    tx->dns->is_body[direction] = false;
    buffer_clear(app_heap(f->context), body);
}

void http2_dns_free(struct app_context *context, struct http2_tx *tx)
{
    for (enum flow_direction direction = 0; tx->dns && direction < FLOW_DIRECTIONS; direction++) {
        buffer_clear(app_heap(context), &tx->dns->body[direction]);
        dns_tx_clear(app_heap(context), &tx->dns->message[direction]);
    }
    heap_release(app_heap(context), tx->dns);
    tx->dns = NULL;
}
