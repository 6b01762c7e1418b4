/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * multipart/form-data (RFC 7578): parts with a file name are files.
 *
 * Lines that start with a blank continue the previous header. Bytes stay in `pending` until a line is complete, or
 * until they cannot be part of a boundary.
 */
#include "http_priv.h"

#include <string.h>

enum { BOUNDARY_MAX = 256, LINE_MAX_LENGTH = 8192, PENDING_MAX = 1 << 20, FILES_MAX = 256 };

enum form_step {
    FORM_PREAMBLE,
    FORM_BOUNDARY, /* in the rest of a line that starts with a boundary */
    FORM_HEADERS,
    FORM_DATA,
    FORM_OVER,
};

struct http_form {
    enum form_step step;
    uint8_t boundary[BOUNDARY_MAX + 4]; /* LF, two hyphens, and the parameter `boundary` */
    uint32_t boundary_length;
    struct buffer pending;
    uint32_t consumed;  /* consumed bytes of `pending` */
    bool has_file;      /* the current part is a file */
    bool past_start;    /* the current step has consumed bytes */
    struct buffer name; /* file name of the current part */
    uint64_t file_length;
};

struct http_form *http_form_new(struct http_feed *f, const uint8_t *content_type, uint32_t length)
{
    static const char type[] = "multipart/";
    const uint8_t *boundary;
    uint32_t size;

    if (length < sizeof(type) - 1 || !http_equal_nocase(content_type, sizeof(type) - 1, type))
        return NULL;
    if (!http_parameter(content_type, length, "boundary", &boundary, &size) || size == 0 || size > BOUNDARY_MAX)
        return NULL;
    struct http_form *form = heap_alloc(app_heap(f->context), sizeof(*form));

    if (!form)
        return NULL;
    memcpy(form->boundary, "\n--", 3);
    memcpy(form->boundary + 3, boundary, size);
    form->boundary_length = size + 3;
    return form;
}

void http_form_free(struct heap *heap, struct http_form *form)
{
    if (!form)
        return;
    buffer_clear(heap, &form->pending);
    buffer_clear(heap, &form->name);
    heap_release(heap, form);
}

/* --- Parts ---------------------------------------------------------------------------------------- */

static void close_part_file(struct http_feed *f, struct http_tx *tx, struct http_form *form,
                            enum flow_direction direction, enum file_state state)
{
    struct http_message *message = &tx->message[direction];

    if (form->has_file && form->file_length == 0)
        http_event(f, tx, HTTP_EVENT_MULTIPART_NO_FILEDATA);
    if (message->file)
        file_close(app_files(f->context), message->file, state);
    message->file = NULL;
    form->has_file = false;
    form->name.length = 0;
}

static void append_data(struct http_feed *f, struct http_tx *tx, struct http_form *form, uint32_t length)
{
    struct http_message *message = &tx->message[f->direction];

    if (message->file && length > 0)
        file_append(app_files(f->context), message->file, form->pending.bytes + form->consumed, length);
    form->file_length += length;
    form->consumed += length;
}

/* Sets *name to the name in filename*=UTF-8'en'a.txt (RFC 8187), without charset and language, not decoded. Returns
 * false if there is none. */
static bool find_extended_name(const uint8_t *line, uint32_t length, const uint8_t **name, uint32_t *size)
{
    const uint8_t *quote;

    if (!http_parameter(line, length, "filename*", name, size))
        return false;
    for (unsigned i = 0; i < 2 && (quote = memchr(*name, '\'', *size)); i++) {
        *size -= (uint32_t)(quote + 1 - *name);
        *name = quote + 1;
    }
    return true;
}

static void parse_header(struct http_feed *f, struct http_tx *tx, struct http_form *form, const uint8_t *line,
                         uint32_t length)
{
    static const char disposition[] = "content-disposition:";
    const uint8_t *name;
    uint32_t size;

    form->past_start = true;
    if (!memchr(line, ':', length)) {
        http_event(f, tx, HTTP_EVENT_MULTIPART_INVALID_HEADER);
        return;
    }
    if (length < sizeof(disposition) - 1 || !http_equal_nocase(line, sizeof(disposition) - 1, disposition))
        return;
    if (!http_parameter(line, length, "filename", &name, &size) && !find_extended_name(line, length, &name, &size))
        return;
    if (size == 0)
        return;
    form->has_file = true;
    form->name.length = 0;
    buffer_append(app_heap(f->context), &form->name, name, size, LINE_MAX_LENGTH);
}

/* --- Steps: return false if more bytes are needed ------------------------------------------------ */

static uint32_t pending_length(const struct http_form *form)
{
    return form->pending.length - form->consumed;
}

/* Returns the position of a boundary in the pending bytes, starting with the LF before it; NULL if there is none. */
static const uint8_t *find_boundary(const struct http_form *form)
{
    return memmem(form->pending.bytes + form->consumed, pending_length(form), form->boundary, form->boundary_length);
}

static bool skip_preamble(struct http_form *form)
{
    const uint8_t *bytes = form->pending.bytes + form->consumed, *found;
    uint32_t left = pending_length(form), bare = form->boundary_length - 1;

    if (form->consumed == 0 && !form->past_start && left >= bare && memcmp(bytes, form->boundary + 1, bare) == 0) {
        form->consumed += bare;
        form->step = FORM_BOUNDARY;
        return true;
    }
    found = find_boundary(form);
    if (found) {
        form->consumed += (uint32_t)(found - bytes) + form->boundary_length;
        form->step = FORM_BOUNDARY;
        return true;
    }
    if (left > form->boundary_length + bare) { /* only the last bytes may be the start of a boundary */
        form->consumed += left - form->boundary_length;
        form->past_start = true;
    }
    return false;
}

/* Consumes the rest of a boundary line. Two hyphens after the boundary end the form. */
static bool read_boundary_line(struct http_feed *f, struct http_tx *tx, struct http_form *form)
{
    const uint8_t *bytes = form->pending.bytes + form->consumed, *end;
    uint32_t left = pending_length(form);

    if (left >= 2 && bytes[0] == '-' && bytes[1] == '-') {
        form->step = FORM_OVER;
        return true;
    }
    end = left > 0 ? memchr(bytes, '\n', left) : NULL;
    if (!end && left > LINE_MAX_LENGTH) {
        http_event(f, tx, HTTP_EVENT_MULTIPART_GENERIC_ERROR);
        form->step = FORM_OVER;
        return true;
    }
    if (!end)
        return false;
    form->consumed += (uint32_t)(end - bytes) + 1;
    form->step = FORM_HEADERS;
    form->past_start = false;
    return true;
}

/* Returns the LF that ends the header at the start of the bytes, including its continuation lines; NULL if the bytes do
 * not show yet whether a continuation line follows. An empty line counts as a header. */
static const uint8_t *find_header_end(const uint8_t *bytes, uint32_t left)
{
    const uint8_t *end = left > 0 ? memchr(bytes, '\n', left) : NULL, *stop = bytes + left;

    if (end && http_trim_line_end(bytes, (uint32_t)(end - bytes) + 1) == 0)
        return end;
    while (end && end + 1 < stop && (end[1] == ' ' || end[1] == '\t'))
        end = memchr(end + 1, '\n', (size_t)(stop - (end + 1)));
    return end && end + 1 < stop ? end : NULL;
}

static bool read_header_line(struct http_feed *f, struct http_tx *tx, struct http_form *form)
{
    const uint8_t *bytes = form->pending.bytes + form->consumed;
    uint32_t left = pending_length(form), size;
    const uint8_t *end = find_header_end(bytes, left);
    struct file_list *files = &tx->base.files[f->direction];

    if (!end && left > LINE_MAX_LENGTH) {
        http_event(f, tx, HTTP_EVENT_MULTIPART_INVALID_HEADER);
        form->step = FORM_OVER;
        return true;
    }
    if (!end)
        return false;
    size = (uint32_t)(end - bytes) + 1;
    form->consumed += size;
    size = http_trim_line_end(bytes, size);
    if (size > 0) {
        parse_header(f, tx, form, bytes, size);
        return true;
    }
    form->consumed--; /* in a part without data this LF is also the start of the next boundary */
    form->file_length = 0;
    if (form->has_file && files->count >= FILES_MAX)
        http_event(f, tx, HTTP_EVENT_MULTIPART_GENERIC_ERROR);
    else if (form->has_file)
        tx->message[f->direction].file =
            file_open(app_files(f->context), files, app_next_file_id(f->context), form->name.bytes, form->name.length);
    form->step = FORM_DATA;
    form->past_start = false;
    return true;
}

static bool read_part_data(struct http_feed *f, struct http_tx *tx, struct http_form *form)
{
    const uint8_t *found = find_boundary(form), *bytes;
    uint32_t left;

    if (!form->past_start &&
        pending_length(form) >=
            form->boundary_length) { /* skips the LF of the empty line unless it starts a boundary */
        form->past_start = true;
        if (found != form->pending.bytes + form->consumed)
            form->consumed++;
    } else if (!form->past_start) {
        return false;
    }
    bytes = form->pending.bytes + form->consumed;
    left = pending_length(form);
    if (found) {
        uint32_t size = (uint32_t)(found - bytes), skip = form->boundary_length;

        if (size > 0 && found[-1] == '\r') {
            size--;
            skip++;
        }
        append_data(f, tx, form, size);
        close_part_file(f, tx, form, f->direction, FILE_CLOSED);
        form->consumed += skip;
        form->step = FORM_BOUNDARY;
        return true;
    }
    if (left > form->boundary_length + 1)
        append_data(f, tx, form, left - form->boundary_length - 1);
    return false;
}

void http_form_feed(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length)
{
    struct http_form *form = tx->message[f->direction].form;
    bool is_active = true;

    if (form->step == FORM_OVER)
        return;
    if (buffer_append(app_heap(f->context), &form->pending, bytes, length, PENDING_MAX) < length) {
        http_event(f, tx, HTTP_EVENT_MULTIPART_GENERIC_ERROR);
        form->step = FORM_OVER;
    }
    while (is_active && form->step != FORM_OVER) {
        switch (form->step) {
        case FORM_PREAMBLE:
            is_active = skip_preamble(form);
            break;
        case FORM_BOUNDARY:
            is_active = read_boundary_line(f, tx, form);
            break;
        case FORM_HEADERS:
            is_active = read_header_line(f, tx, form);
            break;
        case FORM_DATA:
            is_active = read_part_data(f, tx, form);
            break;
        case FORM_OVER:
            break;
        }
    }
    buffer_consume(&form->pending, form->consumed);
    form->consumed = 0;
}

void http_form_stop(struct http_feed *f, struct http_tx *tx)
{
    struct http_form *form = tx->message[f->direction].form;

    if (form->step == FORM_DATA)
        append_data(f, tx, form, pending_length(form));
    form->step = FORM_OVER;
}

void http_form_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction)
{
    struct http_form *form = tx->message[direction].form;

    if (form->step != FORM_OVER)
        http_event(f, tx, HTTP_EVENT_MULTIPART_GENERIC_ERROR);
    if (form->step == FORM_DATA && !form->past_start && pending_length(form) > 0)
        form->consumed++;
    if (form->step == FORM_DATA && direction == f->direction)
        append_data(f, tx, form, pending_length(form));
    close_part_file(f, tx, form, direction, FILE_TRUNCATED);
}
