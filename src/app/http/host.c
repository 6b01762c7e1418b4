/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host names and ports; numbers and parameters in header values. */
#include "http_priv.h"

#include <arpa/inet.h>
#include <string.h>

enum { HOST_MAX = 255, LABEL_MAX = 63 };

int32_t http_parse_port(const uint8_t *bytes, uint32_t length)
{
    int32_t port = 0;

    if (length == 0)
        return -1;
    for (uint32_t i = 0; i < length; i++) {
        if (!http_is_digit(bytes[i]))
            return -1;
        port = port * 10 + (bytes[i] - '0');
        if (port > UINT16_MAX)
            return -1;
    }
    return port > 0 ? port : -1;
}

static bool is_ipv6(const uint8_t *bytes, uint32_t length)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (length >= sizeof(text) || memchr(bytes, 0, length))
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

bool http_host_is_valid(const uint8_t *host, uint32_t length)
{
    uint32_t label = 0;

    if (length == 0 || length > HOST_MAX)
        return false;
    if (length > 2 && host[0] == '[' && host[length - 1] == ']')
        return is_ipv6(host + 1, length - 2);
    for (uint32_t i = 0; i < length; i++) {
        uint8_t lower = host[i] | 0x20;

        if (host[i] == '.') {
            if (i == 0 || host[i - 1] == '.')
                return false;
            label = 0;
            continue;
        }
        if (!(lower >= 'a' && lower <= 'z') && !http_is_digit(host[i]) && host[i] != '-' && host[i] != '_')
            return false;
        if (++label > LABEL_MAX)
            return false;
    }
    return true;
}

/* Returns the length of the host, which ends before a port, path, query or fragment. */
static uint32_t host_length(const uint8_t *bytes, uint32_t length)
{
    uint32_t at = 0;

    if (length > 0 && bytes[0] == '[') {
        while (at < length && bytes[at] != ']' && bytes[at] != '/' && bytes[at] != '?' && bytes[at] != '#')
            at++;
        if (at < length && bytes[at] == ']')
            at++;
        return at;
    }
    while (at < length &&
           (bytes[at] > '?' || (bytes[at] != ':' && bytes[at] != '/' && bytes[at] != '?' && bytes[at] != '#')))
        at++;
    return at;
}

bool http_parse_authority(const uint8_t *bytes, uint32_t length, struct http_authority *out)
{
    uint32_t at = 0, size;

    while (at < length && bytes[at] == ' ')
        at++;
    size = host_length(bytes + at, length - at);
    out->host = bytes + at;
    at += size;
    while (size > 0 && out->host[size - 1] == ' ')
        size--;
    out->host_length = size;
    out->port = -1;
    out->valid = http_host_is_valid(out->host, size);
    if (size == 0)
        return false;
    if (at == length)
        return true;
    if (bytes[at] != ':') {
        out->valid = false;
        return true;
    }
    for (at++; at < length && bytes[at] == ' ';)
        at++;
    while (length > at && bytes[length - 1] == ' ')
        length--;
    out->port = http_parse_port(bytes + at, length - at);
    out->valid &= out->port >= 0;
    return true;
}

bool http_parse_length(const uint8_t *bytes, uint32_t length, uint64_t *out)
{
    uint32_t at = 0, digits = 0;
    uint64_t number = 0;

    while (at < length && !http_is_digit(bytes[at]))
        at++;
    for (; at < length && http_is_digit(bytes[at]); at++, digits++) {
        if (number > (UINT64_MAX - 9) / 10)
            return false;
        number = number * 10 + (bytes[at] - '0');
    }
    *out = number;
    return digits > 0;
}

/* --- Content-Range -------------------------------------------------------------------------------- */

static int64_t parse_number(const uint8_t *bytes, uint32_t length, uint32_t *at)
{
    int64_t number = 0;
    uint32_t from = *at;

    for (; *at < length && http_is_digit(bytes[*at]); (*at)++) {
        if (number > (INT64_MAX - 9) / 10)
            return -1;
        number = number * 10 + (bytes[*at] - '0');
    }
    return *at > from ? number : -1;
}

/* Parses "bytes 0-499/1234", with * for unknown values. Returns false if the value is invalid. */
bool http_parse_range(const uint8_t *bytes, uint32_t length, struct http_range *out)
{
    uint32_t at = 0;

    *out = (struct http_range){ -1, -1, -1 };
    while (at < length && http_is_space(bytes[at]))
        at++;
    if (length - at < 5 || !http_equal_nocase(bytes + at, 5, "bytes"))
        return false;
    for (at += 5; at < length && (http_is_space(bytes[at]) || bytes[at] == '=');)
        at++;
    if (at < length && bytes[at] == '*') {
        at++;
    } else {
        out->start = parse_number(bytes, length, &at);
        if (out->start < 0 || at == length || bytes[at++] != '-')
            return false;
        out->end = parse_number(bytes, length, &at);
        if (out->end < 0)
            return false;
    }
    if (at == length || bytes[at++] != '/')
        return false;
    if (at < length && bytes[at] == '*')
        return at + 1 == length;
    out->size = parse_number(bytes, length, &at);
    return out->size >= 0 && at == length && (out->start < 0 || out->start <= out->end);
}

/* --- Parameters ----------------------------------------------------------------------------------- */

void http_parameter_value(const uint8_t *bytes, uint32_t length, const uint8_t **value, uint32_t *value_length)
{
    uint32_t at = 0, end;

    while (at < length && http_is_space(bytes[at]))
        at++;
    if (at < length && bytes[at] == '"') {
        for (end = ++at; end < length && bytes[end] != '"'; end++) {
            if (bytes[end] == '\\' && end + 1 < length)
                end++;
        }
        if (end > length)
            end = length;
    } else {
        for (end = at; end < length && bytes[end] != ';';)
            end++;
        while (end > at && http_is_space(bytes[end - 1]))
            end--;
    }
    *value = bytes + at;
    *value_length = end - at;
}

bool http_parameter(const uint8_t *bytes, uint32_t length, const char *name, const uint8_t **value,
                    uint32_t *value_length)
{
    uint32_t size = (uint32_t)strlen(name);
    bool quoted = false;

    for (uint32_t at = 0; at < length; at++) {
        if (bytes[at] == '"')
            quoted = !quoted;
        if (bytes[at] != ';' || quoted)
            continue;
        uint32_t from = at + 1;

        while (from < length && http_is_space(bytes[from]))
            from++;
        if (length - from < size || !http_equal_nocase(bytes + from, size, name))
            continue;
        from += size;
        while (from < length && http_is_space(bytes[from]))
            from++;
        if (from == length || bytes[from] != '=')
            continue;
        http_parameter_value(bytes + from + 1, length - from - 1, value, value_length);
        return true;
    }
    return false;
}
