/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Alternative readings of requests. Servers differ on the end of some requests (framing.c). Which server receives the
 * bytes is unknown, and its response shows its interpretation only after it has received them. Therefore all
 * interpretations are parsed, and rules inspect the requests of all readings.
 *
 * Initially the main reading represents all dialects. When they differ on a request, the dialects that agree with the
 * first one stay with the reading, and each other group gets a separate reading, with a parser, unconsumed bytes and
 * transactions. The first transaction is a copy of the request if the request has a body. A reading may be split again;
 * a flow has at most one reading for each dialect. A reading ends when it starts a request at the same offset as
 * another reading, which then represents its dialects, too. It also ends when every server would reject its bytes, and
 * at lost bytes outside a body.
 *
 * The transactions of alternative readings have the client's direction only; responses belong to the main reading. They
 * are not logged, and their anomalies set no events. When the main reading fails, parsing continues as long as there is
 * another reading.
 *
 * Memory: the worker's heap, as for the flow's transactions. Only the main reading is transferred to another process.
 */
#include "http_priv.h"

#include <string.h>

static uint16_t get_dialects(const struct http_parser *parser)
{
    return (uint16_t)(HTTP_ALL_DIALECTS & ~parser->other_dialects);
}

bool http_is_dialect(const struct http_feed *f, enum http_dialect dialect)
{
    return f->direction == FLOW_TO_SERVER && get_dialects(f->parser) == 1u << dialect;
}

bool http_cr_ends_lines(const struct http_feed *f)
{
    return f->reading && (http_is_dialect(f, HTTP_DIALECT_LENGTH) || http_is_dialect(f, HTTP_DIALECT_LAST_LENGTH));
}

/* Returns the context for parsing the unconsumed bytes of a reading. */
static struct http_feed make_feed(const struct http_feed *f, struct http_reading *reading)
{
    static const uint8_t nothing[1]; /* for an empty buffer: adding an offset to NULL is undefined */

    return (struct http_feed){
        .context = f->context,
        .state = f->state,
        .settings = f->settings,
        .parser = &reading->parser,
        .reading = reading,
        .direction = FLOW_TO_SERVER,
        .bytes = reading->unconsumed.bytes ? reading->unconsumed.bytes : nothing,
        .length = reading->unconsumed.length,
        .offset = reading->offset,
        .quiet = true,
    };
}

/* --- Start of a reading -------------------------------------------------------------------------- */

/* Parses the lines of the request again, in the new reading. Returns false on failure. */
static bool parse_lines_again(struct http_feed *f, const struct buffer *head)
{
    enum http_step_result result = HTTP_STEP_DONE;

    f->bytes = head->bytes;
    f->length = head->length;
    f->at = 0;
    f->is_repeat = true;
    f->parser->messages = 0;
    while (result == HTTP_STEP_DONE && f->at < f->length && !f->failed)
        result = http_request_step(f);
    f->is_repeat = false;
    return result != HTTP_STEP_FAILED && result != HTTP_STEP_ENDS_HTTP && !f->failed;
}

/* Gives a new reading the body that was received before it started: the bytes that `from` has kept, after a gap for the
 * bytes before them. An encoded body and a form become a gap as a whole. */
static void copy_earlier_body(struct http_feed *f, const struct http_message *from)
{
    struct http_tx *tx = f->parser->tx;
    const struct buffer *body = from->file_is_body && from->file ? &from->file->data : &from->body;

    if (!tx || from->body_length == 0)
        return;
    if (from->decoder || from->form || body->length > from->body_length) {
        http_body_gap(f, tx, from->wire_length);
        return;
    }
    if (from->body_length > body->length)
        http_body_gap(f, tx, from->body_length - body->length);
    http_body_data(f, tx, body->bytes, body->length);
}

static void free_reading(struct heap *heap, struct http_reading *reading)
{
    buffer_clear(heap, &reading->unconsumed);
    heap_release(heap, reading);
}

/* Completes the transactions of a reading that ends. */
static void complete_transactions(struct http_feed *f, const struct http_reading *reading)
{
    for (struct app_tx *base = app_tx_first(f->context); base; base = base->next) {
        struct http_tx *tx = (struct http_tx *)base;

        if (!http_owns_transaction(f, base) || tx->reading != reading->id)
            continue;
        http_body_end(f, tx, FLOW_TO_SERVER, false);
        app_tx_advance(base, FLOW_TO_SERVER, HTTP_COMPLETE);
    }
}

static void end_reading(struct http_feed *f, unsigned index)
{
    struct http_state *state = f->state;
    struct http_reading *reading = state->readings[index];
    struct http_feed ended = make_feed(f, reading);

    complete_transactions(&ended, reading);
    state->reading_count--;
    memmove(&state->readings[index], &state->readings[index + 1],
            (state->reading_count - index) * sizeof(state->readings[0]));
    free_reading(app_heap(f->context), reading);
}

/* Copies the bytes that the new reading has not consumed: the lines of `head` from `at` on, and the current line up to
 * unit_end. */
static bool copy_unconsumed(const struct http_feed *f, struct http_reading *reading, const struct buffer *head,
                            uint32_t at)
{
    struct heap *heap = app_heap(f->context);
    uint32_t lines = head->length - at, left = f->unit_end > f->at ? f->unit_end - f->at : 0;

    reading->offset = f->offset + f->at - lines;
    return buffer_append(heap, &reading->unconsumed, head->bytes + at, lines, UINT32_MAX) == lines &&
           buffer_append(heap, &reading->unconsumed, f->bytes + f->at, left, UINT32_MAX) == left;
}

/* Moves the dialects from the current reading to a new one, which starts with the same request and parses the bytes
 * that follow. Returns false without memory, if there are HTTP_READINGS_MAX readings, or if the new reading cannot
 * parse the lines of the request. */
static bool split_reading(struct http_feed *f, uint16_t dialects, bool has_body)
{
    struct http_state *state = f->state;
    struct http_tx *tx = f->parser->tx;
    struct heap *heap = app_heap(f->context);
    const struct buffer *head = &tx->message[FLOW_TO_SERVER].head;
    struct http_reading *reading;

    f->parser->other_dialects |= dialects;
    if (state->reading_count == HTTP_READINGS_MAX || !(reading = heap_alloc(heap, sizeof(*reading))))
        return false;
    reading->id = ++state->last_reading;
    reading->parser.other_dialects = (uint16_t)~dialects;
    struct http_feed begun = make_feed(f, reading);

    begun.end = f->end;
    begun.at = head->length;
    reading->parser.messages = f->parser->messages;
    /* If the request has no body in the new reading, it consists of lines that the current reading has, too, so the new
     * reading needs no copy of it. */
    if ((has_body && !parse_lines_again(&begun, head)) || !copy_unconsumed(f, reading, head, begun.at)) {
        complete_transactions(&begun, reading);
        free_reading(heap, reading);
        return false;
    }
    state->readings[state->reading_count++] = reading;
    return true;
}

void http_report_ambiguous(struct http_feed *f, struct http_tx *tx)
{
    tx->ambiguous = true;
    if (!f->transferred)
        app_event(f->context, &tx->base, HTTP_EVENT_REQUEST_AMBIGUOUS);
    if (f->settings->ambiguous_policy[FLOW_TO_SERVER] == HTTP_AMBIGUOUS_DROP)
        app_drop_ambiguous(f->context);
}

bool http_add_reading(struct http_feed *f, enum http_dialect dialect, bool ambiguous)
{
    uint16_t bit = (uint16_t)(1u << dialect), own = get_dialects(f->parser);
    enum http_ambiguous_policy policy = f->settings->ambiguous_policy[FLOW_TO_SERVER];

    if (f->is_repeat || f->transferred)
        return true;
    f->parser->tx->ambiguous = true;
    if (ambiguous)
        http_report_ambiguous(f, f->parser->tx);
    if (policy == HTTP_AMBIGUOUS_PASS || (ambiguous && policy == HTTP_AMBIGUOUS_DROP) || !(own & bit) || own == bit)
        return true;
    return split_reading(f, bit, true);
}

bool http_copy_body_to_reading(struct http_feed *f, unsigned before, enum http_step step)
{
    if (f->state->reading_count == before)
        return true;
    struct http_reading *reading = f->state->readings[before];
    struct http_feed begun = make_feed(f, reading);

    if (!reading->parser.tx)
        return true;
    copy_earlier_body(&begun, &f->parser->tx->message[FLOW_TO_SERVER]);
    reading->parser.step = step;
    return !begun.failed;
}

static bool framing_equals(const struct http_framing *a, const struct http_framing *b)
{
    return a->chunked == b->chunked && a->length == b->length;
}

static enum http_dialect first_dialect(uint16_t dialects)
{
    enum http_dialect dialect = 0;

    while (dialect < HTTP_DIALECTS - 1 && !(dialects >> dialect & 1))
        dialect++;
    return dialect;
}

/* Returns the framing shared by most dialects. */
static struct http_framing most_common_framing(const struct http_framing framings[HTTP_DIALECTS])
{
    unsigned most = 0, best = 0;

    for (unsigned i = 0; i < HTTP_DIALECTS; i++) {
        unsigned count = 0;

        for (unsigned k = 0; k < HTTP_DIALECTS; k++)
            count += framing_equals(&framings[i], &framings[k]);
        if (count > most) {
            most = count;
            best = i;
        }
    }
    return framings[best];
}

bool http_determine_framing(struct http_feed *f, struct http_tx *tx, struct http_framing *out)
{
    const struct http_message *message = &tx->message[FLOW_TO_SERVER];
    struct http_framing framings[HTTP_DIALECTS];
    uint16_t left = get_dialects(f->parser);
    bool is_connect = tx->method == HTTP_METHOD_CONNECT && !f->reading, ambiguous = false;
    enum http_ambiguous_policy policy = f->settings->ambiguous_policy[FLOW_TO_SERVER];

    /* If this test succeeds, at most servers without chunked coding read another body. They get no reading. */
    if (!is_connect && http_framing_is_unambiguous(message)) {
        *out = http_get_framing(message, f->reading ? first_dialect(left) : HTTP_DIALECT_LENIENT);
        return true;
    }
    for (enum http_dialect dialect = 0; dialect < HTTP_DIALECTS; dialect++) {
        framings[dialect] = is_connect && dialect == HTTP_DIALECT_LENIENT ? (struct http_framing){ 0 }
                                                                          : http_get_framing(message, dialect);
        ambiguous |= !framing_equals(&framings[dialect], &framings[0]);
    }
    *out = framings[first_dialect(left)];
    if (ambiguous && !f->is_repeat)
        http_report_ambiguous(f, tx);
    if (ambiguous && policy == HTTP_AMBIGUOUS_PASS)
        *out = most_common_framing(framings);
    if (!ambiguous || f->is_repeat || f->transferred || policy != HTTP_AMBIGUOUS_INSPECT)
        return true;
    for (const struct http_framing *other = out; left; other = &framings[first_dialect(left)]) {
        uint16_t group = 0;

        for (enum http_dialect dialect = 0; dialect < HTTP_DIALECTS; dialect++) {
            if (left >> dialect & 1 && framing_equals(&framings[dialect], other))
                group |= (uint16_t)(1u << dialect);
        }
        left &= (uint16_t)~group;
        if (other != out && !split_reading(f, group, other->chunked || other->length > 0))
            return false;
    }
    return true;
}

/* --- Merging of readings ------------------------------------------------------------------------- */

static struct http_parser *find_parser(struct http_state *state, uint32_t id)
{
    for (unsigned i = 0; i < state->reading_count; i++) {
        if (state->readings[i]->id == id)
            return &state->readings[i]->parser;
    }
    return id == 0 ? &state->parser[FLOW_TO_SERVER] : NULL;
}

bool http_merge_reading(struct http_feed *f, uint64_t begin)
{
    struct app_tx *base = app_tx_last(f->context);

    for (; base; base = base->previous) {
        const struct http_tx *tx = (const struct http_tx *)base;

        if (!http_owns_transaction(f, base) || tx->begin != begin || tx->reading == f->reading->id)
            continue;
        struct http_parser *other = find_parser(f->state, tx->reading);

        if (!other || other->tx != tx || other->lines > 0 ||
            (other->step != HTTP_AT_HEADERS && other->step != HTTP_AFTER_0_9))
            continue; /* the other reading has already parsed more of the request, as a different request */
        other->other_dialects &= (uint16_t)~get_dialects(f->parser);
        return true;
    }
    return false;
}

/* --- Feeding -------------------------------------------------------------------------------------- */

/* Appends those bytes of f to reading->unconsumed that the reading has not received. Returns false if the reading must
 * end: bytes were lost outside a body, or memory is exhausted. */
static bool append_new_bytes(struct http_feed *f, struct http_reading *reading)
{
    uint64_t next = reading->offset + reading->unconsumed.length;
    uint32_t known = next > f->offset ? (uint32_t)(next - f->offset) : 0;

    if (next < f->offset) {
        struct http_feed lost = make_feed(f, reading);
        enum http_step step = reading->parser.step;

        if (step != HTTP_IDENTITY && step != HTTP_CHUNK_DATA)
            return false;
        http_handle_gap(&lost, f->offset - reading->offset);
        buffer_clear(app_heap(f->context), &reading->unconsumed);
        reading->offset = f->offset;
    }
    if (known >= f->length)
        return true;
    return buffer_append(app_heap(f->context), &reading->unconsumed, f->bytes + known, f->length - known, UINT32_MAX) ==
           f->length - known;
}

static void feed_other_readings(struct http_feed *f)
{
    for (unsigned i = 0; i < f->state->reading_count;) {
        struct http_reading *reading = f->state->readings[i];
        struct http_feed feed = make_feed(f, reading);
        enum http_step_result result = HTTP_STEP_DONE;

        feed.end = f->end;
        while (result == HTTP_STEP_DONE)
            result = http_execute_steps(&feed);
        buffer_consume(&reading->unconsumed, feed.at);
        reading->offset += feed.at;
        f->failed |= feed.failed;
        if (f->end && result == HTTP_STEP_NEEDS_DATA)
            http_request_end(&feed);
        if (result == HTTP_STEP_NEEDS_DATA && !f->end)
            i++;
        else
            end_reading(f, i);
    }
}

/* Feeds the bytes up to f->length to all readings, one after another. */
static enum http_step_result feed_all_readings(struct http_feed *f)
{
    enum http_step_result result = HTTP_STEP_DONE;
    struct http_parser *parser = f->parser;

    for (unsigned i = 0; i < f->state->reading_count;) {
        if (append_new_bytes(f, f->state->readings[i]))
            i++;
        else
            end_reading(f, i);
    }
    while (result == HTTP_STEP_DONE)
        result = http_execute_steps(f);
    feed_other_readings(f);
    if (f->failed)
        return HTTP_STEP_FAILED;
    if (result != HTTP_STEP_FAILED || f->state->reading_count == 0)
        return result;
    /* The main reading has failed: it skips all following bytes, and the other readings continue. */
    f->state->main_failed = true;
    if (parser->tx) {
        parser->left = 0;
        http_request_complete(f, parser->tx);
    }
    parser->step = HTTP_TUNNEL;
    f->at = f->length;
    return HTTP_STEP_NEEDS_DATA;
}

/* Returns the next offset after `at`, at most `most`, where the parser may have completed a unit: behind the last byte
 * of a body or chunk, behind an LF or a CR, or behind the byte that follows a CR (it may be an LF). */
static uint32_t next_unit_end(const struct http_feed *f, const struct http_parser *parser, uint32_t at, uint32_t most)
{
    const uint8_t *end;

    if (parser->step == HTTP_TUNNEL || parser->step == HTTP_UNTIL_CLOSE)
        return most;
    if (parser->step == HTTP_IDENTITY || parser->step == HTTP_CHUNK_DATA)
        return parser->left > 0 && parser->left < most - at ? at + (uint32_t)parser->left : most;
    if (at > 0 && f->bytes[at - 1] == '\r')
        return at + 1;
    end = memchr(f->bytes + at, '\n', most - at);
    most = end ? (uint32_t)(end - f->bytes) + 1 : most;
    end = memchr(f->bytes + at, '\r', most - at);
    return end ? (uint32_t)(end - f->bytes) + 1 : most;
}

/*
 * If there are several readings, the bytes are fed to all of them in pieces; a piece ends where one of them may
 * complete a unit (a line, a chunk, a body). The result is the same as if the bytes arrived one by one, so which
 * readings merge does not depend on segmentation.
 */
enum http_step_result http_feed_readings(struct http_feed *f, uint32_t seen)
{
    struct http_state *state = f->state;
    uint32_t total = f->length, at = seen;
    bool end = f->end;

    for (;;) {
        enum http_step_result result;
        bool single = state->reading_count == 0;

        f->length = single ? total : at;
        f->end = end && f->length == total;
        result = single ? http_execute_steps(f) : feed_all_readings(f);
        if (result == HTTP_STEP_FAILED || result == HTTP_STEP_ENDS_HTTP ||
            (state->main_failed && state->reading_count == 0))
            return result == HTTP_STEP_ENDS_HTTP ? result : HTTP_STEP_FAILED;
        if (result == HTTP_STEP_NEEDS_DATA && state->reading_count == 0 && f->length == total)
            return result;
        if (single) { /* the step has added readings to the main one: feed the rest of the bytes to all */
            at = f->at;
            continue;
        }
        if (at == total && result == HTTP_STEP_NEEDS_DATA)
            return result;
        uint32_t next = next_unit_end(f, f->parser, at, total);

        for (unsigned i = 0; i < state->reading_count; i++)
            next = next_unit_end(f, &state->readings[i]->parser, at, next);
        at = next;
    }
}

void http_free_readings(struct app_context *context, struct http_state *state)
{
    while (state->reading_count > 0)
        free_reading(app_heap(context), state->readings[--state->reading_count]);
}
