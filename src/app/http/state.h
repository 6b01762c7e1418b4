/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a flow: parsers, alternative readings, settings. */
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

/* Types of frames: whole messages. */
enum { HTTP_FRAME_REQUEST, HTTP_FRAME_RESPONSE };

enum http_step {
    HTTP_IDLE,      /* between messages */
    HTTP_AT_LINE,   /* a response has started; its status line is incomplete */
    HTTP_AFTER_0_9, /* after a request line without protocol: headers may follow */
    HTTP_AT_HEADERS,
    HTTP_IDENTITY, /* in a body of known length, not chunked */
    HTTP_CHUNK_LENGTH,
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_END, /* the line end after chunk data */
    HTTP_UNTIL_CLOSE,
    HTTP_AT_TRAILER,
    HTTP_WAITING, /* after CONNECT, until the response arrives; in the server's direction: bytes are skipped */
    HTTP_TUNNEL,  /* the following bytes are not HTTP */
    HTTP_STEPS,
};

struct http_parser {
    enum http_step step;
    struct http_tx *tx;      /* transaction of the current message; NULL in HTTP_IDLE */
    uint64_t left;           /* remaining bytes of the body or chunk */
    uint64_t total;          /* length of the body in bytes */
    uint32_t lines;          /* number of header lines so far */
    uint32_t field_length;   /* bytes of the current header with its continuation lines */
    uint32_t messages;       /* number of messages started so far */
    uint32_t blanks;         /* number of blanks so far after an HTTP/0.9 request */
    uint32_t scanned;        /* number of unconsumed bytes known to contain no line end */
    uint32_t chunk_blanks;   /* leading blanks of an incomplete chunk size line */
    bool bare_lf;            /* the previous line ended with LF alone */
    bool ended;              /* the direction has ended */
    bool split_at_cr;        /* a reading was added for a CR within a line of the current headers */
    bool skips_line;         /* the rest of the line is skipped: it belongs to no message */
    uint16_t other_dialects; /* requests: bits 1 << enum http_dialect of the dialects that other readings represent */
    uint16_t flags;          /* responses: how an alternative reading differs from the main one (HTTP_READ_...) */
};

/* A dialect is a way in which servers parse requests (framing.c). */
enum http_dialect {
    HTTP_DIALECT_LENIENT,     /* accepts every form of a length; always represented by the main reading */
    HTTP_DIALECT_STRICT,      /* nginx, lighttpd, IIS */
    HTTP_DIALECT_STRICT_1_1,  /* Go */
    HTTP_DIALECT_LIST,        /* Apache, Node */
    HTTP_DIALECT_LENGTH,      /* Python: no chunked coding; CR alone ends a header line */
    HTTP_DIALECT_LAST_LENGTH, /* PHP: the last Content-Length; CR alone ends a header line */
    HTTP_DIALECT_CRLF,        /* gunicorn: LF alone does not end a line */
    HTTP_DIALECT_CONNECT,     /* like HTTP_DIALECT_LENIENT, but CONNECT has a body like any other method */
    HTTP_DIALECTS,
};
enum { HTTP_ALL_DIALECTS = (1 << HTTP_DIALECTS) - 1, HTTP_READINGS_MAX = HTTP_DIALECTS - 1 };

/* An alternative reading of requests (reading.c). */
struct http_reading {
    uint32_t id;
    struct http_parser parser;
    struct buffer unconsumed;
    uint64_t offset; /* offset of unconsumed.bytes[0] in the bytes of the direction */
};

/* The body of a request: chunked, or `length` bytes; 0: no body. */
struct http_framing {
    bool chunked;
    uint64_t length;
};

/* Kinds of alternative readings of responses (alternative.c): how clients other than browsers parse an ambiguous
 * response. */
enum http_alternative_kind {
    HTTP_ALTERNATIVE_LINES,     /* only LF ends a line; any first line is a status line */
    HTTP_ALTERNATIVE_CR,        /* CR ends a line, with or without LF */
    HTTP_ALTERNATIVE_BLANK,     /* only LF ends a line, and a line of blanks ends the headers */
    HTTP_ALTERNATIVE_SURPLUS,   /* bytes after a response that are not a response are a body without headers */
    HTTP_ALTERNATIVE_NO_HEAD,   /* HTTP/0.9: all bytes are the body */
    HTTP_ALTERNATIVE_CLOSE,     /* the body ends with the connection */
    HTTP_ALTERNATIVE_RAW,       /* like HTTP_ALTERNATIVE_CLOSE, without decoding */
    HTTP_ALTERNATIVE_INTERIM,   /* a 1xx with a length has no body, and the final response follows */
    HTTP_ALTERNATIVE_FINAL,     /* a 1xx is the final response; the following bytes are its body, not decoded */
    HTTP_ALTERNATIVE_FINAL_100, /* like HTTP_ALTERNATIVE_FINAL, for a 100 with headers; sets no event */
    HTTP_ALTERNATIVE_NAME_1,    /* the file has the first of the other names in Content-Disposition */
    HTTP_ALTERNATIVE_NAME_2,
    HTTP_ALTERNATIVE_NAME_3,
    HTTP_ALTERNATIVE_FOLD,          /* a line that starts with a blank always continues the previous header */
    HTTP_ALTERNATIVE_NO_EMPTY_LINE, /* the first line without colon starts the body */
    HTTP_ALTERNATIVE_KINDS,
};
/* Flags of http_parser: how an alternative reading of responses differs from the main one. */
enum {
    HTTP_READ_LF = 1 << 0,       /* only LF ends a line */
    HTTP_READ_ANY_LINE = 1 << 1, /* any first line is a status line */
    HTTP_READ_NO_HEAD = 1 << 2,  /* the first byte starts the body */
    HTTP_READ_CLOSE = 1 << 3,    /* the body ends with the connection */
    HTTP_READ_RAW = 1 << 4,      /* the body is not decoded */
    HTTP_READ_INTERIM = 1 << 5,  /* after a 1xx another response follows */
    HTTP_READ_FINAL = 1 << 6,    /* a 1xx is the final response */
    HTTP_READ_NAME_1 = 1 << 7,   /* the file has the first name of http_find_other_names() */
    HTTP_READ_NAME_2 = 1 << 8,
    HTTP_READ_NAME_3 = 1 << 9,
    HTTP_READ_CR = 1 << 10,            /* CR ends a line, with or without LF */
    HTTP_READ_BLANK = 1 << 11,         /* a line of blanks ends the headers */
    HTTP_READ_FOLD = 1 << 12,          /* a line that starts with a blank continues the previous header */
    HTTP_READ_NO_EMPTY_LINE = 1 << 13, /* the first line without colon starts the body */
};
enum { HTTP_RESPONSE_READING = UINT32_MAX }; /* http_tx.reading of all alternative readings of responses */
enum {
    HTTP_BEFORE_INPUT = UINT32_MAX
}; /* value of response_from: the response started before the bytes of this call */
enum { HTTP_READ_NAMES = HTTP_READ_NAME_1 | HTTP_READ_NAME_2 | HTTP_READ_NAME_3 };

struct http_alternative;

struct http_state {
    struct http_parser parser[FLOW_DIRECTIONS];
    struct http_tx *next_unanswered; /* the oldest transaction whose response is incomplete; NULL for none */
    struct http_reading *readings[HTTP_READINGS_MAX]; /* alternative readings of requests */
    unsigned reading_count;
    uint32_t last_reading; /* id of the newest reading of requests; 0: there has been no alternative one */
    bool main_failed;      /* the main reading of requests has failed; alternative readings continue */
    struct http_alternative *alternatives[HTTP_ALTERNATIVE_KINDS]; /* alternative readings of responses */
    uint8_t alternative_count;
    bool skips_responses; /* the main reading of responses has failed; alternative readings continue */
};

/* An alternative reading of responses, from one response to the end of the connection. */
struct http_alternative {
    struct http_state state; /* only the server's direction is used */
    uint64_t tx;             /* the reading starts with the response of this transaction (id) of the main reading */
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
    uint32_t at, length; /* bytes[at] is the next byte */
    uint64_t offset;     /* offset of bytes[0] in the direction */
    uint32_t unit_end;   /* when a reading is added: it also parses the bytes from `at` up to this offset, the current
                            line; 0: no such line */
    struct http_reading *reading; /* the alternative reading of requests; NULL: the main reading */
    bool is_repeat;               /* the bytes are a copy of lines that another reading has parsed */
    bool transferred;             /* the bytes are a copy of lines that another process has parsed */
    bool end;                     /* the direction ends after these bytes */
    bool failed;                  /* memory is exhausted or a limit is exceeded: parsing ends */
    bool quiet;                   /* suppress events and http_request_alternatives() */
    /* HTTP/2: for each enum http_event, the event of that protocol plus 1, or 0 for none; NULL: HTTP/1 */
    const uint8_t *event_map;
    /* HTTP/2: called with the decoded bytes of a body; NULL: not needed. */
    void (*body_bytes)(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
    /* Responses: */
    struct http_alternative *alternative; /* the alternative reading; NULL: the main reading */
    uint32_t response_from;   /* offset in `bytes` of the start of the current response, or HTTP_BEFORE_INPUT */
    uint32_t head_before;     /* length of the current response's head before this call */
    unsigned requested_kinds; /* readings to be added: bits 1 << enum http_alternative_kind */
    /* Valid if requested_kinds is not 0: the response that these readings start with. */
    struct http_tx *requested_tx;            /* NULL: they start between two responses */
    uint32_t requested_from, requested_head; /* response_from and head_before of that response */
};

/* Result of a step. */
enum http_step_result {
    HTTP_STEP_DONE,       /* bytes were consumed, or the step has changed: execute the next one */
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

/* Treatment of ambiguous messages. */
enum http_ambiguous_policy {
    HTTP_AMBIGUOUS_INSPECT, /* all readings are inspected */
    HTTP_AMBIGUOUS_DROP,    /* inline, the flow is dropped */
    HTTP_AMBIGUOUS_PASS,    /* one reading is inspected: most servers' (requests) or browsers' (responses) */
};

struct http_settings {
    struct http_personality personality;
    uint32_t body_limit[FLOW_DIRECTIONS]; /* bytes; 0: unlimited */
    uint32_t field_limit, headers_limit;  /* field_limit: bytes of a line with its continuation lines; headers_limit:
                                             headers of a message */
    uint8_t ambiguous_policy[FLOW_DIRECTIONS]; /* enum http_ambiguous_policy, for requests and for responses */
    /* bomb_limit: decoded bytes up to which a body is no compression bomb; 0: no limit. decoder_layers: maximum number
     * of nested content encodings. lzma_memory: bytes of memory for an LZMA decoder. */
    uint32_t bomb_limit, decoder_layers, lzma_memory;
    bool double_decode_path, double_decode_query, uri_is_whole, lzma;
    bool log_extended;
    uint64_t range_timeout_ns;             /* time without new data after which a file of byte ranges is abandoned */
    bool alert_body, alert_body_printable; /* alerts contain bodies, in Base64 or as text */
    bool dump_request_headers, dump_response_headers; /* events contain all headers */
    /* The settings that http_configure() reads: */
    const char *personality_name;
    const char *const *custom_names;
    unsigned dump_headers; /* bits: 1 requests, 2 responses */
    uint64_t custom;       /* headers to log: bit set of rows of custom_fields in log.c */
};

#endif
