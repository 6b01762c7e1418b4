/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Determines the body of a request. Nearly all requests are unambiguous; servers differ on the body of the others. A
 * dialect is the behaviour of one server or of several. The table covers nginx, Apache, lighttpd, Node, Go, Python,
 * PHP, gunicorn and IIS, as observed with tests/differential where that is possible. When the dialects of a reading
 * differ on a request, reading.c splits the reading.
 *
 * Most servers reject ambiguous requests, but no dialect does: if a dialect finds no valid length, the request has no
 * body.
 */
#include "http_priv.h"

#include <string.h>
#include "sluice/hex.h"

/* Values of Transfer-Encoding that a server treats as chunked. */
enum chunked_rule {
    CHUNKED_CONTAINED, /* contains "chunked" */
    CHUNKED_ONLY,      /* exactly "chunked" */
    CHUNKED_LAST,      /* the last coding in the list is "chunked" */
    CHUNKED_IGNORED,   /* the server ignores the header */
};

/* Values of Content-Length that a server accepts. */
enum length_rule {
    LENGTH_FIRST_NUMBER, /* the first decimal number in the value */
    LENGTH_DIGITS,       /* digits only */
    LENGTH_INTEGER,      /* accepted by Python's int(): "+5", "1_000" */
};

static const struct dialect {
    enum chunked_rule chunked;
    bool needs_1_1; /* chunked coding requires HTTP/1.1 */
    enum length_rule length;
    bool last_length; /* the last of several Content-Length headers is used, not the first */
    bool strict_name; /* a header name with blanks around it is another name; false: the blanks are ignored */
} dialects[HTTP_DIALECTS] = {
    [HTTP_DIALECT_LENIENT] = { .chunked = CHUNKED_CONTAINED, .length = LENGTH_FIRST_NUMBER },
    [HTTP_DIALECT_STRICT] = { .chunked = CHUNKED_ONLY, .length = LENGTH_DIGITS, .strict_name = true },
    [HTTP_DIALECT_STRICT_1_1] = { .chunked = CHUNKED_ONLY,
                                  .needs_1_1 = true,
                                  .length = LENGTH_DIGITS,
                                  .strict_name = true },
    [HTTP_DIALECT_LIST] = { .chunked = CHUNKED_LAST, .length = LENGTH_DIGITS },
    [HTTP_DIALECT_LENGTH] = { .chunked = CHUNKED_IGNORED, .length = LENGTH_INTEGER },
    [HTTP_DIALECT_LAST_LENGTH] = { .chunked = CHUNKED_ONLY, .length = LENGTH_FIRST_NUMBER, .last_length = true },
    [HTTP_DIALECT_CRLF] = { .chunked = CHUNKED_CONTAINED, .length = LENGTH_INTEGER },
    [HTTP_DIALECT_CONNECT] = { .chunked = CHUNKED_CONTAINED, .length = LENGTH_FIRST_NUMBER },
};

/* --- Numbers -------------------------------------------------------------------------------------- */

/* Parses a number like Python's int(text, base) for base 10 or 16. */
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

/* Narrows the bytes to the last item of a comma-separated list. */
static void select_last_item(const uint8_t **bytes, uint32_t *length)
{
    const uint8_t *comma = memrchr(*bytes, ',', *length);

    if (!comma)
        return;
    *length -= (uint32_t)(comma + 1 - *bytes);
    *bytes = comma + 1;
}

/* --- Dialects ------------------------------------------------------------------------------------ */

static bool is_chunked(const struct http_message *message, const struct dialect *dialect)
{
    const uint8_t *value;
    uint32_t length;

    if (!http_header_value(message, HTTP_TRANSFER_ENCODING, &value, &length) ||
        (dialect->strict_name && message->headers[message->known[HTTP_TRANSFER_ENCODING]].unusual_name) ||
        (dialect->needs_1_1 && message->version != HTTP_VERSION_1_1))
        return false;
    switch (dialect->chunked) {
    case CHUNKED_CONTAINED:
        return http_find_nocase(value, length, "chunked") != NULL;
    case CHUNKED_ONLY:
        return http_equal_nocase(value, length, "chunked");
    case CHUNKED_LAST:
        select_last_item(&value, &length);
        while (length > 0 && http_is_space(value[0])) {
            value++;
            length--;
        }
        while (length > 0 && http_is_space(value[length - 1]))
            length--;
        return http_equal_nocase(value, length, "chunked");
    case CHUNKED_IGNORED:
        break;
    }
    return false;
}

/* Sets *value to the Content-Length value that the dialect uses. Returns false if there is none. */
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
    bool is_valid = dialect->length == LENGTH_INTEGER
                        ? parse_integer(value, length, false, &framing.length)
                        : (dialect->length == LENGTH_FIRST_NUMBER || is_digits(value, length)) &&
                              http_parse_length(value, length, &framing.length);

    if (!is_valid)
        framing.length = 0;
    return framing;
}

bool http_framing_is_unambiguous(const struct http_message *message)
{
    const uint8_t *value;
    uint32_t length;
    bool has_length = message->known[HTTP_CONTENT_LENGTH] != HTTP_NONE;

    if (http_header_value(message, HTTP_TRANSFER_ENCODING, &value, &length))
        return !has_length && message->version == HTTP_VERSION_1_1 && length == 7 &&
               http_equal_nocase(value, length, "chunked") &&
               !message->headers[message->known[HTTP_TRANSFER_ENCODING]].unusual_name;
    if (!has_length || !http_header_value(message, HTTP_CONTENT_LENGTH, &value, &length))
        return true;
    return !message->repeated_length && is_digits(value, length) &&
           !message->headers[message->known[HTTP_CONTENT_LENGTH]].unusual_name;
}

/* --- Chunks --------------------------------------------------------------------------------------- */

/* Parses a size in the form that all servers accept: hexadecimal digits, optionally between blanks, up to an extension
 * or the line end. */
static bool parse_plain_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out)
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
    if (parse_plain_chunk_size(line, length, out))
        return true;
    /* "0x5", "+5": accepted only by gunicorn. */
    if (parse_integer(line, before, true, out))
        return *out <= HTTP_CHUNK_LENGTH_MAX;
    return http_parse_chunk_size(line, length, out, extension);
}
