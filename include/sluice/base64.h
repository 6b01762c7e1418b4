/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Base64 (RFC 4648 §4): one alphabet, one encoder, and decoders for whole texts and for streams.
 *
 * Receivers differ in what they do with other characters, padding and an incomplete last group. A caller names the
 * rules; there is no default.
 */
#ifndef SLUICE_BASE64_H
#define SLUICE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rules for a whole text. */
enum base64_mode {
    BASE64_RFC4648, /* stops at the first other character; an incomplete group is decoded */
    BASE64_RFC2045, /* skips other characters; an incomplete group is ignored */
    BASE64_STRICT,  /* complete groups with correct padding and zero bits below it, or nothing */
    BASE64_PADDED,  /* as strict, but ignores the bits below the padding */
};

/* Maximum number of bytes decoded from this many characters. */
static inline uint32_t base64_decoded_size(uint32_t length)
{
    return length / 4 * 3 + 3;
}

/* Decodes into `out`, which must have room for the maximum; returns the number of bytes. In modes STRICT and PADDED no
 * more than 3 bytes for each 4 characters are written, less one for each `=` at the end. */
uint32_t base64_decode(const void *text, uint32_t length, enum base64_mode mode, uint8_t *out);

/* Decoder for a text that arrives in pieces. A `=` ends a group at any place, and a new group may follow it: mail
 * readers decode joined texts. All zero: initial state. */
struct base64_stream {
    uint8_t values[4], count; /* of the current group: values below 64 */
};

/* Decodes the next piece into at most base64_decoded_size(length) bytes; returns their number. Skips other characters
 * and sets *invalid, except for spaces, tabs and CRs. */
uint32_t base64_stream_decode(struct base64_stream *stream, const uint8_t *text, uint32_t length, uint8_t *out,
                              bool *invalid);
/* Decodes the incomplete group at the end of the text to at most 2 bytes; returns their number. */
uint32_t base64_stream_finish(struct base64_stream *stream, uint8_t *out);

/* Number of characters for this many bytes, with padding. */
static inline size_t base64_encoded_size(size_t length)
{
    return (length + 2) / 3 * 4;
}

/* Writes base64_encoded_size(length) characters, no NUL. */
void base64_encode(const void *bytes, size_t length, char *out);

#endif
