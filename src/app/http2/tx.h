/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transaction of HTTP/2: a stream, or a frame that belongs to no open stream. */
#ifndef SLUICE_APP_HTTP2_TX_H
#define SLUICE_APP_HTTP2_TX_H

#include <stdbool.h>
#include <stdint.h>

#include "app/dns/dns_priv.h"
#include "app/http/message.h"

/* Sub-states of transactions: streams, and frames that belong to no open stream. */
enum { HTTP2_SUB_STREAM = 1, HTTP2_SUB_GLOBAL };

enum http2_frame_type {
    HTTP2_DATA,
    HTTP2_HEADERS,
    HTTP2_PRIORITY,
    HTTP2_RST_STREAM,
    HTTP2_SETTINGS,
    HTTP2_PUSH_PROMISE,
    HTTP2_PING,
    HTTP2_GOAWAY,
    HTTP2_WINDOW_UPDATE,
    HTTP2_CONTINUATION,
};
enum { HTTP2_TYPES = 256 };

/* Values in frames, for rules and events. */
enum http2_record_kind {
    HTTP2_RECORD_SETTING,    /* id: of the setting */
    HTTP2_RECORD_ERROR_CODE, /* of RST_STREAM or GOAWAY */
    HTTP2_RECORD_PRIORITY,   /* the weight as sent */
    HTTP2_RECORD_SIZE_UPDATE /* id: number of fields before it in the message */
};
struct http2_record {
    uint8_t kind; /* enum http2_record_kind */
    uint16_t id;
    uint32_t value;
};

/* The frames that a transaction has in a direction. */
struct http2_side {
    uint32_t types[HTTP2_TYPES / 32]; /* bit set of frame types */
    struct buffer records;            /* array of struct http2_record */
    struct buffer windows; /* array of uint32_t: increments in WINDOW_UPDATE; rules have not inspected them */
    struct buffer fields;  /* array of struct http_field, whose text is in message.head of http_tx */
    uint32_t frames;       /* number of frames */
    uint32_t first_header, end_of_headers; /* range of `fields` that are headers: before it are those of interim
                                              responses, after it trailers */
    bool has_headers;                      /* the headers are complete */
};

/* DNS messages of a stream: DNS over HTTP (dns.c). */
struct http2_dns {
    bool is_body[FLOW_DIRECTIONS];          /* the body is a DNS message */
    struct buffer body[FLOW_DIRECTIONS];    /* with is_body: the bytes so far */
    uint32_t length[FLOW_DIRECTIONS];       /* bytes of the parsed message */
    struct dns_tx message[FLOW_DIRECTIONS]; /* message.parsed: the message was parsed */
};

struct http2_tx {
    struct http_tx http;
    uint32_t stream_id;
    bool is_stream; /* false: a frame that belongs to no open stream */
    bool is_reset;  /* the client has reset the stream */
    struct http_text authority;
    struct http2_side side[FLOW_DIRECTIONS];
    struct http2_dns *dns; /* owned; NULL: the stream is not DNS over HTTP */
};

static inline uint32_t http2_record_count(const struct http2_side *side)
{
    return side->records.length / (uint32_t)sizeof(struct http2_record);
}

static inline const struct http2_record *http2_get_record(const struct http2_side *side, uint32_t index)
{
    return &((const struct http2_record *)side->records.bytes)[index];
}

static inline uint32_t http2_field_count(const struct http2_side *side)
{
    return side->fields.length / (uint32_t)sizeof(struct http_field);
}

static inline const struct http_field *http2_get_field(const struct http2_side *side, uint32_t index)
{
    return &((const struct http_field *)side->fields.bytes)[index];
}

#endif
