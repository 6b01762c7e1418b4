/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP bodies: encodings, files, forms, gaps, and decompression bombs. */
#include <check.h>
#include <zlib.h>

#include "app_rig.h"

#define FOX "The quick brown fox jumps over the lazy dog. The quick brown fox.\n"

/* FOX in each encoding. */
static const uint8_t gzip_bytes[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0b, 0xc9, 0x48, 0x55, 0x28, 0x2c, 0xcd, 0x4c,
    0xce, 0x56, 0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48, 0xcb, 0xaf, 0x50, 0xc8, 0x2a, 0xcd, 0x2d, 0x28, 0x56,
    0xc8, 0x2f, 0x4b, 0x2d, 0x52, 0x28, 0x01, 0x4a, 0xe7, 0x24, 0x56, 0x55, 0x2a, 0xa4, 0xe4, 0xa7, 0xeb, 0x29,
    0x84, 0x60, 0x2a, 0xd6, 0xe3, 0x02, 0x00, 0x11, 0x52, 0x49, 0x38, 0x42, 0x00, 0x00, 0x00,
};
static const uint8_t gzip_named[] = {
    0x1f, 0x8b, 0x08, 0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x03, 0x00, 0x61, 0x62, 0x63, 0x6e, 0x61, 0x6d, 0x65,
    0x2e, 0x74, 0x78, 0x74, 0x00, 0x61, 0x20, 0x63, 0x6f, 0x6d, 0x6d, 0x65, 0x6e, 0x74, 0x00, 0x0b, 0xc9, 0x48, 0x55,
    0x28, 0x2c, 0xcd, 0x4c, 0xce, 0x56, 0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48, 0xcb, 0xaf, 0x50, 0xc8, 0x2a, 0xcd,
    0x2d, 0x28, 0x56, 0xc8, 0x2f, 0x4b, 0x2d, 0x52, 0x28, 0x01, 0x4a, 0xe7, 0x24, 0x56, 0x55, 0x2a, 0xa4, 0xe4, 0xa7,
    0xeb, 0x29, 0x84, 0x60, 0x2a, 0xd6, 0xe3, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const uint8_t gzip_members[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x0b, 0xc9, 0x48, 0x55, 0x28, 0x2c, 0xcd, 0x4c,
    0xce, 0x56, 0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48, 0xcb, 0xaf, 0x50, 0xc8, 0x2a, 0xcd, 0x2d, 0x28, 0x56,
    0xc8, 0x2f, 0x4b, 0x2d, 0x02, 0x00, 0xde, 0x1a, 0x1e, 0x05, 0x1e, 0x00, 0x00, 0x00, 0x1f, 0x8b, 0x08, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x53, 0x28, 0xc9, 0x48, 0x55, 0xc8, 0x49, 0xac, 0xaa, 0x54, 0x48, 0xc9,
    0x4f, 0xd7, 0x53, 0x08, 0x01, 0xf2, 0x0a, 0x4b, 0x33, 0x93, 0xb3, 0x15, 0x92, 0x8a, 0xf2, 0xcb, 0xf3, 0x14,
    0xd2, 0xf2, 0x2b, 0xf4, 0xb8, 0x00, 0xcf, 0x97, 0x52, 0x19, 0x24, 0x00, 0x00, 0x00,
};
static const uint8_t zlib_bytes[] = {
    0x78, 0x9c, 0x0b, 0xc9, 0x48, 0x55, 0x28, 0x2c, 0xcd, 0x4c, 0xce, 0x56, 0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48,
    0xcb, 0xaf, 0x50, 0xc8, 0x2a, 0xcd, 0x2d, 0x28, 0x56, 0xc8, 0x2f, 0x4b, 0x2d, 0x52, 0x28, 0x01, 0x4a, 0xe7, 0x24,
    0x56, 0x55, 0x2a, 0xa4, 0xe4, 0xa7, 0xeb, 0x29, 0x84, 0x60, 0x2a, 0xd6, 0xe3, 0x02, 0x00, 0x23, 0x19, 0x17, 0x73,
};
static const uint8_t deflate_bytes[] = {
    0x0b, 0xc9, 0x48, 0x55, 0x28, 0x2c, 0xcd, 0x4c, 0xce, 0x56, 0x48, 0x2a, 0xca, 0x2f, 0xcf, 0x53, 0x48,
    0xcb, 0xaf, 0x50, 0xc8, 0x2a, 0xcd, 0x2d, 0x28, 0x56, 0xc8, 0x2f, 0x4b, 0x2d, 0x52, 0x28, 0x01, 0x4a,
    0xe7, 0x24, 0x56, 0x55, 0x2a, 0xa4, 0xe4, 0xa7, 0xeb, 0x29, 0x84, 0x60, 0x2a, 0xd6, 0xe3, 0x02, 0x00,
};
static const uint8_t gzip_twice[] = {
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x93, 0xef, 0xe6, 0x60, 0x00, 0x01, 0x26, 0x66,
    0xee, 0x93, 0x1e, 0xa1, 0x1a, 0x3a, 0x67, 0x7d, 0xce, 0x85, 0x79, 0x68, 0x9d, 0xd2, 0x3f, 0x1f, 0xec, 0x71,
    0x7a, 0x7d, 0xc0, 0x09, 0xad, 0xb3, 0xba, 0x1a, 0x61, 0x27, 0xf4, 0xbd, 0x75, 0x83, 0x34, 0x18, 0xbd, 0x9e,
    0xab, 0x84, 0x85, 0x6a, 0x2d, 0x79, 0xb2, 0xfc, 0xb5, 0x66, 0x4b, 0x82, 0xd6, 0xb5, 0xc7, 0x4c, 0x0c, 0x82,
    0x41, 0x9e, 0x16, 0x4e, 0x40, 0xcd, 0x00, 0x72, 0x3f, 0x9c, 0x29, 0x45, 0x00, 0x00, 0x00,
};
static const uint8_t lzma_bytes[] = {
    0x5d, 0x00, 0x00, 0x04, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x2a, 0x1a, 0x08, 0xa2,
    0x03, 0x25, 0x66, 0xf1, 0x4b, 0x78, 0xc5, 0xa2, 0x05, 0xff, 0x2e, 0xe6, 0xd9, 0xd2, 0x20, 0x1a, 0xad, 0x34,
    0xf8, 0xe2, 0x1d, 0xe8, 0x41, 0x36, 0xfa, 0xdc, 0x06, 0x69, 0xbb, 0x3c, 0xe4, 0x10, 0x34, 0x27, 0x09, 0xeb,
    0xb3, 0x66, 0xe3, 0xed, 0x37, 0x42, 0xd7, 0xf7, 0x53, 0x39, 0x2c, 0x4f, 0x93, 0xff, 0xfe, 0x86, 0x40, 0x00,
};
static const uint8_t lzma_large[] = {
    0x5d, 0x00, 0x00, 0x00, 0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x2a, 0x1a, 0x08, 0xa2,
    0x03, 0x25, 0x66, 0xf1, 0x4b, 0x78, 0xc5, 0xa2, 0x05, 0xff, 0x2e, 0xe6, 0xd9, 0xd2, 0x20, 0x1a, 0xad, 0x34,
    0xf8, 0xe2, 0x1d, 0xe8, 0x41, 0x36, 0xfa, 0xdc, 0x06, 0x69, 0xbb, 0x3c, 0xe4, 0x10, 0x34, 0x27, 0x09, 0xeb,
    0xb3, 0x66, 0xe3, 0xed, 0x37, 0x42, 0xd7, 0xf7, 0x53, 0x39, 0x2c, 0x4f, 0x93, 0xff, 0xfe, 0x86, 0x40, 0x00,
};
static const uint8_t brotli_bytes[] = {
    0x13, 0x41, 0x00, 0x00, 0xc4, 0xdc, 0x46, 0xdd, 0x92, 0x2e, 0xa4, 0xb5, 0x64, 0x28, 0x8a, 0x53, 0x91, 0x67, 0x32,
    0xf9, 0x5b, 0x92, 0x51, 0x86, 0x82, 0x4a, 0x5e, 0xd9, 0xaa, 0xcd, 0x8c, 0xe6, 0x0b, 0xaf, 0x72, 0x3a, 0xa2, 0x5c,
    0x94, 0xd5, 0xc6, 0x84, 0x6c, 0xd6, 0x07, 0xc6, 0xa8, 0xba, 0xff, 0x10, 0x24, 0x11, 0x00, 0x64, 0x00,
};
static const uint8_t zstd_bytes[] = {
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x42, 0xbd, 0x01, 0x00, 0xf4, 0x02, 0x54, 0x68, 0x65, 0x20, 0x71,
    0x75, 0x69, 0x63, 0x6b, 0x20, 0x62, 0x72, 0x6f, 0x77, 0x6e, 0x20, 0x66, 0x6f, 0x78, 0x20, 0x6a,
    0x75, 0x6d, 0x70, 0x73, 0x20, 0x6f, 0x76, 0x65, 0x72, 0x20, 0x74, 0x68, 0x65, 0x20, 0x6c, 0x61,
    0x7a, 0x79, 0x20, 0x64, 0x6f, 0x67, 0x2e, 0x20, 0x2e, 0x0a, 0x01, 0x00, 0x85, 0x89, 0x2a, 0x03,
};

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static const char as_sent[] = "the bytes as they were sent";

static const struct encoded {
    const char *encoding;
    const uint8_t *bytes;
    size_t length;
    const char *settings, *event;
    const char *decoded; /* expected content; NULL: FOX */
} encoded[] = {
    { "gzip", gzip_bytes, sizeof(gzip_bytes), NULL, NULL, NULL },
    { "x-gzip", gzip_named, sizeof(gzip_named), NULL, NULL, NULL },
    { "gzip", gzip_members, sizeof(gzip_members), NULL, NULL, NULL },
    { "deflate", zlib_bytes, sizeof(zlib_bytes), NULL, NULL, NULL },
    { "deflate", deflate_bytes, sizeof(deflate_bytes), NULL, NULL, NULL },
    { "gzip", deflate_bytes, sizeof(deflate_bytes), NULL, NULL, NULL },
    { "deflate", gzip_bytes, sizeof(gzip_bytes), NULL, NULL, NULL },
    { "gzip, gzip", gzip_twice, sizeof(gzip_twice), NULL, NULL, NULL },
    { "identity, gzip", gzip_bytes, sizeof(gzip_bytes), NULL, "response_ambiguous", NULL },
    { "gzip,gzip,gzip", gzip_twice, sizeof(gzip_twice), NULL, "too_many_encoding_layers", NULL },
    { "br", brotli_bytes, sizeof(brotli_bytes), NULL, NULL, NULL },
    { "zstd", zstd_bytes, sizeof(zstd_bytes), NULL, NULL, NULL },
    { "lzma", lzma_bytes, sizeof(lzma_bytes), "app-layer: { http: { lzma-enabled: yes, lzma-memlimit: 32M } }", NULL,
      NULL },
    { "lzma", lzma_large, sizeof(lzma_large), "app-layer: { http: { lzma-enabled: yes } }", NULL, NULL },
    { "lzma", lzma_bytes, sizeof(lzma_bytes), "app-layer: { http: { lzma-enabled: yes, lzma-memlimit: 4k } }",
      "lzma_memlimit_reached", as_sent },
    { "gzip", (const uint8_t *)FOX, sizeof(FOX) - 1, NULL, "gzip_decompression_failed", NULL },
    { "br", (const uint8_t *)FOX, sizeof(FOX) - 1, NULL, "gzip_decompression_failed", NULL },
    { "zstd", (const uint8_t *)FOX, sizeof(FOX) - 1, NULL, "gzip_decompression_failed", NULL },
    { "x-odd", (const uint8_t *)FOX, sizeof(FOX) - 1, NULL, "abnormal_ce_header", NULL },
    { "mygzip", gzip_bytes, sizeof(gzip_bytes), NULL, "abnormal_ce_header", NULL },
};

static void check_bytes(const struct app_rig *rig, const char *keyword, enum flow_direction direction, unsigned index,
                        const char *wanted)
{
    struct app_bytes bytes;
    bool there = app_rig_buffer(rig, 0, keyword, direction, index, &bytes);

    if (!wanted || !*wanted) {
        ck_assert_msg(!there || bytes.length == 0, "%s is there", keyword);
        return;
    }
    ck_assert_msg(there && bytes.length == strlen(wanted) && memcmp(bytes.bytes, wanted, bytes.length) == 0,
                  "cut %d: %s is \"%.*s\"", rig->cut, keyword, there ? (int)bytes.length : 0,
                  there ? (const char *)bytes.bytes : "");
}

START_TEST(responses_are_decoded)
{
    const struct encoded *e = &encoded[_i / CUTS];
    struct app_rig *rig = app_rig_new("http", e->settings);
    char head[256];

    rig->cut = cuts[_i % CUTS];
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %zu\r\n\r\n", e->encoding,
             e->length);
    app_rig_text(rig, FLOW_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, head);
    app_rig_send(rig, FLOW_TO_CLIENT, e->bytes, e->length);
    if (e->decoded == as_sent) {
        struct app_bytes bytes;

        ck_assert(app_rig_buffer(rig, 0, "http.response_body", FLOW_TO_CLIENT, 0, &bytes));
        ck_assert(bytes.length == e->length && memcmp(bytes.bytes, e->bytes, e->length) == 0);
    } else {
        check_bytes(rig, "http.response_body", FLOW_TO_CLIENT, 0, e->decoded ? e->decoded : FOX);
        check_bytes(rig, "file.data", FLOW_TO_CLIENT, 0, e->decoded ? e->decoded : FOX);
    }
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    if (e->event)
        ck_assert_msg(app_rig_has_event(rig, 0, e->event), "%s: %s", e->encoding, app_rig_json(rig, 0));
    else
        ck_assert_msg(!strstr(app_rig_json(rig, 0), "events"), "%s: %s", e->encoding, app_rig_json(rig, 0));
    app_rig_free(rig);
}
END_TEST

/* An uncompressed meta-block, and a second one whose header is invalid or missing. The content of the first one is
 * inspected, except for a few bytes before the error. */
START_TEST(brotli_ends_early)
{
    enum { SIZE = 40000 }; /* more than the decoder's output buffer */
    static uint8_t bytes[3 + SIZE + 1];
    bool is_invalid = _i % 2;
    size_t length = 3 + SIZE + is_invalid;
    struct app_rig *rig = app_rig_new("http", NULL);
    const struct file *file;
    char head[256];

    uint32_t first = (SIZE - 1) << 4 |
                     1 << 20; /* window of 64 KiB, ISLAST 0, MLEN of two bytes, ISUNCOMPRESSED (RFC 7932, section 9) */

    memcpy(bytes, (uint8_t[]){ (uint8_t)first, (uint8_t)(first >> 8), (uint8_t)(first >> 16) }, 3);
    memset(bytes + 3, 'x', SIZE);
    bytes[3 + SIZE] = 0x0e; /* MNIBBLES 0 with the reserved bit set */
    rig->cut = _i < 2 ? 0 : 1460;
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: %zu\r\n\r\n", length);
    app_rig_text(rig, FLOW_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, head);
    app_rig_send(rig, FLOW_TO_CLIENT, bytes, length);
    file = app_rig_tx(rig, 0)->files[FLOW_TO_CLIENT].first;
    ck_assert(app_rig_has_event(rig, 0, "gzip_decompression_failed") == is_invalid);
    ck_assert_uint_ge(file->size, is_invalid ? SIZE - 32 : SIZE); /* the decoder gets its input in pieces of 32 bytes */
    app_rig_free(rig);
}
END_TEST

START_TEST(requests_are_decoded)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    char head[256];

    rig->cut = cuts[_i];
    snprintf(head, sizeof(head),
             "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
             sizeof(gzip_bytes));
    app_rig_text(rig, FLOW_TO_SERVER, head);
    app_rig_send(rig, FLOW_TO_SERVER, gzip_bytes, sizeof(gzip_bytes));
    app_rig_text(rig, FLOW_TO_SERVER, "\r\n0\r\n\r\n");
    check_bytes(rig, "http.request_body", FLOW_TO_SERVER, 0, FOX);
    app_rig_free(rig);
}
END_TEST

/* --- Bombs ---------------------------------------------------------------------------------------- */

static size_t bomb(uint8_t *out, size_t room, size_t size)
{
    static uint8_t zeros[64 << 10];
    z_stream z = { 0 };

    ck_assert(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_out = out;
    z.avail_out = (uInt)room;
    for (size_t at = 0; at < size; at += sizeof(zeros)) {
        z.next_in = zeros;
        z.avail_in = sizeof(zeros);
        ck_assert(deflate(&z, at + sizeof(zeros) >= size ? Z_FINISH : Z_NO_FLUSH) >= Z_OK);
    }
    deflateEnd(&z);
    return z.total_out;
}

/* 64 MiB of zeros, compressed twice, without body limit: decoding must stay within the memory limit. */
START_TEST(bombs_go_off_outside)
{
    static uint8_t once[128 << 10], twice[128 << 10];
    struct app_rig *rig = app_rig_new("http", "app-layer: { http: { response-body-limit: 0 } }");
    size_t length = bomb(once, sizeof(once), 64 << 20);
    uLongf size = sizeof(twice);

    ck_assert(compress2(twice, &size, once, length, 9) == Z_OK);
    app_rig_text(rig, FLOW_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip, deflate\r\n\r\n");
    app_rig_send(rig, FLOW_TO_CLIENT, twice, size);
    ck_assert(app_rig_has_event(rig, 0, "compression_bomb"));
    ck_assert(!rig->failed);
    ck_assert_uint_lt(app_rig_memory(rig), 4 << 20);
    app_rig_free(rig);
}
END_TEST

/* With a body limit, decoding stops at the limit. */
START_TEST(decoding_ends_at_the_limit)
{
    static uint8_t once[128 << 10];
    struct app_rig *rig = app_rig_new("http", NULL);
    struct app_bytes bytes;
    size_t length = bomb(once, sizeof(once), 16 << 20);

    app_rig_text(rig, FLOW_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n");
    app_rig_send(rig, FLOW_TO_CLIENT, once, length);
    ck_assert(app_rig_buffer(rig, 0, "http.response_body", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert_uint_eq(bytes.offset + bytes.length, 100 << 10);
    ck_assert(!bytes.partial);
    ck_assert_int_eq(app_rig_tx(rig, 0)->files[FLOW_TO_CLIENT].first->state, FILE_TRUNCATED);
    app_rig_free(rig);
}
END_TEST

/* --- Files ---------------------------------------------------------------------------------------- */

static const struct named {
    const char *request, *response, *name;
    enum flow_direction direction;
} named[] = {
    { "GET /d/file.txt?x HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "/d/file.txt",
      FLOW_TO_CLIENT },
    { "GET /%61 HTTP/1.1\r\nHost: h\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=\"a b;c.exe\"\r\nContent-Length: 1\r\n\r\nx",
      "a b;c.exe", FLOW_TO_CLIENT },
    { "GET /%61 HTTP/1.1\r\nHost: h\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Disposition: attachment; filename=a.exe ; y\r\nContent-Length: 1\r\n\r\nx", "a.exe",
      FLOW_TO_CLIENT },
    { "GET /%61 HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "/a", FLOW_TO_CLIENT },
    { "PUT /up HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", "", "/up", FLOW_TO_SERVER },
    { "POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", "", "/up", FLOW_TO_SERVER },
    { "PATCH /up HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx", "", NULL, FLOW_TO_SERVER },
};

START_TEST(bodies_are_files)
{
    struct app_rig *rig = app_rig_new("http", NULL);
    const struct file *file;

    app_rig_text(rig, FLOW_TO_SERVER, named[_i].request);
    app_rig_text(rig, FLOW_TO_CLIENT, named[_i].response);
    file = app_rig_tx(rig, 0)->files[named[_i].direction].first;
    ck_assert((file != NULL) == (named[_i].name != NULL));
    if (file) {
        ck_assert_uint_eq(file->name.length, strlen(named[_i].name));
        ck_assert_mem_eq(file->name.bytes, named[_i].name, file->name.length);
        ck_assert_int_eq(file->state, FILE_CLOSED);
        ck_assert_uint_eq(file->size, 1);
    } else {
        check_bytes(rig, "http.request_body", FLOW_TO_SERVER, 0, "x");
    }
    app_rig_free(rig);
}
END_TEST

#define PART(name, data)                                                                                               \
    "--xYz\r\nContent-Disposition: form-data; name=\"f\"; filename=\"" name "\"\r\n\r\n" data "\r\n"

static const struct form {
    const char *body;
    const char *names[3], *datas[3];
    const char *event;
} forms[] = {
    { "--xYz\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n" PART("one.txt", "1\r\n--xY\r\n\r")
          PART("two", "22") "--xYz--\r\n",
      { "one.txt", "two" },
      { "1\r\n--xY\r\n\r", "22" },
      NULL },
    { "preamble\r\n" PART("a", "b") "--xYz--", { "a" }, { "b" }, NULL },
    { "--xYz\nContent-Disposition: form-data; filename=a\n\nb\n--xYz--\n", { "a" }, { "b" }, NULL },
    { "--xYz\r\nContent-Disposition: form-data; filename=a\r\n\r\n--xYz--\r\n",
      { "a" },
      { "" },
      "multipart_no_filedata" },
    { "--xYz\r\nContent-Disposition: form-data; filename=a\r\n\r\n\r\n--xYz--\r\n",
      { "a" },
      { "" },
      "multipart_no_filedata" },
    { "--xYz\r\nContent-Disposition: form-data;\r\n name=\"f\";\r\n\tfilename=\"a\"\r\n\r\nb\r\n--xYz--\r\n",
      { "a" },
      { "b" },
      NULL },
    { "--xYz\r\nContent-Disposition: form-data; filename*=UTF-8'en'a.txt\r\n\r\nb\r\n--xYz--\r\n",
      { "a.txt" },
      { "b" },
      NULL },
    { "--xYz\r\nContent-Disposition: form-data; filename*=UTF-8''a; filename=b\r\n\r\nc\r\n--xYz--\r\n",
      { "b" },
      { "c" },
      NULL },
    { "--xYz\r\nnonsense\r\n\r\n\r\n--xYz--\r\n", { NULL }, { NULL }, "multipart_invalid_header" },
    { "no boundary", { NULL }, { NULL }, "multipart_generic_error" },
    { PART("a", "cut off"), { "a" }, { "cut off\r\n" }, "multipart_generic_error" },
    { "--xYz\r\nContent-Disposition: form-data; filename=a\r\n\r\nb", { "a" }, { "b" }, "multipart_generic_error" },
};

START_TEST(forms_have_files)
{
    const struct form *form = &forms[_i / CUTS];
    struct app_rig *rig = app_rig_new("http", NULL);
    const struct file *file;
    char head[256];

    rig->cut = cuts[_i % CUTS];
    snprintf(head, sizeof(head),
             "POST /up HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=xYz\r\n"
             "Content-Length: %zu\r\n\r\n",
             strlen(form->body));
    app_rig_text(rig, FLOW_TO_SERVER, head);
    app_rig_text(rig, FLOW_TO_SERVER, form->body);
    file = app_rig_tx(rig, 0)->files[FLOW_TO_SERVER].first;
    for (unsigned i = 0; i < 3 && form->names[i]; i++) {
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(file->name.length, strlen(form->names[i]));
        ck_assert_mem_eq(file->name.bytes, form->names[i], file->name.length);
        ck_assert_msg(
            file->size == strlen(form->datas[i]) &&
                memcmp(file->data.bytes ? file->data.bytes : (const uint8_t *)"", form->datas[i], file->size) == 0,
            "form %d, cut %d: %.*s", _i / CUTS, rig->cut, (int)file->data.length, (const char *)file->data.bytes);
        ck_assert_int_ne(file->state, FILE_OPEN);
        file = file->next;
    }
    ck_assert_ptr_null(file);
    check_bytes(rig, "http.request_body", FLOW_TO_SERVER, 0, form->body);
    if (form->event)
        ck_assert_msg(app_rig_has_event(rig, 0, form->event), "%s", app_rig_json(rig, 0));
    else
        ck_assert_msg(!strstr(app_rig_json(rig, 0), "events"), "%s", app_rig_json(rig, 0));
    app_rig_free(rig);
}
END_TEST

START_TEST(a_form_is_cut_at_the_limit)
{
    struct app_rig *rig = app_rig_new("http", "app-layer: { http: { request-body-limit: 100 } }");
    const struct file *file;

    app_rig_text(rig, FLOW_TO_SERVER,
                 "POST /f HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=boundary\r\n"
                 "Content-Length: 500\r\n\r\n--boundary\r\nContent-Disposition: form-data; filename=\"f\"\r\n\r\n"
                 "0123456789012345678901234567890123456789 and more");
    file = app_rig_tx(rig, 0)->files[FLOW_TO_SERVER].first;
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(file->state, FILE_TRUNCATED);
    ck_assert_uint_eq(file->size, 100 - strlen("--boundary\r\nContent-Disposition: form-data; filename=\"f\"\r\n\r\n"));
    app_rig_free(rig);
}
END_TEST

/* --- In alerts ------------------------------------------------------------------------------------ */

static const struct {
    const char *yaml, *want;
} alerts[] = {
    { "eve: { types: { alert: { payload: no } } }", "{}" },
    { "eve: { types: { alert: { http-body: yes } } }",
      "{\"http_request_body\":\"YQFi\",\"http_response_body\":\"eHl6\"}" },
    { "eve: { types: { alert: { http-body-printable: yes } } }",
      "{\"http_request_body_printable\":\"a.b\",\"http_response_body_printable\":\"xyz\"}" },
};

START_TEST(alerts_have_bodies)
{
    static uint8_t bytes[64 << 10];
    struct app_rig *rig = app_rig_new("http", alerts[_i].yaml);
    struct text text = { 0 };
    struct fields fields;

    app_rig_text(rig, FLOW_TO_SERVER, "POST /f HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na\1b");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nxyz");
    const struct app_tx *tx = app_rig_tx(rig, 0);

    fields_init(&fields, bytes, sizeof(bytes));
    tx->proto->describe_alert(tx, app_proto_settings(rig->app, tx->proto), &fields);
    json_object_open(&text, NULL);
    ck_assert(fields_render(bytes, fields.length, &text));
    json_object_close(&text);
    ck_assert_str_eq(text.bytes, alerts[_i].want);
    text_clear(&text);
    app_rig_free(rig);
}
END_TEST

/* --- Gaps ----------------------------------------------------------------------------------------- */

START_TEST(bodies_have_holes)
{
    struct app_rig *rig = app_rig_new("http", "eve: { types: { http: { extended: yes } } }");
    const struct file *file;

    app_rig_text(rig, FLOW_TO_SERVER, "GET /f HTTP/1.1\r\nHost: h\r\n\r\nGET /g HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    app_rig_lose(rig, FLOW_TO_CLIENT, 4);
    app_rig_text(rig, FLOW_TO_CLIENT, "hijHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n");
    ck_assert(!rig->failed);
    file = app_rig_tx(rig, 0)->files[FLOW_TO_CLIENT].first;
    ck_assert_ptr_nonnull(file);
    ck_assert(file->has_gaps);
    ck_assert_int_ne(file->state, FILE_OPEN);
    ck_assert(app_rig_has_event(rig, 0, "body_data_lost"));
    ck_assert(strstr(app_rig_json(rig, 1), "404"));
    app_rig_free(rig);
}
END_TEST

START_TEST(chunks_have_holes)
{
    struct app_rig *rig = app_rig_new("http", NULL);

    app_rig_text(rig, FLOW_TO_SERVER, "GET /f HTTP/1.1\r\nHost: h\r\n\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nabc");
    app_rig_lose(rig, FLOW_TO_CLIENT, 4);
    app_rig_text(rig, FLOW_TO_CLIENT, "hij\r\n0\r\n\r\n");
    ck_assert(!rig->failed);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    app_rig_free(rig);
}
END_TEST

/* Of a body without limit only the latest bytes are stored. */
START_TEST(bodies_without_limit_slide)
{
    static char block[32 << 10];
    struct app_rig *rig = app_rig_new("http", "app-layer: { http: { request-body-limit: 0 } }");
    struct app_bytes bytes;

    memset(block, 'b', sizeof(block));
    app_rig_text(rig, FLOW_TO_SERVER, "PATCH /f HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n");
    for (unsigned i = 0; i < 500; i++)
        app_rig_send(rig, FLOW_TO_SERVER, block, sizeof(block));
    ck_assert(app_rig_buffer(rig, 0, "http.request_body", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.offset + bytes.length, 500 * sizeof(block));
    ck_assert_uint_le(bytes.length, 256 << 10);
    ck_assert(bytes.partial);
    ck_assert_uint_lt(app_rig_memory(rig), 4 << 20);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_http_body");
    TCase *tcase = tcase_create("bodies");
    SRunner *runner;
    tcase_add_loop_test(tcase, brotli_ends_early, 0, 4);

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, responses_are_decoded, 0, CUTS * (int)(sizeof(encoded) / sizeof(encoded[0])));
    tcase_add_loop_test(tcase, requests_are_decoded, 0, CUTS);
    tcase_add_test(tcase, bombs_go_off_outside);
    tcase_add_test(tcase, decoding_ends_at_the_limit);
    tcase_add_loop_test(tcase, bodies_are_files, 0, sizeof(named) / sizeof(named[0]));
    tcase_add_loop_test(tcase, forms_have_files, 0, CUTS * (int)(sizeof(forms) / sizeof(forms[0])));
    tcase_add_test(tcase, a_form_is_cut_at_the_limit);
    tcase_add_loop_test(tcase, alerts_have_bodies, 0, sizeof(alerts) / sizeof(alerts[0]));
    tcase_add_test(tcase, bodies_have_holes);
    tcase_add_test(tcase, chunks_have_holes);
    tcase_add_test(tcase, bodies_without_limit_slide);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
