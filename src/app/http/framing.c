/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Determines where the body of a request ends. Nearly all requests are unambiguous; servers differ on the others. A
 * dialect is one way in which servers read them. The table has the ways of nginx, Apache, lighttpd, Node, Go, Python,
 * PHP, gunicorn and IIS, as observed by tests/differential, where that is possible; several servers share one. When the
 * dialects of a reading differ on a request, reading.c splits the reading.
 *
 * No dialect rejects a request here, though most servers do: a dialect that finds no length in the headers reads a
 * request without a body.
 */
#include "http_priv.h"

#include <string.h>
#include "sluice/hex.h"

/* Values of Transfer-Encoding that a server treats as chunked. */
enum coding {
    CODING_CONTAINED, /* contains "chunked" */
    CODING_ONLY,      /* exactly "chunked" */
    CODING_LAST,      /* the last coding in the list is "chunked" */
    CODING_NONE,      /* the header is ignored */
};

/* Values of Content-Length that a server accepts. */
enum number {
    NUMBER_FOUND,   /* the first digits in the value */
    NUMBER_DIGITS,  /* digits only */
    NUMBER_INTEGER, /* accepted by Python's int(): "+5", "1_000" */
};

static const struct dialect {
    enum coding coding;
    bool needs_1_1; /* the chunked coding requires HTTP/1.1 */
    enum number number;
    bool last_length; /* the last of several Content-Length headers is used, not the first */
    bool strict_name; /* a header name with surrounding blanks is a different name */
} dialects[HTTP_DIALECTS] = {
    [HTTP_DIALECT_LENIENT] = { .coding = CODING_CONTAINED, .number = NUMBER_FOUND },
    [HTTP_DIALECT_STRICT] = { .coding = CODING_ONLY, .number = NUMBER_DIGITS, .strict_name = true },
    [HTTP_DIALECT_STRICT_1_1] = { .coding = CODING_ONLY,
                                  .needs_1_1 = true,
                                  .number = NUMBER_DIGITS,
                                  .strict_name = true },
    [HTTP_DIALECT_LIST] = { .coding = CODING_LAST, .number = NUMBER_DIGITS },
    [HTTP_DIALECT_LENGTH] = { .coding = CODING_NONE, .number = NUMBER_INTEGER },
    [HTTP_DIALECT_LAST_LENGTH] = { .coding = CODING_ONLY, .number = NUMBER_FOUND, .last_length = true },
    [HTTP_DIALECT_CRLF] = { .coding = CODING_CONTAINED, .number = NUMBER_INTEGER },
    [HTTP_DIALECT_CONNECT] = { .coding = CODING_CONTAINED, .number = NUMBER_FOUND },
};

/* --- Numbers -------------------------------------------------------------------------------------- */

/* Like Python's int(text, base) for base 10 and 16. */
static bool parse_integer(const uint8_t *bytes, uint32_t length, bool hex, uint64_t *out)
{
    uint64_t number = 0;
    uint32_t at = 0, digits = 0;
    bool underscore = false;

    while (at < length && http_is_separator(bytes[at]))
        at++;
    while (length > at && http_is_separator(bytes[length - 1]))
        length--;
    if (at < length && bytes[at] == '+')
        at++;
    if (hex && length - at > 2 && bytes[at] == '0' && (bytes[at + 1] | 0x20) == 'x') {
        at += 2;
        at += bytes[at] == '_';
    }
    for (; at < length; at++) {
        int digit = hex_digit(bytes[at]);

        if (bytes[at] == '_' && digits > 0 && !underscore) {
            underscore = true;
            continue;
        }
        if (digit < 0 || (!hex && digit > 9) || number > (uint64_t)INT64_MAX / 16 - 1)
            return false;
        number = number * (hex ? 16 : 10) + (unsigned)digit;
        underscore = false;
        digits++;
    }
    *out = number;
    return digits > 0 && !underscore;
}

static bool is_digits(const uint8_t *bytes, uint32_t length)
{
    uint32_t at = 0;

    while (at < length && http_is_digit(bytes[at]))
        at++;
    return length > 0 && at == length;
}

static bool parse_number(const uint8_t *bytes, uint32_t length, enum number number, uint64_t *out)
{
    if (number == NUMBER_INTEGER)
        return parse_integer(bytes, length, false, out);
    return (number == NUMBER_FOUND || is_digits(bytes, length)) && http_parse_length(bytes, length, out);
}

/* Selects the part of a list after the last comma. */
static void select_last_item(const uint8_t **bytes, uint32_t *length)
{
    const uint8_t *comma = memrchr(*bytes, ',', *length);

    if (!comma)
        return;
    *length -= (uint32_t)(comma + 1 - *bytes);
    *bytes = comma + 1;
}

/* --- Dialects ------------------------------------------------------------------------------------ */

static bool is_last_coding(const uint8_t *value, uint32_t length)
{
    select_last_item(&value, &length);
    while (length > 0 && http_is_space(value[0])) {
        value++;
        length--;
    }
    while (length > 0 && http_is_space(value[length - 1]))
        length--;
    return http_equal_nocase(value, length, "chunked");
}

static bool is_chunked(const struct http_message *message, const struct dialect *dialect)
{
    const uint8_t *value;
    uint32_t length;

    if (!http_value(message, HTTP_TRANSFER_ENCODING, &value, &length) ||
        (dialect->strict_name && message->headers[message->known[HTTP_TRANSFER_ENCODING]].unusual_name) ||
        (dialect->needs_1_1 && message->version != HTTP_VERSION_1_1))
        return false;
    switch (dialect->coding) {
    case CODING_CONTAINED:
        return http_find_nocase(value, length, "chunked") != NULL;
    case CODING_ONLY:
        return http_equal_nocase(value, length, "chunked");
    case CODING_LAST:
        return is_last_coding(value, length);
    case CODING_NONE:
        break;
    }
    return false;
}

/* Selects the Content-Length value that the dialect uses. */
static bool find_length_value(const struct http_message *message, const struct dialect *dialect, const uint8_t **value,
                              uint32_t *length)
{
    uint16_t index = message->known[HTTP_CONTENT_LENGTH];

    if (index == HTTP_NONE || message->header_count == 0)
        return false;
    for (uint16_t i = message->header_count; dialect->last_length && message->repeated_length && i > index + 1; i--) {
        if (message->headers[i - 1].known == HTTP_CONTENT_LENGTH) {
            index = (uint16_t)(i - 1);
            break;
        }
    }
    const struct http_header *header = &message->headers[index];

    *value = http_header_text(message, header) + header->name_length + 2u;
    *length = header->length - header->name_length - 2u;
    return !(dialect->strict_name && header->unusual_name);
}

struct http_framing http_get_framing(const struct http_message *message, enum http_dialect which)
{
    const struct dialect *dialect = &dialects[which];
    struct http_framing framing = { .chunked = is_chunked(message, dialect) };
    const uint8_t *value;
    uint32_t length;

    if (framing.chunked || !find_length_value(message, dialect, &value, &length))
        return framing;
    if (dialect->last_length)
        select_last_item(&value, &length);
    if (!parse_number(value, length, dialect->number, &framing.length))
        framing.length = 0;
    return framing;
}

bool http_framing_is_unambiguous(const struct http_message *message)
{
    const uint8_t *value;
    uint32_t length;
    bool has_length = message->known[HTTP_CONTENT_LENGTH] != HTTP_NONE;

    if (http_value(message, HTTP_TRANSFER_ENCODING, &value, &length))
        return !has_length && message->version == HTTP_VERSION_1_1 && length == 7 &&
               http_equal_nocase(value, length, "chunked") &&
               !message->headers[message->known[HTTP_TRANSFER_ENCODING]].unusual_name;
    if (!has_length || !http_value(message, HTTP_CONTENT_LENGTH, &value, &length))
        return true;
    return !message->repeated_length && is_digits(value, length) &&
           !message->headers[message->known[HTTP_CONTENT_LENGTH]].unusual_name;
}

/* --- Chunks --------------------------------------------------------------------------------------- */

/* Hexadecimal digits with surrounding blanks, up to a line end or an extension: all servers accept these. */
static bool parse_plain_chunk(const uint8_t *line, uint32_t length, uint64_t *out)
{
    uint32_t at = 0;
    bool extension;

    if (!http_parse_chunk_size(line, length, out, &extension))
        return false;
    while (at < length && http_is_space(line[at]))
        at++;
    while (at < length && hex_digit(line[at]) >= 0)
        at++;
    return at == length || line[at] == ';' || http_is_space(line[at]);
}

bool http_parse_request_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension)
{
    const uint8_t *end = memchr(line, ';', length);
    uint32_t before = end ? (uint32_t)(end - line) : length;

    *extension = end != NULL;
    if (parse_plain_chunk(line, length, out))
        return true;
    /* "0x5", "+5": accepted only by gunicorn. */
    if (parse_integer(line, before, true, out))
        return *out <= HTTP_CHUNK_LENGTH_MAX;
    return http_parse_chunk_size(line, length, out, extension);
}
