/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompression of WebSocket messages (permessage-deflate, RFC 7692).
 *
 * Bounds: a message is decompressed to at most OUTPUT_MAX bytes, of which max-payload-size bytes are kept. After the
 * limit, or after invalid data, the window is unknown; the next message is decompressed with an empty one, which is
 * correct if its sender does not refer to earlier messages.
 *
 * A message that is invalid before its first decompressed byte is inspected as it is: the bit that marks a compressed
 * message may be used by another extension, or without any.
 */
#include <errno.h>

#include "sluice/transfer.h"
#include "websocket_priv.h"

enum {
    OUTPUT_MAX = 4 << 20,
    PIECE = 4096,  /* bytes of output per call of the library */
    RAW_MAX = 512, /* stored bytes before the first output; a block header with its code lengths has fewer */
    WINDOW_MAX = 32768,
};

static void *alloc_array(void *heap, unsigned count, unsigned size)
{
    return heap_alloc_uncleared(heap, (size_t)count * size);
}

static void free_memory(void *heap, void *object)
{
    heap_release(heap, object);
}

int websocket_inflate_start(struct heap *heap, struct websocket_inflate *stream)
{
    stream->output = 0;
    buffer_clear(heap, &stream->raw);
    if (!stream->is_started) {
        stream->zlib = (z_stream){ .zalloc = alloc_array, .zfree = free_memory, .opaque = heap };
        stream->is_started = inflateInit2(&stream->zlib, -MAX_WBITS) == Z_OK;
    } else if (stream->has_lost) {
        inflateReset(&stream->zlib);
    }
    stream->has_lost = false;
    return stream->is_started ? 0 : -ENOMEM;
}

int websocket_append(struct heap *heap, struct buffer *out, const uint8_t *bytes, uint32_t length, uint32_t limit)
{
    uint32_t room = limit > out->length ? limit - out->length : 0, kept = length < room ? length : room;

    if (buffer_append(heap, out, bytes, kept, limit) < kept)
        return -ENOMEM;
    return kept < length ? WEBSOCKET_CUT : 0;
}

static int give_up(struct heap *heap, struct websocket_inflate *stream, struct buffer *out, uint32_t limit)
{
    int result = 0;

    if (stream->output == 0)
        result = websocket_append(heap, out, stream->raw.bytes, stream->raw.length, limit);
    buffer_clear(heap, &stream->raw);
    stream->has_lost = true;
    return result < 0 ? result : result | WEBSOCKET_INVALID;
}

static int decompress(struct heap *heap, struct websocket_inflate *stream, const uint8_t *bytes, uint32_t length,
                      struct buffer *out, uint32_t limit)
{
    z_stream *zlib = &stream->zlib;
    uint8_t piece[PIECE];
    int result = 0;

    zlib->next_in = (Bytef *)bytes;
    zlib->avail_in = length;
    do {
        zlib->next_out = piece;
        zlib->avail_out = sizeof(piece);

        int status = inflate(zlib, Z_SYNC_FLUSH), appended = 0;
        uint32_t got = (uint32_t)sizeof(piece) - zlib->avail_out;

        stream->output += got;
        if (got > 0) {
            appended = websocket_append(heap, out, piece, got, limit);
            buffer_clear(heap, &stream->raw);
        }
        if (appended < 0 || status == Z_MEM_ERROR)
            return -ENOMEM;
        result |= appended;
        /* A message may consist of several streams, of which each ends with a final block (RFC 7692 7.2.3.5). The next
         * one may refer to the previous one, so the window is kept. */
        if (status == Z_STREAM_END)
            status = inflateResetKeep(zlib);
        if (status == Z_BUF_ERROR) /* more input is needed */
            break;
        if (status != Z_OK || stream->output > OUTPUT_MAX) {
            int given_up = give_up(heap, stream, out, limit);

            return given_up < 0 ? given_up : result | given_up;
        }
    } while (zlib->avail_in > 0 || zlib->avail_out == 0);
    return result;
}

int websocket_inflate_feed(struct heap *heap, struct websocket_inflate *stream, const uint8_t *bytes, uint32_t length,
                           struct buffer *out, uint32_t limit)
{
    int result = 0;

    for (uint32_t at = 0, taken; at < length; at += taken) {
        int got;

        /* Single bytes are decompressed until there is output, so that the output at an error does not depend on the
         * segmentation of the stream. */
        taken = stream->output == 0 && !stream->has_lost ? 1 : length - at;
        if (stream->has_lost) {
            got = stream->output > 0 ? 0 : websocket_append(heap, out, bytes + at, taken, limit);
        } else if (stream->output > 0) {
            got = decompress(heap, stream, bytes + at, taken, out, limit);
        } else {
            if (buffer_append(heap, &stream->raw, bytes + at, taken, RAW_MAX + 1) < taken)
                return -ENOMEM;
            got = stream->raw.length > RAW_MAX ? give_up(heap, stream, out, limit)
                                               : decompress(heap, stream, bytes + at, taken, out, limit);
        }
        if (got < 0)
            return got;
        result |= got;
    }
    return result;
}

int websocket_inflate_end(struct heap *heap, struct websocket_inflate *stream, struct buffer *out, uint32_t limit)
{
    static const uint8_t omitted[] = { 0, 0, 0xff, 0xff };
    int result = stream->has_lost ? 0 : decompress(heap, stream, omitted, sizeof(omitted), out, limit);

    buffer_clear(heap, &stream->raw);
    return result;
}

void websocket_inflate_clear(struct heap *heap, struct websocket_inflate *stream)
{
    if (stream->is_started)
        inflateEnd(&stream->zlib);
    buffer_clear(heap, &stream->raw);
    stream->is_started = false;
}

void websocket_inflate_transfer(struct app_context *context, struct transfer *t, struct websocket_inflate *stream,
                                bool within_message)
{
    uint8_t window[WINDOW_MAX];
    uInt size = 0;
    uint32_t length;
    const uint8_t *lent;

    if (!t->reading && stream->is_started && !stream->has_lost && !within_message)
        inflateGetDictionary(&stream->zlib, window, &size);
    length = size;
    transfer_u32(t, &length);
    transfer_require(t, length <= WINDOW_MAX);
    if (!t->reading) {
        transfer_bytes(t, window, length);
        return;
    }
    lent = t->error || length == 0 ? NULL : transfer_lend(t, length);
    if (t->error || (!lent && !within_message))
        return;
    if (websocket_inflate_start(app_heap(context), stream)) {
        t->error = -ENOMEM;
        return;
    }
    if (lent)
        inflateSetDictionary(&stream->zlib, lent, length);
    stream->has_lost = within_message;
    stream->output = within_message; /* the rest of the message is not inspected as it is */
}
