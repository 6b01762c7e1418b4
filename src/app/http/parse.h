/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that parse messages, by file.
 */
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

#endif
