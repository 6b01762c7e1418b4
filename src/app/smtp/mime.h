/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MIME: a message of RFC 5322 with its parts (RFC 2045 to 2047, 2231), line by line.
 *
 * Whoever carries the message hands over its lines, without what the carrier added to them; a line may come in several
 * pieces, but not in pieces that depend on how the bytes arrived: what is found is the same however they were cut.
 * Parts with a name become files. A part may be a message or have parts of its own; that is no recursion here, but a
 * stack of boundaries.
 *
 * Threads:   a message belongs to one worker.
 * Ownership: all is in the heap of the target and ends with mime_clear(); files belong to the list they are opened in.
 */
#ifndef SMTP_MIME_H
#define SMTP_MIME_H

#include <nettle/md5.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/file.h"
#include "sluice/heap.h"

enum {
    MIME_PIECE_MAX = 4096,    /* bytes of a line that are handed over at once, at most */
    MIME_DEPTH_MAX = 16,      /* multiparts within each other */
    MIME_BOUNDARIES_MAX = 24, /* of all of them: receivers differ in which parameter is the boundary */
    MIME_WRITERS_MAX = 4,     /* files that the same lines belong to, in different readings */
    MIME_NESTED_MAX = 64,     /* messages within a message */
    MIME_BOUNDARY_MAX = 254,
    MIME_HEADERS_MAX = 512,
    MIME_HEADER_BYTES = 64 << 10, /* of all headers of a message, or of a part */
    MIME_HEADERS_KEPT = 128,      /* of them for those that matter, and bytes */
    MIME_HEADER_BYTES_KEPT = 16 << 10,
    MIME_FILES_MAX = 256,
    MIME_FILE_NAME_MAX = 255,
    MIME_URLS_MAX = 256,
    MIME_URL_LINE_MAX = 8192, /* of decoded text in which an URL is looked for at once */
    MIME_URL_BYTES = 64 << 10,
};

/* What is wrong with a message: bits. */
enum mime_anomaly {
    MIME_PARSE_FAILED = 1 << 0, /* no memory, or a limit */
    MIME_MALFORMED = 1 << 1,    /* nested too deep */
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
    uint32_t value_depth;       /* a header's value that is longer is told */
    const char *const *schemes; /* "http://" ..., NULL-terminated */
};

struct mime_header {
    uint32_t name, name_length, value, value_length; /* places in the text */
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
    struct buffer line; /* decoded text up to the end of its line */
};

enum mime_encoding { MIME_PLAIN, MIME_BASE64, MIME_QUOTED, MIME_UUENCODE };

struct mime_base64 {
    uint8_t digits[4], count;
};

/* What of a line may still belong to an escape that its next piece completes. */
struct mime_quoted {
    uint8_t bytes[2], count;
};

struct mime_boundary {
    uint8_t level;   /* from 1 on: those of one multipart have the same one */
    uint16_t length; /* with the two hyphens */
    uint8_t bytes[MIME_BOUNDARY_MAX + 2];
};

enum mime_state { MIME_IN_HEADERS, MIME_IN_BODY };

/* A file that is being written, in one reading of the message. */
struct mime_writer {
    struct file *file;
    enum mime_encoding encoding;
    struct mime_base64 base64;
    struct mime_quoted quoted;
    uint8_t held[2], held_count; /* a line's end: that before a boundary belongs to the boundary */
    bool second;                 /* a further reading: URLs are looked for in the first one only */
};

struct mime {
    const struct mime_options *options;
    enum mime_state state;
    unsigned anomalies; /* all that were seen */
    struct mime_headers main, part;
    bool main_done, ended;
    bool header_open; /* the last header of the part may go on in the next line */
    bool looks_for_urls;
    uint8_t boundaries; /* in use */
    uint8_t level;      /* of the part under way; 0: the message */
    uint8_t nested;
    uint16_t files;
    uint32_t early; /* headers that were there when the body may have begun without an empty line */
    struct mime_boundary boundary[MIME_BOUNDARIES_MAX];
    uint32_t line_length; /* of the line under way, so far */
    uint8_t writers;      /* in use, in the order of their files */
    struct mime_writer writer[MIME_WRITERS_MAX];
    struct mime_urls urls;
    struct md5_ctx md5;
    bool md5_wanted, md5_begun, md5_done;
    uint8_t md5_text[2 * MD5_DIGEST_SIZE]; /* in hexadecimal */
};

/* Where files go. */
struct mime_target {
    struct heap *heap;
    struct file_engine *files;
    struct file_list *list;
    uint32_t (*next_id)(void *user);
    void *user;
    bool grown; /* out: something came to a file, or a file was opened or closed */
};

/* A piece of a line. */
struct mime_line {
    const uint8_t *bytes;
    uint32_t length;
    uint8_t end_length; /* bytes of the line's end behind it; 0: the line goes on */
    bool begins;        /* it is the first piece of its line */
};

/* `body_md5`: the digest of what is behind the headers is wanted. */
void mime_init(struct mime *mime, const struct mime_options *options, bool body_md5);
void mime_clear(struct heap *heap, struct mime *mime);
void mime_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);
/* Starts a message at the place that `other` has reached. Its files begin with the kept ends of the open files of
 * `other`. False: no memory. */
bool mime_continue(struct mime *mime, struct mime_target *target, const struct mime *other);
/* Bytes are lost: a file goes on behind them, a header does not. */
void mime_gap(struct mime *mime, struct mime_target *target, uint64_t length);
/* The message is over; `complete`: as it should be. */
void mime_end(struct mime *mime, struct mime_target *target, bool complete);

/* --- mime_header.c -------------------------------------------------------------------------------- */

/* False: a limit or no memory. */
bool mime_headers_add(struct heap *heap, struct mime_headers *headers, const uint8_t *line, uint32_t length);
bool mime_headers_append(struct heap *heap, struct mime_headers *headers, const uint8_t *bytes, uint32_t length);
/* False: no memory. */
bool mime_headers_copy(struct heap *heap, struct mime_headers *headers, const struct mime_headers *other);
void mime_headers_clear(struct heap *heap, struct mime_headers *headers);
/* The header `index` of all with this name (small letters); NULL. */
const struct mime_header *mime_headers_find(const struct mime_headers *headers, const char *name, uint32_t index);
/* A parameter of a value: `text/plain; name="a b"`, also in sections (name*0, name*1) and with a charset (name*). Its
 * bytes are written to `out`, at most `room`; *length is what it has in all. False: there is none. */
bool mime_parameter(const uint8_t *value, uint32_t value_length, const char *name, uint8_t *out, uint32_t room,
                    uint32_t *length);
/* Calls found() with each value that some receiver may take for the parameter: wherever `name` and an equals sign
 * stand, with and without quotes, escapes and comments. */
void mime_each_parameter(const uint8_t *value, uint32_t value_length, const char *name,
                         void (*found)(void *user, const uint8_t *bytes, uint32_t length), void *user);
/* Whether the word (small letters) stands somewhere in the value. */
bool mime_contains(const uint8_t *value, uint32_t length, const char *word);
bool mime_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word);

/* --- mime_decode.c -------------------------------------------------------------------------------- */

/* At most length / 4 * 3 + 3 bytes; how many. *invalid is set when there are bytes that are no base64; they are left
 * out. */
uint32_t mime_decode_base64(struct mime_base64 *state, const uint8_t *in, uint32_t length, uint8_t *out, bool *invalid);
/* What is left at the end, without padding. */
uint32_t mime_finish_base64(struct mime_base64 *state, uint8_t *out);
/* At most length + 4 bytes; how many. `ends`: the line ends behind it; *soft: with a soft break. A broken escape stands
 * for itself. */
uint32_t mime_decode_quoted(struct mime_quoted *state, const uint8_t *in, uint32_t length, bool ends, uint8_t *out,
                            bool *soft, bool *invalid);

/* A line "begin 644 name" of uuencode: its name, or NULL. */
const uint8_t *mime_uuencode_begin(const uint8_t *line, uint32_t length, uint32_t *name_length);
/* A line of it: at most 63 bytes; how many. */
uint32_t mime_decode_uuencode(const uint8_t *line, uint32_t length, uint8_t *out);

/* --- mime_writer.c -------------------------------------------------------------------------------- */

/* A file begins with the next line. `second`: it is another reading of one that began with the same line. */
void mime_open_file(struct mime *mime, struct mime_target *target, const uint8_t *name, uint32_t length,
                    enum mime_encoding encoding, bool second);
/* The line belongs to all files that are open. */
void mime_write_line(struct mime *mime, struct mime_target *target, const struct mime_line *line);
/* Opens copies of the open files of another reading. They begin with the kept ends of those files. */
void mime_copy_files(struct mime *mime, struct mime_target *target, const struct mime *other);
void mime_close_files(struct mime *mime, struct mime_target *target, bool complete);

/* --- mime_url.c ----------------------------------------------------------------------------------- */

/* Decoded text; URLs in lines that are complete now are noted. False: no memory. */
bool mime_find_urls(struct heap *heap, struct mime *mime, const uint8_t *text, uint32_t length);
/* What is left at the end of a part. */
bool mime_finish_urls(struct heap *heap, struct mime *mime);
void mime_urls_clear(struct heap *heap, struct mime_urls *urls);

#endif
