/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that parse messages, by file. */
#ifndef SLUICE_APP_HTTP_PARSE_H
#define SLUICE_APP_HTTP_PARSE_H

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

/* --- settings.c, events.c ------------------------------------------------------------------------- */

extern const struct setting http_setting_table[];
extern const struct app_event http_event_table[HTTP_EVENT_COUNT];
int http_configure(const struct config *config, void *settings);

static inline void http_event(struct http_feed *f, struct http_tx *tx, enum http_event event)
{
    if (!f->quiet && !f->event_map)
        app_event(f->context, tx ? &tx->base : NULL, event);
    else if (f->event_map && f->event_map[event] > 0)
        app_event(f->context, tx ? &tx->base : NULL, f->event_map[event] - 1u);
}

/* --- feed.c --------------------------------------------------------------------------------------- */

struct app_result http_feed(struct app_context *context, void *state, const struct app_input *in);
/* Executes steps until more bytes are needed, HTTP ends, or parsing fails, and returns which of these. Returns
 * HTTP_STEP_DONE if a reading was added: the caller then feeds the remaining bytes to all readings. */
enum http_step_result http_execute_steps(struct http_feed *f);
/* Records `length` lost bytes as a gap of the current body. */
void http_handle_gap(struct http_feed *f, uint64_t length);
/* Consumes the next line with its line end; the last line of the direction may have none. Returns HTTP_STEP_DONE if
 * there is a line, HTTP_STEP_NEEDS_DATA if it is incomplete, HTTP_STEP_FAILED if it is too long. */
enum http_step_result http_read_line(struct http_feed *f, const uint8_t **line, uint32_t *length);
/* Returns the length of the line at the start of `bytes`, with its line end; 0 if it is incomplete. The first `from`
 * bytes contain no line end. `cr_ends`: CR alone ends a line, too. `is_end`: no bytes follow, so the rest is a line. */
uint32_t http_line_length(const uint8_t *bytes, uint32_t length, uint32_t from, bool cr_ends, bool is_end);
/* Like http_line_length(), for a response line in a reading with these flags (HTTP_READ_...). */
uint32_t http_response_line_length(uint16_t flags, const uint8_t *bytes, uint32_t length, uint32_t from, bool is_end);
/* Checks the length of a line with its continuation lines, and sets an event if it exceeds the limit. Returns true if
 * parsing has to fail: for a request, or beyond HTTP_RESPONSE_FIELD_MAX. */
bool http_is_too_long(struct http_feed *f, uint32_t length);
/* Returns the length without trailing CR and LF. */
uint32_t http_trim_line_end(const uint8_t *line, uint32_t length);

static inline bool http_is_space(uint8_t c)
{
    return c <= ' ' && (c == ' ' || (c >= '\t' && c <= '\r'));
}

/* Whether the byte separates words in a request line for at least one server: Python also splits at 0x1c-0x1f, 0x85 and
 * 0xa0. */
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

/* Whether the bytes equal a lower-case word. The case of the bytes, and NUL bytes between them, are ignored. */
bool http_equal_nocase(const uint8_t *bytes, uint32_t length, const char *word);
/* Whether the bytes contain a separator followed by a version: "HTTP/" in any case, or a form that only PHP accepts. */
bool http_has_version(const uint8_t *bytes, uint32_t length);
/* Returns the position of a lower-case word in the bytes, or NULL if they do not contain it; case and NUL bytes are
 * ignored. */
const uint8_t *http_find_nocase(const uint8_t *bytes, uint32_t length, const char *word);

/* --- transfer.c ----------------------------------------------------------------------------------- */

void http_transfer(struct app_context *context, void *state, struct transfer *t);
/* Returns the buffer with the last bytes of the body; NULL if the body cannot be continued after a gap, or the buffer
 * lacks its last bytes. */
const struct buffer *http_find_kept_body(const struct http_tx *tx, enum flow_direction direction);

/* --- request.c, response.c ------------------------------------------------------------------------ */

/* Execute the current step of the direction. */
enum http_step_result http_request_step(struct http_feed *f);
enum http_step_result http_response_step(struct http_feed *f);
/* Handles the end of the direction: no bytes follow. */
void http_request_end(struct http_feed *f);
void http_response_end(struct http_feed *f);
/* Complete the request or response; the next bytes of the direction belong to another message. */
void http_request_complete(struct http_feed *f, struct http_tx *tx);
void http_response_complete(struct http_feed *f, struct http_tx *tx);
/* Creates a transaction of the current reading. Returns NULL if memory is exhausted. */
struct http_tx *http_tx_new(struct http_feed *f);
/* Continues a response that started in another process; `without_head`: all of it is a body (HTTP/0.9). Returns NULL if
 * memory is exhausted. */
struct http_tx *http_response_restore(struct http_feed *f, bool without_head);
void http_tx_free(struct app_context *context, struct app_tx *tx);
/* Whether a transaction in the flow's list belongs to this parser, in any reading. */
bool http_owns_transaction(const struct http_feed *f, const struct app_tx *tx);

/* --- alternative.c -------------------------------------------------------------------------------- */

/* Requests alternative readings of the current response, because clients differ on it. `kinds`: bits 1 << enum
 * http_alternative_kind. Sets an event, unless ordinary responses need all these kinds, too. */
void http_request_alternatives(struct http_feed *f, unsigned kinds);
/* Feeds new bytes to the alternative readings. `lost`: bytes before them were lost, which ends these readings. */
void http_feed_alternatives(struct http_feed *f, const uint8_t *bytes, uint32_t length, bool lost);
/* Adds the readings requested with http_request_alternatives(). */
void http_add_alternatives(struct http_feed *f);
void http_free_alternatives(struct app_context *context, struct http_state *state);

/* --- feed.c: steps of both directions -------------------------------------------------------------- */

enum http_step_result http_read_identity(struct http_feed *f);
enum http_step_result http_read_chunk_data(struct http_feed *f);
enum http_step_result http_skip_chunk_end(struct http_feed *f);
enum http_step_result http_read_until_close(struct http_feed *f);
/* Whether the available part of a chunk size line is already invalid. */
bool http_chunk_is_impossible(const struct http_feed *f);
/* Parses the number at the start of a chunk size line. Returns false if there is none, or if it exceeds
 * HTTP_CHUNK_LENGTH_MAX. */
bool http_parse_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension);

/* --- framing.c ------------------------------------------------------------------------------------ */

/* Returns the body of a request as servers of the dialect determine it. */
struct http_framing http_get_framing(const struct http_message *message, enum http_dialect dialect);
/* A cheap test. Returns true if all dialects determine the same body; only dialects that ignore chunked coding may
 * differ. The result may be false although all dialects agree. */
bool http_framing_is_unambiguous(const struct http_message *message);
/* Parses the size in a chunk size line of a request. Returns false if no server accepts it. */
bool http_parse_request_chunk_size(const uint8_t *line, uint32_t length, uint64_t *out, bool *extension);

/* --- reading.c ------------------------------------------------------------------------------------ */

/* Determines the body of the request, whose headers are complete, for the current reading, and adds readings for the
 * dialects that determine another body. Returns false if a reading cannot be added: parsing then fails. */
bool http_determine_framing(struct http_feed *f, struct http_tx *tx, struct http_framing *out);
/* Adds a reading for the dialect. The new reading parses the lines of the current request again and continues at the
 * current position. Adds none if the current reading does not represent the dialect, if it represents no other dialect,
 * or if the policy for ambiguous requests excludes it. `ambiguous`: the request is reported as ambiguous. Returns false
 * if the reading cannot be added: parsing then fails. */
bool http_add_reading(struct http_feed *f, enum http_dialect dialect, bool ambiguous);
/* Called after http_add_reading(); `before`: number of readings before that call. If a reading was added, copies the
 * body received so far to it and sets its step. Returns false if memory is exhausted. */
bool http_copy_body_to_reading(struct http_feed *f, unsigned before, enum http_step step);
/* Sets the event request_ambiguous, and drops the flow if the policy requires it. */
void http_report_ambiguous(struct http_feed *f, struct http_tx *tx);
/* Whether the current reading represents only this dialect. */
bool http_is_dialect(const struct http_feed *f, enum http_dialect dialect);
/* Whether CR alone ends a header line in the current reading. */
bool http_cr_ends_lines(const struct http_feed *f);
/* If another reading starts a request at the same offset, makes that reading represent the dialects of the current one,
 * too, and returns true: the current reading can end. */
bool http_merge_reading(struct http_feed *f, uint64_t begin);
/* Feeds the client's bytes to all readings. The first `seen` bytes have been fed before. */
enum http_step_result http_feed_readings(struct http_feed *f, uint32_t seen);
void http_free_readings(struct app_context *context, struct http_state *state);

/* --- head.c --------------------------------------------------------------------------------------- */

/* Consumes header lines up to the empty line. Returns HTTP_STEP_DONE when the headers are complete and parsed. */
enum http_step_result http_read_headers(struct http_feed *f, struct http_message *message);
/* Stores the first line of a message as received. Returns false if memory is exhausted. */
bool http_store_line(struct http_feed *f, struct http_message *message, const uint8_t *line, uint32_t length);
/* Parses the header lines received so far; the headers are then complete. Returns false if there are too many headers
 * or memory is exhausted. */
bool http_finish_headers(struct http_feed *f, struct http_message *message);
/* Adds headers that HTTP/2 has stored in `head`. Returns false if there are too many, or memory is exhausted. */
bool http_add_fields(struct http_feed *f, struct http_message *message, const struct http_field *fields,
                     uint32_t count);
/* Returns the alternative readings that a response line requires: bits 1 << enum http_alternative_kind; 0 for none. */
unsigned http_line_ambiguities(const uint8_t *line, uint32_t length);
void http_message_init(struct http_message *message);
void http_message_clear(struct app_context *context, struct http_message *message); /* frees line and headers */

/* NULL: the text is empty, and the message has no bytes. */
static inline const uint8_t *http_text_bytes(const struct http_message *message, const struct http_text *text)
{
    const uint8_t *bytes = text->extra ? message->extra.bytes : message->head.bytes;

    return bytes ? bytes + text->at : NULL;
}

/* Sets *value and *length to the value of a header. Returns false if there is none. */
bool http_header_value(const struct http_message *message, enum http_known known, const uint8_t **value,
                       uint32_t *length);
static inline const uint8_t *http_header_text(const struct http_message *message, const struct http_header *header)
{
    return (header->extra ? message->extra.bytes : message->head.bytes) + header->at;
}
/* Stores bytes in `extra`. If memory is exhausted, is_set is false and f->failed is set. */
struct http_text http_store_text(struct http_feed *f, struct http_message *message, const void *bytes, uint32_t length);
enum http_method http_parse_method(const uint8_t *name, uint32_t length);
enum http_version http_parse_version(const uint8_t *text, uint32_t length);

/* --- name.c --------------------------------------------------------------------------------------- */

/* Returns a hash that ignores the case of ASCII letters. `factor` must be odd. */
uint32_t http_name_hash(const uint8_t *name, uint32_t length, uint64_t factor);
bool http_name_equal(const uint8_t *a, const uint8_t *b, uint32_t length); /* ignores the case of ASCII letters */
/* `is_token`: the name consists of token characters. */
enum http_known http_find_known(const uint8_t *name, uint32_t length, bool is_token);

#endif
