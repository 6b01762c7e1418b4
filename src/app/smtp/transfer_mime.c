/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State transfer of incomplete messages: parser state, headers and files. Of a file at most the last FILE_TAIL_MAX
 * bytes of its inspection window are transferred. Earlier bytes become a gap, and then the digests of the file are not
 * available.
 *
 * Closed files of the message are created again, without their data if that has been freed, so that later files keep
 * their index.
 */
#include <errno.h>
#include <string.h>

#include "smtp_priv.h"
#include "sluice/transfer.h"

/* ..._SIZE: bytes of an entry in the transferred state */
enum { FILE_TAIL_MAX = 32 << 10, HEADER_SIZE = 16, URL_SIZE = 8, FILE_SIZE = 22 };

/* --- Headers and URLs ----------------------------------------------------------------------------- */

static bool is_within(const struct buffer *text, uint32_t at, uint32_t length)
{
    return at <= text->length && length <= text->length - at;
}

/* Allocates a list of `count` elements for reading, each with at least `wire_size` bytes in the transferred state.
 * Returns false on error or when the list is empty. */
static bool alloc_list(struct transfer *t, struct heap *heap, uint32_t count, uint32_t max, size_t size,
                       size_t wire_size, void **list)
{
    transfer_require(t, count <= max && transfer_has_room(t, count, wire_size));
    if (t->error || count == 0)
        return false;
    *list = heap_alloc(heap, count * size);
    if (!*list)
        t->error = -ENOMEM;
    return *list != NULL;
}

static void transfer_headers(struct app_context *context, struct transfer *t, struct mime_headers *headers)
{
    uint32_t count = headers->count;
    void *list;

    app_transfer_buffer(context, t, &headers->text);
    transfer_u32(t, &count);
    if (t->reading) {
        if (!alloc_list(t, app_heap(context), count, MIME_HEADERS_MAX, sizeof(*headers->list), HEADER_SIZE, &list))
            return;
        headers->list = list;
        headers->room = count;
    }
    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct mime_header *header = &headers->list[i];

        transfer_u32(t, &header->name);
        transfer_u32(t, &header->name_length);
        transfer_u32(t, &header->value);
        transfer_u32(t, &header->value_length);
        transfer_require(t, is_within(&headers->text, header->name, header->name_length) &&
                                is_within(&headers->text, header->value, header->value_length));
        headers->count = t->error ? headers->count : t->reading ? i + 1 : count;
    }
}

static void transfer_urls(struct app_context *context, struct transfer *t, struct mime_urls *urls)
{
    uint32_t count = urls->count;
    void *list;

    app_transfer_buffer(context, t, &urls->text);
    app_transfer_buffer(context, t, &urls->line);
    transfer_require(t, urls->line.length <= MIME_URL_LINE_MAX);
    transfer_u32(t, &count);
    if (t->reading) {
        if (!alloc_list(t, app_heap(context), count, MIME_URLS_MAX, sizeof(*urls->list), URL_SIZE, &list))
            return;
        urls->list = list;
        urls->room = count;
    }
    for (uint32_t i = 0; i < count && !t->error; i++) {
        transfer_u32(t, &urls->list[i].at);
        transfer_u32(t, &urls->list[i].length);
        transfer_require(t, is_within(&urls->text, urls->list[i].at, urls->list[i].length));
        urls->count = t->error ? urls->count : t->reading ? i + 1 : count;
    }
}

/* --- Parser state --------------------------------------------------------------------------------- */

static void transfer_boundaries(struct transfer *t, struct mime *mime)
{
    transfer_u8(t, &mime->level);
    transfer_u8(t, &mime->boundaries);
    transfer_require(t, mime->boundaries <= MIME_BOUNDARIES_MAX && mime->level <= MIME_DEPTH_MAX);
    for (unsigned i = 0; i < mime->boundaries && !t->error; i++) {
        struct mime_boundary *boundary = &mime->boundary[i];

        transfer_u8(t, &boundary->level);
        transfer_u16(t, &boundary->length);
        transfer_require(t, boundary->length > 2 && boundary->length <= sizeof(boundary->bytes) &&
                                boundary->level >= 1 && boundary->level <= MIME_DEPTH_MAX);
        if (!t->error)
            transfer_bytes(t, boundary->bytes, boundary->length);
    }
    if (t->error && t->reading)
        mime->boundaries = 0;
}

/* Transfers the state of a decoder and the pending line end. Writers are in the order of the open files of the
 * message. */
static void transfer_writer(struct transfer *t, struct mime_writer *writer)
{
    uint8_t encoding = (uint8_t)writer->encoding;

    transfer_u8(t, &encoding);
    transfer_bool(t, &writer->alternative);
    transfer_bytes(t, writer->base64.values, sizeof(writer->base64.values));
    transfer_u8(t, &writer->base64.count);
    transfer_bytes(t, writer->quoted.bytes, sizeof(writer->quoted.bytes));
    transfer_u8(t, &writer->quoted.count);
    transfer_bytes(t, writer->line_end, sizeof(writer->line_end));
    transfer_u8(t, &writer->line_end_length);
    transfer_require(t, encoding <= MIME_UUENCODE && writer->base64.count < sizeof(writer->base64.values) &&
                            writer->quoted.count <= sizeof(writer->quoted.bytes) &&
                            writer->line_end_length <= sizeof(writer->line_end));
    for (unsigned i = 0; i < sizeof(writer->base64.values); i++)
        transfer_require(t, writer->base64.values[i] < 64 || i >= writer->base64.count);
    writer->encoding = (enum mime_encoding)encoding;
}

static void transfer_digest(struct transfer *t, struct mime *mime)
{
    uint64_t blocks = mime->md5.count;
    uint32_t index = mime->md5.index;

    transfer_bool(t, &mime->computes_md5);
    transfer_bool(t, &mime->md5_begun);
    for (unsigned i = 0; i < sizeof(mime->md5.state) / sizeof(mime->md5.state[0]); i++)
        transfer_u32(t, &mime->md5.state[i]);
    transfer_u64(t, &blocks);
    transfer_u32(t, &index);
    transfer_bytes(t, mime->md5.block, sizeof(mime->md5.block));
    transfer_require(t, index < sizeof(mime->md5.block));
    mime->md5.count = blocks;
    mime->md5.index = index;
}

static void transfer_parser(struct transfer *t, struct mime *mime)
{
    uint8_t state = (uint8_t)mime->state;
    uint32_t anomalies = mime->anomalies;

    transfer_u8(t, &state);
    transfer_u32(t, &anomalies);
    transfer_bool(t, &mime->main_complete);
    transfer_bool(t, &mime->ended);
    transfer_bool(t, &mime->header_open);
    transfer_bool(t, &mime->extracts_urls);
    transfer_u8(t, &mime->nested);
    transfer_u16(t, &mime->files);
    transfer_u32(t, &mime->line_length);
    transfer_u32(t, &mime->early_body_headers);
    transfer_require(t, state <= MIME_IN_BODY && mime->nested <= MIME_NESTED_MAX && mime->files <= MIME_FILES_MAX &&
                            mime->early_body_headers <= MIME_HEADERS_MAX);
    mime->state = (enum mime_state)state;
    mime->anomalies = anomalies;
    mime->extracts_urls &= mime->options->extract_urls;
    transfer_boundaries(t, mime);
    transfer_u8(t, &mime->writers);
    transfer_require(t, mime->writers <= MIME_WRITERS_MAX);
    for (unsigned i = 0; i < mime->writers && !t->error; i++)
        transfer_writer(t, &mime->writer[i]);
    if (t->reading && t->error)
        mime->writers = 0;
    transfer_digest(t, mime);
}

/* --- Files ---------------------------------------------------------------------------------------- */

/* Transferred state of a file. */
struct transferred_file {
    const uint8_t *name, *tail; /* tail: the last bytes of the file */
    uint32_t name_length, tail_length, id;
    uint64_t size;
    uint8_t state;
    bool gaps; /* bytes of the file are missing */
};

static struct transferred_file describe_file(const struct file *file)
{
    struct transferred_file from = {
        .name = file->name.bytes,
        .name_length = file->name.length,
        .id = file->id,
        .size = file->size,
        .state = (uint8_t)file->state,
        .gaps = file->has_gaps,
    };

    if (file_received(file) == file->data_offset + file->data.length && file->data.length > 0) {
        from.tail_length = file->data.length < FILE_TAIL_MAX ? file->data.length : FILE_TAIL_MAX;
        from.tail = file->data.bytes + (file->data.length - from.tail_length);
    }
    return from;
}

/* Transfers bytes without copying them: when reading, *bytes points into the transferred state. */
static void transfer_lent_bytes(struct transfer *t, const uint8_t **bytes, uint32_t *length, uint32_t max)
{
    transfer_u32(t, length);
    transfer_require(t, *length <= max);
    if (t->reading)
        *bytes = t->error ? NULL : transfer_lend(t, *length);
    else
        transfer_bytes(t, (void *)*bytes, *length);
}

static void transfer_file(struct transfer *t, struct transferred_file *from)
{
    transfer_lent_bytes(t, &from->name, &from->name_length, FILE_NAME_MAX);
    transfer_lent_bytes(t, &from->tail, &from->tail_length, FILE_TAIL_MAX);
    transfer_u32(t, &from->id);
    transfer_u64(t, &from->size);
    transfer_u8(t, &from->state);
    transfer_bool(t, &from->gaps);
    transfer_require(t, from->state <= FILE_ERROR && from->tail_length <= from->size);
}

/* The files of a message. */
struct message_files {
    struct file_list *list;
    struct mime *mime; /* NULL: the message is not decoded */
    struct file **raw; /* without `mime`: the whole message as an open file */
};

static struct file *restore_file(struct app_context *context, struct file_list *list,
                                 const struct transferred_file *from)
{
    struct file_engine *files = app_files(context);
    struct file *file = file_open(files, list, from->id, from->name, from->name_length);

    if (!file)
        return NULL;
    if (from->size > from->tail_length)
        file_gap(files, file, from->size - from->tail_length);
    else if (from->gaps)
        file_gap(files, file, 0);
    if (from->tail_length > 0)
        file_append(files, file, from->tail, from->tail_length);
    if (from->state != FILE_OPEN)
        file_close(files, file, (enum file_state)from->state);
    return from->state == FILE_OPEN ? file : NULL;
}

/* Reads the files. An open file belongs to a writer of the current part, or is the raw message. */
static void read_files(struct app_context *context, struct transfer *t, const struct message_files *message,
                       uint32_t count)
{
    unsigned open = 0, writers = message->mime ? message->mime->writers : 0;

    for (uint32_t i = 0; i < count && !t->error; i++) {
        struct transferred_file from = { .name = NULL };
        struct file *file;

        transfer_file(t, &from);
        file = t->error ? NULL : restore_file(context, message->list, &from);
        if (file && message->mime && open < writers)
            message->mime->writer[open++].file = file;
        else if (file && !message->mime)
            *message->raw = file;
    }
    if (message->mime)
        message->mime->writers = (uint8_t)open;
}

static void transfer_files(struct app_context *context, struct transfer *t, const struct message_files *message)
{
    uint32_t count = message->list->count;

    transfer_u32(t, &count);
    transfer_require(t, count <= MIME_FILES_MAX && transfer_has_room(t, count, FILE_SIZE));
    if (t->reading) {
        read_files(context, t, message, count);
        return;
    }
    for (const struct file *file = message->list->first; file; file = file->next) {
        struct transferred_file from = describe_file(file);

        transfer_file(t, &from);
    }
}

void mime_transfer(struct app_context *context, struct transfer *t, struct mime *mime, struct file_list *files)
{
    transfer_parser(t, mime);
    transfer_headers(context, t, &mime->main);
    transfer_headers(context, t, &mime->part);
    transfer_urls(context, t, &mime->urls);
    transfer_files(context, t, &(struct message_files){ .list = files, .mime = mime });
}

/* --- Message -------------------------------------------------------------------------------------- */

/* Starts the message that is to be read. Returns false on error, or if the settings of this process differ from those
 * of the previous one in whether messages are raw or decoded. */
static bool start_reading(struct smtp_feed *f, struct transfer *t, struct smtp_tx *tx, bool raw)
{
    if (raw ? !f->settings->raw : f->settings->raw || !f->settings->decode)
        return false;
    if (raw)
        return true; /* read_files() sets tx->raw */
    if (smtp_start_message(f, tx))
        t->error = -ENOMEM;
    return !t->error && tx->mime;
}

static void transfer_message(struct smtp_feed *f, struct transfer *t, struct smtp_tx *tx)
{
    bool raw = tx->raw != NULL;

    transfer_bool(t, &raw);
    if (t->error || (t->reading && !start_reading(f, t, tx, raw)))
        return;
    if (!raw) {
        transfer_u32(t, &tx->reported_urls);
        mime_transfer(f->context, t, tx->mime, &tx->tx.files[FLOW_TO_SERVER]);
        tx->reported_anomalies = tx->mime->anomalies;
        return;
    }
    transfer_files(f->context, t, &(struct message_files){ .list = &tx->tx.files[FLOW_TO_SERVER], .raw = &tx->raw });
}

void smtp_transfer_message(struct smtp_feed *f, struct transfer *t, struct smtp_tx *tx)
{
    struct transfer part;
    uint16_t kind = 0;
    size_t start;

    if (!t->reading) {
        start = transfer_part_start(t, 0);
        transfer_message(f, t, tx);
        transfer_part_end(t, start);
        return;
    }
    transfer_require(t, transfer_next_part(t, &kind, &part));
    if (t->error)
        return;
    transfer_message(f, &part, tx);
    t->error = part.error;
}
