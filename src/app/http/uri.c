/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The URI of a request: its parts, normalised as by the server that the setting `personality` selects. Paths are
 * decoded, backslashes and repeated slashes unified, and dot segments removed (RFC 3986 5.2.4); queries and fragments
 * are decoded.
 *
 * Most URIs need no normalisation: is_normalised() detects that in one pass, and the URI is used as sent.
 */
#include "http_priv.h"

#include <string.h>
#include "sluice/hex.h"

/* State of decoding one part of the URI. */
struct decoding {
    const struct http_personality *personality;
    const uint8_t *in;
    uint32_t at, length;
    bool ended; /* a NUL byte has ended the part */
};

struct parts {
    struct http_text scheme, authority, path, query, fragment; /* positions in the raw URI */
};

/* --- Characters above 8 bits --------------------------------------------------------------------- */

/* Returns the byte that Windows substitutes for a character outside its code page (best fit), for characters that
 * matter in paths; '?' for others. */
static uint8_t best_fit(uint32_t code)
{
    static const char latin[] =
        "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi??JjKk?LlLlLlLlLlNnNnNn???OoOoOo??RrRrRrSsSsSs"
        "SsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";

    if (code < 0x100)
        return (uint8_t)code;
    if (code < 0x100 + sizeof(latin) - 1)
        return (uint8_t)latin[code - 0x100];
    if (code >= 0xff01 && code <= 0xff5e)
        return (uint8_t)(code - 0xff01 + '!');
    switch (code) {
    case 0x2044: /* fraction slash */
    case 0x2215: /* division slash */
        return '/';
    case 0x2216: /* set minus */
        return '\\';
    case 0x2010: /* hyphens, dashes, minus */
    case 0x2011:
    case 0x2212:
        return '-';
    case 0x2024: /* one dot leader */
        return '.';
    case 0x2032: /* prime */
    case 0x02b9:
        return '\'';
    case 0x2223: /* divides */
        return '|';
    case 0x2236: /* ratio */
        return ':';
    case 0x223c: /* tilde operator */
        return '~';
    case 0x3000: /* ideographic space */
        return ' ';
    default:
        return '?';
    }
}

/* Decodes a UTF-8 sequence, also an overlong one; *size: its length in bytes. Returns false if the bytes are not such a
 * sequence. */
static bool decode_utf8(const uint8_t *bytes, uint32_t length, uint32_t *code, uint32_t *size)
{
    static const uint8_t masks[] = { 0, 0, 0x1f, 0x0f, 0x07 };
    uint32_t count = bytes[0] >= 0xf0 && bytes[0] < 0xf8 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;

    if (bytes[0] < 0xc0 || bytes[0] >= 0xf8 || count > length)
        return false;
    *code = bytes[0] & masks[count];
    for (uint32_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return false;
        *code = *code << 6 | (bytes[i] & 0x3f);
    }
    *size = count;
    return true;
}

/* --- %XX and %uXXXX ------------------------------------------------------------------------------- */

static bool all_hex(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (hex_digit(bytes[i]) < 0)
            return false;
    }
    return true;
}

/* Converts two hexadecimal digits; invalid digits yield the same byte as in servers that do not check them. */
static uint8_t lenient_hex(const uint8_t *two)
{
    int high = two[0] >= 'A' ? (two[0] & 0xdf) - 'A' + 10 : two[0] - '0';
    int low = two[1] >= 'A' ? (two[1] & 0xdf) - 'A' + 10 : two[1] - '0';

    return (uint8_t)(high * 16 + low);
}

/* Decodes the bytes after a `%`. Returns false if they yield no byte. */
static bool decode_percent(struct decoding *d, uint8_t *out)
{
    const struct http_personality *p = d->personality;
    const uint8_t *in = d->in + d->at;
    uint32_t left = d->length - d->at;
    bool unicode = left > 0 && (in[0] | 0x20) == 'u';
    uint32_t digits = unicode ? 4 : 2, skip = unicode ? 1 : 0;

    *out = '%';
    if (unicode && !p->decode_u)
        return true;
    if (left >= skip + digits && (all_hex(in + skip, digits) || p->invalid_percent == HTTP_PERCENT_DECODE)) {
        uint8_t first = lenient_hex(in + skip);

        *out = first;
        if (unicode) {
            uint8_t second = lenient_hex(in + skip + 2);

            *out = first == 0 ? second : best_fit((uint32_t)first << 8 | second);
        }
        d->at += skip + digits;
        d->ended = *out == 0 && p->nul_encoded_ends;
        return !d->ended;
    }
    return p->invalid_percent != HTTP_PERCENT_REMOVE;
}

uint32_t http_decode_query(const struct http_personality *personality, uint8_t *bytes, uint32_t length)
{
    struct decoding d = { .personality = personality, .in = bytes, .length = length };
    uint32_t used = 0;

    while (d.at < d.length && !d.ended) {
        uint8_t c = bytes[d.at++];

        if (c == '%') {
            if (decode_percent(&d, &c))
                bytes[used++] = c;
        } else if (c == 0 && personality->nul_raw_ends) {
            break;
        } else {
            bytes[used++] = c == '+' && personality->plus_is_space ? ' ' : c;
        }
    }
    return used;
}

/* Decodes the next byte of a path. Returns false if it yields no byte. */
static bool decode_path_byte(struct decoding *d, uint8_t *out)
{
    const struct http_personality *p = d->personality;
    uint32_t from = d->at + 1;

    *out = d->in[d->at++];
    if (*out == '%') {
        if (!decode_percent(d, out))
            return false;
        if (d->at > from && !p->decode_slashes && (*out == '/' || (*out == '\\' && p->backslash_is_slash))) {
            *out = '%'; /* remains encoded */
            d->at = from;
            return true;
        }
    } else if (*out == 0 && p->nul_raw_ends) {
        d->ended = true;
        return false;
    }
    if (*out == '\\' && p->backslash_is_slash)
        *out = '/';
    if (p->lower_case)
        *out = http_lower(*out);
    return true;
}

uint32_t http_decode_path(const struct http_personality *personality, uint8_t *bytes, uint32_t length)
{
    struct decoding d = { .personality = personality, .in = bytes, .length = length };
    uint32_t used = 0;

    while (d.at < d.length && !d.ended) {
        uint8_t c;

        if (!decode_path_byte(&d, &c))
            continue;
        if (c == '/' && personality->compress_slashes && used > 0 && bytes[used - 1] == '/')
            continue;
        bytes[used++] = c;
    }
    if (!personality->best_fit)
        return used;
    length = used;
    used = 0;
    for (uint32_t at = 0; at < length;) {
        uint32_t code, size;

        if (bytes[at] >= 0x80 && decode_utf8(bytes + at, length - at, &code, &size)) {
            bytes[used++] = best_fit(code);
            at += size;
        } else {
            bytes[used++] = bytes[at++];
        }
    }
    return used;
}

/* --- Dot segments -------------------------------------------------------------------------------- */

/* Removes dot segments in place and returns the new length: "/a/b/../c" becomes "/a/c". ".." at the root is ignored. */
uint32_t http_remove_dots(uint8_t *bytes, uint32_t length)
{
    uint32_t used = 0, at = 0;

    while (at < length) {
        bool has_slash = bytes[at] == '/';
        uint32_t from = has_slash ? at + 1 : at;
        const uint8_t *slash = from < length ? memchr(bytes + from, '/', length - from) : NULL;
        uint32_t end = slash ? (uint32_t)(slash - bytes) : length, size = end - from;
        bool is_dot = size == 1 && bytes[from] == '.';
        bool is_dot_dot = size == 2 && bytes[from] == '.' && bytes[from + 1] == '.';

        if (!is_dot && !is_dot_dot) {
            memmove(bytes + used, bytes + at, end - at);
            used += end - at;
            at = end;
            continue;
        }
        while (is_dot_dot && used > 0 && bytes[--used] != '/')
            ;
        at = end;
        if (!has_slash && at < length) /* "./" or "../" at the start */
            at++;
        else if (has_slash && at == length) /* "/." or "/.." at the end */
            bytes[used++] = '/';
    }
    return used;
}

/* --- Parts ---------------------------------------------------------------------------------------- */

static struct http_text make_part(uint32_t at, uint32_t end)
{
    return (struct http_text){ .at = at, .length = end - at, .is_set = true };
}

static uint32_t find_any(const uint8_t *bytes, uint32_t at, uint32_t length, const char *set)
{
    while (at < length && !(bytes[at] != 0 && strchr(set, bytes[at])))
        at++;
    return at;
}

/* Splits a URI into its parts. An authority is recognised only after a scheme and exactly two slashes. */
static struct parts split_uri(const uint8_t *uri, uint32_t length)
{
    struct parts parts = { 0 };
    uint32_t at = 0, end;
    const uint8_t *colon = length > 0 && uri[0] != '/' ? memchr(uri, ':', length) : NULL;

    if (colon) {
        at = (uint32_t)(colon - uri) + 1;
        parts.scheme = make_part(0, at - 1);
        if (length - at > 2 && uri[at] == '/' && uri[at + 1] == '/' && uri[at + 2] != '/') {
            end = find_any(uri, at + 2, length, "/?#");
            parts.authority = make_part(at + 2, end);
            at = end;
        }
    }
    end = find_any(uri, at, length, "?#");
    if (end > at)
        parts.path = make_part(at, end);
    at = end;
    if (at < length && uri[at] == '?') {
        end = find_any(uri, at + 1, length, "#");
        parts.query = make_part(at + 1, end);
        at = end;
    }
    if (at < length)
        parts.fragment = make_part(at + 1, length);
    return parts;
}

/* --- Normalisation ------------------------------------------------------------------------------- */

/* Returns true if normalisation would certainly not change the URI, and sets *path_length to the length of its path. */
static bool is_normalised(const struct http_settings *settings, const uint8_t *uri, uint32_t length,
                          uint32_t *path_length)
{
    const struct http_personality *p = &settings->personality;
    uint32_t at = 0;

    if (length == 0 || uri[0] != '/')
        return false;
    for (; at < length && uri[at] != '?'; at++) {
        uint8_t c = uri[at];

        if (c >= 'a' && c <= 'z') /* the most frequent case */
            continue;
        if (c == '%' || c == '\\' || c == '#' || c >= 0x80 || c == 0 ||
            (c == '/' && at + 1 < length && (uri[at + 1] == '/' || uri[at + 1] == '.')) ||
            (p->lower_case && c >= 'A' && c <= 'Z'))
            return false;
    }
    *path_length = at;
    for (; at < length; at++) {
        uint8_t c = uri[at];

        if (c <= '+' && (c == '%' || c == '#' || c == 0 || (c == '+' && p->plus_is_space)))
            return false;
    }
    return true;
}

void http_set_authority(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length,
                        enum http_event bad_port)
{
    const uint8_t *at_sign = memchr(bytes, '@', length);
    uint8_t host[HTTP_FIELD_LIMIT];
    struct http_authority authority;

    if (at_sign) {
        length -= (uint32_t)(at_sign + 1 - bytes);
        bytes = at_sign + 1;
    }
    if (!http_parse_authority(bytes, length, &authority)) {
        http_event(f, tx, HTTP_EVENT_REQUEST_URI_HOST_INVALID);
        return;
    }
    if (!authority.valid) {
        http_event(f, tx, HTTP_EVENT_REQUEST_URI_HOST_INVALID);
        if (authority.port < 0 && http_host_is_valid(authority.host, authority.host_length))
            http_event(f, tx, bad_port);
    }
    memcpy(host, authority.host, authority.host_length);
    length = http_decode_query(&f->settings->personality, host, authority.host_length);
    for (uint32_t i = 0; i < length; i++)
        host[i] = http_lower(host[i]);
    while (length > 0 && host[length - 1] == '.')
        length--;
    tx->port = authority.port;
    tx->host = tx->uri_host = http_store_text(f, &tx->message[FLOW_TO_SERVER], host, length);
}

/* Writes the decoded query and returns its length. */
static uint32_t write_query(struct http_feed *f, struct http_tx *tx, uint8_t *out, const uint8_t *query,
                            uint32_t length)
{
    const struct http_personality *p = &f->settings->personality;

    memmove(out, query, length);
    length = http_decode_query(p, out, length);
    if (f->settings->double_decode_query) {
        uint32_t before = length;

        length = http_decode_query(p, out, length);
        if (length < before)
            http_event(f, tx, HTTP_EVENT_DOUBLE_ENCODED_URI);
    }
    return length;
}

/* Writes the normalised path and returns its length. */
static uint32_t write_path(struct http_feed *f, struct http_tx *tx, uint8_t *out, const uint8_t *path, uint32_t length)
{
    const struct http_personality *p = &f->settings->personality;

    memcpy(out, path, length);
    length = http_remove_dots(out, http_decode_path(p, out, length));
    if (f->settings->double_decode_path) {
        uint32_t before = length;

        length = http_decode_query(p, out, length);
        if (length < before)
            http_event(f, tx, HTTP_EVENT_DOUBLE_ENCODED_URI);
    }
    return length;
}

static void normalise(struct http_feed *f, struct http_tx *tx, const uint8_t *raw, const struct parts *parts)
{
    struct http_message *message = &tx->message[FLOW_TO_SERVER];
    uint8_t out[HTTP_FIELD_LIMIT + 4];
    uint32_t used = 0, path_at = 0, path_length = 0;

    if (f->settings->uri_is_whole && parts->scheme.is_set) {
        uint32_t end = parts->authority.is_set ? parts->authority.at + parts->authority.length : parts->scheme.length;

        memcpy(out, raw, end);
        used = path_at = end;
    }
    if (parts->path.is_set) {
        path_length = write_path(f, tx, out + used, raw + parts->path.at, parts->path.length);
        used += path_length;
    }
    if (parts->query.is_set) {
        out[used++] = '?';
        used += write_query(f, tx, out + used, raw + parts->query.at, parts->query.length);
    }
    if (parts->fragment.is_set) {
        out[used++] = '#';
        memcpy(out + used, raw + parts->fragment.at, parts->fragment.length);
        used += http_decode_query(&f->settings->personality, out + used, parts->fragment.length);
    }
    if (used == 0)
        return;
    tx->uri = http_store_text(f, message, out, used);
    tx->path = tx->uri;
    tx->path.at += path_at;
    tx->path.length = path_length;
    tx->path.is_set &= parts->path.is_set;
}

void http_parse_uri(struct http_feed *f, struct http_tx *tx)
{
    struct http_message *message = &tx->message[FLOW_TO_SERVER];
    const uint8_t *raw = http_text_bytes(message, &tx->uri_raw);
    uint32_t length = tx->uri_raw.length, path_length;

    if (!tx->uri_raw.is_set)
        return;
    if (tx->method == HTTP_METHOD_CONNECT && (length == 0 || raw[0] != '/')) {
        http_set_authority(f, tx, raw, length, HTTP_EVENT_INVALID_AUTHORITY_PORT);
        tx->uri = tx->path = tx->uri_raw;
        return;
    }
    if (is_normalised(f->settings, raw, length, &path_length)) {
        tx->uri = tx->path = tx->uri_raw;
        tx->path.length = path_length;
        return;
    }
    struct parts parts = split_uri(raw, length);

    if (parts.authority.is_set)
        http_set_authority(f, tx, raw + parts.authority.at, parts.authority.length,
                           HTTP_EVENT_INVALID_SERVER_PORT_IN_REQUEST);
    normalise(f, tx, raw, &parts);
}
