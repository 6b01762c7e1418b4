/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WebSocket: frames and their headers, fragmented and compressed messages, limits, the upgrade from HTTP. */
#include <check.h>
#include <zlib.h>

#include "../lib/app_rig.h"

#define UPGRADE "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
#define SWITCHING "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

enum { FIN = 0x80, RSV1 = 0x40, TEXT = 1, BINARY = 2, PING = 9, MASKED = 0x80 };

static const int cuts[] = { 0, 1, 3, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static struct app_rig *upgraded(const char *yaml, int cut)
{
    struct app_rig *rig = app_rig_new("http", yaml);

    rig->cut = cut;
    app_rig_text(rig, FLOW_TO_SERVER, UPGRADE);
    app_rig_text(rig, FLOW_TO_CLIENT, SWITCHING);
    return rig;
}

/* Sends a frame; those of the client are masked. */
static void send_frame(struct app_rig *rig, enum flow_direction direction, unsigned first, const void *payload,
                       size_t length)
{
    static const uint8_t mask[] = { 0x12, 0x34, 0x56, 0x78 };
    uint8_t *bytes = malloc(length + 14), masked = direction == FLOW_TO_SERVER ? MASKED : 0;
    size_t at = 0;

    ck_assert_ptr_nonnull(bytes);
    bytes[at++] = (uint8_t)first;
    if (length < 126) {
        bytes[at++] = (uint8_t)(masked | length);
    } else {
        size_t width = length < 65536 ? 2 : 8;

        bytes[at++] = masked | (width == 2 ? 126 : 127);
        for (size_t i = 0; i < width; i++)
            bytes[at++] = (uint8_t)(length >> 8 * (width - 1 - i));
    }
    if (masked)
        memcpy(bytes + at, mask, sizeof(mask));
    at += masked ? sizeof(mask) : 0;
    for (size_t i = 0; i < length; i++)
        bytes[at + i] = ((const uint8_t *)payload)[i] ^ (masked ? mask[i % 4] : 0);
    app_rig_send(rig, direction, bytes, at + length);
    free(bytes);
}

static void send_text(struct app_rig *rig, enum flow_direction direction, unsigned first, const char *text)
{
    send_frame(rig, direction, first, text, strlen(text));
}

/* The payload of a transaction; the HTTP transaction has the id 0. */
static void assert_payload(const struct app_rig *rig, uint64_t id, enum flow_direction direction, const char *payload)
{
    struct app_bytes bytes = { 0 };

    ck_assert(app_rig_buffer(rig, id, "websocket.payload", direction, 0, &bytes));
    ck_assert_msg(bytes.length == strlen(payload) && memcmp(bytes.bytes, payload, bytes.length) == 0, "%u: %.*s",
                  (unsigned)id, (int)bytes.length, (const char *)bytes.bytes);
}

START_TEST(frames_are_transactions)
{
    struct app_rig *rig = upgraded(NULL, cuts[_i]);

    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "hello");
    send_text(rig, FLOW_TO_CLIENT, FIN | BINARY, "");
    send_text(rig, FLOW_TO_CLIENT, FIN | 7, "reserved");
    ck_assert_str_eq(app_rig_protocol(rig), "websocket");
    assert_payload(rig, 1, FLOW_TO_SERVER, "hello");
    assert_payload(rig, 2, FLOW_TO_CLIENT, "");
    assert_payload(rig, 3, FLOW_TO_CLIENT, "reserved");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"fin\":true,\"mask\":305419896,\"opcode\":\"text\"}");
    ck_assert_str_eq(app_rig_json(rig, 2), "{\"fin\":true,\"opcode\":\"binary\"}");
    ck_assert_str_eq(app_rig_json(rig, 3), "{\"fin\":true,\"opcode\":\"unknown-7\"}");
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_SERVER, "websocket.mask:305419896;"));
    ck_assert(!app_rig_matches(rig, 2, FLOW_TO_CLIENT, "websocket.mask:!305419896;"));
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_CLIENT, "websocket.opcode:binary;"));
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_CLIENT, "websocket.opcode:>6;"));
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_CLIENT, "websocket.flags:fin,!comp;"));
    ck_assert(!app_rig_matches(rig, 3, FLOW_TO_CLIENT, "websocket.flags:comp;"));
    app_rig_free(rig);
}
END_TEST

/* The payload is available byte by byte, so that a rule can drop the packet that completes its match. */
START_TEST(payload_grows)
{
    struct app_rig *rig = upgraded(NULL, 0);
    struct app_bytes bytes = { 0 };

    app_rig_send(rig, FLOW_TO_CLIENT,
                 "\x81\x05"
                 "ab",
                 4);
    ck_assert(app_rig_buffer(rig, 1, "websocket.payload", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert(bytes.partial && bytes.length == 2);
    ck_assert(app_tx_needs_inspection(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    app_rig_send(rig, FLOW_TO_CLIENT, "cde", 3);
    assert_payload(rig, 1, FLOW_TO_CLIENT, "abcde");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    app_rig_free(rig);
}
END_TEST

START_TEST(messages_are_joined)
{
    struct app_rig *rig = upgraded(NULL, cuts[_i]);

    send_text(rig, FLOW_TO_SERVER, TEXT, "one ");
    send_text(rig, FLOW_TO_SERVER, FIN | PING, "ping");
    send_text(rig, FLOW_TO_CLIENT, FIN | TEXT, "other");
    send_text(rig, FLOW_TO_SERVER, 0, "two ");
    send_text(rig, FLOW_TO_SERVER, FIN, "three");
    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "next");
    assert_payload(rig, 1, FLOW_TO_SERVER, "one ");
    assert_payload(rig, 2, FLOW_TO_SERVER, "ping");
    assert_payload(rig, 4, FLOW_TO_SERVER, "two ");
    assert_payload(rig, 5, FLOW_TO_SERVER, "one two three");
    assert_payload(rig, 6, FLOW_TO_SERVER, "next");
    /* A message without an end, and a frame that continues none. */
    send_text(rig, FLOW_TO_SERVER, TEXT, "lost");
    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "begun");
    send_text(rig, FLOW_TO_SERVER, FIN, "alone");
    assert_payload(rig, 8, FLOW_TO_SERVER, "begun");
    assert_payload(rig, 9, FLOW_TO_SERVER, "alone");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* --- Compression ---------------------------------------------------------------------------------- */

/* Compresses a message with permessage-deflate: without the last four bytes of the flush. */
static uint32_t deflate_message(z_stream *zlib, const char *text, int flush, uint8_t *out, uint32_t room)
{
    zlib->next_in = (Bytef *)(uintptr_t)text;
    zlib->avail_in = (uInt)strlen(text);
    zlib->next_out = out;
    zlib->avail_out = room;
    ck_assert_int_ge(deflate(zlib, flush), Z_OK);
    return room - zlib->avail_out - (flush == Z_SYNC_FLUSH ? 4 : 0);
}

START_TEST(messages_are_decompressed)
{
    struct app_rig *rig = upgraded(NULL, cuts[_i]);
    z_stream zlib = { 0 };
    uint8_t out[512];
    uint32_t length;

    ck_assert_int_eq(deflateInit2(&zlib, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    length = deflate_message(&zlib, "a message and a message", Z_SYNC_FLUSH, out, sizeof(out));
    send_frame(rig, FLOW_TO_SERVER, FIN | RSV1 | TEXT, out, length);
    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "not compressed");
    length = deflate_message(&zlib, "a message and a reference to it", Z_SYNC_FLUSH, out, sizeof(out));
    send_frame(rig, FLOW_TO_SERVER, RSV1 | TEXT, out, 5);
    send_text(rig, FLOW_TO_SERVER, FIN | PING, "ping");
    send_frame(rig, FLOW_TO_SERVER, FIN, out + 5, length - 5);
    assert_payload(rig, 1, FLOW_TO_SERVER, "a message and a message");
    assert_payload(rig, 2, FLOW_TO_SERVER, "not compressed");
    assert_payload(rig, 4, FLOW_TO_SERVER, "ping");
    assert_payload(rig, 5, FLOW_TO_SERVER, "a message and a reference to it");
    /* A final block is followed by a byte 0 (RFC 7692 7.2.3.5); the window is kept. */
    ck_assert_int_eq(deflateReset(&zlib), Z_OK);
    ck_assert_int_eq(deflateSetDictionary(&zlib, (const Bytef *)"a message and a reference to it", 31), Z_OK);
    length = deflate_message(&zlib, "the final reference to it", Z_FINISH, out, sizeof(out));
    out[length] = 0;
    send_frame(rig, FLOW_TO_SERVER, FIN | RSV1 | TEXT, out, length + 1);
    assert_payload(rig, 6, FLOW_TO_SERVER, "the final reference to it");
    ck_assert(!app_rig_has_event(rig, 6, "invalid_compressed_data"));
    ck_assert(!rig->failed);
    deflateEnd(&zlib);
    app_rig_free(rig);
}
END_TEST

START_TEST(invalid_compression_is_reported)
{
    struct app_rig *rig = upgraded(NULL, cuts[_i]);
    z_stream zlib = { 0 };
    uint8_t out[512];
    uint32_t length;

    send_text(rig, FLOW_TO_SERVER, FIN | RSV1 | TEXT, "\xff plain");
    ck_assert(app_rig_has_event(rig, 1, "invalid_compressed_data"));
    assert_payload(rig, 1, FLOW_TO_SERVER, "\xff plain");
    ck_assert_int_eq(deflateInit2(&zlib, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    length = deflate_message(&zlib, "valid, then not", Z_SYNC_FLUSH, out, sizeof(out));
    memcpy(out + length, "\0\0\xff\xff\xff\xff\xff", 7);
    send_frame(rig, FLOW_TO_SERVER, FIN | RSV1 | TEXT, out, length + 7);
    ck_assert(app_rig_has_event(rig, 2, "invalid_compressed_data"));
    assert_payload(rig, 2, FLOW_TO_SERVER, "valid, then not");
    ck_assert_int_eq(deflateReset(&zlib), Z_OK);
    length = deflate_message(&zlib, "the next message", Z_SYNC_FLUSH, out, sizeof(out));
    send_frame(rig, FLOW_TO_SERVER, FIN | RSV1 | TEXT, out, length);
    ck_assert(!app_rig_has_event(rig, 3, "invalid_compressed_data"));
    assert_payload(rig, 3, FLOW_TO_SERVER, "the next message");
    deflateEnd(&zlib);
    app_rig_free(rig);
}
END_TEST

/* Beyond max-payload-size a message is decompressed without being kept, because the next one refers to it. A message of
 * more than 4 MiB is given up. */
START_TEST(decompression_is_bounded)
{
    enum { LARGE = 300000, HUGE_SIZE = 5 << 20 };
    struct app_rig *rig = upgraded(NULL, 0);
    z_stream zlib = { 0 };
    struct app_bytes bytes = { 0 };
    char *text = malloc(HUGE_SIZE + 1);
    uint8_t *out = malloc(HUGE_SIZE);
    uint32_t length;

    ck_assert(text && out);
    memset(text, 'x', HUGE_SIZE);
    strcpy(text + LARGE - 10, "reference");
    ck_assert_int_eq(deflateInit2(&zlib, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    length = deflate_message(&zlib, text, Z_SYNC_FLUSH, out, HUGE_SIZE);
    send_frame(rig, FLOW_TO_CLIENT, FIN | RSV1 | TEXT, out, length);
    ck_assert(app_rig_has_event(rig, 1, "skip_end_of_payload"));
    ck_assert(!app_rig_has_event(rig, 1, "invalid_compressed_data"));
    ck_assert(app_rig_buffer(rig, 1, "websocket.payload", FLOW_TO_CLIENT, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 65535);
    length = deflate_message(&zlib, "a reference to it", Z_SYNC_FLUSH, out, HUGE_SIZE);
    send_frame(rig, FLOW_TO_CLIENT, FIN | RSV1 | TEXT, out, length);
    assert_payload(rig, 2, FLOW_TO_CLIENT, "a reference to it");
    text[LARGE - 1] = 'x';
    text[HUGE_SIZE] = '\0';
    length = deflate_message(&zlib, text, Z_SYNC_FLUSH, out, HUGE_SIZE);
    send_frame(rig, FLOW_TO_CLIENT, FIN | RSV1 | TEXT, out, length);
    ck_assert(app_rig_has_event(rig, 3, "invalid_compressed_data"));
    ck_assert(!rig->failed);
    deflateEnd(&zlib);
    free(text);
    free(out);
    app_rig_free(rig);
}
END_TEST

/* --- Limits and other protocols ------------------------------------------------------------------- */

START_TEST(lengths_are_limited)
{
    struct app_rig *rig = upgraded("app-layer: { protocols: { websocket: { max-payload-size: 10 } } }", cuts[_i]);
    static char longest[70000];

    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "ten bytes.");
    ck_assert(!app_rig_has_event(rig, 1, "skip_end_of_payload"));
    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "more than ten bytes");
    ck_assert(app_rig_has_event(rig, 2, "skip_end_of_payload"));
    assert_payload(rig, 2, FLOW_TO_SERVER, "more than ");
    send_text(rig, FLOW_TO_SERVER, TEXT, "six...");
    send_text(rig, FLOW_TO_SERVER, FIN, "five.");
    ck_assert(app_rig_has_event(rig, 4, "reassembly_limit_reached"));
    assert_payload(rig, 4, FLOW_TO_SERVER, "five.");
    send_text(rig, FLOW_TO_SERVER, TEXT, "six...");
    send_text(rig, FLOW_TO_SERVER, 0, "five.");
    ck_assert(app_rig_has_event(rig, 6, "reassembly_limit_reached"));
    send_text(rig, FLOW_TO_SERVER, FIN, "end");
    ck_assert(!app_rig_has_event(rig, 7, "reassembly_limit_reached"));
    assert_payload(rig, 7, FLOW_TO_SERVER, "end");
    send_frame(rig, FLOW_TO_SERVER, FIN | BINARY, longest, sizeof(longest));
    send_text(rig, FLOW_TO_SERVER, FIN | TEXT, "after");
    ck_assert(app_rig_has_event(rig, 8, "skip_end_of_payload"));
    assert_payload(rig, 9, FLOW_TO_SERVER, "after");
    app_rig_free(rig);
}
END_TEST

START_TEST(other_bytes_are_unexpected)
{
    struct app_rig *rig = upgraded(NULL, 0);

    app_rig_text(rig, FLOW_TO_SERVER, "\x31 not a frame");
    app_rig_text(rig, FLOW_TO_CLIENT, "\x31 neither");
    ck_assert_uint_ne(rig->verdict.events & 1u << (APP_LAYER_UNEXPECTED - APP_LAYER_EVENT_FIRST), 0);
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
    app_rig_free(rig);
}
END_TEST

START_TEST(a_disabled_protocol_is_not_unexpected)
{
    struct app_rig *rig = upgraded("app-layer: { protocols: { websocket: { enabled: no } } }", 0);

    app_rig_text(rig, FLOW_TO_SERVER, "\x31 not a frame");
    ck_assert_uint_eq(rig->verdict.events, 0);
    app_rig_text(rig, FLOW_TO_CLIENT, "\x31 neither");
    ck_assert_uint_eq(rig->verdict.events, 0);
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "http");
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_websocket");
    TCase *tcase = tcase_create("app_websocket");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, frames_are_transactions, 0, CUTS);
    tcase_add_test(tcase, payload_grows);
    tcase_add_loop_test(tcase, messages_are_joined, 0, CUTS);
    tcase_add_loop_test(tcase, messages_are_decompressed, 0, CUTS);
    tcase_add_loop_test(tcase, invalid_compression_is_reported, 0, CUTS);
    tcase_add_test(tcase, decompression_is_bounded);
    tcase_add_loop_test(tcase, lengths_are_limited, 0, CUTS);
    tcase_add_test(tcase, other_bytes_are_unexpected);
    tcase_add_test(tcase, a_disabled_protocol_is_not_unexpected);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
