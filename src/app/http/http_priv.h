/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of HTTP/1:
 *
 *   http.c         the protocol descriptor: detection, state, transactions
 *   feed.c         lines and gaps; calls the steps below until the bytes are consumed
 *   request.c      steps of the client's direction
 *   response.c     steps of the server's direction
 *   framing.c      the end of a request's body, by the dialects of servers
 *   reading.c      alternative readings of requests on which the dialects differ
 *   alternative.c  alternative readings of responses that clients read in different ways
 *   head.c         parsing of the lines before a body into texts and headers
 *   name.c         header names
 *   uri.c          the parts of the URI and their normalisation by server type
 *   host.c         host names, ports, numbers
 *   body.c         bodies: limits, files
 *   disposition.c  file names
 *   decode.c       content encodings
 *   multipart.c    files in forms
 *   content.c      the buffers for rules
 *   buffers.c      the table of these buffers
 *   keywords.c, modifiers.c, urilen.c   rule keywords
 *   transfer.c     transfer of open messages to another process
 *   log.c          the object "http" of events
 *   settings.c     settings
 *   events.c       anomalies in messages
 *
 * The line and the headers of a message are copied once, as received, into its `head`; everything else refers to a
 * position in it. Texts that are not contiguous there (folded, repeated, or normalised ones) are stored in `extra`.
 * Positions are offsets, because both buffers move when they grow.
 *
 * Ownership: the buffers belong to the message, which belongs to its transaction. A state refers only to open
 * transactions.
 */
#ifndef APP_HTTP_PRIV_H
#define APP_HTTP_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/fields.h"
#include "sluice/file.h"
#include "sluice/heap.h"
#include "sluice/keyword.h"

/* Progress of a direction: the part that is complete. */
enum http_progress { HTTP_STARTED, HTTP_LINE, HTTP_HEADERS, HTTP_BODY, HTTP_TRAILER, HTTP_COMPLETE };

enum http_event {
    HTTP_EVENT_UNKNOWN_ERROR,
    HTTP_EVENT_GZIP_DECOMPRESSION_FAILED,
    HTTP_EVENT_REQUEST_FIELD_MISSING_COLON,
    HTTP_EVENT_RESPONSE_FIELD_MISSING_COLON,
    HTTP_EVENT_INVALID_REQUEST_CHUNK_LEN,
    HTTP_EVENT_INVALID_RESPONSE_CHUNK_LEN,
    HTTP_EVENT_INVALID_TRANSFER_ENCODING_VALUE_IN_REQUEST,
    HTTP_EVENT_INVALID_TRANSFER_ENCODING_VALUE_IN_RESPONSE,
    HTTP_EVENT_INVALID_CONTENT_LENGTH_FIELD_IN_REQUEST,
    HTTP_EVENT_INVALID_CONTENT_LENGTH_FIELD_IN_RESPONSE,
    HTTP_EVENT_DUPLICATE_CONTENT_LENGTH_FIELD_IN_REQUEST,
    HTTP_EVENT_DUPLICATE_CONTENT_LENGTH_FIELD_IN_RESPONSE,
    HTTP_EVENT_100_CONTINUE_ALREADY_SEEN,
    HTTP_EVENT_UNABLE_TO_MATCH_RESPONSE_TO_REQUEST,
    HTTP_EVENT_INVALID_SERVER_PORT_IN_REQUEST,
    HTTP_EVENT_INVALID_AUTHORITY_PORT,
    HTTP_EVENT_REQUEST_HEADER_INVALID,
    HTTP_EVENT_RESPONSE_HEADER_INVALID,
    HTTP_EVENT_MISSING_HOST_HEADER,
    HTTP_EVENT_HOST_HEADER_AMBIGUOUS,
    HTTP_EVENT_INVALID_REQUEST_FIELD_FOLDING,
    HTTP_EVENT_INVALID_RESPONSE_FIELD_FOLDING,
    HTTP_EVENT_REQUEST_FIELD_TOO_LONG,
    HTTP_EVENT_RESPONSE_FIELD_TOO_LONG,
    HTTP_EVENT_REQUEST_LINE_INVALID,
    HTTP_EVENT_REQUEST_BODY_UNEXPECTED,
    HTTP_EVENT_RESPONSE_BODY_UNEXPECTED,
    HTTP_EVENT_REQUEST_SERVER_PORT_TCP_PORT_MISMATCH,
    HTTP_EVENT_REQUEST_URI_HOST_INVALID,
    HTTP_EVENT_REQUEST_HEADER_HOST_INVALID,
    HTTP_EVENT_METHOD_DELIM_NON_COMPLIANT,
    HTTP_EVENT_URI_DELIM_NON_COMPLIANT,
    HTTP_EVENT_REQUEST_LINE_LEADING_WHITESPACE,
    HTTP_EVENT_REQUEST_LINE_INCOMPLETE,
    HTTP_EVENT_REQUEST_LINE_MISSING_PROTOCOL,
    HTTP_EVENT_TOO_MANY_ENCODING_LAYERS,
    HTTP_EVENT_REQUEST_TOO_MANY_HEADERS,
    HTTP_EVENT_RESPONSE_TOO_MANY_HEADERS,
    HTTP_EVENT_ABNORMAL_CE_HEADER,
    HTTP_EVENT_REQUEST_AUTH_UNRECOGNIZED,
    HTTP_EVENT_REQUEST_HEADER_REPETITION,
    HTTP_EVENT_RESPONSE_HEADER_REPETITION,
    HTTP_EVENT_RESPONSE_MULTIPART_BYTERANGES,
    HTTP_EVENT_RESPONSE_ABNORMAL_TRANSFER_ENCODING,
    HTTP_EVENT_RESPONSE_CHUNKED_OLD_PROTO,
    HTTP_EVENT_RESPONSE_INVALID_PROTOCOL,
    HTTP_EVENT_RESPONSE_INVALID_STATUS,
    HTTP_EVENT_REQUEST_CHUNK_EXTENSION,
    HTTP_EVENT_RESPONSE_CHUNK_EXTENSION,
    HTTP_EVENT_REQUEST_LINE_NUL,
    HTTP_EVENT_COMPRESSION_BOMB,
    HTTP_EVENT_COMPRESSION_BOMB_LIMIT_REACHED,
    HTTP_EVENT_LZMA_MEMLIMIT_REACHED,
    HTTP_EVENT_TOO_MANY_WARNINGS,
    HTTP_EVENT_FAILED_PROTOCOL_CHANGE,
    HTTP_EVENT_RANGE_INVALID,
    HTTP_EVENT_FILE_NAME_TOO_LONG,
    HTTP_EVENT_MULTIPART_GENERIC_ERROR,
    HTTP_EVENT_MULTIPART_NO_FILEDATA,
    HTTP_EVENT_MULTIPART_INVALID_HEADER,
    HTTP_EVENT_CONTENT_LENGTH_EXTRA_DATA_START,
    HTTP_EVENT_CONTENT_LENGTH_EXTRA_DATA_END,
    HTTP_EVENT_SWITCHING_PROTO_WITH_CONTENT_LENGTH,
    HTTP_EVENT_DEFORMED_EOL,
    HTTP_EVENT_REQUEST_LINE_UNKNOWN_METHOD,
    HTTP_EVENT_REQUEST_LINE_UNKNOWN_METHOD_NO_PROTOCOL,
    HTTP_EVENT_REQUEST_LINE_UNKNOWN_METHOD_INVALID_PROTOCOL,
    HTTP_EVENT_REQUEST_LINE_NO_PROTOCOL,
    HTTP_EVENT_PROTOCOL_CONTAINS_EXTRA_DATA,
    HTTP_EVENT_BODY_DATA_LOST,
    HTTP_EVENT_DOUBLE_ENCODED_URI,
    HTTP_EVENT_REQUEST_AMBIGUOUS,
    HTTP_EVENT_RESPONSE_AMBIGUOUS,
    HTTP_EVENT_RANGE_NOT_REASSEMBLED,
    HTTP_EVENT_COUNT,
};

enum http_method {
    HTTP_METHOD_UNKNOWN,
    HTTP_METHOD_GET,
    HTTP_METHOD_POST,
    HTTP_METHOD_PUT,
    HTTP_METHOD_HEAD,
    HTTP_METHOD_CONNECT,
    HTTP_METHOD_OTHER, /* known, without special treatment */
};

enum http_version { HTTP_VERSION_INVALID, HTTP_VERSION_0_9, HTTP_VERSION_1_0, HTTP_VERSION_1_1 };

/* Headers with an index in http_message.known. */
enum http_known {
    HTTP_ACCEPT,
    HTTP_ACCEPT_ENCODING,
    HTTP_ACCEPT_LANGUAGE,
    HTTP_AUTHORIZATION,
    HTTP_CONNECTION,
    HTTP_CONTENT_DISPOSITION,
    HTTP_CONTENT_ENCODING,
    HTTP_CONTENT_LENGTH,
    HTTP_CONTENT_RANGE,
    HTTP_CONTENT_TYPE,
    HTTP_COOKIE,
    HTTP_EXPECT,
    HTTP_HOST,
    HTTP_LOCATION,
    HTTP_REFERER,
    HTTP_SERVER,
    HTTP_SET_COOKIE,
    HTTP_TRANSFER_ENCODING,
    HTTP_UPGRADE,
    HTTP_USER_AGENT,
    HTTP_X_FORWARDED_FOR,
    HTTP_KNOWN_COUNT,
    HTTP_NOT_KNOWN = HTTP_KNOWN_COUNT,
};

enum {
    HTTP_FIELD_LIMIT = 32 << 10, /* bytes of a line with its continuation lines: the upper limit of the setting */
    HTTP_FIELD_DEFAULT = 18000,
    HTTP_RESPONSE_FIELD_MAX = 256 << 10, /* of a response: the limit of the most tolerant clients */
    HTTP_NAME_MAX = 60000,               /* bytes of a header name */
    HTTP_PENDING_MAX = HTTP_RESPONSE_FIELD_MAX + (64 << 10),
    HTTP_HEAD_LIMIT = 512 << 10,  /* bytes of all lines before a body, and of its trailers */
    HTTP_EXTRA_LIMIT = 512 << 10, /* bytes of texts in `extra` */
    HTTP_FOLD_LIMIT = 128,        /* lines of one header */
    HTTP_JUNK_AFTER_0_9 = 16,     /* blanks that may follow an HTTP/0.9 request */
    HTTP_CHUNK_LENGTH_MAX = INT32_MAX,
    HTTP_NONE = UINT16_MAX,  /* no header */
    HTTP_WINDOW = 128 << 10, /* bytes kept of a body without limit */
    HTTP_KEPT_MAX = 2 << 20, /* bytes kept of any body; the heap has no objects above HEAP_OBJECT_MAX */
};

/* A range of a message's head or extra. */
struct http_text {
    uint32_t at, length;
    bool is_set, extra;
};

/* "Name: value", contiguous in head or extra; the value starts two bytes after the name. */
struct http_header {
    uint32_t at, length;
    uint32_t hash; /* hash of the name, used during parsing */
    uint16_t name_length;
    uint16_t next;      /* next header of the same name, joined to this one; HTTP_NONE if there is none */
    uint16_t last;      /* last header of the same name, if `next` is set */
    uint16_t chain;     /* during parsing: previous header in the same hash bucket */
    uint8_t known;      /* enum http_known */
    bool unusual_name;  /* blanks or NUL bytes surround the name */
    bool extra, joined; /* joined: no separate header; its value is part of an earlier header */
};

/* Buffers that are concatenations, built when a rule first uses them; their memory is reserved with the headers. */
enum http_concatenation_kind {
    HTTP_CONCATENATION_HEADER,
    HTTP_CONCATENATION_NAMES,
    HTTP_CONCATENATION_START,
    HTTP_CONCATENATION_COUNT
};
struct http_concatenation {
    uint32_t at, length; /* in `joined`, or in `head` if in_head is set */
    bool is_set, in_head, made;
};

struct http_decoder;
struct http_form;

struct http_message {
    struct buffer head, extra;
    struct http_header *headers; /* array of header_room elements */
    uint16_t header_count, header_room;
    uint16_t known[HTTP_KNOWN_COUNT]; /* index in `headers`, or HTTP_NONE */
    uint32_t headers_at, headers_end; /* range of the header lines in head, without the empty line */
    uint32_t parsed_to;               /* length of head that has been parsed into headers */
    struct http_text line;
    uint8_t version; /* enum http_version */
    bool canonical;  /* each header is in head as "Name: value" CRLF */
    bool line_ends_regularly;
    bool plain;           /* no unusual header line so far: see head.c */
    bool repeated_length; /* several Content-Length headers */
    uint8_t *joined;
    struct http_concatenation concatenations[HTTP_CONCATENATION_COUNT];

    uint64_t wire_length; /* length of the body as received */
    uint64_t body_length; /* length after decoding */
    struct buffer body;   /* kept bytes of a body that is not a file */
    uint64_t body_offset; /* offset of body.bytes[0] */
    bool body_ended, body_cut;
    struct file *file; /* the body as a file, or the file of the current form part; owned by the transaction */
    bool file_is_body; /* the body is a single file and is kept only there */
    struct app_byterange byterange; /* byte range of a file that the body carries; serial 0: none */
    struct http_decoder *decoder;
    struct http_form *form;
};

struct http_tx {
    struct app_tx base;
    struct http_message message[FLOW_DIRECTIONS];

    uint8_t method;                                      /* enum http_method */
    bool is_0_9, has_host, has_uri_host, request_unseen; /* request_unseen: the response came without a request */
    struct http_text method_text, uri_raw, protocol;     /* parts of the request line */
    struct http_text uri, path;                          /* normalised */
    struct http_text host, uri_host;                     /* lower case, without port */
    int32_t port;                                        /* port in URI or Host; -1 if none */

    struct http_text response_protocol, status_text, status_message;
    uint32_t reading; /* id of the reading; 0: the main one; HTTP_OF_RESPONSE: an alternative reading of responses */
    uint64_t begin;   /* offset of the request line in the client's bytes */
    bool ambiguous;   /* dialects differ on the request */

    uint16_t status; /* 0: not a number from 100 to 999 */
    bool seen_100;
};

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
    uint64_t custom; /* bit set of rows of the table in log.c */
};

/* --- settings.c, events.c ------------------------------------------------------------------------- */

extern const struct setting http_setting_table[];
extern const struct app_event http_event_table[HTTP_EVENT_COUNT];
int http_configure(const struct config *config, struct diag *diag, void **out);
void http_unconfigure(void *settings);
const struct http_settings *http_settings_of(const struct app_context *context);
/* Returns the default settings. */
const struct http_settings *http_default_settings(void);

static inline void http_event(struct http_feed *f, struct http_tx *tx, enum http_event event)
{
    if (!f->quiet)
        app_event(f->context, tx ? &tx->base : NULL, event);
}

/* --- feed.c --------------------------------------------------------------------------------------- */

struct app_result http_feed(struct app_context *context, void *state, const struct app_input *in);
/* Executes steps until the bytes are consumed. HTTP_STEP_DONE: another reading has been added. */
enum http_step_result http_execute_steps(struct http_feed *f);
/* Handles `length` lost bytes. */
void http_handle_gap(struct http_feed *f, uint64_t length);
/* Consumes the next line with its line end, which the last line may lack at the end of the direction. HTTP_STEP_DONE: a
 * line was found. */
enum http_step_result http_read_line(struct http_feed *f, const uint8_t **line, uint32_t *length);
/* Returns the length of the line at the start of `bytes`, with its line end; 0 if incomplete. `from`: number of bytes
 * known to contain no line end. `alone`: CR alone ends a line too. `last`: nothing follows the bytes. */
uint32_t http_line_length(const uint8_t *bytes, uint32_t length, uint32_t from, bool alone, bool last);
/* Like http_line_length(), for a response in the reading with these flags. */
uint32_t http_response_line_length(uint16_t flags, const uint8_t *bytes, uint32_t length, uint32_t from, bool last);
/* Whether a line with its continuation lines exceeds the limit, which sets an event, and cannot be parsed. */
bool http_is_too_long(struct http_feed *f, uint32_t length);
/* Returns the length without trailing CR and LF. */
uint32_t http_trim_line_end(const uint8_t *line, uint32_t length);

static inline bool http_is_space(uint8_t c)
{
    return c <= ' ' && (c == ' ' || (c >= '\t' && c <= '\r'));
}

/* Separators of a request line, including those at which Python splits. */
static inline bool http_is_separator(uint8_t c)
{
    return http_is_space(c) || (c >= 0x1c && c <= 0x1f) || c == 0x85 || c == 0xa0;
}

static inline uint8_t http_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static inline bool http_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Returns 0 to 15, or -1. */
static inline int http_hex(uint8_t c)
{
    if (http_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Compares with a lower-case word, ignoring NUL bytes. */
bool http_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word);
/* Whether the bytes contain a separator followed by a version: "HTTP/" in any case, or what PHP accepts for it. */
bool http_has_version(const uint8_t *bytes, uint32_t length);
/* Returns the position of a lower-case word, or NULL. */
const uint8_t *http_find_nocase(const uint8_t *bytes, uint32_t length, const char *word);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void http_transfer(struct app_context *context, void *state, struct transfer *t);

/* --- request.c, response.c ------------------------------------------------------------------------ */

enum http_step_result http_request_step(struct http_feed *f);
enum http_step_result http_response_step(struct http_feed *f);
/* Ends the direction: no bytes follow. */
void http_request_end(struct http_feed *f);
void http_response_end(struct http_feed *f);
/* Completes the request; the next bytes belong to another one. */
void http_request_complete(struct http_feed *f, struct http_tx *tx);
struct http_tx *http_tx_new(struct http_feed *f);
void http_response_complete(struct http_feed *f, struct http_tx *tx);
/* Restores a response that started in another process; `without_head`: all of it is a body. NULL without memory. */
struct http_tx *http_response_restore(struct http_feed *f, bool without_head);
void http_tx_free(struct app_context *context, struct app_tx *tx);
/* Whether a transaction in the flow's list belongs to this parser, in any reading. */
bool http_owns_transaction(const struct http_feed *f, const struct app_tx *tx);

/* --- alternative.c -------------------------------------------------------------------------------- */

/* Reports that clients differ on the current response: the given readings are to be added (1 << enum http_way). */
void http_request_alternatives(struct http_feed *f, unsigned ways);
/* Feeds new bytes to the alternative readings. `lost`: bytes before them were lost. */
void http_feed_alternatives(struct http_feed *f, const uint8_t *bytes, uint32_t length, bool lost);
/* Adds the readings requested with http_request_alternatives(). */
void http_add_alternatives(struct http_feed *f);
void http_free_alternatives(struct app_context *context, struct http_state *state);

/* Steps of both directions. */
enum http_step_result http_read_identity(struct http_feed *f);
enum http_step_result http_read_chunk_data(struct http_feed *f);
enum http_step_result http_skip_chunk_end(struct http_feed *f);
enum http_step_result http_read_until_close(struct http_feed *f);
/* Whether the available part of a chunk size line cannot be valid. */
bool http_chunk_is_impossible(const struct http_feed *f);
/* Parses the number at the start of a chunk size line. Returns false if there is none. */
bool http_parse_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension);

/* --- framing.c ------------------------------------------------------------------------------------ */

struct http_framing http_get_framing(const struct http_message *message, enum http_dialect dialect);
/* Whether all dialects agree on the request, by a cheap test that may return false for requests on which they do. */
bool http_framing_is_unambiguous(const struct http_message *message);
/* Parses the size in a chunk size line of a request. Returns false if no server accepts it. */
bool http_parse_request_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension);

/* --- reading.c ------------------------------------------------------------------------------------ */

/* Decides how the current reading frames the request, whose headers are complete, and adds readings for the dialects
 * that differ. Returns false without memory. */
bool http_determine_framing(struct http_feed *f, struct http_tx *tx, struct http_framing *out);
/* Adds a reading for the dialect from the current position, which first parses the request's lines again. `ambiguous`:
 * report it. Returns false without memory. */
bool http_split_dialect(struct http_feed *f, enum http_dialect dialect, bool ambiguous);
/* Feeds the part of the body that was parsed already to the newest reading, if there are more than `before`, and sets
 * its step. Returns false without memory. */
bool http_split_repeat_body(struct http_feed *f, unsigned before, enum http_step step);
/* Reports that servers differ on the request. */
void http_report_ambiguous(struct http_feed *f, struct http_tx *tx);
/* Whether the current reading represents this dialect only. */
bool http_is_dialect(const struct http_feed *f, enum http_dialect dialect);
/* Whether CR alone ends a header line. */
bool http_cr_ends_lines(const struct http_feed *f);
/* Whether another reading starts a request at the same offset. That reading then also represents the dialects of the
 * current one, which can end. */
bool http_merge_reading(struct http_feed *f, uint64_t begin);
/* Feeds the client's bytes to all readings. `seen`: number of leading bytes that were fed before. */
enum http_step_result http_feed_readings(struct http_feed *f, uint32_t seen);
void http_free_readings(struct app_context *context, struct http_state *state);

/* --- head.c --------------------------------------------------------------------------------------- */

/* Adds lines to the message, up to the empty line. HTTP_STEP_DONE: the empty line was found and the headers are parsed.
 */
enum http_step_result http_read_headers(struct http_feed *f, struct http_message *message);
/* Stores the first line as received. Returns false without memory. */
bool http_store_line(struct http_feed *f, struct http_message *message, const uint8_t *line, uint32_t length);
/* Parses the headers received so far as complete. */
bool http_finish_headers(struct http_feed *f, struct http_message *message);
/* Returns the ways in which clients differ on a response line; 0: none. */
unsigned http_line_ambiguities(const uint8_t *line, uint32_t length);
void http_message_init(struct http_message *message);
void http_message_clear(struct app_context *context, struct http_message *message); /* frees line and headers */

static inline const uint8_t *http_bytes(const struct http_message *message, const struct http_text *text)
{
    return (text->extra ? message->extra.bytes : message->head.bytes) + text->at;
}

/* Returns the value of a header; false if there is none. */
bool http_value(const struct http_message *message, enum http_known known, const uint8_t **value, uint32_t *length);
static inline const uint8_t *http_header_text(const struct http_message *message, const struct http_header *header)
{
    return (header->extra ? message->extra.bytes : message->head.bytes) + header->at;
}
/* Stores bytes in `extra`; text->there is false without memory. */
struct http_text http_store_text(struct http_feed *f, struct http_message *message, const void *bytes, uint32_t length);
enum http_method http_parse_method(const uint8_t *name, uint32_t length);
enum http_version http_parse_version(const uint8_t *text, uint32_t length);

/* --- name.c --------------------------------------------------------------------------------------- */

/* The hash is equal for names that differ only in the case of ASCII letters. `factor` must be odd. */
uint32_t http_name_hash(const uint8_t *name, uint32_t length, uint64_t factor);
bool http_name_equal(const uint8_t *a, const uint8_t *b, uint32_t length); /* ignores the case of ASCII letters */
enum http_known http_find_known(const uint8_t *name, uint32_t length, bool is_token);

/* --- uri.c, host.c -------------------------------------------------------------------------------- */

/* Sets uri, path, host and port from tx->uri_raw. */
void http_parse_uri(struct http_feed *f, struct http_tx *tx);
/* Decode in place and return the new length. */
uint32_t http_decode_query(const struct http_personality *personality, uint8_t *bytes, uint32_t length);
uint32_t http_decode_path(const struct http_personality *personality, uint8_t *bytes, uint32_t length);
uint32_t http_remove_dots(uint8_t *bytes, uint32_t length);

/* "host:port". */
struct http_authority {
    const uint8_t *host;
    uint32_t host_length;
    int32_t port; /* -1: none */
    bool valid;
};
bool http_parse_authority(const uint8_t *bytes, uint32_t length, struct http_authority *out);
int32_t http_parse_port(const uint8_t *bytes, uint32_t length); /* returns -1 on errors */
bool http_host_is_valid(const uint8_t *host, uint32_t length);
/* Parses the first digits in the bytes, ignoring those around them. Returns false without digits, or if they are too
 * many. */
bool http_parse_length(const uint8_t *bytes, uint32_t length, uint64_t *out);

/* A Content-Range. */
struct http_range {
    int64_t start, end, size; /* -1: not given */
};
bool http_parse_range(const uint8_t *bytes, uint32_t length, struct http_range *out);
/* Returns the value of the parameter `name` of a header such as Content-Disposition. */
bool http_parameter(const uint8_t *bytes, uint32_t length, const char *name, const uint8_t **value,
                    uint32_t *value_length);
/* Returns the value at the start of `bytes`, a quoted string or up to a semicolon. */
void http_parameter_value(const uint8_t *bytes, uint32_t length, const uint8_t **value, uint32_t *value_length);

/* --- disposition.c -------------------------------------------------------------------------------- */

enum { HTTP_NAMES_MAX = HTTP_WAY_NAME_3 - HTTP_WAY_NAME_1 + 1 };
struct http_name {
    uint32_t length;
    uint8_t bytes[512]; /* no file system has longer names */
};
struct http_names {
    const uint8_t *main; /* the first "filename", valid as long as the header; NULL if none */
    uint32_t main_length;
    unsigned count;
    struct http_name name[HTTP_NAMES_MAX];
};
/* Returns the decoded names in a Content-Disposition that differ from each other and from the main one. */
void http_find_other_names(const uint8_t *bytes, uint32_t length, struct http_names *names);

/* --- body.c --------------------------------------------------------------------------------------- */

/* Starts a body: creates its decoders and its form parser. */
void http_body_begin(struct http_feed *f, struct http_tx *tx);
/* Adds bytes as received, without chunk framing. */
void http_body_data(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
void http_body_gap(struct http_feed *f, struct http_tx *tx, uint64_t length);
/* Ends the input of the decoders, which output their remaining bytes. */
void http_body_flush(struct http_feed *f, struct http_tx *tx);
/* Adds bytes that follow a message and belong to none. */
void http_body_add_surplus(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
/* Ends the body; `complete`: all of it was received. May be called repeatedly. */
void http_body_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction, bool complete);
void http_body_clear(struct app_context *context, struct http_message *message);
void http_tx_shed(struct app_context *context, struct app_tx *base); /* frees the kept bytes of bodies */
/* Adds decoded bytes. Returns false if no more are needed. */
bool http_body_decoded(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);

/* --- decode.c ------------------------------------------------------------------------------------- */

/* Adds the decoders for a value of Content-Encoding or Transfer-Encoding in front of the chain `next`, and returns the
 * first one, which is `next` if nothing else is to be decoded. */
struct http_decoder *http_decoder_new(struct http_feed *f, struct http_tx *tx, const uint8_t *names, uint32_t length,
                                      struct http_decoder *next);
void http_decoder_feed(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder, const uint8_t *bytes,
                       uint32_t length);
/* Ends the input: pending decisions about the encoding are made. */
void http_decoder_finish(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder);
void http_decoder_free(struct heap *heap, struct http_decoder *decoder);

/* --- multipart.c ---------------------------------------------------------------------------------- */

/* Creates a parser for a Content-Type with a boundary; NULL for other types. */
struct http_form *http_form_new(struct http_feed *f, const uint8_t *content_type, uint32_t length);
void http_form_feed(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
void http_form_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction);
/* Stops parsing the body: the pending bytes belong to the file. */
void http_form_stop(struct http_feed *f, struct http_tx *tx);
void http_form_free(struct heap *heap, struct http_form *form);

/* --- buffers.c, log.c ----------------------------------------------------------------------------- */

enum { HTTP_BUFFERS = 40 };
extern const struct app_buffer http_buffer_table[HTTP_BUFFERS];
void http_log(const struct app_tx *tx, const void *settings, struct fields *out);
void http_describe(const struct app_tx *tx, const void *settings, struct fields *out);
void http_describe_alert(const struct app_tx *tx, const void *settings, struct fields *out);
/* Returns the bit of a name in eve.types.http.custom; -1 if unknown. */
int http_log_field(const char *name);

/* --- content.c: buffers for rules ---------------------------------------------------------------- */

bool http_get_method(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_uri(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_uri_raw(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_host(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_host_raw(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_protocol(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_line(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_status(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_status_message(const struct app_tx *tx, enum flow_direction direction, unsigned index,
                             struct app_bytes *out);
bool http_get_header(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_header_raw(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_header_names(const struct app_tx *tx, enum flow_direction direction, unsigned index,
                           struct app_bytes *out);
bool http_get_start(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
bool http_get_each_header(const struct app_tx *tx, enum flow_direction direction, unsigned index,
                          struct app_bytes *out);
bool http_get_body(const struct app_tx *tx, enum flow_direction direction, unsigned index, struct app_bytes *out);
/* Returns the value of a known header; also used by the log. */
bool http_get_known(const struct app_tx *tx, enum flow_direction direction, enum http_known known,
                    struct app_bytes *out);
/* Returns the value of a request header by name, for the log. */
bool http_get_named(const struct app_tx *tx, const char *name, struct app_bytes *out);
/* Reserves memory for the concatenations of a message whose headers are parsed. */
void http_reserve_concatenations(struct http_feed *f, struct http_message *message);

#endif
