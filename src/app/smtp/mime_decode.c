/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incremental decoders for base64 (RFC 2045 6.8) and quoted-printable (6.7), and for lines of uuencode. */
#include "mime.h"

static int digit_of(uint8_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Converts the digits of a group, which may be incomplete, to bytes; returns their number. */
static uint32_t decode_group(struct mime_base64 *state, uint8_t *out)
{
    const uint8_t *digits = state->digits;
    uint32_t bytes = state->count > 1 ? state->count - 1u : 0;

    if (bytes > 0)
        out[0] = (uint8_t)(digits[0] << 2 | digits[1] >> 4);
    if (bytes > 1)
        out[1] = (uint8_t)(digits[1] << 4 | digits[2] >> 2);
    if (bytes > 2)
        out[2] = (uint8_t)(digits[2] << 6 | digits[3]);
    state->count = 0;
    return bytes;
}

uint32_t mime_decode_base64(struct mime_base64 *state, const uint8_t *in, uint32_t length, uint8_t *out, bool *invalid)
{
    uint32_t written = 0;

    for (uint32_t i = 0; i < length; i++) {
        int digit = digit_of(in[i]);

        if (digit >= 0) {
            state->digits[state->count++] = (uint8_t)digit;
            if (state->count == 4)
                written += decode_group(state, out + written);
        } else if (in[i] == '=') {
            written += decode_group(state, out + written);
        } else if (in[i] != ' ' && in[i] != '\t' && in[i] != '\r') {
            *invalid = true;
        }
    }
    return written;
}

uint32_t mime_finish_base64(struct mime_base64 *state, uint8_t *out)
{
    return decode_group(state, out);
}

static int hex_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes a complete escape sequence; returns the number of bytes. Like receivers, copies an invalid one unchanged. */
static uint32_t decode_escape(const uint8_t *bytes, uint8_t *out, bool *invalid)
{
    int high = hex_of(bytes[0]), low = hex_of(bytes[1]);

    if (high >= 0 && low >= 0) {
        *out = (uint8_t)(high << 4 | low);
        return 1;
    }
    *invalid = true;
    out[0] = '=';
    out[1] = bytes[0];
    out[2] = bytes[1];
    return 3;
}

/* Whether only blanks follow, so that the `=` before them is a soft break (RFC 2045 6.7, rule 3). */
static bool only_blanks(const uint8_t *in, uint32_t length)
{
    while (length > 0 && (*in == ' ' || *in == '\t' || *in == '\r'))
        in++, length--;
    return length == 0;
}

/* state->count: 0 in text, 1 after `=`, 2 after its first digit, which is in bytes[0]. */
uint32_t mime_decode_quoted(struct mime_quoted *state, const uint8_t *in, uint32_t length, bool ends, uint8_t *out,
                            bool *soft, bool *invalid)
{
    uint32_t written = 0;

    *soft = false;
    for (uint32_t i = 0; i < length; i++) {
        if (state->count == 0 && in[i] != '=') {
            out[written++] = in[i];
        } else if (state->count == 0) {
            state->count = 1;
            if (ends && i + 1 < length && only_blanks(in + i + 1, length - i - 1))
                break;
        } else if (state->count == 1 && in[i] == '\r') {
            state->count = 0; /* a soft line break for receivers that accept a bare CR as line end */
        } else if (in[i] == '=') {
            /* The previous escape is invalid; this `=` may start another one. */
            *invalid = true;
            out[written++] = '=';
            if (state->count == 2)
                out[written++] = state->bytes[0];
            state->count = 1;
        } else if (state->count == 1) {
            state->bytes[0] = in[i];
            state->count = 2;
        } else {
            state->bytes[1] = in[i];
            written += decode_escape(state->bytes, out + written, invalid);
            state->count = 0;
        }
    }
    if (!ends)
        return written;
    *soft = state->count == 1;
    if (state->count == 2) {
        *invalid = true;
        out[written++] = '=';
        out[written++] = state->bytes[0];
    }
    state->count = 0;
    return written;
}

/* --- Uuencode ------------------------------------------------------------------------------------- */

enum { UU_MODE_MAX = 7, UU_LINE_MAX = 63 };

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

const uint8_t *mime_uuencode_begin(const uint8_t *line, uint32_t length, uint32_t *name_length)
{
    uint32_t at = 5, digits = 0;

    if (length < 9 || !mime_equal_nocase(line, 5, "begin") || !is_blank(line[5]))
        return NULL;
    while (at < length && is_blank(line[at]))
        at++;
    for (; at < length && line[at] >= '0' && line[at] <= '7' && digits < UU_MODE_MAX; digits++)
        at++;
    if (digits == 0 || at == length || !is_blank(line[at]))
        return NULL;
    while (at < length && is_blank(line[at]))
        at++;
    *name_length = length - at;
    return at < length ? line + at : NULL;
}

/* Trailing blanks may be lost in transit: missing characters count as zeros. */
uint32_t mime_decode_uuencode(const uint8_t *line, uint32_t length, uint8_t *out)
{
    uint32_t size = length > 0 ? (uint32_t)(line[0] - ' ') & UU_LINE_MAX : 0, written = 0;

    for (uint32_t at = 1; written < size; at += 4) {
        uint32_t group = 0;

        for (uint32_t i = at; i < at + 4; i++)
            group = group << 6 | (i < length ? (uint32_t)(line[i] - ' ') & UU_LINE_MAX : 0);
        for (int shift = 16; shift >= 0 && written < size; shift -= 8)
            out[written++] = (uint8_t)(group >> shift);
    }
    return written;
}
