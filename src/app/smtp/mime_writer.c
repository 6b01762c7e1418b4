/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of a message. Receivers may differ in the encoding of a part if its headers name several or an unusual one, in
 * the end of a part, and in whether they decode uuencoded files in text. The same lines may therefore be written to
 * several files, one for each interpretation, and rules inspect all of them.
 *
 * If MIME_WRITERS_MAX files are open when another one is opened, the second oldest of them is closed.
 */
#include <string.h>

#include "mime.h"

enum { ENCODED_LINE_MAX = 76 };

/* Appends decoded bytes to a file and extracts their URLs. */
static void append_bytes(struct mime *mime, struct mime_target *target, struct mime_writer *writer,
                         const uint8_t *bytes, uint32_t length)
{
    if (length == 0)
        return;
    if (!writer->alternative && mime->options->extract_urls && !mime_find_urls(target->heap, mime, bytes, length))
        mime->anomalies |= MIME_PARSE_FAILED;
    file_append(target->files, writer->file, bytes, length);
    target->grown = true;
}

static void close_file(struct mime *mime, struct mime_target *target, unsigned index, bool complete)
{
    struct mime_writer *writer = &mime->writer[index];
    uint8_t rest[3];

    if (complete && writer->encoding == MIME_BASE64)
        append_bytes(mime, target, writer, rest, base64_stream_finish(&writer->base64, rest));
    file_close(target->files, writer->file, complete ? FILE_CLOSED : FILE_TRUNCATED);
    memmove(writer, writer + 1, (mime->writers - index - 1u) * sizeof(*writer));
    mime->writers--;
    target->grown = true;
}

void mime_close_files(struct mime *mime, struct mime_target *target, bool complete)
{
    while (mime->writers > 0)
        close_file(mime, target, 0, complete);
}

void mime_open_file(struct mime *mime, struct mime_target *target, const uint8_t *name, uint32_t length,
                    enum mime_encoding encoding, bool alternative)
{
    struct file *file;

    if (mime->files >= MIME_FILES_MAX) {
        mime->anomalies |= MIME_PARSE_FAILED;
        return;
    }
    if (mime->writers == MIME_WRITERS_MAX)
        close_file(mime, target, 1, false);
    file = file_open(target->files, target->list, target->next_id(target->user), name, length);
    if (!file) {
        mime->anomalies |= MIME_PARSE_FAILED;
        return;
    }
    mime->writer[mime->writers++] =
        (struct mime_writer){ .file = file, .encoding = encoding, .alternative = alternative };
    mime->files++;
    target->grown = true;
}

void mime_copy_files(struct mime *mime, struct mime_target *target, const struct mime *other)
{
    enum { TAIL_MAX = 4096 }; /* bytes copied from the end of a file */

    for (unsigned i = 0; i < other->writers; i++) {
        const struct mime_writer *from = &other->writer[i];
        const struct buffer *data = &from->file->data;
        uint32_t tail = data->length < TAIL_MAX ? data->length : TAIL_MAX;

        mime_open_file(mime, target, from->file->name.bytes, from->file->name.length, from->encoding,
                       from->alternative);
        if (mime->writers <= i)
            return;
        struct mime_writer *writer = &mime->writer[i];

        writer->base64 = from->base64;
        writer->quoted = from->quoted;
        memcpy(writer->line_end, from->line_end, sizeof(writer->line_end));
        writer->line_end_length = from->line_end_length;
        if (from->file->size == from->file->data_offset + data->length)
            append_bytes(mime, target, writer, buffer_at(data, data->length - tail), tail);
    }
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static void append_line_end(struct mime *mime, struct mime_target *target, struct mime_writer *writer)
{
    append_bytes(mime, target, writer, writer->line_end, writer->line_end_length);
    writer->line_end_length = 0;
}

static void store_line_end(struct mime_writer *writer, const struct mime_line *line)
{
    memcpy(writer->line_end, line->bytes + line->length, line->end_length);
    writer->line_end_length = line->end_length;
}

/* Decodes the line and appends it to the file of one writer. */
static void write_line(struct mime *mime, struct mime_target *target, struct mime_writer *writer,
                       const struct mime_line *line)
{
    bool encoded = writer->encoding == MIME_BASE64 || writer->encoding == MIME_QUOTED, invalid = false, soft;
    uint8_t out[2 * MIME_PIECE_MAX];
    uint32_t length;

    if (encoded && !writer->alternative && mime->line_length > ENCODED_LINE_MAX)
        mime->anomalies |= MIME_LONG_ENCODED_LINE;
    switch (writer->encoding) {
    case MIME_BASE64:
        if (!mime->options->decode_base64)
            break;
        length = base64_stream_decode(&writer->base64, line->bytes, line->length, out, &invalid);
        if (invalid && !writer->alternative)
            mime->anomalies |= MIME_INVALID_BASE64;
        append_bytes(mime, target, writer, out, length);
        break;
    case MIME_QUOTED:
        if (!mime->options->decode_quoted)
            break;
        length =
            mime_decode_quoted(&writer->quoted, line->bytes, line->length, line->end_length > 0, out, &soft, &invalid);
        if (invalid && !writer->alternative)
            mime->anomalies |= MIME_INVALID_QUOTED;
        append_line_end(mime, target, writer);
        append_bytes(mime, target, writer, out, length);
        if (!soft)
            store_line_end(writer, line);
        break;
    case MIME_UUENCODE:
        if (line->begins)
            append_bytes(mime, target, writer, out, mime_decode_uuencode(line->bytes, line->length, out));
        break;
    default:
        append_line_end(mime, target, writer);
        append_bytes(mime, target, writer, line->bytes, line->length);
        store_line_end(writer, line);
    }
}

static bool is_uuencode_end(const struct mime_line *line)
{
    return line->begins && line->length >= 3 && memcmp(line->bytes, "end", 3) == 0 &&
           (line->length == 3 || line->bytes[3] == ' ' || line->bytes[3] == '\t' || line->bytes[3] == '\r');
}

void mime_write_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    const uint8_t *name = NULL;
    uint32_t length = 0;

    for (unsigned i = 0; i < mime->writers;) {
        struct mime_writer *writer = &mime->writer[i];

        if (writer->encoding == MIME_UUENCODE && is_uuencode_end(line)) {
            close_file(mime, target, i, true);
            continue;
        }
        write_line(mime, target, writer, line);
        i++;
    }
    if (line->begins && line->length > 0 && (line->bytes[0] == 'b' || line->bytes[0] == 'B'))
        name = mime_uuencode_begin(line->bytes, line->length, &length);
    if (name)
        mime_open_file(mime, target, name, length < MIME_FILE_NAME_MAX ? length : MIME_FILE_NAME_MAX, MIME_UUENCODE,
                       true);
}
