/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incremental decoder of quoted-printable (RFC 2045 6.7), and decoder of uuencoded lines. */
#include "mime.h"
#include "sluice/hex.h"

/* Decodes the two digits of an escape sequence and returns the number of bytes written. Copies an invalid sequence
 * unchanged, like mail receivers. */
static uint32_t decode_escape(const uint8_t *bytes, uint8_t *out, bool *invalid)
{
    if (hex_byte(bytes, out))
        return 1;
    *invalid = true;
    out[0] = '=';
    out[1] = bytes[0];
    out[2] = bytes[1];
    return 3;
}

/* Whether all bytes are blanks. `=` followed by blanks is a soft line break (RFC 2045 6.7, rule 3). */
static bool only_blanks(const uint8_t *in, uint32_t length)
{
    while (length > 0 && (*in == ' ' || *in == '\t' || *in == '\r'))
        in++, length--;
    return length == 0;
}

/* state->count: 0 in text, 1 after `=`, 2 after `=` and the digit in bytes[0]. */
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
            state->count = 0; /* `=` CR: a soft line break for receivers that accept a bare CR as line end */
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

/* Missing characters at the end of a line count as blanks, that is zeros: mail servers may remove trailing blanks. */
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
