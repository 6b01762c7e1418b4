/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside HTTP/1:
 *
 *   http.c       the protocol's constant: detection, state, transactions
 *   feed.c       lines and gaps; calls the steps below until the bytes are used up
 *   request.c    steps of the client's direction
 *   response.c   steps of the server's direction
 *   framing.c    where a request's body ends, by the dialects of servers
 *   reading.c    alternative readings of requests on which the dialects differ
 *   alternative.c  alternative readings of responses that clients read in different ways
 *   head.c       the lines before a body become texts and headers
 *   name.c       names of headers
 *   uri.c        parts of the URI, and how servers understand it
 *   host.c       names of hosts, ports, numbers
 *   body.c       bodies: limits, what becomes a file
 *   disposition.c  names of files
 *   decode.c     content encodings
 *   multipart.c  files in forms
 *   content.c    the buffers that rules ask for
 *   buffers.c    their table
 *   keywords.c, modifiers.c, urilen.c   the words of rules
 *   transfer.c   messages under way for another process
 *   log.c        the object "http" of events
 *   settings.c   what can be configured
 *   events.c     what is wrong with messages
 *
 * A message's line and headers are copied once, as they came, into its `head`; everything else is a place in it. Texts
 * that are not in one piece there (folded, repeated, or normalised ones) are put together in `extra`. Places are
 * offsets: both blocks move as they grow.
 *
 * Ownership: the blocks belong to the message, which belongs to its transaction. A state points at the transactions
 * under way only.
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

/* Progress of a direction: so far it is complete. */
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
    HTTP_METHOD_OTHER, /* known, and nothing special */
};

enum http_version { HTTP_VERSION_INVALID, HTTP_VERSION_0_9, HTTP_VERSION_1_0, HTTP_VERSION_1_1 };

/* Headers that are asked for by name. */
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
    HTTP_FIELD_LIMIT = 32 << 10, /* bytes of a line, with what is folded into it: the most that may be configured */
    HTTP_FIELD_DEFAULT = 18000,
    HTTP_RESPONSE_FIELD_MAX = 256 << 10, /* of a response: what the most tolerant clients accept */
    HTTP_NAME_MAX = 60000,               /* bytes of a header's name */
    HTTP_PENDING_MAX = HTTP_RESPONSE_FIELD_MAX + (64 << 10),
    HTTP_HEAD_LIMIT = 512 << 10,  /* bytes of all lines before a body, and of its trailers */
    HTTP_EXTRA_LIMIT = 512 << 10, /* of texts put together */
    HTTP_FOLD_LIMIT = 128,        /* lines of one header */
    HTTP_JUNK_AFTER_0_9 = 16,     /* blanks that may follow a request of HTTP/0.9 */
    HTTP_CHUNK_LENGTH_MAX = INT32_MAX,
    HTTP_NONE = UINT16_MAX,  /* no header */
    HTTP_WINDOW = 128 << 10, /* of a body without limit that is kept */
    HTTP_KEPT_MAX = 2 << 20, /* of any body; a heap has no objects above HEAP_OBJECT_MAX */
};

/* A place in a message's head or extra. */
struct http_text {
    uint32_t at, length;
    bool there, extra;
};

/* "Name: value" in one piece, in head or extra; the value begins two bytes behind the name. */
struct http_header {
    uint32_t at, length;
    uint32_t hash; /* of its name, while they are parsed */
    uint16_t name_length;
    uint16_t next;      /* of the same name, joined to this one; HTTP_NONE */
    uint16_t last;      /* the last of these, where next is one */
    uint16_t chain;     /* while they are parsed: the one before in its bucket */
    uint8_t known;      /* enum http_known */
    bool odd_name;      /* blanks or zeros stand around its name */
    bool extra, joined; /* joined: not a header of its own; its value is part of an earlier one's */
};

/* Buffers that are concatenations, made when the first rule asks: room is reserved with the headers. */
enum http_joined { HTTP_JOINED_HEADER, HTTP_JOINED_NAMES, HTTP_JOINED_START, HTTP_JOINED_COUNT };
struct http_joining {
    uint32_t at, length; /* in `joined`, or (in_head) in the head */
    bool there, in_head, made;
};

struct http_decoder;
struct http_form;

struct http_message {
    struct buffer head, extra;
    struct http_header *headers; /* of header_room */
    uint16_t header_count, header_room;
    uint16_t known[HTTP_KNOWN_COUNT]; /* index in headers, or HTTP_NONE */
    uint32_t headers_at, headers_end; /* the lines of headers in head, without the empty one */
    uint32_t parsed_to;               /* so far head has been turned into headers */
    struct http_text line;
    uint8_t version; /* enum http_version */
    bool canonical;  /* each header stands in head as "Name: value" CRLF */
    bool line_ends_regularly;
    bool plain;           /* so far no line of a header is odd: see head.c */
    bool repeated_length; /* Content-Length is there more than once */
    uint8_t *joined;
    struct http_joining joining[HTTP_JOINED_COUNT];

    uint64_t wire_length; /* of the body, as it came */
    uint64_t body_length; /* decoded */
    struct buffer body;   /* what is kept of it when it is no file */
    uint64_t body_offset; /* of body.bytes[0] */
    bool body_ended, body_cut;
    struct file *file; /* the body as a file, or the file of the form's part under way; it belongs to the transaction */
    bool file_is_body; /* the body is one file, and is kept there alone */
    struct app_byterange byterange; /* byte range of a file that the body carries; serial 0: none */
    struct http_decoder *decoder;
    struct http_form *form;
};

struct http_tx {
    struct app_tx base;
    struct http_message message[FLOW_DIRECTIONS];

    uint8_t method;                                  /* enum http_method */
    bool is_0_9, has_host, has_uri_host, not_seen;   /* not_seen: the response came without a request */
    struct http_text method_text, uri_raw, protocol; /* of the request */
    struct http_text uri, path;                      /* normalised */
    struct http_text host, uri_host;                 /* lower case, without port */
    int32_t port;                                    /* named in URI or Host; -1 */

    struct http_text response_protocol, status_text, status_message;
    uint32_t reading; /* its id; 0: the main one; HTTP_OF_RESPONSE: an alternative reading of responses */
    uint64_t begin;   /* offset of the request line in the client's bytes */
    bool ambiguous;   /* dialects differ about the request */

    uint16_t status; /* 0: it is not a number from 100 to 999 */
    bool seen_100;
};

enum http_step {
    HTTP_IDLE,      /* between messages */
    HTTP_AT_LINE,   /* a response has begun, its line is not complete */
    HTTP_AFTER_0_9, /* a request line without protocol: what follows decides */
    HTTP_AT_HEADERS,
    HTTP_IDENTITY, /* a body of known length */
    HTTP_CHUNK_LENGTH,
    HTTP_CHUNK_DATA,
    HTTP_CHUNK_END, /* the line end behind the data */
    HTTP_UNTIL_CLOSE,
    HTTP_AT_TRAILER,
    HTTP_WAITING, /* behind CONNECT, for the response */
    HTTP_TUNNEL,  /* not HTTP any more */
    HTTP_STEPS,
};

struct http_parser {
    enum http_step step;
    struct http_tx *tx;    /* the message under way is its; NULL in HTTP_IDLE */
    uint64_t left;         /* bytes of the body or chunk that are to come */
    uint64_t total;        /* Content-Length of the message under way */
    uint32_t lines;        /* of headers so far */
    uint32_t field_length; /* of the header under way, with what was folded into it */
    uint32_t messages;     /* begun so far */
    uint32_t blanks;       /* behind a request of HTTP/0.9 */
    uint32_t scanned;      /* so many bytes that were left have no end of a line */
    uint32_t chunk_blanks; /* blanks that a chunk's line begins with, as far as it came */
    bool bare_lf;          /* the line before ended with LF alone */
    bool ended;            /* nothing more comes in this direction */
    bool split_at_cr;      /* the headers under way have a CR within a line */
    bool skips_line;       /* the rest of the line belongs to nothing */
    uint16_t gone;         /* requests: 1 << enum http_dialect of those that other readings stand for */
    uint16_t flags;        /* how an alternative reading differs: HTTP_READ_... */
};

/* A way in which servers read requests: see framing.c. */
enum http_dialect {
    HTTP_DIALECT_LENIENT,     /* takes a length wherever one may be meant; always the main reading's */
    HTTP_DIALECT_STRICT,      /* nginx, lighttpd, IIS */
    HTTP_DIALECT_STRICT_1_1,  /* Go */
    HTTP_DIALECT_LIST,        /* Apache, Node */
    HTTP_DIALECT_LENGTH,      /* Python: no chunks; CR ends the line of a header */
    HTTP_DIALECT_LAST_LENGTH, /* PHP */
    HTTP_DIALECT_CRLF,        /* gunicorn: LF alone ends no line */
    HTTP_DIALECT_CONNECT,     /* like HTTP_DIALECT_LENIENT, but CONNECT has a body like any other method */
    HTTP_DIALECTS,
};
enum { HTTP_ALL_DIALECTS = (1 << HTTP_DIALECTS) - 1, HTTP_READINGS_MAX = HTTP_DIALECTS - 1 };

/* An alternative reading of the client's bytes: see reading.c. */
struct http_reading {
    uint32_t id;
    struct http_parser parser;
    struct buffer unread;
    uint64_t offset; /* of unread.bytes[0] */
};

struct http_framing {
    bool chunked;
    uint64_t length;
};

/* Alternative readings of responses: how clients read those that the main reading, that of browsers, is not sure about.
 */
enum http_way {
    HTTP_WAY_LINES,     /* LF alone ends a line; whatever comes first is the status line */
    HTTP_WAY_CR,        /* CR ends a line, whatever follows */
    HTTP_WAY_BLANK,     /* LF alone ends a line, and a line of blanks ends the headers */
    HTTP_WAY_SURPLUS,   /* bytes behind a response that are no response are a body without a head */
    HTTP_WAY_NO_HEAD,   /* HTTP/0.9: all of it is the body */
    HTTP_WAY_CLOSE,     /* the body ends with the connection */
    HTTP_WAY_RAW,       /* the same, and nothing is decoded */
    HTTP_WAY_INTERIM,   /* a 1xx with a length has no body, and the response follows */
    HTTP_WAY_FINAL,     /* a 1xx is the response; the bytes that follow are its body, not decoded */
    HTTP_WAY_FINAL_100, /* the same for a 100 with headers, which is not odd */
    HTTP_WAY_NAME_1,    /* another name of the file */
    HTTP_WAY_NAME_2,
    HTTP_WAY_NAME_3,
    HTTP_WAY_FOLD,          /* a line that begins with a blank always continues the header before it */
    HTTP_WAY_NO_EMPTY_LINE, /* the body begins with the first line without colon; no empty line precedes it */
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
    struct http_tx *answer_next; /* the oldest whose response is not complete */
    struct http_reading *readings[HTTP_READINGS_MAX];
    unsigned reading_count;
    uint32_t last_reading; /* id of the newest */
    bool main_failed;      /* the main reading cannot go on; others can */
    struct http_alternative *alternatives[HTTP_WAYS];
    uint8_t alternative_count;
    bool skips_responses; /* the main reading of responses failed; alternative ones go on */
};

/* One alternative reading, from a response on to the end of the connection. */
struct http_alternative {
    struct http_state state; /* of which the server's direction is used */
    uint64_t tx;             /* id of the transaction that it begins with in the main reading */
    struct buffer unread;
};

/* What one call of feed works on. */
struct http_feed {
    struct app_context *context;
    struct http_state *state;
    const struct http_settings *settings;
    struct http_parser *parser; /* of the direction */
    enum flow_direction direction;
    const uint8_t *bytes;
    uint32_t at, length;          /* bytes[at] is the next */
    uint64_t offset;              /* of bytes[0] in the direction */
    uint32_t unit_end;            /* behind the line at `at` that begins a reading; 0: there is none */
    struct http_reading *reading; /* NULL: the main one */
    bool again;                   /* the bytes are a copy of lines that another reading has parsed */
    bool transferred;             /* or that another process has */
    bool end, failed;
    bool quiet;                           /* no events and no doubts are raised */
    struct http_alternative *alternative; /* NULL: the main reading */
    unsigned doubt;                       /* responses: 1 << enum http_way of the readings that are to be added */
    struct http_tx
        *doubt_tx; /* the response that they begin with, where it begins, and bytes of its head before `bytes` */
    uint32_t doubt_from, doubt_head;
    uint32_t response_from; /* place in bytes where the response under way begins; HTTP_EARLIER: before these */
    uint32_t head_before;
};

/* What a step says. */
enum http_turn {
    HTTP_GO,   /* it has consumed something, or another step is next */
    HTTP_MORE, /* it needs bytes */
    HTTP_FAIL,
    HTTP_LEAVE, /* the bytes that follow are not ours */
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
    uint32_t body_limit[FLOW_DIRECTIONS]; /* 0: none */
    uint32_t field_limit, headers_limit;
    uint8_t ambiguous_policy[FLOW_DIRECTIONS]; /* enum http_ambiguous_policy, for requests and for responses */
    uint32_t bomb_limit, decoder_layers, lzma_memory;
    bool double_decode_path, double_decode_query, uri_is_whole, lzma;
    bool log_extended;
    uint64_t range_timeout_ns;
    bool alert_body, alert_body_printable;
    bool dump_request_headers, dump_response_headers;
    uint64_t custom; /* bits: rows of the table in log.c */
};

/* --- settings.c, events.c ------------------------------------------------------------------------- */

extern const struct setting http_setting_table[];
extern const struct app_event http_event_table[HTTP_EVENT_COUNT];
int http_configure(const struct config *config, struct diag *diag, void **out);
void http_unconfigure(void *settings);
const struct http_settings *http_settings_of(const struct app_context *context);
/* The settings when nothing is configured. */
const struct http_settings *http_default_settings(void);

static inline void http_event(struct http_feed *f, struct http_tx *tx, enum http_event event)
{
    if (!f->quiet)
        app_event(f->context, tx ? &tx->base : NULL, event);
}

/* --- feed.c --------------------------------------------------------------------------------------- */

struct app_result http_feed(struct app_context *context, void *state, const struct app_input *in);
/* Steps until the bytes are used up. HTTP_GO: another reading has begun. */
enum http_turn http_run(struct http_feed *f);
/* So many bytes are lost. */
void http_take_gap(struct http_feed *f, uint64_t length);
/* The next line with its end; the last one may lack it when nothing follows. HTTP_GO: it is there. */
enum http_turn http_next_line(struct http_feed *f, const uint8_t **line, uint32_t *length);
/* Length of the line at the start of `bytes`, with its end; 0 when there is none. `from`: bytes that are known to have
 * none. `alone`: a CR alone ends a line too. `last`: nothing follows the bytes. */
uint32_t http_line_length(const uint8_t *bytes, uint32_t length, uint32_t from, bool alone, bool last);
/* The same of a response, in the way of the reading that has these flags. */
uint32_t http_response_line_length(uint16_t flags, const uint8_t *bytes, uint32_t length, uint32_t from, bool last);
/* Whether a line, with what is folded into it, is longer than the limit, which is an event, and cannot be parsed. */
bool http_is_too_long(struct http_feed *f, uint32_t length);
/* The length without CR and LF at the end. */
uint32_t http_chomp(const uint8_t *line, uint32_t length);

static inline bool http_is_space(uint8_t c)
{
    return c <= ' ' && (c == ' ' || (c >= '\t' && c <= '\r'));
}

/* Between the words of a request line: what Python splits at, too. */
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

/* 0 to 15, or -1. */
static inline int http_hex(uint8_t c)
{
    if (http_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes 0 are overlooked in these. */
bool http_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word);
/* Whether a separator with a version behind it is there: "HTTP/" in any case, or what PHP takes for it. */
bool http_has_version(const uint8_t *bytes, uint32_t length);
/* The place of a lower case word, or NULL. */
const uint8_t *http_find_nocase(const uint8_t *bytes, uint32_t length, const char *word);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void http_transfer(struct app_context *context, void *state, struct transfer *t);

/* --- request.c, response.c ------------------------------------------------------------------------ */

enum http_turn http_request_step(struct http_feed *f);
enum http_turn http_response_step(struct http_feed *f);
/* Nothing follows in the direction. */
void http_request_end(struct http_feed *f);
void http_response_end(struct http_feed *f);
/* The request is complete; what comes next is another one. */
void http_request_complete(struct http_feed *f, struct http_tx *tx);
struct http_tx *http_tx_new(struct http_feed *f);
void http_response_complete(struct http_feed *f, struct http_tx *tx);
/* A response that has begun in another process; `without_head`: all of it is a body. NULL when there is no memory. */
struct http_tx *http_response_again(struct http_feed *f, bool without_head);
void http_tx_free(struct app_context *context, struct app_tx *tx);
/* Whether a transaction in the flow's list is one of this parser's, in any reading. */
bool http_is_own(const struct http_feed *f, const struct app_tx *tx);

/* --- alternative.c -------------------------------------------------------------------------------- */

/* Clients differ about the response that is being parsed: asks for these readings, too (1 << enum http_way). */
void http_doubt(struct http_feed *f, unsigned ways);
/* Feeds new bytes to the alternative readings. `lost`: bytes before them were lost. */
void http_feed_alternatives(struct http_feed *f, const uint8_t *bytes, uint32_t length, bool lost);
/* Begins the readings that http_doubt() asked for. */
void http_add_alternatives(struct http_feed *f);
void http_free_alternatives(struct app_context *context, struct http_state *state);

/* Steps of both directions. */
enum http_turn http_take_identity(struct http_feed *f);
enum http_turn http_take_chunk_data(struct http_feed *f);
enum http_turn http_take_chunk_end(struct http_feed *f);
enum http_turn http_take_until_close(struct http_feed *f);
/* Whether what is there of a chunk's line is none already. */
bool http_chunk_is_impossible(const struct http_feed *f);
/* The number at the start of a chunk's line. False: it is none. */
bool http_chunk_length(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension);

/* --- framing.c ------------------------------------------------------------------------------------ */

struct http_framing http_framing_of(const struct http_message *message, enum http_dialect dialect);
/* A cheap test: all dialects agree about the request. */
bool http_framing_is_clear(const struct http_message *message);
/* The number in the line of a request's chunk. False: no server reads one. */
bool http_request_chunk(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension);

/* --- reading.c ------------------------------------------------------------------------------------ */

/* How the reading that is fed frames the request, whose headers are complete. Dialects that differ get readings of
 * their own. False: no memory. */
bool http_decide_framing(struct http_feed *f, struct http_tx *tx, struct http_framing *out);
/* The dialect reads on from here in its own way, after it has parsed the request's lines again. `ambiguous`: report it.
 * False: no memory. */
bool http_split_dialect(struct http_feed *f, enum http_dialect dialect, bool ambiguous);
/* Gives the newest reading, if there are more than `before`, the part of the body that was parsed already, and sets its
 * step. False: no memory. */
bool http_split_repeat_body(struct http_feed *f, unsigned before, enum http_step step);
/* Servers differ about the request. */
void http_note_ambiguous(struct http_feed *f, struct http_tx *tx);
/* The reading that is fed stands for this dialect alone. */
bool http_reads_as(const struct http_feed *f, enum http_dialect dialect);
/* CR alone ends a line of the headers. */
bool http_cr_ends_lines(const struct http_feed *f);
/* Whether another reading begins a request at the same offset. That reading then also stands for the dialects of the
 * one that is fed, which can end. */
bool http_joins_reading(struct http_feed *f, uint64_t begin);
/* The client's bytes, in all readings. `seen`: so many at the start have been fed before. */
enum http_turn http_feed_readings(struct http_feed *f, uint32_t seen);
void http_free_readings(struct app_context *context, struct http_state *state);

/* --- head.c --------------------------------------------------------------------------------------- */

/* Lines into the message, up to the empty one. HTTP_GO: that was there, and the headers are parsed. */
enum http_turn http_take_headers(struct http_feed *f, struct http_message *message);
/* The first line, as it came. False: there is no memory. */
bool http_keep_line(struct http_feed *f, struct http_message *message, const uint8_t *line, uint32_t length);
/* What there is of them is all. */
bool http_finish_headers(struct http_feed *f, struct http_message *message);
/* The ways in which clients differ about a line of a response; 0: they do not. */
unsigned http_doubts_of_line(const uint8_t *line, uint32_t length);
void http_message_init(struct http_message *message);
void http_message_forget(struct app_context *context, struct http_message *message); /* gives back line and headers */

static inline const uint8_t *http_bytes(const struct http_message *message, const struct http_text *text)
{
    return (text->extra ? message->extra.bytes : message->head.bytes) + text->at;
}

/* The value of a header; false when it is not there. */
bool http_value(const struct http_message *message, enum http_known known, const uint8_t **value, uint32_t *length);
static inline const uint8_t *http_header_text(const struct http_message *message, const struct http_header *header)
{
    return (header->extra ? message->extra.bytes : message->head.bytes) + header->at;
}
/* Puts bytes into `extra`; text->there tells whether there was room. */
struct http_text http_keep(struct http_feed *f, struct http_message *message, const void *bytes, uint32_t length);
enum http_method http_method_of(const uint8_t *name, uint32_t length);
enum http_version http_version_of(const uint8_t *text, uint32_t length);

/* --- name.c --------------------------------------------------------------------------------------- */

/* The same for names that differ in the case of ASCII letters alone. `factor`: odd. */
uint32_t http_name_hash(const uint8_t *name, uint32_t length, uint64_t factor);
bool http_name_equal(const uint8_t *a, const uint8_t *b, uint32_t length); /* but for the case of ASCII letters */
enum http_known http_known_of(const uint8_t *name, uint32_t length, bool is_token);

/* --- uri.c, host.c -------------------------------------------------------------------------------- */

/* Fills in uri, path, host and port from tx->uri_raw. */
void http_understand_uri(struct http_feed *f, struct http_tx *tx);
/* In place; the new length. */
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
int32_t http_parse_port(const uint8_t *bytes, uint32_t length); /* -1 */
bool http_host_is_valid(const uint8_t *host, uint32_t length);
/* Digits, with what stands around them ignored. False: there are none, or they are too many. */
bool http_parse_length(const uint8_t *bytes, uint32_t length, uint64_t *out);

/* A Content-Range. */
struct http_range {
    int64_t start, end, size; /* -1: not given */
};
bool http_parse_range(const uint8_t *bytes, uint32_t length, struct http_range *out);
/* The value of `name`= in a header like Content-Disposition. */
bool http_parameter(const uint8_t *bytes, uint32_t length, const char *name, const uint8_t **value,
                    uint32_t *value_length);
/* The value at the start of `bytes`, a quoted string or up to a semicolon. */
void http_parameter_value(const uint8_t *bytes, uint32_t length, const uint8_t **value, uint32_t *value_length);

/* --- disposition.c -------------------------------------------------------------------------------- */

enum { HTTP_NAMES_MAX = HTTP_WAY_NAME_3 - HTTP_WAY_NAME_1 + 1 };
struct http_name {
    uint32_t length;
    uint8_t bytes[512]; /* no file system has longer ones */
};
struct http_names {
    const uint8_t *main; /* lent: the first "filename"; NULL */
    uint32_t main_length;
    unsigned count;
    struct http_name name[HTTP_NAMES_MAX];
};
/* The names that a Content-Disposition gives, decoded, that differ from each other and from the main one. */
void http_other_names(const uint8_t *bytes, uint32_t length, struct http_names *names);

/* --- body.c --------------------------------------------------------------------------------------- */

/* A body begins: what encodings and files it has. */
void http_body_begin(struct http_feed *f, struct http_tx *tx);
/* Bytes of it as they came, without chunks. */
void http_body_data(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
void http_body_gap(struct http_feed *f, struct http_tx *tx, uint64_t length);
/* The body is over; what waited in decoders comes out. */
void http_body_settle(struct http_feed *f, struct http_tx *tx);
/* Bytes behind a message that had none. */
void http_body_more(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
/* `complete`: all of it was there. May be called again. */
void http_body_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction, bool complete);
void http_body_clear(struct app_context *context, struct http_message *message);
void http_tx_shed(struct app_context *context, struct app_tx *base); /* releases what is kept of bodies */
/* Decoded bytes. False: no more are wanted. */
bool http_body_decoded(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);

/* --- decode.c ------------------------------------------------------------------------------------- */

/* Adds the decoders for a value of Content-Encoding or Transfer-Encoding in front of the chain `next`, and returns the
 * first one: `next` when nothing else is to be decoded. */
struct http_decoder *http_decoder_new(struct http_feed *f, struct http_tx *tx, const uint8_t *names, uint32_t length,
                                      struct http_decoder *next);
void http_decoder_feed(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder, const uint8_t *bytes,
                       uint32_t length);
/* Nothing follows: what waited to be judged is. */
void http_decoder_finish(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder);
void http_decoder_free(struct heap *heap, struct http_decoder *decoder);

/* --- multipart.c ---------------------------------------------------------------------------------- */

/* For a Content-Type with a boundary; NULL when it is none. */
struct http_form *http_form_new(struct http_feed *f, const uint8_t *content_type, uint32_t length);
void http_form_feed(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
void http_form_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction);
/* No more of the body is looked at: what waits is the file's. */
void http_form_cut(struct http_feed *f, struct http_tx *tx);
void http_form_free(struct heap *heap, struct http_form *form);

/* --- buffers.c, log.c ----------------------------------------------------------------------------- */

enum { HTTP_BUFFERS = 40 };
extern const struct app_buffer http_buffer_table[HTTP_BUFFERS];
void http_log(const struct app_tx *tx, const void *settings, struct fields *out);
void http_describe(const struct app_tx *tx, const void *settings, struct fields *out);
void http_describe_alert(const struct app_tx *tx, const void *settings, struct fields *out);
/* The bit of a name in eve.types.http.custom; -1. */
int http_log_field(const char *name);

/* --- content.c: what rules look at ---------------------------------------------------------------- */

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
/* Of a message of the other direction's, too: for the log. */
bool http_get_known(const struct app_tx *tx, enum flow_direction direction, enum http_known known,
                    struct app_bytes *out);
/* Of the request, by any name; for the log. */
bool http_get_named(const struct app_tx *tx, const char *name, struct app_bytes *out);
/* Room for the concatenations of a message whose headers are parsed. */
void http_prepare_joined(struct http_feed *f, struct http_message *message);

#endif
