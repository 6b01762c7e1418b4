/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Extraction of URLs from the text of a message. A URL starts with a configured scheme, anywhere in a line, and ends
 * before a blank, a quote, `<`, `>`, `]`, or the end of the line.
 */
#include <string.h>

#include "mime.h"

static bool ends_url(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '"' || c == '\'' || c == '<' || c == '>' || c == ']' || c == '\r' || c == '\n';
}

static bool add_url(struct heap *heap, struct mime *mime, const uint8_t *url, uint32_t length, uint32_t scheme_length)
{
    uint32_t skipped = mime->options->keep_scheme ? 0 : scheme_length;
    struct mime_urls *urls = &mime->urls;

    if (urls->count == MIME_URLS_MAX) {
        mime->anomalies |= MIME_PARSE_FAILED;
        return true;
    }
    if (urls->count == urls->room) {
        uint32_t room = urls->room ? urls->room * 2 : 4;
        struct mime_text *grown = heap_grow(heap, urls->list, urls->count * sizeof(*grown), room * sizeof(*grown));

        if (!grown)
            return false;
        urls->list = grown;
        urls->room = room;
    }
    urls->list[urls->count] = (struct mime_text){ .at = urls->text.length };
    urls->list[urls->count].length = buffer_append(heap, &urls->text, url + skipped, length - skipped, MIME_URL_BYTES);
    if (urls->list[urls->count].length < length - skipped)
        mime->anomalies |= MIME_PARSE_FAILED;
    urls->count++;
    return true;
}

/* Adds all URLs with one scheme, such as "http://": searches for colons, which are rare, and compares the bytes around
 * them. */
static bool add_urls_with_scheme(struct heap *heap, struct mime *mime, const char *scheme, const uint8_t *text,
                                 uint32_t length)
{
    uint32_t scheme_length = (uint32_t)strlen(scheme), at = 0, previous_end = 0;

    while (at < length) {
        const uint8_t *colon = memchr(text + at, ':', length - at);
        uint32_t begin, end;

        if (!colon)
            return true;
        at = (uint32_t)(colon - text) + 1;
        if (at + 2 < scheme_length + previous_end || length - at < 2)
            continue;
        begin = at + 2 - scheme_length;
        if (!mime_equal_nocase(text + begin, scheme_length, scheme))
            continue;
        for (end = begin; end < length && !ends_url(text[end]);)
            end++;
        if (!add_url(heap, mime, text + begin, end - begin, scheme_length))
            return false;
        at = previous_end = end;
    }
    return true;
}

static bool find_urls_in_line(struct heap *heap, struct mime *mime, const uint8_t *text, uint32_t length)
{
    if (!memchr(text, ':', length))
        return true;
    for (const char *const *scheme = mime->options->schemes; *scheme; scheme++)
        if (!add_urls_with_scheme(heap, mime, *scheme, text, length))
            return false;
    return true;
}

bool mime_find_urls(struct heap *heap, struct mime *mime, const uint8_t *text, uint32_t length)
{
    struct buffer *line = &mime->urls.line;

    /* One URL beyond the limit is an anomaly; further text is not searched. */
    while (length > 0 && !(mime->urls.count == MIME_URLS_MAX && mime->anomalies & MIME_PARSE_FAILED)) {
        const uint8_t *end = memchr(text, '\n', length);
        uint32_t room = MIME_URL_LINE_MAX - line->length, size = end ? (uint32_t)(end + 1 - text) : length;

        if (end && line->length == 0) {
            if (!find_urls_in_line(heap, mime, text, size))
                return false;
        } else {
            size = size < room ? size : room;
            if (buffer_append(heap, line, text, size, MIME_URL_LINE_MAX) < size)
                return false;
            if ((text[size - 1] == '\n' || line->length == MIME_URL_LINE_MAX) && !mime_finish_urls(heap, mime))
                return false;
        }
        text += size;
        length -= size;
    }
    return true;
}

bool mime_finish_urls(struct heap *heap, struct mime *mime)
{
    struct buffer *line = &mime->urls.line;
    bool done = line->length == 0 || find_urls_in_line(heap, mime, line->bytes, line->length);

    buffer_consume(line, line->length);
    return done;
}

void mime_urls_clear(struct heap *heap, struct mime_urls *urls)
{
    buffer_clear(heap, &urls->text);
    buffer_clear(heap, &urls->line);
    heap_release(heap, urls->list);
    *urls = (struct mime_urls){ 0 };
}
