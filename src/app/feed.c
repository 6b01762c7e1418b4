/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of stream bytes to parsers. The parser gets the bytes of a direction without copying; bytes that it does not
 * consume are kept and passed again in front of the following ones, contiguous.
 *
 * Until the protocol is known, both directions are buffered up to a limit. Once it is known, the parser gets the
 * buffered bytes. The direction whose bytes arrived last is parsed second. After a parser has announced another
 * protocol (CONNECT, STARTTLS), both directions are buffered again until the new protocol is known.
 *
 * Beyond the stream depth a direction is not parsed, although the other direction may not have reached its depth. For
 * the parser such a direction has ended: open transactions do not wait for its bytes, and later transactions start
 * complete in it.
 *
 * Where endpoints may parse the bytes as another protocol than the detected one, the flow has further readings
 * (reading.c). The functions of this file feed each of them; only the main reading sets the verdict and
 * flow->application.
 *
 * A reading is `stopped` when its parser failed or lost bytes that it needs, when memory ran out, when the rest is
 * encrypted, when no protocol was found, or at the end of the flow.
 */
#include <string.h>

#include "app_priv.h"
#include "feed.h"
#include "frame.h"
#include "sluice/stream.h"

/* --- State of the flow --------------------------------------------------------------------------- */

void app_set_direction_protocol(struct app_flow *af, enum flow_direction direction, unsigned id)
{
    unsigned shift = direction == FLOW_TO_SERVER ? 8 : 16;

    if (af == af->main)
        af->flow->application = (af->flow->application & ~(0xffu << shift)) | id << shift;
}

void app_set_flow_protocol(struct app_flow *af, unsigned id)
{
    if (af == af->main)
        af->flow->application = (af->flow->application & ~0xffu) | id;
}

void app_set_detected(struct app_flow *af, enum flow_direction direction)
{
    if (!af->omitted_urgent)
        af->main->detected |= (uint8_t)(1u << direction);
}

bool app_is_just_detected(struct flow *flow, enum flow_direction direction, bool next)
{
    struct app_flow *af = flow->app;
    uint8_t bit = (uint8_t)(1u << direction);

    if (!af || !(af->detected & bit))
        return false;
    if (next)
        af->detected &= (uint8_t)~bit;
    return true;
}

static void clear_pending(struct feeding *f)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        buffer_clear(f->app->heap, &f->af->side[direction].pending);
}

void feed_stop(struct feeding *f)
{
    f->af->stopped = true;
    app_tx_complete_all(f->af);
    clear_pending(f);
}

static void record_failure(struct feeding *f, enum app_count why)
{
    if (f->af->proto)
        app_count(f->app, f->af, why);
    if (why != COUNT_GAP)
        f->verdict->exception = f->af->resumed ? EXCEPTION_APP_MEMCAP : EXCEPTION_APP_ERROR;
}

void feed_fail(struct feeding *f, enum app_count why)
{
    record_failure(f, why);
    f->af->failed = true;
    feed_stop(f);
}

/* Handles a parser failure or a gap in one direction. Stops the reading, unless the first bytes of this direction may
 * belong to another protocol and the parser has not failed on the other direction: then the parser continues with the
 * other direction. */
static void fail_direction(struct feeding *f, enum flow_direction direction, enum app_count why)
{
    struct app_side *side = &f->af->side[direction];

    if (!(side->foreign || side->comparing) || f->af->side[!direction].unparsed) {
        feed_fail(f, why);
        return;
    }
    record_failure(f, why);
    side->unparsed = side->truncated = true;
    buffer_clear(f->app->heap, &side->pending);
    app_tx_complete_direction(f->af, direction);
}

/* Handles APP_ERROR of the parser, and more unconsumed or needed bytes than pending_max. An error in the server's bytes
 * suggests that the client's bytes do not belong to the protocol either. If another reading parses them as another
 * protocol, rules inspect them there, and the failure is no exception. */
static void fail_to_parse(struct feeding *f, enum flow_direction direction)
{
    bool has_joined_reading = direction == FLOW_TO_CLIENT && f->af == f->af->main && app_has_joined_reading(f->af);
    enum exception_cause before = f->verdict->exception;

    fail_direction(f, direction, COUNT_PARSER);
    if (!has_joined_reading)
        return;
    f->verdict->exception = before;
    f->af->ambiguous = true;
}

void feed_set_event(struct feeding *f, enum app_layer_event event)
{
    f->verdict->events |= (uint8_t)(1u << (event - APP_LAYER_EVENT_FIRST));
}

/* --- Known protocol ------------------------------------------------------------------------------ */

/* Starts detection of the protocol announced by app_change_protocol(), in the bytes that the parser has not
 * consumed. */
static void begin_change(struct feeding *f)
{
    struct app_flow *af = f->af;

    af->change_wanted = false;
    af->changing = true;
    af->previous_protocol = af->protocol;
    app_end_frames(af);
    if (af->change_optional) {
        af->fallback = af->proto;
        af->fallback_state = af->state;
    } else {
        struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };

        app_tx_complete_all(af);
        if (af->proto->stop)
            af->proto->stop(&context, af->state);
        heap_release(f->app->heap, af->state);
    }
    af->proto = NULL;
    af->state = NULL;
    if (af == af->main)
        af->flow->application = (uint32_t)af->previous_protocol << 24;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_side *side = &af->side[direction];

        side->excluded = 0;
        side->seen = side->needed = 0;
        side->failed = side->comparing = side->foreign = false;
        side->truncated &= !side->unparsed; /* truncate_at_depth() sets it again when the stream depth is reached */
        side->unparsed = false;
        side->datagrams = 0;
    }
}

/* Calls the parser once; the unconsumed bytes are in side->pending afterwards. `in_pending`: in->bytes are the bytes in
 * side->pending. Returns false if the parser must not get more bytes of this direction. */
static bool call_parser(struct feeding *f, enum flow_direction direction, struct app_input *in, bool in_pending)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];
    const struct app_proto *proto = af->proto;
    struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };
    uint64_t refused = heap_refused_count(f->app->heap);
    static const uint8_t nothing[1];

    if (app_wants_frame(&context, APP_FRAME_STREAM))
        app_frame_stream(&context, in);
    if (!in->bytes)
        in->bytes = nothing; /* parsers add offsets to the pointer; NULL + 0 is undefined in C */

    struct app_result result = proto->feed(&context, af->state, in);
    uint32_t limit = proto->pending_max > 0 ? proto->pending_max : DEFAULT_PENDING_MAX;
    uint32_t consumed = result.consumed < in->length ? result.consumed : in->length;
    uint32_t left = in->length - consumed;

    if (heap_refused_count(f->app->heap) != refused) { /* the parser may have skipped data and returned APP_OK */
        feed_fail(f, COUNT_ALLOC);
        return false;
    }
    if (result.status == APP_ERROR || result.needed > limit || (left > limit && !af->stopped)) {
        fail_to_parse(f, direction);
        return false;
    }
    side->offset += consumed;
    side->seen = left;
    side->needed = result.needed;
    if (af->stopped) {
        clear_pending(f);
        return false;
    }
    if (in_pending)
        buffer_consume(&side->pending, consumed);
    else if (left > 0 && buffer_append(f->app->heap, &side->pending, in->bytes + consumed, left, limit) < left) {
        feed_fail(f, COUNT_ALLOC);
        return false;
    }
    if (left == 0 && side->pending.capacity > 0)
        buffer_clear(f->app->heap, &side->pending);
    return true;
}

static void handle_change(struct feeding *f, enum flow_direction direction)
{
    if (!f->af->change_wanted)
        return;
    begin_change(f);
    if (f->af->side[direction].pending.length > 0)
        feed_detect_protocol(f, direction);
    /* The other direction may already contain bytes of the new protocol: a client may send them before it receives the
     * response that changes the protocol. */
    if (f->af->changing && !f->af->stopped && f->af->side[!direction].pending.length > 0)
        feed_detect_protocol(f, !direction);
}

void feed_pending(struct feeding *f, enum flow_direction direction)
{
    struct app_side *side = &f->af->side[direction];
    struct app_input in = {
        .direction = direction,
        .transport = f->transport,
        .bytes = side->pending.bytes,
        .length = side->pending.length,
        .seen = side->seen,
        .offset = side->offset,
        .end = side->ended,
    };

    if (side->unparsed || (in.length < side->needed && !in.end))
        return;
    if (call_parser(f, direction, &in, true))
        handle_change(f, direction);
}

uint64_t feed_gap_before(const struct app_side *side, const struct app_stream_chunk *bytes)
{
    uint64_t expected = side->offset + side->pending.length;

    return bytes->offset > expected ? bytes->offset - expected : 0;
}

void feed_known(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes)
{
    struct app_side *side = &f->af->side[direction];
    struct app_input in = {
        .direction = direction,
        .transport = f->transport,
        .bytes = bytes->bytes,
        .length = bytes->length,
        .gap = feed_gap_before(side, bytes),
        .end = bytes->end,
    };

    if (side->unparsed)
        return;
    if (in.gap > 0 && !f->af->proto->accepts_gaps) {
        fail_direction(f, direction, COUNT_GAP);
        return;
    }
    if (in.gap > 0) {
        app_count(f->app, f->af, COUNT_GAP);
        in.gap += side->pending.length;
        side->offset += in.gap;
        side->seen = side->needed = 0;
        buffer_clear(f->app->heap, &side->pending);
    }
    in.offset = side->offset;
    if (side->pending.length == 0 && (in.length >= side->needed || in.end)) {
        if (call_parser(f, direction, &in, false))
            handle_change(f, direction);
        return;
    }
    uint32_t limit = (f->af->proto->pending_max > 0 ? f->af->proto->pending_max : DEFAULT_PENDING_MAX) + in.length;

    if (buffer_append(f->app->heap, &side->pending, in.bytes, in.length, limit) < in.length)
        feed_fail(f, COUNT_ALLOC);
    else
        feed_pending(f, direction);
}

/* --- Functions for the pipeline ------------------------------------------------------------------ */

struct app_flow *app_get_flow(struct app *app, struct flow *flow, struct app_verdict *verdict)
{
    if (flow->app || (app_flow_protocol(flow) == APP_FAILED && flow->protocol != IPPROTO_UDP))
        return flow->app;
    flow->app = heap_alloc(app->heap, sizeof(*flow->app));
    if (!flow->app) {
        verdict->exception = EXCEPTION_APP_ERROR;
        return NULL;
    }
    flow->app->flow = flow;
    flow->app->main = flow->app;
    app_memory_add(app, flow->app);
    return flow->app;
}

/* Restarts the parser of a flow after app_evict() when the client's bytes match a pattern of the flow's protocol, or of
 * any protocol if the flow's is unknown. Until then only rules on stream bytes inspect the flow. Sets APP_LAYER_EVICTED
 * and EXCEPTION_APP_MEMCAP once, unless the flow was evicted between two messages and the parser restarts with the next
 * one. */
static void resume_after_eviction(struct feeding *f, struct flow *flow, enum flow_direction direction,
                                  const struct app_stream_chunk *in)
{
    bool lost = flow->app_evicted == APP_EVICTED_WITHIN_MESSAGE, reported = flow->app_evicted == APP_EVICTED_REPORTED;
    struct app_side first = { .offset = 0 };
    const struct app_probe probe = {
        .bytes = in->bytes,
        .length = in->length,
        .direction = direction,
        .transport = APP_TCP,
        .client_port = flow->client_port,
        .server_port = flow->server_port,
    };
    unsigned id = 0;

    if (in->length == 0)
        return;
    if (direction == FLOW_TO_SERVER)
        id = app_identify_by_pattern(f->app, &first, &probe);
    if (id > 0 && (app_flow_protocol(flow) == 0 || app_flow_protocol(flow) == id)) {
        flow->app_evicted = 0;
        f->af = app_get_flow(f->app, flow, f->verdict);
    }
    if (f->af) {
        f->af->resumed = true;
        f->app->resumed_flows++;
        f->af->side[direction].offset = in->offset;
        f->af->side[!direction].offset = stream_parsed_offset(flow, !direction);
        f->af->side[direction].has_begun = f->af->side[!direction].has_begun = true;
        app_set_flow_protocol(f->af, id);
        app_set_direction_protocol(f->af, FLOW_TO_SERVER, id);
        app_set_direction_protocol(f->af, FLOW_TO_CLIENT, id);
        app_start_parser(f, id);
    }
    if (reported || (f->af && !lost))
        return;
    if (flow->app_evicted)
        flow->app_evicted = APP_EVICTED_REPORTED;
    feed_set_event(f, APP_LAYER_EVICTED);
    f->verdict->exception = EXCEPTION_APP_MEMCAP;
}

/* Reports to the parser the end of each direction that has reached the stream depth, unless the direction has already
 * ended. */
static void truncate_at_depth(struct feeding *f)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !f->af->stopped; direction++) {
        struct app_side *side = &f->af->side[direction];

        if (side->truncated || !stream_is_truncated(f->af->flow, direction))
            continue;
        if (!side->ended && f->af->proto) {
            side->ended = true;
            feed_pending(f, direction);
        }
        side->ended = side->truncated = true;
        app_tx_complete_direction(f->af, direction);
    }
}

static void feed_main(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *in)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];

    if (af->stopped) {
        /* The parser failed on the other direction before this one began: detect the protocol of this direction. */
        if (!side->has_begun && in->length > 0 && af->failed && af->protocol > 0)
            side->has_begun = side->comparing = true;
        if (side->comparing && in->length > 0)
            feed_compare_directions(f, direction, in);
        return;
    }
    side->ended |= in->end;
    if (!side->has_begun && in->length > 0) {
        bool is_first = !af->side[FLOW_TO_SERVER].has_begun && !af->side[FLOW_TO_CLIENT].has_begun;
        unsigned id;

        side->comparing = af->proto != NULL;
        side->has_begun = true;
        if (is_first && (id = app_consume_expectation(f->app, af, f->now_ns)) > 0)
            feed_start_protocol(f, id, direction);
    }
    if (side->comparing && in->length > 0)
        feed_compare_directions(f, direction, in);
    if (af->stopped)
        return;
    if (af->proto)
        feed_known(f, direction, in);
    else
        feed_unknown(f, direction, in);
    truncate_at_depth(f);
}

void app_feed_other(struct feeding *f, enum flow_direction direction, struct app_stream_chunk in)
{
    struct app_side *side = &f->af->side[direction];
    uint64_t next = side->offset + side->pending.length;

    if (next > in.offset) {
        uint32_t known = next - in.offset < in.length ? (uint32_t)(next - in.offset) : in.length;

        in.bytes += known;
        in.length -= known;
        in.offset += known;
    }
    if (in.length == 0 && (!in.end || side->ended))
        return;
    side->has_begun = true;
    side->ended |= in.end;
    if (f->af->proto)
        feed_known(f, direction, &in);
    else
        feed_unknown(f, direction, &in);
    truncate_at_depth(f);
}

void app_feed_stream(struct app *app, struct flow *flow, enum flow_direction direction,
                     const struct app_stream_chunk *in, uint64_t now_ns, struct app_verdict *verdict)
{
    struct feeding f = { .app = app, .verdict = verdict, .now_ns = now_ns, .transport = APP_TCP };
    struct app_verdict unused = { 0 };
    size_t before = app_flow_memory(app);
    uint64_t refused = heap_refused_count(app->heap);

    file_engine_tick(app->files);
    *verdict = (struct app_verdict){ 0 };
    if (flow->app_evicted)
        resume_after_eviction(&f, flow, direction, in);
    else
        f.af = app_get_flow(app, flow, verdict);
    if (!f.af)
        return;
    flow->app->used_ns = now_ns;
    if (in->urgent_count > 0)
        app_add_urgent_readings(&f, direction, in);
    feed_main(&f, direction, in);
    f.verdict = &unused; /* a failure of another reading is no exception by itself; see app_flow.ambiguous below */
    for (struct app_flow *other = flow->app->next_reading; other; other = other->next_reading) {
        f.af = other;
        if (!other->stopped)
            app_feed_reading(&f, direction, in);
    }
    if (heap_refused_count(app->heap) != refused &&
        verdict->exception == EXCEPTION_NONE) /* memory ran out in any reading or in feed_compare_directions() */
        verdict->exception = EXCEPTION_APP_ERROR;
    if (flow->app->urgent_unread && app_misses_readings(flow->app))
        verdict->exception = EXCEPTION_APP_ERROR;
    if (flow->app->ambiguous && !app_has_joined_reading(flow->app)) {
        flow->app->ambiguous = false;
        verdict->exception = EXCEPTION_APP_ERROR;
    }
    if (flow->app->drop_ambiguous) /* overrides EXCEPTION_APP_ERROR, whose policy may be weaker */
        verdict->exception = EXCEPTION_APP_AMBIGUOUS;
    flow->app->drop_ambiguous = false;
    verdict->stop_stream = flow->app->stop_stream && !app_has_other_readings(flow->app);
    app_memory_update(app, flow->app, before);
}

/* --- End of a flow ------------------------------------------------------------------------------- */

static void finish_reading(struct app *app, struct app_flow *af)
{
    struct app_verdict verdict = { 0 };
    struct feeding f = {
        .app = app,
        .af = af,
        .verdict = &verdict,
        .now_ns = af->flow->last_ns,
        .transport = af->flow->protocol == IPPROTO_UDP ? APP_UDP : APP_TCP,
    };

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (af->stopped || !af->proto || af->side[direction].ended || f.transport == APP_UDP)
            continue;
        af->side[direction].ended = true;
        feed_pending(&f, direction);
    }
    if (f.transport == APP_UDP && !af->proto && app_flow_protocol(af->flow) == 0 &&
        (af->side[FLOW_TO_SERVER].failed || af->side[FLOW_TO_CLIENT].failed))
        app_set_flow_protocol(af, APP_FAILED); /* detection failed in one direction, and the other one has no data */
    feed_stop(&f);
}

void app_flow_finish(struct app *app, struct flow *flow)
{
    for (struct app_flow *reading = flow->app; reading; reading = reading->next_reading) {
        if (!reading->stopped || reading->tx_count > 0)
            finish_reading(app, reading);
    }
}
