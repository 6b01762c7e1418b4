/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies. The caller has removed the chunk framing; content encodings are decoded (decode.c). Decoded bytes are kept
 * for rules up to the body limit of the direction; then decoding stops.
 *
 * Bodies of responses and of PUT and POST requests are files. The file name is the name in Content-Disposition
 * (responses only), otherwise the path of the URI. These bodies are stored only as files: http.response_body and
 * file.data are the same bytes. If the body is a form, multipart.c extracts its files, and the body itself is stored in
 * http_message.body.
 */
#include "http_priv.h"

#include <string.h>

enum { NAME_MAX_LENGTH = 4096, KEY_TEXT_MAX = 8192 };

static struct http_message *get_message(struct http_feed *f, struct http_tx *tx)
{
    return &tx->message[f->direction];
}

/* --- Files ---------------------------------------------------------------------------------------- */

static bool is_file(const struct http_feed *f, const struct http_tx *tx)
{
    return f->direction == FLOW_TO_CLIENT || tx->method == HTTP_METHOD_POST || tx->method == HTTP_METHOD_PUT;
}

static void find_file_name(struct http_feed *f, struct http_tx *tx, const uint8_t **name, uint32_t *length,
                           struct http_names *names)
{
    const uint8_t *value;
    uint32_t value_length;
    bool has_name = f->direction == FLOW_TO_CLIENT &&
                    http_header_value(get_message(f, tx), HTTP_CONTENT_DISPOSITION, &value, &value_length);

    *name = NULL;
    *length = 0;
    if (has_name && f->parser->flags & HTTP_READ_NAMES) {
        unsigned index = f->parser->flags & HTTP_READ_NAME_1 ? 0 : f->parser->flags & HTTP_READ_NAME_2 ? 1 : 2;

        http_find_other_names(value, value_length, names);
        if (index < names->count) {
            *name = names->name[index].bytes;
            *length = names->name[index].length;
            return;
        }
    }
    if (has_name && http_parameter(value, value_length, "filename", name, length) && *length > 0)
        return;
    *name = NULL;
    *length = 0;
    if (tx->path.is_set) {
        *name = http_text_bytes(&tx->message[FLOW_TO_SERVER], &tx->path);
        *length = tx->path.length;
    }
}

/* Starts a byte range of a file that is reassembled from several responses. Ranges belong to the same file if client
 * address, server address, host, URL and total size are equal. The key includes the addresses because the kernel may
 * distribute connections to workers by address, and each worker reassembles on its own. */
static void start_byterange(struct http_feed *f, struct http_tx *tx, const struct http_range *range)
{
    uint8_t key[2 * sizeof(struct address) + KEY_TEXT_MAX];
    struct http_message *request = &tx->message[FLOW_TO_SERVER], *message = get_message(f, tx);
    const struct flow *flow = app_context_flow(f->context);
    uint32_t length = 2 * sizeof(struct address);
    const struct app_byterange_info info = {
        .key = key,
        .name = message->file->name.bytes,
        .name_length = message->file->name.length,
        .key_length = length + tx->host.length + tx->uri_raw.length,
        .start = (uint64_t)range->start,
        .total = (uint64_t)range->size,
        .timeout_ns = f->settings->range_timeout_ns,
    };

    if (range->end >= range->size || (range->start == 0 && range->end + 1 == range->size) || message->decoder ||
        f->alternative || f->transferred || tx->request_unseen || tx->host.length + tx->uri_raw.length > KEY_TEXT_MAX)
        return;
    memcpy(key, &flow->client, sizeof(flow->client));
    memcpy(key + sizeof(flow->client), &flow->server, sizeof(flow->server));
    if (tx->host.length > 0)
        memcpy(key + length, http_text_bytes(request, &tx->host), tx->host.length);
    length += tx->host.length;
    if (tx->uri_raw.length > 0)
        memcpy(key + length, http_text_bytes(request, &tx->uri_raw), tx->uri_raw.length);
    if (!app_byterange_start(f->context, &message->byterange, &info))
        http_event(f, tx, HTTP_EVENT_RANGE_NOT_REASSEMBLED);
}

/* Applies Content-Range to the file of the body. */
static void apply_range(struct http_feed *f, struct http_tx *tx, struct file *file)
{
    const uint8_t *value;
    uint32_t length;
    struct http_range range;

    if (f->direction != FLOW_TO_CLIENT || !http_header_value(get_message(f, tx), HTTP_CONTENT_RANGE, &value, &length))
        return;
    if (!http_parse_range(value, length, &range)) {
        http_event(f, tx, HTTP_EVENT_RANGE_INVALID);
        return;
    }
    if (range.start >= 0) {
        file->start = (uint64_t)range.start;
        file->end = (uint64_t)range.end;
    }
    if (range.start >= 0 && range.size > 0)
        start_byterange(f, tx, &range);
}

static void open_file(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_message(f, tx);
    const uint8_t *name;
    uint32_t length;
    struct http_names names;

    find_file_name(f, tx, &name, &length, &names);
    if (!name)
        return;
    if (length > NAME_MAX_LENGTH)
        http_event(f, tx, HTTP_EVENT_FILE_NAME_TOO_LONG);
    message->file =
        file_open(app_files(f->context), &tx->base.files[f->direction], app_next_file_id(f->context), name, length);
    message->file_is_body = message->file != NULL;
    if (message->file)
        apply_range(f, tx, message->file);
}

static void close_file(struct http_feed *f, struct http_message *message, enum file_state state)
{
    if (message->file && message->file->state == FILE_OPEN)
        file_close(app_files(f->context), message->file, state);
    message->file = NULL;
}

/* Returns the body limit; 0: none. The limit is a setting of HTTP/1; HTTP/2 has none, as in Suricata. */
static uint32_t body_limit(const struct http_feed *f)
{
    return f->event_map ? 0 : f->settings->body_limit[f->direction];
}

/* --- Kept bytes ---------------------------------------------------------------------------------- */

/* Stores decoded bytes for rules. When the buffer exceeds its maximum length, only the last bytes are kept, half of
 * that length. */
static void keep_bytes(struct http_feed *f, struct http_message *message, const uint8_t *bytes, uint32_t length)
{
    uint32_t most = body_limit(f) == 0 ? HTTP_WINDOW : HTTP_KEPT_MAX;

    buffer_append(app_heap(f->context), &message->body, bytes, length, UINT32_MAX);
    if (message->body.length > most) {
        uint32_t surplus = message->body.length - most / 2;

        buffer_consume(&message->body, surplus);
        message->body_offset += surplus;
    }
}

/* Returns how many of the next `length` bytes are within the body limit. There is no limit for a file that is to be
 * stored. */
static uint32_t length_within_limit(const struct http_feed *f, const struct http_message *message, uint32_t length)
{
    uint32_t limit = body_limit(f);

    if (limit == 0 || (message->file && message->file->store_requested))
        return length;
    if (message->body_length >= limit)
        return 0;
    return length < limit - message->body_length ? length : (uint32_t)(limit - message->body_length);
}

static void truncate_body(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_message(f, tx);

    message->body_truncated = true;
    if (message->form)
        http_form_stop(f, tx);
    close_file(f, message, FILE_TRUNCATED);
}

bool http_body_decoded(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct http_message *message = get_message(f, tx);
    uint32_t size = length_within_limit(f, message, length);

    if (size > 0) {
        message->body_length += size;
        app_tx_mark_changed(&tx->base, f->direction);
        if (f->body_bytes)
            f->body_bytes(f, tx, bytes, size);
        if (message->form)
            http_form_feed(f, tx, bytes, size);
        else if (!message->file && is_file(f, tx))
            open_file(f, tx);
        if (message->file_is_body)
            file_append(app_files(f->context), message->file, bytes, size);
        if (message->byterange.serial != 0 &&
            !app_byterange_add(f->context, &message->byterange, &tx->base, f->direction, bytes, size))
            http_event(f, tx, HTTP_EVENT_RANGE_NOT_REASSEMBLED);
        if (!message->file_is_body)
            keep_bytes(f, message, bytes, size);
    }
    if (size == length)
        return true;
    truncate_body(f, tx);
    return false;
}

/* --- Body ---------------------------------------------------------------------------------------- */

void http_body_begin(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_message(f, tx);
    const uint8_t *value;
    uint32_t length;

    if (f->parser->flags & HTTP_READ_RAW)
        return;
    if (http_header_value(message, HTTP_CONTENT_ENCODING, &value, &length))
        message->decoder = http_decoder_new(f, tx, value, length, NULL);
    if (f->direction == FLOW_TO_CLIENT && http_header_value(message, HTTP_TRANSFER_ENCODING, &value, &length))
        message->decoder = http_decoder_new(f, tx, value, length, message->decoder);
    if (f->direction == FLOW_TO_SERVER && tx->method == HTTP_METHOD_POST &&
        http_header_value(message, HTTP_CONTENT_TYPE, &value, &length))
        message->form = http_form_new(f, value, length);
}

void http_body_data(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct http_message *message = get_message(f, tx);

    message->wire_length += length;
    if (message->body_truncated || length == 0)
        return;
    if (message->decoder)
        http_decoder_feed(f, tx, message->decoder, bytes, length);
    else
        http_body_decoded(f, tx, bytes, length);
    if (message->body_truncated && message->decoder) { /* free its memory, such as a window of 32 KiB, early */
        http_decoder_free(app_heap(f->context), message->decoder);
        message->decoder = NULL;
    }
}

/* Surplus bytes are not added to wire_length: how many of them are found depends on segmentation. */
void http_body_add_surplus(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct http_message *message = get_message(f, tx);

    if (message->body_truncated)
        return;
    if (!message->body_ended && message->decoder)
        http_decoder_feed(f, tx, message->decoder, bytes, length);
    else if (!message->body_ended)
        http_body_decoded(f, tx, bytes, length);
    else if (!message->file_is_body && !message->form && length_within_limit(f, message, length) == length) {
        message->body_length += length;
        app_tx_mark_changed(&tx->base, f->direction);
        keep_bytes(f, message, bytes, length);
    }
}

void http_body_gap(struct http_feed *f, struct http_tx *tx, uint64_t length)
{
    struct http_message *message = get_message(f, tx);

    http_event(f, tx, HTTP_EVENT_BODY_DATA_LOST);
    message->wire_length += length;
    if (message->body_truncated)
        return;
    if (message->decoder || message->form) { /* neither can continue after a gap */
        if (message->form)
            http_form_stop(f, tx);
        if (message->file)
            file_gap(app_files(f->context), message->file, length);
        truncate_body(f, tx);
        return;
    }
    if (!message->file && is_file(f, tx) && message->body_length == 0)
        open_file(f, tx);
    if (message->file)
        file_gap(app_files(f->context), message->file, length);
    message->byterange.offset += length;
    message->body_length += length;
}

void http_body_flush(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = get_message(f, tx);

    if (message->decoder && !message->body_ended)
        http_decoder_finish(f, tx, message->decoder);
}

void http_body_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction, bool complete)
{
    struct http_message *message = &tx->message[direction];
    struct heap *heap = app_heap(f->context);

    if (message->body_ended)
        return;
    if (direction == f->direction)
        http_body_flush(f, tx);
    if (message->form)
        http_form_end(f, tx, direction);
    close_file(f, message, complete ? FILE_CLOSED : FILE_TRUNCATED);
    http_form_free(heap, message->form);
    http_decoder_free(heap, message->decoder);
    message->form = NULL;
    message->decoder = NULL;
    message->body_ended = true;
    app_tx_mark_changed(&tx->base, direction);
}

void http_body_clear(struct app_context *context, struct http_message *message)
{
    struct heap *heap = app_heap(context);

    http_decoder_free(heap, message->decoder);
    http_form_free(heap, message->form);
    buffer_clear(heap, &message->body);
    message->decoder = NULL;
    message->form = NULL;
}

void http_tx_shed(struct app_context *context, struct app_tx *base)
{
    struct http_tx *tx = (struct http_tx *)base;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct http_message *message = &tx->message[direction];

        message->body_offset += message->body.length;
        buffer_clear(app_heap(context), &message->body);
    }
}
