/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header lines and trailers. They are copied as received, and parsed when the empty line has arrived. Each header is
 * then contiguous, and most are used as they are ("Name: value").
 *
 * A line that starts with a blank continues the previous header. The values of headers with the same name are joined by
 * ", ", as in Suricata, except Content-Length, of which the first is used.
 *
 * Nearly all lines are plain: they end with CR LF, contain no other CR, and do not start with a blank, so each is a
 * separate header. As long as a message has only plain lines, they are split with memchr() and need none of the tests
 * for unusual lines.
 */
#include "http_priv.h"

#include <string.h>

enum {
    BUCKETS = 128,
    ROOM_FOR_HEADERS = 1024, /* maximum bytes that are reserved for headers together with the first line */
    PLAIN_LINE_LIMIT = 4096, /* longer lines are not plain */
};

/* State while the lines of a message are parsed. */
struct header_parser {
    struct http_feed *f;
    struct http_message *message;
    struct http_tx *tx;
    bool is_request;
    bool cr_ends;             /* requests: CR alone ends a line */
    uint16_t flags;           /* responses: HTTP_READ_... of the reading */
    uint32_t repeated;        /* number of headers whose values are to be joined to an earlier one */
    uint16_t bucket[BUCKETS]; /* hash table of the names: index of a header, or HTTP_NONE */
};

static const char *const other_methods[] = {
    "DELETE",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "CHECKOUT",
    "UNCHECKOUT",
    "CHECKIN",
    "UPDATE",
    "LABEL",
    "REPORT",
    "MKWORKSPACE",
    "MKACTIVITY",
    "MERGE",
    "INVALID",
    "VERSION-CONTROL",
    "BASELINE-CONTROL",
};

static bool text_equals(const uint8_t *bytes, uint32_t length, const char *word)
{
    return strlen(word) == length && memcmp(bytes, word, length) == 0;
}

enum http_method http_parse_method(const uint8_t *name, uint32_t length)
{
    static const struct {
        const char *name;
        enum http_method method;
    } special[] = {
        { "GET", HTTP_METHOD_GET }, { "POST", HTTP_METHOD_POST },       { "HEAD", HTTP_METHOD_HEAD },
        { "PUT", HTTP_METHOD_PUT }, { "CONNECT", HTTP_METHOD_CONNECT },
    };

    for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
        if (text_equals(name, length, special[i].name))
            return special[i].method;
    }
    for (size_t i = 0; i < sizeof(other_methods) / sizeof(other_methods[0]); i++) {
        if (text_equals(name, length, other_methods[i]))
            return HTTP_METHOD_OTHER;
    }
    return HTTP_METHOD_UNKNOWN;
}

enum http_version http_parse_version(const uint8_t *text, uint32_t length)
{
    uint32_t at = 4;

    if (text_equals(text, length, "HTTP/1.1"))
        return HTTP_VERSION_1_1;
    if (text_equals(text, length, "HTTP/1.0"))
        return HTTP_VERSION_1_0;
    if (length < 4 || !http_equal_nocase(text, 4, "http"))
        return HTTP_VERSION_INVALID;
    while (at < length && http_is_space(text[at]))
        at++;
    if (at == length || text[at++] != '/')
        return HTTP_VERSION_INVALID;
    while (at < length && (http_is_space(text[at]) || text[at] == '0'))
        at++;
    while (length > at && http_is_space(text[length - 1]))
        length--;
    if (text_equals(text + at, length - at, "1.1"))
        return HTTP_VERSION_1_1;
    if (text_equals(text + at, length - at, "1.0"))
        return HTTP_VERSION_1_0;
    return text_equals(text + at, length - at, ".9") ? HTTP_VERSION_0_9 : HTTP_VERSION_INVALID;
}

/* --- Texts ---------------------------------------------------------------------------------------- */

struct http_text http_store_text(struct http_feed *f, struct http_message *message, const void *bytes, uint32_t length)
{
    struct http_text text = { .at = message->extra.length, .length = length, .extra = true };

    text.is_set = buffer_append(app_heap(f->context), &message->extra, bytes, length, HTTP_EXTRA_LIMIT) == length &&
                  message->extra.bytes;
    f->failed |= !text.is_set;
    return text;
}

void http_message_init(struct http_message *message)
{
    for (unsigned i = 0; i < HTTP_KNOWN_COUNT; i++)
        message->known[i] = HTTP_NONE;
    message->canonical = message->plain = true;
}

void http_message_clear(struct app_context *context, struct http_message *message)
{
    struct heap *heap = app_heap(context);

    buffer_clear(heap, &message->head);
    buffer_clear(heap, &message->extra);
    heap_release(heap, message->headers);
    heap_release(heap, message->joined);
    message->headers = NULL;
    message->joined = NULL;
    message->header_count = message->header_room = 0;
    message->headers_at = message->headers_end = message->parsed_to = 0;
    message->line = (struct http_text){ 0 };
    memset(message->concatenations, 0, sizeof(message->concatenations));
    http_message_init(message);
}

bool http_store_line(struct http_feed *f, struct http_message *message, const uint8_t *line, uint32_t length)
{
    uint32_t size = http_trim_line_end(line, length), left = f->length - f->at;

    /* One allocation for line and headers, which usually arrive together. */
    buffer_reserve(app_heap(f->context), &message->head, length + (left < ROOM_FOR_HEADERS ? left : ROOM_FOR_HEADERS));
    if (buffer_append(app_heap(f->context), &message->head, line, length, HTTP_HEAD_LIMIT) < length)
        return false;
    message->headers_at = message->headers_end = message->parsed_to = length;
    message->line = (struct http_text){ .length = size, .is_set = true };
    message->line_ends_regularly = length == size + 2;
    return true;
}

bool http_header_value(const struct http_message *message, enum http_known known, const uint8_t **value,
                       uint32_t *length)
{
    if (message->known[known] == HTTP_NONE || message->header_count == 0)
        return false;
    const struct http_header *header = &message->headers[message->known[known]];
    uint32_t skipped = header->name_length + 2u;

    *value = http_header_text(message, header) + skipped;
    *length = header->length - skipped;
    return true;
}

/* --- Headers ------------------------------------------------------------------------------------- */

static void set_event(struct header_parser *r, enum http_event request_event, enum http_event response_event)
{
    http_event(r->f, r->tx, r->is_request ? request_event : response_event);
}

/* The characters of a token (RFC 9110), such as a header name. */
static const bool token_characters[256] = {
    ['!'] = true, ['#'] = true, ['$'] = true, ['%'] = true, ['&'] = true, ['\''] = true, ['*'] = true, ['+'] = true,
    ['-'] = true, ['.'] = true, ['0'] = true, ['1'] = true, ['2'] = true, ['3'] = true,  ['4'] = true, ['5'] = true,
    ['6'] = true, ['7'] = true, ['8'] = true, ['9'] = true, ['A'] = true, ['B'] = true,  ['C'] = true, ['D'] = true,
    ['E'] = true, ['F'] = true, ['G'] = true, ['H'] = true, ['I'] = true, ['J'] = true,  ['K'] = true, ['L'] = true,
    ['M'] = true, ['N'] = true, ['O'] = true, ['P'] = true, ['Q'] = true, ['R'] = true,  ['S'] = true, ['T'] = true,
    ['U'] = true, ['V'] = true, ['W'] = true, ['X'] = true, ['Y'] = true, ['Z'] = true,  ['^'] = true, ['_'] = true,
    ['`'] = true, ['a'] = true, ['b'] = true, ['c'] = true, ['d'] = true, ['e'] = true,  ['f'] = true, ['g'] = true,
    ['h'] = true, ['i'] = true, ['j'] = true, ['k'] = true, ['l'] = true, ['m'] = true,  ['n'] = true, ['o'] = true,
    ['p'] = true, ['q'] = true, ['r'] = true, ['s'] = true, ['t'] = true, ['u'] = true,  ['v'] = true, ['w'] = true,
    ['x'] = true, ['y'] = true, ['z'] = true, ['|'] = true, ['~'] = true,
};

/* Returns the number of leading bytes that are token characters. */
static uint32_t token_length(const uint8_t *bytes, uint32_t length)
{
    const uint8_t *at = bytes, *end = bytes + length;

    while (at < end && token_characters[*at])
        at++;
    return (uint32_t)(at - bytes);
}

/* Returns the first header with the same name, or NULL. */
static struct http_header *find_header(struct header_parser *r, uint32_t hash, const uint8_t *name, uint32_t length)
{
    struct http_message *message = r->message;

    for (uint16_t i = r->bucket[hash % BUCKETS]; i != HTTP_NONE; i = message->headers[i].chain) {
        struct http_header *header = &message->headers[i];

        if (header->hash == hash && header->name_length == length &&
            http_name_equal(http_header_text(message, header), name, length))
            return header;
    }
    return NULL;
}

/* Sets an event if two Content-Length headers have different numbers, or one has none. */
static void compare_lengths(struct header_parser *r, const struct http_header *first, const struct http_header *second)
{
    const uint8_t *a = http_header_text(r->message, first), *b = http_header_text(r->message, second);
    uint64_t x = 0, y = 0;
    uint32_t skipped = first->name_length + 2u;

    if (http_parse_length(a + skipped, first->length - skipped, &x) &&
        http_parse_length(b + skipped, second->length - skipped, &y) && x == y)
        return;
    set_event(r, HTTP_EVENT_DUPLICATE_CONTENT_LENGTH_FIELD_IN_REQUEST,
              HTTP_EVENT_DUPLICATE_CONTENT_LENGTH_FIELD_IN_RESPONSE);
    if (!r->is_request)
        http_request_alternatives(r->f, 1 << HTTP_ALTERNATIVE_CLOSE);
}

/* Adds a header whose name has occurred before; join_repeated() joins its value to the value of the first header of
 * that name, except for Content-Length. */
static void add_repeated(struct header_parser *r, struct http_header *first, uint16_t index)
{
    struct http_header *header = &r->message->headers[index];

    set_event(r, HTTP_EVENT_REQUEST_HEADER_REPETITION, HTTP_EVENT_RESPONSE_HEADER_REPETITION);
    header->joined = true;
    r->message->canonical = false;
    if (first->known == HTTP_CONTENT_LENGTH) {
        r->message->repeated_length = true;
        compare_lengths(r, first, header);
        return;
    }
    r->repeated++;
    if (first->next == HTTP_NONE)
        first->next = index;
    else
        r->message->headers[first->last].next = index;
    first->last = index;
}

/* Stores "Name: value" in `extra`, with name and value from `text`. Returns false if memory is exhausted. */
static bool store_header(struct header_parser *r, struct http_header *header, const struct http_text *text,
                         const uint8_t *name, const uint8_t *value, uint32_t value_length)
{
    struct heap *heap = app_heap(r->f->context);
    struct buffer *extra = &r->message->extra;
    uint32_t at = extra->length;

    /* `text` may be in `extra`, too, which moves when it grows. */
    ptrdiff_t name_at = name - http_text_bytes(r->message, text), value_at = value - http_text_bytes(r->message, text);

    if (header->length > HTTP_EXTRA_LIMIT - at || !buffer_require(heap, extra, at + header->length)) {
        r->f->failed = true;
        return false;
    }
    const uint8_t *line = http_text_bytes(r->message, text);

    buffer_append(heap, extra, line + name_at, header->name_length, HTTP_EXTRA_LIMIT);
    buffer_append(heap, extra, ": ", 2, HTTP_EXTRA_LIMIT);
    buffer_append(heap, extra, line + value_at, value_length, HTTP_EXTRA_LIMIT);
    header->at = at;
    header->extra = true;
    return true;
}

/* Parses a header that is not in the form "Name: value" and stores it in that form. *is_token: its name is a token.
 * Returns false if memory is exhausted. */
static bool parse_unusual_header(struct header_parser *r, struct http_header *header, const struct http_text *text,
                                 bool *is_token)
{
    const uint8_t *line = http_text_bytes(r->message, text);
    const uint8_t *colon = memchr(line, ':', text->length < HTTP_NAME_MAX ? text->length : HTTP_NAME_MAX);
    uint32_t name_at = 0, name_end = colon ? (uint32_t)(colon - line) : 0;
    uint32_t value_at = colon ? name_end + 1 : 0, value_end = text->length;

    while (name_at < name_end && http_is_space(line[name_at]))
        name_at++;
    if (name_at > 0)
        set_event(r, HTTP_EVENT_INVALID_REQUEST_FIELD_FOLDING, HTTP_EVENT_INVALID_RESPONSE_FIELD_FOLDING);
    while (name_end > name_at && http_is_space(line[name_end - 1]))
        name_end--;
    *is_token = token_length(line + name_at, name_end - name_at) == name_end - name_at;
    if (!colon && !r->is_request && r->f->parser->step == HTTP_AT_HEADERS)
        http_request_alternatives(r->f, 1 << HTTP_ALTERNATIVE_NO_EMPTY_LINE);
    if (!colon)
        set_event(r, HTTP_EVENT_REQUEST_FIELD_MISSING_COLON, HTTP_EVENT_RESPONSE_FIELD_MISSING_COLON);
    else if (!*is_token)
        set_event(r, HTTP_EVENT_REQUEST_HEADER_INVALID, HTTP_EVENT_RESPONSE_HEADER_INVALID);
    while (value_at < value_end && http_is_space(line[value_at]))
        value_at++;
    while (value_end > value_at && http_is_space(line[value_end - 1]))
        value_end--;
    header->unusual_name = colon && (name_at > 0 || line + name_end != colon || !*is_token);
    header->name_length = (uint16_t)(name_end - name_at);
    header->length = header->name_length + 2 + value_end - value_at;
    r->message->canonical &= header->length == text->length;
    if (header->name_length > 0 && value_at == name_end + 2 && line[name_end] == ':' && line[name_end + 1] == ' ') {
        header->at = text->at + name_at;
        header->extra = text->extra;
        return true;
    }
    r->message->canonical = false;
    return store_header(r, header, text, line + name_at, line + value_at, value_end - value_at);
}

/* Whether the line is "Name: value" with a token as name and no other blanks around the value, so that the header can
 * refer to the line in `head`. */
static bool is_plain_header(const uint8_t *line, uint32_t length, uint32_t name_length)
{
    return name_length > 0 && length > name_length + 2 && line[name_length] == ':' && line[name_length + 1] == ' ' &&
           !http_is_space(line[name_length + 2]) && !http_is_space(line[length - 1]);
}

/* Adds the header to the known headers and to the hash table. If earlier headers have the same name, links the header
 * to the first of them instead. */
static void index_header(struct header_parser *r, uint16_t index, bool is_token)
{
    struct http_message *message = r->message;
    struct http_header *header = &message->headers[index];
    const uint8_t *name = http_header_text(message, header);
    struct http_header *first;

    header->known = (uint8_t)http_find_known(name, header->name_length, is_token);
    /* A known name has its number (enum http_known) as its hash. For other names the factor must be unpredictable:
     * otherwise a sender could choose a thousand long names with equal hashes. The result of parsing does not depend on
     * it. */
    if (is_token && header->known < HTTP_KNOWN_COUNT)
        header->hash = header->known;
    else
        header->hash = http_name_hash(name, header->name_length,
                                      ((uint64_t)(uintptr_t)message >> 4) * UINT64_C(0x9e3779b97f4a7c15) | 1);
    first = find_header(r, header->hash, name, header->name_length);
    if (first) {
        add_repeated(r, first, index);
        return;
    }
    header->chain = r->bucket[header->hash % BUCKETS];
    r->bucket[header->hash % BUCKETS] = index;
    if (header->known < HTTP_KNOWN_COUNT)
        message->known[header->known] = index;
}

/* Adds a header; `text` is without line ends, and its continuation lines are joined. Returns false if there are too
 * many headers, or memory is exhausted. */
static bool add_header(struct header_parser *r, struct http_text text)
{
    struct http_message *message = r->message;
    const uint8_t *line = http_text_bytes(message, &text);
    uint32_t name_length = token_length(line, text.length < HTTP_NAME_MAX ? text.length : HTTP_NAME_MAX);
    uint16_t index = message->header_count;
    bool is_token = true;

    if (index >= r->f->settings->headers_limit || index == message->header_room) {
        set_event(r, HTTP_EVENT_REQUEST_TOO_MANY_HEADERS, HTTP_EVENT_RESPONSE_TOO_MANY_HEADERS);
        return false;
    }
    message->headers[index] = (struct http_header){
        .at = text.at,
        .length = text.length,
        .name_length = (uint16_t)name_length,
        .next = HTTP_NONE,
        .chain = HTTP_NONE,
        .extra = text.extra,
    };
    if (!is_plain_header(line, text.length, name_length) &&
        !parse_unusual_header(r, &message->headers[index], &text, &is_token))
        return false;
    message->header_count++;
    index_header(r, index, is_token);
    return true;
}

/* --- Blocks of lines ------------------------------------------------------------------------------ */

/* Whether the byte is a blank, or NUL, which some endpoints treat as a blank. */
static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == 0;
}

/* Whether the line continues the previous header (obs-fold in RFC 9112): it starts with a blank. In a response such a
 * line is a separate header if it looks like one, but some clients treat it as a continuation. */
static bool is_folded(const struct header_parser *r, const uint8_t *line, uint32_t length)
{
    uint32_t at = 0, from;

    if (length == 0 || !is_blank(line[0]))
        return false;
    if (r->is_request || r->flags & HTTP_READ_FOLD)
        return true;
    while (at < length && is_blank(line[at]))
        at++;
    from = at;
    at += token_length(line + at, length - at);
    if (at == from || at == length || line[at] != ':')
        return true;
    http_request_alternatives(r->f, 1 << HTTP_ALTERNATIVE_FOLD);
    return false;
}

static uint32_t line_length(const struct header_parser *r, const uint8_t *line, uint32_t length)
{
    return r->is_request ? http_line_length(line, length, 0, r->cr_ends, true)
                         : http_response_line_length(r->flags, line, length, 0, true);
}

/* Joins the header line at `at` with its continuation lines, the first of which is at *next. Sets *next to the offset
 * after the last one. */
static struct http_text unfold(struct header_parser *r, uint32_t at, uint32_t length, uint32_t *next)
{
    struct http_message *message = r->message;
    struct heap *heap = app_heap(r->f->context);
    struct buffer *extra = &message->extra;
    struct http_text text = { .at = extra->length, .extra = true };
    uint32_t end = message->head.length;

    r->f->failed |= buffer_append(heap, extra, message->head.bytes + at, length, HTTP_EXTRA_LIMIT) < length;
    for (unsigned lines = 0; *next < end && lines < HTTP_FOLD_LIMIT && !r->f->failed; lines++) {
        const uint8_t *line = message->head.bytes + *next;
        uint32_t whole = line_length(r, line, end - *next);
        uint32_t size = http_trim_line_end(line, whole), from = 0;

        if (!is_folded(r, line, size))
            break;
        while (from < size && is_blank(line[from]))
            from++;
        if (extra->length > text.at)
            r->f->failed |= buffer_append(heap, extra, line, 1, HTTP_EXTRA_LIMIT) < 1;
        r->f->failed |= buffer_append(heap, extra, line + from, size - from, HTTP_EXTRA_LIMIT) < size - from;
        *next += whole;
    }
    text.length = extra->length - text.at;
    text.is_set = extra->bytes && !r->f->failed;
    return text;
}

static bool reserve_headers(struct header_parser *r, uint32_t lines)
{
    struct http_message *message = r->message;
    uint32_t room = message->header_count + lines;

    if (room > r->f->settings->headers_limit)
        room = r->f->settings->headers_limit;
    if (room <= message->header_room)
        return true;
    struct http_header *headers = heap_grow(app_heap(r->f->context), message->headers,
                                            message->header_count * sizeof(*headers), room * sizeof(*headers));

    if (!headers)
        return false;
    message->headers = headers;
    message->header_room = (uint16_t)room;
    return true;
}

/* Joins the values of headers with the same name. Returns false if memory is exhausted. */
static bool join_repeated(struct header_parser *r)
{
    struct http_message *message = r->message;
    struct heap *heap = app_heap(r->f->context);

    for (uint16_t i = 0; i < message->header_count; i++) {
        struct http_header *header = &message->headers[i];
        uint32_t at = message->extra.length, length = header->length;

        if (header->next == HTTP_NONE || header->joined)
            continue;
        for (uint16_t next = header->next; next != HTTP_NONE; next = message->headers[next].next)
            length += message->headers[next].length - message->headers[next].name_length; /* ", " replaces ": " */
        /* Values may be in `extra`, too, which must not move while they are copied. */
        if (length > HTTP_EXTRA_LIMIT - at || !buffer_require(heap, &message->extra, at + length)) {
            r->f->failed = true;
            return false;
        }
        buffer_append(heap, &message->extra, http_header_text(message, header), header->length, HTTP_EXTRA_LIMIT);
        for (uint16_t next = header->next; next != HTTP_NONE; next = message->headers[next].next) {
            const struct http_header *other = &message->headers[next];
            uint32_t skipped = other->name_length + 2u;

            /* HTTP/2 clients may send each cookie in a header of its own (RFC 9113, section 8.2.3). */
            buffer_append(heap, &message->extra, r->f->event_map && header->known == HTTP_COOKIE ? "; " : ", ", 2,
                          HTTP_EXTRA_LIMIT);
            buffer_append(heap, &message->extra, http_header_text(message, other) + skipped, other->length - skipped,
                          HTTP_EXTRA_LIMIT);
        }
        header->at = at;
        header->length = length;
        header->extra = true;
        header->next = HTTP_NONE;
    }
    return true;
}

static bool is_all_space(const uint8_t *line, uint32_t length)
{
    uint32_t at = 0;

    while (at < length && (http_is_space(line[at]) || line[at] == 0))
        at++;
    return at == length;
}

/* Returns the header line at `at` without its end, for a message with plain lines only. The text is empty at the empty
 * line. *next: offset of the next line. */
static struct http_text next_plain_header(const struct http_message *message, uint32_t at, uint32_t *next)
{
    uint32_t end = message->head.length;
    const uint8_t *line = message->head.bytes + at;
    const uint8_t *line_end = line[0] > ' ' ? memchr(line, '\r', end - at) : NULL;
    struct http_text text = { .at = at, .length = line_end ? (uint32_t)(line_end - line) : 0, .is_set = true };

    *next = line_end ? at + text.length + 2 : end;
    return text;
}

/* Like next_plain_header(), for a message with lines that are not plain; joins continuation lines. */
static struct http_text next_unusual_header(struct header_parser *r, uint32_t at, uint32_t *next)
{
    struct http_message *message = r->message;
    uint32_t end = message->head.length;
    const uint8_t *line = message->head.bytes + at;
    uint32_t whole = line_length(r, line, end - at);
    struct http_text text = { .at = at, .length = http_trim_line_end(line, whole), .is_set = true };

    *next = at + whole;
    if (text.length == 0 || (!r->is_request && is_all_space(line, text.length))) {
        message->canonical &= *next == end;
        text.length = 0;
        return text;
    }
    message->canonical &= whole == text.length + 2;
    if (*next < end && is_blank(message->head.bytes[*next])) {
        text = unfold(r, at, text.length, next);
        message->canonical = false;
    }
    return text;
}

/* Returns an upper bound of the number of lines from `at` on: CR and LF are counted separately, because dialects
 * differ. */
static uint32_t count_line_ends(const struct http_message *message, uint32_t at)
{
    uint32_t count = 1;

    for (; at < message->head.length; at++)
        count += message->head.bytes[at] == '\r' || message->head.bytes[at] == '\n';
    return count;
}

bool http_finish_headers(struct http_feed *f, struct http_message *message)
{
    struct header_parser r; /* not initialised here: the array `bucket` is large, and memset() fills it later */
    uint32_t at = message->parsed_to, end = message->head.length;
    bool succeeded = true;

    r.f = f;
    r.message = message;
    r.tx = f->parser->tx;
    r.is_request = f->direction == FLOW_TO_SERVER;
    r.cr_ends = r.is_request && http_cr_ends_lines(f);
    r.flags = f->parser->flags;
    r.repeated = 0;

    message->parsed_to = end;
    if (f->parser->lines == 0)
        return true;
    message->canonical &= at == message->headers_at; /* with trailers the headers are not contiguous */
    if (!reserve_headers(&r, f->reading ? count_line_ends(message, at) : f->parser->lines))
        return false;
    memset(r.bucket, 0xff, sizeof(r.bucket));
    for (uint16_t i = 0; i < message->header_count; i++) {
        struct http_header *header = &message->headers[i];

        if (header->joined)
            continue;
        header->chain = r.bucket[header->hash % BUCKETS];
        r.bucket[header->hash % BUCKETS] = i;
    }
    while (succeeded && at < end) {
        uint32_t next;
        struct http_text text =
            message->plain ? next_plain_header(message, at, &next) : next_unusual_header(&r, at, &next);

        succeeded = text.is_set && (text.length == 0 || add_header(&r, text));
        at = next;
    }
    succeeded = succeeded && (r.repeated == 0 || join_repeated(&r));

    http_reserve_concatenations(f, message); /* even after a failure, because headers may have been added */
    if (!succeeded)
        return false;
    f->parser->lines = 0;
    return !f->failed;
}

bool http_add_fields(struct http_feed *f, struct http_message *message, const struct http_field *fields, uint32_t count)
{
    struct header_parser r; /* as in http_finish_headers() */
    bool succeeded;

    r.f = f;
    r.message = message;
    r.tx = f->parser->tx;
    r.is_request = f->direction == FLOW_TO_SERVER;
    r.cr_ends = false;
    r.flags = 0;
    r.repeated = 0;
    memset(r.bucket, 0xff, sizeof(r.bucket));
    succeeded = reserve_headers(&r, count) && count <= message->header_room;
    for (uint32_t i = 0; i < count && succeeded; i++) {
        const uint8_t *name = message->head.bytes + fields[i].at;
        uint16_t index = message->header_count;

        message->headers[index] = (struct http_header){
            .at = fields[i].at,
            .length = fields[i].name_length + 2 + fields[i].value_length,
            .name_length = (uint16_t)fields[i].name_length,
            .next = HTTP_NONE,
            .chain = HTTP_NONE,
        };
        message->header_count++;
        index_header(&r, index, token_length(name, fields[i].name_length) == fields[i].name_length);
    }
    succeeded = succeeded && (r.repeated == 0 || join_repeated(&r));
    http_reserve_concatenations(f, message);
    return succeeded && !f->failed;
}

/* --- Consumption of lines ------------------------------------------------------------------------ */

static enum http_step_result store_lines(struct http_feed *f, struct http_message *message, uint32_t from)
{
    uint32_t length = f->at - from;

    if (buffer_append(app_heap(f->context), &message->head, f->bytes + from, length, HTTP_HEAD_LIMIT) == length)
        return HTTP_STEP_DONE;
    http_event(f, f->parser->tx,
               f->direction == FLOW_TO_SERVER ? HTTP_EVENT_REQUEST_FIELD_TOO_LONG : HTTP_EVENT_RESPONSE_FIELD_TOO_LONG);
    return HTTP_STEP_FAILED;
}

/* Sets *ends to whether a line ends the headers. In responses unusual line ends are treated as in browsers, which need
 * the following bytes to decide: returns HTTP_STEP_NEEDS_DATA if these bytes have not been received. */
static enum http_step_result check_end_of_headers(const struct http_feed *f, const uint8_t *line, uint32_t length,
                                                  bool *ends)
{
    uint32_t left = f->length - f->at;
    const uint8_t *next = f->bytes + f->at;

    *ends = http_trim_line_end(line, length) == 0;
    if (f->reading && length != 2 && http_is_dialect(f, HTTP_DIALECT_CRLF))
        *ends = false;
    *ends |= f->parser->flags & HTTP_READ_BLANK && is_all_space(line, length);
    if (f->direction == FLOW_TO_SERVER || f->parser->flags & (HTTP_READ_LF | HTTP_READ_CR))
        return HTTP_STEP_DONE;
    /* LF CR is one line end, and so is CR LF CR followed by blanks. */
    if (length == 1 && line[0] == '\r' && (f->parser->bare_lf || (left > 0 && is_blank(next[0]))))
        *ends = false;
    bool is_blank_line = length == 2 && is_blank(line[0]) && line[1] == '\n';
    bool is_cr_cr_lf = length == 3 && memcmp(line, "\r\r\n", 3) == 0;

    if (!is_blank_line && !is_cr_cr_lf)
        return HTTP_STEP_DONE;
    if (!f->end && (left == 0 || (is_cr_cr_lf && left == 1 && next[0] == '\r')))
        return HTTP_STEP_NEEDS_DATA;
    bool empty_line_follows =
        left > 0 && (next[0] == '\n' || (is_cr_cr_lf && left > 1 && next[0] == '\r' && next[1] == '\n'));

    *ends = !empty_line_follows;
    return HTTP_STEP_DONE;
}

/* Returns the length of the plain line at the start, with its line end; 0 if the line is not plain or incomplete. */
static uint32_t plain_line_length(const uint8_t *line, uint32_t length)
{
    uint32_t size = length < PLAIN_LINE_LIMIT ? length : PLAIN_LINE_LIMIT;
    const uint8_t *cr = size > 0 && line[0] > ' ' ? memchr(line, '\r', size) : NULL;

    if (!cr || cr + 1 == line + length || cr[1] != '\n' || memchr(line, '\n', (size_t)(cr - line)))
        return 0;
    return (uint32_t)(cr - line) + 2;
}

/* Consumes plain lines, like read_header_line(), but faster. Returns true if the empty line was consumed, too. */
static bool read_plain_lines(struct http_feed *f)
{
    struct http_parser *parser = f->parser;
    const uint8_t *line = f->bytes + f->at;
    uint32_t left = f->length - f->at, length;

    while ((length = plain_line_length(line, left)) > 0 && length <= f->settings->field_limit) {
        line += length;
        left -= length;
        parser->lines++;
        parser->field_length = length;
        parser->bare_lf = false;
    }
    f->at = f->length - left;
    if (left < 2 || line[0] != '\r' || line[1] != '\n')
        return false;
    f->at += 2;
    parser->bare_lf = false;
    return true;
}

/* Adds a reading for PHP at the first header line with a CR inside, which is two lines for PHP. *from: offset of the
 * first line that is not stored yet. Returns false if the reading cannot be added: parsing then fails. */
static bool add_reading_for_cr(struct http_feed *f, struct http_message *message, uint32_t length, uint32_t *from)
{
    const uint8_t *line = f->bytes + f->at - length;
    const uint8_t *cr = memchr(line, '\r', length);

    if (!cr || cr + 1 >= line + length || cr[1] == '\n' || f->parser->step != HTTP_AT_HEADERS || f->parser->split_at_cr)
        return true;
    f->parser->split_at_cr = true;
    f->unit_end = f->at;
    f->at -= length;
    if (store_lines(f, message, *from) == HTTP_STEP_FAILED || !http_add_reading(f, HTTP_DIALECT_LAST_LENGTH, true))
        return false;
    *from = f->at;
    f->at += length;
    f->unit_end = 0;
    return true;
}

/* Clients differ on a line that contains a CR before or without a final CR LF, and on a line of blanks. */
unsigned http_line_ambiguities(const uint8_t *line, uint32_t length)
{
    const uint8_t *cr = memchr(line, '\r', length);
    unsigned kinds = 0;

    if (cr && (cr + 2 != line + length || cr[1] != '\n'))
        kinds = 1 << HTTP_ALTERNATIVE_LINES | 1 << HTTP_ALTERNATIVE_CR;
    if (is_blank(line[0]) && is_all_space(line, length))
        kinds |= 1 << HTTP_ALTERNATIVE_LINES | 1 << HTTP_ALTERNATIVE_BLANK;
    return kinds;
}

/* Consumes a line. *ends: it is the empty line after the headers. */
static enum http_step_result read_header_line(struct http_feed *f, struct http_message *message, uint32_t *length,
                                              bool *ends)
{
    const uint8_t *line;
    enum http_step_result result = f->at < f->length ? http_read_line(f, &line, length) : HTTP_STEP_NEEDS_DATA;

    unsigned ambiguities =
        result == HTTP_STEP_DONE && f->direction == FLOW_TO_CLIENT ? http_line_ambiguities(line, *length) : 0;

    if (ambiguities != 0)
        http_request_alternatives(f, ambiguities);
    if (result == HTTP_STEP_DONE && check_end_of_headers(f, line, *length, ends) == HTTP_STEP_NEEDS_DATA) {
        f->at -= *length;
        result = HTTP_STEP_NEEDS_DATA;
    }
    if (result != HTTP_STEP_DONE)
        return result;
    f->parser->bare_lf = line[*length - 1] == '\n' && (*length == 1 || line[*length - 2] != '\r');
    message->plain = message->plain && (*ends ? !is_blank(line[0]) : plain_line_length(line, *length) == *length);
    return HTTP_STEP_DONE;
}

/* Stores the lines from `from` on and parses the headers. `length`: length of the line that ended the headers. */
static enum http_step_result end_headers(struct http_feed *f, struct http_message *message, uint32_t from,
                                         uint32_t length)
{
    if (message->parsed_to <= message->headers_at)
        message->headers_end = message->head.length + (f->at - length - from);
    if (store_lines(f, message, from) == HTTP_STEP_FAILED || !http_finish_headers(f, message))
        return HTTP_STEP_FAILED;
    return HTTP_STEP_DONE;
}

/* Whether a line has no colon and is not a continuation line. wget and Perl treat such a line as the first line of the
 * body. */
static bool is_line_without_colon(const uint8_t *line, uint32_t length)
{
    uint32_t size = http_trim_line_end(line, length);

    return size > 0 && !is_blank(line[0]) && !is_all_space(line, size) && !memchr(line, ':', size);
}

/* Whether any of the complete plain lines at the start of the bytes has no colon. */
static bool contains_line_without_colon(const uint8_t *line, uint32_t left)
{
    uint32_t length;

    for (; (length = plain_line_length(line, left)) > 0; left -= length, line += length) {
        if (is_line_without_colon(line, length))
            return true;
    }
    return false;
}

enum http_step_result http_read_headers(struct http_feed *f, struct http_message *message)
{
    struct http_parser *parser = f->parser;
    bool is_response_head = f->direction == FLOW_TO_CLIENT && parser->step == HTTP_AT_HEADERS;
    bool no_empty_line = is_response_head && f->parser->flags & HTTP_READ_NO_EMPTY_LINE;
    uint32_t from = f->at;
    unsigned readings = f->state->reading_count;

    for (;;) {
        uint32_t length;
        bool ends = false;

        if (message->plain && f->parser->scanned == 0 && !no_empty_line) {
            uint32_t before = f->at;

            if (read_plain_lines(f))
                return end_headers(f, message, from, 2);
            if (is_response_head && f->at > before && contains_line_without_colon(f->bytes + before, f->at - before))
                http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_NO_EMPTY_LINE);
        }
        enum http_step_result result = read_header_line(f, message, &length, &ends);
        uint32_t consumed = result == HTTP_STEP_DONE ? length : 0;

        /* At the end of the connection, bytes without a line end count as a line. */
        if (is_response_head && (result == HTTP_STEP_DONE || (result == HTTP_STEP_NEEDS_DATA && f->end)) &&
            is_line_without_colon(f->bytes + f->at - consumed, result == HTTP_STEP_DONE ? length : f->length - f->at)) {
            if (no_empty_line) {
                f->at -= consumed;
                return end_headers(f, message, from, 0);
            }
            http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_NO_EMPTY_LINE);
        }
        if (result != HTTP_STEP_DONE)
            return store_lines(f, message, from) == HTTP_STEP_FAILED ? HTTP_STEP_FAILED : result;
        if (f->direction == FLOW_TO_SERVER && !message->plain && !add_reading_for_cr(f, message, length, &from))
            return HTTP_STEP_FAILED;
        if (ends)
            return end_headers(f, message, from, length);
        bool is_continuation = parser->lines > 0 && is_blank(f->bytes[f->at - length]);

        parser->field_length = is_continuation ? parser->field_length + length : length;
        parser->lines++;
        if (http_is_too_long(f, parser->field_length))
            return HTTP_STEP_FAILED;
        if (f->state->reading_count > readings) /* the new reading starts with the same line */
            return store_lines(f, message, from) == HTTP_STEP_FAILED ? HTTP_STEP_FAILED : HTTP_STEP_NEEDS_DATA;
    }
}
