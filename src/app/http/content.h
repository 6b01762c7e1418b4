/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions for the parts of a message: URI, host, body, files, buffers for rules. */
#ifndef SLUICE_APP_HTTP_CONTENT_H
#define SLUICE_APP_HTTP_CONTENT_H

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
#include "state.h"

/* --- uri.c, host.c -------------------------------------------------------------------------------- */

/* Sets uri, path, host and port from tx->uri_raw. */
void http_parse_uri(struct http_feed *f, struct http_tx *tx);
/* Sets host, uri_host and port from an authority of at most HTTP_FIELD_LIMIT bytes. `bad_port`: the event if only its
 * port is invalid. */
void http_set_authority(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length,
                        enum http_event bad_port);
/* Decode the query or the path of a URI in place and return the new length. */
uint32_t http_decode_query(const struct http_personality *personality, uint8_t *bytes, uint32_t length);
uint32_t http_decode_path(const struct http_personality *personality, uint8_t *bytes, uint32_t length);
uint32_t http_remove_dots(uint8_t *bytes, uint32_t length);

/* The parts of "host:port". */
struct http_authority {
    const uint8_t *host;
    uint32_t host_length;
    int32_t port; /* -1: none */
    bool valid;   /* the host is valid, and so is the port if there is one */
};
/* Returns false if the host is empty. */
bool http_parse_authority(const uint8_t *bytes, uint32_t length, struct http_authority *out);
int32_t http_parse_port(const uint8_t *bytes, uint32_t length); /* returns -1 on errors */
bool http_host_is_valid(const uint8_t *host, uint32_t length);
/* Parses the first decimal number in the bytes and ignores the bytes around it. Returns false if there is none or it
 * exceeds 64 bits. */
bool http_parse_length(const uint8_t *bytes, uint32_t length, uint64_t *out);

/* The value of Content-Range. */
struct http_range {
    int64_t start, end, size; /* in bytes; -1: not given */
};
bool http_parse_range(const uint8_t *bytes, uint32_t length, struct http_range *out);
/* Sets *value to the value of the parameter `name` of a header such as Content-Disposition. Returns false if there is
 * none. */
bool http_parameter(const uint8_t *bytes, uint32_t length, const char *name, const uint8_t **value,
                    uint32_t *value_length);
/* Sets *value to the parameter value at the start of `bytes`: a quoted string, or the text up to a semicolon. */
void http_parameter_value(const uint8_t *bytes, uint32_t length, const uint8_t **value, uint32_t *value_length);

/* --- disposition.c -------------------------------------------------------------------------------- */

enum { HTTP_NAMES_MAX = HTTP_ALTERNATIVE_NAME_3 - HTTP_ALTERNATIVE_NAME_1 + 1 };
struct http_name {
    uint32_t length;
    uint8_t bytes[512]; /* no file system has longer names */
};
struct http_names {
    const uint8_t *main; /* the first "filename", valid as long as the header; NULL if none */
    uint32_t main_length;
    unsigned count;                        /* number of entries in `name` */
    struct http_name name[HTTP_NAMES_MAX]; /* names that differ from `main` and from each other */
};
/* Finds the names in a Content-Disposition that clients may use, both undecoded and decoded. names->name gets the names
 * that differ from names->main and from each other. */
void http_find_other_names(const uint8_t *bytes, uint32_t length, struct http_names *names);

/* --- body.c --------------------------------------------------------------------------------------- */

/* Starts a body: creates its decoders and the parser for form data. */
void http_body_begin(struct http_feed *f, struct http_tx *tx);
/* Adds bytes as received, after removal of the chunk framing. */
void http_body_data(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
void http_body_gap(struct http_feed *f, struct http_tx *tx, uint64_t length);
/* Ends the input of the decoders, which output their remaining bytes. */
void http_body_flush(struct http_feed *f, struct http_tx *tx);
/* Adds to the body the bytes that follow the message and belong to no other message. */
void http_body_add_surplus(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
/* Ends the body; `complete`: all of it was received. Further calls for the same body have no effect. */
void http_body_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction, bool complete);
void http_body_clear(struct app_context *context, struct http_message *message);
/* Frees the stored bytes of the transaction's bodies. */
void http_tx_shed(struct app_context *context, struct app_tx *base);
/* Adds decoded bytes to the body. Returns false when the body limit is reached: no more bytes are needed. */
bool http_body_decoded(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);

/* --- decode.c ------------------------------------------------------------------------------------- */

/* Adds the decoders for a value of Content-Encoding or Transfer-Encoding in front of the chain `next`. Returns the new
 * start of the chain, which is `next` if no decoder is needed. */
struct http_decoder *http_decoder_new(struct http_feed *f, struct http_tx *tx, const uint8_t *names, uint32_t length,
                                      struct http_decoder *next);
void http_decoder_feed(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder, const uint8_t *bytes,
                       uint32_t length);
/* Ends the input of all decoders in the chain: bytes that they still hold are decoded or passed through. */
void http_decoder_finish(struct http_feed *f, struct http_tx *tx, struct http_decoder *decoder);
void http_decoder_free(struct heap *heap, struct http_decoder *decoder);

/* --- multipart.c ---------------------------------------------------------------------------------- */

/* Creates a parser for a multipart Content-Type. Returns NULL for other types, without a valid boundary, or without
 * memory. */
struct http_form *http_form_new(struct http_feed *f, const uint8_t *content_type, uint32_t length);
void http_form_feed(struct http_feed *f, struct http_tx *tx, const uint8_t *bytes, uint32_t length);
void http_form_end(struct http_feed *f, struct http_tx *tx, enum flow_direction direction);
/* Stops parsing: the pending bytes are added to the file. */
void http_form_stop(struct http_feed *f, struct http_tx *tx);
void http_form_free(struct heap *heap, struct http_form *form);

/* --- buffers.c, log.c ----------------------------------------------------------------------------- */

enum { HTTP_BUFFERS = 30 };
extern const struct app_buffer http_buffer_table[HTTP_BUFFERS];
void http_log(const struct app_tx *tx, const void *settings, struct fields *out);
void http_describe(const struct app_tx *tx, const void *settings, struct fields *out);
void http_describe_alert(const struct app_tx *tx, const void *settings, struct fields *out);
/* Returns the number of the bit in http_settings.custom for a name in eve.types.http.custom; -1 if it is unknown. */
int http_log_field(const char *name);

/* --- content.c: buffers for rules ---------------------------------------------------------------- */

bool http_get_method(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_uri(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_uri_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_host(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_host_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_protocol(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_line(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_status(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_status_message(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
/* http.header, http.header_names, http.start: part is enum http_concatenation_kind. */
bool http_get_concatenation(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_header_raw(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_each_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
bool http_get_body(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
/* Sets *out to the value of a known header. Returns false if the message does not have it. */
bool http_get_known(const struct app_tx *tx, enum flow_direction direction, enum http_known known,
                    struct app_bytes *out);
/* Sets *out to the value of a request header by its lower-case name. Returns false if there is none. */
bool http_get_named(const struct app_tx *tx, const char *name, struct app_bytes *out);
/* Reserves memory for the concatenations of the parsed headers. */
void http_reserve_concatenations(struct http_feed *f, struct http_message *message);

#endif
