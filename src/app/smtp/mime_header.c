/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Headers of messages and parts, and the parameters of their values (RFC 2045 5.1, 2231).
 *
 * Encoded words of RFC 2047 (=?utf-8?q?...?=) are not decoded: rules and file names use the bytes as sent.
 */
#include <string.h>

#include "mime.h"
#include "sluice/bytes.h"
#include "sluice/hex.h"

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

/* --- Header lists --------------------------------------------------------------------------------- */

static bool reserve_header(struct heap *heap, struct mime_headers *headers)
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

/* Whether rules inspect the header, or the header describes a part. Entries and memory are reserved for these headers,
 * so that they are stored even if a sender sends many other headers before them. */
static bool is_important(const uint8_t *name, uint32_t length)
{
    static const char *const names[] = { "content-type",
                                         "content-disposition",
                                         "content-transfer-encoding",
                                         "from",
                                         "to",
                                         "cc",
                                         "subject",
                                         "date",
                                         "message-id",
                                         "x-mailer",
                                         "received" };

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (mime_equal_nocase(name, length, names[i]))
            return true;
    return false;
}

/* Ignores a line without a colon and returns true. */
bool mime_headers_add(struct heap *heap, struct mime_headers *headers, const uint8_t *line, uint32_t length)
{
    const uint8_t *colon = memchr(line, ':', length);
    struct mime_header header;
    uint32_t value, count_max = MIME_HEADERS_MAX, bytes_max = MIME_HEADER_BYTES;

    if (!colon)
        return true;
    value = (uint32_t)(colon - line) + 1;
    while (value < length && is_space(line[value]))
        value++;
    header = (struct mime_header){ .name = headers->text.length, .name_length = (uint32_t)(colon - line) };
    /* Receivers accept blanks before the colon, and so does Postfix when it delivers a message. */
    while (header.name_length > 0 && is_space(line[header.name_length - 1]))
        header.name_length--;
    header.value = header.name + header.name_length;
    header.value_length = length - value;
    if (!is_important(line, header.name_length)) {
        count_max -= MIME_HEADERS_RESERVED;
        bytes_max -= MIME_HEADER_BYTES_RESERVED;
    }
    if (headers->count >= count_max || headers->text.length > bytes_max || length > bytes_max - headers->text.length ||
        !reserve_header(heap, headers))
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

bool mime_headers_copy(struct heap *heap, struct mime_headers *headers, const struct mime_headers *other)
{
    if (other->count == 0)
        return true;
    headers->list = heap_alloc(heap, other->count * sizeof(*other->list));
    if (!headers->list)
        return false;
    memcpy(headers->list, other->list, other->count * sizeof(*other->list));
    headers->count = headers->room = other->count;
    if (buffer_append(heap, &headers->text, other->text.bytes, other->text.length, MIME_HEADER_BYTES) <
        other->text.length) {
        mime_headers_clear(heap, headers);
        return false;
    }
    return true;
}

void mime_headers_clear(struct heap *heap, struct mime_headers *headers)
{
    buffer_clear(heap, &headers->text);
    heap_release(heap, headers->list);
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

/* --- Parameters ----------------------------------------------------------------------------------- */

enum { SECTIONS_MAX = 64 }; /* sections of a parameter (RFC 2231) */

struct parameter {
    const uint8_t *name, *value;
    uint32_t name_length, value_length;
};

/* Sets *out to the next `name=value;`, skipping text without an equals sign. Backslashes in a quoted value are not
 * removed. Returns false if there is no further parameter. */
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

/* Returns the number of the section (RFC 2231) of `name` that the parameter contains: 0 for name, name* and name*0; -1
 * for another parameter. *encoded: the value is percent-encoded, and section 0 begins with a charset. */
static int section_number(const struct parameter *parameter, const char *name, bool *encoded)
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

struct text_writer {
    uint8_t *out;
    uint32_t room, length;
};

static void write_byte(struct text_writer *w, uint8_t byte)
{
    if (w->length < w->room)
        w->out[w->length] = byte;
    w->length++;
}

/* Decodes a value according to RFC 2231: charset'language'text in the first section, and %XX escapes. */
static void write_encoded(struct text_writer *w, const struct parameter *parameter, bool first)
{
    const uint8_t *value = parameter->value;
    uint32_t length = parameter->value_length, at = 0;
    uint8_t byte;

    if (first) {
        const uint8_t *quote = memchr(value, '\'', length), *second;

        second = quote ? memchr(quote + 1, '\'', (size_t)(value + length - quote - 1)) : NULL;
        at = second ? (uint32_t)(second - value) + 1 : 0;
    }
    while (at < length) {
        if (value[at] == '%' && length - at > 2 && hex_byte(value + at + 1, &byte)) {
            write_byte(w, byte);
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
    struct text_writer w = { .out = out, .room = room };
    struct parameter sections[SECTIONS_MAX], parameter;
    bool encoded[SECTIONS_MAX], is_encoded;
    uint64_t present = 0;
    int section;

    if (!semicolon)
        return false;
    struct cursor cur = cursor_of(semicolon + 1, (size_t)(value + value_length - semicolon - 1));

    while (next_parameter(&cur, &parameter)) {
        section = section_number(&parameter, name, &is_encoded);
        if (section < 0 || present >> section & 1)
            continue;
        sections[section] = parameter;
        encoded[section] = is_encoded;
        present |= UINT64_C(1) << section;
    }
    for (section = 0; section < SECTIONS_MAX && present >> section & 1; section++) {
        if (encoded[section])
            write_encoded(&w, &sections[section], section == 0);
        else
            for (uint32_t i = 0; i < sections[section].value_length; i++)
                write_byte(&w, sections[section].value[i]);
    }
    *length = w.length;
    return present & 1;
}

/* --- Parameters as lenient receivers read them ---------------------------------------------------- */

/* LENIENT_VALUE_MAX: maximum bytes of a reported value, longer ones are truncated. LENIENT_FOUND_MAX: occurrences of a
 * parameter in a header after which the search ends. */
enum { LENIENT_VALUE_MAX = 512, LENIENT_FOUND_MAX = 8 };

bool mime_contains(const uint8_t *value, uint32_t length, const char *word)
{
    uint32_t size = (uint32_t)strlen(word);

    for (uint32_t at = 0; at + size <= length; at++)
        if (mime_equal_nocase(value + at, size, word))
            return true;
    return false;
}

static bool is_name_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' || c == '_' || c == '*';
}

/* Returns the offset of the value after a name that ends at `at`, or 0 if no equals sign follows. Skips blanks and
 * comments before the value. *encoded: the value is encoded according to RFC 2231. */
static uint32_t find_value_start(const uint8_t *value, uint32_t length, uint32_t at, bool *encoded)
{
    *encoded = at < length && value[at] == '*';
    at += *encoded;
    while (at < length && is_space(value[at]))
        at++;
    if (at == length || value[at] != '=')
        return 0;
    for (at++; at < length && (is_space(value[at]) || value[at] == '(');) {
        const uint8_t *end = value[at] == '(' ? memchr(value + at, ')', length - at) : value + at;

        at = end ? (uint32_t)(end - value) + 1 : length;
    }
    return at;
}

struct value_callback {
    void (*found)(void *user, const uint8_t *bytes, uint32_t length);
    void *user;
};

static void report_value(const struct value_callback *to, const uint8_t *bytes, uint32_t length)
{
    while (length > 0 && is_space(bytes[length - 1]))
        length--;
    if (length > 0)
        to->found(to->user, bytes, length);
}

/* Reports the value without backslashes, line ends and quotes, if it contains any of these. */
static void report_unquoted(const struct value_callback *to, const uint8_t *bytes, uint32_t length)
{
    uint8_t out[LENIENT_VALUE_MAX];
    uint32_t written = 0;

    for (uint32_t i = 0; i < length && written < LENIENT_VALUE_MAX; i++)
        if (bytes[i] != '\\' && bytes[i] != '"' && bytes[i] != '\'' && bytes[i] != '\r' && bytes[i] != '\n')
            out[written++] = bytes[i];
    if (written < length)
        report_value(to, out, written);
}

/* Returns the length of the value, including quotes, if all receivers interpret the value in the same way; otherwise
 * 0. */
static uint32_t unambiguous_length(const uint8_t *value, uint32_t length)
{
    uint32_t end = 0, next;

    if (length > 0 && value[0] == '"') {
        for (end = 1;
             end < length && value[end] != '"' && value[end] != '\\' && value[end] != '\r' && value[end] != '\n';)
            end++;
        if (end == length || value[end] != '"')
            return 0;
        end++;
    } else {
        while (end < length && (is_name_byte(value[end]) || (value[end] && strchr("._=+/:?!#$%&^`{|}~", value[end]))))
            end++;
    }
    for (next = end; next < length && is_space(value[next]);)
        next++;
    return next == length || value[next] == ';' ? end : 0;
}

/* Reports each interpretation of the value that starts at `value`. */
static void report_interpretations(const struct value_callback *to, const uint8_t *value, uint32_t length, bool encoded)
{
    bool quoted = length > 0 && value[0] == '"';
    uint32_t end = quoted;

    if (encoded) {
        struct parameter parameter = { .value = value, .value_length = length };
        const uint8_t *semicolon = memchr(value, ';', length);
        uint8_t out[LENIENT_VALUE_MAX];
        struct text_writer w = { .out = out, .room = sizeof(out) };

        if (semicolon)
            parameter.value_length = (uint32_t)(semicolon - value);
        write_encoded(&w, &parameter, true);
        report_value(to, out, w.length < w.room ? w.length : w.room);
    }
    const uint32_t unambiguous = unambiguous_length(value, length);

    if (unambiguous > 0 && (encoded || value[quoted] != '<')) {
        if (!encoded)
            report_value(to, value + quoted, unambiguous - 2 * quoted);
        return;
    }
    while (end < length && !(quoted ? value[end] == '"' : value[end] == ';'))
        end += quoted && value[end] == '\\' && end + 1 < length ? 2 : 1;
    report_value(to, value + quoted, (end < length ? end : length) - quoted);
    report_unquoted(to, value + quoted, (end < length ? end : length) - quoted);
    /* Some receivers ignore the opening quote, or end the value before the closing quote. */
    for (end = quoted; end < length && value[end] != ';' && value[end] != '"' && value[end] != '(';)
        end++;
    report_value(to, value + quoted, end - quoted);
    for (end = quoted; end < length && value[end] != ';' && value[end] != ',' && !is_space(value[end]);)
        end++;
    report_unquoted(to, value, end);
    report_value(to, value + quoted, end - quoted);
    if (length > 2 && value[quoted] == '<') {
        const uint8_t *close = memchr(value, '>', length);

        if (close)
            report_value(to, value + quoted + 1, (uint32_t)(close - value) - quoted - 1);
    }
}

/* Returns the offset after the quoted string that starts at `at`, or `at` if there is none. */
static uint32_t skip_quoted(const uint8_t *value, uint32_t length, uint32_t at)
{
    uint32_t end = at + 1;

    if (value[at] != '"')
        return at;
    while (end < length && value[end] != '"')
        end += value[end] == '\\' ? 2 : 1;
    return end < length ? end + 1 : at;
}

void mime_each_parameter(const uint8_t *value, uint32_t value_length, const char *name,
                         void (*found)(void *user, const uint8_t *bytes, uint32_t length), void *user)
{
    const struct value_callback to = { .found = found, .user = user };
    uint32_t size = (uint32_t)strlen(name), start;
    unsigned occurrences = 0;
    bool encoded;

    for (uint32_t at = 0; at + size < value_length && occurrences < LENIENT_FOUND_MAX; at++) {
        at = skip_quoted(value, value_length, at);
        if (at + size >= value_length)
            break;
        if ((at > 0 && is_name_byte(value[at - 1])) || !mime_equal_nocase(value + at, size, name))
            continue;
        start = find_value_start(value, value_length, at + size, &encoded);
        if (start == 0 || start >= value_length)
            continue;
        report_interpretations(&to, value + start,
                               value_length - start < LENIENT_VALUE_MAX ? value_length - start : LENIENT_VALUE_MAX,
                               encoded);
        occurrences++;
    }
}
