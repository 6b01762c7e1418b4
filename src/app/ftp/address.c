/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses and ports in commands and replies: h1,h2,h3,h4,p1,p2 of PORT and PASV (RFC 959), and the format of EPRT and
 * EPSV (RFC 2428). */
#include <string.h>

#include "address.h"

enum { EXTENDED_PARTS = 3, PORT_DIGITS = 9 };

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Parses a decimal number of at most `digits` digits at *at and advances *at past it. Returns false if there is none,
 * or if it exceeds `limit`. */
static bool parse_number(const uint8_t *text, uint32_t length, uint32_t *at, unsigned digits, uint32_t limit,
                         uint32_t *out)
{
    uint32_t number = 0, start = *at;

    for (; *at < length && is_digit(text[*at]) && *at - start < digits; (*at)++)
        number = number * 10 + (uint32_t)(text[*at] - '0');
    *out = number;
    return *at > start && number <= limit;
}

static bool parse_six_numbers(const uint8_t *text, uint32_t length, uint32_t at, uint8_t six[6])
{
    for (unsigned i = 0; i < 6; i++) {
        uint32_t number;

        if (i > 0 && (at >= length || text[at++] != ','))
            return false;
        while (at < length && text[at] == ' ')
            at++;
        if (!parse_number(text, length, &at, 3, 255, &number))
            return false;
        six[i] = (uint8_t)number;
    }
    return at == length || !is_digit(text[at]);
}

bool ftp_parse_host_port(const uint8_t *text, uint32_t length, struct ftp_address *out)
{
    uint8_t six[6];

    for (uint32_t at = 0; at < length && at < FTP_ADDRESS_SEARCH_MAX; at++) {
        if (!is_digit(text[at]) || (at > 0 && is_digit(text[at - 1])))
            continue;
        if (!parse_six_numbers(text, length, at, six))
            continue;
        *out = (struct ftp_address){ .ip_version = 4, .port = (uint16_t)(six[4] << 8 | six[5]) };
        memcpy(out->address.bytes, six, 4);
        return out->port != 0;
    }
    return false;
}

bool ftp_parse_loose_host_port(const uint8_t *text, uint32_t length, struct ftp_address *out)
{
    const uint8_t *end = text + length;
    uint32_t six[6];

    for (unsigned i = 0; i < 6; i++) {
        const uint8_t *comma = memchr(text, ',', (size_t)(end - text));
        uint32_t at = 0, number = 0;

        if (!comma && i < 5)
            return false;
        comma = comma ? comma : end;
        while (at < (uint32_t)(comma - text) && (text[at] == ' ' || text[at] == '+' || text[at] == '('))
            at++;
        for (; at < (uint32_t)(comma - text) && is_digit(text[at]) && number < 1000; at++)
            number = number * 10 + (uint32_t)(text[at] - '0');
        six[i] = number;
        text = comma < end ? comma + 1 : end;
    }
    *out = (struct ftp_address){ .ip_version = 4, .port = (uint16_t)(six[4] * 256 + six[5]) };
    for (unsigned i = 0; i < 4; i++)
        out->address.bytes[i] = (uint8_t)six[i];
    return out->port != 0;
}

static bool parse_address(const uint8_t *text, uint32_t length, struct ftp_address *out)
{
    if (length == 0) /* the reply to EPSV has no address */
        return true;
    int version = address_parse((const char *)text, length, &out->address);

    if (version > 0)
        out->ip_version = version;
    return version > 0;
}

bool ftp_parse_extended_address(const uint8_t *text, uint32_t length, struct ftp_address *out)
{
    const uint8_t *open = memchr(text, '(', length), *part[EXTENDED_PARTS + 1];
    uint32_t port, at = 0;

    if (open) {
        length -= (uint32_t)(open + 1 - text);
        text = open + 1;
    }
    while (length > 0 && *text == ' ')
        text++, length--;
    if (length == 0)
        return false;
    part[0] = text;
    for (unsigned i = 1; i <= EXTENDED_PARTS; i++) {
        part[i] = memchr(part[i - 1] + 1, text[0], (size_t)(text + length - part[i - 1] - 1));
        if (!part[i] && i == EXTENDED_PARTS)
            part[i] = text + length; /* servers accept a port without the last delimiter */
        if (!part[i])
            return false;
    }
    *out = (struct ftp_address){ 0 };
    if (!parse_address(part[1] + 1, (uint32_t)(part[2] - part[1] - 1), out))
        return false;
    if (!parse_number(part[2] + 1, (uint32_t)(part[3] - part[2] - 1), &at, PORT_DIGITS, UINT32_MAX, &port) ||
        (uint16_t)port == 0)
        return false;
    out->port = (uint16_t)port;
    return true;
}
