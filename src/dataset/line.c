/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses and writes lines of dataset files in Suricata's formats: strings in Base64 (RFC 4648 §4, padded), hashes in
 * hexadecimal, addresses as text; an optional number after a comma is the reputation.
 */
#include <string.h>

#include "sluice/address.h"
#include "sluice/base64.h"
#include "sluice/dataset.h"
#include "sluice/hex.h"

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

static const char *parse_string(struct span text, uint8_t *bytes, size_t *length)
{
    size_t padding = 0;

    if (text.length % 4 != 0)
        return "the length of a Base64 value must be a multiple of 4";
    while (padding < 2 && text.at[text.length - padding - 1] == '=')
        padding++;
    if (text.length / 4 * 3 - padding > DATASET_MAX_STRING)
        return "the value is longer than 65535 bytes";
    *length = base64_decode(text.at, (uint32_t)text.length, BASE64_PADDED, bytes);
    return *length > 0 ? NULL : "the value is not valid Base64";
}

static const char *parse_hash(struct span text, size_t size, uint8_t *bytes, size_t *length)
{
    if (text.length != size * 2)
        return size == 16 ? "an MD5 sum has 32 hexadecimal digits" : "a SHA-256 sum has 64 hexadecimal digits";
    for (size_t i = 0; i < size; i++) {
        if (!hex_byte(text.at + 2 * i, &bytes[i]))
            return "the value is not hexadecimal";
    }
    *length = size;
    return NULL;
}

const char *dataset_parse_text(enum dataset_type type, struct span text, uint8_t *bytes, size_t *length)
{
    struct address address;

    *length = 0;
    if (text.length == 0)
        return "a value is missing";
    switch (type) {
    case DATASET_STRING:
        if (text.length > DATASET_MAX_STRING)
            return "the value is longer than 65535 bytes";
        memcpy(bytes, text.at, text.length);
        *length = text.length;
        return NULL;
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

const char *dataset_parse_line(enum dataset_type type, struct span line, uint8_t *bytes, size_t *length,
                               uint16_t *value)
{
    struct span rest = line, text = { NULL, 0 };
    uint64_t number = 0;

    *length = 0;
    span_next(&rest, ',', &text);
    if (rest.at && !span_to_uint(span_trim(rest), 0, UINT16_MAX, &number))
        return "a number from 0 to 65535 must follow the comma";
    *value = (uint16_t)number;
    if (type == DATASET_STRING && text.length > 0)
        return parse_string(text, bytes, length);
    return dataset_parse_text(type, text, bytes, length);
}

/* --- Writing -------------------------------------------------------------------------------------- */

void dataset_print_value(enum dataset_type type, const uint8_t *bytes, size_t length, struct text *out)
{
    if (type == DATASET_STRING) {
        char *at = text_reserve(out, base64_encoded_size(length));

        if (!at)
            return;
        base64_encode(bytes, length, at);
        text_commit(out, base64_encoded_size(length));
    } else if (type == DATASET_IPV4 || type == DATASET_IP) {
        static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
        bool is_mapped = length == 16 && memcmp(bytes, prefix, sizeof(prefix)) == 0;
        struct address address = { 0 };
        char text[ADDRESS_TEXT_SIZE];

        memcpy(address.bytes, is_mapped ? bytes + 12 : bytes, is_mapped ? 4 : length);
        address_format(&address, is_mapped || length == 4 ? 4 : 6, false, text);
        text_puts(out, text);
    } else {
        char digits[2 * 32]; /* enough for SHA-256, the longest hash */

        text_append(out, digits, (size_t)(hex_write(digits, bytes, length) - digits));
    }
}
