/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of WebSocket frames and SIP messages. */
#include <zlib.h>

#include "work.h"

/* --- WebSocket ------------------------------------------------------------------------------------ */

enum { FIN = 0x80, RSV1 = 0x40, TEXT = 1, PING = 9 };

static void upgrade(struct work *work)
{
    work_text(work, FLOW_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n");
    work_text(work, FLOW_TO_CLIENT, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
}

static void put_frame(struct wire *wire, uint8_t first, const void *bytes, size_t length)
{
    wire_number(wire, 1, first);
    wire_number(wire, 1, 127);
    wire_number(wire, 8, length);
    wire_put(wire, bytes, length);
}

static void websocket_pings(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    upgrade(work);
    for (uint32_t i = 0; i < units; i++)
        wire_number(&wire, 2, (FIN | PING) << 8);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

/* One message in fragments of a byte. */
static void websocket_fragments(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    upgrade(work);
    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 2, (i == 0 ? TEXT : 0) << 8 | 1);
        wire_number(&wire, 1, 'x');
    }
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void websocket_long_frame(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, block = { 0 };

    upgrade(work);
    wire_fill(&block, 'x', (size_t)units << 10);
    put_frame(&wire, FIN | TEXT, block.bytes, block.length);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
    wire_free(&block);
}

/* Messages that are compressed as well as possible. */
static void websocket_bombs(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, zeros = wire_zeros(8), packed = { .bytes = malloc(zeros.length), .room = zeros.length };
    z_stream stream = {
        .next_in = zeros.bytes, .avail_in = (uInt)zeros.length, .next_out = packed.bytes, .avail_out = (uInt)packed.room
    };

    app_rig_require(packed.bytes && deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK &&
                        deflate(&stream, Z_SYNC_FLUSH) == Z_OK,
                    "deflate");
    packed.length = stream.total_out;
    deflateEnd(&stream);
    upgrade(work);
    for (uint32_t i = 0; i < units; i++)
        put_frame(&wire, FIN | RSV1 | TEXT, packed.bytes, packed.length);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
    wire_free(&zeros);
    wire_free(&packed);
}

/* Messages of empty blocks: compressed data without output. */
static void websocket_empty_blocks(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, blocks = { 0 };

    upgrade(work);
    for (unsigned i = 0; i < 100; i++)
        wire_number(&blocks, 5, UINT64_C(0x000000ffff));
    for (uint32_t i = 0; i < units; i++)
        put_frame(&wire, FIN | RSV1 | TEXT, blocks.bytes, blocks.length);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
    wire_free(&blocks);
}

/* --- SIP ------------------------------------------------------------------------------------------ */

static void sip_requests(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "ACK sip:a SIP/2.0\n\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void sip_endless_head(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "ACK sip:a SIP/2.0\r\n");
    for (uint32_t i = 0; i < units << 10; i++)
        wire_text(&wire, "v:x\r\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void sip_headers(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "ACK sip:a SIP/2.0\r\n");
        for (unsigned k = 0; k < 60; k++)
            wire_text(&wire, "v:x\r\nf:\r\nt:\r\nl:0\r\n");
        wire_text(&wire, "\r\n");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void sip_sdp_lines(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "ACK sip:a SIP/2.0\r\nc:application/sdp\r\nl:60000\r\n\r\n");
        for (unsigned k = 0; k < 20000; k++)
            wire_text(&wire, "a=\n");
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- S7comm-plus ---------------------------------------------------------------------------------- */

static void s7commplus_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 0x0300000b);
        wire_number(&wire, 3, 0x02f080);
        wire_number(&wire, 4, 0x72020000);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Packets without data. */
static void s7commplus_empty_packets(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    s7commplus_messages(work, 1);
    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 0x03000007);
        wire_number(&wire, 3, 0x02f080);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- S7comm --------------------------------------------------------------------------------------- */

static void put_s7comm_packet(struct wire *wire, bool is_last, const void *bytes, size_t length)
{
    wire_number(wire, 2, 0x0300);
    wire_number(wire, 2, 7 + length);
    wire_number(wire, 3, is_last ? 0x02f080 : 0x02f000);
    wire_put(wire, bytes, length);
}

static void s7comm_pdus(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        put_s7comm_packet(&wire, true, "\x32\1\0\0\0\0\0\0\0", 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* A PDU in packets of one byte each, which becomes too long. */
static void s7comm_parts(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    s7comm_pdus(work, 1);
    for (uint32_t i = 0; i < units; i++)
        put_s7comm_packet(&wire, false, "x", 1);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Jobs that read as many variables as possible, in the shortest encoding. */
static void s7comm_variables(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, read = { 0 };
    uint32_t parameters = 2 + 255 * (4 + 5 * 50);

    s7comm_pdus(work, 1);
    wire_number(&read, 6, UINT64_C(0x320100000000));
    wire_number(&read, 2, parameters);
    wire_number(&read, 2, 0);
    wire_number(&read, 2, 0x04ff);
    for (unsigned i = 0; i < 255; i++) {
        wire_number(&read, 4, 0x12fcb032); /* 252 bytes: syntax, number of parts, parts */
        wire_fill(&read, 1, 250);
    }
    for (uint32_t i = 0; i < units; i++)
        put_s7comm_packet(&wire, true, read.bytes, read.length);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&read);
}

/* --- RTSP ----------------------------------------------------------------------------------------- */

static void rtsp_requests(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_text(&wire, "PLAY rtsp:a RTSP/1.0\n\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void rtsp_endless_head(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_text(&wire, "PLAY rtsp:a RTSP/1.0\r\n");
    for (uint32_t i = 0; i < units << 10; i++)
        wire_text(&wire, "v:x\r\n");
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- IEC 60870-5-104 ------------------------------------------------------------------------------ */

static void iec104_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_number(&wire, 6, UINT64_C(0x680407000000));
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void iec104_invalid_message(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_number(&wire, 6, UINT64_C(0x680407000000));
    wire_fill(&wire, 0, (size_t)units << 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- OPC UA --------------------------------------------------------------------------------------- */

static void put_opcua_chunk(struct wire *wire, char place, uint8_t request, const struct wire *body)
{
    uint32_t size = 24 + (uint32_t)body->length;

    wire_text(wire, "MSG");
    wire_number(wire, 1, (uint8_t)place);
    wire_number(wire, 4, __builtin_bswap32(size));
    wire_fill(wire, 0, 12);
    wire_number(wire, 4, request);
    wire_put(wire, body->bytes, body->length);
}

static void opcua_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, body = { 0 };

    for (uint32_t i = 0; i < units; i++)
        put_opcua_chunk(&wire, 'F', 1, &body);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* One message in chunks of one byte each. */
static void opcua_chunks(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, body = { 0 };

    wire_number(&body, 1, 1);
    for (uint32_t i = 0; i < units; i++)
        put_opcua_chunk(&wire, 'C', 1, &body);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&body);
}

/* Messages that wait for further chunks. */
static void opcua_open_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, body = { 0 };

    wire_fill(&body, 1, 100);
    for (uint32_t i = 0; i < units; i++)
        put_opcua_chunk(&wire, 'C', (uint8_t)i, &body);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&body);
}

static void opcua_long_chunk(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, body = { 0 };

    wire_fill(&body, 1, (size_t)units << 10);
    put_opcua_chunk(&wire, 'F', 1, &body);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&body);
}

/* A Write request whose value is an array of variants of one byte each, and a Call request with the shortest items. */
static void opcua_values(struct work *work, uint32_t units)
{
    static const char write[] = "\1\0\xa1\2\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0"
                                "\1\0\0\0\0\1\x0d\0\0\0\xff\xff\xff\xff\1\x98\0\xf0\0\0";
    static const char call[] = "\1\0\xc8\2\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0"
                               "\0\x1e\0\0";
    struct wire wire = { 0 }, values = { 0 }, calls = { 0 };

    wire_put(&values, write, sizeof(write) - 1);
    wire_fill(&values, 0, 0xf000);
    wire_put(&calls, call, sizeof(call) - 1);
    wire_fill(&calls, 0, 0xf000);
    for (uint32_t i = 0; i < units; i++) {
        put_opcua_chunk(&wire, 'F', 1, &values);
        put_opcua_chunk(&wire, 'F', 1, &calls);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&values);
    wire_free(&calls);
}

#define ROW(text, of, at, function, ...)                                                                               \
    {                                                                                                                  \
        .name = text, .proto = of, .port = at, .run = function, __VA_ARGS__                                            \
    }

const struct flood message_floods[] = {
    ROW("WebSocket: pings", "websocket", 80, websocket_pings, .units = 1500, .memory_kib = 8192),
    ROW("WebSocket: fragments", "websocket", 80, websocket_fragments, .units = 1500, .memory_kib = 8192),
    ROW("WebSocket: a long frame", "websocket", 80, websocket_long_frame, .units = 500, .memory_kib = 1024,
        .event = "skip_end_of_payload"),
    ROW("WebSocket: compression bombs", "websocket", 80, websocket_bombs, .units = 3, .memory_kib = 2048,
        .event = "invalid_compressed_data"),
    ROW("WebSocket: empty blocks", "websocket", 80, websocket_empty_blocks, .units = 100, .memory_kib = 2048),
    ROW("SIP: requests", "sip", 5060, sip_requests, .units = 1500, .memory_kib = 16384),
    ROW("SIP: a head that does not end", "sip", 5060, sip_endless_head, .units = 16, .memory_kib = 2048,
        .event = "invalid_data", .given_up = true),
    ROW("SIP: headers", "sip", 5060, sip_headers, .units = 50, .memory_kib = 8192),
    ROW("IEC 104: messages", "iec104", 2404, iec104_messages, .units = 8000, .memory_kib = 8192),
    ROW("IEC 104: no message", "iec104", 2404, iec104_invalid_message, .units = 16, .memory_kib = 1024,
        .event = "invalid_start", .given_up = true),
    ROW("S7comm-plus: messages", "s7commplus", 102, s7commplus_messages, .units = 5000, .memory_kib = 8192),
    ROW("S7comm-plus: packets without data", "s7commplus", 102, s7commplus_empty_packets, .units = 5000,
        .memory_kib = 1024),
    ROW("S7comm: PDUs", "s7comm", 102, s7comm_pdus, .units = 4000, .memory_kib = 8192),
    ROW("S7comm: packets of a byte", "s7comm", 102, s7comm_parts, .units = 70000, .memory_kib = 1024,
        .event = "too_long"),
    ROW("S7comm: variables", "s7comm", 102, s7comm_variables, .units = 8, .memory_kib = 8192),
    ROW("OPC UA: messages", "opcua", 4840, opcua_messages, .units = 3000, .memory_kib = 8192),
    ROW("OPC UA: chunks of a message", "opcua", 4840, opcua_chunks, .units = 3000, .memory_kib = 1024),
    ROW("OPC UA: messages that wait", "opcua", 4840, opcua_open_messages, .units = 1000, .memory_kib = 8192,
        .event = "too_many_messages"),
    ROW("OPC UA: a long chunk", "opcua", 4840, opcua_long_chunk, .units = 500, .memory_kib = 1024,
        .event = "body_too_large"),
    ROW("OPC UA: values", "opcua", 4840, opcua_values, .units = 4, .memory_kib = 8192),
    ROW("RTSP: requests", "rtsp", 554, rtsp_requests, .units = 1500, .memory_kib = 8192),
    ROW("RTSP: a head that does not end", "rtsp", 554, rtsp_endless_head, .units = 16, .memory_kib = 2048,
        .event = "invalid_data", .given_up = true),
    ROW("SIP: lines of SDP", "sip", 5060, sip_sdp_lines, .units = 2, .memory_kib = 2048, .event = "invalid_data"),
};
const size_t message_flood_count = sizeof(message_floods) / sizeof(message_floods[0]);
