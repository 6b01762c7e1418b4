/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WebSocket (RFC 6455) with permessage-deflate (RFC 7692). Each frame is a separate transaction in its own
 * direction. */
#ifndef SLUICE_APP_WEBSOCKET_PRIV_H
#define SLUICE_APP_WEBSOCKET_PRIV_H

#include <zlib.h>

#include "sluice/app.h"
#include "sluice/number_range.h"

enum websocket_progress { WEBSOCKET_HEADER = 1, WEBSOCKET_COMPLETE };

/* Bits of the first byte of a frame. RSV1 of the first frame of a message: the message is compressed. */
enum { WEBSOCKET_FIN = 0x80, WEBSOCKET_RSV1 = 0x40, WEBSOCKET_RSV2 = 0x20, WEBSOCKET_RSV3 = 0x10 };

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CONTROL = 8, /* lowest opcode of control frames */
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

enum websocket_event {
    WEBSOCKET_SKIP_END_OF_PAYLOAD,
    WEBSOCKET_REASSEMBLY_LIMIT_REACHED,
    WEBSOCKET_INVALID_COMPRESSED_DATA,
    WEBSOCKET_EVENTS
};

struct websocket_tx {
    struct app_tx tx;
    uint8_t flags; /* WEBSOCKET_FIN and so on: the upper four bits of the first byte */
    uint8_t opcode;
    bool has_mask;
    uint32_t mask;         /* masking key, in network byte order */
    struct buffer payload; /* unmasked and decompressed, up to max-payload-size bytes. In the last frame of a fragmented
                              message: the payload of the whole message */
};

struct websocket_settings {
    uint32_t max_payload_size;
    bool alert_payload, alert_payload_printable;
};

/* --- inflate.c --------------------------------------------------------------------------------------- */

/*
 * Decompression of the messages of one direction. A message may refer to the bytes of earlier ones (context takeover),
 * so the window is kept between messages. If the peers have not negotiated that, no message refers to earlier bytes,
 * and the result is the same.
 */
struct websocket_inflate {
    z_stream zlib;
    bool is_started;   /* `zlib` is initialised */
    bool has_lost;     /* the rest of the current message cannot be decompressed */
    uint64_t output;   /* decompressed bytes of the current message */
    struct buffer raw; /* bytes of the current message before its first decompressed byte */
};

/* Results of the following functions: a set of these bits, or -ENOMEM. */
enum {
    WEBSOCKET_CUT = 1 << 0,     /* bytes beyond the limit were discarded */
    WEBSOCKET_INVALID = 1 << 1, /* the message cannot be decompressed, or not to its end */
};

/* Begins a message. Returns 0 or -ENOMEM. */
int websocket_inflate_start(struct heap *heap, struct websocket_inflate *stream);
/* Decompresses bytes of the current message and appends the result to `out`, up to `limit` bytes in total. Bytes beyond
 * the limit are decompressed and discarded, because later messages may refer to them. If the message is not compressed
 * data, its bytes are appended as they are. */
int websocket_inflate_feed(struct heap *heap, struct websocket_inflate *stream, const uint8_t *bytes, uint32_t length,
                           struct buffer *out, uint32_t limit);
/* Ends a message: decompresses the four bytes that its sender has omitted (RFC 7692 7.2.2). */
int websocket_inflate_end(struct heap *heap, struct websocket_inflate *stream, struct buffer *out, uint32_t limit);
/* Appends bytes to `out`, up to `limit` bytes in total. */
int websocket_append(struct heap *heap, struct buffer *out, const uint8_t *bytes, uint32_t length, uint32_t limit);
void websocket_inflate_clear(struct heap *heap, struct websocket_inflate *stream);
/* Transfers the window, unless a message is being decompressed. In that case the reader cannot decompress the rest of
 * the message. */
void websocket_inflate_transfer(struct app_context *context, struct transfer *t, struct websocket_inflate *stream,
                                bool within_message);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

extern const struct number_name websocket_opcode_names[]; /* also used in events */

enum { WEBSOCKET_BUFFERS = 1, WEBSOCKET_CONDITIONS = 3 };
extern const struct app_buffer websocket_buffers[WEBSOCKET_BUFFERS];
extern const struct app_condition websocket_conditions[WEBSOCKET_CONDITIONS];

void websocket_log(const struct app_tx *tx, const void *settings, struct fields *out);
void websocket_describe_alert(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
