/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MIME parser: a message (RFC 5322) with its parts (RFC 2045 to 2047, 2231), line by line.
 *
 * The caller removes the encoding of the transport (dot-stuffing, chunks) and passes the message line by line, long
 * lines in pieces. The size of pieces must not depend on TCP segments, so that the result does not depend on them
 * either. Parts with a name become files. A part may be a message or a multipart; the parser has a stack of boundaries
 * and does not recurse.
 *
 * Threads:   a message belongs to one worker.
 * Ownership: all memory is in the target's heap and freed by mime_clear(); files belong to the list they are opened in.
 */
#ifndef SMTP_MIME_H
#define SMTP_MIME_H

#include <nettle/md5.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/base64.h"
#include "sluice/file.h"
#include "sluice/heap.h"

enum {
    MIME_PIECE_MAX = 4096,        /* maximum bytes of a line passed in one call */
    MIME_DEPTH_MAX = 16,          /* nested multiparts */
    MIME_BOUNDARIES_MAX = 24,     /* boundaries of all levels; a level has several if receivers may differ in them */
    MIME_WRITERS_MAX = 4,         /* files that the same lines are written to, one for each interpretation */
    MIME_NESTED_MAX = 64,         /* nested messages */
    MIME_BOUNDARY_MAX = 254,      /* bytes of a boundary, without the two hyphens before it */
    MIME_HEADERS_MAX = 512,       /* headers of a message or of a part */
    MIME_HEADER_BYTES = 64 << 10, /* bytes of all headers of a message or of a part */
    MIME_HEADERS_RESERVED = 128,  /* part of MIME_HEADERS_MAX for important headers only (mime_header.c) */
    MIME_HEADER_BYTES_RESERVED = 16 << 10, /* part of MIME_HEADER_BYTES for important headers only */
    MIME_FILES_MAX = 256,                  /* files of a message */
    MIME_FILE_NAME_MAX = 255,              /* bytes of a file name */
    MIME_URLS_MAX = 256,                   /* URLs of a message */
    MIME_URL_LINE_MAX = 8192,              /* bytes; longer decoded lines are searched for URLs in pieces of this
                                              size */
    MIME_URL_BYTES = 64 << 10,             /* bytes of all URLs of a message */
};

/* Anomalies of a message, a bit set. */
enum mime_anomaly {
    MIME_PARSE_FAILED = 1 << 0, /* memory is exhausted, or the limit of headers, files or URLs was exceeded */
    MIME_MALFORMED = 1 << 1,    /* multiparts or messages are nested too deeply, or have too many boundaries */
    MIME_INVALID_BASE64 = 1 << 2,
    MIME_INVALID_QUOTED = 1 << 3,
    MIME_LONG_LINE = 1 << 4,
    MIME_LONG_ENCODED_LINE = 1 << 5,
    MIME_LONG_HEADER_NAME = 1 << 6,
    MIME_LONG_HEADER_VALUE = 1 << 7,
    MIME_LONG_BOUNDARY = 1 << 8,
    MIME_LONG_FILE_NAME = 1 << 9,
};

struct mime_options {
    bool decode_base64, decode_quoted; /* false: files in this encoding are empty */
    bool extract_urls, keep_scheme;    /* keep_scheme: URLs are stored with their scheme */
    uint32_t value_depth;              /* bytes; longer header values are reported as MIME_LONG_HEADER_VALUE */
    const char *const *schemes;        /* schemes of the URLs to extract, e.g. "http://"; NULL-terminated */
};

struct mime_header {
    uint32_t name, name_length, value, value_length; /* offsets and lengths in `text` */
};

/* Headers of a message or of a part. */
struct mime_headers {
    struct buffer text; /* names and values of the headers */
    struct mime_header *list;
    uint32_t count, room;
};

struct mime_text {
    uint32_t at, length;
};

struct mime_urls {
    struct buffer text;
    struct mime_text *list;
    uint32_t count, room;
    struct buffer line; /* incomplete line in which URLs are still to be searched */
};

enum mime_encoding { MIME_PLAIN, MIME_BASE64, MIME_QUOTED, MIME_UUENCODE };

/* Quoted-printable decoder: the incomplete escape sequence at the end of a piece. */
struct mime_quoted {
    uint8_t bytes[2], count; /* count: number of bytes of the sequence so far, including `=` */
};

struct mime_boundary {
    uint8_t level;   /* nesting level of the multipart, from 1; all boundaries of one multipart have the same level */
    uint16_t length; /* including the two hyphens */
    uint8_t bytes[MIME_BOUNDARY_MAX + 2];
};

enum mime_state { MIME_IN_HEADERS, MIME_IN_BODY };

/* An open file, and the decoder for one interpretation of the message. */
struct mime_writer {
    struct file *file;
    enum mime_encoding encoding;
    struct base64_stream base64;
    struct mime_quoted quoted;
    uint8_t line_end[2], line_end_length; /* line end of the last line; written with the next line, because the line end
                                             before a delimiter is not part of the file */
    bool alternative; /* the file has another interpretation of the lines than the first open file: no URLs are
                         extracted from it, and no anomalies are reported */
};

struct mime {
    const struct mime_options *options;
    enum mime_state state;
    unsigned anomalies;             /* all anomalies so far */
    struct mime_headers main, part; /* headers of the message, and of the current part */
    bool main_complete;             /* the headers of the message are complete */
    bool ended;                     /* mime_end() was called */
    bool header_open;               /* the last header may continue on the next line */
    bool extracts_urls;             /* URLs are extracted from the current part */
    uint8_t boundaries;             /* number of entries in boundary[] */
    uint8_t level;                  /* nesting level of the current part; 0: the message */
    uint8_t nested;                 /* number of nested messages so far */
    uint16_t files;                 /* number of files opened so far */
    uint32_t early_body_headers;    /* number of headers when start_body_early() was last called */
    struct mime_boundary boundary[MIME_BOUNDARIES_MAX];
    uint32_t line_length; /* bytes of the current line so far */
    uint8_t writers;      /* number of open files, in the order of their creation */
    struct mime_writer writer[MIME_WRITERS_MAX];
    struct mime_urls urls;
    struct md5_ctx md5;
    bool computes_md5, md5_begun, md5_done; /* computes_md5: the MD5 of the body is requested; md5_begun: bytes of the
                                               body have been added to `md5`; md5_done: md5_text is set */
    uint8_t md5_text[2 * MD5_DIGEST_SIZE];  /* hexadecimal */
};

/* Output of the parser. */
struct mime_target {
    struct heap *heap;
    struct file_engine *files;
    struct file_list *list;
    uint32_t (*next_id)(void *user);
    void *user;
    bool grown; /* out: a file was opened, extended or closed */
};

/* A line, or a piece of one. */
struct mime_line {
    const uint8_t *bytes;
    uint32_t length;
    uint8_t end_length; /* bytes of the line end after `bytes`, not included in `length`; 0: the line continues */
    bool begins;        /* this is the first piece of a line; false: a later piece */
};

/* Sets *out to the next line, or to the next MIME_PIECE_MAX bytes of a longer line. Returns the length including the
 * line end, or 0 when more bytes are needed. A CRLF is never split. The first `seen` bytes contain no line end. */
uint32_t mime_next_piece(const uint8_t *bytes, uint32_t length, uint32_t seen, struct mime_line *out);

/* Initialises the parser for a message. `body_md5`: compute the MD5 of the body. */
void mime_init(struct mime *mime, const struct mime_options *options, bool body_md5);
void mime_clear(struct heap *heap, struct mime *mime);
/* Parses the next line or piece. */
void mime_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);
/* Starts `mime` as a copy of the incomplete message `other`. For each open file of `other`, `mime` gets a new file that
 * starts with the last bytes of the open file. Returns false if memory is exhausted. */
bool mime_continue(struct mime *mime, struct mime_target *target, const struct mime *other);
/* Records lost bytes: open files get a gap and continue, the current header ends. */
void mime_gap(struct mime *mime, struct mime_target *target, uint64_t length);
/* Ends the message. `complete`: all of it was received. */
void mime_end(struct mime *mime, struct mime_target *target, bool complete);

/* --- mime_header.c -------------------------------------------------------------------------------- */

/* Add a header line; append a continuation line to the last header. Return false if memory is exhausted or a limit is
 * exceeded. */
bool mime_headers_add(struct heap *heap, struct mime_headers *headers, const uint8_t *line, uint32_t length);
bool mime_headers_append(struct heap *heap, struct mime_headers *headers, const uint8_t *bytes, uint32_t length);
/* Returns false if memory is exhausted. */
bool mime_headers_copy(struct heap *heap, struct mime_headers *headers, const struct mime_headers *other);
void mime_headers_clear(struct heap *heap, struct mime_headers *headers);
/* Returns header number `index` (from 0) of those with this name (lower case), or NULL. */
const struct mime_header *mime_headers_find(const struct mime_headers *headers, const char *name, uint32_t index);
/* Finds the parameter `name` of a header value such as `text/plain; name="a b"`, also in sections (name*0, name*1) and
 * with a charset (name*), as in RFC 2231. Writes at most `room` bytes of its value to `out` and sets *length to the
 * full length. Returns false if there is no such parameter. */
bool mime_parameter(const uint8_t *value, uint32_t value_length, const char *name, uint8_t *out, uint32_t room,
                    uint32_t *length);
/* Calls found() for each value that a lenient receiver may use as the parameter: for every occurrence of `name` before
 * an equals sign, the value with and without quotes, escapes and comments. */
void mime_each_parameter(const uint8_t *value, uint32_t value_length, const char *name,
                         void (*found)(void *user, const uint8_t *bytes, uint32_t length), void *user);
/* Whether the value contains the word (lower case). */
bool mime_contains(const uint8_t *value, uint32_t length, const char *word);
bool mime_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word);

/* --- mime_decode.c -------------------------------------------------------------------------------- */

/* Decodes quoted-printable to at most length + 4 bytes and returns their number. `ends`: the line ends after the input;
 * *soft is set to whether the line ends with a soft line break. Invalid escapes are copied unchanged and set *invalid
 * to true. */
uint32_t mime_decode_quoted(struct mime_quoted *state, const uint8_t *in, uint32_t length, bool ends, uint8_t *out,
                            bool *soft, bool *invalid);

/* Returns the file name in a line "begin 644 name", which starts uuencoded data, or NULL for any other line. */
const uint8_t *mime_uuencode_begin(const uint8_t *line, uint32_t length, uint32_t *name_length);
/* Decodes a line of uuencode to at most 63 bytes and returns their number. */
uint32_t mime_decode_uuencode(const uint8_t *line, uint32_t length, uint8_t *out);

/* --- mime_writer.c -------------------------------------------------------------------------------- */

/* Opens a file that starts with the next line. `alternative`: the value of mime_writer.alternative. */
void mime_open_file(struct mime *mime, struct mime_target *target, const uint8_t *name, uint32_t length,
                    enum mime_encoding encoding, bool alternative);
/* Writes the line to all open files. */
void mime_write_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);
/* For each open file of `other`, opens a new file in `mime` that starts with the last bytes of the open file. */
void mime_copy_files(struct mime *mime, struct mime_target *target, const struct mime *other);
void mime_close_files(struct mime *mime, struct mime_target *target, bool complete);

/* --- mime_url.c ----------------------------------------------------------------------------------- */

/* Extracts the URLs of complete lines of decoded text and stores an incomplete line until its end follows. Returns
 * false if memory is exhausted. */
bool mime_find_urls(struct heap *heap, struct mime *mime, const uint8_t *text, uint32_t length);
/* Extracts the URLs of the incomplete line at the end of a part. Returns false if memory is exhausted. */
bool mime_finish_urls(struct heap *heap, struct mime *mime);
void mime_urls_clear(struct heap *heap, struct mime_urls *urls);

#endif
