/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The upgrade from HTTP/1.1 (RFC 7540, section 3.2): the request before it becomes stream 1, and its header
 * HTTP2-Settings has the payload of a SETTINGS frame in base64url. The parser of HTTP/1 passes both as a list of fields
 * (app_set_tag()).
 */
#include <string.h>

#include "http2_priv.h"
#include "sluice/base64.h"

enum { SETTINGS_TEXT_MAX = 1024 }; /* characters of HTTP2-Settings */

struct passed_field {
    const uint8_t *name, *value;
    uint16_t name_length, value_length;
};

static bool read_field(struct cursor *cur, struct passed_field *out)
{
    if (!cursor_be16(cur, &out->name_length) || !cursor_be16(cur, &out->value_length))
        return false;
    out->name = cursor_read(cur, out->name_length);
    out->value = out->name ? cursor_read(cur, out->value_length) : NULL;
    return out->value;
}

/* Decodes base64url without padding. Returns the number of bytes; 0 if the text is invalid. */
static uint32_t decode_settings(const uint8_t *text, uint32_t length, uint8_t *out)
{
    uint8_t standard[SETTINGS_TEXT_MAX];
    uint32_t size;

    while (length > 0 && text[length - 1] == '=')
        length--;
    if (length > sizeof(standard))
        return 0;
    for (uint32_t i = 0; i < length; i++)
        standard[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
    size = base64_decode(standard, length, BASE64_RFC4648, out);
    return size == length / 4 * 3 + length % 4 * 3 / 4 ? size : 0;
}

static bool is_settings(const struct passed_field *field)
{
    static const char name[] = "http2-settings";

    return field->name_length == sizeof(name) - 1 && memcmp(field->name, name, sizeof(name) - 1) == 0;
}

static void add_settings(struct http2_feed *f, const struct passed_field *field)
{
    uint8_t payload[SETTINGS_TEXT_MAX / 4 * 3 + 3];
    struct http2_tx *tx = http2_add_loose_frame(f, 0, FLOW_TO_SERVER, HTTP2_SETTINGS);
    uint32_t size = decode_settings(field->value, field->value_length, payload);
    struct cursor cur = cursor_of(payload, size);

    if (tx && (size % 6 != 0 || (size == 0 && field->value_length > 0)))
        http2_event(f, tx, HTTP2_INVALID_HTTP1_SETTINGS);
    else
        http2_parse_settings(f, tx, FLOW_TO_SERVER, &cur);
    http2_complete_loose_frame(tx);
}

/* Appends a field to the request as if it had been decoded from a block. Returns false without memory. */
static bool add_field(struct http2_feed *f, struct http2_tx *tx, const struct passed_field *passed)
{
    struct heap *heap = app_heap(f->context);
    struct buffer *text = &tx->http.message[FLOW_TO_SERVER].head, *fields = &tx->side[FLOW_TO_SERVER].fields;
    const struct http_field field = {
        .at = text->length,
        .name_length = passed->name_length,
        .value_length = passed->value_length,
    };

    return buffer_append(heap, text, passed->name, field.name_length, HTTP_HEAD_LIMIT) == field.name_length &&
           buffer_append(heap, text, ": ", 2, HTTP_HEAD_LIMIT) == 2 &&
           buffer_append(heap, text, passed->value, field.value_length, HTTP_HEAD_LIMIT) == field.value_length &&
           buffer_append(heap, text, "\r\n", 2, HTTP_HEAD_LIMIT) == 2 &&
           buffer_append(heap, fields, &field, sizeof(field), UINT32_MAX) == sizeof(field);
}

void http2_begin_after_upgrade(struct http2_feed *f)
{
    uint32_t length;
    const uint8_t *tag = app_expectation_tag(f->context, &length);
    struct cursor cur = cursor_of(tag, tag ? length : 0);
    struct passed_field field;
    struct http2_tx *tx;

    if (!tag)
        return;
    for (struct cursor all = cur; read_field(&all, &field);) {
        if (is_settings(&field))
            add_settings(f, &field);
    }
    tx = http2_open_stream(f, 1);
    if (!tx)
        return;
    f->state->last_stream[FLOW_TO_SERVER] = 1;
    while (!f->failed && read_field(&cur, &field))
        f->failed |= !is_settings(&field) && !add_field(f, tx, &field);
    if (f->failed)
        return;
    http2_record_frame(f, tx, FLOW_TO_SERVER, HTTP2_HEADERS);
    http2_finish_block(f, tx, FLOW_TO_SERVER, 0);
    if (!f->failed)
        http2_end_direction(f, tx, FLOW_TO_SERVER, true);
}
