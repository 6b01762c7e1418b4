/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of HTTP/2 (RFC 9113):
 *
 *   http2.c     the protocol descriptors, detection, settings
 *   frame.c     frames: the parser
 *   stream.c    streams and their transactions
 *   hpack.c     header compression
 *   upgrade.c   the request of HTTP/1 before an upgrade
 *   message.c   header blocks and bodies as messages of src/app/http
 *   dns.c       DNS messages in streams
 *   transfer.c  state transfer to another process
 *   keywords.c  buffers and conditions for rules
 *   log.c       the object "http" of events
 *
 * A stream is a transaction: a request and its response. It starts with a struct http_tx, so that the buffers, bodies,
 * content encodings and files are those of HTTP/1. A frame that belongs to no open stream (SETTINGS, PING, GOAWAY, a
 * frame of a closed stream) is a transaction of its own, which is complete at once.
 */
#ifndef APP_HTTP2_PRIV_H
#define APP_HTTP2_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "hpack.h"
#include "sluice/number_range.h"
#include "sluice/app.h"

#include "app/http/http_priv.h"

#include "tx.h"

enum { HTTP2_END_STREAM = 1, HTTP2_ACK = 1, HTTP2_END_HEADERS = 4, HTTP2_PADDED = 8, HTTP2_HAS_PRIORITY = 0x20 };

enum http2_event {
    HTTP2_INVALID_FRAME_HEADER,
    HTTP2_INVALID_CLIENT_MAGIC,
    HTTP2_INVALID_FRAME_DATA,
    HTTP2_INVALID_HEADER,
    HTTP2_INVALID_FRAME_LENGTH,
    HTTP2_EXTRA_HEADER_DATA,
    HTTP2_LONG_FRAME_DATA,
    HTTP2_STREAM_ID_REUSE,
    HTTP2_INVALID_HTTP1_SETTINGS,
    HTTP2_FAILED_DECOMPRESSION,
    HTTP2_INVALID_RANGE,
    HTTP2_HEADER_INTEGER_OVERFLOW,
    HTTP2_TOO_MANY_STREAMS,
    HTTP2_AUTHORITY_HOST_MISMATCH,
    HTTP2_USERINFO_IN_URI,
    HTTP2_REASSEMBLY_LIMIT_REACHED,
    HTTP2_DNS_REQUEST_TOO_LONG,
    HTTP2_DNS_RESPONSE_TOO_LONG,
    HTTP2_DATA_STREAM_ZERO,
    HTTP2_TOO_MANY_FRAMES,
    HTTP2_COMPRESSION_BOMB,
    HTTP2_RAPID_RESET,
    HTTP2_EVENTS,
};
extern const struct app_event http2_events[HTTP2_EVENTS];

enum {
    HTTP2_FRAME_HEADER = 9,
    HTTP2_STREAM_MASK = INT32_MAX, /* the upper bit of a stream id is reserved */
    HTTP2_CONTROL_MAX = 16 << 10,  /* bytes of a frame that is parsed as a whole (SETTINGS); the rest is skipped */
    HTTP2_LONG_FRAME = 64 << 10,   /* bytes above which a frame has the event long_frame_data */
    HTTP2_RECORDS_MAX = 1024,      /* records of frames that a transaction keeps in a direction */
    HTTP2_STREAMS_MAX = 8192,      /* upper limit of max-streams */
    HTTP2_TX_MAX = HTTP2_STREAMS_MAX + 4096,
    HTTP2_RESET_STREAMS = 8, /* streams reset by the client whose response is still parsed */
    HTTP2_RESETS_MAX = 200,  /* streams reset by the client within a second without the event rapid_reset */
};

struct http2_settings {
    uint64_t max_streams, max_table_size, max_reassembly_size, max_frames;
};

struct http2_stream_slot {
    uint32_t id; /* 0: free */
    struct http2_tx *tx;
};

enum http2_step {
    HTTP2_AT_MAGIC, /* the client's connection preface */
    HTTP2_AT_FRAME,
    HTTP2_AT_PREFIX, /* the fields in front of data or of a header block, or the payload of a frame parsed as a whole */
    HTTP2_IN_PAYLOAD, /* in data or in a header block */
    HTTP2_IN_PADDING, /* bytes to be skipped */
    HTTP2_STEPS,
};

struct http2_parser {
    uint8_t step; /* enum http2_step */
    /* The current frame: */
    uint8_t type, flags;
    uint32_t stream_id, length; /* length: bytes of the payload */
    uint32_t left;              /* remaining bytes of data or of the header block in this frame */
    uint32_t padding;           /* bytes that follow and are skipped */
    /* The header block that is being received, from HEADERS or PUSH_PROMISE to END_HEADERS: */
    uint32_t block_stream;  /* stream of the frames; 0: none */
    uint32_t promised;      /* PUSH_PROMISE: the promised stream; otherwise 0 */
    bool block_ends_stream; /* HEADERS has END_STREAM */
    bool has_priority;
    uint8_t priority;
    uint32_t block_frames; /* number of frames */
    struct buffer block;
    struct hpack hpack;
};

struct http2_state {
    struct http2_parser parser[FLOW_DIRECTIONS];
    struct http2_stream_slot *slots;       /* hash table of the open streams */
    uint32_t slot_count, stream_count;     /* slot_count: a power of two; 0: no table yet */
    uint32_t last_stream[FLOW_DIRECTIONS]; /* highest id of a stream that the client, or the server, has opened */
    uint64_t reset_from_ns;                /* start of the second in which `resets` are counted */
    uint32_t resets;
    uint32_t reset_streams[HTTP2_RESET_STREAMS]; /* ids of the last streams that the client has reset */
    uint8_t next_reset;                          /* index of the oldest one */
    bool started;                                /* the request before an upgrade has been evaluated */
};

/* Context of one call of http2_feed(). */
/* Types of frames of app_proto.frames: the parts of any HTTP/2 frame. */
enum { HTTP2_FRAME_TYPE_HDR, HTTP2_FRAME_TYPE_DATA, HTTP2_FRAME_TYPE_PDU };
extern const char *const http2_frame_types[];
extern const char *const http2_sub_states[];
extern const struct app_hook http2_request_hooks[], http2_response_hooks[];

struct http2_feed {
    struct app_context *context;
    struct http2_state *state;
    const struct http2_settings *settings;
    const struct http_settings *http_settings;
    struct http2_parser *parser;
    enum flow_direction direction;
    const struct app_input *in;
    struct cursor cur; /* bytes that have not been consumed */
    bool failed;       /* parsing ends */
    bool transferred;  /* the bytes are a copy of messages that another process has parsed */
};

/* --- http2.c, frame.c ------------------------------------------------------------------------------ */

extern const char http2_magic[];
enum { HTTP2_MAGIC = 24 };

extern const struct app_proto app_dns, app_doh2, app_http, app_http2;
int http2_start(struct app_context *context, void *data);
void http2_stop(struct app_context *context, void *data);
struct app_result http2_feed(struct app_context *context, void *state, const struct app_input *in);
/* Sets an event. `tx` NULL: on a new transaction for the current frame. */
void http2_event(struct http2_feed *f, struct http2_tx *tx, enum http2_event event);

/* Records the settings in a payload. `tx` NULL: does nothing. */
void http2_parse_settings(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, struct cursor *cur);

/* --- upgrade.c ------------------------------------------------------------------------------------ */

/* After an upgrade, opens stream 1 with the request of HTTP/1, and records the settings in it. */
void http2_begin_after_upgrade(struct http2_feed *f);

/* --- stream.c ------------------------------------------------------------------------------------- */

/* Returns the open stream; NULL if there is none. */
struct http2_tx *http2_find_stream(const struct http2_feed *f, uint32_t id);
/* Opens a stream. Returns NULL, and sets f->failed, when there are too many streams or no memory. */
struct http2_tx *http2_open_stream(struct http2_feed *f, uint32_t id);
/* Adds a transaction for a frame that belongs to no open stream. Returns NULL, and sets f->failed, when there are too
 * many transactions or no memory. */
struct http2_tx *http2_add_loose_frame(struct http2_feed *f, uint32_t id, enum flow_direction direction, uint8_t type);
/* Completes the transaction after the values of its frame were recorded. Does nothing for a stream, and for NULL. */
void http2_complete_loose_frame(struct http2_tx *tx);
/* Ends one direction of a stream; `complete`: all of the message was received. The stream is closed with its second
 * direction; the transaction must not be used afterwards. */
void http2_end_direction(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, bool complete);
/* Handles RST_STREAM. The server may have sent its response to a stream before it got the client's RST_STREAM: the
 * responses to the last HTTP2_RESET_STREAMS of these streams are still parsed. */
void http2_reset_stream(struct http2_feed *f, struct http2_tx *tx);
/* Adds the open transactions to the table of streams if they differ from it: the framework has completed or restored
 * transactions. */
void http2_check_streams(struct http2_feed *f);
/* Ends a direction of all open streams: no bytes follow. */
void http2_end_all(struct http2_feed *f, enum flow_direction direction);
void http2_free_streams(struct app_context *context, struct http2_state *state);
void http2_tx_init(struct http2_tx *tx, uint32_t id);
void http2_tx_free(struct app_context *context, struct app_tx *tx);
/* Records a frame, and a value in it. */
void http2_record_frame(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint8_t type);
void http2_record_window(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint32_t increment);
void http2_record_value(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction,
                        enum http2_record_kind kind, uint16_t id, uint32_t value);

/* --- message.c ------------------------------------------------------------------------------------ */

/* Decodes a header block and adds its fields to the message of `direction`. `tx` NULL: the fields are decoded for the
 * dynamic table only. */
void http2_decode_block(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction,
                        const struct buffer *block);
/* Evaluates the fields of a block, which are in the message and in tx->side[direction].fields from `from` on. */
void http2_finish_block(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint32_t from);
/* Evaluates the fields from `from` to `end` as the headers of the message, or as those of an interim response. */
void http2_finish_headers(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, uint32_t from,
                          uint32_t end);
/* Restores the body of the message of f->direction, of which the last bytes were transferred. */
void http2_restore_body(struct http2_feed *f, struct http2_tx *tx, uint64_t wire_length, uint64_t body_length,
                        const uint8_t *tail, uint32_t tail_length);
void http2_body_data(struct http2_feed *f, struct http2_tx *tx, const uint8_t *bytes, uint32_t length);
void http2_body_end(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, bool complete);

/* --- dns.c ---------------------------------------------------------------------------------------- */

/* Finds out from complete headers whether the message of `direction` is or contains a DNS message. */
void http2_dns_begin(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction);
/* Stores decoded bytes of a body; http_feed.body_bytes. */
void http2_dns_body(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
/* Parses the body; `complete`: all of it was received. */
void http2_dns_end(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, bool complete);
/* Parses a DNS message. */
void http2_dns_parse(struct http2_feed *f, struct http2_tx *tx, enum flow_direction direction, const uint8_t *bytes,
                     uint32_t length);
void http2_dns_free(struct app_context *context, struct http2_tx *tx);
enum { HTTP2_DNS_MESSAGE_MAX = UINT16_MAX }; /* bytes of a DNS message (RFC 8484, 6) */

/* --- transfer.c ----------------------------------------------------------------------------------- */

void http2_transfer(struct app_context *context, void *state, struct transfer *t);

/* --- keywords.c, log.c ---------------------------------------------------------------------------- */

enum { HTTP2_BUFFERS = 31, HTTP2_CONDITIONS = 6 };
extern const struct app_buffer http2_buffers[HTTP2_BUFFERS];
extern const struct app_condition http2_conditions[HTTP2_CONDITIONS];
extern const struct number_name http2_error_names[], http2_setting_names[];
extern const char http2_log_type[];
void http2_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool http2_wants_log(const struct app_tx *tx, const void *settings);

#endif
