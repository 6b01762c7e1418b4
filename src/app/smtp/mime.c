/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message, line by line: headers up to an empty line, then a body, which boundaries cut into parts that begin with headers again.
 *
 * A line that begins with a boundary ends all parts within. Of the boundaries that fit, the longest counts, then the innermost. Receivers do not look at
 * what follows a boundary on its line, so neither is done here. What follows the closing boundary is text for nobody.
 */
#include "mime.h"

#include <string.h>

enum { LINE_MAX_LENGTH = 998, ENCODED_LINE_MAX = 76, HEADER_NAME_MAX = 75 };

void mime_init(struct mime *mime, const struct mime_options *options, bool body_md5)
{
    memset(mime, 0, sizeof(*mime));
    mime->options = options;
    mime->looks_for_urls = options->extract_urls;
    mime->md5_wanted = body_md5;
    if (body_md5)
        md5_init(&mime->md5);
}

void mime_clear(struct heap *heap, struct mime *mime)
{
    mime_headers_clear(heap, &mime->main);
    mime_headers_clear(heap, &mime->part);
    mime_urls_clear(heap, &mime->urls);
}

/* --- Files -------------------------------------------------------------------------------------------------------------------- */

static void open_file(struct mime *mime, struct mime_target *target, const uint8_t *name, uint32_t length)
{
    if (mime->files >= MIME_FILES_MAX) {
        mime->anomalies |= MIME_PARSE_FAILED;
        return;
    }
    mime->file = file_open(target->files, target->list, target->next_id(target->user), name, length);
    mime->base64.count = mime->quoted.count = 0;
    mime->held_count = 0;
    mime->files++;
    target->grown = true;
}

static void append(struct mime *mime, struct mime_target *target, const uint8_t *bytes, uint32_t length)
{
    if (length == 0)
        return;
    if (mime->options->extract_urls && !mime_find_urls(target->heap, mime, bytes, length))
        mime->anomalies |= MIME_PARSE_FAILED;
    file_append(target->files, mime->file, bytes, length);
    target->grown = true;
}

static void close_file(struct mime *mime, struct mime_target *target, bool complete)
{
    uint8_t rest[3];

    if (!mime->file)
        return;
    if (complete && mime->encoding == MIME_BASE64)
        append(mime, target, rest, mime_finish_base64(&mime->base64, rest));
    file_close(target->files, mime->file, complete ? FILE_CLOSED : FILE_TRUNCATED);
    mime->file = NULL;
    target->grown = true;
}

static void end_part(struct mime *mime, struct mime_target *target, bool complete)
{
    close_file(mime, target, complete);
    if (!mime_finish_urls(target->heap, mime))
        mime->anomalies |= MIME_PARSE_FAILED;
    mime->held_count = 0;
}

/* --- The end of headers ------------------------------------------------------------------------------------------------------- */

static const uint8_t *value_of(const struct mime_headers *headers, const struct mime_header *header)
{
    return buffer_at(&headers->text, header->value);
}

/* The name of the file that a part is; its length, or 0. */
static uint32_t file_name(struct mime *mime, const struct mime_headers *headers, uint8_t *out)
{
    static const char *const where[][2] = { { "content-disposition", "filename" }, { "content-type", "name" } };

    for (unsigned i = 0; i < 2; i++) {
        const struct mime_header *header = mime_headers_find(headers, where[i][0], 0);
        uint32_t length;

        if (!header || !mime_parameter(value_of(headers, header), header->value_length, where[i][1], out,
                                       MIME_FILE_NAME_MAX, &length))
            continue;
        if (length > MIME_FILE_NAME_MAX) {
            mime->anomalies |= MIME_LONG_FILE_NAME;
            length = MIME_FILE_NAME_MAX;
        }
        if (length > 0)
            return length;
    }
    return 0;
}

/* A value without its parameters. */
static bool is_kind(const struct mime_headers *headers, const struct mime_header *header, const char *kind, bool prefix)
{
    const uint8_t *value = value_of(headers, header), *end;
    uint32_t length = header->value_length, word = (uint32_t)strlen(kind);

    end = length ? memchr(value, ';', length) : NULL;
    length = end ? (uint32_t)(end - value) : length;
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t' || value[length - 1] == '\r'))
        length--;
    return prefix ? length >= word && mime_equal_nocase(value, word, kind) : mime_equal_nocase(value, length, kind);
}

static enum mime_encoding encoding_of(const struct mime_headers *headers)
{
    const struct mime_header *header = mime_headers_find(headers, "content-transfer-encoding", 0);

    if (header && is_kind(headers, header, "base64", false))
        return MIME_BASE64;
    return header && is_kind(headers, header, "quoted-printable", false) ? MIME_QUOTED : MIME_PLAIN;
}

static void push_boundary(struct mime *mime, const struct mime_headers *headers, const struct mime_header *type)
{
    struct mime_boundary boundary = { .length = 2, .bytes = { '-', '-' } };
    uint32_t length;

    if (!mime_parameter(value_of(headers, type), type->value_length, "boundary", boundary.bytes + 2, MIME_BOUNDARY_MAX,
                        &length) ||
        length == 0)
        return;
    if (length > MIME_BOUNDARY_MAX) {
        mime->anomalies |= MIME_LONG_BOUNDARY;
        length = MIME_BOUNDARY_MAX;
    }
    if (mime->depth == MIME_DEPTH_MAX) {
        mime->anomalies |= MIME_MALFORMED;
        return;
    }
    boundary.length = (uint16_t)(length + 2);
    mime->boundary[mime->depth++] = boundary;
}

/* A message within: its headers follow. What is said of the message as a whole does not hold for its parts. */
static bool begin_nested(struct mime *mime, struct heap *heap)
{
    if (mime->nested == MIME_NESTED_MAX) {
        mime->anomalies |= MIME_MALFORMED;
        return false;
    }
    mime->nested++;
    mime->state = MIME_IN_HEADERS;
    mime_headers_clear(heap, &mime->part);
    return true;
}

static void end_headers(struct mime *mime, struct mime_target *target)
{
    struct mime_headers *headers = mime->main_done ? &mime->part : &mime->main;
    const struct mime_header *type = mime_headers_find(headers, "content-type", 0);
    uint8_t name[MIME_FILE_NAME_MAX];
    uint32_t length = file_name(mime, headers, name);

    mime->header_open = false;
    mime->main_done = true;
    mime->state = MIME_IN_BODY;
    mime->encoding = MIME_PLAIN;
    mime->looks_for_urls = mime->options->extract_urls && (!type || is_kind(headers, type, "text/plain", false) ||
                                                           is_kind(headers, type, "text/html", false));
    if (type && is_kind(headers, type, "message/rfc822", false) && begin_nested(mime, target->heap))
        return;
    if (type && (headers == &mime->main || is_kind(headers, type, "multipart/", true)))
        push_boundary(mime, headers, type);
    mime->encoding = encoding_of(headers);
    if (length > 0)
        open_file(mime, target, name, length);
}

/* --- Lines of headers --------------------------------------------------------------------------------------------------------- */

static void check_header(struct mime *mime, const struct mime_headers *headers)
{
    const struct mime_header *header = &headers->list[headers->count - 1];

    if (header->name_length > HEADER_NAME_MAX)
        mime->anomalies |= MIME_LONG_HEADER_NAME;
    if (header->value_length > mime->options->value_depth)
        mime->anomalies |= MIME_LONG_HEADER_VALUE;
}

static void header_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    struct mime_headers *headers = mime->main_done ? &mime->part : &mime->main;
    const uint8_t *bytes = line->bytes;
    uint32_t count = headers->count;
    bool kept = true;

    if (line->begins && line->length == 0 && line->end_length > 0) {
        end_headers(mime, target);
        return;
    }
    if (!line->begins || (line->length > 0 && (bytes[0] == ' ' || bytes[0] == '\t'))) {
        if (mime->header_open && headers->count > 0)
            kept = mime_headers_append(target->heap, headers, bytes + line->begins, line->length - line->begins);
    } else {
        kept = mime_headers_add(target->heap, headers, bytes, line->length);
        mime->header_open = headers->count > count;
    }
    if (mime->header_open && headers->count > 0)
        check_header(mime, headers);
    if (!kept)
        mime->anomalies |= MIME_PARSE_FAILED;
}

/* --- Lines of bodies ---------------------------------------------------------------------------------------------------------- */

static void append_held(struct mime *mime, struct mime_target *target)
{
    append(mime, target, mime->held, mime->held_count);
    mime->held_count = 0;
}

static void hold_end(struct mime *mime, const struct mime_line *line)
{
    memcpy(mime->held, line->bytes + line->length, line->end_length);
    mime->held_count = line->end_length;
}

static void base64_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    uint8_t out[MIME_PIECE_MAX];
    bool invalid = false;
    uint32_t length = mime_decode_base64(&mime->base64, line->bytes, line->length, out, &invalid);

    if (invalid)
        mime->anomalies |= MIME_INVALID_BASE64;
    append(mime, target, out, length);
}

static void quoted_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    uint8_t out[MIME_PIECE_MAX + 2];
    bool invalid = false, soft;
    uint32_t length =
        mime_decode_quoted(&mime->quoted, line->bytes, line->length, line->end_length > 0, out, &soft, &invalid);

    if (invalid)
        mime->anomalies |= MIME_INVALID_QUOTED;
    append_held(mime, target);
    append(mime, target, out, length);
    if (!soft)
        hold_end(mime, line);
}

static void file_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    if (mime->encoding != MIME_PLAIN && mime->line_length > ENCODED_LINE_MAX)
        mime->anomalies |= MIME_LONG_ENCODED_LINE;
    if (mime->encoding == MIME_BASE64) {
        if (mime->options->decode_base64)
            base64_line(mime, target, line);
    } else if (mime->encoding == MIME_QUOTED) {
        if (mime->options->decode_quoted)
            quoted_line(mime, target, line);
    } else {
        append_held(mime, target);
        append(mime, target, line->bytes, line->length);
        hold_end(mime, line);
    }
}

static void body_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    if (mime->file) {
        file_line(mime, target, line);
    } else if (mime->looks_for_urls) {
        if (!mime_find_urls(target->heap, mime, line->bytes, line->length + line->end_length))
            mime->anomalies |= MIME_PARSE_FAILED;
    }
}

/* --- Boundaries --------------------------------------------------------------------------------------------------------------- */

/* The level that the line is a boundary of; -1. */
static int find_boundary(const struct mime *mime, const struct mime_line *line)
{
    uint16_t longest = 0;
    int level = -1;

    if (!line->begins || line->length < 3 || line->bytes[0] != '-' || line->bytes[1] != '-')
        return -1;
    for (int i = mime->depth - 1; i >= 0; i--) {
        const struct mime_boundary *boundary = &mime->boundary[i];

        if (boundary->length > longest && line->length >= boundary->length &&
            memcmp(line->bytes, boundary->bytes, boundary->length) == 0) {
            longest = boundary->length;
            level = i;
        }
    }
    return level;
}

static void take_boundary(struct mime *mime, struct mime_target *target, const struct mime_line *line, int level)
{
    uint32_t length = mime->boundary[level].length;
    bool closes = line->length >= length + 2 && line->bytes[length] == '-' && line->bytes[length + 1] == '-';

    end_part(mime, target, true);
    mime->depth = (uint8_t)(level + 1);
    mime->encoding = MIME_PLAIN;
    mime->header_open = false;
    mime->looks_for_urls = false;
    mime->state = closes ? MIME_IN_BODY : MIME_IN_HEADERS;
    mime_headers_clear(target->heap, &mime->part);
}

/* --- Lines -------------------------------------------------------------------------------------------------------------------- */

static void digest(struct mime *mime, const struct mime_line *line, bool in_body)
{
    if (!mime->md5_wanted || (!mime->md5_begun && !in_body))
        return;
    mime->md5_begun = true;
    md5_update(&mime->md5, line->length + line->end_length, line->bytes);
}

static void finish_digest(struct mime *mime)
{
    static const char hex[] = "0123456789abcdef";
    uint8_t result[MD5_DIGEST_SIZE];

    md5_digest(&mime->md5, sizeof(result), result);
    for (unsigned i = 0; i < sizeof(result); i++) {
        mime->md5_text[2 * i] = (uint8_t)hex[result[i] >> 4];
        mime->md5_text[2 * i + 1] = (uint8_t)hex[result[i] & 15];
    }
    mime->md5_done = true;
}

void mime_line(struct mime *mime, struct mime_target *target, const struct mime_line *line)
{
    int level;

    if (mime->ended)
        return;
    mime->line_length = (line->begins ? 0 : mime->line_length) + line->length;
    if (mime->line_length > LINE_MAX_LENGTH)
        mime->anomalies |= MIME_LONG_LINE;
    digest(mime, line, mime->state == MIME_IN_BODY);
    level = find_boundary(mime, line);
    if (level >= 0) {
        /* Headers without an empty line behind them: a part without a body. */
        if (mime->state == MIME_IN_HEADERS && mime->part.count > 0)
            end_headers(mime, target);
        take_boundary(mime, target, line, level);
    } else if (mime->state == MIME_IN_HEADERS) {
        header_line(mime, target, line);
    } else {
        body_line(mime, target, line);
    }
}

void mime_gap(struct mime *mime, struct mime_target *target, uint64_t length)
{
    mime->header_open = false;
    mime->base64.count = mime->quoted.count = 0;
    mime->held_count = 0;
    if (!mime->file)
        return;
    /* How much it would have been decoded is not known. */
    file_gap(target->files, mime->file, mime->encoding == MIME_PLAIN ? length : 0);
    target->grown = true;
}

void mime_end(struct mime *mime, struct mime_target *target, bool complete)
{
    if (mime->ended)
        return;
    if (mime->state == MIME_IN_HEADERS)
        end_headers(mime, target);
    end_part(mime, target, complete);
    mime->ended = true;
    if (mime->md5_wanted && mime->md5_begun && complete) {
        finish_digest(mime);
    }
}
