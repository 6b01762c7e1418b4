/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MIME parser: a message (RFC 5322) with its parts (RFC 2045 to 2047, 2231), line by line.
 *
 * The caller passes lines without the encoding of the transport (dot-stuffing, chunks). Long lines are passed in pieces
 * whose size must not depend on segment boundaries, so that the result is the same for any segmentation. Parts with a
 * name become files. A part may be a message or contain parts; the parser keeps a stack of boundaries and does not
 * recurse.
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
    MIME_PIECE_MAX = 4096,    /* maximum bytes of a line passed in one call */
    MIME_DEPTH_MAX = 16,      /* nested multiparts */
    MIME_BOUNDARIES_MAX = 24, /* of all levels: receivers differ in which parameter is the boundary */
    MIME_WRITERS_MAX = 4,     /* files open at once: interpretations of the same lines */
    MIME_NESTED_MAX = 64,     /* nested messages */
    MIME_BOUNDARY_MAX = 254,
    MIME_HEADERS_MAX = 512,
    MIME_HEADER_BYTES = 64 << 10,      /* all headers of a message or of a part */
    MIME_HEADERS_KEPT = 128,           /* headers reserved for important ones (mime_header.c) */
    MIME_HEADER_BYTES_KEPT = 16 << 10, /* bytes reserved for them */
    MIME_FILES_MAX = 256,
    MIME_FILE_NAME_MAX = 255,
    MIME_URLS_MAX = 256,
    MIME_URL_LINE_MAX = 8192, /* maximum decoded line in which URLs are searched */
    MIME_URL_BYTES = 64 << 10,
};

/* Anomalies of a message, a bit set. */
enum mime_anomaly {
    MIME_PARSE_FAILED = 1 << 0, /* no memory, or a limit was exceeded */
    MIME_MALFORMED = 1 << 1,    /* nesting limit exceeded */
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
    bool decode_base64, decode_quoted;
    bool extract_urls, keep_scheme;
    uint32_t value_depth;       /* longer header values are an anomaly */
    const char *const *schemes; /* "http://" ..., NULL-terminated */
};

struct mime_header {
    uint32_t name, name_length, value, value_length; /* offsets and lengths in `text` */
};

struct mime_headers {
    struct buffer text;
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
    struct buffer line; /* incomplete line of decoded text */
};

enum mime_encoding { MIME_PLAIN, MIME_BASE64, MIME_QUOTED, MIME_UUENCODE };

/* Start of an escape sequence that the next piece of the line may complete. */
struct mime_quoted {
    uint8_t bytes[2], count;
};

struct mime_boundary {
    uint8_t level;   /* starts at 1; all boundaries of one multipart have the same level */
    uint16_t length; /* including the two hyphens */
    uint8_t bytes[MIME_BOUNDARY_MAX + 2];
};

enum mime_state { MIME_IN_HEADERS, MIME_IN_BODY };

/* An open file in one interpretation of the message. */
struct mime_writer {
    struct file *file;
    enum mime_encoding encoding;
    struct base64_stream base64;
    struct mime_quoted quoted;
    uint8_t line_end[2], line_end_length; /* the last line end: before a delimiter it belongs to the delimiter */
    bool alternative; /* an alternative interpretation: URLs are extracted from the first one only */
};

struct mime {
    const struct mime_options *options;
    enum mime_state state;
    unsigned anomalies; /* all anomalies so far */
    struct mime_headers main, part;
    bool main_done, ended;
    bool header_open; /* the last header may continue on the next line */
    bool extracts_urls;
    uint8_t boundaries; /* number of entries in boundary[] */
    uint8_t level;      /* of the current part; 0: the message */
    uint8_t nested;
    uint16_t files;
    uint32_t early; /* number of headers at the last possible start of the body without an empty line */
    struct mime_boundary boundary[MIME_BOUNDARIES_MAX];
    uint32_t line_length; /* of the current line so far */
    uint8_t writers;      /* number of open files, in the order of their creation */
    struct mime_writer writer[MIME_WRITERS_MAX];
    struct mime_urls urls;
    struct md5_ctx md5;
    bool computes_md5, md5_begun, md5_done;
    uint8_t md5_text[2 * MD5_DIGEST_SIZE]; /* hexadecimal */
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
    uint8_t end_length; /* bytes of the line end after it; 0: the line continues */
    bool begins;        /* the first piece of its line */
};

/* `body_md5`: compute the MD5 of the body. */
void mime_init(struct mime *mime, const struct mime_options *options, bool body_md5);
void mime_clear(struct heap *heap, struct mime *mime);
void mime_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);
/* Starts a message at the current position of `other`. Its files start with the buffered ends of the open files of
 * `other`. False without memory. */
bool mime_continue(struct mime *mime, struct mime_target *target, const struct mime *other);
/* Records lost bytes: open files get a gap and continue, the current header ends. */
void mime_gap(struct mime *mime, struct mime_target *target, uint64_t length);
/* Ends the message; `complete`: its regular end was seen. */
void mime_end(struct mime *mime, struct mime_target *target, bool complete);

/* --- mime_header.c -------------------------------------------------------------------------------- */

/* Add a header line; append a continuation to the last header. False without memory or when a limit is exceeded. */
bool mime_headers_add(struct heap *heap, struct mime_headers *headers, const uint8_t *line, uint32_t length);
bool mime_headers_append(struct heap *heap, struct mime_headers *headers, const uint8_t *bytes, uint32_t length);
/* False without memory. */
bool mime_headers_copy(struct heap *heap, struct mime_headers *headers, const struct mime_headers *other);
void mime_headers_clear(struct heap *heap, struct mime_headers *headers);
/* Returns header number `index` of those with this name (lower case), or NULL. */
const struct mime_header *mime_headers_find(const struct mime_headers *headers, const char *name, uint32_t index);
/* Reads a parameter of a header value: `text/plain; name="a b"`, also in sections (name*0, name*1) and with a charset
 * (name*). At most `room` bytes are written to `out`; *length is the full length. False when it does not exist. */
bool mime_parameter(const uint8_t *value, uint32_t value_length, const char *name, uint8_t *out, uint32_t room,
                    uint32_t *length);
/* Calls found() for each value that some receiver may use as the parameter: at every occurrence of `name` and an equals
 * sign, with and without quotes, escapes and comments. */
void mime_each_parameter(const uint8_t *value, uint32_t value_length, const char *name,
                         void (*found)(void *user, const uint8_t *bytes, uint32_t length), void *user);
/* Whether the value contains the word (lower case). */
bool mime_contains(const uint8_t *value, uint32_t length, const char *word);
bool mime_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word);

/* --- mime_decode.c -------------------------------------------------------------------------------- */

/* Decodes to at most length + 4 bytes and returns their number. `ends`: the line ends after the input; *soft: with a
 * soft line break. Invalid escapes are copied unchanged. */
uint32_t mime_decode_quoted(struct mime_quoted *state, const uint8_t *in, uint32_t length, bool ends, uint8_t *out,
                            bool *soft, bool *invalid);

/* Returns the name in a uuencode line "begin 644 name", or NULL when the line is not one. */
const uint8_t *mime_uuencode_begin(const uint8_t *line, uint32_t length, uint32_t *name_length);
/* Decodes a line of uuencode to at most 63 bytes and returns their number. */
uint32_t mime_decode_uuencode(const uint8_t *line, uint32_t length, uint8_t *out);

/* --- mime_writer.c -------------------------------------------------------------------------------- */

/* Opens a file that starts with the next line. `alternative`: an alternative to a file that started with the same line.
 */
void mime_open_file(struct mime *mime, struct mime_target *target, const uint8_t *name, uint32_t length,
                    enum mime_encoding encoding, bool alternative);
/* Writes the line to all open files. */
void mime_write_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);
/* Opens copies of the open files of another message state; they start with the buffered ends of those files. */
void mime_copy_files(struct mime *mime, struct mime_target *target, const struct mime *other);
void mime_close_files(struct mime *mime, struct mime_target *target, bool complete);

/* --- mime_url.c ----------------------------------------------------------------------------------- */

/* Adds decoded text and extracts the URLs of complete lines. False without memory. */
bool mime_find_urls(struct heap *heap, struct mime *mime, const uint8_t *text, uint32_t length);
/* Extracts the URLs of an incomplete line at the end of a part. False without memory. */
bool mime_finish_urls(struct heap *heap, struct mime *mime);
void mime_urls_clear(struct heap *heap, struct mime_urls *urls);

#endif
