/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Content encodings: a chain of decoders, the last encoding of the header first, whose end is the body.
 *
 * gzip and deflate are told apart by their bytes, not by the header's word, as browsers do. A gzip's own header is read here and its checksum is
 * not: zlib would refuse what browsers show. Bytes that are not encoded at all go through as they are, if that shows before anything
 * was decoded.
 *
 * Bombs: the body has its limit, and decoding ends there. What passes between two decoders is limited too.
 *
 * Ownership: the libraries take their memory from the worker's heap.
 */
#include "http_priv.h"

#include <brotli/decode.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* memory of our own */
#include <zstd.h>

enum {
    OUTPUT_SIZE = 16 << 10,
    BOMB_RATIO = 2048,
    FIRST_BYTES = 1024, /* kept to go through as they are */
    GUESS_BYTES = 512,
    PIECE = 256,          /* so many at a time before anything came out */
    ZSTD_WINDOW_LOG = 21, /* 2 MiB */
    GZIP_NAME_LIMIT = 4096,
};

enum coding { CODING_NONE, CODING_DEFLATE, CODING_BROTLI, CODING_ZSTD, CODING_LZMA };

/* Where a gzip is. */
enum gzip_step {
    GZIP_UNKNOWN, /* two bytes tell gzip, zlib and plain deflate apart */
    GZIP_FIXED,   /* the rest of the ten bytes */
    GZIP_EXTRA_LENGTH,
    GZIP_EXTRA,
    GZIP_NAME,
    GZIP_COMMENT,
    GZIP_CHECKSUM,
    GZIP_GUESS, /* it may be plain deflate, or not encoded at all: a part of it is tried */
    GZIP_DATA,
    GZIP_TRAILER,
    GZIP_NEXT, /* another member may follow */
};

struct http_decoder {
    struct http_decoder *next; /* gets what comes out; NULL: the body */
    struct heap *heap;
    enum coding coding;
    bool plain; /* what comes goes through */
    bool dead;  /* nothing more is decoded */
    bool started, is_gzip;
    uint8_t first[FIRST_BYTES]; /* what came before the first output */
    uint32_t first_length;
    uint64_t in, out;
    enum gzip_step step;
    uint32_t count; /* bytes within the step */
    uint8_t flags, two[2];
    uint32_t extra;
    z_stream zlib;
    BrotliDecoderState *brotli;
    ZSTD_DStream *zstd;
    lzma_stream lzma;
    lzma_allocator lzma_allocator;
};

/* --- Memory ------------------------------------------------------------------------------------------------------------------------------ */

static void *take(void *heap, size_t size)
{
    return size <= HEAP_OBJECT_MAX ? heap_take_raw(heap, size) : NULL;
}

static void give(void *heap, void *object)
{
    heap_give(heap, object);
}

static void *take_array(void *heap, unsigned count, unsigned size)
{
    return take(heap, (size_t)count * size);
}

static void *take_items(void *heap, size_t count, size_t size)
{
    return take(heap, count * size);
}

static bool start(struct http_decoder *d, const struct http_settings *settings)
{
    static const lzma_stream empty = LZMA_STREAM_INIT;

    d->started = true;
    switch (d->coding) {
    case CODING_DEFLATE:
        d->zlib = (z_stream){ .zalloc = take_array, .zfree = give, .opaque = d->heap };
        return inflateInit2(&d->zlib, -MAX_WBITS) == Z_OK;
    case CODING_BROTLI:
        d->brotli = BrotliDecoderCreateInstance(take, give, d->heap);
        return d->brotli;
    case CODING_ZSTD:
        d->zstd = ZSTD_createDStream_advanced((ZSTD_customMem){ take, give, d->heap });
        return d->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
    case CODING_LZMA:
        d->lzma = empty;
        d->lzma_allocator = (lzma_allocator){ take_items, give, d->heap };
        d->lzma.allocator = &d->lzma_allocator;
        return lzma_alone_decoder(&d->lzma, settings->lzma_memory) == LZMA_OK;
    case CODING_NONE:
        break;
    }
    return false;
}

static void stop(struct http_decoder *d)
{
    if (!d->started)
        return;
    if (d->coding == CODING_DEFLATE)
        inflateEnd(&d->zlib);
    else if (d->coding == CODING_LZMA)
        lzma_end(&d->lzma);
    BrotliDecoderDestroyInstance(d->brotli);
    ZSTD_freeDStream(d->zstd);
    d->brotli = NULL;
    d->zstd = NULL;
    d->started = false;
}

void http_decoder_free(struct heap *heap, struct http_decoder *decoder)
{
    while (decoder) {
        struct http_decoder *next = decoder->next;

        stop(decoder);
        heap_give(heap, decoder);
        decoder = next;
    }
}

/* --- Which --------------------------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum coding coding;
} codings[] = {
    { "gzip", CODING_DEFLATE },      { "x-gzip", CODING_DEFLATE }, { "deflate", CODING_DEFLATE },
    { "x-deflate", CODING_DEFLATE }, { "br", CODING_BROTLI },      { "zstd", CODING_ZSTD },
    { "lzma", CODING_LZMA },         { "inflate", CODING_NONE },   { "none", CODING_NONE },
    { "identity", CODING_NONE },
};

static enum coding coding_of(struct http_feed *f, struct http_tx *tx, const uint8_t *name, uint32_t length)
{
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        if (http_equal_nocase(name, length, codings[i].name))
            return codings[i].coding == CODING_LZMA && !f->settings->lzma ? CODING_NONE : codings[i].coding;
    }
    http_event(f, tx, HTTP_EVENT_ABNORMAL_CE_HEADER);
    return http_find_nocase(name, length, "gzip") || http_find_nocase(name, length, "deflate") ? CODING_DEFLATE
                                                                                               : CODING_NONE;
}

struct http_decoder *http_decoder_new(struct http_feed *f, struct http_tx *tx, const uint8_t *names, uint32_t length)
{
    struct http_decoder *chain = NULL;
    uint32_t layers = 0;

    for (uint32_t at = 0; at < length;) {
        uint32_t from = at;

        while (at < length && names[at] != ',' && !http_is_space(names[at]))
            at++;
        uint32_t size = at++ - from;

        if (size == 0)
            continue;
        if (++layers > f->settings->decoder_layers && f->settings->decoder_layers > 0) {
            http_event(f, tx, HTTP_EVENT_TOO_MANY_ENCODING_LAYERS);
            break;
        }
        enum coding coding = coding_of(f, tx, names + from, size);
        struct http_decoder *d = coding != CODING_NONE ? heap_take(app_heap(f->context), sizeof(*d)) : NULL;

        if (!d)
            continue;
        d->heap = app_heap(f->context);
        d->coding = coding;
        d->next = chain;
        chain = d;
    }
    return chain;
}

/* --- What comes out ----------------------------------------------------------------------------------------------------------------------- */

static void report_bomb(struct http_feed *f, struct http_tx *tx, struct http_decoder *d)
{
    http_event(f, tx, HTTP_EVENT_COMPRESSION_BOMB);
    http_event(f, tx, HTTP_EVENT_COMPRESSION_BOMB_LIMIT_REACHED);
    d->dead = true;
}

static void emit(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes, uint32_t length)
{
    const struct http_message *message = &tx->message[f->direction];
    uint32_t limit = f->settings->bomb_limit;

    if (length == 0)
        return;
    d->out += length;
    if (d->next) {
        http_decoder_feed(f, tx, d->next, bytes, length);
        d->dead |= d->next->dead;
    } else if (!http_body_decoded(f, tx, bytes, length)) {
        d->dead = true;
    }
    if (!d->dead && limit > 0 && d->out > limit && (d->next || d->out / BOMB_RATIO > message->wire_length))
        report_bomb(f, tx, d);
}

/* The bytes are not what they were said to be. */
static void fail(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, bool can_be_plain)
{
    http_event(f, tx, HTTP_EVENT_GZIP_DECOMPRESSION_FAILED);
    stop(d);
    if (!can_be_plain || d->out > 0 || d->in > FIRST_BYTES) {
        d->dead = true;
        return;
    }
    d->plain = true;
    emit(f, tx, d, d->first, d->first_length);
}

/* --- gzip, deflate --------------------------------------------------------------------------------------------------------------------------- */

enum { GZIP_HAS_CHECKSUM = 2, GZIP_HAS_EXTRA = 4, GZIP_HAS_NAME = 8, GZIP_HAS_COMMENT = 16 };

static void enter(struct http_decoder *d, enum gzip_step step)
{
    d->step = step;
    d->count = 0;
}

/* The next part of the header that this gzip has. */
static void next_part(struct http_decoder *d, enum gzip_step after)
{
    if (after < GZIP_EXTRA_LENGTH && d->flags & GZIP_HAS_EXTRA)
        enter(d, GZIP_EXTRA_LENGTH);
    else if (after < GZIP_NAME && d->flags & GZIP_HAS_NAME)
        enter(d, GZIP_NAME);
    else if (after < GZIP_COMMENT && d->flags & GZIP_HAS_COMMENT)
        enter(d, GZIP_COMMENT);
    else if (after < GZIP_CHECKSUM && d->flags & GZIP_HAS_CHECKSUM)
        enter(d, GZIP_CHECKSUM);
    else
        enter(d, GZIP_DATA);
}

/* Two bytes at the start. */
static void judge_start(struct http_decoder *d)
{
    if (d->two[0] == 0x1f && d->two[1] == 0x8b) {
        d->is_gzip = true;
        d->step = GZIP_FIXED;
    } else if ((d->two[0] & 0x0f) == Z_DEFLATED && (d->two[0] << 8 | d->two[1]) % 31 == 0) {
        enter(d, GZIP_DATA); /* zlib's two bytes */
    } else {
        enter(d, GZIP_GUESS);
    }
}

static bool inflate_some(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                         uint32_t length, uint32_t *used)
{
    uint8_t output[OUTPUT_SIZE];
    int status = Z_OK;

    d->zlib.next_in = (Bytef *)bytes;
    d->zlib.avail_in = length;
    do {
        d->zlib.next_out = output;
        d->zlib.avail_out = sizeof(output);
        status = inflate(&d->zlib, Z_SYNC_FLUSH);
        emit(f, tx, d, output, (uint32_t)sizeof(output) - d->zlib.avail_out);
    } while (status == Z_OK && !d->dead && d->zlib.avail_out == 0);
    *used = length - d->zlib.avail_in;
    if (status == Z_STREAM_END) {
        enter(d, GZIP_TRAILER);
        return true;
    }
    return status == Z_OK || status == Z_BUF_ERROR;
}

/* A byte of what surrounds the data. */
static void take_gzip_byte(struct http_decoder *d, uint8_t byte)
{
    d->count++;
    switch (d->step) {
    case GZIP_FIXED: /* counted with the two bytes before */
        if (d->count == 4)
            d->flags = byte;
        if (d->count == 10)
            next_part(d, GZIP_FIXED);
        break;
    case GZIP_EXTRA_LENGTH:
        d->extra = d->count == 1 ? byte : d->extra | (uint32_t)byte << 8;
        if (d->count == 2) {
            if (d->extra > 0)
                enter(d, GZIP_EXTRA);
            else
                next_part(d, GZIP_EXTRA);
        }
        break;
    case GZIP_EXTRA:
        if (d->count == d->extra)
            next_part(d, GZIP_EXTRA);
        break;
    case GZIP_NAME:
    case GZIP_COMMENT:
        if (byte == 0 || d->count == GZIP_NAME_LIMIT)
            next_part(d, d->step);
        break;
    case GZIP_CHECKSUM:
        if (d->count == 2)
            enter(d, GZIP_DATA);
        break;
    case GZIP_TRAILER:
        if (d->count == 8)
            enter(d, GZIP_NEXT);
        break;
    default:
        break;
    }
}

/* What follows a member: another one, or nothing. */
static void take_next_byte(struct http_decoder *d, uint8_t byte)
{
    d->two[d->count++] = byte;
    if (d->count < 2)
        return;
    if (d->two[0] != 0x1f || d->two[1] != 0x8b || inflateReset(&d->zlib) != Z_OK)
        d->dead = true;
    else
        d->step = GZIP_FIXED;
}

/* Whether the first bytes can be plain deflate. */
static bool try_deflate(struct http_decoder *d)
{
    uint32_t length = d->first_length < GUESS_BYTES ? d->first_length : GUESS_BYTES;
    uint8_t output[OUTPUT_SIZE];
    int status;

    d->zlib.next_in = d->first;
    d->zlib.avail_in = length;
    do {
        d->zlib.next_out = output;
        d->zlib.avail_out = sizeof(output);
        status = inflate(&d->zlib, Z_SYNC_FLUSH);
    } while (status == Z_OK && d->zlib.avail_out == 0);
    return (status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END) && inflateReset(&d->zlib) == Z_OK;
}

static void judge_guess(struct http_feed *f, struct http_tx *tx, struct http_decoder *d)
{
    uint32_t used;

    enter(d, GZIP_DATA);
    if (!try_deflate(d) || !inflate_some(f, tx, d, d->first, d->first_length, &used))
        fail(f, tx, d, true);
}

static void decode_deflate(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                           uint32_t length)
{
    uint32_t at = 0;

    while (at < length && !d->dead && !d->plain) {
        uint32_t used;

        if (d->step == GZIP_DATA) {
            if (!inflate_some(f, tx, d, bytes + at, length - at, &used)) {
                fail(f, tx, d, !d->is_gzip);
                return;
            }
            at += used;
            if (used == 0 && d->step == GZIP_DATA)
                return;
        } else if (d->step == GZIP_UNKNOWN) {
            d->two[d->count++] = bytes[at++];
            if (d->count == 2)
                judge_start(d);
        } else if (d->step == GZIP_GUESS) { /* all that came is in d->first */
            if (d->first_length >= GUESS_BYTES)
                judge_guess(f, tx, d);
            return;
        } else if (!d->is_gzip) {
            d->dead = true; /* behind the end of plain deflate nothing counts */
        } else if (d->step == GZIP_NEXT) {
            take_next_byte(d, bytes[at++]);
        } else {
            take_gzip_byte(d, bytes[at++]);
        }
    }
}

/* --- br, zstd, lzma ----------------------------------------------------------------------------------------------------------------------------- */

static void decode_brotli(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                          uint32_t length)
{
    size_t left = length;
    BrotliDecoderResult result;

    do {
        uint8_t output[OUTPUT_SIZE], *to = output;
        size_t room = sizeof(output);

        result = BrotliDecoderDecompressStream(d->brotli, &left, &bytes, &room, &to, NULL);
        emit(f, tx, d, output, (uint32_t)(sizeof(output) - room));
    } while (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT && !d->dead);
    if (result == BROTLI_DECODER_RESULT_ERROR)
        fail(f, tx, d, true);
    else if (result == BROTLI_DECODER_RESULT_SUCCESS)
        d->dead = true;
}

static void decode_zstd(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                        uint32_t length)
{
    ZSTD_inBuffer in = { .src = bytes, .size = length };
    bool full;

    do {
        uint8_t output[OUTPUT_SIZE];
        ZSTD_outBuffer out = { .dst = output, .size = sizeof(output) };
        size_t before = in.pos, status = ZSTD_decompressStream(d->zstd, &out, &in);

        emit(f, tx, d, output, (uint32_t)out.pos);
        if (ZSTD_isError(status)) {
            fail(f, tx, d, true);
            return;
        }
        full = out.pos == out.size;
        if (!full && in.pos == before)
            return;
    } while (!d->dead && (full || in.pos < in.size));
}

static void decode_lzma(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                        uint32_t length)
{
    lzma_ret status;

    d->lzma.next_in = bytes;
    d->lzma.avail_in = length;
    do {
        uint8_t output[OUTPUT_SIZE];

        d->lzma.next_out = output;
        d->lzma.avail_out = sizeof(output);
        status = lzma_code(&d->lzma, LZMA_RUN);
        emit(f, tx, d, output, (uint32_t)(sizeof(output) - d->lzma.avail_out));
    } while (status == LZMA_OK && !d->dead && d->lzma.avail_out == 0);
    if (status == LZMA_MEMLIMIT_ERROR || status == LZMA_MEM_ERROR) {
        http_event(f, tx, HTTP_EVENT_LZMA_MEMLIMIT_REACHED);
        d->dead = true;
    } else if (status == LZMA_STREAM_END) {
        d->dead = true;
    } else if (status != LZMA_OK && status != LZMA_BUF_ERROR) {
        fail(f, tx, d, true);
    }
}

/* --- Feeding -------------------------------------------------------------------------------------------------------------------------------------- */

static void remember_first(struct http_decoder *d, const uint8_t *bytes, uint32_t length)
{
    uint32_t room = FIRST_BYTES - d->first_length;

    d->in += length;
    if (d->out > 0)
        return;
    if (length > room)
        length = room;
    memcpy(d->first + d->first_length, bytes, length);
    d->first_length += length;
}

void http_decoder_feed(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder, const uint8_t *bytes,
                       uint32_t length)
{
    static void (*const decode[])(struct http_feed *, struct http_tx *, struct http_decoder *, const uint8_t *,
                                  uint32_t) = {
        [CODING_DEFLATE] = decode_deflate,
        [CODING_BROTLI] = decode_brotli,
        [CODING_ZSTD] = decode_zstd,
        [CODING_LZMA] = decode_lzma,
    };

    if (decoder->dead)
        return;
    if (decoder->plain) {
        emit(f, tx, decoder, bytes, length);
        return;
    }
    if (!decoder->started && !start(decoder, f->settings)) {
        decoder->dead = true;
        return;
    }
    /* Pieces, so that what was seen before the first output does not depend on how the bytes came. */
    for (uint32_t at = 0; at < length && !decoder->dead;) {
        uint32_t size = decoder->out == 0 && !decoder->plain && length - at > PIECE ? PIECE : length - at;

        if (decoder->plain) {
            emit(f, tx, decoder, bytes + at, size);
        } else {
            remember_first(decoder, bytes + at, size);
            decode[decoder->coding](f, tx, decoder, bytes + at, size);
        }
        at += size;
    }
}

void http_decoder_finish(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder)
{
    for (; decoder; decoder = decoder->next) {
        if (decoder->coding != CODING_DEFLATE || decoder->dead || !decoder->started)
            continue;
        if (decoder->step == GZIP_GUESS)
            judge_guess(f, tx, decoder);
        else if (decoder->step == GZIP_UNKNOWN)
            fail(f, tx, decoder, true);
    }
}
