/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records: a NetBIOS session header with a 24-bit length, followed by one message, or several of SMB 2. Encrypted and
 * compressed messages are skipped. After a gap the parser searches for the protocol id of the next message, unless the
 * gap is inside the data of a file or inside bytes that are skipped.
 */
#include <string.h>

#include "smb_priv.h"

const struct app_event smb_events[SMB_EVENTS] = {
    [SMB_INTERNAL_ERROR] = { "internal_error", "never set; accepted for compatibility with existing rules" },
    [SMB_MALFORMED_DATA] = { "malformed_data", "a message is truncated or malformed" },
    [SMB_RECORD_OVERFLOW] = { "record_overflow", "never set; accepted for compatibility with existing rules" },
    [SMB_MALFORMED_NTLMSSP_REQUEST] = { "malformed_ntlmssp_request",
                                        "never set; accepted for compatibility with existing rules" },
    [SMB_MALFORMED_NTLMSSP_RESPONSE] = { "malformed_ntlmssp_response",
                                         "never set; accepted for compatibility with existing rules" },
    [SMB_DUPLICATE_NEGOTIATE] = { "duplicate_negotiate",
                                  "a second negotiation was sent before the response to the first" },
    [SMB_NEGOTIATE_MALFORMED_DIALECTS] = { "negotiate_malformed_dialects",
                                           "a dialect name is empty, or the chosen dialect was not offered" },
    [SMB_FILE_OVERLAP] = { "file_overlap", "file data overlaps data received before" },
    [SMB_REQUEST_TO_CLIENT] = { "request_to_client", "the server sent a request" },
    [SMB_RESPONSE_TO_SERVER] = { "response_to_server", "the client sent a response" },
    [SMB_NEGOTIATE_MAX_READ_SIZE_TOO_LARGE] = { "negotiate_max_read_size_too_large",
                                                "the maximum read size of the server exceeds max-read-size" },
    [SMB_NEGOTIATE_MAX_WRITE_SIZE_TOO_LARGE] = { "negotiate_max_write_size_too_large",
                                                 "the maximum write size of the server exceeds max-write-size" },
    [SMB_READ_REQUEST_TOO_LARGE] = { "read_request_too_large",
                                     "a read exceeds the negotiated maximum or max-read-size" },
    [SMB_READ_RESPONSE_TOO_LARGE] = { "read_response_too_large", "read data exceeds the negotiated maximum, "
                                                                 "max-read-size, or the length of the record" },
    [SMB_READ_QUEUE_SIZE_EXCEEDED] = { "read_queue_size_exceeded",
                                       "out-of-order data of a file being read exceeds max-read-queue-size" },
    [SMB_READ_QUEUE_CNT_EXCEEDED] = { "read_queue_cnt_exceeded",
                                      "out-of-order chunks of a file being read exceed max-read-queue-cnt" },
    [SMB_WRITE_REQUEST_TOO_LARGE] = { "write_request_too_large", "a write exceeds the negotiated maximum, "
                                                                 "max-write-size, or the length of the record" },
    [SMB_WRITE_QUEUE_SIZE_EXCEEDED] = { "write_queue_size_exceeded",
                                        "out-of-order data of a file being written exceeds max-write-queue-size" },
    [SMB_WRITE_QUEUE_CNT_EXCEEDED] = { "write_queue_cnt_exceeded",
                                       "out-of-order chunks of a file being written exceed max-write-queue-cnt" },
    [SMB_UNUSUAL_NTLMSSP_ORDER] = { "unusual_ntlmssp_order",
                                    "the fields of an NTLMSSP message are in an unusual order" },
    [SMB_TOO_MANY_TRANSACTIONS] = { "too_many_transactions",
                                    "the number of requests without a response exceeds max-tx" },
};

enum nbss_type { NBSS_MESSAGE = 0, NBSS_REQUEST = 0x81, NBSS_KEEP_ALIVE = 0x85 };
enum { PROTOCOL_ID_SIZE = 4, FIRST_RECORD_MAX = 256 };

/* ProtocolId of [MS-CIFS] and [MS-SMB2]: SMB 1 (ff), SMB 2 (fe), encrypted (fd) or compressed (fc). */
static bool is_protocol_id(const uint8_t *bytes)
{
    return bytes[0] >= 0xfc && memcmp(bytes + 1, "SMB", 3) == 0;
}

static bool is_encrypted_or_compressed(const uint8_t *protocol_id)
{
    return protocol_id[0] == 0xfc || protocol_id[0] == 0xfd;
}

static bool is_nbss_type(uint8_t type)
{
    return type == NBSS_MESSAGE || (type >= NBSS_REQUEST && type <= NBSS_KEEP_ALIVE);
}

static uint32_t record_length(const uint8_t *header)
{
    return (uint32_t)header[1] << 16 | (uint32_t)header[2] << 8 | header[3];
}

/* --- Frames ------------------------------------------------------------------------------------------ */

enum {
    FRAME_NBSS_PDU,
    FRAME_NBSS_HDR,
    FRAME_NBSS_DATA,
    FRAME_SMB1_PDU,
    FRAME_SMB1_HDR,
    FRAME_SMB1_DATA,
    FRAME_SMB2_PDU,
    FRAME_SMB2_HDR,
    FRAME_SMB2_DATA,
    FRAME_SMB3_PDU,
    FRAME_SMB3_HDR,
    FRAME_SMB3_DATA,
};
static const char *const frames[] = {
    [FRAME_NBSS_PDU] = "nbss.pdu",
    [FRAME_NBSS_HDR] = "nbss.hdr",
    [FRAME_NBSS_DATA] = "nbss.data",
    [FRAME_SMB1_PDU] = "smb1.pdu",
    [FRAME_SMB1_HDR] = "smb1.hdr",
    [FRAME_SMB1_DATA] = "smb1.data",
    [FRAME_SMB2_PDU] = "smb2.pdu",
    [FRAME_SMB2_HDR] = "smb2.hdr",
    [FRAME_SMB2_DATA] = "smb2.data",
    [FRAME_SMB3_PDU] = "smb3.pdu",
    [FRAME_SMB3_HDR] = "smb3.hdr",
    [FRAME_SMB3_DATA] = "smb3.data",
    NULL,
};
enum { SMB3_TRANSFORM_HEADER = 52, SMB2_NEXT_COMMAND = 20 };

/* Announces a message and its parts: three types, from `pdu` on. */
static void announce_parts(const struct smb_parser *parser, uint32_t at, uint32_t length, uint32_t header, unsigned pdu)
{
    app_frame(parser->context, parser->in, at, length, pdu, NULL);
    app_frame(parser->context, parser->in, at, header < length ? header : length, pdu + 1, NULL);
    if (length > header)
        app_frame(parser->context, parser->in, at + header, length - header, pdu + 2, NULL);
}

/* Announces the frames of the record at index `at` of the input, as far as its bytes have arrived. */
static void announce_record(const struct smb_parser *parser, uint32_t at)
{
    const uint8_t *bytes = parser->in->bytes + at;
    uint32_t received = parser->in->length - at, length = record_length(bytes), next;

    announce_parts(parser, at, SMB_NBSS_HEADER + length, SMB_NBSS_HEADER, FRAME_NBSS_PDU);
    at += SMB_NBSS_HEADER;
    bytes += SMB_NBSS_HEADER;
    received = received - SMB_NBSS_HEADER < length ? received - SMB_NBSS_HEADER : length;
    if (received < PROTOCOL_ID_SIZE || !is_protocol_id(bytes))
        return;
    if (bytes[0] == 0xff)
        announce_parts(parser, at, length, SMB1_HEADER, FRAME_SMB1_PDU);
    else if (bytes[0] == 0xfd)
        announce_parts(parser, at, length, SMB3_TRANSFORM_HEADER, FRAME_SMB3_PDU);
    for (; received >= SMB2_NEXT_COMMAND + 4 && bytes[0] == 0xfe && is_protocol_id(bytes); received -= next) {
        next = load_le32(bytes + SMB2_NEXT_COMMAND);
        announce_parts(parser, at, next >= SMB2_HEADER && next < length ? next : length, SMB2_HEADER, FRAME_SMB2_PDU);
        if (next < SMB2_HEADER || next >= received)
            break;
        at += next;
        bytes += next;
        length -= next;
    }
}

/* --- Records ----------------------------------------------------------------------------------------- */

/* Parses the messages of an SMB 2 record, which may be compounded. Returns false if the record is malformed. */
static bool handle_smb2_messages(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t missing)
{
    struct smb_message message;
    uint32_t next;

    while (length > 0 && !parser->failed) {
        if (!smb2_header_read(bytes, length, &message, &next))
            return false;
        if (next > 0 && (next < SMB2_HEADER || (next > length && missing == 0)))
            return false;
        if (next > 0 && next < length)
            message.length = next;
        else
            message.missing = missing;
        smb2_handle_message(parser, &message);
        if (next == 0 || next >= length)
            break;
        bytes += next;
        length -= next;
    }
    return true;
}

/* Whether enough bytes of the record have been received to parse it: all of it, the start of a record of file data, or
 * SMB_RECORD_MAX bytes. Otherwise sets *needed to the number of bytes required. */
static bool can_parse_record(struct smb_parser *parser, const uint8_t *bytes, uint32_t received, uint32_t length,
                             uint32_t *needed)
{
    enum smb_stream kind = SMB_STREAM_NO;

    if (received >= length)
        return true;
    *needed = PROTOCOL_ID_SIZE;
    if (received < PROTOCOL_ID_SIZE)
        return false;
    if (bytes[0] == 0xfe)
        kind = smb2_stream_kind(parser, bytes, received, needed);
    else if (bytes[0] == 0xff)
        kind = smb1_stream_kind(parser, bytes, received, needed);
    if (kind == SMB_STREAM_YES)
        return true;
    if (kind == SMB_STREAM_NO || *needed > length)
        *needed = length < SMB_RECORD_MAX ? length : SMB_RECORD_MAX;
    return kind == SMB_STREAM_NO && received >= *needed;
}

struct record_result {
    uint32_t consumed, needed; /* consumed is 0 if more bytes are required */
    bool broken;               /* the record is malformed: parsing of the flow ends */
};

/* Parses the record at the start of the bytes; of a record with file data, the part before the data is sufficient. */
static struct record_result parse_next_record(struct smb_parser *parser, const uint8_t *bytes, uint32_t left)
{
    struct smb_side *side = &parser->state->side[parser->direction];
    const uint8_t *content;
    uint32_t length, received, needed = 0;
    struct smb_message message;
    bool ok = true;

    if (left < SMB_NBSS_HEADER)
        return (struct record_result){ .needed = SMB_NBSS_HEADER };
    if (app_wants_frames(parser->context))
        announce_record(parser, (uint32_t)(bytes - parser->in->bytes));
    content = bytes + SMB_NBSS_HEADER;
    length = record_length(bytes);
    received = left - SMB_NBSS_HEADER < length ? left - SMB_NBSS_HEADER : length;
    if (!is_nbss_type(bytes[0]))
        return (struct record_result){ .broken = true };
    if (bytes[0] != NBSS_MESSAGE) {
        side->skip = length - received;
        return (struct record_result){ .consumed = SMB_NBSS_HEADER + received };
    }
    if (received >= PROTOCOL_ID_SIZE && !is_protocol_id(content))
        return (struct record_result){ .broken = true };
    if (received >= PROTOCOL_ID_SIZE && is_encrypted_or_compressed(content)) {
        side->skip = length - received;
        return (struct record_result){ .consumed = SMB_NBSS_HEADER + received };
    }
    if (!can_parse_record(parser, content, received, length, &needed))
        return (struct record_result){ .needed = SMB_NBSS_HEADER + needed };
    side->chunk_left = 0;
    if (received >= PROTOCOL_ID_SIZE && content[0] == 0xfe) {
        ok = handle_smb2_messages(parser, content, received, length - received);
    } else if (received >= PROTOCOL_ID_SIZE) {
        ok = smb1_header_read(content, received, &message);
        if (ok) {
            message.missing = length - received;
            smb1_handle_message(parser, &message);
        }
    }
    if (!ok)
        return (struct record_result){ .broken = true };
    if (side->chunk_left > length - received)
        side->chunk_left = length - received;
    side->skip = length - received - side->chunk_left;
    return (struct record_result){ .consumed = SMB_NBSS_HEADER + received };
}

/* --- Gaps -------------------------------------------------------------------------------------------- */

static void handle_gap(struct smb_parser *parser, uint64_t length)
{
    struct smb_side *side = &parser->state->side[parser->direction];

    length -= smb_file_data(parser, NULL, length);
    if (length <= side->skip) {
        side->skip -= (uint32_t)length;
        return;
    }
    side->skip = 0;
    side->lost = true;
    /* The gap may have contained the responses of all open transactions, but a file remains open. */
    for (struct smb_tx *tx = smb_tx_first_open(parser), *next; tx; tx = next) {
        next = smb_tx_next_open(tx);
        if (tx->kind == SMB_FILE)
            continue;
        smb_tx_complete(parser, tx, FLOW_TO_SERVER);
        if (parser->direction == FLOW_TO_CLIENT)
            smb_tx_complete(parser, tx, FLOW_TO_CLIENT);
    }
}

/* Searches for the next record after a gap and clears side->lost if there is one. Returns the number of bytes before
 * the record, or, without one, the number of leading bytes at which no record starts. */
static uint32_t find_record(struct smb_side *side, const uint8_t *bytes, uint32_t length)
{
    uint32_t at = 0;

    for (; length >= SMB_NBSS_HEADER + PROTOCOL_ID_SIZE && at <= length - SMB_NBSS_HEADER - PROTOCOL_ID_SIZE; at++) {
        if (bytes[at] == NBSS_MESSAGE && is_protocol_id(bytes + at + SMB_NBSS_HEADER)) {
            side->lost = false;
            break;
        }
    }
    return at;
}

/* --- Input ------------------------------------------------------------------------------------------- */

static struct app_result parse_records(struct smb_parser *parser, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct smb_side *side = &parser->state->side[parser->direction];

    while (result.consumed < in->length) {
        struct record_result record = { .consumed = 0 };
        const uint8_t *bytes;
        uint32_t skipped;

        /* The rest of the previous record: file data, then bytes that are not parsed. */
        result.consumed += smb_file_data(parser, in->bytes + result.consumed, in->length - result.consumed);
        skipped = in->length - result.consumed < side->skip ? in->length - result.consumed : side->skip;
        side->skip -= skipped;
        result.consumed += skipped;
        if (side->lost)
            result.consumed += find_record(side, in->bytes + result.consumed, in->length - result.consumed);
        bytes = in->bytes + result.consumed;
        if (side->lost)
            result.needed = SMB_NBSS_HEADER + PROTOCOL_ID_SIZE;
        if (side->lost || result.consumed == in->length)
            return result;
        record = parse_next_record(parser, bytes, in->length - result.consumed);
        if (record.broken)
            smb_report_event(parser, 0, SMB_MALFORMED_DATA);
        if (record.broken || parser->failed) {
            result.status = APP_ERROR;
            return result;
        }
        result.consumed += record.consumed;
        result.needed = record.needed;
        if (record.consumed == 0)
            return result;
    }
    return result;
}

static struct app_result smb_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct smb_parser parser = {
        .context = context,
        .heap = app_heap(context),
        .state = state,
        .settings = app_get_settings(context),
        .direction = in->direction,
        .in = in,
    };
    struct app_result result;

    if (in->gap > 0)
        handle_gap(&parser, in->gap);
    result = parse_records(&parser, in);
    if ((in->end && !parser.state->side[in->direction].ended) || result.status == APP_ERROR)
        smb_file_close_all(&parser);
    parser.state->side[in->direction].ended |= in->end;
    return result;
}

static void smb_stop(struct app_context *context, void *data)
{
    struct heap *heap = app_heap(context);
    struct smb_state *state = data;

    smb_table_clear(heap, &state->reads);
    smb_table_clear(heap, &state->trees);
    smb_table_clear(heap, &state->names);
    smb_table_clear(heap, &state->pending);
    smb_table_clear(heap, &state->fragments);
    dce_bindings_unref(heap, state->bindings);
    state->bindings = NULL;
}

/* --- Detection --------------------------------------------------------------------------------------- */

enum { SMB1_FLAGS_AT = 9, SMB2_FLAGS_AT = 16, FLAGS_END = SMB2_FLAGS_AT + 1, SMB_PORT = 445 };

/* Determines from the response flag whether client and server are swapped. Encrypted messages have no such flag, so the
 * port decides. */
static enum app_probe_result probe_direction(const struct app_probe *in, const uint8_t *message)
{
    bool from_server = in->direction == FLOW_TO_CLIENT;

    if (message[0] == 0xff)
        from_server = message[SMB1_FLAGS_AT] & 0x80;
    else if (message[0] == 0xfe)
        from_server = message[SMB2_FLAGS_AT] & 1;
    else if (in->client_port == SMB_PORT && in->server_port != SMB_PORT)
        return APP_REVERSED;
    return from_server == (in->direction == FLOW_TO_CLIENT) ? APP_YES : APP_REVERSED;
}

/* A NetBIOS session request may precede the first SMB message. */
static enum app_probe_result smb_probe(const struct app_probe *in)
{
    uint32_t length, at = SMB_NBSS_HEADER;

    if (in->length < SMB_NBSS_HEADER)
        return in->length == 0 || is_nbss_type(in->bytes[0]) ? APP_UNSURE : APP_NO;
    length = record_length(in->bytes);
    if (!is_nbss_type(in->bytes[0]))
        return APP_NO;
    if (in->bytes[0] != NBSS_MESSAGE) {
        if (!in->port_hint || length >= FIRST_RECORD_MAX)
            return APP_NO;
        at += length + SMB_NBSS_HEADER;
    } else if (length < SMB1_HEADER) {
        return APP_NO;
    }
    if (in->length >= at + PROTOCOL_ID_SIZE && !is_protocol_id(in->bytes + at))
        return APP_NO;
    return in->length < at + FLAGS_END ? APP_UNSURE : probe_direction(in, in->bytes + at);
}

const struct app_proto app_smb = {
    .name = "smb",
    .help = "SMB 1 to 3, and DCE/RPC in SMB pipes",
    .transports = APP_TCP,
    .tcp_ports = "445,139",
    .probe = smb_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct smb_state),
    .stop = smb_stop,
    .feed = smb_feed,
    .frames = frames,
    .transfer = smb_transfer,
    .accepts_gaps = true,
    .pending_max = SMB_NBSS_HEADER + SMB_RECORD_MAX,
    .tx_size = sizeof(struct smb_tx),
    .tx_free = smb_tx_free,
    .complete = { SMB_COMPLETE, SMB_COMPLETE },
    .tx_max = 8192,
    .events = smb_events,
    .event_count = SMB_EVENTS,
    .buffers = smb_buffers,
    .buffer_count = SMB_BUFFERS,
    .conditions = smb_conditions,
    .condition_count = SMB_CONDITIONS,
    .log_type = "smb",
    .log_key = "smb",
    .log = smb_log,
    .wants_log = smb_wants_log,
    .settings = smb_setting_rows,
    .settings_size = sizeof(struct smb_settings),
    .configure = smb_configure,
};
