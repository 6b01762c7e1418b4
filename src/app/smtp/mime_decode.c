/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two encodings of parts: base64 (RFC 2045 6.8) and quoted-printable (6.7), in pieces. */
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

/* `count` digits of four as bytes. */
static uint32_t flush(struct mime_base64 *state, uint8_t *out)
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
    uint32_t made = 0;

    for (uint32_t i = 0; i < length; i++) {
        int digit = digit_of(in[i]);

        if (digit >= 0) {
            state->digits[state->count++] = (uint8_t)digit;
            if (state->count == 4)
                made += flush(state, out + made);
        } else if (in[i] == '=') {
            made += flush(state, out + made);
        } else if (in[i] != ' ' && in[i] != '\t' && in[i] != '\r') {
            *invalid = true;
        }
    }
    return made;
}

uint32_t mime_finish_base64(struct mime_base64 *state, uint8_t *out)
{
    return flush(state, out);
}

static int hex_of(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* An escape that is there in full; how many bytes it gives. One that is broken stands for nothing. */
static uint32_t escape(const uint8_t *bytes, uint8_t *out, bool *invalid)
{
    int high = hex_of(bytes[0]), low = hex_of(bytes[1]);

    if (high < 0 || low < 0) {
        *invalid = true;
        return 0;
    }
    *out = (uint8_t)(high << 4 | low);
    return 1;
}

/* state->count: 0 in text, 1 behind the `=`, 2 behind its first digit, which is bytes[0]. */
uint32_t mime_decode_quoted(struct mime_quoted *state, const uint8_t *in, uint32_t length, bool ends, uint8_t *out,
                            bool *soft, bool *invalid)
{
    uint32_t made = 0;

    *soft = false;
    for (uint32_t i = 0; i < length; i++) {
        if (state->count == 0 && in[i] != '=') {
            out[made++] = in[i];
        } else if (state->count < 2) {
            if (state->count == 1)
                state->bytes[0] = in[i];
            state->count++;
        } else {
            state->bytes[1] = in[i];
            made += escape(state->bytes, out + made, invalid);
            state->count = 0;
        }
    }
    if (!ends)
        return made;
    *soft = state->count == 1;
    *invalid |= state->count == 2;
    state->count = 0;
    return made;
}
