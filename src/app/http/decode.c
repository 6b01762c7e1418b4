/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Content encodings: a chain of decoders. The first one decodes the last encoding in the header; the last one of the
 * chain outputs the body.
 *
 * gzip and deflate are distinguished by their bytes, not by the header value, as in browsers. The gzip header is parsed
 * here and the checksum ignored, because zlib rejects streams that browsers display. Bytes that cannot be decoded, and
 * bytes after the end of the stream, are passed through, because clients that do not decode (Python's urllib, wget,
 * curl without --compressed) deliver them.
 *
 * The LZMA dictionary has at most the configured size. A stream whose header announces a larger one is decoded up to
 * the first reference beyond that size.
 *
 * Compression bombs: decoding stops at the body limit, and the output of each decoder in the chain is limited, too.
 *
 * Ownership: the libraries allocate from the worker's heap.
 */
#include "http_priv.h"

#include <brotli/decode.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* custom memory functions */
#include <zstd.h>

enum {
    OUTPUT_SIZE = 16 << 10, /* output bytes of one library call */
    BOMB_RATIO = 2048,  /* limit of output bytes per received byte: the last decoder stops after bomb_limit bytes only
                           above this ratio; the other decoders always stop after bomb_limit bytes */
    FIRST_BYTES = 1024, /* input bytes kept, to be passed through if decoding fails */
    GUESS_BYTES = 512,  /* input bytes after which raw deflate must be recognised */
    TEXT_DECODED_MAX = 64,     /* plain text may decode to some bytes by chance: up to this number is ignored */
    PIECE = 256,               /* input bytes decoded at a time before the first output */
    BROTLI_PIECE = 32,         /* bytes that brotli decodes at a time */
    ZLIB_CHECKSUM = 4,         /* bytes after the deflate data */
    ZSTD_WINDOW_LOG = 21,      /* log2 of the maximum window size: streams with a window above 2 MiB are not decoded */
    LZMA_HEADER = 13,          /* bytes: properties, size of the dictionary, size of the content */
    LZMA_OVERHEAD = 128 << 10, /* bytes of lzma_memory that a decoder needs besides the dictionary */
    LZMA_DICTIONARY_MIN = 4 << 10,
};

enum coding { CODING_NONE, CODING_DEFLATE, CODING_BROTLI, CODING_ZSTD, CODING_LZMA };

/* Position in a gzip stream. */
enum gzip_step {
    GZIP_UNKNOWN, /* the first two bytes distinguish gzip, zlib and raw deflate */
    GZIP_FIXED,   /* the rest of the ten bytes of fixed header */
    GZIP_EXTRA_LENGTH,
    GZIP_EXTRA,
    GZIP_NAME,
    GZIP_COMMENT,
    GZIP_CHECKSUM,
    GZIP_GUESS, /* raw deflate, or not encoded: the first bytes are decoded to find out */
    GZIP_DATA,
    GZIP_TRAILER,
    GZIP_NEXT, /* between members: another member may follow */
};

struct http_decoder {
    struct http_decoder *next; /* decodes the output; NULL: the output is the body */
    struct heap *heap;
    enum coding coding;
    bool plain; /* decoding has ended; bytes are passed through */
    bool dead;  /* decoding has stopped; bytes are discarded */
    bool started, is_gzip, is_zlib;
    uint8_t first[FIRST_BYTES]; /* input bytes before the first output */
    uint32_t first_length;
    uint64_t in, out; /* number of input and output bytes */
    enum gzip_step step;
    uint32_t count; /* number of bytes consumed in the current step */
    uint8_t flags;  /* FLG of the gzip header */
    uint8_t two[2]; /* first bytes of the stream or of the next member */
    uint32_t extra; /* length of the extra field */
    z_stream zlib;
    BrotliDecoderState *brotli;
    ZSTD_DStream *zstd;
    lzma_ret lzma_status; /* result of parsing the header */
    bool lzma_capped;     /* the dictionary is smaller than the header announces */
    uint8_t lzma_header[LZMA_HEADER];
    lzma_stream lzma;
    lzma_allocator lzma_allocator;
};

/* --- Memory --------------------------------------------------------------------------------------- */

static void *alloc_memory(void *heap, size_t size)
{
    return size <= HEAP_OBJECT_MAX ? heap_alloc_uncleared(heap, size) : NULL;
}

static void free_memory(void *heap, void *object)
{
    heap_release(heap, object);
}

static void *alloc_array(void *heap, unsigned count, unsigned size)
{
    return alloc_memory(heap, (size_t)count * size);
}

static void *alloc_items(void *heap, size_t count, size_t size)
{
    return alloc_memory(heap, count * size);
}

static bool start_decoder(struct http_decoder *d, const struct http_settings *settings)
{
    static const lzma_stream empty = LZMA_STREAM_INIT;

    d->started = true;
    switch (d->coding) {
    case CODING_DEFLATE:
        d->zlib = (z_stream){ .zalloc = alloc_array, .zfree = free_memory, .opaque = d->heap };
        return inflateInit2(&d->zlib, -MAX_WBITS) == Z_OK;
    case CODING_BROTLI:
        d->brotli = BrotliDecoderCreateInstance(alloc_memory, free_memory, d->heap);
        return d->brotli;
    case CODING_ZSTD:
        d->zstd = ZSTD_createDStream_advanced((ZSTD_customMem){ alloc_memory, free_memory, d->heap });
        return d->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
    case CODING_LZMA:
        d->lzma = empty;
        d->lzma_allocator = (lzma_allocator){ alloc_items, free_memory, d->heap };
        d->lzma.allocator = &d->lzma_allocator;
        return lzma_alone_decoder(&d->lzma, settings->lzma_memory) == LZMA_OK;
    case CODING_NONE:
        break;
    }
    return false;
}

static void stop_decoder(struct http_decoder *d)
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

        stop_decoder(decoder);
        heap_release(heap, decoder);
        decoder = next;
    }
}

/* --- Selection of decoders ----------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum coding coding;
} codings[] = {
    { "gzip", CODING_DEFLATE },      { "x-gzip", CODING_DEFLATE }, { "deflate", CODING_DEFLATE },
    { "x-deflate", CODING_DEFLATE }, { "br", CODING_BROTLI },      { "zstd", CODING_ZSTD },
    { "lzma", CODING_LZMA },         { "inflate", CODING_NONE },   { "none", CODING_NONE },
    { "identity", CODING_NONE },
};

static enum coding parse_coding(struct http_feed *f, struct http_tx *tx, const uint8_t *name, uint32_t length)
{
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        if (http_equal_nocase(name, length, codings[i].name))
            return codings[i].coding == CODING_LZMA && !f->settings->lzma ? CODING_NONE : codings[i].coding;
    }
    http_event(f, tx, HTTP_EVENT_ABNORMAL_CE_HEADER);
    return http_find_nocase(name, length, "gzip") || http_find_nocase(name, length, "deflate") ? CODING_DEFLATE
                                                                                               : CODING_NONE;
}

struct http_decoder *http_decoder_new(struct http_feed *f, struct http_tx *tx, const uint8_t *names, uint32_t length,
                                      struct http_decoder *next)
{
    struct http_decoder *chain = next;
    uint32_t layers = 0;
    bool is_list = false, has_undecoded_name = false;

    for (uint32_t at = 0; at < length;) {
        uint32_t from = at;

        while (at < length && names[at] != ',' && !http_is_space(names[at]))
            at++;
        uint32_t size = at - from;
        is_list |= at < length && names[at++] == ',';

        if (size == 0 || http_equal_nocase(names + from, size, "chunked"))
            continue;
        enum coding coding = parse_coding(f, tx, names + from, size);

        has_undecoded_name |= coding == CODING_NONE;
        if (coding != CODING_NONE && ++layers > f->settings->decoder_layers && f->settings->decoder_layers > 0) {
            http_event(f, tx, HTTP_EVENT_TOO_MANY_ENCODING_LAYERS);
            if (f->direction == FLOW_TO_CLIENT) /* clients may decode all encodings, or none */
                http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_RAW);
            break;
        }
        struct http_decoder *d = coding != CODING_NONE ? heap_alloc(app_heap(f->context), sizeof(*d)) : NULL;

        if (!d)
            continue;
        d->heap = app_heap(f->context);
        d->coding = coding;
        d->next = chain;
        chain = d;
    }
    /* Python's requests treats an unknown or empty name in a list as deflate, and delivers the body as received if it
     * is not valid deflate. */
    if (f->direction == FLOW_TO_CLIENT && layers == 1 && (has_undecoded_name || is_list))
        http_request_alternatives(f, 1 << HTTP_ALTERNATIVE_RAW);
    return chain;
}

/* --- Output -------------------------------------------------------------------------------------- */

static void output_bytes(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                         uint32_t length)
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
    if (!d->dead && limit > 0 && d->out > limit && (d->next || d->out / BOMB_RATIO > message->wire_length)) {
        http_event(f, tx, HTTP_EVENT_COMPRESSION_BOMB);
        http_event(f, tx, HTTP_EVENT_COMPRESSION_BOMB_LIMIT_REACHED);
        d->dead = true;
    }
}

/* Ends decoding: passes `bytes` and all following bytes through. */
static void pass_through(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                         uint32_t length)
{
    stop_decoder(d);
    if (d->dead)
        return;
    d->plain = true;
    output_bytes(f, tx, d, bytes, length);
}

/* Handles undecodable bytes. `rest`: the bytes from the error on. If there is no output so far, and at most FIRST_BYTES
 * of input, the body is passed through from its beginning. */
static void handle_decoding_error(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *rest,
                                  uint32_t length)
{
    http_event(f, tx, HTTP_EVENT_GZIP_DECOMPRESSION_FAILED);
    if (d->out == 0 && d->in <= FIRST_BYTES)
        pass_through(f, tx, d, d->first, d->first_length);
    else
        pass_through(f, tx, d, rest, length);
}

/* --- gzip, deflate -------------------------------------------------------------------------------- */

enum { GZIP_HAS_CHECKSUM = 2, GZIP_HAS_EXTRA = 4, GZIP_HAS_NAME = 8, GZIP_HAS_COMMENT = 16 };

static void set_step(struct http_decoder *d, enum gzip_step step)
{
    d->step = step;
    d->count = 0;
}

/* Continues with the next optional field of the gzip header (RFC 1952), or with the data. */
static void enter_next_field(struct http_decoder *d, enum gzip_step after)
{
    if (after < GZIP_EXTRA_LENGTH && d->flags & GZIP_HAS_EXTRA)
        set_step(d, GZIP_EXTRA_LENGTH);
    else if (after < GZIP_NAME && d->flags & GZIP_HAS_NAME)
        set_step(d, GZIP_NAME);
    else if (after < GZIP_COMMENT && d->flags & GZIP_HAS_COMMENT)
        set_step(d, GZIP_COMMENT);
    else if (after < GZIP_CHECKSUM && d->flags & GZIP_HAS_CHECKSUM)
        set_step(d, GZIP_CHECKSUM);
    else
        set_step(d, GZIP_DATA);
}

/* Distinguishes gzip, zlib and raw deflate by the first two bytes. */
static void detect_format(struct http_decoder *d)
{
    if (d->two[0] == 0x1f && d->two[1] == 0x8b) {
        d->is_gzip = true;
        d->step = GZIP_FIXED;
    } else if ((d->two[0] & 0x0f) == Z_DEFLATED && (d->two[0] << 8 | d->two[1]) % 31 == 0) {
        d->is_zlib = true;
        set_step(d, GZIP_DATA);
    } else {
        set_step(d, GZIP_GUESS);
    }
}

/* Decodes bytes up to the end of the deflate stream; *used: number of input bytes consumed. Returns false on an error.
 */
static bool inflate_bytes(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
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
        output_bytes(f, tx, d, output, (uint32_t)sizeof(output) - d->zlib.avail_out);
    } while (status == Z_OK && !d->dead && d->zlib.avail_out == 0);
    *used = length - d->zlib.avail_in;
    if (status == Z_STREAM_END) {
        set_step(d, GZIP_TRAILER);
        return true;
    }
    return status == Z_OK || status == Z_BUF_ERROR;
}

/* Parses a byte of the gzip header or trailer. */
static void parse_gzip_byte(struct http_decoder *d, uint8_t byte)
{
    d->count++;
    switch (d->step) {
    case GZIP_FIXED: /* `count` includes the first two bytes */
        if (d->count == 4)
            d->flags = byte;
        if (d->count == 10)
            enter_next_field(d, GZIP_FIXED);
        break;
    case GZIP_EXTRA_LENGTH:
        d->extra = d->count == 1 ? byte : d->extra | (uint32_t)byte << 8;
        if (d->count == 2) {
            if (d->extra > 0)
                set_step(d, GZIP_EXTRA);
            else
                enter_next_field(d, GZIP_EXTRA);
        }
        break;
    case GZIP_EXTRA:
        if (d->count == d->extra)
            enter_next_field(d, GZIP_EXTRA);
        break;
    case GZIP_NAME:
    case GZIP_COMMENT:
        if (byte == 0)
            enter_next_field(d, d->step);
        break;
    case GZIP_CHECKSUM:
        if (d->count == 2)
            set_step(d, GZIP_DATA);
        break;
    case GZIP_TRAILER:
        if (d->count == 8)
            set_step(d, GZIP_NEXT);
        break;
    default:
        break;
    }
}

/* Parses a byte after a gzip member. If another member starts, continues with that; otherwise passes the bytes through.
 */
static void parse_member_start(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, uint8_t byte)
{
    d->two[d->count++] = byte;
    if (d->count == 2 && d->two[1] == 0x8b && inflateReset(&d->zlib) == Z_OK)
        d->step = GZIP_FIXED;
    else if (d->count == 2 || byte != 0x1f)
        pass_through(f, tx, d, d->two, d->count);
}

/* Whether the first bytes can be decoded as raw deflate. *ended: the stream ends within these bytes. *produced: number
 * of decoded bytes. */
static bool try_deflate(struct http_decoder *d, bool *ended, uint32_t *produced)
{
    uint32_t length = d->first_length < GUESS_BYTES ? d->first_length : GUESS_BYTES;
    uint8_t output[OUTPUT_SIZE];
    int status;

    *produced = 0;
    d->zlib.next_in = d->first;
    d->zlib.avail_in = length;
    do {
        d->zlib.next_out = output;
        d->zlib.avail_out = sizeof(output);
        status = inflate(&d->zlib, Z_SYNC_FLUSH);
        *produced += (uint32_t)sizeof(output) - d->zlib.avail_out;
    } while (status == Z_OK && d->zlib.avail_out == 0);
    *ended = status == Z_STREAM_END;
    return inflateReset(&d->zlib) == Z_OK && (status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END);
}

static bool is_text(const uint8_t *bytes, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if ((bytes[i] < ' ' && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r') || bytes[i] > '~')
            return false;
    }
    return true;
}

/* Decides whether the bytes are raw deflate, or waits for more of them unless `last` is set. */
static void decide_raw_deflate(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, bool last)
{
    uint32_t used = 0, produced;
    bool ended = false, possible = try_deflate(d, &ended, &produced);

    if (possible && !ended && !last)
        return;
    set_step(d, GZIP_DATA);
    /* On a decoding error, curl delivers the bytes decoded so far, and other clients the body as received: output both.
     * Text that is not encoded may yield a few bytes by chance: up to TEXT_DECODED_MAX are ignored. */
    if (!possible && produced > (is_text(d->first, d->first_length) ? TEXT_DECODED_MAX : 0)) {
        inflate_bytes(f, tx, d, d->first, d->first_length, &used);
        http_event(f, tx, HTTP_EVENT_GZIP_DECOMPRESSION_FAILED);
        pass_through(f, tx, d, d->first, d->first_length);
        return;
    }
    if (!possible || !inflate_bytes(f, tx, d, d->first, d->first_length, &used))
        handle_decoding_error(f, tx, d, d->first + used, d->first_length - used);
    else if (used < d->first_length && !d->dead)
        pass_through(f, tx, d, d->first + used, d->first_length - used);
}

static void decode_deflate(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                           uint32_t length)
{
    uint32_t at = 0;

    while (at < length && !d->dead && !d->plain) {
        uint32_t used;

        if (d->step == GZIP_DATA) {
            if (!inflate_bytes(f, tx, d, bytes + at, length - at, &used)) {
                handle_decoding_error(f, tx, d, bytes + at + used, length - at - used);
                return;
            }
            at += used;
            if (used == 0 && d->step == GZIP_DATA)
                return;
        } else if (d->step == GZIP_UNKNOWN) {
            d->two[d->count++] = bytes[at++];
            if (d->count == 2)
                detect_format(d);
        } else if (d->step == GZIP_GUESS) { /* all bytes so far are in d->first */
            decide_raw_deflate(f, tx, d, d->first_length >= GUESS_BYTES);
            return;
        } else if (!d->is_gzip) {
            if (!d->is_zlib || d->count == ZLIB_CHECKSUM)
                break; /* the bytes after the end of the stream are passed through below */
            d->count++;
            at++;
        } else if (d->step == GZIP_NEXT) {
            parse_member_start(f, tx, d, bytes[at++]);
        } else {
            parse_gzip_byte(d, bytes[at++]);
        }
    }
    if (at < length && !d->dead)
        pass_through(f, tx, d, bytes + at, length - at);
}

/* --- br, zstd, lzma ------------------------------------------------------------------------------- */

/* Decodes brotli in pieces of BROTLI_PIECE bytes. On an error the library discards the output of the call. With small
 * pieces no more output is lost than in a client that also decodes small pieces. */
static void decode_brotli(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                          uint32_t length)
{
    const uint8_t *end = bytes + length;
    uint8_t output[OUTPUT_SIZE], *to = output;
    size_t left = 0, room = sizeof(output);
    BrotliDecoderResult result;

    do {
        if (left == 0)
            left = end - bytes > BROTLI_PIECE ? BROTLI_PIECE : (size_t)(end - bytes);
        result = BrotliDecoderDecompressStream(d->brotli, &left, &bytes, &room, &to, NULL);
        if (room == 0) {
            output_bytes(f, tx, d, output, sizeof(output));
            to = output;
            room = sizeof(output);
        }
    } while (!d->dead && result != BROTLI_DECODER_RESULT_ERROR && result != BROTLI_DECODER_RESULT_SUCCESS &&
             (bytes < end || BrotliDecoderHasMoreOutput(d->brotli)));
    output_bytes(f, tx, d, output, (uint32_t)(sizeof(output) - room));
    if (result == BROTLI_DECODER_RESULT_ERROR)
        handle_decoding_error(f, tx, d, bytes, (uint32_t)(end - bytes));
    else if (result == BROTLI_DECODER_RESULT_SUCCESS)
        pass_through(f, tx, d, bytes, (uint32_t)(end - bytes));
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

        output_bytes(f, tx, d, output, (uint32_t)out.pos);
        if (ZSTD_isError(status)) {
            handle_decoding_error(f, tx, d, bytes + in.pos, length - (uint32_t)in.pos);
            return;
        }
        full = out.pos == out.size;
        if (!full && in.pos == before)
            return;
    } while (!d->dead && (full || in.pos < in.size));
}

/* Parses the LZMA header after limiting the dictionary size in it to the configured memory. Returns the number of bytes
 * consumed. */
static uint32_t read_lzma_header(struct http_feed *f, struct http_decoder *d, const uint8_t *bytes, uint32_t length)
{
    uint32_t room = LZMA_HEADER - d->count, size = length < room ? length : room, dictionary = 0;
    uint32_t memory = f->settings->lzma_memory < HEAP_OBJECT_MAX ? f->settings->lzma_memory : HEAP_OBJECT_MAX;
    uint8_t nothing[1];
    uint32_t dictionary_max =
        memory > LZMA_OVERHEAD + LZMA_DICTIONARY_MIN ? memory - LZMA_OVERHEAD : LZMA_DICTIONARY_MIN;

    memcpy(d->lzma_header + d->count, bytes, size);
    d->count += size;
    if (d->count < LZMA_HEADER)
        return size;
    for (unsigned i = 0; i < 4; i++)
        dictionary |= (uint32_t)d->lzma_header[1 + i] << 8 * i;
    d->lzma_capped = dictionary > dictionary_max;
    for (unsigned i = 0; i < 4 && d->lzma_capped; i++)
        d->lzma_header[1 + i] = (uint8_t)(dictionary_max >> 8 * i);
    d->lzma.next_in = d->lzma_header;
    d->lzma.avail_in = LZMA_HEADER;
    d->lzma.next_out = nothing; /* without output space the library does not parse the header */
    d->lzma.avail_out = sizeof(nothing);
    d->lzma_status = lzma_code(&d->lzma, LZMA_RUN);
    return size;
}

static void decode_lzma(struct http_feed *f, struct http_tx *tx, struct http_decoder *d, const uint8_t *bytes,
                        uint32_t length)
{
    uint32_t header = d->count < LZMA_HEADER ? read_lzma_header(f, d, bytes, length) : 0;
    lzma_ret status = d->lzma_status;

    if (header == length && status == LZMA_OK)
        return;
    d->lzma.next_in = bytes + header;
    d->lzma.avail_in = length - header;
    while (status == LZMA_OK && !d->dead) {
        uint8_t output[OUTPUT_SIZE];

        d->lzma.next_out = output;
        d->lzma.avail_out = sizeof(output);
        status = lzma_code(&d->lzma, LZMA_RUN);
        output_bytes(f, tx, d, output, (uint32_t)(sizeof(output) - d->lzma.avail_out));
        if (d->lzma.avail_out > 0)
            break;
    }
    if (status == LZMA_OK || status == LZMA_BUF_ERROR)
        return;
    if (status == LZMA_MEMLIMIT_ERROR || status == LZMA_MEM_ERROR || (status == LZMA_DATA_ERROR && d->lzma_capped))
        http_event(f, tx, HTTP_EVENT_LZMA_MEMLIMIT_REACHED);
    const uint8_t *rest = d->lzma.next_in;
    uint32_t left = (uint32_t)d->lzma.avail_in;

    if (status == LZMA_STREAM_END)
        pass_through(f, tx, d, rest, left);
    else
        handle_decoding_error(f, tx, d, rest, left);
}

/* --- Feeding -------------------------------------------------------------------------------------- */

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
        output_bytes(f, tx, decoder, bytes, length);
        return;
    }
    if (!decoder->started && !start_decoder(decoder, f->settings)) {
        decoder->dead = true;
        return;
    }
    /* Before the first output, pieces of fixed size are decoded, so that d->first does not depend on segmentation. */
    for (uint32_t at = 0; at < length && !decoder->dead;) {
        uint32_t size = decoder->out == 0 && !decoder->plain && length - at > PIECE ? PIECE : length - at;

        if (decoder->plain) {
            output_bytes(f, tx, decoder, bytes + at, size);
        } else {
            decoder->in += size;
            if (decoder->out == 0) {
                uint32_t room = FIRST_BYTES - decoder->first_length, stored = size < room ? size : room;

                memcpy(decoder->first + decoder->first_length, bytes + at, stored);
                decoder->first_length += stored;
            }
            decode[decoder->coding](f, tx, decoder, bytes + at, size);
        }
        at += size;
    }
}

void http_decoder_finish(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder)
{
    for (; decoder; decoder = decoder->next) {
        bool is_deflate = decoder->coding == CODING_DEFLATE;

        if (decoder->dead || decoder->plain || !decoder->started)
            continue;
        if (is_deflate && decoder->step == GZIP_GUESS)
            decide_raw_deflate(f, tx, decoder, true);
        else if (is_deflate && decoder->step == GZIP_NEXT && decoder->count > 0)
            pass_through(f, tx, decoder, decoder->two, decoder->count);
        else if (decoder->out == 0 && (!is_deflate || decoder->step < GZIP_TRAILER))
            handle_decoding_error(f, tx, decoder, NULL, 0);
    }
}
