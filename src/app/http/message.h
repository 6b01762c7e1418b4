/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message as it is stored, and the transaction of a request and its response.
 */
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

#endif
