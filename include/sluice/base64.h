/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Base64 (RFC 4648 §4): one alphabet, one encoder, and decoders for whole texts and for streams.
 *
 * Receivers differ in what they do with characters outside of the alphabet ("other characters" below), with padding,
 * and with an incomplete last group of four characters. The caller selects the rules by a mode; there is no default.
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
    BASE64_STRICT,  /* decodes nothing unless all groups are complete, the padding is correct, and the bits that it
                       leaves unused are 0 */
    BASE64_PADDED,  /* as BASE64_STRICT, but the unused bits may have any value */
};

/* Returns the maximum number of bytes that `length` characters decode to. */
static inline uint32_t base64_decoded_size(uint32_t length)
{
    return length / 4 * 3 + 3;
}

/* Decodes into `out`, which must have room for base64_decoded_size(length) bytes; returns the number of bytes. In modes
 * STRICT and PADDED less room is sufficient: no more than 3 bytes for each 4 characters are written, less one for each
 * `=` at the end. */
uint32_t base64_decode(const void *text, uint32_t length, enum base64_mode mode, uint8_t *out);

/* Decoder for a text that arrives in pieces. A `=` ends a group at any place, and a new group may follow it, because
 * mail readers decode concatenated Base64 texts. The initial state is all zero. */
struct base64_stream {
    uint8_t values[4], count; /* the characters of the incomplete group as values below 64, and their number */
};

/* Decodes the next piece into at most base64_decoded_size(length) bytes; returns their number. Characters
 * that are not Base64 are skipped; they set *invalid, except for spaces, tabs and CRs. */
uint32_t base64_stream_decode(struct base64_stream *stream, const uint8_t *text, uint32_t length, uint8_t *out,
                              bool *invalid);
/* Decodes the incomplete group at the end of the text to at most 2 bytes; returns their number. */
uint32_t base64_stream_finish(struct base64_stream *stream, uint8_t *out);

/* Returns the number of characters that encode `length` bytes, including padding. */
static inline size_t base64_encoded_size(size_t length)
{
    return (length + 2) / 3 * 4;
}

/* Writes base64_encoded_size(length) characters, no NUL. */
void base64_encode(const void *bytes, size_t length, char *out);

#endif
