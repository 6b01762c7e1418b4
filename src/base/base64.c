/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/base64.h"

enum { PADDING = 64, OTHER = 65 };

static uint8_t value_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint8_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint8_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (uint8_t)(c - '0' + 52);
    return c == '+' ? 62 : c == '/' ? 63 : c == '=' ? PADDING : OTHER;
}

/* --- Whole texts ---------------------------------------------------------------------------------- */

struct group {
    uint32_t bits;
    unsigned count, padding;
    bool bad_padding; /* another character follows the padding */
};

static void add_digit(struct group *group, uint8_t value)
{
    group->bad_padding |= group->padding > 0 && value != PADDING;
    group->padding += value == PADDING;
    group->bits = group->bits << 6 | (value == PADDING ? 0 : value);
    group->count++;
}

/* Writes the bytes of a group of four characters, one byte less for each padding character. Returns their number. */
static uint32_t write_group(struct group *group, uint8_t *out)
{
    uint32_t count = group->padding < 3 ? 3 - group->padding : 0;

    for (uint32_t i = 0; i < count; i++)
        out[i] = (uint8_t)(group->bits >> (16 - 8 * i));
    *group = (struct group){ 0 };
    return count;
}

/* Decodes in mode BASE64_STRICT (`zero_bits` true) or BASE64_PADDED (false). */
static uint32_t decode_complete(const uint8_t *text, uint32_t length, bool zero_bits, uint8_t *out)
{
    struct group group = { 0 };
    uint32_t decoded = 0;

    if (length % 4 != 0)
        return 0;
    for (uint32_t i = 0; i < length; i++) {
        uint8_t value = value_of(text[i]);

        add_digit(&group, value);
        if (value == OTHER || group.bad_padding || group.padding > 2 || (group.padding > 0 && i / 4 != length / 4 - 1))
            return 0;
        if (group.count < 4)
            continue;
        if (zero_bits && group.bits & ((1U << (8 * group.padding)) - 1))
            return 0;
        decoded += write_group(&group, out + decoded);
    }
    return decoded;
}

uint32_t base64_decode(const void *text, uint32_t length, enum base64_mode mode, uint8_t *out)
{
    const uint8_t *in = text;
    struct group group = { 0 };
    uint32_t decoded = 0;

    if (mode == BASE64_STRICT || mode == BASE64_PADDED)
        return decode_complete(in, length, mode == BASE64_STRICT, out);
    for (uint32_t i = 0; i < length; i++) {
        uint8_t value = value_of(in[i]);

        if (value == OTHER && mode == BASE64_RFC4648)
            break;
        if (value == OTHER)
            continue;
        add_digit(&group, value);
        if (group.count == 4)
            decoded += write_group(&group, out + decoded);
    }
    if (mode == BASE64_RFC2045 || group.count == 0 || group.count == group.padding)
        return decoded;

    /* As in Suricata, a single remaining character is decoded to a byte: its 6 bits are the upper bits of the byte. */
    bool single = group.count == 1;

    while (group.count < 4)
        add_digit(&group, PADDING);
    if (single)
        group.padding = 2;
    return decoded + write_group(&group, out + decoded);
}

/* --- Streams -------------------------------------------------------------------------------------- */

uint32_t base64_stream_finish(struct base64_stream *stream, uint8_t *out)
{
    const uint8_t *values = stream->values;
    uint32_t bytes = stream->count > 1 ? stream->count - 1u : 0;

    if (bytes > 0)
        out[0] = (uint8_t)(values[0] << 2 | values[1] >> 4);
    if (bytes > 1)
        out[1] = (uint8_t)(values[1] << 4 | values[2] >> 2);
    if (bytes > 2)
        out[2] = (uint8_t)(values[2] << 6 | values[3]);
    stream->count = 0;
    return bytes;
}

uint32_t base64_stream_decode(struct base64_stream *stream, const uint8_t *text, uint32_t length, uint8_t *out,
                              bool *invalid)
{
    uint32_t decoded = 0;

    for (uint32_t i = 0; i < length; i++) {
        uint8_t value = value_of(text[i]);

        if (value < PADDING)
            stream->values[stream->count++] = value;
        else if (value == OTHER && text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            *invalid = true;
        if (stream->count == 4 || value == PADDING)
            decoded += base64_stream_finish(stream, out + decoded);
    }
    return decoded;
}

/* --- Encoder -------------------------------------------------------------------------------------- */

void base64_encode(const void *bytes, size_t length, char *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = bytes;

    for (size_t i = 0; i < length; i += 3, out += 4) {
        size_t left = length - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);

        out[0] = letters[group >> 18];
        out[1] = letters[group >> 12 & 63];
        out[2] = left > 1 ? letters[group >> 6 & 63] : '=';
        out[3] = left > 2 ? letters[group & 63] : '=';
    }
}
