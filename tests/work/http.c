/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP floods: compressed bodies, headers, requests, chunks, forms. */
#include <brotli/encode.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "work.h"

#define OPTION(name, value) "app-layer.protocols.http.libhtp.default-config." name ": " value "\n"
#define UNLIMITED OPTION("response-body-limit", "0") OPTION("request-body-limit", "0")

static const char question[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/* --- Encodings ------------------------------------------------------------------------------------ */

static struct wire brotli_of(const struct wire *in)
{
    struct wire out = { .bytes = malloc(in->length + 4096), .room = in->length + 4096 };

    out.length = out.room;
    app_rig_require(
        out.bytes && BrotliEncoderCompress(5, 22, BROTLI_DEFAULT_MODE, in->length, in->bytes, &out.length, out.bytes),
        "br");
    return out;
}

static struct wire zstd_of(const struct wire *in)
{
    struct wire out = { .bytes = malloc(in->length + 4096), .room = in->length + 4096 };

    app_rig_require(out.bytes, "no memory");
    out.length = ZSTD_compress(out.bytes, out.room, in->bytes, in->length, 3);
    app_rig_require(!ZSTD_isError(out.length), "zstd");
    return out;
}

static struct wire lzma_of(const struct wire *in, uint32_t dictionary)
{
    struct wire out = { .bytes = malloc(in->length + 4096), .room = in->length + 4096 };
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_options_lzma options;

    lzma_lzma_preset(&options, 1);
    options.dict_size = dictionary;
    stream.next_in = in->bytes;
    stream.avail_in = in->length;
    stream.next_out = out.bytes;
    stream.avail_out = out.room;
    app_rig_require(out.bytes && lzma_alone_encoder(&stream, &options) == LZMA_OK &&
                        lzma_code(&stream, LZMA_FINISH) == LZMA_STREAM_END,
                    "lzma");
    out.length = stream.total_out;
    lzma_end(&stream);
    return out;
}

/* Sends a response with this body, and frees the body. */
static void answer(struct work *work, const char *encoding, struct wire *body)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    wire_text(&wire, "HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %zu\r\n\r\n", encoding, body->length);
    wire_put(&wire, body->bytes, body->length);
    work_send(work, FLOW_TO_CLIENT, &wire);
    work_text(work, FLOW_TO_SERVER, question);
    work_text(work, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    wire_free(&wire);
    wire_free(body);
}

static void gzip_bomb(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), packed = wire_gzip(&plain);

    wire_free(&plain);
    answer(work, "gzip", &packed);
}

static void gzip_in_gzip(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), once = wire_gzip(&plain), twice = wire_gzip(&once);

    wire_free(&plain);
    wire_free(&once);
    answer(work, "gzip, gzip", &twice);
}

static void too_many_layers(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), packed = wire_gzip(&plain);

    wire_free(&plain);
    answer(work, "gzip, gzip, gzip, gzip, gzip, gzip, gzip", &packed);
}

static void brotli_bomb(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), packed = brotli_of(&plain);

    wire_free(&plain);
    answer(work, "br", &packed);
}

static void zstd_bomb(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), packed = zstd_of(&plain);

    wire_free(&plain);
    answer(work, "zstd", &packed);
}

static void lzma_bomb(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), packed = lzma_of(&plain, 1 << 16);

    wire_free(&plain);
    answer(work, "lzma", &packed);
}

static void lzma_dictionary(struct work *work, uint32_t units)
{
    struct wire plain = wire_zeros(units), packed = lzma_of(&plain, 64 << 20);

    wire_free(&plain);
    answer(work, "lzma", &packed);
}

static void gzip_members(struct work *work, uint32_t units)
{
    struct wire nothing = { .bytes = (uint8_t *)malloc(1) }, member = wire_gzip(&nothing), many = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_put(&many, member.bytes, member.length);
    wire_free(&nothing);
    wire_free(&member);
    answer(work, "gzip", &many);
}

/* --- Headers -------------------------------------------------------------------------------------- */

static void many_headers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "GET / HTTP/1.1\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "X-%u: a\r\n", i);
    wire_text(&wire, "\r\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void many_answer_headers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    wire_text(&wire, "HTTP/1.1 200 OK\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "X-%u: a\r\n", i);
    wire_text(&wire, "\r\n");
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void same_header(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "GET / HTTP/1.1\r\n");
        for (uint32_t k = 0; k < 1000; k++)
            wire_text(&wire, "Cookie: aaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
        wire_text(&wire, "\r\n");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Header names of maximum length that differ only in their last bytes. */
static void alike_headers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "GET / HTTP/1.1\r\n");
        for (uint32_t k = 0; k < 1000; k++) {
            wire_fill(&wire, 'a', 480);
            for (unsigned bit = 0; bit < 10; bit++)
                wire_text(&wire, "%s", k >> bit & 1 ? "a~" : "b_");
            wire_text(&wire, ": b\r\n");
        }
        wire_text(&wire, "\r\n");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void endless_header(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "GET / HTTP/1.1\r\nX: ");
    wire_fill(&wire, 'a', (size_t)units << 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void endless_folding(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "GET / HTTP/1.1\r\nX: ");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "\r\n a");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void large_headers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "GET / HTTP/1.1\r\n");
    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "X-%u: ", i);
        wire_fill(&wire, 'a', 10000);
        wire_text(&wire, "\r\n");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void blank_header_lines(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    wire_text(&wire, "HTTP/1.1 200 OK\r\nA: b\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "\r\v");
    wire_text(&wire, "\r\n\r\n");
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static void endless_request_line(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "GET /");
    wire_fill(&wire, 'a', (size_t)units << 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void endless_status_line(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    wire_text(&wire, "HTTP/1.1 200 ");
    wire_fill(&wire, 'a', (size_t)units << 10);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void odd_uris(struct work *work, uint32_t units)
{
    static const char *const parts[] = { "%2e%2e/", "%25%32%35", "../", "/", "\\", "%u0041", "%", "\xe0\x80\x80" };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "GET /");
        for (unsigned k = 0; k < 1900; k++)
            wire_text(&wire, "%s", parts[i % 8]);
        wire_text(&wire, " HTTP/1.1\r\nHost: a\r\n\r\n");
        work_send(work, FLOW_TO_SERVER, &wire);
        work_text(work, FLOW_TO_CLIENT, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
    wire_free(&wire);
}

static void lines_of_zeros(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "x ");
        wire_fill(&wire, 0, 16000);
        wire_text(&wire, "\r\n");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void returns_alone(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    wire_text(&wire, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "a\r");
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void interim_answers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "HTTP/1.1 100 Continue\r\nA: b\r\n\r\n");
    wire_text(&wire, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void unasked_answers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

/* --- Requests ------------------------------------------------------------------------------------- */

static void pipelined_alone(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "GET /%u HTTP/1.1\r\nHost: a\r\n\r\n", i);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void pipelined_answered(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i += 100) {
        for (uint32_t k = 0; k < 100; k++)
            wire_text(&wire, "GET /%u HTTP/1.1\r\nHost: a\r\n\r\n", i + k);
        work_send(work, FLOW_TO_SERVER, &wire);
        for (uint32_t k = 0; k < 100; k++)
            wire_text(&wire, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
}

/* --- Bodies --------------------------------------------------------------------------------------- */

static void slow_body(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999\r\n\r\n");
    wire_fill(&wire, 'a', (size_t)units << 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void chunked(struct work *work, uint32_t units, const char *before, const char *chunk)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_SERVER, question);
    wire_text(&wire, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s", before);
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "%s", chunk);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void small_chunks(struct work *work, uint32_t units)
{
    chunked(work, units, "", "1\r\na\r\n");
}

static void chunk_extensions(struct work *work, uint32_t units)
{
    chunked(work, units, "", "1;aaaaaaaaaaaaaaaa=b\r\na\r\n");
}

static void endless_extension(struct work *work, uint32_t units)
{
    chunked(work, units, "1;", "aaaaaaaaaaaaaaaa");
}

static void endless_chunk_length(struct work *work, uint32_t units)
{
    chunked(work, units, "", "0000000000000000");
}

static void blank_chunk_lines(struct work *work, uint32_t units)
{
    chunked(work, units, "", "\n\n\n\n\n\n\n\n");
}

static void blank_chunk_length(struct work *work, uint32_t units)
{
    chunked(work, units, "", "        ");
}

static void endless_trailers(struct work *work, uint32_t units)
{
    chunked(work, units, "0\r\n", "Aa: b\r\n");
}

static void chunked_request(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "1;b\r\na\r\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void form(struct work *work, uint32_t units, const char *before, const char *part)
{
    struct wire wire = { 0 };

    wire_text(&wire,
              "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\n"
              "Content-Length: 999999999\r\n\r\n%s",
              before);
    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "%s", part);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void many_parts(struct work *work, uint32_t units)
{
    form(work, units, "--b", "\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\na\r\n--b");
}

static void part_headers(struct work *work, uint32_t units)
{
    form(work, units, "--b\r\n", "Content-Disposition: form-data; name=\"a\"\r\n");
}

static void endless_preamble(struct work *work, uint32_t units)
{
    form(work, units, "", "\r\n--aaaaaaaaaa");
}

static void almost_boundaries(struct work *work, uint32_t units)
{
    form(work, units, "--b\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\n", "\r\n--\r\n--\n--a");
}

/* Requests with parameters that could be DNS messages. */
static void doh2_paths(struct work *work, uint32_t units)
{
    static const uint8_t settings[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0 };
    struct wire wire = { 0 };

    wire_text(&wire, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    wire_put(&wire, settings, sizeof(settings));
    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 3, 3 + 2 + 12 * 8); /* HEADERS with END_STREAM and END_HEADERS */
        wire_number(&wire, 2, 1 << 8 | 5);
        wire_number(&wire, 4, 2 * i + 1);
        wire_number(&wire, 3, 0x820400 | (2 + 12 * 8)); /* :method GET, and the name :path */
        wire_text(&wire, "/?");
        for (unsigned k = 0; k < 12; k++)
            wire_text(&wire, "dns=AAA&");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

#define ROW(text, function, ...)                                                                                       \
    {                                                                                                                  \
        .name = "HTTP: " text, .proto = "http", .port = 80, .run = function, __VA_ARGS__                               \
    }

const struct flood http_floods[] = {
    ROW("gzip that grows", gzip_bomb, .units = 2, .memory_kib = 1024),
    ROW("gzip that grows, all of it", gzip_bomb, .yaml = UNLIMITED, .units = 2, .memory_kib = 8192, .may_refuse = true,
        .steps_per_byte = 1000),
    ROW("gzip within gzip", gzip_in_gzip, .units = 4, .memory_kib = 1024),
    ROW("gzip within gzip, all of it", gzip_in_gzip, .yaml = UNLIMITED, .units = 8, .memory_kib = 8192,
        .event = "compression_bomb", .steps_per_byte = 50000),
    ROW("too many encodings", too_many_layers, .units = 1, .memory_kib = 1024, .event = "too_many_encoding_layers"),
    ROW("br that grows", brotli_bomb, .units = 2, .memory_kib = 8192),
    ROW("br that grows, all of it", brotli_bomb, .yaml = UNLIMITED, .units = 8, .memory_kib = 8192,
        .event = "compression_bomb", .steps_per_byte = 50000),
    ROW("zstd that grows", zstd_bomb, .units = 2, .memory_kib = 8192),
    ROW("zstd that grows, all of it", zstd_bomb, .yaml = UNLIMITED, .units = 8, .memory_kib = 8192,
        .event = "compression_bomb", .steps_per_byte = 50000),
    ROW("lzma that grows", lzma_bomb, .yaml = OPTION("lzma-enabled", "yes"), .units = 2, .memory_kib = 2048),
    ROW("lzma that grows, all of it", lzma_bomb, .yaml = OPTION("lzma-enabled", "yes") UNLIMITED, .units = 8,
        .memory_kib = 8192, .event = "compression_bomb", .steps_per_byte = 50000),
    ROW("lzma with a large dictionary", lzma_dictionary, .yaml = OPTION("lzma-enabled", "yes"), .units = 1,
        .memory_kib = 2048),
    ROW("members of gzip without end", gzip_members, .units = 2000, .memory_kib = 1024),

    ROW("too many headers", many_headers, .units = 1500, .memory_kib = 1024, .event = "request_too_many_headers",
        .given_up = true),
    ROW("too many headers of a response", many_answer_headers, .units = 1500, .memory_kib = 1024,
        .event = "response_too_many_headers", .given_up = true),
    ROW("a header again and again", same_header, .units = 2, .memory_kib = 2048, .event = "request_header_repetition"),
    ROW("headers with names that are alike", alike_headers, .units = 1, .memory_kib = 8192),
    ROW("a header without end", endless_header, .units = 32, .memory_kib = 1024, .event = "request_field_too_long",
        .given_up = true),
    ROW("a header folded without end", endless_folding, .units = 5000, .memory_kib = 1024,
        .event = "request_field_too_long", .given_up = true),
    ROW("headers too large together", large_headers, .units = 60, .memory_kib = 2048, .event = "request_field_too_long",
        .given_up = true),
    ROW("blank lines among headers", blank_header_lines, .units = 5000, .memory_kib = 2048),

    ROW("a request line without end", endless_request_line, .units = 32, .memory_kib = 1024, .given_up = true),
    ROW("a status line without end", endless_status_line, .units = 320, .memory_kib = 2048,
        .event = "response_field_too_long", .given_up = true),
    ROW("URIs that are hard to read", odd_uris, .units = 16, .memory_kib = 1024,
        .yaml = OPTION("double-decode-path", "yes") OPTION("double-decode-query", "yes")),
    ROW("lines of zeros", lines_of_zeros, .units = 8, .memory_kib = 1024, .event = "request_body_unexpected"),
    ROW("lines that end with CR", returns_alone, .units = 20000, .memory_kib = 1024),
    ROW("interim responses without end", interim_answers, .units = 2000, .memory_kib = 1024,
        .event = "100_continue_already_seen"),
    ROW("responses that nobody asked for", unasked_answers, .units = 400, .memory_kib = 2048,
        .event = "unable_to_match_response_to_request"),

    ROW("requests without a response", pipelined_alone, .units = 2500, .memory_kib = 4096, .given_up = true),
    ROW("requests with their responses", pipelined_answered, .units = 2500, .memory_kib = 2048),

    ROW("a body that comes slowly", slow_body, .units = 64, .memory_kib = 1024),
    ROW("small chunks", small_chunks, .units = 5000, .memory_kib = 1024),
    ROW("chunks with extensions", chunk_extensions, .units = 5000, .memory_kib = 1024,
        .event = "response_chunk_extension"),
    ROW("a chunk's extension without end", endless_extension, .units = 20000, .memory_kib = 2048,
        .event = "response_field_too_long", .given_up = true),
    ROW("a chunk's length without end", endless_chunk_length, .units = 20000, .memory_kib = 2048,
        .event = "response_field_too_long", .given_up = true),
    ROW("blank lines between chunks", blank_chunk_lines, .units = 5000, .memory_kib = 1024),
    ROW("blanks before a chunk's length", blank_chunk_length, .units = 40000, .memory_kib = 2048,
        .event = "response_field_too_long", .given_up = true),
    ROW("trailers without end", endless_trailers, .units = 80000, .memory_kib = 2048,
        .event = "response_field_too_long", .given_up = true),
    ROW("chunks of a request", chunked_request, .units = 5000, .memory_kib = 1024, .event = "request_chunk_extension"),

    ROW("parts of a form", many_parts, .units = 1000, .memory_kib = 4096),
    ROW("parts of a form, all of them", many_parts, .yaml = UNLIMITED, .units = 5000, .memory_kib = 4096,
        .event = "multipart_generic_error"),
    ROW("headers of a part", part_headers, .units = 2000, .memory_kib = 1024),
    ROW("a preamble without end", endless_preamble, .units = 2000, .memory_kib = 1024),
    ROW("what is almost a boundary", almost_boundaries, .units = 2000, .memory_kib = 1024),
    { .name = "HTTP/2: paths with DNS messages",
      .proto = "http2",
      .port = 80,
      .run = doh2_paths,
      .units = 500,
      .memory_kib = 8192 },
};
const size_t http_flood_count = sizeof(http_floods) / sizeof(http_floods[0]);
