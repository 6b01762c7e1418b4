/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of messages and parts, and the parameters of their values (RFC 2045 5.1, 2231).
 *
 * Words of RFC 2047 (=?utf-8?q?...?=) are left as they are: rules and file names compare what was sent.
 */
#include <string.h>

#include "mime.h"
#include "sluice/bytes.h"

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

bool mime_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word)
{
    for (uint32_t i = 0; i < length; i++)
        if (word[i] == '\0' || lower(bytes[i]) != lower((uint8_t)word[i]))
            return false;
    return word[length] == '\0';
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* --- Lists of headers --------------------------------------------------------------------------------------------------------- */

static bool has_room(struct heap *heap, struct mime_headers *headers)
{
    if (headers->count < headers->room)
        return true;
    uint32_t room = headers->room ? headers->room * 2 : 8;
    struct mime_header *grown;

    if (headers->count >= MIME_HEADERS_MAX)
        return false;
    grown = heap_grow(heap, headers->list, headers->count * sizeof(*grown), room * sizeof(*grown));
    if (!grown)
        return false;
    headers->list = grown;
    headers->room = room;
    return true;
}

/* A line without a colon is no header, and left out. */
bool mime_headers_add(struct heap *heap, struct mime_headers *headers, const uint8_t *line, uint32_t length)
{
    const uint8_t *colon = memchr(line, ':', length);
    struct mime_header header;
    uint32_t value;

    if (!colon)
        return true;
    if (!has_room(heap, headers))
        return false;
    value = (uint32_t)(colon - line) + 1;
    while (value < length && is_space(line[value]))
        value++;
    header = (struct mime_header){ .name = headers->text.length, .name_length = (uint32_t)(colon - line) };
    header.value = header.name + header.name_length;
    header.value_length = length - value;
    if (length > MIME_HEADER_BYTES - headers->text.length)
        return false;
    if (buffer_append(heap, &headers->text, line, header.name_length, MIME_HEADER_BYTES) < header.name_length ||
        buffer_append(heap, &headers->text, line + value, length - value, MIME_HEADER_BYTES) < length - value)
        return false;
    headers->list[headers->count++] = header;
    return true;
}

bool mime_headers_append(struct heap *heap, struct mime_headers *headers, const uint8_t *bytes, uint32_t length)
{
    struct mime_header *last = &headers->list[headers->count - 1];
    uint32_t added = buffer_append(heap, &headers->text, bytes, length, MIME_HEADER_BYTES);

    last->value_length += added;
    return added == length;
}

void mime_headers_clear(struct heap *heap, struct mime_headers *headers)
{
    buffer_clear(heap, &headers->text);
    heap_give(heap, headers->list);
    *headers = (struct mime_headers){ 0 };
}

const struct mime_header *mime_headers_find(const struct mime_headers *headers, const char *name, uint32_t index)
{
    for (uint32_t i = 0; i < headers->count; i++) {
        const struct mime_header *header = &headers->list[i];

        if (mime_equal_nocase(buffer_at(&headers->text, header->name), header->name_length, name) && index-- == 0)
            return header;
    }
    return NULL;
}

/* --- Parameters --------------------------------------------------------------------------------------------------------------- */

enum { SECTIONS_MAX = 64 };

struct parameter {
    const uint8_t *name, *value;
    uint32_t name_length, value_length;
};

/* The next `name=value;`; what has no value is passed over. Backslashes of quoted values are left in them. */
static bool next_parameter(struct cursor *cur, struct parameter *out)
{
    const uint8_t *equals = cur->at, *at, *end;

    while (equals < cur->end && *equals != '=') {
        if (*equals == ';' || (equals == cur->at && is_space(*equals)))
            cur->at = equals + 1;
        equals++;
    }
    if (equals == cur->end)
        return false;
    *out = (struct parameter){ .name = cur->at, .name_length = (uint32_t)(equals - cur->at) };
    while (out->name_length > 0 && is_space(out->name[out->name_length - 1]))
        out->name_length--;
    for (at = equals + 1; at < cur->end && is_space(*at);)
        at++;
    if (at < cur->end && *at == '"') {
        for (end = ++at; end < cur->end && *end != '"'; end++)
            if (*end == '\\' && end + 1 < cur->end)
                end++;
        cur->at = end < cur->end ? end + 1 : end;
    } else {
        end = memchr(at, ';', (size_t)(cur->end - at));
        cur->at = end = end ? end : cur->end;
        while (end > at && is_space(end[-1]))
            end--;
    }
    out->value = at;
    out->value_length = (uint32_t)(end - at);
    return true;
}

/* Which section of `name` a parameter is: 0 for name*0, name and name*; -1 for none. *encoded: with percent signs, and the first
 * section with a charset. */
static int section_of(const struct parameter *parameter, const char *name, bool *encoded)
{
    uint32_t length = (uint32_t)strlen(name), at = length;
    int section = 0;

    *encoded = false;
    if (parameter->name_length < length || !mime_equal_nocase(parameter->name, length, name))
        return -1;
    if (at == parameter->name_length)
        return 0;
    if (parameter->name[at++] != '*')
        return -1;
    for (; at < parameter->name_length && parameter->name[at] >= '0' && parameter->name[at] <= '9'; at++)
        if ((section = section * 10 + (parameter->name[at] - '0')) >= SECTIONS_MAX)
            return -1;
    *encoded = at == length + 1 || (at < parameter->name_length && parameter->name[at] == '*');
    return at + (*encoded && at > length + 1) == parameter->name_length || at == length + 1 ? section : -1;
}

struct writing {
    uint8_t *out;
    uint32_t room, length;
};

static void write_byte(struct writing *w, uint8_t byte)
{
    if (w->length < w->room)
        w->out[w->length] = byte;
    w->length++;
}

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A value of RFC 2231: charset'language'text at first, %XX within. */
static void write_encoded(struct writing *w, const struct parameter *parameter, bool first)
{
    const uint8_t *value = parameter->value;
    uint32_t length = parameter->value_length, at = 0;

    if (first) {
        const uint8_t *quote = memchr(value, '\'', length), *second;

        second = quote ? memchr(quote + 1, '\'', (size_t)(value + length - quote - 1)) : NULL;
        at = second ? (uint32_t)(second - value) + 1 : 0;
    }
    while (at < length) {
        if (value[at] == '%' && length - at > 2 && hex(value[at + 1]) >= 0 && hex(value[at + 2]) >= 0) {
            write_byte(w, (uint8_t)(hex(value[at + 1]) << 4 | hex(value[at + 2])));
            at += 3;
        } else {
            write_byte(w, value[at++]);
        }
    }
}

bool mime_parameter(const uint8_t *value, uint32_t value_length, const char *name, uint8_t *out, uint32_t room,
                    uint32_t *length)
{
    const uint8_t *semicolon = value_length ? memchr(value, ';', value_length) : NULL;
    struct writing w = { .out = out, .room = room };
    struct parameter sections[SECTIONS_MAX], parameter;
    bool encoded[SECTIONS_MAX], is_encoded;
    uint64_t there = 0;
    int section;

    if (!semicolon)
        return false;
    struct cursor cur = cursor_of(semicolon + 1, (size_t)(value + value_length - semicolon - 1));

    while (next_parameter(&cur, &parameter)) {
        section = section_of(&parameter, name, &is_encoded);
        if (section < 0 || there >> section & 1)
            continue;
        sections[section] = parameter;
        encoded[section] = is_encoded;
        there |= UINT64_C(1) << section;
    }
    for (section = 0; section < SECTIONS_MAX && there >> section & 1; section++) {
        if (encoded[section])
            write_encoded(&w, &sections[section], section == 0);
        else
            for (uint32_t i = 0; i < sections[section].value_length; i++)
                write_byte(&w, sections[section].value[i]);
    }
    *length = w.length;
    return there & 1;
}
