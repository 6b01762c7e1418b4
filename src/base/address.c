/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sluice/hex.h"
#include "sluice/text.h"

static_assert((int)ADDRESS_TEXT_SIZE == INET6_ADDRSTRLEN, "the longest address fits");

static char *format_full(const uint8_t *bytes, char *out)
{
    for (int i = 0; i < 16; i++) {
        out = hex_write_byte(out, bytes[i]);
        if (i % 2 == 1)
            *out++ = i == 15 ? '\0' : ':';
    }
    return out - 1;
}

static char *put_octet(char *out, unsigned value)
{
    if (value >= 100)
        *out++ = (char)('0' + value / 100);
    if (value >= 10)
        return text_write_two_digits(out, value % 100);
    *out++ = (char)('0' + value);
    return out;
}

static char *format_v4(const uint8_t *bytes, char *out)
{
    for (int i = 0; i < 4; i++) {
        out = put_octet(out, bytes[i]);
        *out++ = i == 3 ? '\0' : '.';
    }
    return out - 1;
}

char *address_format(const struct address *address, int version, bool full, char *out)
{
    if (version != 6)
        return format_v4(address->bytes, out);
    if (full)
        return format_full(address->bytes, out);
    inet_ntop(AF_INET6, address->bytes, out, ADDRESS_TEXT_SIZE);
    return out + strlen(out);
}

void address_mask(struct address *address, unsigned prefix)
{
    for (unsigned i = 0; i < sizeof(address->bytes); i++) {
        unsigned bits = prefix > i * 8 ? prefix - i * 8 : 0;

        address->bytes[i] &= (uint8_t)(bits >= 8 ? 0xff : 0xff00 >> bits);
    }
}

int address_parse(const char *text, size_t length, struct address *out)
{
    char copy[ADDRESS_TEXT_SIZE];
    struct address address = { 0 };
    int version;

    if (length >= sizeof(copy) || memchr(text, '\0', length))
        return -EINVAL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (inet_pton(AF_INET, copy, address.bytes) == 1)
        version = 4;
    else if (inet_pton(AF_INET6, copy, address.bytes) == 1)
        version = 6;
    else
        return -EINVAL;
    *out = address;
    return version;
}
