/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages, and the transaction of a request and its response. */
#ifndef SLUICE_APP_HTTP_MESSAGE_H
#define SLUICE_APP_HTTP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/app.h"
#include "sluice/fields.h"
#include "sluice/file.h"
#include "sluice/heap.h"
#include "sluice/keyword.h"

#include "names.h"

/* A text in the `head` of a message, or in its `extra`. */
struct http_text {
    uint32_t at, length; /* offset in the buffer and length, in bytes */
    bool is_set;         /* the text exists; it may be empty */
    bool extra;          /* the text is in `extra`; false: in `head` */
};

/* A header as "Name: value", contiguous in `head` or `extra`: the value starts two bytes after the end of the name. */
struct http_header {
    uint32_t at, length;
    uint32_t hash; /* hash of the name; used during parsing only */
    uint16_t name_length;
    uint16_t next;     /* next header of the same name, whose value is joined to this one; HTTP_NONE for none */
    uint16_t last;     /* last header of the same name, if `next` is set */
    uint16_t chain;    /* during parsing: next header in the hash bucket */
    uint8_t known;     /* enum http_known */
    bool unusual_name; /* the name is not a token, or blanks surround it */
    bool extra;        /* the header is in `extra`; false: in `head` */
    bool joined; /* an earlier header has the same name. The value is joined to the earlier header's value, except for
                    Content-Length, of which only the first value is used */
};

/* A header in `head` as "name: value" CRLF: the form in which HTTP/2 stores decoded fields. `at` is the offset of its
 * name. */
struct http_field {
    uint32_t at, name_length, value_length;
};

/* Buffers that are concatenations of headers. Memory is reserved when the headers are parsed; the text is written when
 * a rule first uses the buffer. */
enum http_concatenation_kind {
    HTTP_CONCATENATION_HEADER,
    HTTP_CONCATENATION_NAMES,
    HTTP_CONCATENATION_START,
    HTTP_CONCATENATION_COUNT
};
struct http_concatenation {
    uint32_t at, length;              /* in `joined`, or in `head` if in_head is set */
    bool is_set, in_head, is_written; /* is_written: the reserved memory contains the text */
};

struct http_decoder;
struct http_form;

struct http_message {
    struct buffer head, extra;
    struct http_header *headers; /* array of header_room elements */
    uint16_t header_count, header_room;
    uint16_t known[HTTP_KNOWN_COUNT]; /* index in `headers` of the first header of that name, or HTTP_NONE */
    uint32_t headers_at, headers_end; /* offsets in head: first header line, and end of the last one */
    uint32_t parsed_to;               /* number of leading bytes of `head` that have been parsed */
    struct http_text line;            /* the request line or status line */
    uint8_t version;                  /* enum http_version */
    bool canonical;                   /* each header is in head as "Name: value" CRLF */
    bool line_ends_regularly;         /* the first line ends with CR LF */
    bool plain;                       /* all header lines so far are plain (head.c) */
    bool repeated_length;             /* several Content-Length headers */
    bool body_ended, body_truncated;  /* truncated: the rest is neither decoded nor inspected */
    bool file_is_body;                /* the body is stored only as `file` */
    uint8_t *joined;                  /* memory for the concatenations */
    struct http_concatenation concatenations[HTTP_CONCATENATION_COUNT];

    uint64_t wire_length; /* bytes of the body as received, with chunk framing */
    uint64_t body_length; /* bytes after decoding */
    struct buffer body;   /* the last bytes of a body that is not stored as a file */
    uint64_t body_offset; /* offset of body.bytes[0] */
    struct file *file;    /* the body as a file, or the file of the current form part; owned by the transaction */
    struct app_byterange byterange; /* byte range of a file that the body contains; serial 0: none */
    struct http_decoder *decoder;   /* first decoder of the chain; NULL: the body is not encoded */
    struct http_form *form;         /* parser for form data; NULL: the body is not a form */
};

struct http_tx {
    struct app_tx base;
    struct http_message message[FLOW_DIRECTIONS];

    uint8_t method;                                  /* enum http_method */
    bool is_0_9;                                     /* the request line has no protocol, and no headers follow it */
    bool request_unseen;                             /* only the response was seen */
    bool ambiguous;                                  /* servers differ on the request */
    struct http_text method_text, uri_raw, protocol; /* parts of the request line */
    struct http_text uri, path;                      /* normalised */
    struct http_text host, uri_host;                 /* host: in lower case, without port; uri_host: host in the URI */
    int32_t port;                                    /* port in URI or Host; -1 if none */

    struct http_text response_protocol, status_text, status_message;
    uint16_t status;  /* 0: not a number from 100 to 999 */
    bool seen_100;    /* an interim response to the request has been discarded */
    uint32_t reading; /* id of the reading that created it; 0: the main reading; HTTP_RESPONSE_READING: an alternative
                         reading of responses */
    uint64_t begin;   /* offset of the request line in the client's bytes */
};
_Static_assert(sizeof(struct http_tx) <= 1024, "the next size class of the heap is 1280 bytes");

#endif
