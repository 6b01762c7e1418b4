/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Header compression of HTTP/2 (HPACK, RFC 7541): the decoder of one direction.
 *
 * Decoded fields are appended to a buffer as "name: value" CRLF, so that the buffer can be searched as a block of
 * header lines. Fields refer to it by offset, because it moves when it grows.
 *
 * Bounds: the dynamic table has at most `limit_max` bytes as counted by RFC 7541, and its memory is at most twice that
 * plus 12 bytes for each 32 bytes. The decoded text of a block is limited by the caller.
 *
 * Ownership: the table is allocated from the worker's heap; hpack_clear() frees it.
 */
#ifndef SLUICE_APP_HTTP2_HPACK_H
#define SLUICE_APP_HTTP2_HPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/bytes.h"
#include "sluice/heap.h"

#include "app/http/message.h"

struct transfer;

enum {
    HPACK_ENTRY_OVERHEAD = 32,   /* bytes that an entry adds to the size of the table besides its text */
    HPACK_DEFAULT_LIMIT = 4096,  /* bytes of the dynamic table before the first size update */
    HPACK_STATIC_COUNT = 61,     /* entries of the static table */
    HPACK_NAME_MAX = 60000,      /* bytes of a name; a longer one is invalid */
    HPACK_STRING_MAX = 512 << 10 /* bytes of a string before decoding; a longer one is invalid */
};

struct hpack {
    struct buffer text, entries;      /* entries: array of struct hpack_entry, oldest first */
    uint32_t first_byte, first_entry; /* the oldest entry that has not been evicted */
    uint32_t base;                    /* position of text.bytes[0]; positions wrap at 2^32 */
    uint32_t size;                    /* bytes of the entries, as counted by RFC 7541 */
    uint32_t limit, limit_max;        /* limit: set by size updates, at most limit_max */
};

enum hpack_result {
    HPACK_END,         /* the block is complete */
    HPACK_FIELD,       /* *out is a field */
    HPACK_SIZE_UPDATE, /* *value is the new limit of the table */
    /* The field is omitted, and the next one can be decoded: */
    HPACK_INVALID_INDEX,
    HPACK_INVALID_STRING, /* Huffman code or length */
    /* The rest of the block cannot be decoded: */
    HPACK_INTEGER_OVERFLOW,
    HPACK_TRUNCATED,
    HPACK_SIZE_EXCESSIVE, /* a size update above limit_max */
    HPACK_TEXT_LIMIT,     /* the decoded text exceeds text_limit */
    HPACK_NO_MEMORY,
};

void hpack_init(struct hpack *hpack, uint32_t limit_max);
void hpack_clear(struct heap *heap, struct hpack *hpack);
/* Decodes the next field of a block and appends its text to *text, which has at most text_limit bytes. */
enum hpack_result hpack_next(struct hpack *hpack, struct heap *heap, struct cursor *block, struct buffer *text,
                             uint32_t text_limit, struct http_field *out, uint32_t *value);
/* Decodes a string in Huffman code and appends it to *out. Returns false if the code is invalid; *out is then as
 * before, except without memory or beyond `limit`, when *full is set. */
bool hpack_decode_huffman(struct heap *heap, const uint8_t *bytes, uint32_t length, struct buffer *out, uint32_t limit,
                          bool *full);
/* Writes the state for another process, or reads it. `text` and `entries` must be transferred before. */
void hpack_transfer(struct transfer *t, struct hpack *hpack);

#endif
