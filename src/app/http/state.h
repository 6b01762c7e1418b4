/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a flow: the position of the parser, alternative readings, settings.
 */
#ifndef SLUICE_APP_HTTP_STATE_H
#define SLUICE_APP_HTTP_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/fields.h"
#include "sluice/file.h"
#include "sluice/heap.h"
#include "sluice/keyword.h"

#include "names.h"
#include "message.h"

enum http_step {
    HTTP_IDLE,      /* between messages */
    HTTP_AT_LINE,   /* a response has started, its line is incomplete */
    HTTP_AFTER_0_9, /* a request line without protocol: the following bytes decide */
    HTTP_AT_HEADERS,
    HTTP_IDENTITY, /* a body of known length */
    HTTP_CHUNK_LENGTH,
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_END, /* the line end after chunk data */
    HTTP_UNTIL_CLOSE,
    HTTP_AT_TRAILER,
    HTTP_WAITING, /* after CONNECT, until the response arrives */
    HTTP_TUNNEL,  /* no longer HTTP */
    HTTP_STEPS,
};

struct http_parser {
    enum http_step step;
    struct http_tx *tx;      /* transaction of the current message; NULL in HTTP_IDLE */
    uint64_t left;           /* remaining bytes of the body or chunk */
    uint64_t total;          /* Content-Length of the current message */
    uint32_t lines;          /* number of header lines so far */
    uint32_t field_length;   /* length of the current header with its continuation lines */
    uint32_t messages;       /* number of messages started so far */
    uint32_t blanks;         /* blanks after an HTTP/0.9 request */
    uint32_t scanned;        /* number of unconsumed bytes known to contain no line end */
    uint32_t chunk_blanks;   /* leading blanks of an incomplete chunk size line */
    bool bare_lf;            /* the previous line ended with LF alone */
    bool ended;              /* the direction has ended */
    bool split_at_cr;        /* the current headers have a CR inside a line */
    bool skips_line;         /* the rest of the line belongs to no message */
    uint16_t other_dialects; /* requests: bits 1 << enum http_dialect of the dialects that other readings represent */
    uint16_t flags;          /* differences of an alternative reading: HTTP_READ_... */
};

/* The way in which servers read requests: see framing.c. */
enum http_dialect {
    HTTP_DIALECT_LENIENT,     /* accepts a length wherever one may be meant; always represented by the main reading */
    HTTP_DIALECT_STRICT,      /* nginx, lighttpd, IIS */
    HTTP_DIALECT_STRICT_1_1,  /* Go */
    HTTP_DIALECT_LIST,        /* Apache, Node */
    HTTP_DIALECT_LENGTH,      /* Python: no chunked coding; CR ends a header line */
    HTTP_DIALECT_LAST_LENGTH, /* PHP */
    HTTP_DIALECT_CRLF,        /* gunicorn: LF alone does not end a line */
    HTTP_DIALECT_CONNECT,     /* like HTTP_DIALECT_LENIENT, but CONNECT has a body like any other method */
    HTTP_DIALECTS,
};
enum { HTTP_ALL_DIALECTS = (1 << HTTP_DIALECTS) - 1, HTTP_READINGS_MAX = HTTP_DIALECTS - 1 };

/* An alternative reading of the client's bytes: see reading.c. */
struct http_reading {
    uint32_t id;
    struct http_parser parser;
    struct buffer unconsumed;
    uint64_t offset; /* offset of unread.bytes[0] */
};

struct http_framing {
    bool chunked;
    uint64_t length;
};

/* Alternative readings of responses: the ways in which clients read responses that are ambiguous to the main reading,
 * that of browsers. */
enum http_way {
    HTTP_WAY_LINES,     /* LF alone ends a line; the first line is the status line, whatever it contains */
    HTTP_WAY_CR,        /* CR ends a line, whatever follows */
    HTTP_WAY_BLANK,     /* LF alone ends a line, and a line of blanks ends the headers */
    HTTP_WAY_SURPLUS,   /* bytes after a response that are not a response are a body without head */
    HTTP_WAY_NO_HEAD,   /* HTTP/0.9: all bytes are the body */
    HTTP_WAY_CLOSE,     /* the body ends with the connection */
    HTTP_WAY_RAW,       /* like HTTP_WAY_CLOSE, without decoding */
    HTTP_WAY_INTERIM,   /* a 1xx with a length has no body, and the response follows */
    HTTP_WAY_FINAL,     /* a 1xx is the response; the following bytes are its body, not decoded */
    HTTP_WAY_FINAL_100, /* the same for a 100 with headers, which is not unusual */
    HTTP_WAY_NAME_1,    /* another file name */
    HTTP_WAY_NAME_2,
    HTTP_WAY_NAME_3,
    HTTP_WAY_FOLD,          /* a line that starts with a blank always continues the previous header */
    HTTP_WAY_NO_EMPTY_LINE, /* the body starts with the first line without colon; no empty line precedes it */
    HTTP_WAYS,
};
enum {
    HTTP_READ_LF = 1 << 0,
    HTTP_READ_ANY_LINE = 1 << 1,
    HTTP_READ_NO_HEAD = 1 << 2,
    HTTP_READ_CLOSE = 1 << 3,
    HTTP_READ_RAW = 1 << 4,
    HTTP_READ_INTERIM = 1 << 5,
    HTTP_READ_FINAL = 1 << 6,
    HTTP_READ_NAME_1 = 1 << 7,
    HTTP_READ_NAME_2 = 1 << 8,
    HTTP_READ_NAME_3 = 1 << 9,
    HTTP_READ_CR = 1 << 10,
    HTTP_READ_BLANK = 1 << 11,
    HTTP_READ_FOLD = 1 << 12,
    HTTP_READ_NO_EMPTY_LINE = 1 << 13,
};
enum { HTTP_EARLIER = UINT32_MAX, HTTP_OF_RESPONSE = UINT32_MAX };
enum { HTTP_READ_NAMES = HTTP_READ_NAME_1 | HTTP_READ_NAME_2 | HTTP_READ_NAME_3 };

struct http_alternative;

struct http_state {
    struct http_parser parser[FLOW_DIRECTIONS];
    struct http_tx *next_unanswered; /* oldest transaction whose response is incomplete */
    struct http_reading *readings[HTTP_READINGS_MAX];
    unsigned reading_count;
    uint32_t last_reading; /* id of the newest reading */
    bool main_failed;      /* the main reading has failed; others continue */
    struct http_alternative *alternatives[HTTP_WAYS];
    uint8_t alternative_count;
    bool skips_responses; /* the main reading of responses has failed; alternative ones continue */
};

/* One alternative reading, from a response to the end of the connection. */
struct http_alternative {
    struct http_state state; /* only the server's direction is used */
    uint64_t tx;             /* id of the transaction of the main reading with which it starts */
    struct buffer unconsumed;
};

/* Context of one call of http_feed(). */
struct http_feed {
    struct app_context *context;
    struct http_state *state;
    const struct http_settings *settings;
    struct http_parser *parser; /* parser of the direction */
    enum flow_direction direction;
    const uint8_t *bytes;
    uint32_t at, length;          /* bytes[at] is the next byte */
    uint64_t offset;              /* offset of bytes[0] in the direction */
    uint32_t unit_end;            /* end of the line at `at` with which a reading starts; 0: none */
    struct http_reading *reading; /* NULL: the main reading */
    bool is_repeat;               /* the bytes are a copy of lines that another reading has parsed */
    bool transferred;             /* the bytes are a copy of lines that another process has parsed */
    bool end, failed;
    bool quiet;                           /* suppresses events and http_request_alternatives() */
    struct http_alternative *alternative; /* NULL: the main reading */
    unsigned requested_ways;              /* responses: bits 1 << enum http_way of the readings to be added */
    struct http_tx
        *requested_tx; /* the response with which they start, its start, and the length of its head before `bytes` */
    uint32_t requested_from, requested_head;
    uint32_t response_from; /* offset in `bytes` of the start of the current response; HTTP_EARLIER: before `bytes` */
    uint32_t head_before;
};

/* Result of a step. */
enum http_step_result {
    HTTP_STEP_DONE,       /* bytes were consumed, or another step follows */
    HTTP_STEP_NEEDS_DATA, /* more bytes are needed */
    HTTP_STEP_FAILED,
    HTTP_STEP_ENDS_HTTP, /* the following bytes are not HTTP */
};

struct http_personality {
    bool backslash_is_slash, compress_slashes, decode_slashes, decode_u, best_fit, lower_case, plus_is_space;
    bool nul_encoded_ends, nul_raw_ends;
    bool request_line_nul_ends;
    enum { HTTP_PERCENT_KEEP, HTTP_PERCENT_REMOVE, HTTP_PERCENT_DECODE } invalid_percent;
};

/* Treatment of messages that endpoints read in different ways. */
enum http_ambiguous_policy {
    HTTP_AMBIGUOUS_INSPECT, /* all readings are inspected */
    HTTP_AMBIGUOUS_DROP,    /* inline, the flow is dropped */
    HTTP_AMBIGUOUS_PASS,    /* the most usual reading is inspected */
};

struct http_settings {
    struct http_personality personality;
    uint32_t body_limit[FLOW_DIRECTIONS]; /* 0: unlimited */
    uint32_t field_limit, headers_limit;
    uint8_t ambiguous_policy[FLOW_DIRECTIONS]; /* enum http_ambiguous_policy, for requests and for responses */
    uint32_t bomb_limit, decoder_layers, lzma_memory;
    bool double_decode_path, double_decode_query, uri_is_whole, lzma;
    bool log_extended;
    uint64_t range_timeout_ns;
    bool alert_body, alert_body_printable;
    bool dump_request_headers, dump_response_headers;
    /* The settings that http_configure() reads: */
    const char *personality_name;
    const char *const *custom_names;
    unsigned dump_headers; /* bits: 1 requests, 2 responses */
    uint64_t custom;       /* bit set of rows of the table in log.c */
};

#endif
