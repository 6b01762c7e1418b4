/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of dataset files in Suricata's formats: strings in Base64 (RFC 4648 §4, padded), hashes in hexadecimal,
 * addresses as text; a number after a comma is the reputation value.
 */
#include <string.h>

#include "dataset_priv.h"
#include "sluice/address.h"

static const char *const type_names[DATASET_TYPE_COUNT] = {
    [DATASET_STRING] = "string", [DATASET_MD5] = "md5", [DATASET_SHA256] = "sha256",
    [DATASET_IPV4] = "ipv4",     [DATASET_IP] = "ip",
};

const char *dataset_type_name(enum dataset_type type)
{
    return type_names[type];
}

bool dataset_type_parse(struct span word, enum dataset_type *out)
{
    if (span_equal(word, "ipv6")) {
        *out = DATASET_IP;
        return true;
    }
    for (int type = 0; type < DATASET_TYPE_COUNT; type++) {
        if (span_equal(word, type_names[type])) {
            *out = (enum dataset_type)type;
            return true;
        }
    }
    return false;
}

/* --- Reading -------------------------------------------------------------------------------------- */

static int digit64(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static const char *parse_string(struct span text, uint8_t *bytes, size_t *length)
{
    *length = 0;
    if (text.length % 4 != 0)
        return "the length of a Base64 value must be a multiple of 4";
    for (size_t i = 0; i < text.length; i += 4) {
        const char *group = text.at + i;
        const bool may_be_padded = i + 4 == text.length;
        const size_t count = !may_be_padded || group[3] != '=' ? 3 : group[2] != '=' ? 2 : 1;
        uint32_t bits = 0;

        for (size_t k = 0; k < 4; k++) {
            int digit = k <= count ? digit64(group[k]) : 0;

            if (digit < 0)
                return "the value is not valid Base64";
            bits = bits << 6 | (uint32_t)digit;
        }
        if (*length + count > DATASET_MAX_STRING)
            return "the value is longer than 65535 bytes";
        for (size_t k = 0; k < count; k++)
            bytes[(*length)++] = (uint8_t)(bits >> (16 - 8 * k));
    }
    return NULL;
}

static int digit16(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static const char *parse_hash(struct span text, size_t size, uint8_t *bytes, size_t *length)
{
    if (text.length != size * 2)
        return size == 16 ? "an MD5 sum has 32 hexadecimal digits" : "a SHA-256 sum has 64 hexadecimal digits";
    for (size_t i = 0; i < size; i++) {
        int high = digit16(text.at[2 * i]), low = digit16(text.at[2 * i + 1]);

        if (high < 0 || low < 0)
            return "the value is not hexadecimal";
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    *length = size;
    return NULL;
}

const char *dataset_parse_line(enum dataset_type type, struct span line, uint8_t *bytes, size_t *length,
                               uint16_t *value)
{
    struct span rest = line, text = { NULL, 0 };
    struct address address;
    uint64_t number = 0;

    *length = 0;
    span_next(&rest, ',', &text);
    if (rest.at && !span_to_uint(span_trim(rest), 0, UINT16_MAX, &number))
        return "a number from 0 to 65535 must follow the comma";
    *value = (uint16_t)number;
    if (text.length == 0)
        return "a value is missing";
    switch (type) {
    case DATASET_STRING:
        return parse_string(text, bytes, length);
    case DATASET_MD5:
        return parse_hash(text, 16, bytes, length);
    case DATASET_SHA256:
        return parse_hash(text, 32, bytes, length);
    default:
        break;
    }
    int version = address_parse(text.at, text.length, &address);

    if (type == DATASET_IPV4 && version != 4)
        return "the value is not an IPv4 address";
    if (version < 0)
        return "the value is not an IP address";
    *length = version == 4 ? 4 : 16;
    memcpy(bytes, address.bytes, *length);
    return NULL;
}

/* --- Writing -------------------------------------------------------------------------------------- */

void dataset_print_value(enum dataset_type type, const uint8_t *bytes, size_t length, struct text *out)
{
    if (type == DATASET_STRING) {
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

        for (size_t i = 0; i < length; i += 3) {
            size_t count = length - i < 3 ? length - i : 3;
            uint32_t bits = (uint32_t)bytes[i] << 16;
            char group[4];

            for (size_t k = 1; k < count; k++)
                bits |= (uint32_t)bytes[i + k] << (16 - 8 * k);
            for (size_t k = 0; k < 4; k++)
                group[k] = k <= count ? digits[bits >> (18 - 6 * k) & 63] : '=';
            text_append(out, group, sizeof(group));
        }
    } else if (type == DATASET_IPV4 || type == DATASET_IP) {
        static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
        bool is_mapped = length == 16 && memcmp(bytes, prefix, sizeof(prefix)) == 0;
        struct address address = { 0 };
        char text[ADDRESS_TEXT_SIZE];

        memcpy(address.bytes, is_mapped ? bytes + 12 : bytes, is_mapped ? 4 : length);
        address_format(&address, is_mapped || length == 4 ? 4 : 6, false, text);
        text_puts(out, text);
    } else {
        for (size_t i = 0; i < length; i++)
            text_printf(out, "%02x", bytes[i]);
    }
}
