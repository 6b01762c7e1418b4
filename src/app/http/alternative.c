/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alternative readings of responses. Clients differ on malformed responses: which bytes end a line, whether the first
 * line is a status line, where the body starts and ends, whether a 1xx is an interim response or the response itself,
 * and the name of the file. Which client receives the response is unknown. The main reading is that of browsers; if
 * other clients differ, the main reading calls http_request_alternatives(), and the bytes are also parsed by
 * alternative readings, from the start of the response to the end of the connection. An alternative reading has its own
 * transactions, with a copy of the request. Rules inspect them; they are not logged and have no events.
 *
 * Cost: most responses have no extra cost, because http_request_alternatives() is called for unusual bytes only.
 *
 * Memory: a flow has at most one alternative reading of each kind, with at most UNREAD_MAX unconsumed bytes. These
 * readings are not transferred to the next process.
 */
#include <string.h>

#include "http_priv.h"

enum { UNREAD_MAX = HTTP_PENDING_MAX };

/* Flags HTTP_READ_... of each kind. Clients that accept only LF as line end also tolerate other errors, so their kinds
 * have several flags. */
static const uint16_t kind_flags[HTTP_ALTERNATIVE_KINDS] = {
    [HTTP_ALTERNATIVE_LINES] = HTTP_READ_LF | HTTP_READ_ANY_LINE | HTTP_READ_INTERIM,
    [HTTP_ALTERNATIVE_CR] = HTTP_READ_CR,
    [HTTP_ALTERNATIVE_BLANK] = HTTP_READ_LF | HTTP_READ_ANY_LINE | HTTP_READ_INTERIM | HTTP_READ_BLANK,
    [HTTP_ALTERNATIVE_SURPLUS] = HTTP_READ_NO_HEAD,
    [HTTP_ALTERNATIVE_NO_HEAD] = HTTP_READ_NO_HEAD,
    [HTTP_ALTERNATIVE_CLOSE] = HTTP_READ_CLOSE,
    [HTTP_ALTERNATIVE_RAW] = HTTP_READ_CLOSE | HTTP_READ_RAW,
    [HTTP_ALTERNATIVE_INTERIM] = HTTP_READ_INTERIM,
    [HTTP_ALTERNATIVE_FINAL] = HTTP_READ_CLOSE | HTTP_READ_RAW | HTTP_READ_FINAL,
    [HTTP_ALTERNATIVE_FINAL_100] = HTTP_READ_CLOSE | HTTP_READ_RAW | HTTP_READ_FINAL,
    [HTTP_ALTERNATIVE_NAME_1] = HTTP_READ_NAME_1,
    [HTTP_ALTERNATIVE_NAME_2] = HTTP_READ_NAME_2,
    [HTTP_ALTERNATIVE_NAME_3] = HTTP_READ_NAME_3,
    [HTTP_ALTERNATIVE_FOLD] = HTTP_READ_FOLD,
    [HTTP_ALTERNATIVE_NO_EMPTY_LINE] = HTTP_READ_NO_EMPTY_LINE,
};

/* Kinds that set no event, because ordinary responses need them: servers send "filename" together with "filename*" for
 * names that are not ASCII, and some send headers with a 100. */
enum {
    ORDINARY_KINDS = 1 << HTTP_ALTERNATIVE_SURPLUS | 1 << HTTP_ALTERNATIVE_FINAL_100 | 1 << HTTP_ALTERNATIVE_NAME_1 |
                     1 << HTTP_ALTERNATIVE_NAME_2 | 1 << HTTP_ALTERNATIVE_NAME_3
};

void http_request_alternatives(struct http_feed *f, unsigned kinds)
{
    const struct http_state *state = f->state;

    if (f->alternative || f->quiet || f->event_map || !(f->parser->tx || kinds == 1 << HTTP_ALTERNATIVE_SURPLUS))
        return;
    if (kinds & ~ORDINARY_KINDS) {
        http_event(f, f->parser->tx, HTTP_EVENT_RESPONSE_AMBIGUOUS);
        if (f->settings->ambiguous_policy[FLOW_TO_CLIENT] == HTTP_AMBIGUOUS_DROP)
            app_drop_ambiguous(f->context);
    }
    if (f->settings->ambiguous_policy[FLOW_TO_CLIENT] == HTTP_AMBIGUOUS_PASS)
        return;
    for (unsigned kind = 0; kind < HTTP_ALTERNATIVE_KINDS; kind++)
        if (state->alternatives[kind])
            kinds &= ~(1u << kind);
    if (kinds != 0 && f->requested_kinds == 0) {
        f->requested_tx = f->parser->tx;
        f->requested_from = f->parser->tx ? f->response_from : f->at;
        f->requested_head = f->head_before;
    }
    f->requested_kinds |= kinds;
}

/* --- Transactions --------------------------------------------------------------------------------- */

static bool copy_buffer(struct http_feed *f, struct buffer *to, const struct buffer *from)
{
    return from->length == 0 ||
           buffer_append(app_heap(f->context), to, from->bytes, from->length, UINT32_MAX) == from->length;
}

/* Copies the parts of the request that rules on the response and events use. If memory is exhausted, the copy is
 * incomplete, and the framework stops the parser. */
static void copy_request(struct http_feed *f, struct http_tx *to, const struct http_tx *from)
{
    struct http_message *message = &to->message[FLOW_TO_SERVER];
    const struct http_message *original = &from->message[FLOW_TO_SERVER];
    size_t size = original->header_room * sizeof(*original->headers);
    struct http_header *headers = size > 0 ? heap_alloc(app_heap(f->context), size) : NULL;

    to->method = from->method;
    message->headers = headers;
    if ((size > 0 && !headers) || !copy_buffer(f, &message->head, &original->head) ||
        !copy_buffer(f, &message->extra, &original->extra))
        return;
    to->is_0_9 = from->is_0_9;
    to->method_text = from->method_text;
    to->uri_raw = from->uri_raw;
    to->protocol = from->protocol;
    to->uri = from->uri;
    to->path = from->path;
    to->host = from->host;
    to->uri_host = from->uri_host;
    to->port = from->port;
    message->line = original->line;
    message->version = original->version;
    if (!headers)
        return;
    memcpy(headers, original->headers, size);
    message->header_room = original->header_room;
    message->header_count = original->header_count;
    memcpy(message->known, original->known, sizeof(message->known));
    message->headers_at = original->headers_at;
    message->headers_end = original->headers_end;
}

/* --- Readings ------------------------------------------------------------------------------------- */

/* Returns the context for feeding an alternative reading. */
static struct http_feed make_feed(const struct http_feed *f, struct http_alternative *alternative)
{
    return (struct http_feed){
        .context = f->context,
        .state = &alternative->state,
        .settings = f->settings,
        .parser = &alternative->state.parser[FLOW_TO_CLIENT],
        .direction = FLOW_TO_CLIENT,
        .bytes = f->bytes,
        .end = f->end,
        .quiet = true,
        .alternative = alternative,
    };
}

static void free_alternative(struct heap *heap, struct http_alternative *alternative)
{
    buffer_clear(heap, &alternative->unconsumed);
    heap_release(heap, alternative);
}

static void end_alternative(struct http_feed *f, unsigned kind)
{
    struct http_alternative *alternative = f->state->alternatives[kind];
    struct http_feed ended = make_feed(f, alternative);

    http_response_end(&ended);
    free_alternative(app_heap(f->context), alternative);
    f->state->alternatives[kind] = NULL;
    f->state->alternative_count--;
}

/* Feeds bytes to an alternative reading; the bytes that it does not consume are kept in `unconsumed`. Returns false if
 * the reading must end. */
static bool feed_alternative(struct http_feed *f, struct http_alternative *alternative, const uint8_t *bytes,
                             uint32_t length)
{
    struct heap *heap = app_heap(f->context);
    struct buffer *unconsumed = &alternative->unconsumed;
    bool has_unconsumed = unconsumed->length > 0;
    struct http_feed feed = make_feed(f, alternative);

    if (has_unconsumed && buffer_append(heap, unconsumed, bytes, length, UNREAD_MAX + length) < length)
        return false;
    feed.bytes = has_unconsumed ? unconsumed->bytes : bytes;
    feed.length = has_unconsumed ? unconsumed->length : length;
    enum http_step_result result = http_execute_steps(&feed);

    if (result == HTTP_STEP_FAILED || result == HTTP_STEP_ENDS_HTTP || feed.length - feed.at > UNREAD_MAX)
        return false;
    if (has_unconsumed)
        buffer_consume(unconsumed, feed.at);
    else if (feed.at < feed.length)
        buffer_append(heap, unconsumed, feed.bytes + feed.at, feed.length - feed.at, UNREAD_MAX);
    return !f->end;
}

void http_feed_alternatives(struct http_feed *f, const uint8_t *bytes, uint32_t length, bool lost)
{
    for (unsigned kind = 0; kind < HTTP_ALTERNATIVE_KINDS; kind++) {
        struct http_alternative *alternative = f->state->alternatives[kind];

        if (alternative && !(f->requested_kinds & 1u << kind) &&
            (lost || !feed_alternative(f, alternative, bytes, length)))
            end_alternative(f, kind);
    }
}

static void add_alternative(struct http_feed *f, unsigned kind)
{
    struct http_alternative *alternative = heap_alloc(app_heap(f->context), sizeof(*alternative));

    if (!alternative)
        return;
    alternative->state.parser[FLOW_TO_CLIENT].flags = kind_flags[kind];
    f->state->alternatives[kind] = alternative;
    f->state->alternative_count++;
    struct http_feed feed = make_feed(f, alternative);
    bool is_active = true;

    alternative->tx = f->requested_tx ? f->requested_tx->base.id : app_tx_total(app_context_flow(f->context)) - 1;
    if (f->requested_tx) {
        struct http_tx *tx = http_tx_new(&feed);

        is_active = tx != NULL;
        if (tx) {
            copy_request(&feed, tx, f->requested_tx);
            app_tx_advance(&tx->base, FLOW_TO_SERVER, HTTP_COMPLETE);
        }
    }
    if (is_active &&
        f->requested_from == HTTP_BEFORE_INPUT) { /* the head of the message contains the lines before these bytes */
        const struct buffer *head = &f->requested_tx->message[FLOW_TO_CLIENT].head;
        bool end = f->end;

        f->end = false;
        is_active = feed_alternative(f, alternative, head->bytes,
                                     f->requested_head < head->length ? f->requested_head : head->length);
        f->end = end;
    }
    uint32_t from = f->requested_from == HTTP_BEFORE_INPUT ? 0 : f->requested_from;

    if (!is_active || !feed_alternative(f, alternative, f->bytes + from, f->length - from))
        end_alternative(f, kind);
}

void http_add_alternatives(struct http_feed *f)
{
    for (unsigned kind = 0; kind < HTTP_ALTERNATIVE_KINDS; kind++)
        if (f->requested_kinds & 1u << kind)
            add_alternative(f, kind);
    f->requested_kinds = 0;
    f->requested_tx = NULL;
}

void http_free_alternatives(struct app_context *context, struct http_state *state)
{
    for (unsigned kind = 0; kind < HTTP_ALTERNATIVE_KINDS; kind++) {
        if (state->alternatives[kind])
            free_alternative(app_heap(context), state->alternatives[kind]);
        state->alternatives[kind] = NULL;
    }
    state->alternative_count = 0;
}
