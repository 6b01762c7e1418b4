/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP/2 without TLS (h2c): the protocol descriptor. It is detected by the client's connection preface, on any port,
 * or follows HTTP/1 after an upgrade. A server may send first: its first frame is SETTINGS.
 */
#include <errno.h>
#include <string.h>

#include "http2_priv.h"

const struct app_event http2_events[HTTP2_EVENTS] = {
    [HTTP2_INVALID_FRAME_HEADER] = { "invalid_frame_header", "a frame of this type is not allowed here" },
    [HTTP2_INVALID_CLIENT_MAGIC] = { "invalid_client_magic", "the client does not send the connection preface" },
    [HTTP2_INVALID_FRAME_DATA] = { "invalid_frame_data", "a frame is too short for its fields or its padding" },
    [HTTP2_INVALID_HEADER] = { "invalid_header", "a header cannot be decoded, or there are too many" },
    [HTTP2_INVALID_FRAME_LENGTH] = { "invalid_frame_length", "a frame of this type has another length" },
    [HTTP2_EXTRA_HEADER_DATA] = { "extra_header_data", "a header block ends within a header" },
    [HTTP2_LONG_FRAME_DATA] = { "long_frame_data", "a frame is longer than 64 KiB" },
    [HTTP2_STREAM_ID_REUSE] = { "stream_id_reuse", "a frame opens a stream that is closed" },
    [HTTP2_INVALID_HTTP1_SETTINGS] = { "invalid_http1_settings", "HTTP2-Settings of an upgrade cannot be decoded" },
    [HTTP2_FAILED_DECOMPRESSION] = { "failed_decompression",
                                     "a body does not have the announced encoding, or is damaged" },
    [HTTP2_INVALID_RANGE] = { "invalid_range", "Content-Range is invalid" },
    [HTTP2_HEADER_INTEGER_OVERFLOW] = { "header_integer_overflow", "an integer in a header block is too large" },
    [HTTP2_TOO_MANY_STREAMS] = { "too_many_streams", "the limit of open streams is reached (max-streams)" },
    [HTTP2_AUTHORITY_HOST_MISMATCH] = { "authority_host_mismatch", ":authority and Host of a request differ" },
    [HTTP2_USERINFO_IN_URI] = { "userinfo_in_uri", ":authority contains user information" },
    [HTTP2_REASSEMBLY_LIMIT_REACHED] = { "reassembly_limit_reached",
                                         "a header block exceeds the limit (max-reassembly-size)" },
    [HTTP2_DNS_REQUEST_TOO_LONG] = { "dns_request_too_long", "a DNS message in a request exceeds 65535 bytes" },
    [HTTP2_DNS_RESPONSE_TOO_LONG] = { "dns_response_too_long", "a DNS message in a response exceeds 65535 bytes" },
    [HTTP2_DATA_STREAM_ZERO] = { "data_stream_zero", "DATA on stream 0" },
    [HTTP2_TOO_MANY_FRAMES] = { "too_many_frames", "a stream has more frames than the limit (max-frames)" },
    [HTTP2_COMPRESSION_BOMB] = { "compression_bomb", "a header block or a body decodes to too many bytes" },
    [HTTP2_RAPID_RESET] = { "rapid_reset", "the client has reset more than 200 streams within a second" },
};

/* --- Settings ------------------------------------------------------------------------------------- */

static const struct setting setting_rows[] = {
    { .name = "eve.types.http2",
      .type = SETTING_SECTION,
      .help = "Event type http for HTTP/2: a request with its response, or the settings and errors of a connection" },
    { .name = "app-layer.protocols.http2.max-streams",
      SETTING_FIELD(http2_settings, max_streams),
      .type = SETTING_NUMBER,
      .default_value = "4096",
      .low = 1,
      .high = HTTP2_STREAMS_MAX,
      .help = "Open streams of a connection; one more ends parsing, with the event too_many_streams" },
    { .name = "app-layer.protocols.http2.max-table-size",
      SETTING_FIELD(http2_settings, max_table_size),
      .type = SETTING_SIZE,
      .default_value = "65536",
      .low = 4096,
      .high = 1 << 20,
      .help = "Bytes of the dynamic table of a direction; a larger one ends parsing, with the event invalid_header" },
    { .name = "app-layer.protocols.http2.max-reassembly-size",
      SETTING_FIELD(http2_settings, max_reassembly_size),
      .type = SETTING_SIZE,
      .default_value = "102400",
      .low = 1024,
      .high = 1 << 20,
      .help = "Bytes of a header block; a longer one ends parsing, with the event reassembly_limit_reached" },
    { .name = "app-layer.protocols.http2.max-frames",
      SETTING_FIELD(http2_settings, max_frames),
      .type = SETTING_NUMBER,
      .default_value = "65536",
      .low = 1,
      .high = UINT32_MAX,
      .help = "Frames of a stream in a direction above which the event too_many_frames is set" },
    { .name = NULL },
};

/* --- State ---------------------------------------------------------------------------------------- */

int http2_start(struct app_context *context, void *data)
{
    const struct http2_settings *settings = app_get_settings_of(context, &app_http2);
    struct http2_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        hpack_init(&state->parser[direction].hpack, (uint32_t)settings->max_table_size);
    state->parser[FLOW_TO_CLIENT].step = HTTP2_AT_FRAME;
    return 0;
}

void http2_stop(struct app_context *context, void *data)
{
    struct http2_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        hpack_clear(app_heap(context), &state->parser[direction].hpack);
        buffer_clear(app_heap(context), &state->parser[direction].block);
    }
    http2_free_streams(context, state);
}

/* --- Detection ------------------------------------------------------------------------------------ */

/* A server's first frame is SETTINGS on stream 0 with known settings. A client is recognised by the pattern. */
static enum app_probe_result probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    const uint8_t *header = cursor_read(&cur, HTTP2_FRAME_HEADER);
    static const uint8_t start[] = { 0, 0 };
    uint32_t length;
    uint16_t id;

    if (in->direction == FLOW_TO_SERVER) /* APP_NO would exclude the pattern */
        return memcmp(in->bytes, http2_magic, in->length < HTTP2_MAGIC ? in->length : HTTP2_MAGIC) != 0 ? APP_NO
               : in->length < HTTP2_MAGIC                                                               ? APP_UNSURE
                                                                                                        : APP_YES;
    if (in->length == 0 || in->bytes[0] != 0)
        return APP_NO;
    if (!header)
        return in->length < sizeof(start) || in->bytes[1] == 0 ? APP_UNSURE : APP_NO;
    length = (uint32_t)header[0] << 16 | load_be16(header + 1);
    if (length == 0 || length > 6 * 32 || length % 6 != 0 || header[3] != HTTP2_SETTINGS || header[4] != 0 ||
        load_be32(header + 5) != 0)
        return APP_NO;
    cursor_limit(&cur, length);
    while (cursor_be16(&cur, &id)) {
        if (id == 0 || id > 16)
            return APP_NO;
        if (!cursor_skip(&cur, 4))
            break;
    }
    return in->length - HTTP2_FRAME_HEADER < length ? APP_UNSURE : APP_YES;
}

static const struct app_pattern patterns[] = {
    { .bytes = http2_magic, .length = HTTP2_MAGIC, .direction = FLOW_TO_SERVER },
};

const char *const http2_sub_states[] = { [HTTP2_SUB_STREAM - 1] = "stream", [HTTP2_SUB_GLOBAL - 1] = "global", NULL };
const struct app_hook http2_request_hooks[] = {
    { "stream:request_started", HTTP_STARTED, HTTP2_SUB_STREAM },
    { "stream:request_headers", HTTP_HEADERS, HTTP2_SUB_STREAM },
    { "stream:request_data", HTTP_BODY, HTTP2_SUB_STREAM },
    { "stream:request_closed", HTTP_COMPLETE, HTTP2_SUB_STREAM },
    { "stream:request_complete", HTTP_COMPLETE, HTTP2_SUB_STREAM },
    { "global:request_started", HTTP_STARTED, HTTP2_SUB_GLOBAL },
    { "global:request_complete", HTTP_COMPLETE, HTTP2_SUB_GLOBAL },
    { NULL, 0, 0 },
};
const struct app_hook http2_response_hooks[] = {
    { "stream:response_started", HTTP_STARTED, HTTP2_SUB_STREAM },
    { "stream:response_headers", HTTP_HEADERS, HTTP2_SUB_STREAM },
    { "stream:response_data", HTTP_BODY, HTTP2_SUB_STREAM },
    { "stream:response_closed", HTTP_COMPLETE, HTTP2_SUB_STREAM },
    { "stream:response_complete", HTTP_COMPLETE, HTTP2_SUB_STREAM },
    { "global:response_started", HTTP_STARTED, HTTP2_SUB_GLOBAL },
    { "global:response_complete", HTTP_COMPLETE, HTTP2_SUB_GLOBAL },
    { NULL, 0, 0 },
};

/* Not the string that app_http has: outputs tell event types apart by this pointer. */
const char http2_log_type[] = "http";

const char *const http2_frame_types[] = {
    [HTTP2_FRAME_TYPE_HDR] = "hdr", [HTTP2_FRAME_TYPE_DATA] = "data", [HTTP2_FRAME_TYPE_PDU] = "pdu", NULL
};

const struct app_proto app_http2 = {
    .name = "http2",
    .help = "HTTP/2 without TLS, by connection preface or by upgrade from HTTP/1.1",
    .transports = APP_TCP,
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = probe,
    .probe_any_port = true,
    .state_size = sizeof(struct http2_state),
    .start = http2_start,
    .stop = http2_stop,
    .feed = http2_feed,
    .transfer = http2_transfer,
    .tx_size = sizeof(struct http2_tx),
    .tx_free = http2_tx_free,
    .shed = http_tx_shed,
    .complete = { HTTP_COMPLETE, HTTP_COMPLETE },
    .tx_max = HTTP2_TX_MAX,
    .frames = http2_frame_types,
    .sub_states = http2_sub_states,
    .hooks = { http2_request_hooks, http2_response_hooks },
    .events = http2_events,
    .event_count = HTTP2_EVENTS,
    .buffers = http2_buffers,
    .buffer_count = HTTP2_BUFFERS,
    .conditions = http2_conditions,
    .condition_count = HTTP2_CONDITIONS,
    .grows_at_segment_end = true,
    .log_type = http2_log_type,
    .log_key = "http",
    .log_setting = "http2",
    .log = http2_log,
    .wants_log = http2_wants_log,
    .header = http_get_named,
    .settings = setting_rows,
    .settings_size = sizeof(struct http2_settings),
};
